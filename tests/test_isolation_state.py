"""kcut's own folder stays out of what counts and of every trial, also where a link of the checkout leads it."""

import json
from pathlib import Path

import pytest

from kcut.isolation import fingerprint, ignored_files, inspect, protected_paths, snapshot
from kcut.isolation.extras import find_extras
from kcut.model.errors import NotReady, UsageFault
from kcut.store import state_dir
from tests.conftest import Kcut, Repo
from tests.guard import Watch
from tests.worktrees import opened, places, plan_of, sh

__all__ = ["places"]
pytestmark = pytest.mark.usefixtures("places")

VERDICT = "eval/benchmarks/tidy.json"
#: The link, where it leads, and where kcut's own folder really lies then.
LINKS = {
    "the folder above": (".claude", "tools/claude", "tools/claude/eval"),
    "the folder itself": (".claude/eval", "../notes/ev*[a]l", "notes/ev*[a]l"),
    "twice": (".claude", "hop", "tools/claude/eval"),
    "to the root": (".claude", ".", "eval"),
}


def linked(repo: Repo, which: str, *, tracked: bool) -> Path:
    """A repository with a committed verdict and uncommitted state behind a link; returns where they really lie."""
    link, target, real = LINKS[which]
    place = repo.path / link
    place.parent.mkdir(exist_ok=True)
    (repo.path / real).mkdir(parents=True)
    place.symlink_to(target)
    if which == "twice":
        (repo.path / "hop").symlink_to("tools/claude")
    if not tracked:
        repo.write(".gitignore", f"/{link}\n")
    repo.write(f"{real}/benchmarks/old.json", "{}\n")
    repo.write("tools/claude/skills/x/SKILL.md", "x\n")
    repo.commit("with a verdict")
    return repo.path / real


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("which", LINKS)
def test_it_is_never_a_change_and_in_no_tree(repo: Repo, which: str, tracked: bool) -> None:
    real = linked(repo, which, tracked=tracked)
    name = real.relative_to(repo.path).as_posix()
    state_dir(repo.path)
    checkout = inspect(repo.path)
    assert checkout.dirty == ()
    before = fingerprint(checkout)
    (real / "kcut.db").write_text("x")
    (real / ".gitignore").unlink()
    (real / "benchmarks/old.json").write_text("{1}\n")
    assert before.differences(fingerprint(checkout)) == ()
    assert inspect(repo.path).dirty == ()
    repo.write("edited.txt", "x\n")
    checkout = inspect(repo.path)
    assert checkout.dirty == ("edited.txt",)
    watch = Watch()
    watch(repo.path)
    tree = snapshot(checkout)
    watch.check(working_files=False)
    ways: list[dict[str, str]] = [{}, {"history": "none"}, {"isolation": "clone"}, {"isolation": "worktree"}]
    for options in [*ways, {"dirty_mode": "include", "snapshot": tree}]:
        with opened(repo.path, **options) as worktree:
            assert not list(worktree.path.rglob("old.json"))
            assert not list(worktree.path.rglob("kcut.db"))
            assert (worktree.path / "tools/claude/skills/x/SKILL.md").exists()
            assert (worktree.path / "edited.txt").exists() == ("snapshot" in options)
            assert sh(worktree, "git status --porcelain") == ""
            sh(worktree, f"mkdir -p '{name}'; echo x > '{name}/mine'")
            assert worktree.freeze().changed == ()
    assert (real / "benchmarks/old.json").read_text() == "{1}\n"
    assert not [path for path in protected_paths(checkout, (), ("*",)) if path.endswith(".json")]


@pytest.mark.parametrize("which", LINKS)
def test_it_is_not_carried_along(repo: Repo, which: str) -> None:
    real = linked(repo, which, tracked=False)
    name = real.relative_to(repo.path).as_posix()
    state_dir(repo.path)
    (real / "kcut.db").write_text("x")
    (repo.path / "way").symlink_to(name)
    repo.write(".worktreeinclude", "*.db\n/way\n")
    repo.write(".git/info/exclude", "/way\n*.db\n")
    repo.write("more.db", "x")
    checkout = inspect(repo.path)
    assert find_extras(checkout, plan_of(checkout)).copies == ("more.db",)
    for path in (name, f"{name}/kcut.db", name.partition("/")[0], "way"):
        with pytest.raises(UsageFault, match="belongs to git or kcut"):
            find_extras(checkout, plan_of(checkout, link_paths=(path,)))
    assert not [path for path in ignored_files(checkout) if path.startswith(name)]


def test_links_of_the_base_that_the_checkout_no_longer_has(repo: Repo) -> None:
    linked(repo, "the folder above", tracked=True)
    old = repo.git("rev-parse", "HEAD")
    repo.git("rm", "-q", "-r", ".claude", "tools")
    repo.write(".claude/skills/x/SKILL.md", "x\n")
    repo.commit("moved")
    for history in ("full", "none"):
        with opened(repo.path, base=old, history=history) as worktree:
            assert not list(worktree.path.rglob("old.json"))
            assert worktree.freeze().changed == ()


@pytest.mark.parametrize("target", [".", "..", "../docs"])
def test_a_link_that_would_take_the_projects_files(repo: Repo, target: str) -> None:
    repo.write("docs/guide.md", "x\n")
    repo.write(".claude/skills/x/SKILL.md", "x\n")
    repo.commit()
    (repo.path / ".claude/eval").symlink_to(target)
    with pytest.raises(
        NotReady, match=r"\.claude/eval (leads to docs, which holds|is a link to a folder above it|leads to)"
    ):
        inspect(repo.path)
    if target != "../docs":
        with pytest.raises(NotReady, match="folder above it"):
            state_dir(repo.path)
        assert not (repo.path / ".gitignore").exists()


def test_a_whole_run(repo: Repo, kcut: Kcut) -> None:
    linked(repo, "the folder above", tracked=True)
    look = "! grep -rl old.json . --include=* ; test -z \"$(find . -name '*.json')\""
    for _ in range(2):
        done = kcut("benchmark", "--component", "tidy", "--task", look, "--k", "1", cwd=repo.path)
        assert done.returncode in {0, 1}, done.stderr
        verdict = json.loads((repo.path / "tools/claude" / VERDICT).read_text())
        assert verdict["with"]["successes"] == 1
        assert verdict["base"]["dirty"] is False
    assert repo.git("status", "--porcelain", "-uall") == f"?? tools/claude/{VERDICT}"
    doctor = {check["code"]: check for check in json.loads(kcut("doctor", "--json", cwd=repo.path).stdout)["checks"]}
    assert doctor["state"]["ok"], doctor["state"]


@pytest.mark.parametrize("pattern", [".claude/", "/.claude/eval", ".claude/eval/*", "*"])
def test_uncommitted_changes_where_the_users_patterns_ignore_it(repo: Repo, pattern: str) -> None:
    repo.write(".gitignore", f"{pattern}\n")
    repo.git("add", "-f", ".gitignore")
    repo.git("commit", "-qm", "ignoring")
    state_dir(repo.path)
    repo.write("a.txt", "edited\n")
    tree = snapshot(inspect(repo.path))
    with opened(repo.path, dirty_mode="include", snapshot=tree) as worktree:
        assert (worktree.path / "a.txt").read_text() == "edited\n"
        assert not (worktree.path / ".claude").exists()

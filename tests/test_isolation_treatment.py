"""A component that kcut applies and withholds: each cohort has a base of its own, which differs in that only."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcut.isolation import Isolation, Worktree, inspect, isolate, snapshot
from kcut.model.component import LINK, ComponentPlan, Edits, File, Treatment
from kcut.model.errors import NotReady
from kcut.model.outcome import SIDES, Cohort
from tests.conftest import Repo, make_repo
from tests.guard import guard
from tests.worktrees import files_of, places, plan_of, sh, state_of

__all__ = ["guard", "places"]
pytestmark = pytest.mark.usefixtures("places", "guard")

SKILL = ".claude/skills/tidy/SKILL.md"
TEXT = File(0o100644, b"---\nname: tidy\n---\n1. Tidy.\n")


def treatment(with_: Edits, without: Edits | None = None, **more: Any) -> Treatment:
    """A skill of these files, which WITHOUT lacks."""
    paths = more.pop("paths", (".claude/skills/tidy",))
    plan = ComponentPlan(name="tidy", kind="skill", path=SKILL, digest="sha256:0", paths=paths)
    return Treatment(plan, with_, dict.fromkeys(with_) if without is None else without, **more)


@contextlib.contextmanager
def running(repo: Repo, applied: Treatment, **options: Any) -> Iterator[Isolation]:
    """A run of that repository."""

    def perform(command: str, worktree: Worktree) -> None:
        sh(worktree, command)

    checkout = inspect(repo.path)
    plan = plan_of(checkout, **options)
    world: dict[str, Any] = {"treatment": applied, "perform": perform}
    with isolate(checkout, plan, run_id="run", state=state_of(checkout), **world) as isolation:
        yield isolation
    assert isolation.left == []


def both(isolation: Isolation) -> tuple[dict[str, tuple[str, bytes]], dict[str, tuple[str, bytes]]]:
    """The files of a worktree WITH and of one WITHOUT; git sees neither as changed."""
    found = []
    for cohort in SIDES:
        with isolation.open(cohort=cohort) as worktree:
            assert sh(worktree, "git status --porcelain --ignored") == ""
            assert worktree.freeze().changed == ()
            found.append(files_of(worktree.path))
    return found[0], found[1]


@pytest.mark.parametrize("where", ["committed", "untracked", "ignored", "deleted"])
@pytest.mark.parametrize("history", ["full", "none"])
def test_only_the_component_differs(repo: Repo, where: str, history: str) -> None:
    if where != "untracked":
        repo.write(SKILL, TEXT.data)
        repo.write(".gitignore", ".claude/skills/\n" if where == "ignored" else "*.tmp\n")
    repo.commit("everything")
    if where == "deleted":
        (repo.path / SKILL).unlink()
    with running(repo, treatment({SKILL: TEXT}), history=history) as isolation:
        on, off = both(isolation)
    assert on.pop(SKILL) == ("file", TEXT.data)
    assert on == off
    assert SKILL not in off


@pytest.mark.parametrize("isolation", ["sealed", "clone"])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_every_kind_of_repository(tmp_path: Path, isolation: str, algorithm: str) -> None:
    repo = make_repo(tmp_path / "odd", f"--object-format={algorithm}")
    repo.write(SKILL, TEXT.data)
    repo.commit()
    edits = {
        SKILL: File(0o100644, b"other\n"),
        ".claude/skills/tidy/run me\n.sh": File(0o100755, b"\0\xff"),
        ".claude/skills/tidy/a/link": File(LINK, b"../SKILL.md"),
    }
    with running(repo, treatment(edits), isolation=isolation) as opened:
        on, off = both(opened)
    assert {path: on[path] for path in edits} == {
        SKILL: ("file", b"other\n"),
        ".claude/skills/tidy/run me\n.sh": ("exec", b"\0\xff"),
        ".claude/skills/tidy/a/link": ("link", b"../SKILL.md"),
    }
    assert set(off) == {"a.txt"}


def test_the_base_is_as_if_it_had_been_so(repo: Repo) -> None:
    repo.write(SKILL, TEXT.data)
    repo.git("commit", "-q", "--allow-empty", "-m", "second")
    facts = "git log --format='%an %ae %ad %cn %ce %cd %s %P' --date=raw"
    wanted = repo.git("log", "--format=%an %ae %ad %cn %ce %cd %s %P", "--date=raw")
    with running(repo, treatment({SKILL: TEXT})) as isolation, isolation.open(cohort=Cohort.WITH) as worktree:
        assert sh(worktree, facts) == wanted
        assert sh(worktree, "git show --format= --name-only HEAD") == SKILL


def test_without_history_the_component_is_in_no_object(repo: Repo) -> None:
    repo.write(SKILL, TEXT.data)
    repo.commit()
    everything = "git cat-file --batch-all-objects --batch-check='%(objectname)' | git cat-file --batch"
    with (
        running(repo, treatment({SKILL: TEXT}), history="none") as isolation,
        isolation.open(cohort=Cohort.WITHOUT) as off,
        isolation.open(cohort=Cohort.WITH) as on,
    ):
        assert "Tidy." not in sh(off, everything)
        assert "Tidy." in sh(on, everything)


def test_no_path_tells_the_cohort(repo: Repo) -> None:
    with running(repo, treatment({SKILL: TEXT})) as isolation, isolation.open(cohort=Cohort.WITHOUT) as worktree:
        told = sh(
            worktree, "pwd; git rev-parse --git-dir; cat $(git rev-parse --git-path objects/info/alternates); env"
        )
    assert "with" not in told.lower()


def test_a_shallow_clone(repo: Repo, tmp_path: Path) -> None:
    for number in range(3):
        repo.write("a.txt", f"{number}\n")
        repo.commit(f"commit {number}")
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repo.path}", tmp_path / "shallow"], check=True)
    with running(Repo(tmp_path / "shallow"), treatment({SKILL: TEXT})) as isolation:
        on, _ = both(isolation)
        with isolation.open(cohort=Cohort.WITH) as worktree:
            assert sh(worktree, "git log --format=%s; git fsck --no-dangling") == "commit 2"
    assert SKILL in on


def test_uncommitted_changes_are_in_both(repo: Repo) -> None:
    repo.write("a.txt", "changed\n")
    repo.write("new.txt", "new\n")
    tree = snapshot(inspect(repo.path))
    with running(repo, treatment({SKILL: TEXT}), snapshot=tree, dirty_mode="include") as isolation:
        on, off = both(isolation)
    assert off == {"a.txt": ("file", b"changed\n"), "new.txt": ("file", b"new\n")}
    assert on == {**off, SKILL: ("file", TEXT.data)}


def patch_of(repo: Repo) -> bytes:
    return subprocess.run(["git", "diff"], cwd=repo.path, check=True, capture_output=True).stdout


@pytest.mark.parametrize("done", [False, True])
def test_a_patch_is_put_on_and_taken_off(repo: Repo, done: bool) -> None:
    repo.write("a.txt", "a\nb\n")
    patch = patch_of(repo)
    if done:
        repo.commit("it is part of the base")
    else:
        repo.git("checkout", "-q", "a.txt")
    with running(repo, treatment({}, patch=patch, paths=("a.txt",))) as isolation:
        on, off = both(isolation)
    assert (on["a.txt"], off["a.txt"]) == (("file", b"a\nb\n"), ("file", b"a\n"))


def test_a_patch_that_fits_neither_way(repo: Repo) -> None:
    repo.write("a.txt", "a\nb\n")
    patch = patch_of(repo).replace(b" a\n", b" z\n")
    with pytest.raises(NotReady, match="fits the base neither way"):
        both_of(repo, treatment({}, patch=patch, paths=("a.txt",)))


def both_of(repo: Repo, applied: Treatment) -> None:
    with running(repo, applied):
        raise AssertionError("it is not to start")


def test_more_than_the_component_may_not_differ(repo: Repo) -> None:
    edits = {SKILL: TEXT, "b.txt": File(0o100644, b"b\n"), "a.txt": File(0o100644, b"other\n")}
    with pytest.raises(NotReady, match=r"would differ in more than tidy: a\.txt, b\.txt$"):
        both_of(repo, treatment(edits))


def test_a_placebo_has_a_base_of_its_own(repo: Repo) -> None:
    repo.write(SKILL, TEXT.data)
    repo.commit()
    other = File(0o100644, b"---\nname: tidy\n---\n1. Calm.\n")
    with running(repo, treatment({SKILL: TEXT}, placebo={SKILL: other})) as isolation:
        on, off = both(isolation)
        with isolation.open(cohort=Cohort.PLACEBO) as worktree:
            assert sh(worktree, "git status --porcelain --ignored") == ""
            placebo = files_of(worktree.path)
    assert placebo.pop(SKILL) == ("file", other.data)
    assert on.pop(SKILL) == ("file", TEXT.data)
    assert placebo == on == off


@pytest.mark.parametrize("more", [{"a.txt": File(0o100644, b"other\n")}, {SKILL: TEXT}, {SKILL: None}])
def test_a_placebo_differs_from_both_in_the_component_alone(repo: Repo, more: Edits) -> None:
    placebo = {SKILL: File(0o100644, b"calm\n"), **more}
    with pytest.raises(NotReady, match=r"would differ in more than tidy: a\.txt$|would be the same"):
        both_of(repo, treatment({SKILL: TEXT}, placebo=placebo))


def test_a_component_that_changes_nothing(repo: Repo) -> None:
    with pytest.raises(NotReady, match="both cohorts would be the same"):
        both_of(repo, treatment({"a.txt": File(0o100644, b"a\n")}, {}, paths=("a.txt",)))


def test_what_is_copied_along_holds_no_component(repo: Repo) -> None:
    repo.write(".gitignore", "/.claude/\n")
    repo.commit()
    repo.write(SKILL, "as it lies there\n")
    repo.write(".claude/skills/other/SKILL.md", "other\n")
    other = (".claude/skills/other/SKILL.md", ("file", b"other\n"))
    with running(repo, treatment({SKILL: TEXT}), copy_paths=(".claude/skills",)) as isolation:
        for cohort in SIDES:
            with isolation.open(cohort=cohort) as worktree:
                found = files_of(worktree.path)
                assert (found.pop(SKILL, None) == ("file", TEXT.data)) is (cohort is Cohort.WITH)
                assert other in found.items()
                assert sh(worktree, "git status --porcelain") == ""


def test_commands_make_the_bases(repo: Repo) -> None:
    repo.write("b.txt", "b\n")
    repo.commit()
    commands: dict[str, Any] = {
        "command": "echo on > 'b c.txt'; ln -s a.txt l; chmod +x a.txt",
        "withhold": "rm b.txt",
    }
    applied = treatment({SKILL: TEXT}, paths=("*.txt", "l", ".claude/skills/tidy"), **commands)
    with running(repo, applied) as isolation:
        on, off = both(isolation)
    assert off == {"a.txt": ("file", b"a\n")}
    assert on == {
        "a.txt": ("exec", b"a\n"),
        "b.txt": ("file", b"b\n"),
        "b c.txt": ("file", b"on\n"),
        "l": ("link", b"a.txt"),
        SKILL: ("file", TEXT.data),
    }


def test_a_command_may_not_change_more(repo: Repo) -> None:
    with pytest.raises(NotReady, match=r"would differ in more than tidy: a\.txt$"):
        both_of(repo, treatment({SKILL: TEXT}, command="echo more >> a.txt"))


@pytest.mark.parametrize("by", ["copy", "folder", "include"])
@pytest.mark.parametrize("isolation", ["sealed", "clone"])
def test_what_is_ignored_is_brought_along_without_the_component(repo: Repo, by: str, isolation: str) -> None:
    """The base has nothing of it: only the other cohort's tree tells what this one must lack."""
    repo.write(".gitignore", ".claude/\n")
    repo.commit()
    repo.write(SKILL, TEXT.data)
    repo.write(".claude/rules/other.md", "other\n")
    options: dict[str, Any] = {
        "copy": {"copy_paths": (SKILL, ".claude/rules")},
        "folder": {"copy_paths": (".claude/skills", ".claude/rules")},
        "include": {},
    }[by]
    if by == "include":
        repo.write(".worktreeinclude", ".claude/**\n")
        repo.commit()
    with running(repo, treatment({SKILL: TEXT}, {}), isolation=isolation, **options) as isolation_:
        for cohort in SIDES:
            with isolation_.open(cohort=cohort) as worktree:
                found = files_of(worktree.path)
                assert (found.get(SKILL) == ("file", TEXT.data)) is (cohort is Cohort.WITH)
                assert SKILL in found or cohort is Cohort.WITHOUT
                assert ".claude/rules/other.md" in found
                assert worktree.astray() is None


def test_a_sparse_checkout_has_the_component_all_the_same(repo: Repo) -> None:
    repo.write(SKILL, TEXT.data)
    repo.write("src/a", "a\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "src")
    with running(repo, treatment({}, {SKILL: None})) as isolation:
        on, off = both(isolation)
    assert on[SKILL] == ("file", TEXT.data)
    assert SKILL not in off


@pytest.mark.parametrize(
    ("cohort", "act", "told"),
    [
        (Cohort.WITH, f"rm {SKILL}", "missing"),
        (Cohort.WITH, f"echo > {SKILL}", "another"),
        (Cohort.WITH, f"chmod +x {SKILL}", "another"),
        (Cohort.WITH, f"ln -sf /dev/null {SKILL}", "another"),
        (Cohort.WITHOUT, f"mkdir -p .claude/skills/tidy; echo > {SKILL}", "there"),
    ],
)
@pytest.mark.parametrize("tracked", [True, False])
def test_what_is_done_to_the_component_before_the_task_is_seen(
    repo: Repo, cohort: Cohort, act: str, told: str, tracked: bool
) -> None:
    repo.write(SKILL, TEXT.data)
    if tracked:
        repo.commit()
    applied = treatment({}, {SKILL: None}) if tracked else treatment({SKILL: TEXT}, {})
    with running(repo, applied) as isolation, isolation.open(cohort=cohort) as worktree:
        assert worktree.astray() is None
        sh(worktree, act)
        astray = worktree.astray()
    assert astray is not None
    assert SKILL in astray
    assert told in astray

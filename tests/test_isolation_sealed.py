"""Sealed worktrees: at the base, clean, apart from the user's repository and from each other."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kcut.isolation import CheckoutFailed
from tests.conftest import Repo
from tests.guard import Watch, guard
from tests.worktrees import files_of, opened, places, running, sh

__all__ = ["guard", "places"]
pytestmark = pytest.mark.usefixtures("places")


@pytest.fixture
def grown(repo: Repo) -> Repo:
    """A repository with what repositories have: branches, tags, a stash, hooks, a remote, exotic files."""
    repo.write("run.sh", "#!/bin/sh\necho ran\n", executable=True)
    repo.write("dir with space/ümlaut \n line\tbreak.txt", "odd\n")
    repo.write("deep/er/file", b"\0\xff binary")
    (repo.path / "link").symlink_to("a.txt")
    (repo.path / "dangling").symlink_to("/nowhere/at all")
    repo.commit("second")
    repo.git("branch", "solution")
    repo.git("tag", "-a", "-m", "tag", "v1")
    repo.git("update-ref", "refs/notes/x", "HEAD")
    repo.git("remote", "add", "origin", "https://user:secret@example.org/x.git")
    repo.git("config", "http.extraheader", "AUTHORIZATION: secret")
    repo.git("config", "alias.evil", "!touch /tmp/evil")
    repo.write("a.txt", "stashed\n")
    repo.git("stash")
    for hook in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        path = repo.path / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho hooked > {repo.path}/hooked\nexit 1\n")
        path.chmod(0o755)
    return repo


def test_a_worktree_is_the_base_and_clean(grown: Repo, guard: Watch) -> None:
    guard(grown.path)
    with opened(grown.path) as worktree:
        assert files_of(worktree.path) == files_of(grown.path)
        assert sh(worktree, "git rev-parse HEAD") == grown.git("rev-parse", "HEAD")
        assert sh(worktree, "git status --porcelain --ignored") == ""
        assert sh(worktree, "git rev-parse --abbrev-ref HEAD") == "HEAD"
        assert sh(worktree, "git log --format=%s") == "second\nfirst"
        assert worktree.scratch.is_dir()
        assert not worktree.scratch.is_relative_to(worktree.path)
        guard.check()


def test_nothing_else_of_the_repository_is_there(grown: Repo) -> None:
    with opened(grown.path) as worktree:
        assert sh(worktree, "git for-each-ref") == ""
        assert sh(worktree, "git stash list") == ""
        assert sh(worktree, "git remote") == ""
        assert sh(worktree, "git config --local --get-regexp 'http|alias|remote'", fails=True) == ""
        assert sh(worktree, 'ls "$(git rev-parse --git-path hooks)"') == ""
        common = Path(sh(worktree, "git rev-parse --path-format=absolute --git-common-dir"))
        assert not common.is_relative_to(grown.path)
        assert sh(worktree, "git worktree list --porcelain").count("worktree ") == 2


def test_paths_tell_nothing(grown: Repo) -> None:
    with running(grown.path) as isolation, isolation.open() as one, isolation.open() as two:
        for worktree in (one, two):
            assert worktree.path.name == "tree"
            assert "kcut" not in worktree.path.relative_to(isolation.place).as_posix()
        assert len(str(one.path)) == len(str(two.path))
        assert one.path != two.path


EVERYTHING = r"""
echo mine > mine.txt && git add -A && git commit -qm mine
git branch side && git tag t && git update-ref refs/heads/main HEAD && git notes add -m note
git config user.name Somebody && git config core.fsmonitor /bin/false && git config --unset core.fsmonitor
git remote add up /nonexistent
printf '#!/bin/sh\nexit 0\n' > "$(git rev-parse --git-path hooks)/pre-commit"
echo '*.log' >> "$(git rev-parse --git-path info/exclude)"
git worktree add -q ../extra -b extra && git worktree prune && git worktree remove --force ../extra
git replace HEAD~1 HEAD
git replace -d HEAD~1
git gc -q --prune=now && git repack -adq && git prune --expire=now && git reflog expire --expire=now --all
echo more >> a.txt && git stash -q
git push -q origin HEAD:refs/heads/pushed && exit 1
git fsck --no-dangling
"""


def test_whatever_a_trial_does_with_git_stays_in_it(grown: Repo, guard: Watch) -> None:
    guard(grown.path)
    with running(grown.path) as isolation, isolation.open() as other, isolation.open() as worktree:
        said = sh(worktree, EVERYTHING, fails=True)
        assert sh(worktree, "git log -1 --format=%s") == "mine", said
        assert sh(worktree, "git rev-parse side t extra").count("\n") == 2, said
        assert sh(worktree, "git stash list").startswith("stash@{0}"), said
        assert "missing" not in said
        guard.check()
        assert sh(other, "git for-each-ref") == ""
        assert sh(other, "git status --porcelain") == ""
        assert sh(other, "git config user.name") == "Tester"
    with opened(grown.path) as later:
        assert sh(later, "git for-each-ref; git status --porcelain") == ""


def test_sixteen_at_once(grown: Repo, guard: Watch) -> None:
    guard(grown.path)
    barrier = threading.Barrier(16)
    with running(grown.path) as isolation:

        def trial(number: int) -> str:
            barrier.wait(60)
            with isolation.open() as worktree:
                sh(worktree, f"echo {number} > new && git add -A && git commit -qm {number} && git branch b{number}")
                barrier.wait(60)
                assert sh(worktree, "git branch --format='%(refname:short)' --list 'b*'") == f"b{number}"
                return worktree.freeze().tree or ""

        with ThreadPoolExecutor(16) as pool:
            trees = list(pool.map(trial, range(16)))
        assert len(set(trees)) == 16


@pytest.mark.parametrize(("refs", "names"), [("head", ""), ("tags", "tags/v1"), ("all", "heads/main")])
def test_refs(grown: Repo, refs: str, names: str) -> None:
    with opened(grown.path, refs=refs) as worktree:
        found = sh(worktree, "git for-each-ref --format='%(refname)'")
        assert (f"refs/{names}" in found) is bool(names)
        if refs == "tags":
            assert found == "refs/tags/v1"
        if refs == "all":
            assert "refs/heads/solution" in found
            assert sh(worktree, "git log -1 --format=%s solution") == "second"
        assert sh(worktree, "git status --porcelain; git rev-parse --abbrev-ref HEAD") == "HEAD"
        sh(worktree, "git fsck --no-dangling")


def test_without_history(grown: Repo, guard: Watch) -> None:
    before = grown.git("rev-parse", "HEAD~1")
    message = "subject\n\nbody with ümlaut\n"
    grown.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "--allow-empty", "-m", message)
    shape = "--format=%an %ae %ad %cn %ce %cd%n%B"
    guard(grown.path)
    with running(grown.path, history="none") as isolation, isolation.open() as worktree, isolation.open() as other:
        assert sh(worktree, "git rev-list --all HEAD | wc -l").strip() == "1"
        assert sh(worktree, "git rev-list --parents HEAD").count(" ") == 0
        assert sh(worktree, f"git log '{shape}'") == grown.git("log", "-1", shape)
        assert files_of(worktree.path) == files_of(grown.path)
        assert sh(worktree, "git status --porcelain") == ""
        assert sh(worktree, f"git cat-file -t {before}", fails=True).startswith("fatal:")
        assert sh(worktree, "git rev-parse HEAD") == sh(other, "git rev-parse HEAD")
        assert (grown.path / ".git").as_posix() not in sh(worktree, "git count-objects -v")
        sh(worktree, "git gc -q --prune=now && git fsck && echo x > y && git add y && git commit -qm y")
        assert sh(other, "git fsck && git status --porcelain") == ""


@pytest.mark.parametrize("history", ["full", "none"])
@pytest.mark.parametrize("isolation", ["sealed", "clone"])
def test_kcuts_own_folder_stays_out_though_tracked(repo: Repo, history: str, isolation: str, guard: Watch) -> None:
    repo.write(".claude/eval/benchmarks/x.json", "{}\n")
    repo.write(".claude/settings.json", "{}\n")
    repo.git("add", "-f", ".claude")
    repo.commit("artifacts")
    guard(repo.path)
    with opened(repo.path, history=history, isolation=isolation) as worktree:
        assert not (worktree.path / ".claude/eval").exists()
        assert (worktree.path / ".claude/settings.json").exists()
        assert sh(worktree, "git status --porcelain") == ""
        clean = worktree.freeze()
        assert clean.changed == ()
        sh(worktree, "echo x > new && git add -A && git commit -qm new")
        assert worktree.freeze().changed == ("new",)
        assert sh(worktree, "git show --name-only --format=") == "new"
        sh(worktree, "git reset -q --hard && git stash list && git checkout -q . && test ! -e .claude/eval")
        if history == "none":
            assert sh(worktree, "git ls-files .claude/eval") == ""


def test_only_kcuts_folder_in_dot_claude(repo: Repo) -> None:
    repo.write(".claude/eval/benchmarks/x.json", "{}\n")
    repo.git("add", "-f", ".claude")
    repo.commit("artifacts")
    with opened(repo.path) as worktree:
        assert not (worktree.path / ".claude").exists()


def test_sub_directory(repo: Repo) -> None:
    repo.write("services/äpi v2/marker", "1\n")
    repo.commit()
    with opened(repo.path / "services/äpi v2") as worktree:
        assert worktree.cwd == worktree.path / "services/äpi v2"
        assert sh(worktree, "cat marker; git rev-parse --show-prefix") == "1\nservices/äpi v2/"


def test_the_base_may_be_another_commit(repo: Repo) -> None:
    repo.write("b.txt", "b\n")
    repo.commit("second")
    with opened(repo.path, base="HEAD~1") as worktree:
        assert sorted(files_of(worktree.path)) == ["a.txt"]
        assert sh(worktree, "git log --format=%s") == "first"


def test_a_file_above_the_worktrees_that_appears_later(repo: Repo, places: Path) -> None:
    with running(repo.path) as isolation:
        with isolation.open() as worktree:
            sh(worktree, f"echo rule > {isolation.place}/CLAUDE.md; mkdir {isolation.place}/.claude")
        with isolation.open() as worktree:
            assert not (isolation.place / "CLAUDE.md").exists()
            assert not (isolation.place / ".claude").exists()
        (places / "AGENTS.md").write_text("rule\n")
        with pytest.raises(CheckoutFailed, match=r"AGENTS\.md"), isolation.open():
            pass
        (places / "AGENTS.md").unlink()


def test_global_hooks_and_templates_are_off(repo: Repo, home: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "global hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    template = tmp_path / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    with (home / ".gitconfig").open("a") as config:
        config.write(f'[core]\n\thooksPath = "{hooks}"\n[init]\n\ttemplateDir = "{template}"\n')
    with opened(repo.path) as worktree:
        sh(worktree, "echo x > x && git add x && git commit -qm x")
        sh(worktree, 'printf "#!/bin/sh\\nexit 7\\n" > "$(git rev-parse --git-path hooks)/pre-commit"')
        sh(worktree, 'chmod +x "$(git rev-parse --git-path hooks)/pre-commit"')
        sh(worktree, "echo y > x && ! git commit -qam y")  # what the trial itself sets up does run
    assert not (tmp_path / "ran").exists()


def test_no_hooks_path_is_set_where_none_is_needed(repo: Repo) -> None:
    with opened(repo.path) as worktree:
        assert sh(worktree, "git config core.hooksPath", fails=True) == ""


def test_pygit2_opens_a_worktree(grown: Repo) -> None:
    import pygit2

    with opened(grown.path) as worktree:
        opened_there = pygit2.Repository(str(worktree.path))
        assert str(opened_there.head.target) == grown.git("rev-parse", "HEAD")
        assert not opened_there.is_bare
        assert worktree.path.samefile(opened_there.workdir)
        assert opened_there.status() == {}


def test_identity_is_carried(repo: Repo, home: Path) -> None:
    repo.git("config", "user.name", "Local Name")
    (home / "work.inc").write_text("[user]\n\temail = included@example.org\n")
    with (home / ".gitconfig").open("a") as config:
        config.write(f'[includeIf "gitdir:{repo.path}/"]\n\tpath = work.inc\n')
    with opened(repo.path) as worktree:
        sh(worktree, "git commit -q --allow-empty -m x")
        assert sh(worktree, "git log -1 --format='%an <%ae>'") == "Local Name <included@example.org>"
    (home / "work.inc").unlink()

"""Trials that turn kcut's own use of git against the user, and repositories that stand in its way."""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.isolation import CheckoutFailed, check_plan, inspect, snapshot
from kcut.isolation.filters import is_outside
from kcut.model.errors import UsageFault
from tests.conftest import Repo, make_repo
from tests.guard import Watch, guard
from tests.worktrees import opened, places, plan_of, running, sh

__all__ = ["guard", "places"]
pytestmark = pytest.mark.usefixtures("places")

FILTERS = (
    "./tools/clean.sh",
    "sh tools/clean.sh",
    "tools/clean.sh %f",
    "true; . tools/clean.sh",
    "by-settings",
    "{bin}/by-settings",
    "cat plain -",
)


#: A program of the user's, outside of the repository, that runs what a file of the tree says, as formatters do.
BY_SETTINGS = "#!/bin/sh\nexec sh ./tools/clean.sh\n"


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's own programs, found by PATH."""
    folder = tmp_path / "bin"
    Repo(tmp_path).write("bin/by-settings", BY_SETTINGS, executable=True)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def filtered(repo: Repo, command: str) -> None:
    """A repository with a filter that the repository itself brings along: upper case in the tree, stored lower."""
    command = command.format(bin=repo.path.parent / "bin")
    if command.startswith("cat"):
        repo.write("plain", "")
    repo.write("tools/clean.sh", "#!/bin/sh\ntr A-Z a-z\n", executable=True)
    repo.git("config", "filter.cl.clean", command)
    repo.git("config", "filter.cl.smudge", "tr a-z A-Z")
    repo.git("config", "filter.cl.required", "true")
    repo.write(".gitattributes", "*.up filter=cl\n")
    repo.write("a.up", "TEXT\n")
    repo.write("b.up", "OTHER\n")
    repo.commit()


@pytest.mark.parametrize("command", FILTERS)
def test_no_filter_of_the_trials_runs(repo: Repo, tmp_path: Path, command: str, guard: Watch) -> None:
    filtered(repo, command)
    guard(repo.path)
    ran = tmp_path / "ran"
    trees = []
    with running(repo.path) as isolation:
        for text in ("NEW", "NEW", "ELSE"):
            with isolation.open(("a.up", "b.up")) as worktree:
                assert (worktree.path / "a.up").read_text() == "TEXT\n"
                assert worktree.freeze() == worktree.freeze()
                assert worktree.freeze().changed == ()
                assert worktree.freeze().tree == repo.git("rev-parse", "HEAD^{tree}")
                sh(worktree, f"printf '#!/bin/sh\\ntouch {ran}; cat\\n' > tools/clean.sh; echo {text} > a.up")
                sh(worktree, "if test -e plain; then echo $PPID-the-trial-decides > plain; fi")
                frozen = worktree.freeze()
                assert frozen.reason is None
                assert {*frozen.changed} - {"plain"} == {"a.up", "tools/clean.sh"}
                trees.append(frozen.tree)
                diff = worktree.diff()
                assert b"-TEXT" in diff
                assert b"OTHER" not in diff
                assert worktree.restore() == ("a.up",)
                assert (worktree.path / "a.up").read_text() == "TEXT\n"
                assert not ran.exists()
    assert trees[0] == trees[1] != trees[2]


OTHER_KINDS = ({"isolation": "worktree"}, {"isolation": "clone"}, {"history": "none"})


@pytest.mark.parametrize("options", OTHER_KINDS)
def test_files_as_they_are_in_every_kind_of_worktree(repo: Repo, options: dict[str, str]) -> None:
    filtered(repo, "./tools/clean.sh")
    with opened(repo.path, ("a.up",), **options) as worktree:
        assert worktree.freeze().changed == ()
        sh(worktree, "echo 'exit 1' > tools/clean.sh; echo NEW > a.up")
        assert worktree.freeze().changed == ("a.up", "tools/clean.sh")
        assert b"+NEW" in worktree.diff()
        assert worktree.restore() == ("a.up",)
        assert (worktree.path / "a.up").read_text() == "TEXT\n"


def test_no_program_of_the_trials_is_found_by_path(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filtered(repo, "tr A-Z a-z")
    monkeypatch.setenv("PATH", f"tools:.:{os.environ['PATH']}")
    ran = tmp_path / "ran"
    with opened(repo.path) as worktree:
        sh(worktree, f"printf '#!/bin/sh\\ntouch {ran}; /bin/cat\\n' > tools/tr; chmod +x tools/tr; echo NEW > a.up")
        frozen = worktree.freeze()
        assert frozen.changed == ("a.up", "tools/tr")
        assert b"+new" in worktree.diff()
    assert not ran.exists()


KEPT = (
    "git-lfs clean -- %f",
    "git-lfs filter-process",
    "/usr/bin/git-lfs smudge -- %f",
    "sed s/a/b/",
    "sed -e 's/a.*$/b/'",
    "tr a-z A-Z",
    "tr -d '\\r'",
    "cat",
    "cat -",
    "/bin/cat",
    "gzip -n",
    "expand --tabs=4",
)
REFUSED = (
    *FILTERS,
    "/tree/tools/x",
    "/bin/sh x",
    "/usr/bin/env tools/x",
    "python3 x.py",
    "python3 -m x",
    "PATH=. x",
    "cat | tools/x",
    "cat $(x)",
    "sed -f x.sed",
    "x --config=a/b",
    "cat *",
    "'",
    "sed 's/a/b/e'",
    "x",
    "/usr/bin/x",
    "/bin/sh /usr/bin/x",
    "clang-format",
    "run-parts tools",
    "nbstripout",
    "git x",
    "cat x",
    "cat -- x",
    "sed -e 's/a/b/' x",
    "sed -fx",
    "sed 's/a/b/w x'",
    "sed 'r x'",
    "git-lfs x",
    "gzip x",
    "zstd -D x",
    "zstd --patch-from=x",
    "",
)


@pytest.mark.parametrize("command", KEPT)
def test_a_filter_that_is_kept(command: str) -> None:
    assert is_outside(command, (Path("/tree"),))


@pytest.mark.parametrize("command", REFUSED)
def test_a_filter_that_is_switched_off(command: str) -> None:
    assert not is_outside(command, (Path("/tree"),))


@given(st.text(max_size=20))
def test_any_command_is_judged(command: str) -> None:
    assert is_outside(command, (Path("/tree"),)) in {True, False}
    assert not is_outside(f"sh ./{command}", (Path("/tree"),))


@pytest.mark.parametrize(
    "name", [".gitattributes", ".gitignore", ".gitmodules", "sub/.gitattributes", "new/.gitignore"]
)
def test_a_pipe_that_git_would_read(repo: Repo, name: str) -> None:
    repo.write("a.txt", "a\n")
    repo.write("sub/b.txt", "b\n")
    repo.commit()
    with opened(repo.path) as worktree:
        sh(worktree, f"mkdir -p new; mkfifo {name}; rm sub/b.txt; echo new > new/c")
        start = time.monotonic()
        frozen = worktree.freeze()
        diff = worktree.diff()
        assert time.monotonic() - start < 60  # git itself would wait for ever, kcut's limit is twice that
        assert frozen.tree is None or name.endswith(".gitmodules")
        assert frozen.reason is not None
        assert name in frozen.reason
        assert diff == b""


def test_credentials_are_not_given_to_what_reads_a_trials_tree(repo: Repo, tmp_path: Path) -> None:
    # of a name that is known to be harmless
    Repo(tmp_path).write("own/cat", f"#!/bin/sh\nenv >> {tmp_path / 'env'}\nexec /bin/cat\n", executable=True)
    repo.write("a.x", "a\n")
    repo.write(".gitattributes", "*.x filter=f\n")
    repo.commit()
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.path}", str(tmp_path / "partial"))
    clone = Repo(tmp_path / "partial")
    clone.git("config", "http.extraheader", "Authorization: very-secret")
    clone.git("config", "filter.f.clean", str(tmp_path / "own/cat"))
    with opened(clone.path) as worktree:
        sh(worktree, "echo new > a.x")
        (tmp_path / "env").unlink(missing_ok=True)
        assert worktree.freeze().changed == ("a.x",)
        worktree.diff()
    seen = (tmp_path / "env").read_text()
    assert "very-secret" not in seen


def test_worktrees_that_a_trial_adds_are_unregistered(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt", "a\n")
    repo.commit()
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "mine"))
    before = repo.git("worktree", "list", "--porcelain")
    with opened(repo.path, isolation="worktree") as worktree:
        sh(
            worktree,
            "git worktree add -q --detach ../w2; git worktree add -q --detach inner; git worktree lock ../w2",
        )
    assert repo.git("worktree", "list", "--porcelain") == before
    assert [path.name for path in (repo.path / ".git/worktrees").iterdir()] == ["mine"]


def test_a_worktree_in_a_kept_one_stays_and_a_pipe_does_not_stop_the_end(repo: Repo, places: Path) -> None:
    repo.commit()
    admins = repo.path / ".git" / "worktrees"
    with running(repo.path, isolation="worktree") as isolation:
        with isolation.open() as worktree:
            sh(worktree, "git worktree add -q --detach ../w2")
            kept = worktree.keep()
        with isolation.open() as worktree:
            sh(worktree, f"git worktree add -q --detach ../w3; mkdir {admins}/odd; mkfifo {admins}/odd/gitdir")
    assert sorted(path.name for path in admins.iterdir() if path.name.startswith("w2")) == ["w2"]
    assert not (admins / "w3").exists()
    assert (kept.parent / "w2").is_dir()
    shutil.rmtree(isolation.place)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS allows UTF-8 names only")
def test_a_linked_worktree_of_a_repository_with_an_undecodable_name(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / os.fsdecode(b"not-\xff-utf8"))
    repo.write("a.txt", "a\n")
    repo.commit()
    with opened(repo.path, isolation="worktree") as worktree:
        assert sh(worktree, "git status --porcelain") == ""
        assert worktree.freeze().changed == ()


def test_a_snapshot_does_not_count_itself(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write("a.txt", "a\n")
    repo.commit()
    repo.write("a.txt", "b\n")
    expected = snapshot(inspect(repo.path))
    (repo.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(repo.path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)  # read anew
    assert snapshot(inspect(repo.path)) == expected
    assert list((repo.path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    "rev", ["^HEAD", "HEAD~1..HEAD", "HEAD...HEAD~1", "HEAD:", "HEAD:a.txt", "", "--all", "@{u}"]
)
def test_a_base_that_is_no_commit(repo: Repo, rev: str) -> None:
    repo.write("a.txt", "a\n")
    repo.write("a.txt^{commit}", "a\n")
    repo.commit()
    repo.commit()
    with pytest.raises(UsageFault, match="names no commit"):
        inspect(repo.path, base=rev)


def test_a_sub_directory_that_a_sparse_checkout_leaves_out(repo: Repo) -> None:
    repo.write("in/a.txt", "a\n")
    repo.write("out/b.txt", "b\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "in")
    (repo.path / "out").mkdir(exist_ok=True)
    assert inspect(repo.path / "in").subdir == "in"
    with pytest.raises(CheckoutFailed, match="the sparse checkout leaves out out"):
        inspect(repo.path / "out")


def test_a_base_by_its_message_and_by_a_tag(repo: Repo) -> None:
    first = repo.commit("the fix")
    repo.git("tag", "-a", "-m", "tag", "v1")
    repo.commit("later")
    for rev in (":/the fix", "v1", "HEAD~1", first[:10]):
        assert inspect(repo.path, base=rev).base == first


def test_a_plan_is_checked_without_a_run(repo: Repo) -> None:
    repo.commit()
    checkout = inspect(repo.path)
    check_plan(plan_of(checkout))
    with pytest.raises(UsageFault, match="--history none"):
        check_plan(plan_of(checkout, history="none", refs="all"))
    with pytest.raises(UsageFault, match="--isolation worktree"):
        check_plan(plan_of(checkout, isolation="worktree", refs="tags"))

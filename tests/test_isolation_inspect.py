"""What kcut reads of a checkout, what it refuses to start from, and that reading writes nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kcut.isolation import CheckoutFailed, fingerprint, ignored_files, inspect, isolate, snapshot
from kcut.model.errors import KcutError, NotReady, UsageFault
from tests.conftest import Kcut, Repo, make_repo
from tests.guard import Watch, guard
from tests.worktrees import files_of, opened, places, plan_of, sh, state_of

__all__ = ["guard", "places"]


def test_a_plain_checkout(repo: Repo, guard: Watch) -> None:
    guard(repo.path)
    checkout = inspect(repo.path)
    assert checkout.root == repo.path
    assert checkout.head == checkout.base == repo.git("rev-parse", "HEAD")
    assert (checkout.subdir, checkout.object_format, checkout.dirty) == ("", "sha1", ())
    assert (checkout.shallow, checkout.sparse, checkout.partial) == (False, False, False)


def test_uncommitted_changes_are_named(repo: Repo, guard: Watch) -> None:
    for name in ("b.txt", "c.txt", "d.txt"):
        repo.write(name, f"{name}\n")
    repo.write(".gitignore", "*.log\n")
    repo.commit()
    repo.write("a.txt", "edited\n")
    (repo.path / "b.txt").unlink()
    repo.write("c.txt", "staged\n")
    repo.git("add", "c.txt")
    repo.git("mv", "d.txt", "moved.txt")
    repo.write("new\nline/x", "")
    repo.write("some.log", "")
    repo.write(".claude/skills/demo/SKILL.md", "")
    repo.write(".claude/eval/kcut.db", "")
    guard(repo.path)
    names = {"a.txt", "b.txt", "c.txt", "d.txt", "moved.txt", "new\nline/x", ".claude/skills/demo/SKILL.md"}
    assert set(inspect(repo.path).dirty) == names


def test_kcuts_own_folder_never_counts(repo: Repo) -> None:
    repo.write(".claude/eval/benchmarks/x.json", "{}")
    repo.commit()
    repo.write(".claude/eval/benchmarks/x.json", "{1}")
    repo.write(".claude/eval/benchmarks/y.json", "{1}")
    assert inspect(repo.path).dirty == ()


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match="not inside a git repository"):
        inspect(tmp_path)


def test_unborn_head(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "r")], check=True)
    with pytest.raises(NotReady, match="no HEAD commit"):
        inspect(tmp_path / "r")


def test_bare_and_inside_the_git_directory(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    for place in (tmp_path / "bare.git", repo.path / ".git"):
        with pytest.raises(NotReady, match="bare repository or a git directory"):
            inspect(place)


def test_base(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.write("sub/x", "")
    repo.commit("second")
    repo.git("tag", "-a", "-m", "x", "v1", first)
    assert inspect(repo.path, base="v1").base == first
    for wrong in ("nope", "", "--all", "HEAD:a.txt", "HEAD^{tree}"):
        with pytest.raises(UsageFault, match="--base"):
            inspect(repo.path, base=wrong)
    with pytest.raises(CheckoutFailed, match="no folder sub"):
        inspect(repo.path / "sub", base="v1")


def test_a_folder_that_is_not_committed(repo: Repo) -> None:
    repo.write("fresh/x", "")
    with pytest.raises(CheckoutFailed, match="no folder fresh"):
        inspect(repo.path / "fresh")


@pytest.mark.parametrize("where", ["above", "beside", "separate"])
def test_a_setting_says_where_the_files_are(tmp_path: Path, where: str, guard: Watch, places: Path) -> None:
    # git finds no repository from the root of such a checkout: only from where it was started
    start = Repo(tmp_path / "files" / "sub" if where == "above" else tmp_path / "start")
    root = Repo(start.path if where == "separate" else tmp_path / "files")
    start.path.mkdir(parents=True)
    root.path.mkdir(exist_ok=True)
    start.git("init", "-q", *(("--separate-git-dir", str(tmp_path / "git")) if where == "separate" else ()))
    start.git("config", "core.worktree", str(root.path))
    root.write("a.txt", "a\n")
    root.write("sub/b.txt", "b\n")
    start.commit("first")
    root.write("a.txt", "edited\n")
    checkout = inspect(start.path)
    assert checkout.root == root.path
    assert checkout.subdir == ("sub" if where == "above" else "")
    assert checkout.dirty == ("a.txt",)
    assert ignored_files(checkout) == ()
    before = fingerprint(checkout)
    root.write("sub/b.txt", "edited\n")
    assert before.differences(fingerprint(checkout)) == ("sub/b.txt",)
    root.write("sub/b.txt", "b\n")
    tree = snapshot(checkout)
    if where == "separate":
        guard(root.path)
    for options in (
        {},
        {"isolation": "clone"},
        {"isolation": "worktree"},
        {"dirty_mode": "include", "snapshot": tree},
    ):
        with opened(start.path, **options) as worktree:
            assert (worktree.path / "a.txt").read_text() == ("edited\n" if "snapshot" in options else "a\n")
            assert sh(worktree, "pwd -P") == str(worktree.path / checkout.subdir)
            assert sh(worktree, "git status --porcelain") == ""
            assert worktree.freeze().changed == ()
    assert start.git("worktree", "list", "--porcelain").count("worktree ") == 1


@pytest.mark.parametrize("where", ["above", "beside"])
def test_a_run_where_a_setting_says_where_the_files_are(tmp_path: Path, where: str, kcut: Kcut) -> None:
    start = Repo(tmp_path / "files" / "sub" if where == "above" else tmp_path / "start")
    root = Repo(tmp_path / "files")
    start.path.mkdir(parents=True)
    root.path.mkdir(exist_ok=True)
    start.git("init", "-q")
    start.git("config", "core.worktree", str(root.path))
    root.write("sub/b.txt", "b\n")
    start.commit("first")
    task = "test -f b.txt" if where == "above" else "test -f sub/b.txt"
    done = kcut("benchmark", "--component", "x", "--task", task, "--k", "1", cwd=start.path)
    assert done.returncode == 1, done.stderr
    assert (root.path / ".claude/eval/benchmarks/x.json").is_file()
    assert "x" in kcut("history", cwd=start.path).stdout
    assert '"ok": false' not in kcut("doctor", "--json", cwd=start.path).stdout


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give a repository away")
def test_another_users_repository(repo: Repo, home: Path) -> None:
    for path in (repo.path, repo.path / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(NotReady, match="another user") as caught:
        inspect(repo.path)
    assert "safe.directory" in (caught.value.remedy or "")
    subprocess.run(["git", "config", "--global", "safe.directory", str(repo.path)], check=True)
    assert inspect(repo.path).root == repo.path


def test_a_linked_worktree_and_a_detached_head(repo: Repo, tmp_path: Path, guard: Watch, places: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked")
    linked.write("only-here.txt", "x\n")
    head = linked.commit("on side")
    linked.git("checkout", "-q", "--detach")
    guard(repo.path)
    guard(linked.path)
    checkout = inspect(linked.path)
    assert checkout.root == linked.path
    assert checkout.head == head != repo.git("rev-parse", "HEAD")
    assert checkout.common_dir == repo.path / ".git" != checkout.git_dir
    with opened(linked.path) as worktree:
        assert files_of(worktree.path) == files_of(linked.path)
        assert sh(worktree, "git rev-parse HEAD; git status --porcelain") == head


def test_a_submodule_checkout(repo: Repo, tmp_path: Path, guard: Watch, places: Path) -> None:
    inner = make_repo(tmp_path / "inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "deps/inner")
    repo.commit("submodule")
    guard(repo.path)
    guard(repo.path / "deps/inner")
    checkout = inspect(repo.path / "deps/inner")
    assert checkout.root == repo.path / "deps/inner"
    assert checkout.git_dir == repo.path / ".git/modules/deps/inner"
    with opened(checkout.root) as worktree:
        assert sh(worktree, "cat a.txt; git status --porcelain") == "a"
        assert sh(worktree, "git rev-parse --show-superproject-working-tree") == ""
    with opened(repo.path) as worktree:  # the superproject: submodules are empty folders, as git leaves them
        assert list((worktree.path / "deps/inner").iterdir()) == []
        assert sh(worktree, "git status --porcelain") == ""


def test_started_in_a_hook(repo: Repo, tmp_path: Path, guard: Watch, places: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "l", str(tmp_path / "l"))
    linked = Repo(tmp_path / "l")
    guard(repo.path)
    guard(linked.path)
    git_dir = linked.git("rev-parse", "--absolute-git-dir")
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.worktrees import opened, sh\n"
        "with opened(Path.cwd()) as worktree:\n"
        "    sh(worktree, 'echo x > new.txt; git add new.txt; git commit -qm trial')\n"
        "    assert sh(worktree, 'git rev-parse --absolute-git-dir') != sys.argv[1]\n"
        "    assert worktree.freeze().changed == ('new.txt',)\n"
    )
    hook = {"GIT_DIR": git_dir, "GIT_INDEX_FILE": f"{git_dir}/index", "GIT_PREFIX": "", "GIT_WORK_TREE": "/"}
    hook |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true"}
    env = os.environ | hook | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code, git_dir], cwd=linked.path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    guard.check()


def test_locks_held_by_others_do_not_matter(repo: Repo, guard: Watch, places: Path) -> None:
    repo.write("a.txt", "edited\n")
    for name in (
        "index.lock",
        "HEAD.lock",
        "config.lock",
        "packed-refs.lock",
        "refs/heads/main.lock",
        "shallow.lock",
    ):
        (repo.path / ".git" / name).write_text("")
    guard(repo.path)
    assert inspect(repo.path).dirty == ("a.txt",)
    with opened(repo.path) as worktree:
        assert sh(worktree, "git status --porcelain") == ""
        sh(worktree, "git commit -q --allow-empty -m x")
    assert snapshot(inspect(repo.path))


def test_variables_that_change_what_paths_mean(repo: Repo, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.write(".claude/eval/benchmarks/x.json", "{}")
    repo.write("b*", "x\n")
    for name in ("GIT_LITERAL_PATHSPECS", "GIT_ICASE_PATHSPECS"):
        monkeypatch.setenv(name, "1")
        assert inspect(repo.path).dirty == ("b*",)
        with opened(repo.path) as worktree:
            assert worktree.freeze().changed == ()
        monkeypatch.delenv(name)


def test_reading_refreshes_no_index(repo: Repo, guard: Watch) -> None:
    os.utime(repo.path / "a.txt", (1, 1))  # git would note the new time in the index if it were let
    guard(repo.path)
    checkout = inspect(repo.path)
    assert checkout.dirty == ()
    snapshot(checkout)


def test_a_path_with_a_line_break(tmp_path: Path, guard: Watch, places: Path) -> None:
    odd = make_repo(tmp_path / " \"odd\nplace\\ '#ü")
    guard(odd.path)
    (odd.path / "sub\ndir").mkdir()
    odd.write("sub\ndir/x", "x\n")
    odd.commit()
    guard(odd.path)
    with opened(odd.path / "sub\ndir") as worktree:
        assert sh(worktree, "git status --porcelain; cat x") == "x"
        sh(worktree, "git log -p >/dev/null && git commit -q --allow-empty -m x")


@pytest.mark.parametrize("name", ["#comment", '"quoted', "a:b;c", "tab\there", "back\\slash"])
def test_object_folders_with_odd_names(
    tmp_path: Path, name: str, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = make_repo(tmp_path / name)
    with opened(odd.path) as worktree:
        assert sh(worktree, "git log --format=%s; git status --porcelain") == "first"
    odd.write("a.txt", "edited\n")
    assert snapshot(inspect(odd.path))


def test_a_missing_head_commit(repo: Repo) -> None:
    shutil.rmtree(repo.path / ".git" / "objects")
    (repo.path / ".git" / "objects").mkdir()
    with pytest.raises(KcutError, match="HEAD"):
        inspect(repo.path)


def test_a_missing_tree_is_named_in_gits_words(repo: Repo, places: Path) -> None:
    blob = repo.git("rev-parse", "HEAD:a.txt")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    checkout = inspect(repo.path)
    with (
        isolate(checkout, plan_of(checkout), run_id="x", state=state_of(checkout)) as isolation,
        pytest.raises(CheckoutFailed, match="unable to read") as caught,
        isolation.open(),
    ):
        pass
    assert blob in (caught.value.remedy or "")

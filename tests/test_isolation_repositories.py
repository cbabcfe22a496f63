"""Repositories of every kind: what git checks out in them is what a trial gets, and it is clean there."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kcut.isolation import CheckoutFailed, inspect, snapshot
from kcut.isolation.alternates import content
from kcut.isolation.carried import without_credentials
from kcut.isolation.reads import Reader
from kcut.model.errors import NotReady
from tests.conftest import Kcut, Repo, make_repo
from tests.guard import Watch, guard
from tests.worktrees import files_of, opened, places, running, sh

__all__ = ["guard", "places"]
pytestmark = pytest.mark.usefixtures("places")


def test_sha256(tmp_path: Path, guard: Watch) -> None:
    repo = make_repo(tmp_path / "repo", "--object-format=sha256")
    guard(repo.path)
    for options in ({}, {"history": "none"}, {"isolation": "clone"}):
        with opened(repo.path, **options) as worktree:
            assert sh(worktree, "git rev-parse --show-object-format; git status --porcelain") == "sha256"
            assert worktree.freeze().changed == ()
            sh(worktree, "echo x > x && git add x && git commit -qm x && git fsck")
            frozen = worktree.freeze()
            assert frozen.changed == ("x",)
            assert frozen.tree == sh(worktree, "git rev-parse HEAD^{tree}")


def test_shallow(repo: Repo, tmp_path: Path, guard: Watch) -> None:
    for number in range(4):
        repo.write("n.txt", f"{number}\n")
        repo.commit(f"c{number}")
    repo.git("clone", "-q", "--depth=2", f"file://{repo.path}", str(tmp_path / "shallow"))
    shallow = Repo(tmp_path / "shallow")
    guard(shallow.path)
    assert inspect(shallow.path).shallow
    for options in ({}, {"history": "none"}, {"isolation": "clone"}):
        with opened(shallow.path, **options) as worktree:
            count = 1 if "history" in options else 2
            assert sh(worktree, "git log --format=%h | wc -l").strip() == str(count)
            assert sh(worktree, "git status --porcelain") == ""
            sh(worktree, "git fsck && git commit -q --allow-empty -m x && git gc -q --prune=now")


@pytest.fixture
def partial(repo: Repo, tmp_path: Path) -> Repo:
    """A clone without blobs of a repository with two commits; its first blob was fetched at its own checkout."""
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    repo.write("old.txt", "old bytes\n")
    repo.commit("old")
    repo.write("old.txt", "new bytes\n")
    repo.commit("new")
    repo.git("clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{repo.path}", str(tmp_path / "partial"))
    clone = Repo(tmp_path / "partial")
    clone.git("config", "remote.origin.pushurl", "https://push.example.org/x")
    clone.git("remote", "add", "other", str(repo.path))
    return clone


def test_partial_online(partial: Repo, repo: Repo, guard: Watch) -> None:
    guard(partial.path)
    guard(repo.path)
    with running(partial.path) as isolation, isolation.open() as worktree, isolation.open() as other:
        assert (worktree.path / "old.txt").read_text() == "new bytes\n"
        assert sh(worktree, "git status --porcelain") == ""
        assert sh(worktree, "git show HEAD~1:old.txt") == "old bytes"  # fetched into the trial's own repository
        assert sh(worktree, "git remote") == "origin"
        sh(worktree, "git commit -q --allow-empty -m x && ! git push -q origin HEAD:refs/heads/x")
        sh(worktree, "git fsck && git gc -q --prune=now && git status")
        assert other.freeze().changed == ()
        guard.check()
    assert partial.git("rev-list", "--objects", "--missing=print", "HEAD").count("?") > 0


@pytest.mark.parametrize(
    "options", [{"history": "none"}, {"isolation": "clone"}, {"history": "none", "isolation": "clone"}]
)
def test_partial_in_other_ways(partial: Repo, guard: Watch, options: dict[str, str]) -> None:
    guard(partial.path)
    before = partial.git("rev-parse", "HEAD~1")
    with opened(partial.path, **options) as worktree:
        assert (worktree.path / "old.txt").read_text() == "new bytes\n"
        assert sh(worktree, "git status --porcelain") == ""
        found = sh(
            worktree,
            f"GIT_NO_LAZY_FETCH=1 git cat-file --batch-all-objects --batch-check | grep {before}",
            fails=True,
        )
        assert bool(found) is ("history" not in options)


@pytest.mark.parametrize("options", [{}, {"history": "none"}, {"isolation": "clone"}])
def test_partial_without_trees(
    partial: Repo, repo: Repo, tmp_path: Path, options: dict[str, str], guard: Watch
) -> None:
    repo.write("sub/x", "x\n")
    repo.commit("with a folder")
    repo.git("clone", "-q", "--filter=tree:0", f"file://{repo.path}", str(tmp_path / "treeless"))
    guard(tmp_path / "treeless")
    with opened(tmp_path / "treeless/sub", **options) as worktree:
        assert sh(worktree, "cat x; git status --porcelain") == "x"
    if options:
        return
    with opened(tmp_path / "treeless", base="HEAD~1") as worktree:
        assert sh(worktree, "cat old.txt; git status --porcelain") == "new bytes"


def test_partial_offline(partial: Repo, repo: Repo, guard: Watch, tmp_path: Path) -> None:
    repo.path.rename(tmp_path / "gone")
    guard(partial.path)
    with pytest.raises(CheckoutFailed, match="fatal") as caught, opened(partial.path):
        pass
    assert str(repo.path) in (caught.value.remedy or "")


def test_partial_offline_with_all_that_is_needed(partial: Repo, repo: Repo, guard: Watch, tmp_path: Path) -> None:
    partial.git("checkout", "-q", "main")
    repo.path.rename(tmp_path / "gone")
    partial.write("old.txt", "edited\n")
    partial.write("new.txt", "new\n")
    guard(partial.path)
    tree = snapshot(inspect(partial.path))
    with opened(partial.path, dirty_mode="include", snapshot=tree) as worktree:
        assert files_of(worktree.path) == files_of(partial.path)
        assert sh(worktree, "git status --porcelain") == ""


def test_reading_a_partial_clone_fetches_nothing(partial: Repo, guard: Watch) -> None:
    partial.git("checkout", "-q", "main")
    guard(partial.path)
    partial.git("config", "diff.renames", "true")
    guard(partial.path)
    inspect(partial.path, base="HEAD~1")


def test_credentials_do_not_reach_a_trial(partial: Repo, repo: Repo) -> None:
    partial.git("config", "remote.origin.url", f"file://user:secret@{repo.path}")
    partial.git("config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic c2VjcmV0")
    partial.git("config", "credential.helper", "!echo password=secret")
    partial.git("config", f"url.file://{repo.path}.insteadOf", f"file://user:secret@{repo.path}")
    with opened(partial.path) as worktree:
        everything = sh(worktree, "git config --list; cat $(git rev-parse --git-common-dir)/config; env")
        assert "secret" not in everything
        assert "c2VjcmV0" not in everything
        assert "example.org" not in everything.replace("tester@example.org", "")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://user:pw@example.org:8443/a/b.git", "https://example.org:8443/a/b.git"),
        ("https://token@example.org/a", "https://example.org/a"),
        ("ssh://git:pw@example.org/a", "ssh://git@example.org/a"),
        ("git@example.org:a/b.git", "git@example.org:a/b.git"),
        ("/local/path@x", "/local/path@x"),
    ],
)
def test_addresses_without_credentials(address: str, expected: str) -> None:
    assert without_credentials(address) == expected


@pytest.mark.parametrize("cone", [True, False])
def test_sparse(repo: Repo, guard: Watch, cone: bool) -> None:
    for name in ("in/x", "in/deep/y", "out/z", "top.txt", "out/inner/w"):
        repo.write(name, f"{name}\n")
    repo.write(".claude/eval/benchmarks/x.json", "{}")
    repo.commit()
    repo.git("sparse-checkout", "set", *(("--cone", "in") if cone else ("--no-cone", "/in/", "!/in/deep/", "/out/z")))
    assert inspect(repo.path).sparse
    guard(repo.path)
    with opened(repo.path, ("in/x", "out/z")) as worktree:
        shown = {name for name in files_of(repo.path) if not name.startswith(".claude/eval")}
        assert set(files_of(worktree.path)) == shown
        assert sh(worktree, "git status --porcelain") == ""
        assert not (worktree.path / ".claude/eval").exists()
        assert sh(worktree, "git sparse-checkout list") == repo.git("sparse-checkout", "list")
        sh(worktree, "echo new > in/new; echo edit > in/x")
        frozen = worktree.freeze()
        assert frozen.changed == ("in/new", "in/x")
        sh(worktree, "git add -A && git commit -qm x")
        assert frozen.tree == sh(worktree, "git rev-parse HEAD^{tree}")
        sh(worktree, "git sparse-checkout disable")
        assert (worktree.path / "out/inner/w").exists()
        assert worktree.restore() == ("in/x",)
    guard.check()
    repo.write("in/x", "dirty\n")
    guard(repo.path)
    tree = snapshot(inspect(repo.path))
    with opened(repo.path, dirty_mode="include", snapshot=tree) as worktree:
        assert (worktree.path / "in/x").read_text() == "dirty\n"
        assert (
            sh(worktree, "git status --porcelain; git diff --name-only HEAD~1")
            == ".claude/eval/benchmarks/x.json\nin/x"
        )


def test_sparse_in_a_linked_worktree(repo: Repo, guard: Watch) -> None:
    repo.write("in/x", "x\n")
    repo.write("out/y", "y\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "in")
    guard(repo.path)
    with opened(repo.path, isolation="worktree") as worktree:
        assert set(files_of(worktree.path)) == {"a.txt", "in/x"}
        assert sh(worktree, "git status --porcelain; git sparse-checkout list") == "in"
        sh(worktree, "git reset -q --hard")
        assert set(files_of(worktree.path)) == {"a.txt", "in/x"}


def test_sub_directory_outside_of_the_sparse_part(repo: Repo) -> None:
    repo.write("in/x", "")
    repo.write("out/x", "")
    repo.commit()
    repo.git("sparse-checkout", "set", "--no-cone", "/in/")
    (repo.path / "out").mkdir()
    with pytest.raises(CheckoutFailed, match="leaves out out"), opened(repo.path / "out"):
        pass


def test_line_ends_and_attributes(repo: Repo, guard: Watch, home: Path) -> None:
    repo.write(".gitattributes", "*.bat eol=crlf\n*.sh eol=lf\n*.bin -text\nident.txt ident\n")
    repo.write("x.bat", "a\nb\n")
    repo.write("x.sh", "a\nb\n")
    repo.write("x.txt", "a\nb\n")
    repo.write("y.dat", "a\nb\n")
    repo.write("x.bin", "a\nb\n")
    repo.write("ident.txt", "$Id$\n")
    repo.commit()
    repo.git("config", "core.autocrlf", "true")
    (repo.path / ".git/info/attributes").write_text("y.dat -text\n")
    (home / "attributes").write_text("top.* eol=crlf\n")
    repo.git("config", "core.attributesFile", "~/attributes")
    repo.git("rm", "-rq", "--cached", ".")
    repo.git("reset", "-q", "--hard")
    guard(repo.path)
    with opened(repo.path, ("x.txt", "y.dat", "x.bat")) as worktree:
        assert files_of(worktree.path) == files_of(repo.path)
        assert (worktree.path / "x.txt").read_bytes() == b"a\r\nb\r\n"
        assert (worktree.path / "y.dat").read_bytes() == b"a\nb\n"
        assert sh(worktree, "git status --porcelain") == ""
        sh(worktree, "rm x.txt y.dat && git checkout -q x.txt y.dat")
        assert files_of(worktree.path) == files_of(repo.path)
        sh(worktree, "rm x.txt && printf 'evil' > y.dat")
        assert worktree.restore() == ("x.txt", "y.dat")
        assert files_of(worktree.path) == files_of(repo.path)
    (home / "attributes").unlink()


@pytest.fixture
def filtered(repo: Repo) -> Repo:
    """A repository whose files are stored in lower case and checked out in upper case by a filter."""
    repo.git("config", "filter.case.clean", "tr A-Z a-z")
    repo.git("config", "filter.case.smudge", "tr a-z A-Z")
    repo.git("config", "filter.case.required", "true")
    repo.write(".gitattributes", "*.up filter=case\n")
    repo.write("x.up", "HELLO\n")
    repo.commit()
    assert repo.git("show", "HEAD:x.up") == "hello"
    return repo


@pytest.mark.parametrize("options", [{}, {"history": "none"}, {"isolation": "clone"}, {"isolation": "worktree"}])
def test_a_filter(filtered: Repo, guard: Watch, options: dict[str, str]) -> None:
    if options.get("isolation") != "worktree":  # what a trial adds there are the user's objects
        guard(filtered.path)
    with opened(filtered.path, ("x.up",), **options) as worktree:
        assert (worktree.path / "x.up").read_text() == "HELLO\n"
        sh(worktree, "git rm -q --cached x.up && git reset -q --hard && rm x.up && git checkout x.up")
        assert (worktree.path / "x.up").read_text() == "HELLO\n"
        assert worktree.freeze().changed == ()
        sh(worktree, "echo EVIL > x.up")
        frozen = worktree.freeze()
        assert worktree.restore() == ("x.up",)
        assert (worktree.path / "x.up").read_text() == "HELLO\n"
        sh(worktree, "echo EVIL > x.up; git add -A")
        assert frozen.tree == sh(worktree, "git write-tree")
        sh(worktree, "git reset -q --hard; git gc -q --prune=now")


def test_a_required_filter_that_is_missing_or_fails(filtered: Repo, guard: Watch) -> None:
    filtered.git("config", "filter.case.smudge", "no-such-program-at-all")
    guard(filtered.path)
    with pytest.raises(CheckoutFailed, match="smudge filter case failed") as caught, opened(filtered.path):
        pass
    assert "no-such-program-at-all" in (caught.value.remedy or "")


def test_a_filter_process_like_lfs(repo: Repo, tmp_path: Path, guard: Watch) -> None:
    # a filter that keeps contents beside the objects, as LFS does, and finds them through what a repository borrows
    script = tmp_path / "store.py"
    script.write_text(
        "import hashlib, os, pathlib, subprocess, sys\n"
        "common = pathlib.Path(subprocess.run(['git', 'rev-parse', '--path-format=absolute', '--git-common-dir'],\n"
        "    capture_output=True, text=True, check=True).stdout.strip())\n"
        "data = sys.stdin.buffer.read()\n"
        "if sys.argv[1] == 'clean':\n"
        "    name = hashlib.sha256(data).hexdigest()\n"
        "    (common / 'lfs').mkdir(exist_ok=True)\n"
        "    (common / 'lfs' / name).write_bytes(data)\n"
        "    print('pointer', name)\n"
        "else:\n"
        "    name = data.decode().split()[1]\n"
        "    places = [common / 'lfs']\n"
        "    borrowed = common / 'objects/info/alternates'\n"
        "    if borrowed.exists():\n"
        "        places += [pathlib.Path(line).parent / 'lfs' for line in borrowed.read_text().splitlines()]\n"
        "    found = [place / name for place in places if (place / name).exists()]\n"
        "    sys.stdout.buffer.write(found[0].read_bytes())\n"
    )
    repo.git("config", "filter.lfs.clean", f"{sys.executable} {script} clean")
    repo.git("config", "filter.lfs.smudge", f"{sys.executable} {script} smudge")
    repo.git("config", "filter.lfs.required", "true")
    repo.write(".gitattributes", "*.big filter=lfs\n")
    repo.write("x.big", "contents " * 1000)
    repo.commit()
    repo.write("y.big", "uncommitted " * 1000)
    guard(repo.path)
    tree = snapshot(inspect(repo.path))
    guard.check()
    with opened(repo.path, dirty_mode="include", snapshot=tree) as worktree:
        assert files_of(worktree.path) == files_of(repo.path)
        assert sh(worktree, "git status --porcelain") == ""
        sh(worktree, "echo fresh > z.big && git add -A && git commit -qm z && rm *.big && git checkout -q .")
        assert (worktree.path / "z.big").read_text() == "fresh\n"
        assert worktree.freeze().changed == ("z.big",)


@pytest.mark.parametrize("options", [{"history": "none"}, {"isolation": "clone"}, {}])
def test_lfs_objects_are_there_though_nothing_is_borrowed(repo: Repo, options: dict[str, str], guard: Watch) -> None:
    body = b"large " * 1000
    oid = hashlib.sha256(body).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(body)}\n"
    repo.write("x.big", pointer)  # as git stores it; no filter is set up, so it is checked out so
    repo.write("not-a-pointer", f"about {pointer}")
    repo.write("long", pointer + "x" * 2000)
    repo.commit()
    if options:
        repo.write(f".git/lfs/objects/{oid[:2]}/{oid[2:4]}/{oid}", body)
    else:
        repo.git("config", "lfs.storage", "elsewhere")
        repo.write(f".git/elsewhere/objects/{oid[:2]}/{oid[2:4]}/{oid}", body)
    guard(repo.path)
    with opened(repo.path, **options) as worktree:
        common = Path(sh(worktree, "git rev-parse --path-format=absolute --git-common-dir"))
        stores = [common / "lfs"]
        borrowed = common / "objects/info/alternates"
        if borrowed.exists():
            stores += [Path(line).parent / "lfs" for line in borrowed.read_text().splitlines()]
        found = [path for store in stores for path in store.glob(f"objects/*/*/{oid}")]
        assert [path.read_bytes() for path in found] == [body]
        assert not found[0].is_relative_to(repo.path)
        assert sh(worktree, "git config lfs.storage", fails=True) == ""


def test_pygit2_and_git_read_the_same(repo: Repo) -> None:
    repo.write("dir/ümlaut \n x", "x", executable=True)
    repo.write("dir.a/x", "x")
    repo.write(os.fsdecode(b"bytes\xff"), b"\0\xff")
    (repo.path / "link").symlink_to("dir")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo.path), "sub")
    first = repo.commit("second")
    repo.git("tag", "-a", "-m", "x", "v1")
    repo.git("tag", "light")
    repo.git("branch", "side/deep", "HEAD~1")
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/side/deep")
    repo.git("update-ref", "refs/notes/x", "HEAD")
    repo.git("pack-refs", "--all")
    repo.git("branch", "loose")
    repo.git("replace", "HEAD", "HEAD~1")
    git = inspect(repo.path).git()
    fast, slow = Reader(git, repo.path / ".git"), Reader(git, repo.path / ".git", by_git=True)
    assert fast.by_pygit2
    assert not slow.by_pygit2
    assert fast.entries(first) == slow.entries(first)
    assert {mode for mode, _ in fast.entries(first).values()} == {"100644", "100755", "120000", "160000"}
    for below in (("refs",), ("refs/tags",), ("refs/heads", "refs/notes"), ("refs/none",)):
        assert fast.refs(below) == slow.refs(below)
    assert fast.refs(("refs/heads",))
    for _, name in (entry for entry in fast.entries(first).values() if entry[0] != "160000"):
        assert fast.blob(name) == slow.blob(name)
    for reader in (fast, slow):
        with pytest.raises(NotReady):
            reader.entries("0" * 40)
        with pytest.raises(NotReady):
            reader.blob(first)


def test_what_pygit2_cannot_open_is_read_by_git(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", "--object-format=sha256")
    reader = Reader(inspect(repo.path).git(), repo.path / ".git")
    assert not reader.by_pygit2
    assert list(reader.entries("HEAD")) == ["a.txt"]
    assert reader.blob(reader.entries("HEAD")["a.txt"][1]) == b"a\n"
    assert reader.refs(("refs",)) == [(repo.git("rev-parse", "HEAD"), "refs/heads/main")]


def test_objects_that_pygit2_does_not_find_are_read_by_git(repo: Repo, tmp_path: Path) -> None:
    odd = make_repo(tmp_path / "line\nbreak")
    two = make_repo(tmp_path / "two")
    (two.path / ".git/objects/info/alternates").write_bytes(content([odd.path / ".git/objects"]))
    odd.write("b.txt", "b\n")
    head = odd.commit("only there")
    reader = Reader(inspect(two.path).git(), two.path / ".git")
    assert reader.by_pygit2
    assert list(reader.entries(head)) == ["a.txt", "b.txt"]
    assert reader.blob(reader.entries(head)["b.txt"][1]) == b"b\n"


def test_a_repository_that_borrows(repo: Repo, tmp_path: Path, guard: Watch) -> None:
    repo.git("clone", "-q", "--shared", str(repo.path), str(tmp_path / "one"))
    one = Repo(tmp_path / "one")
    one.write("b.txt", "b\n")
    one.commit("in one")
    one.git("clone", "-q", "--shared", str(one.path), str(tmp_path / "two"))
    two = Repo(tmp_path / "two")
    (two.path / ".git/objects/info/alternates").write_text("../../../one/.git/objects\n")
    guard(two.path)
    for options in ({}, {"history": "none"}, {"isolation": "clone"}):
        with opened(two.path, **options) as worktree:
            assert sh(worktree, "cat a.txt b.txt; git status --porcelain; git fsck --no-dangling 2>&1") == "a\nb"
            if options:
                folders = sh(worktree, 'cat "$(git rev-parse --git-common-dir)/objects/info/alternates"', fails=True)
                assert str(tmp_path / "one") not in folders


def test_a_clone_is_self_contained(repo: Repo, tmp_path: Path, guard: Watch) -> None:
    repo.git("tag", "v1")
    guard(repo.path)
    with opened(repo.path, isolation="clone", refs="tags") as worktree:
        assert (worktree.path / ".git").is_dir()
        shutil.copytree(worktree.path, tmp_path / "copy")
        assert sh(worktree, "git rev-parse --absolute-git-dir") == str(worktree.path / ".git")
        assert sh(worktree, "git status --porcelain; git for-each-ref --format='%(refname)'") == "refs/tags/v1"
    copy = Repo(tmp_path / "copy")
    repo.path.rename(tmp_path / "away")
    assert copy.git("log", "--format=%s") == "first"
    assert copy.git("fsck") == ""
    (tmp_path / "away").rename(repo.path)


def test_split_index_untracked_cache_and_monitor(repo: Repo, guard: Watch, home: Path) -> None:
    repo.write("sub/b.txt", "b\n")
    repo.commit()
    for name, value in (("core.untrackedCache", "true"), ("core.splitIndex", "true"), ("index.version", "4")):
        subprocess.run(["git", "config", "--global", name, value], check=True)
    repo.git("config", "core.fsmonitor", "false-as-a-program")
    repo.git("update-index", "--split-index")
    repo.git("update-index", "--untracked-cache")
    assert list((repo.path / ".git").glob("sharedindex.*"))
    repo.write("a.txt", "edited\n")
    guard(repo.path)
    tree = snapshot(inspect(repo.path))
    with opened(repo.path, ("a.txt",)) as worktree:
        assert sh(worktree, "git status --porcelain") == ""
        sh(worktree, "echo edited > a.txt")
        frozen = worktree.freeze()
        assert (frozen.changed, frozen.tree) == (("a.txt",), tree)
        assert worktree.restore() == ("a.txt",)


def test_conflicts_and_intent_to_add_in_the_users_index(repo: Repo, guard: Watch) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write("a.txt", "side\n")
    repo.commit("side")
    repo.git("checkout", "-q", "main")
    repo.write("a.txt", "main\n")
    repo.commit("main")
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo.path, capture_output=True, check=False)
    repo.write("later.txt", "later\n")
    repo.git("add", "-N", "later.txt")
    guard(repo.path)
    checkout = inspect(repo.path)
    assert set(checkout.dirty) == {"a.txt", "later.txt"}
    with opened(repo.path, dirty_mode="include", snapshot=snapshot(checkout)) as worktree:
        assert files_of(worktree.path) == files_of(repo.path)


def test_settings_of_an_included_file(repo: Repo) -> None:
    repo.write(".gitattributes", "*.up filter=case\n")
    repo.commit()
    (repo.path / ".git/extra").write_text('[filter "case"]\n\tsmudge = "tr a-z A-Z"\n\tclean = tr A-Z a-z\n')
    repo.git("config", "include.path", "extra")
    repo.write("x.up", "HELLO\n")
    repo.commit()
    with opened(repo.path) as worktree:
        assert (worktree.path / "x.up").read_text() == "HELLO\n"
        assert sh(worktree, "git config include.path", fails=True) == ""


def test_replaced_objects_are_as_they_really_are(repo: Repo, guard: Watch) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.write("a.txt", "other\n")
    second = repo.commit("second")
    repo.git("replace", second, first)
    guard(repo.path)
    for refs in ("head", "all"):
        with opened(repo.path, refs=refs) as worktree:
            assert sh(worktree, "cat a.txt; git status --porcelain; git log -1 --format=%s") == "other\nsecond"


def test_without_file_modes_and_links(repo: Repo, guard: Watch) -> None:
    (repo.path / "link").symlink_to("a.txt")
    repo.write("run.sh", "x", executable=True)
    repo.commit()
    repo.git("config", "core.fileMode", "false")
    repo.git("config", "core.symlinks", "false")
    guard(repo.path)
    with opened(repo.path) as worktree:
        assert (worktree.path / "link").read_text() == "a.txt"
        assert not (worktree.path / "link").is_symlink()
        assert sh(worktree, "chmod -x run.sh; git status --porcelain") == ""
        frozen = worktree.freeze()
        assert (frozen.changed, frozen.tree) == ((), repo.git("rev-parse", "HEAD^{tree}"))


def test_an_extension_that_git_does_not_know(repo: Repo) -> None:
    repo.git("config", "core.repositoryformatversion", "1")
    repo.git("config", "extensions.fromTheFuture", "true")
    with pytest.raises(Exception, match="git cannot use this repository") as caught:
        inspect(repo.path)
    assert "fromthefuture" in str(getattr(caught.value, "remedy", "")).lower()


def test_dirty_include_gives_the_same_bytes(repo: Repo, guard: Watch) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.write("gone.txt", "")
    repo.write("run.sh", "x")
    repo.commit("base")
    repo.write("a.txt", "edited\n")
    (repo.path / "gone.txt").unlink()
    (repo.path / "run.sh").chmod(0o755)
    repo.write("new dir/new\nfile", b"\0new")
    (repo.path / "link").symlink_to("new dir")
    repo.write("x.log", "ignored")
    repo.write(".claude/eval/benchmarks/a.json", "{}")
    repo.write("staged.txt", "staged\n")
    repo.git("add", "staged.txt")
    (repo.path / "staged.txt").chmod(0o600)
    guard(repo.path)
    checkout = inspect(repo.path)
    tree = snapshot(checkout)
    assert tree == snapshot(checkout)
    for options in ({}, {"history": "none"}, {"isolation": "clone"}):
        with opened(repo.path, dirty_mode="include", snapshot=tree, **options) as worktree:
            expected = {name: what for name, what in files_of(repo.path).items() if name != "x.log"}
            assert files_of(worktree.path) == expected
            assert sh(worktree, "git status --porcelain") == ""
            assert sh(worktree, "git rev-parse HEAD^{tree}") == tree
            if "history" not in options:
                assert sh(worktree, "git rev-parse HEAD~1") == checkout.head
            assert worktree.freeze().changed == ()
    repo.write("a.txt", "edited again\n")
    with pytest.raises(CheckoutFailed, match="not those"), opened(repo.path, dirty_mode="include", snapshot=tree):
        pass
    repo.write("a.txt", "edited\n")


def test_changes_that_filters_do_not_give_back_are_named(repo: Repo, kcut: Kcut) -> None:
    repo.write(".gitattributes", "*.nb filter=strip\n*.c text eol=crlf\n*.id ident\n*.h text\n")
    repo.git("config", "filter.strip.clean", "sed /output/d")
    repo.git("config", "filter.strip.smudge", "cat")
    repo.commit()
    repo.write("n.nb", "code\noutput\n")
    repo.write("u.c", "lf\n")
    repo.write("d/k.id", "$Id: mine $\n")
    repo.write("p.h", "plain\n")
    repo.write("q.nb", "code\n")
    task = "! grep -q output n.nb && grep -q code n.nb && cmp -s p.h p.h"
    done = kcut(
        "benchmark", "--component", "x", "--task", task, "--k", "1", "--dirty", "include", "--json", cwd=repo.path
    )
    assert done.returncode == 1, done.stderr
    artifact = json.loads(done.stdout)
    assert artifact["with"]["successes"] == artifact["without"]["successes"] == 1
    warning = next(warn for warn in artifact["decision"]["warnings"] if warn["code"] == "dirty-filtered")
    assert warning["evidence"] == {"paths": ["d/k.id", "n.nb", "u.c"], "count": 3}
    assert "d/k.id and 2 more" in " ".join(done.stderr.split())
    assert (repo.path / "n.nb").read_text() == "code\noutput\n"

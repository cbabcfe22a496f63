"""Freezing and restoring a worktree, whatever a task has done to it."""

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.isolation import Worktree
from kcut.isolation.tree_id import tree_of_index
from tests.conftest import Repo, make_repo
from tests.guard import Watch, guard
from tests.worktrees import files_of, opened, places, running, sh

__all__ = ["guard", "places"]
pytestmark = pytest.mark.usefixtures("places")


@pytest.fixture
def base(repo: Repo) -> Repo:
    """A repository with a score, tests, links and ignored files."""
    repo.write("score.sh", "#!/bin/sh\ntest -f solved.txt\n", executable=True)
    repo.write("tests/test_a.py", "a\n")
    repo.write("tests/deep/test_b.py", "b\n")
    repo.write("plain.txt", "plain\n")
    repo.write(".gitignore", "*.log\nbuild/\n")
    (repo.path / "link").symlink_to("plain.txt")
    repo.commit("base")
    return repo


PROTECTED = ("link", "plain.txt", "score.sh", "tests/deep/test_b.py", "tests/test_a.py")


def test_an_untouched_worktree(base: Repo) -> None:
    with opened(base.path, PROTECTED) as worktree:
        frozen = worktree.freeze()
        assert (frozen.tree, frozen.changed) == (base.git("rev-parse", "HEAD^{tree}"), ())
        assert worktree.diff() == b""
        assert worktree.restore() == ()


def test_changes_are_found_and_hashed_as_git_does(base: Repo, guard: Watch) -> None:
    guard(base.path)
    with opened(base.path) as worktree:
        sh(
            worktree,
            """echo edited > plain.txt; rm tests/test_a.py; chmod -x score.sh; rm link; ln -s score.sh link
            mkdir -p 'new dir/ü'; printf 'x' > 'new dir/ü/line
break'; touch 'trailing ' x.log; mkdir build; touch build/y; mkdir empty; ln -s /etc outside; touch -- -dash""",
        )
        frozen = worktree.freeze()
        new = ("-dash", "new dir/ü/line\nbreak", "outside", "trailing ")
        assert set(frozen.changed) == {"link", "plain.txt", "score.sh", "tests/test_a.py", *new}
        assert frozen.changed == tuple(sorted(frozen.changed, key=os.fsencode))
        diff = worktree.diff()
        sh(worktree, "git add -A")
        assert frozen.tree == sh(worktree, "git write-tree")
        assert b"+edited" in diff
        assert b"deleted file" in diff
        assert b"old mode 100755" in diff
        assert worktree.diff(limit=20).startswith(diff[:20] + b"\n[")


def test_a_change_of_the_same_size_within_the_same_second(base: Repo) -> None:
    for _ in range(5):
        with opened(base.path, ("plain.txt",)) as worktree:
            info = (worktree.path / "plain.txt").stat()
            with (worktree.path / "plain.txt").open("r+") as file:
                file.write("PLAIN\n")
            os.utime(worktree.path / "plain.txt", ns=(info.st_atime_ns, info.st_mtime_ns))
            frozen = worktree.freeze()
            assert frozen.changed == ("plain.txt",)
            sh(worktree, "git add -A; git rm -q --cached plain.txt; git add plain.txt")
            assert frozen.tree == sh(worktree, "git write-tree")
            assert worktree.restore() == ("plain.txt",)
            assert (worktree.path / "plain.txt").read_text() == "plain\n"


def test_a_large_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "large")
    for number in range(1000):
        repo.write(f"folder{number % 7}/file-with-a-longer-name-{number:05}.txt", f"{number:05}\n")
    repo.commit()
    names = tuple(sorted(repo.git("ls-files", "folder1", "folder2").split("\n")))
    with opened(repo.path, names) as worktree:
        assert worktree.freeze().changed == ()
        sh(
            worktree,
            "printf 'edit!\\n' > folder1/file-with-a-longer-name-00001.txt; rm -r folder2; echo x > folder3/new",
        )
        sh(
            worktree,
            "rm folder4/file-with-a-longer-name-00004.txt; ln -s x folder4/file-with-a-longer-name-00004.txt",
        )
        frozen = worktree.freeze()
        sh(worktree, "git add -A")
        assert frozen.tree == sh(worktree, "git write-tree")
        assert len(frozen.changed) == 3 + 143
        assert len(worktree.restore()) == 1 + 143


ATTACKS = {
    "settings": "git config core.fileMode false; git config core.ignoreCase true; git config core.bare true",
    "index": "git update-index --skip-worktree plain.txt; git update-index --assume-unchanged score.sh",
    "index gone": "rm -f $(git rev-parse --git-path index); touch $(git rev-parse --git-path index.lock)",
    "index broken": "echo nonsense > $(git rev-parse --git-path index)",
    "monitor": "printf '#!/bin/sh\\nprintf \"/\\\\0\"\\n' > ../m; chmod +x ../m; git config core.fsmonitor $PWD/../m",
    "git file gone": "rm .git",
    "git file elsewhere": "rm .git; git init -q .; git config core.hooksPath /tmp",
    "hub gone": 'rm -rf "$(git rev-parse --git-common-dir)"',
    "alternates": 'echo /nowhere > "$(git rev-parse --git-common-dir)"/objects/info/alternates',
    "excluded": 'echo "*" > "$(git rev-parse --git-path info/exclude)"',
    "attributes": 'echo "* filter=x" > "$(git rev-parse --git-path info/attributes)"; git config filter.x.clean date',
    "committed": "git add -A; git commit -qm x; git checkout -q -b other; git reset -q --soft HEAD~1",
    "sparse": "git sparse-checkout set --no-cone /plain.txt 2>/dev/null; git sparse-checkout disable",
    "gc": "git add -A; git commit -qm x; git gc -q --prune=now",
    "hooks": 'cd "$(git rev-parse --git-common-dir)/hooks"; for hook in post-index-change post-checkout; do '
    'printf "#!/bin/sh\\nsleep 60\\n" > $hook; chmod +x $hook; done',
    "times": "touch -d '2001-01-01' plain.txt score.sh",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_of_the_trials_git_is_believed(base: Repo, attack: str, guard: Watch) -> None:
    guard(base.path)
    with running(base.path) as isolation:
        with isolation.open() as honest:
            sh(honest, "echo edited > plain.txt; echo new > new.txt; printf '#!/bin/sh\\nexit 0\\n' > score.sh")
            expected = honest.freeze()
        with isolation.open(PROTECTED) as worktree:
            sh(worktree, "echo edited > plain.txt; echo new > new.txt; printf '#!/bin/sh\\nexit 0\\n' > score.sh")
            sh(worktree, ATTACKS[attack], fails=True)
            frozen = worktree.freeze()
            assert (frozen.tree, frozen.changed) == (expected.tree, ("new.txt", "plain.txt", "score.sh"))
            assert worktree.restore() == ("plain.txt", "score.sh")
            assert (worktree.path / "score.sh").read_text() == "#!/bin/sh\ntest -f solved.txt\n"
            assert (worktree.path / "new.txt").exists()
            assert worktree.freeze().changed == ("new.txt",)


def outside(tmp_path: Path) -> Path:
    """A folder of the user's with files named like protected ones."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    (folder / "test_a.py").write_text("precious\n")
    (folder / "deep/test_b.py").write_text("precious\n")
    return folder


WAYS = {
    "folder is a link": ("rm -rf tests; ln -s OUT tests", {"tests/deep/test_b.py", "tests/test_a.py"}),
    "inner folder is a link": ("rm -rf tests/deep; ln -s OUT/deep tests/deep", {"tests/deep/test_b.py"}),
    "folder is a link to equal files": (
        "cp -a tests OUT/copy; rm -rf tests; ln -s OUT/copy tests",
        {"tests/deep/test_b.py", "tests/test_a.py"},
    ),
    "file is a link": ("ln -sf OUT/test_a.py tests/test_a.py", {"tests/test_a.py"}),
    "file is a folder": ("rm score.sh; mkdir -p score.sh/x; touch score.sh/x/y; chmod 0 score.sh/x", {"score.sh"}),
    "folder is a file": ("rm -rf tests; echo x > tests", {"tests/deep/test_b.py", "tests/test_a.py"}),
    "all deleted": ("rm -rf ./* .gitignore", set(PROTECTED)),
    "read-only": ("echo x > tests/test_a.py; chmod 400 tests/test_a.py; chmod 500 tests", {"tests/test_a.py"}),
    "closed": ("echo x > tests/test_a.py; chmod 000 tests/deep tests .", None),
    "fifo": ("rm score.sh; mkfifo score.sh", {"score.sh"}),
    "mode": ("chmod -x score.sh; chmod +x plain.txt", {"plain.txt", "score.sh"}),
    "link is a file": ("rm link; cp plain.txt link", {"link"}),
    "hard link": ("rm score.sh; cp plain.txt score.sh; ln -f score.sh OUT/kept", {"score.sh"}),
    "root is a link": ("d=$PWD; cd /; mv $d $d.old; ln -s OUT $d", set(PROTECTED)),
    "root is gone": ("rm -rf $PWD", set(PROTECTED)),
    "root is a file": ("d=$PWD; cd /; rm -rf $d; echo x > $d", set(PROTECTED)),
    "cwd name with glob": (
        "rm -rf tests; mkdir 'tests*'; touch 'tests*/test_a.py'",
        {"tests/deep/test_b.py", "tests/test_a.py"},
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_restoring_whatever_is_in_the_way(base: Repo, way: str, tmp_path: Path) -> None:
    command, touched = WAYS[way]
    folder = outside(tmp_path)
    with opened(base.path, PROTECTED) as worktree:
        sh(worktree, command.replace("OUT", str(folder)), fails=True)
        frozen = worktree.freeze()
        worktree.mend()
        restored = worktree.restore()
        assert touched is None or set(restored) == touched
        shown = files_of(worktree.path)
        assert {name: shown[name] for name in PROTECTED} == {
            name: what for name, what in files_of(base.path).items() if name in PROTECTED
        }
        assert worktree.cwd.is_dir()
        if frozen.tree is not None and touched is not None:
            assert touched <= {*frozen.changed}
    assert (folder / "test_a.py").read_text() == "precious\n"
    assert (folder / "deep/test_b.py").read_text() == "precious\n"


def test_restoring_leaves_everything_else(base: Repo) -> None:
    with opened(base.path, ("tests/test_a.py",)) as worktree:
        sh(worktree, "echo x > tests/new.py; echo y > plain.txt; rm tests/test_a.py; git add -A; git commit -qm x")
        assert worktree.restore() == ("tests/test_a.py",)
        assert (worktree.path / "tests/new.py").exists()
        assert (worktree.path / "plain.txt").read_text() == "y\n"
        assert sh(worktree, "git status --porcelain") == "?? tests/test_a.py"


def test_a_score_can_run_after_its_folder_was_removed(repo: Repo) -> None:
    repo.write("sub/dir/x", "x\n")
    repo.commit()
    with opened(repo.path / "sub/dir") as worktree:
        sh(worktree, "cd /; rm -rf $OLDPWD; ln -s /etc $OLDPWD")
        worktree.mend()
        assert not worktree.cwd.is_symlink()
        assert list(worktree.cwd.iterdir()) == []


def reason(worktree: Worktree) -> str:
    """Why a worktree's tree cannot be computed."""
    frozen = worktree.freeze()
    assert frozen.tree is None
    assert frozen.reason is not None
    return frozen.reason


def test_what_cannot_be_hashed_has_a_reason(base: Repo) -> None:
    with running(base.path) as isolation:
        with isolation.open() as worktree:
            sh(worktree, "git init -q nested && cd nested && git commit -q --allow-empty -m x && touch x")
            assert "nested/" in reason(worktree)
            assert worktree.freeze().changed == ("nested/",)
        with isolation.open() as worktree:
            sh(worktree, "git init -q unborn; touch unborn/x; echo x > plain.txt")
            assert "unborn/" in reason(worktree)
            assert worktree.freeze().changed == ("plain.txt", "unborn/")
        with isolation.open() as worktree:
            sh(worktree, "rm plain.txt; mkfifo plain.txt; mkfifo other; mkfifo x.log")
            os.mknod(worktree.path / "socket", stat.S_IFSOCK | 0o600)
            assert "plain.txt" in reason(worktree)
            assert worktree.freeze().changed == ("plain.txt",)
        with isolation.open() as worktree:
            sh(worktree, "truncate -s 3G huge")
            assert "1024 MiB" in reason(worktree)
            assert worktree.freeze().changed == ("huge",)
        with isolation.open() as worktree:
            worktree.path.rename(worktree.path.with_name("moved"))
            assert "removed or replaced" in reason(worktree)
            worktree.path.symlink_to("moved")
            assert "removed or replaced" in reason(worktree)
            assert worktree.diff() == b""


def test_special_files_that_are_not_tracked_do_not_matter(base: Repo) -> None:
    with opened(base.path) as worktree:
        sh(worktree, "mkfifo pipe; mkdir d; mkfifo d/pipe; echo x > d/x")
        frozen = worktree.freeze()
        assert frozen.changed == ("d/x",)
        assert frozen.tree is not None


def test_a_fifo_in_the_place_of_the_ignore_file_hangs_nothing(base: Repo) -> None:
    with opened(base.path) as worktree:
        worktree._freezer = worktree._freezer.with_limit(3)
        sh(worktree, "rm .gitignore; mkfifo .gitignore; echo x > plain.txt")
        started = time.monotonic()
        assert worktree.freeze().tree is None
        assert time.monotonic() - started < 60


def test_kcuts_own_folder_in_a_worktree_does_not_count(base: Repo) -> None:
    with opened(base.path) as worktree:
        sh(worktree, "mkdir -p .claude/eval/benchmarks; echo {} > .claude/eval/benchmarks/x.json; echo x > .claude/y")
        assert worktree.freeze().changed == (".claude/y",)


def test_many_and_large_files(base: Repo) -> None:
    with opened(base.path) as worktree:
        for number in range(2000):
            (worktree.path / f"n{number}").write_text("same" if number % 2 else str(number))
        (worktree.path / "large").write_bytes(os.urandom(10 << 20))
        frozen = worktree.freeze()
        assert len(frozen.changed) == 2001
        assert frozen.tree is not None
        assert len(worktree.diff(limit=1000)) < 1100


AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from tests.conftest import make_repo
from tests.worktrees import opened, sh
import encodings.idna, pathspec
root = Path(sys.argv[1])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
repo = make_repo(root / "repo")
repo.write("tests/t", "t")
repo.commit()
with opened(repo.path, ("a.txt", "tests/t")) as worktree:
    sh(worktree, "echo x > b; chmod 0 b")
    frozen = worktree.freeze()
    assert frozen.tree is None and "b" in frozen.changed and "b" in frozen.reason, frozen
    sh(worktree, "rm -f b; mkdir d; touch d/x; chmod 0 d")
    frozen = worktree.freeze()
    assert frozen.tree is None and "d" in frozen.reason, frozen
    sh(worktree, "chmod 700 d; rm -rf d; echo x > tests/t; chmod 0 tests/t tests a.txt; chmod 500 .")
    assert worktree.restore() == ("a.txt", "tests/t")
    assert sh(worktree, "cat a.txt tests/t") == "a\\nt"
    sh(worktree, "mkdir -p x/y/v; touch x/y/z; chmod 0 x/y; chmod 0 x; chmod 0 .", fails=True)
with opened(repo.path, ("a.txt",)) as worktree:
    sh(worktree, "mkdir ../scratch/z; chmod 0 ../scratch/z ../hub ../scratch; chmod 0 .; chmod 0 $PWD/..", fails=True)
    assert worktree.freeze().tree is None
    worktree.mend()
    assert worktree.restore() == ()
assert os.listdir(root / "places") == []
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user, for whom closed is closed")
def test_files_that_cannot_be_read() -> None:
    root = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        for name in ("home", "places"):
            (root / name).mkdir()
        (root / "home/.gitconfig").write_text("[user]\n\tname = n\n\temail = e\n")
        for path in (root, root / "home", root / "places"):
            os.chown(path, 65534, 65534)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(root / "home"), "TMPDIR": str(root / "places")}
        env |= {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        argv = [sys.executable, "-c", AS_ANOTHER_USER, str(root)]
        done = subprocess.run(argv, env=env, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)


names = st.text(st.sampled_from("ab.-0é"), min_size=1, max_size=3).filter(lambda name: name not in {".", "..", "-"})
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        paths, st.tuples(st.sampled_from(["100644", "100755", "120000"]), st.binary(max_size=3)), max_size=12
    )
)
def test_the_tree_of_an_index_is_what_git_writes(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, tuple[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("index")
    for form in ("sha1", "sha256"):
        path = folder / form
        subprocess.run(["git", "init", "-q", f"--object-format={form}", str(path)], check=True)
        width = 64 if form == "sha256" else 40
        lines = "".join(
            f"{mode} {data.hex():0>{width}}\t{name}\0" for name, (mode, data) in entries.items() if data.strip(b"\0")
        )
        done = subprocess.run(
            ["git", "update-index", "-z", "--index-info"],
            cwd=path,
            input=lines.encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        expected = subprocess.run(
            ["git", "write-tree", "--missing-ok"], cwd=path, capture_output=True, text=True, check=True
        ).stdout.strip()
        index = path / ".git" / "index"
        assert not index.exists() or tree_of_index(index.read_bytes(), form) == expected


def test_an_index_that_is_not_read_here(repo: Repo) -> None:
    index = repo.path / ".git/index"
    good = index.read_bytes()
    assert tree_of_index(good, "sha1") == repo.git("write-tree")
    for data in (b"", b"DIRC", good[:40], good[:-25], b"DIRC\0\0\0\4" + good[8:], good[4:]):
        assert tree_of_index(data, "sha1") is None or len(data) == len(good) - 25
    repo.git("update-index", "--split-index")
    assert tree_of_index(index.read_bytes(), "sha1") is None

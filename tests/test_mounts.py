"""File systems that a task mounts in its trial's folders: detached, and nothing of theirs is touched."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcut.isolation import inspect, isolate
from kcut.isolation.leftovers import clear
from kcut.model.errors import NotReady
from kcut.system.files import remove_tree
from kcut.system.mounts import detach, mount_points
from tests.conftest import Repo
from tests.worktrees import opened, places, plan_of, running, sh, state_of

__all__ = ["places"]


def mount(*args: str | Path) -> None:
    """What a task that runs as root may do."""
    subprocess.run(["mount", *map(str, args)], check=True, capture_output=True)


def may_mount() -> bool:
    """True if bind mounts and file systems of their own can be made here."""
    if os.getuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False).returncode != 0:
            return False
        return subprocess.run(["umount", folder], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not may_mount(), reason="needs the right to mount file systems")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A user's folder that must stay as it is."""
    folder = tmp_path / "my data"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/file").write_text("precious")
    (folder / "a.txt").write_text("mine")
    folder.chmod(0o755)
    yield folder
    detach(tmp_path)  # what a failed test left
    assert (folder / "deep/file").read_text() == "precious"
    assert (folder / "a.txt").read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "deep"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_removal_detaches_and_enters_nothing(tmp_path: Path, data: Path) -> None:
    tree = tmp_path / "odd \\ name\nof a tree"
    for name in ("bound", "own", "twice", "file system/inner"):
        (tree / name).mkdir(parents=True)
    (tree / "file").touch()
    mount("--bind", data, tree / "bound")
    mount("--bind", data / "deep", tree / "bound/deep")
    mount("-t", "tmpfs", "none", tree / "file system")
    (tree / "file system/inner").mkdir()
    mount("--bind", data, tree / "file system/inner")
    mount("--bind", data, tree / "twice")
    mount("--bind", data / "deep", tree / "twice")
    mount("--bind", data / "a.txt", tree / "file")
    mount("--bind", data, tree)  # and the folder itself
    assert len(mount_points(tree)) == 8
    assert remove_tree(tree) == []
    assert not tree.exists()
    assert mount_points(tmp_path) == []


def test_what_is_mounted_beside_stays(tmp_path: Path, data: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree2").mkdir()
    mount("--bind", data, tmp_path / "tree2")
    assert remove_tree(tmp_path / "tree") == []
    assert mount_points(tmp_path) == [tmp_path / "tree2"]
    detach(tmp_path / "tree2")


def test_detaching_a_shared_copy_leaves_the_original_mounted(tmp_path: Path, data: Path) -> None:
    world, tree = tmp_path / "world", tmp_path / "tree"
    world.mkdir()
    tree.mkdir()
    mount("-t", "tmpfs", "none", world)
    mount("--make-shared", world)
    (world / "home").mkdir()
    mount("--bind", data, world / "home")
    mount("--rbind", world, tree)
    assert remove_tree(tree) == []
    assert mount_points(tmp_path) == [world, world / "home"]
    detach(world)


WITHOUT = """
import ctypes, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(24, 21, 0, 0, 0) == 0  # PR_CAPBSET_DROP, CAP_SYS_ADMIN
import os
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
"""


def test_what_cannot_be_detached_is_not_entered(tmp_path: Path, data: Path) -> None:
    for name in ("tree/x/bound", "tree/y", "itself"):
        (tmp_path / name).mkdir(parents=True)
    mount("--bind", data, tmp_path / "tree/x/bound")
    mount("--bind", data, tmp_path / "itself")
    code = "import sys; from pathlib import Path; from kcut.system.files import remove_tree as it; "
    code += "[print(line) for path in sys.argv[1:] for line in it(Path(path))]"
    paths = [str(tmp_path / "tree"), str(tmp_path / "itself")]
    command = [sys.executable, "-c", WITHOUT, code, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"{tmp_path}/tree/x/bound: a file system is mounted there",
        f"{tmp_path}/itself: a file system is mounted there",
    ]
    assert not (tmp_path / "tree/y").exists()


@pytest.mark.parametrize("kind", ["sealed", "worktree", "clone"])
def test_a_task_that_mounts_the_users_folder(repo: Repo, places: Path, data: Path, kind: str) -> None:
    with opened(repo.path, ("a.txt",), isolation=kind) as worktree:
        sh(worktree, f"mkdir d ../e; mount --bind '{data}' d; mount --bind '{data}' ../e")
        sh(worktree, "mount -t tmpfs none ../scratch")
        worktree.freeze()
        worktree.mend()
        assert worktree.restore() == ()
    assert worktree.leftover == ()
    assert list(places.iterdir()) == []


@pytest.mark.parametrize("above", ["", "p", "p/q"])
def test_restoring_below_a_mount(repo: Repo, places: Path, data: Path, above: str) -> None:
    path = f"{above}/a.txt".lstrip("/")
    repo.write(path, "protected\n")
    repo.write("p/q/other", "x\n")
    repo.commit()
    with opened(repo.path, (path,)) as worktree:
        mount("--bind", data, worktree.path / above)
        worktree.mend()
        assert path in worktree.restore() or above == ""
        assert (worktree.path / path).read_text() == "protected\n"
        assert (data / "a.txt").read_text() == "mine"


def test_restoring_a_file_that_is_a_mount(repo: Repo, places: Path, data: Path) -> None:
    with opened(repo.path, ("a.txt",)) as worktree:
        mount("--bind", data / "a.txt", worktree.path / "a.txt")
        assert worktree.restore() == ("a.txt",)
        assert (worktree.path / "a.txt").read_text() == "a\n"


def test_mending_below_a_mount_makes_nothing_there(repo: Repo, places: Path, data: Path) -> None:
    repo.write("p/missing/x", "x")
    repo.commit()
    with opened(repo.path / "p/missing") as worktree:
        mount("--bind", data, worktree.path / "p")
        worktree.mend()
    assert list(places.iterdir()) == []


def test_the_runs_folder_itself_is_mounted_upon(repo: Repo, places: Path, data: Path) -> None:
    with running(repo.path) as isolation:
        with isolation.open() as worktree:
            mount("--bind", data, worktree.path.parent)
            mount("--bind", data, isolation.place)
            assert worktree.freeze().changed == ()
            mount("--bind", data, isolation.place)
        mount("--bind", data, isolation.place)
        with isolation.open():
            pass
        mount("--bind", data, isolation.place)
    assert list(places.iterdir()) == []


def test_a_dead_runs_folder_is_mounted_upon(tmp_path: Path, data: Path) -> None:
    (tmp_path / "w-0123456789abcdef/own").mkdir(parents=True)
    mount("--bind", data, tmp_path / "w-0123456789abcdef")
    assert clear(tmp_path / "w-0123456789abcdef", None) == []
    assert not (tmp_path / "w-0123456789abcdef").exists()


def test_a_full_disk_at_the_start(repo: Repo, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m,nr_inodes=6", "none", small)
    checkout = inspect(repo.path)
    plan = plan_of(checkout, workdir=str(small))
    state = state_of(checkout)
    try:
        with pytest.raises(NotReady, match="No space left on device") as caught:
            isolate(checkout, plan, run_id="run", state=state).__enter__()
        assert str(small) in str(caught.value)
        assert list(small.iterdir()) == []
        assert list(state.iterdir()) == []
    finally:
        detach(small)

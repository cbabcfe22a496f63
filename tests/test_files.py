"""Removal that nothing stops, copies, and writes that are whole or not there."""

import errno
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from kcut.system.files import copy_tree, read_regular, remove_tree, write_atomic


def test_removing_what_is_not_there_or_no_folder(tmp_path: Path) -> None:
    assert remove_tree(tmp_path / "missing") == []
    assert remove_tree(tmp_path / "missing" / "deeper") == []
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/x").touch()
    (tmp_path / "link").symlink_to("folder")
    assert remove_tree(tmp_path / "link") == []
    assert remove_tree(tmp_path / "file") == []
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (tmp_path / "folder/x").exists()


def test_links_are_not_followed_and_names_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/x").touch()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "out").symlink_to(tmp_path / "precious")
    (tree / "loop").symlink_to("loop")
    (tree / "line\nbreak").mkdir()
    (tree / os.fsdecode(b"\xff\xfe")).mkdir()
    os.mkfifo(tree / "line\nbreak/pipe")
    assert remove_tree(tree) == []
    assert not tree.exists()
    assert (tmp_path / "precious/x").exists()


def test_deeper_than_a_path_can_be_long(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    folder = os.open(tree, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("x", dir_fd=folder)
        os.mkdir("folder-in-a-folder", dir_fd=folder)
        inner = os.open("folder-in-a-folder", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert remove_tree(tree) == []
    assert not tree.exists()


AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from kcut.system.files import remove_tree
os.setgroups([]); os.setgid(65534); os.setuid(65534)
tree = Path(sys.argv[1]) / "tree"
for path in ("a/b/c/d", "ro/x/y", "deep/" + "d/" * 90 + "e"):
    (tree / path).mkdir(parents=True)
    (tree / path / "file").touch()
for path, mode in (("a/b/c", 0), ("a/b", 0), ("ro/x", 0o500), ("ro", 0o400), ("deep/" + "d/" * 70, 0o500), ("", 0)):
    os.chmod(tree / path, mode)
assert remove_tree(tree) == [], remove_tree(tree)
assert not tree.exists()
left = remove_tree(Path(sys.argv[1]) / "roots")
assert len(left) == 1 and "mine" in left[0], left
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user, for whom closed is closed")
def test_closed_and_read_only_folders() -> None:
    import sys
    import tempfile

    root = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        os.chown(root, 65534, 65534)
        (root / "roots/mine").mkdir(parents=True)
        (root / "roots/mine/file").touch()
        env = {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/bin"}
        done = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER_USER, str(root)], env=env, cwd=root, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        assert (root / "roots/mine/file").exists()
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)


def test_a_process_that_still_writes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set() and number < 20000:
            number += 1
            try:
                (tree / f"f{number}").touch()
            except OSError:
                return

    thread = threading.Thread(target=write)
    thread.start()
    threading.Timer(0.1, stop.set).start()
    remove_tree(tree)
    stop.set()
    thread.join()
    assert remove_tree(tree) == []
    assert not tree.exists()


def test_copying(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner/x").write_bytes(os.urandom(3_000_000))
    (source / "inner/x").chmod(0o750)
    os.utime(source / "inner/x", ns=(1_000_000_000, 2_000_000_123))
    (source / "empty").touch()
    (source / "link").symlink_to("/nowhere")
    os.mkfifo(source / "pipe")
    target = tmp_path / "target"
    (target / "inner").mkdir(parents=True)
    (target / "empty").write_text("mine")
    copy_tree(source, target)
    assert (target / "inner/x").read_bytes() == (source / "inner/x").read_bytes()
    info = (target / "inner/x").stat()
    assert (stat.S_IMODE(info.st_mode), info.st_mtime_ns) == (0o750, 2_000_000_123)
    assert (target / "link").readlink() == Path("/nowhere")
    assert not os.path.lexists(target / "pipe")
    assert (target / "empty").read_text() == "mine"
    copy_tree(source / "inner/x", tmp_path / "one")
    assert (tmp_path / "one").stat().st_size == 3_000_000
    with pytest.raises(FileNotFoundError):
        copy_tree(source / "missing", tmp_path / "two")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def test_copying_between_file_systems(tmp_path: Path) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        for size in (0, 1, 70_000):
            (tmp_path / f"s{size}").write_bytes(os.urandom(size))
            copy_tree(tmp_path / f"s{size}", Path(other) / f"s{size}")
            assert (Path(other) / f"s{size}").read_bytes() == (tmp_path / f"s{size}").read_bytes()


def test_copying_a_file_of_the_kernels(tmp_path: Path) -> None:
    if not Path("/proc/version").exists():
        pytest.skip("no /proc")
    copy_tree(Path("/proc/version"), tmp_path / "version")  # says it is empty, and is not
    assert (tmp_path / "version").read_bytes() == Path("/proc/version").read_bytes()


def test_atomic_writes(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", b"one")
    write_atomic(tmp_path / "x", b"two", mode=0o600)
    assert (tmp_path / "x").read_bytes() == b"two"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomic(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "x"]


def test_reading_regular_files_only(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_regular(tmp_path / "x", limit=5) == b"12345"
    with pytest.raises(OSError, match="larger") as caught:
        read_regular(tmp_path / "x", limit=4)
    assert caught.value.errno == errno.EFBIG
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(OSError, match="not a regular file"):
            read_regular(path, limit=5)

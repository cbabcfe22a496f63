"""Where worktrees lie: outside of the repository and below nothing that agents read."""

import os
import subprocess
from pathlib import Path

import pytest

from kcut.isolation import inspect
from kcut.isolation.place import find_place
from kcut.model.errors import NotReady
from tests.conftest import Repo
from tests.worktrees import opened, sh


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "GEMINI.md", ".claude", ".git"])
def test_markers_in_any_folder_above(repo: Repo, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "above" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "above" / name).symlink_to("/nowhere")
    with pytest.raises(NotReady) as caught:
        find_place(inspect(repo.path), str(inner))
    assert str(tmp_path / "above" / name) in caught.value.message
    monkeypatch.setenv("TMPDIR", str(inner))
    assert find_place(inspect(repo.path), None) == Path("/tmp")


def test_inside_the_repository(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.path / "tmp").mkdir()
    (tmp_path / "link").symlink_to(repo.path / "tmp")
    repo.git("init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"))
    checkout = inspect(repo.path)
    for place in (repo.path / "tmp", tmp_path / "link", tmp_path / "elsewhere"):
        with pytest.raises(NotReady, match="inside your repository"):
            find_place(checkout, str(place))
        monkeypatch.setenv("TMPDIR", str(place))
        assert find_place(checkout, None) == Path("/tmp")
    monkeypatch.chdir(repo.path)
    monkeypatch.setenv("TMPDIR", "tmp")
    assert find_place(checkout, None) == Path("/tmp")


def test_missing_and_unusable(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    checkout = inspect(repo.path)
    for place, why in ((tmp_path / "missing", "does not exist"), (tmp_path / "file", "not a folder")):
        with pytest.raises(NotReady, match=why):
            find_place(checkout, str(place))
        monkeypatch.setenv("TMPDIR", str(place))
        assert find_place(checkout, None) == Path("/tmp")


def test_noexec(repo: Repo) -> None:
    mounts = Path("/proc/mounts")
    mounted = [line.split() for line in mounts.read_text().splitlines()] if mounts.exists() else []
    folders = [Path(row[1]) for row in mounted if "noexec" in row[3].split(",") and row[2] == "tmpfs"]
    usable = [folder for folder in folders if os.access(folder, os.W_OK)]
    if not usable:
        pytest.skip("no writable file system without execution here")
    with pytest.raises(NotReady, match="noexec"):
        find_place(inspect(repo.path), str(usable[0]))


@pytest.mark.parametrize(
    "name", ['it\'s "quoted"', "line\nbreak", "ümlaut space", "#comment", "-dash", "a:b", "tab\t"]
)
def test_odd_names(repo: Repo, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(name)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "link"))
    for kind in ("sealed", "clone", "worktree"):
        with opened(repo.path, ("a.txt",), isolation=kind) as worktree:
            assert worktree.path.is_relative_to(tmp_path / name)
            assert sh(worktree, "git status --porcelain; pwd -P") == str(worktree.path)
            sh(worktree, "echo x > x; git add x; git commit -qm x; git log -p >/dev/null; git worktree list")
            assert worktree.freeze().changed == ("x",)
            sh(worktree, "echo evil > a.txt")
            assert worktree.restore() == ("a.txt",)
    assert list((tmp_path / name).iterdir()) == []


def test_relative_workdir(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "works").mkdir()
    monkeypatch.chdir(repo.path)
    with opened(repo.path, workdir="../works") as worktree:
        assert worktree.path.is_relative_to(tmp_path / "works")
    assert subprocess.run(["ls", "-A", str(tmp_path / "works")], capture_output=True, check=True).stdout == b""

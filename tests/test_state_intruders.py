"""What others put into kcut's own folder, or take from it: nothing is waited for, and each error says what to do."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kcut.store import Store
from kcut.system.faults import mend
from kcut.system.files import copy_tree
from kcut.system.lease import dead_lease
from tests.conftest import Kcut, Repo

RUN = ("benchmark", "--component", "x", "--task", "true", "--k", "1")
STATE = ".claude/eval"


def fifo(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


def test_a_lease_that_is_none_is_not_waited_for(repo: Repo, kcut: Kcut) -> None:
    lease = fifo(repo.path / STATE / "runs/x/lease-w-0123456789abcdef.json")
    assert dead_lease(lease) is None
    assert kcut("clean", cwd=repo.path).returncode == 0
    assert kcut(*RUN, cwd=repo.path).returncode == 1


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("args", [RUN, ("history",), ("doctor",), ("benchmark", "--resume", "last")])
def test_what_lies_beside_the_record_is_not_waited_for(
    repo: Repo, kcut: Kcut, ending: str, args: tuple[str, ...]
) -> None:
    assert kcut(*RUN, cwd=repo.path).returncode == 1
    path = fifo(repo.path / STATE / f"kcut.db{ending}")
    done = kcut(*args, cwd=repo.path)
    assert done.returncode == (1 if args[0] == "doctor" else 2)
    assert f"kcut.db{ending} is not a file" in done.stdout + done.stderr
    path.unlink()
    assert kcut("history", cwd=repo.path).returncode == 0


def test_a_journal_that_appears_meanwhile(repo: Repo) -> None:
    with Store.open(repo.path) as store:
        store._database.rows("PRAGMA journal_mode = DELETE")
    with Store.open(repo.path) as store:
        fifo(repo.path / STATE / "kcut.db-journal")
        with pytest.raises(Exception, match=r"kcut\.db-journal is not a file"):
            store.history()


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("kcut.toml", RUN, 2),
        ("pyproject.toml", RUN, 2),
        (".worktreeinclude", RUN, 2),
        ("specs/x.md", (*RUN, "--spec", "specs/x.md"), 2),
        ("skills/x/SKILL.md", ("rubric", "skills/x/SKILL.md"), 2),
        (f"{STATE}/benchmarks/x.json", RUN, 2),
        (f"{STATE}/benchmarks/x.json", ("gate", "x"), 2),
    ],
)
def test_files_that_kcut_reads(repo: Repo, kcut: Kcut, name: str, args: tuple[str, ...], code: int) -> None:
    repo.write(".git/info/exclude", "/specs\n/skills\n*.toml\n.worktreeinclude\n")
    path = fifo(repo.path / name)
    done = kcut(*args, cwd=repo.path, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    assert path.name in done.stdout + done.stderr


def test_logs_are_new_files(repo: Repo, kcut: Kcut) -> None:
    task = f"for d in {repo.path}/{STATE}/runs/*/with*; do mkfifo $d/task.stdout; done; echo said"
    done = kcut(*RUN, "--logs", "--task", task, cwd=repo.path, timeout=60)
    assert done.returncode in {0, 1}, done.stderr
    (log,) = (repo.path / STATE).glob("runs/*/with-0-1/task.stdout")
    assert log.is_file()
    assert log.read_text() == "said\n"


def test_a_file_that_becomes_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    from kcut.system import files

    source = fifo(tmp_path / "a")
    copy_tree(source, tmp_path / "b")
    assert not (tmp_path / "b").exists()
    with pytest.raises(OSError, match="seek"):
        files._copy_bytes(source, tmp_path / "c")


@pytest.mark.skipif(os.geteuid() == 0, reason="this user may enter every folder")
@pytest.mark.parametrize("mode", ["000", "555"])
def test_a_task_closes_the_folder(repo: Repo, kcut: Kcut, mode: str) -> None:
    folder = repo.path / STATE
    try:
        done = kcut(*RUN, "--task", f"chmod {mode} {folder} {folder}/benchmarks", cwd=repo.path)
    finally:
        folder.chmod(0o755)
        (folder / "benchmarks").chmod(0o755)
    assert done.returncode == 2, done.stderr
    said = [line for line in done.stderr.splitlines() if "kcut:" in line or line.startswith("      ")]
    assert len(said) == 2, done.stderr
    assert f"make {folder}" in said[1]
    assert "kcut benchmark --resume" in said[1]
    assert json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"][0]["state"] == "interrupted"
    # the task closes the folder again, and the run still ends: all its trials are recorded
    assert kcut("benchmark", "--resume", "last", cwd=repo.path).returncode == 1
    assert (folder / "benchmarks/x.json").is_file()
    assert not list(folder.glob("runs/*/lease-*")), "what the closed folder kept is swept"


def limited(repo: Repo, size: int, *args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kcut", *args],
        cwd=repo.path,
        # what measures coverage would hit the limit, too, and say so in the middle of what kcut says
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


@pytest.mark.parametrize("size", [1000, 20_000, 45_000])
def test_a_limit_on_files_is_called_by_its_name(repo: Repo, size: int) -> None:
    done = limited(repo, size, *RUN)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "ulimit -f" in done.stderr, done.stderr
    assert "writable" not in done.stderr
    shutil.rmtree(repo.path / STATE)


def test_each_error_has_its_own_remedy(tmp_path: Path) -> None:
    said = {
        errno.ENOSPC: "free some space",
        errno.EDQUOT: "free some space",
        errno.EFBIG: "ulimit -f",
        errno.EMFILE: "ulimit -n",
        errno.EROFS: "read-only",
        errno.EACCES: f"make {tmp_path} writable",
    }
    for number, words in said.items():
        error = OSError(number, os.strerror(number))
        assert words in mend(error, tmp_path)

"""`kcut clean`: what dead processes left goes, what belongs to living ones or to the user stays."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Kcut, Repo

HOLD = """
import sys
from pathlib import Path
from kcut.isolation import inspect, isolate
from kcut.model.plan import CheckoutPlan
from kcut.store import run_dir
checkout = inspect(Path.cwd())
folder = run_dir(checkout.root, sys.argv[1])
with isolate(checkout, CheckoutPlan(base=checkout.base), run_id=sys.argv[1], state=folder) as isolation:
    with isolation.open() as worktree:
        print(worktree.path, flush=True)
        sys.stdin.read()
"""


class Run:
    """A process with a worktree open."""

    def __init__(self, repo: Repo, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, name],
            cwd=repo.path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.tree = Path(self.process.stdout.readline().rstrip("\n"))
        assert self.tree.is_absolute()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> None:
        """Let the process finish, which removes its worktree."""
        self.process.communicate()


@pytest.fixture
def dead(repo: Repo) -> Path:
    """The worktree that a killed process left."""
    run = Run(repo, "run-dead")
    run.kill()
    assert run.tree.is_dir()
    return run.tree


@pytest.fixture
def alive(repo: Repo) -> Iterator[Path]:
    """The worktree of a process that goes on."""
    run = Run(repo, "run-alive")
    yield run.tree
    run.end()
    assert not run.tree.exists()


def test_nothing_to_remove_and_nothing_made(repo: Repo, kcut: Kcut) -> None:
    done = kcut("clean", cwd=repo.path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to remove\n", "")
    assert not (repo.path / ".claude").exists()


def test_what_a_killed_process_left_goes(repo: Repo, kcut: Kcut, dead: Path, alive: Path) -> None:
    before = repo.git("status", "--porcelain", "--ignored")
    dry = kcut("clean", "--dry-run", cwd=repo.path)
    assert dry.returncode == 0
    assert dry.stdout.startswith("would remove /")
    assert len(dry.stdout.splitlines()) == 1
    assert dead.is_dir()
    doctor = kcut("doctor", "--json", cwd=repo.path)
    checks = {check["code"]: check for check in json.loads(doctor.stdout)["checks"]}
    assert doctor.returncode == 1
    assert (checks["leftovers"]["ok"], checks["leftovers"]["advice"]) == (False, "kcut clean")
    assert dead.is_dir()
    done = kcut("clean", cwd=repo.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == dry.stdout.replace("would remove", "removed")
    assert not dead.exists()
    assert alive.is_dir()
    assert kcut("clean", cwd=repo.path).stdout == "nothing to remove\n"
    assert repo.git("status", "--porcelain", "--ignored") == before


def test_clean_as_json(repo: Repo, kcut: Kcut, dead: Path) -> None:
    dry = json.loads(kcut("clean", "--dry-run", "--json", cwd=repo.path).stdout)
    (folder,) = dry["found"]
    assert dead.is_relative_to(folder)
    assert dry == {"dryRun": True, "found": [folder], "removed": [], "failed": []}
    done = json.loads(kcut("clean", "--json", cwd=repo.path).stdout)
    assert done == {"dryRun": False, "found": [folder], "removed": [folder], "failed": []}


def test_outside_of_a_repository(tmp_path: Path, kcut: Kcut) -> None:
    done = kcut("clean", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kcut: not inside a git repository\n")

"""`kcut clean`: what dead processes left goes, what belongs to living ones or to the user stays."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcut.store import Store
from tests.conftest import Kcut, Repo
from tests.records import a_run, an_attempt

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


@pytest.mark.parametrize("isolation", ["sealed", "worktree"])
def test_kept_worktrees_go_if_asked_for(repo: Repo, kcut: Kcut, tmp_path: Path, isolation: str) -> None:
    place = tmp_path / "place"
    (place / "mine").mkdir(parents=True)
    before = repo.git("worktree", "list", "--porcelain")
    done = kcut(
        *(
            "benchmark",
            "--component",
            "c",
            "--task",
            "test $HARNESS_COMPONENT_ENABLED = 1; rc=$?; mkdir d; chmod 0 d; exit $rc",
        ),
        *("--k", "1", "--keep", "failed", "--workdir", str(place), "--isolation", isolation),
        cwd=repo.path,
    )
    assert "\n       remove them: kcut clean --kept\n" in done.stdout
    assert "remove what is kept: kcut clean --kept" in kcut("show", cwd=repo.path).stdout
    (folder,) = (path for path in place.iterdir() if path.name != "mine")
    assert kcut("clean", cwd=repo.path).stdout == "nothing to remove\n"
    assert folder.is_dir()
    dry = kcut("clean", "--kept", "--dry-run", cwd=repo.path)
    assert (dry.returncode, dry.stdout) == (0, f"would remove {folder}\n")
    assert folder.is_dir()
    gone = kcut("clean", "--kept", cwd=repo.path)
    assert (gone.returncode, gone.stdout, gone.stderr) == (0, f"removed {folder}\n", "")
    assert [path.name for path in place.iterdir()] == ["mine"]
    assert repo.git("worktree", "list", "--porcelain") == before
    assert kcut("clean", "--kept", "--json", cwd=repo.path).stdout.count("[]") == 3


def test_what_kcut_did_not_keep_stays(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    trees = [tmp_path / "mine/x/tree", tmp_path / "w-0123456789abcdef/x/tree", tmp_path / "w-1123456789abcdef/x/tree"]
    for tree in trees:
        tree.mkdir(parents=True)
    (tmp_path / "w-2123456789abcdef").symlink_to(tmp_path / "mine")
    (tmp_path / "mine/own").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "w-1123456789abcdef/own").symlink_to(tmp_path / "real")
    with Store.open(repo.path) as store:
        store.begin(a_run(k=4))
        for pair, tree in enumerate([*trees, tmp_path / "w-2123456789abcdef/x/tree"]):
            store.record(a_run().run_id, an_attempt(pair, "with", "fail", kept=str(tree)))
        store.finish(a_run(k=4, state="interrupted"), None)
    done = kcut("clean", "--kept", cwd=repo.path)
    assert (done.returncode, done.stdout) == (0, "nothing to remove\n")
    assert all(tree.is_dir() for tree in trees)


def test_at_a_terminal_kept_worktrees_are_asked_about(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    kcut(
        *("benchmark", "--component", "c", "--task", "true", "--k", "1", "--keep", "all", "--workdir", str(place)),
        cwd=repo.path,
    )
    (folder,) = place.iterdir()

    def at_a_terminal(answer: bytes, *args: str) -> tuple[int, str]:
        outer, inner = pty.openpty()
        done = subprocess.Popen(
            [sys.executable, "-m", "kcut", "clean", "--kept", *args],
            cwd=repo.path,
            stdin=inner,
            stdout=inner,
            stderr=inner,
        )
        os.close(inner)
        os.write(outer, answer)
        said = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error
            while part := os.read(outer, 1000):
                said += part
        os.close(outer)
        return done.wait(), said.decode()

    code, said = at_a_terminal(b"n\n")
    assert (code, folder.is_dir()) == (2, True)
    assert f"kept worktrees in {folder}" in said
    assert at_a_terminal(b"y\n")[0] == 0
    assert not folder.exists()

"""Opening a run's worktrees in tests, and running git and shell commands in them as a task would."""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcut.isolation import Checkout, Isolation, Worktree, clean_environment, inspect, isolate
from kcut.model.plan import CheckoutPlan


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder that runs lie in; a test that leaves something there fails."""
    folder = tmp_path / "places"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def plan_of(checkout: Checkout, **options: Any) -> CheckoutPlan:
    """The plan for a checkout, as the command line would make it."""
    return CheckoutPlan(base=checkout.base, subdir=checkout.subdir, dirty=bool(checkout.dirty), **options)


def state_of(checkout: Checkout) -> Path:
    """The folder of a run in the checkout."""
    folder = checkout.root / ".claude" / "eval" / "runs" / "run"
    folder.mkdir(parents=True, exist_ok=True)
    (checkout.root / ".claude" / "eval" / ".gitignore").write_text("/*\n!/benchmarks/\n")
    return folder


@contextlib.contextmanager
def running(cwd: Path, *, base: str | None = None, **options: Any) -> Iterator[Isolation]:
    """A run started in `cwd`."""
    checkout = inspect(cwd, base=base)
    with isolate(checkout, plan_of(checkout, **options), run_id="run", state=state_of(checkout)) as isolation:
        yield isolation
    assert isolation.left == []


@contextlib.contextmanager
def opened(
    cwd: Path, protected: Sequence[str] = (), *, base: str | None = None, **options: Any
) -> Iterator[Worktree]:
    """One worktree of a run started in `cwd`; `protected` can be restored."""
    with running(cwd, base=base, **options) as isolation, isolation.open(protected) as worktree:
        yield worktree


def sh(worktree: Worktree, command: str, *, fails: bool = False) -> str:
    """What a shell command prints in a worktree, in a trial's environment; its failure raises unless it may fail."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=worktree.cwd,
        env=clean_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = os.fsdecode(done.stdout).removesuffix("\n")
    assert fails or done.returncode == 0, f"{command}: {text}"
    return text


def files_of(tree: Path) -> dict[str, tuple[str, bytes]]:
    """Every file and link below a tree but git's and kcut's: path -> kind (`file`, `exec`, `link`) and bytes."""
    found: dict[str, tuple[str, bytes]] = {}
    for where, folders, names in os.walk(tree):
        own = {".git"} | ({"eval"} if Path(where).name == ".claude" else set())
        folders[:] = [name for name in folders if name not in own]
        for name in [*names, *(name for name in folders if (Path(where) / name).is_symlink())]:
            path = Path(where) / name
            if name == ".git":
                continue
            key = path.relative_to(tree).as_posix()
            if path.is_symlink():
                found[key] = ("link", os.fsencode(path.readlink()))
            else:
                found[key] = ("exec" if os.access(path, os.X_OK) else "file", path.read_bytes())
    return found

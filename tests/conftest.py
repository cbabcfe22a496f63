"""Fixtures every test may use: an isolated HOME, real git repositories, and kcut as a real process."""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcut.system.git import scrub
from tests.preloaded import Preloaded

#: Agent, git and kcut settings of the machine that runs the tests must not decide their outcome.
FOREIGN = ("KCUT_", "CLAUDE", "CODEX_", "GEMINI_", "HARNESS_", "GIT_", "ANTHROPIC_", "OPENAI_")
KEPT = ("KCUT_MAESTRO_RUNS",)
#: Tells the processes that a command starts to measure the coverage of tests, too.
MEASURED = "COVERAGE_PROCESS_CONFIG"


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty HOME with a git identity; a test that leaves something in it fails."""
    folder = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(FOREIGN) and name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    for name in (
        "COLUMNS",  # of a test runner's own
        "LINES",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_STATE_HOME",
        "VIRTUAL_ENV",
        "PYTHONPATH",
    ):
        monkeypatch.delenv(name, raising=False)
    config = folder / ".gitconfig"
    config.write_text("[user]\n\tname = Tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n")
    before = sorted(path.name for path in folder.iterdir())
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == before, "something was written to HOME"


@dataclass(frozen=True)
class Repo:
    """A real repository in a temporary folder."""

    path: Path

    def git(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """What `git args...` prints here, without the last newline; a failure raises."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            env=scrub(os.environ) | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"git {args}: {done.stderr.decode('utf-8', 'replace')}"
        return os.fsdecode(done.stdout).removesuffix("\n")

    def write(self, name: str, text: str | bytes, *, executable: bool = False) -> Path:
        """Write a file below the repository, its folders made."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if executable:
            path.chmod(0o755)
        return path

    def commit(self, message: str = "change") -> str:
        """Commit everything; returns the commit id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


def make_repo(path: Path, *init: str) -> Repo:
    """A repository with one commit that holds `a.txt`."""
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    repo.git("init", "-q", *init)
    repo.write("a.txt", "a\n")
    repo.commit("first")
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit."""
    return make_repo(tmp_path / "repo")


Kcut = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Preloaded]:
    """kcut with its imports behind it, for all tests of this process."""
    with Preloaded() as process:
        yield process


@pytest.fixture
def kcut(tmp_path: Path, preloaded: Preloaded) -> Kcut:
    """Run the real command: `kcut("gate", "x", cwd=repo.path)`."""

    def run(
        *args: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        timeout: float = 120,
    ) -> "subprocess.CompletedProcess[str]":
        # the command itself is measured, as a fork is; what it starts is in tests of its own, and much cheaper so
        world = {name: value for name, value in os.environ.items() if name != MEASURED}
        return preloaded.run(args, cwd=cwd or tmp_path, env=world | dict(env or {}), stdin=stdin, timeout=timeout)

    return run

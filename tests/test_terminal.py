"""What a person at a terminal sees: live progress, a question before money is spent, and colour only where asked."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Kcut, Repo

LIMIT = 120.0
ESCAPE = "\x1b["


class Terminal:
    """A command on a pseudo-terminal of 100 columns."""

    def __init__(self, *args: str, cwd: Path, env: dict[str, str] | None = None) -> None:
        master, slave = pty.openpty()
        environment = {name: value for name, value in os.environ.items() if name not in {"CI", "NO_COLOR"}}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kcut", *args],
            cwd=cwd,
            env=environment | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"} | (env or {}),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._master = master
        self.seen = ""

    def read_until(self, text: str) -> str:
        """Read until `text` was printed; returns all that was."""
        deadline = time.monotonic() + LIMIT
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if not self._read():
                raise AssertionError(f"ended without {text!r}: {self.seen}")
        return self.seen

    def say(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and all that was printed."""
        while self._read():
            pass
        os.close(self._master)
        return self.process.wait(timeout=LIMIT), self.seen

    def _read(self) -> bool:
        if not select.select([self._master], [], [], LIMIT)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: the last process has closed its side
            return False
        self.seen += data.decode("utf-8", "replace")
        return bool(data)


TASK = 'sleep 0.4; test "$HARNESS_COMPONENT_ENABLED" = 1'


def test_a_live_view_that_goes_away(repo: Repo) -> None:
    terminal = Terminal("benchmark", "--component", "x", "--task", TASK, "--k", "2", "--jobs", "2", cwd=repo.path)
    shown = terminal.read_until("of 4 done")
    assert "with #0  task" in shown
    code, shown = terminal.end()
    assert code == 0
    assert "pair 2 of 2" in shown
    assert "verdict (point rule): \x1b[32mPASS" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("of 4 done")  # the cursor is back after the last redraw
    assert "of 4 done" not in shown[shown.rindex("\x1b[?25h") :]


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"CI": "true"}, {"NO_COLOR": "1", "TERM": "dumb"}])
def test_no_redrawing_where_it_would_disturb(repo: Repo, env: dict[str, str]) -> None:
    code, shown = Terminal(
        "benchmark", "--component", "x", "--task", TASK, "--k", "1", "--color", "never", cwd=repo.path, env=env
    ).end()
    assert code == 0
    assert ESCAPE not in shown
    assert "pair 1 of 1" in shown


def test_colour_is_asked_for_or_for_a_terminal(repo: Repo, kcut: Kcut) -> None:
    options = ("benchmark", "--component", "x", "--task", TASK, "--k", "1", "-q")
    assert ESCAPE not in kcut(*options, cwd=repo.path).stdout
    assert ESCAPE in kcut(*options, "--color", "always", cwd=repo.path).stdout
    code, shown = Terminal(*options, cwd=repo.path, env={"NO_COLOR": "1"}).end()
    assert code == 0
    assert ESCAPE not in shown


@pytest.mark.parametrize("task", ["FOO=1 claude -p hello | cat", "sh ./run.sh"])
def test_asks_before_agents_run(repo: Repo, tmp_path: Path, task: str) -> None:
    repo.write("run.sh", "# what it runs\nif true; then claude -p hello; fi\n")
    repo.commit()
    ran = tmp_path / "ran"
    agent = tmp_path / "bin/claude"
    agent.parent.mkdir()
    agent.write_text(f"#!/bin/sh\necho x >> {ran}\n")
    agent.chmod(0o755)
    options = ("benchmark", "--component", "x", "--task", task, "--k", "2")
    env = {"PATH": f"{agent.parent}:{os.environ['PATH']}"}
    terminal = Terminal(*options, cwd=repo.path, env=env)
    assert "4 trials, each runs claude" in terminal.read_until("go on?")
    terminal.say("n\n")
    code, shown = terminal.end()
    assert code == 2
    assert "nothing was started" in shown
    assert not ran.exists()
    assert Terminal(*options, "--yes", cwd=repo.path, env=env).end()[0] == 1
    assert len(ran.read_text().split()) == 4


def test_control_c_at_the_terminal(repo: Repo, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    task = f"trap 'echo term >> {ran}; exit 1' TERM; echo x >> {ran}; sleep 60 & wait"
    terminal = Terminal("benchmark", "--component", "x", "--task", task, "--k", "2", cwd=repo.path)
    deadline = time.monotonic() + LIMIT
    while not ran.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(terminal.process.pid, signal.SIGINT)
    code, shown = terminal.end()
    assert code == 130
    assert "kcut benchmark --resume" in shown
    assert "Traceback" not in shown
    assert ran.read_text().split() == ["x", "term"]  # the task got TERM from kcut, not the terminal's INT

"""A signal is acted upon whatever kcut is doing: preparing, waiting for a lock, starting, stopped at the terminal."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import Kcut, Repo

#: Seconds; only what hangs takes longer.
LIMIT = 60.0
RUN = ("benchmark", "--component", "x", "--task", "true", "--k", "1", "--no-probe")


def start(cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "kcut", *args],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def ended(process: "subprocess.Popen[str]", code: int) -> str:
    """What a process said on stderr that ends with `code`, and soon."""
    try:
        _, said = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert "ignored" not in said
    return said


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where kcut makes its worktrees."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def slow_git(tmp_path: Path, command: str) -> tuple[dict[str, str], Path]:
    """An environment in which one of git's commands takes its time, and the file that says that it has begun."""
    begun, folder = tmp_path / "begun", tmp_path / "bin"
    folder.mkdir()
    real = shutil.which("git")
    script = f'#!/bin/sh\ncase "$*" in *"{command}"*) touch {begun}; sleep 300;; esac\nexec {real} "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}, begun


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (("--isolation", "clone"), "pack-objects"),
        (("--history", "none"), "pack-objects"),
        ((), "config --list"),
        ((), "status"),
        (("--dirty", "include"), "write-tree"),
    ],
)
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_what_all_trials_share_is_given_up(
    repo: Repo, kcut: Kcut, tmp_path: Path, place: Path, options: tuple[str, ...], command: str, signum: int
) -> None:
    repo.write("new.txt", "new\n")
    env, begun = slow_git(tmp_path, command)
    process = start(repo.path, *RUN, *options, env={**env, "TMPDIR": str(place)})
    until(begun.exists)
    process.send_signal(signum)
    process.send_signal(signum)
    said = ended(process, 128 + signum)
    assert "stopped" in said
    assert list(place.iterdir()) == []
    assert list((repo.path / ".claude/eval").glob("runs/*/lease-*")) == []
    if "--resume" in said:
        done = kcut("benchmark", "--resume", "last", cwd=repo.path)
        assert done.returncode == 1, done.stderr


def test_the_beginning_of_a_resumed_run_is_given_up(repo: Repo, tmp_path: Path, place: Path) -> None:
    begun = tmp_path / "started"
    process = start(repo.path, *RUN, "--task", f"touch {begun}; sleep 300", env={"TMPDIR": str(place)})
    until(begun.exists)
    process.send_signal(signal.SIGINT)
    ended(process, 130)
    env, begun = slow_git(tmp_path, "rev-parse --verify")
    process = start(repo.path, "benchmark", "--resume", "last", env={**env, "TMPDIR": str(place)})
    until(begun.exists)
    process.send_signal(signal.SIGTERM)
    assert "stopped by SIGTERM" in ended(process, 143)


@pytest.mark.parametrize("args", [RUN, ("benchmark", "--resume", "last"), ("history",)])
def test_a_lock_on_the_record_is_not_waited_for_after_a_signal(repo: Repo, kcut: Kcut, args: tuple[str, ...]) -> None:
    assert kcut(*RUN, cwd=repo.path).returncode == 1
    other = sqlite3.connect(repo.path / ".claude/eval/kcut.db", isolation_level=None)
    if args[0] == "history":  # readers wait only where there is no write-ahead log
        other.execute("PRAGMA journal_mode = DELETE")
    elif "--resume" in args:
        other.execute("UPDATE runs SET state = 'interrupted'")
    other.execute("BEGIN EXCLUSIVE")
    process = start(repo.path, *args)
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    before = time.monotonic()
    ended(process, 130)
    assert time.monotonic() - before < 30
    other.close()


def test_what_a_trial_found_is_not_waited_with_for_ever(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    task = f"touch {begun}; until test -e {go}; do sleep 0.05; done"
    process = start(repo.path, *RUN, "--task", task)
    until(begun.exists)
    other = sqlite3.connect(repo.path / ".claude/eval/kcut.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    go.touch()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert "locked" in ended(process, 130)
    other.close()
    assert json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"][0]["state"] == "interrupted"


def test_signals_of_two_kinds_at_once(repo: Repo, tmp_path: Path) -> None:
    env, begun = slow_git(tmp_path, "rev-parse")
    for _ in range(8):
        begun.unlink(missing_ok=True)
        process = start(repo.path, *RUN, env=env)
        until(begun.exists)
        process.send_signal(signal.SIGSTOP)  # so that both are there when it goes on
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        assert ended(process, 130).splitlines() == ["kcut: stopped by SIGINT"]


def test_what_has_no_lines_of_kcuts_own_is_short() -> None:
    code = "import sys; before = set(sys.modules); import kcut.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["kcut", "kcut.__main__"]  # a ^C until it is run shows Python's own traceback


STARTER = """
import sys, threading
from pathlib import Path
from kcut.system.git import Git
print("ready", flush=True)
def work():
    while True:
        Git(Path("/")).run("version")
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
work()
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system has no /proc")
def test_a_stop_at_the_terminal_never_hangs() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True, process_group=0
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        stat = Path(f"/proc/{process.pid}/stat")
        try:
            for number in range(150):
                time.sleep(0.001 * (number % 7))
                os.killpg(process.pid, signal.SIGTSTP)
                until(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG))
                assert " T " in stat.read_text()
                os.killpg(process.pid, signal.SIGCONT)
        finally:
            os.killpg(process.pid, signal.SIGCONT)
            process.kill()


def test_git_takes_all_signals(repo: Repo) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP, signal.SIGINT})
    try:
        from kcut.system.git import Git

        repo.git("config", "alias.mask", "!grep SigBlk /proc/self/status; ps -o sid=,pgid= -p $$")
        said = Git(repo.path).must("mask").text.split()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP, signal.SIGINT})
    assert int(said[1], 16) == 0
    assert int(said[2]) != os.getsid(0)

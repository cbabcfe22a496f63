"""Standard streams that are closed, full, or whose reader went away: never a traceback, never a wrong verdict."""

import os
import subprocess
import sys

import pytest

from tests.conftest import Repo

RUN = (sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--task", "true", "--k", "1")


def shell(repo: Repo, redirect: str, *command: str) -> "subprocess.CompletedProcess[bytes]":
    script = f'"$@" {redirect}'
    return subprocess.run(
        ["sh", "-c", script, "sh", *(command or RUN)], cwd=repo.path, capture_output=True, timeout=300, check=False
    )


@pytest.mark.parametrize("redirect", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(repo: Repo, redirect: str) -> None:
    done = shell(repo, redirect)
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stdout + done.stderr
    assert (repo.path / ".claude/eval/benchmarks/x.json").is_file()
    listed = shell(repo, "", sys.executable, "-m", "kcut", "history")
    assert listed.returncode == 0
    assert len(listed.stdout.splitlines()) == 2  # the record is whole: nothing printed into it


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("command", [RUN, (*RUN, "--json"), (sys.executable, "-m", "kcut", "-h")])
def test_a_full_output_is_no_verdict(repo: Repo, command: tuple[str, ...]) -> None:
    done = shell(repo, "> /dev/full", *command)
    assert done.returncode == 2
    assert b"kcut: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_reader_that_goes_away(repo: Repo) -> None:
    done = shell(repo, "| true", sys.executable, "-m", "kcut", "benchmark", "-h")
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr

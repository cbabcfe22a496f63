"""kcut's own end: stopped, killed, interrupted or out of means at any moment, it leaves no process behind."""

import json
import random
import signal
import subprocess
import time

import pytest

from tests.hostile import LINUX, finish, gone, new_tag, start, tagged

pytestmark = pytest.mark.skipif(not LINUX, reason="reads /proc")


@pytest.fixture
def tag() -> str:
    return new_tag()


def wait_for(tag: str, count: int) -> None:
    """Until so many processes that sleep for the tag's time are there."""
    deadline = time.monotonic() + 60
    while sum(f" sleep {tag}" in f" {line.partition(' ')[2]}" for line in tagged(tag)) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_half_a_gigabyte_is_drained_not_held(tag: str) -> None:
    grown, code = finish("flood.py", tag=tag).split()
    assert code == "0"
    assert int(grown) <= 16 << 20


def test_no_controlling_terminal(tag: str) -> None:
    word, code, said = finish("terminal.py", tag=tag).split(maxsplit=2)
    assert (word, code) == ("terminal", "1")
    assert "/dev/tty" in said


def test_descriptors_run_out(tag: str) -> None:
    refused, code = finish("poor.py", tag=tag).split()
    assert int(refused) > 0
    assert code == "0"


def test_an_exception_out_of_a_signal_handler(tag: str) -> None:
    said = finish("interrupted.py", f"trap '' TERM INT; setsid sleep {tag} & sleep {tag}; :", tag=tag)
    assert said.split() == ["interrupted", "0", "True"]


@pytest.mark.parametrize("where", ["main", "threads"])
def test_stop_from_a_signal_handler(where: str, tag: str) -> None:
    with start("stopped.py", where, f"trap '' TERM; setsid sleep {tag} & sleep {tag}; :", tag=tag) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        wait_for(tag, 8 if where == "main" else 6)
        process.send_signal(signal.SIGTERM)
        if where == "threads":  # their grace is long: the second one is what ends them
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
        said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    *results, after = [json.loads(line) for line in said.splitlines()]
    assert [(ran["code"], ran["interrupted"], ran["error"]) for ran in results] == [(-9, True, None)] * len(results)
    assert len(results) == (4 if where == "main" else 3)
    assert after == {"code": None, "interrupted": True, "error": None, "seconds": 0.0}
    assert not tagged(tag)


@pytest.mark.parametrize("seed", range(8))
def test_killed_at_any_moment(seed: int, tag: str) -> None:
    chance = random.Random(seed)
    with start("busy.py", tag, "4", tag=tag) as process:
        assert process.stdout is not None
        if seed:  # else it is killed while it starts
            assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.4))
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert not gone(tag)


def test_supervisors_are_killed_with_it(tag: str) -> None:
    """KILL to kcut and to the warden at once: the supervisors end their commands by themselves."""
    with start("busy.py", tag, "4", tag=tag) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        process.send_signal(signal.SIGKILL)
        subprocess.run(["kill", "-KILL", *children], check=False)
        process.wait(60)
    assert not gone(tag)

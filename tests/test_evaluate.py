"""Checks as real processes, and spec files as they come."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcut.checkpoint import parse_spec
from kcut.evaluate import MAX_SPEC, CriterionResult, Evaluation, evaluate, read_spec
from kcut.model.errors import UsageFault
from kcut.system.proc import Supervisors


@pytest.fixture(scope="module")
def runner() -> Iterator[Supervisors]:
    with Supervisors() as supervisors:
        yield supervisors


def spec_of(*checks: str, info: str = "eval") -> str:
    return "".join(
        f"- [ ] **AC-{number} (l{number}):** p\n~~~~{info}\n{check}\n~~~~\n" for number, check in enumerate(checks, 1)
    )


def run(text: str, runner: Supervisors, cwd: Path, timeout: float | None = None) -> Evaluation:
    return evaluate(parse_spec(text), runner=runner, cwd=cwd, env=dict(os.environ), timeout=timeout)


def test_exit_codes_decide(runner: Supervisors, tmp_path: Path) -> None:
    done = run(spec_of("true", "exit 3", "# nothing", "kill -9 $$", "no-such-command", "exit 126"), runner, tmp_path)
    assert [(each.result, each.exit, each.broken) for each in done.results] == [
        ("PASS", 0, False),
        ("FAIL", 3, False),
        ("MANUAL", None, False),
        ("FAIL", 137, False),
        ("FAIL", 127, True),
        ("FAIL", 126, True),
    ]
    assert (done.passed, done.failed, done.manual) == (1, 4, 1)
    assert done.failing == ("AC-2", "AC-4", "AC-5", "AC-6")
    assert not done.passes
    assert not done.broken


@pytest.mark.parametrize(
    ("checks", "passes", "broken"),
    [
        (("true",), True, False),
        (("true", "#"), True, False),
        (("#",), False, False),
        (("true", "false"), False, False),
        (("exit 127",), False, True),
        (("exit 127", "true"), False, False),
    ],
)
def test_a_trial_passes_if_no_check_fails_and_one_passes(
    runner: Supervisors, tmp_path: Path, checks: tuple[str, ...], passes: bool, broken: bool
) -> None:
    done = run(spec_of(*checks), runner, tmp_path)
    assert (done.passes, done.broken) == (passes, broken)


def test_a_spec_without_criteria_never_passes(runner: Supervisors, tmp_path: Path) -> None:
    done = run("", runner, tmp_path)
    assert done == Evaluation(())
    assert not done.passes
    assert not done.broken


def test_sh_is_posix_and_bash_is_strict(runner: Supervisors, tmp_path: Path) -> None:
    sh = run(spec_of("false; true", "false | true", 'test -z "$undefined"'), runner, tmp_path)
    bash = run(spec_of("false; true", "false | true", 'test -z "$undefined"', info="eval bash"), runner, tmp_path)
    assert [each.result for each in sh.results] == ["PASS"] * 3
    assert [each.result for each in bash.results] == ["FAIL"] * 3


@pytest.mark.parametrize("path", ["", "relative", "/nonexistent"])
def test_without_bash_a_bash_check_fails_and_says_why(runner: Supervisors, tmp_path: Path, path: str) -> None:
    fake = tmp_path / "relative" / "bash"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    done = evaluate(
        parse_spec(spec_of("true", info="eval bash")), runner=runner, cwd=tmp_path, env={"PATH": path}, timeout=None
    )
    (result,) = done.results
    assert (result.result, result.exit, result.broken) == ("FAIL", None, True)
    assert done.error == "there is no bash on PATH"


def test_each_check_starts_from_the_same_folder_and_environment(runner: Supervisors, tmp_path: Path) -> None:
    probe = f'test "$PWD" = "{tmp_path}" && test -z "$LEAK" && test ! -t 0 && test -z "$(cat)"'
    done = run(spec_of(f"{probe}; cd /; LEAK=1; export LEAK; umask 0; {probe}", probe, probe), runner, tmp_path)
    assert [each.result for each in done.results] == ["FAIL", "PASS", "PASS"]


def test_a_timeout_is_a_fail_and_ends_everything(runner: Supervisors, tmp_path: Path) -> None:
    late = "(sleep 30; touch late) & setsid sleep 30 & sleep 30"
    done = run(
        spec_of(late, info="eval timeout=0.3") + "\n- [ ] **AC-9 (x):** y\n```eval\ntrue\n```\n", runner, tmp_path
    )
    first, second = done.results
    assert (first.result, first.exit, first.timed_out, first.broken) == ("FAIL", None, True, True)
    assert second.result == "PASS"
    assert not (tmp_path / "late").exists()


def test_one_limit_for_all_checks_together(runner: Supervisors, tmp_path: Path) -> None:
    done = run(spec_of("sleep 30", "touch ran", "#"), runner, tmp_path, timeout=0.3)
    assert [(each.result, each.timed_out) for each in done.results] == [
        ("FAIL", True),
        ("FAIL", True),
        ("MANUAL", False),
    ]
    assert done.broken
    assert not (tmp_path / "ran").exists()


def test_what_a_check_leaves_running_is_ended_and_counted(runner: Supervisors, tmp_path: Path) -> None:
    done = run(spec_of("sleep 600 & echo $! > pid", "sleep 600 & true"), runner, tmp_path)
    assert done.passes
    assert done.ended == 2
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_check_that_cannot_be_started_is_a_fail(runner: Supervisors, tmp_path: Path) -> None:
    done = run(spec_of("true"), runner, tmp_path / "gone")
    assert [(each.result, each.broken) for each in done.results] == [("FAIL", True)]
    assert done.error is not None
    huge = run(spec_of("true #" + "x" * 3_000_000), runner, tmp_path)
    assert [(each.result, each.broken) for each in huge.results] == [("FAIL", True)]


def test_output_of_any_size_is_thrown_away(runner: Supervisors, tmp_path: Path) -> None:
    assert run(spec_of("head -c 30000000 /dev/zero; head -c 300000 /dev/zero >&2"), runner, tmp_path).passes


def test_told_to_stop_it_stops(tmp_path: Path) -> None:
    told: list[CriterionResult] = []
    with Supervisors() as runner:

        def stop_when_it_runs() -> None:
            while not (tmp_path / "running").exists():
                time.sleep(0.01)
            runner.stop()

        thread = threading.Thread(target=stop_when_it_runs)
        thread.start()
        text = spec_of("true", "touch running; sleep 600", "touch after")
        done = evaluate(parse_spec(text), runner=runner, cwd=tmp_path, env=dict(os.environ), on_result=told.append)
        thread.join()
    assert done.interrupted
    assert not done.passes
    assert [each.result for each in done.results] == ["PASS"]
    assert tuple(told) == done.results
    assert not (tmp_path / "after").exists()


# --- reading the file ---


def test_a_spec_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_bytes("\ufeffä\r\n".encode())
    assert read_spec(path) == "\ufeffä\r\n"
    link = tmp_path / "link.md"
    link.symlink_to(path)
    assert read_spec(link) == "\ufeffä\r\n"


def test_what_is_no_spec_file_is_refused_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"ok\n\xe4\n")
    (tmp_path / "utf16.md").write_bytes("- [ ] x".encode("utf-16"))
    (tmp_path / "huge.md").write_bytes(b"x" * (MAX_SPEC + 1))
    (tmp_path / "loop.md").symlink_to("loop.md")
    os.mkfifo(tmp_path / "fifo.md")
    cases = {
        "latin.md": "is not UTF-8 text: line 2 holds the byte 0xe4",
        "utf16.md": "is not UTF-8 text: line 1 holds the byte 0xff",
        "huge.md": "too large",
        "loop.md": "cannot read",
        "fifo.md": "is no regular file",
        ".": "is a folder",
        "missing\x1b[2J.md": "there is no spec",
        "latin.md/x": "cannot read",
        "x" * 5000: "cannot read",
    }
    for name, said in cases.items():
        with pytest.raises(UsageFault) as caught:
            read_spec(tmp_path / name)
        assert said in caught.value.message
        assert caught.value.message.isprintable()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_spec_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(UsageFault, match=r"cannot read the spec .*Permission denied"):
        read_spec(path)

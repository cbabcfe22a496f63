"""Runs that meet a hostile task, a faulty machine or a signal at a bad moment."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo

LIMIT = 300.0
SCORE = "#!/bin/sh\ntest -f solved || exit 1\necho ok\n"


def bench(repo: Repo, *args: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "kcut", "benchmark", "--component", "x", *args],
        cwd=repo.path,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
    )


def until(condition: Any) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def runs(repo: Repo, kcut: Kcut) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"]
    return rows


# what a trial writes decides nothing about how its score is restored


@pytest.mark.parametrize(
    "attribute", ["score.sh working-tree-encoding=UTF-7", "score.sh eol=crlf", "* filter=lfs", "score.sh ident"]
)
@pytest.mark.parametrize("commit", ["", "; git add -A; git commit -qm attributes"])
def test_a_trials_attributes_do_not_reach_the_score(repo: Repo, kcut: Kcut, attribute: str, commit: str) -> None:
    repo.write("score.sh", SCORE, executable=True)
    repo.commit()
    repo.git("config", "filter.lfs.smudge", "no-such-lfs")
    repo.git("config", "filter.lfs.required", "true")
    task = f'echo "{attribute}" > .gitattributes; echo exit 0 > score.sh{commit}; true'
    done = kcut(
        "benchmark", "--component", "x", "--k", "1", "--score", "./score.sh", "--json", "--task", task, cwd=repo.path
    )
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert [trial["outcome"] for trial in document["trials"]] == ["fail", "fail"]
    assert {trial["scoreExit"] for trial in document["trials"]} == {1}


def test_a_filter_that_the_trial_can_write_does_not_restore_the_score(repo: Repo, kcut: Kcut) -> None:
    repo.write("tools/smudge.sh", "#!/bin/sh\ncat\n", executable=True)
    repo.write("score.sh", SCORE, executable=True)
    repo.write(".gitattributes", "*.sh filter=own\n")
    repo.commit()
    repo.git("config", "filter.own.smudge", "./tools/smudge.sh")
    task = 'printf "#!/bin/sh\\necho exit 0\\n" > tools/smudge.sh; echo exit 0 > score.sh'
    done = kcut(
        "benchmark", "--component", "x", "--k", "1", "--score", "./score.sh", "--json", "--task", task, cwd=repo.path
    )
    document = json.loads(done.stdout)
    assert [trial["outcome"] for trial in document["trials"]] == ["fail", "fail"], done.stderr


def test_settings_that_hide_edits_do_not_hide_them_from_kcut(repo: Repo, kcut: Kcut) -> None:
    repo.write("score.sh", SCORE, executable=True)
    repo.commit()
    config = repo.path.parent / "config"
    config.write_text(
        "[user]\n\tname = u\n\temail = e@example.org\n[core]\n\tignoreStat = true\n\tcheckStat = minimal\n"
    )
    task = 'printf "exit 0" > score.sh; echo $HARNESS_COMPONENT_ENABLED > a.txt'
    done = kcut(
        *("benchmark", "--component", "x", "--k", "3", "--score", "sh score.sh", "--json", "--task", task),
        cwd=repo.path,
        env={"GIT_CONFIG_GLOBAL": str(config)},
    )
    document = json.loads(done.stdout)
    assert document["with"]["successes"] == 0
    codes = {warning["code"] for warning in document["decision"]["warnings"]}
    assert "score-edited" in codes
    assert "arms-identical" not in codes


# faults that pass


def test_a_run_that_met_a_mendable_fault_can_be_resumed(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    repo.write(".gitignore", "secrets.env\n")
    repo.commit()
    repo.write("secrets.env", "A=1\n")
    ran = tmp_path / "ran"
    task = (
        f"echo x >> {ran}; test -f secrets.env &&"
        f' {{ [ "$HARNESS_TRIAL" = 0 ] || test -e {tmp_path}/go || sleep 60; }}'
    )
    process = bench(repo, "--k", "2", "--copy", "secrets.env", "--task", task)
    until(lambda: ran.exists() and len(ran.read_text().split()) == 3)
    process.terminate()
    process.communicate(timeout=LIMIT)
    assert process.returncode == 143
    (repo.path / "secrets.env").unlink()
    (tmp_path / "go").touch()
    refused = kcut("benchmark", "--resume", "last", cwd=repo.path)
    assert refused.returncode == 2
    assert "secrets.env" in refused.stderr
    repo.write("secrets.env", "A=1\n")
    done = kcut("benchmark", "--resume", "last", "--json", cwd=repo.path)
    assert done.returncode == 1, done.stderr
    assert len(json.loads(done.stdout)["trials"]) == 4
    assert len(ran.read_text().split()) == 5


def test_names_that_are_not_utf8_lose_no_verdict(repo: Repo, kcut: Kcut) -> None:
    (Path(os.fsdecode(os.fsencode(repo.path) + b"/\xff.txt"))).write_text("x")
    for args in ((), ("--json",)):
        done = kcut("benchmark", "--component", "x", "--k", "1", "--task", "true", *args, cwd=repo.path)
        assert done.returncode == 1, done.stderr
    stored = json.loads((repo.path / ".claude/eval/benchmarks/x.json").read_bytes().decode("utf-8"))
    assert json.loads(done.stdout) == stored
    assert [row["state"] for row in runs(repo, kcut)] == ["finished", "finished"]


# listeners that go away


@pytest.mark.parametrize("quiet", [(), ("-q",)])
@pytest.mark.parametrize("json_", [(), ("--json",)])
@pytest.mark.parametrize("redirect", ["| true", "2>&1 | true", "2> /dev/full"])
def test_a_listener_that_goes_away_changes_no_verdict(
    repo: Repo, kcut: Kcut, redirect: str, quiet: tuple[str, ...], json_: tuple[str, ...]
) -> None:
    command = f'{{ "$@"; echo $? > {repo.path.parent}/code; }} {redirect}'
    words = (sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--k", "1", "--min-gain", "-1")
    subprocess.run(
        ["sh", "-c", command, "sh", *words, *quiet, *json_, "--task", "true"],
        cwd=repo.path,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (repo.path.parent / "code").read_text() == "0\n"
    assert [row["state"] for row in runs(repo, kcut)] == ["finished"]


def test_a_terminal_that_is_closed(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    started = tmp_path / "started"
    process = subprocess.Popen(
        [sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--task", f"touch {started}; sleep 60"],
        cwd=repo.path,
        env={name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    until(started.exists)
    os.close(master)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=LIMIT) == 129
    assert [row["state"] for row in runs(repo, kcut)] == ["interrupted"]


# signals at bad moments


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_signal_during_a_checkout(repo: Repo, kcut: Kcut, tmp_path: Path, times: int) -> None:
    place = tmp_path / "place"
    place.mkdir()
    mark = tmp_path / "filtering"
    repo.write(".gitattributes", "slow.txt filter=slow\n")
    repo.write("slow.txt", "x\n")
    repo.commit()
    repo.git("config", "filter.slow.smudge", f"touch {mark}; sleep 100; cat")
    process = bench(repo, "--task", "true", env={"TMPDIR": str(place)})
    until(mark.exists)
    for _ in range(times):
        process.terminate()
        time.sleep(0.2)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 143, error
    assert (out, "Traceback" in error) == ("", False)
    assert list(place.iterdir()) == []
    assert [row["state"] for row in runs(repo, kcut)] == ["interrupted"]
    repo.git("config", "filter.slow.smudge", "cat")
    done = kcut("benchmark", "--resume", "last", "--json", cwd=repo.path)
    assert done.returncode == 1, done.stderr
    assert all(trial["attempts"] == 1 for trial in json.loads(done.stdout)["trials"])


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_run_begins(repo: Repo, kcut: Kcut, tmp_path: Path, signum: signal.Signals) -> None:
    mark = tmp_path / "filtering"
    repo.write(".gitattributes", "*.txt filter=slow\n")
    repo.git("config", "filter.slow.clean", "cat")
    repo.commit()
    repo.git("config", "filter.slow.clean", f"touch {mark}; sleep 100; cat")
    repo.write("a.txt", "b\n")  # as long as before, so that git has to look
    process = bench(repo, "--task", "true")
    until(mark.exists)
    process.send_signal(signum)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + signum, error
    assert "Traceback" not in error
    repo.git("config", "filter.slow.clean", "cat")
    assert runs(repo, kcut) == []


def test_a_resumed_run_says_each_thing_once(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    task = f'sleep 500 & echo x >> {ran}; [ "$HARNESS_TRIAL" = 0 ] || test -e {tmp_path}/go || sleep 60'
    process = bench(repo, "--k", "2", "--task", task, "--score", "true")
    until(lambda: ran.exists() and len(ran.read_text().split()) == 3)
    process.kill()
    process.communicate(timeout=LIMIT)
    (tmp_path / "go").touch()
    resumed = subprocess.Popen([sys.executable, "-m", "kcut", "benchmark", "--resume", "last", "-q"], cwd=repo.path)
    until(lambda: len(ran.read_text().split()) >= 4)
    resumed.terminate()
    resumed.wait(timeout=LIMIT)
    done = kcut("benchmark", "--resume", "last", "--json", cwd=repo.path)
    codes = [warning["code"] for warning in json.loads(done.stdout)["decision"]["warnings"]]
    assert len(codes) == len(set(codes))
    assert {"processes-ended", "baseline-passes"} <= set(codes)


def test_a_stop_while_a_retry_waits_is_a_stop(repo: Repo, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    task = f'echo x >> {ran}; echo "{{\\"void\\": \\"rate_limit\\"}}" > "$HARNESS_TRIAL_OUT"'
    process = bench(repo, "--k", "2", "--task", task, "--retry-wait", "100", "--json")
    until(lambda: ran.exists() and len(ran.read_text().split()) == 4)
    time.sleep(0.5)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "stopped after 0 of 4 trials" in json.loads(out)["reason"]


def test_a_rate_limit_costs_a_budget_nothing(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    once = tmp_path / "once"
    answer = '{\\"type\\":\\"error\\",\\"error\\":{\\"type\\":\\"overloaded_error\\"}}'
    task = (
        f'test -e {once} || {{ touch {once}; echo "API Error: 529 {answer}" >&2; exit 1; }};'
        ' echo "{\\"cost_usd\\": 1}" > "$HARNESS_TRIAL_OUT"'
    )
    options = ("--k", "2", "--task", task, "--max-cost", "10", "--retry-wait", "0", "--json")
    done = kcut("benchmark", "--component", "x", *options, cwd=repo.path)
    document = json.loads(done.stdout)
    assert done.returncode == 1, done.stderr
    assert document["with"]["valid"] == document["without"]["valid"] == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--retry-wait", "99999999999999h"),
        ("--retry-wait", "9" * 400),
        ("--timeout", "9" * 400),
        ("--min-gain", "1e999999999"),
        ("--min-gain", "1e-999999999"),
        ("--workdir", "x" * 5000),
        ("--base", "^HEAD"),
        ("--base", "HEAD~0..HEAD"),
    ],
)
def test_values_out_of_bounds_are_usage_errors(repo: Repo, kcut: Kcut, option: str, value: str) -> None:
    done = kcut("benchmark", "--component", "x", "--task", "true", option, value, cwd=repo.path, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr
    assert runs(repo, kcut) == []


@pytest.mark.parametrize(
    "options",
    [
        ("--link", "nm", "--link", "nm/a"),
        ("--copy", "nm/a", "--link", "nm"),
        ("--copy", "nm", "--link", "nm/a"),
        ("--link", "src"),
        ("--copy", "nm", "--link", "nm"),
    ],
)
def test_what_cannot_be_brought_is_refused(repo: Repo, kcut: Kcut, options: tuple[str, ...]) -> None:
    repo.write(".gitignore", "nm/\n")
    repo.write("src/code.py", "x\n")
    repo.commit()
    repo.write("nm/a", "a\n")
    repo.write("nm/b", "b\n")
    done = kcut("benchmark", "--component", "x", "--task", "true", *options, cwd=repo.path)
    assert done.returncode == 2
    assert done.stderr.startswith("kcut: ")
    assert runs(repo, kcut) == []


def test_a_nested_repository_is_not_said_to_be_included(repo: Repo, kcut: Kcut) -> None:
    repo.write("nest/file", "x\n")
    Repo(repo.path / "nest").git("init", "-q")
    done = kcut("benchmark", "--component", "x", "--task", "true", "--dirty", "include", cwd=repo.path)
    assert done.returncode == 2
    assert "nest/ is a repository of its own" in done.stderr

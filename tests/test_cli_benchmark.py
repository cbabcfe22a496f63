"""The main job from the command line: what is promised of it, end to end."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo

LIMIT = 300.0
#: With the component a trial passes, without it fails.
TOGGLE = 'test "$HARNESS_COMPONENT_ENABLED" = 1'


def artifact(repo: Repo, name: str = "x") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((repo.path / f".claude/eval/benchmarks/{name}.json").read_text())
    return document


def run(kcut: Kcut, repo: Repo, *args: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    return kcut("benchmark", "--component", "x", *args, cwd=repo.path, **more)


def key_tree(document: object) -> object:
    """The keys of a document, its lists by their first element."""
    if isinstance(document, dict):
        return {key: key_tree(value) for key, value in document.items()}
    if isinstance(document, list):
        return [key_tree(document[0])] if document and isinstance(document[0], dict) else []
    return None


def missing_keys(expected: object, found: object, at: str = "") -> list[str]:
    """The keys of the example that a document lacks; open dictionaries and empty lists aside."""
    if isinstance(expected, dict) and isinstance(found, dict):
        missing = [f"{at}.{key}" for key in expected if key not in found]
        return missing + [
            path
            for key in expected
            if key in found
            for path in missing_keys(expected[key], found[key], f"{at}.{key}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and expected and found:
        return missing_keys(expected[0], found[0], f"{at}[]")
    return []


def test_the_main_job(repo: Repo, kcut: Kcut) -> None:
    done = run(kcut, repo, "--task", TOGGLE)
    assert done.returncode == 0, done.stderr
    assert "verdict (point rule): PASS" in done.stdout
    assert "evidence: KEEP" in done.stdout
    assert ".claude/eval/benchmarks/x.json" in done.stdout
    assert len([line for line in done.stderr.splitlines() if line.startswith("pair ")]) == 5
    assert repo.git("status", "--porcelain", "-uall").splitlines() == ["?? .claude/eval/benchmarks/x.json"]

    document = artifact(repo)
    assert document["component"] == "x"
    assert document["k"] == 5
    assert document["task"] == TOGGLE
    assert document["score"] is None
    assert document["pass"] is True
    assert document["with"]["successes"] == document["with"]["valid"] == 5
    assert document["without"]["successes"] == 0
    assert document["with"]["totalCostUsd"] is None
    assert document["base"] == {"commit": repo.git("rev-parse", "HEAD"), "dirty": False}
    assert len(document["trials"]) == 10
    assert {trial["position"] for trial in document["trials"]} == {0, 1}
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", document["runId"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", document["ts"])


def test_every_key_of_the_example_is_written(repo: Repo, kcut: Kcut) -> None:
    sidecar = {
        "cost_usd": 0.5,
        "num_turns": 3,
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 4,
        },
    }
    task = f"echo '{json.dumps(sidecar)}' > \"$HARNESS_TRIAL_OUT\"; {TOGGLE}"
    done = run(kcut, repo, "--task", task, "--k", "3", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    example = json.loads((Path(__file__).parent / "data/artifact.example.json").read_text())
    example.pop("_comment", None)
    example["decision"]["warnings"][0]["evidence"] = {}
    example["without"]["voids"] = {}
    assert missing_keys(example, document) == []
    assert set(document) == set(example)
    assert document == artifact(repo)
    assert document["with"]["totalCostUsd"] == 1.5
    assert document["with"]["costPerSuccess"] == 0.5
    assert document["without"]["costPerSuccess"] is None
    assert document["with"]["tokens"] == {"input": 3, "output": 6, "cacheRead": 9, "cacheCreation": 12}
    assert document["with"]["medianTurns"] == 3


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--task", "true", "--k", "0"], "--k must be a whole number of at least 1 (got 0)"),
        (["--task", "true", "--k", "2.5"], "--k must be a whole number of at least 1 (got 2.5)"),
        ([], "--task is missing"),
        (["--task", "  "], "--task needs a command"),
        (["--task", "true", "--score", "true", "--spec", "s.md"], "--score and --spec both given"),
        (["--task", "true", "--spec", "nowhere.md"], "nowhere.md"),
        (["--task", "true", "--spec", "."], "is a folder"),
        (["--task", "true", "--base", "no-such-rev"], "no-such-rev"),
        (["--task", "true", "--wat"], "--wat"),
        (["--task", "true", "--min-gain", "lots"], "--min-gain must be a number"),
        (["--task", "true", "--min-gain", "1/0"], "--min-gain must be a number"),
        (["--task", "true", "--timeout", "soon"], "--timeout must be a time"),
        (["--task", "true", "--out", "a/b"], "--out"),
        (["--task", "true", "--copy", "../up"], "../up"),
        (["--task", "true", "--isolation", "none"], "none"),
        (["--resume", "last"], "run"),
        (["--task", "true", "stray"], "stray"),
    ],
)
def test_usage_errors_come_before_any_trial(repo: Repo, kcut: Kcut, args: list[str], says: str) -> None:
    done = run(kcut, repo, *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("kcut: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (repo.path / ".claude/eval/benchmarks/x.json").exists()


def test_where_it_cannot_run(tmp_path: Path, repo: Repo, kcut: Kcut) -> None:
    for name, init, says in (
        ("none", None, "not inside a git repository"),
        ("unborn", ("init", "-q"), "no HEAD commit"),
        ("bare", ("init", "-q", "--bare"), "bare"),
    ):
        place = tmp_path / name
        place.mkdir()
        if init:
            Repo(place).git(*init)
        done = kcut("benchmark", "--component", "x", "--task", "true", cwd=place)
        assert done.returncode == 2
        assert says in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) <= 4
    if os.geteuid() == 0:
        os.chown(repo.path, 4242, 4242)
        os.chown(repo.path / ".git", 4242, 4242)
        done = run(kcut, repo, "--task", "true")
        assert done.returncode == 2
        assert "safe.directory" in done.stderr


def test_specs_that_cannot_score_are_refused(repo: Repo, kcut: Kcut) -> None:
    for text in ("", "prose", "- [ ] **AC-1 (manual):** look\n", "- [ ] **AC-1 (x):** y\n  ```eval\n  true\n"):
        repo.write("s.md", text)
        done = run(kcut, repo, "--task", "true", "--spec", "s.md")
        assert done.returncode == 2, text
        assert "s.md" in done.stderr


def test_scored_by_a_spec(repo: Repo, kcut: Kcut) -> None:
    repo.write(
        "spec.md",
        "- [ ] **AC-1 (one):** x\n  ```eval\n  test -f one\n  ```\n"
        "- [ ] **AC-2 (two):** y\n  ```eval\n  test -f two\n  ```\n"
        "- [ ] **AC-3 (by eye):** z\n",
    )
    done = run(kcut, repo, "--task", f"touch one; {TOGGLE} && touch two; exit 7", "--spec", "spec.md", "--k", "3")
    assert done.returncode == 0, done.stderr
    assert "without a check" in done.stderr
    document = artifact(repo)
    assert document["score"] == "kcut checkpoint spec.md"
    assert {trial["taskExit"] for trial in document["trials"]} == {7}
    shown = json.loads(kcut("show", "last", "--json", cwd=repo.path).stdout)
    assert {tuple(trial["failing"]) for trial in shown["trials"]} == {(), ("AC-2",)}


@pytest.mark.parametrize(
    ("task", "rule", "code", "verdict"),
    [
        (TOGGLE, "evidence", 0, "keep"),
        (f"! {TOGGLE}", "evidence", 1, "cut"),
        (f"! {TOGGLE}", "point", 1, "cut"),
        ('[ "$HARNESS_TRIAL" = 0 ] || ' + TOGGLE + ' && [ "$HARNESS_TRIAL" != 1 ]', "evidence", 3, "inconclusive"),
        ("true", "evidence", 3, "inconclusive"),
        ("false", "point", 1, "inconclusive"),
    ],
)
def test_exit_codes(repo: Repo, kcut: Kcut, task: str, rule: str, code: int, verdict: str) -> None:
    done = run(kcut, repo, "--task", task, "--k", "3", "--rule", rule, "--json")
    document = json.loads(done.stdout)
    assert document["decision"]["verdict"] == verdict
    assert done.returncode == code
    assert document["pass"] is (code == 0)


def test_an_invalid_run_writes_no_artifact_and_keeps_the_old_one(repo: Repo, kcut: Kcut) -> None:
    assert run(kcut, repo, "--task", TOGGLE, "--k", "3").returncode == 0
    before = (repo.path / ".claude/eval/benchmarks/x.json").read_bytes()
    for args in (
        ("--setup", "exit 3", "--task", "true"),
        ("--task", "no-such-command-at-all"),
        ("--task", "true", "--score", "./no-such-score"),
        ("--task", 'echo "{\\"void\\":\\"auth\\"}" > "$HARNESS_TRIAL_OUT"'),
    ):
        done = run(kcut, repo, *args, "--k", "3", "--json")
        assert done.returncode == 2, args
        document = json.loads(done.stdout)
        assert document["decision"]["verdict"] == "invalid"
        assert document["pass"] is False
        assert (repo.path / ".claude/eval/benchmarks/x.json").read_bytes() == before
    history = json.loads(kcut("history", "--json", cwd=repo.path).stdout)
    assert [row["state"] for row in history["runs"]].count("invalid") == 4


def test_a_run_that_can_only_end_invalid_stops(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    task = f'echo . >> {tmp_path}/ran; echo "{{\\"void\\":\\"auth\\"}}" > "$HARNESS_TRIAL_OUT"'
    done = run(kcut, repo, "--task", task, "--k", "20")
    assert done.returncode == 2
    # 6 of 20 are more than a quarter; an order drawn by coin may need 6 of one cohort and up to 6 of the other
    assert 6 <= len((tmp_path / "ran").read_text().split()) <= 12


def test_dry_run_runs_nothing(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    done = run(kcut, repo, "--task", f"touch {tmp_path}/ran", "--k", "7", "--dry-run")
    assert done.returncode == 0
    assert "14 trials" in done.stdout
    document = json.loads(run(kcut, repo, "--task", f"touch {tmp_path}/ran", "--dry-run", "--json").stdout)
    assert document["trials"] == 10
    assert not (tmp_path / "ran").exists()
    assert json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"] == []


def test_results_do_not_depend_on_jobs(repo: Repo, kcut: Kcut) -> None:
    task = "sleep 0.0$((HARNESS_SEED % 7)); [ $((HARNESS_SEED % 5)) -gt 1 ] || " + TOGGLE
    documents = []
    for jobs in ("1", "6"):
        run(kcut, repo, "--task", task, "--k", "6", "--seed", "11", "--jobs", jobs)
        document = artifact(repo)
        documents.append(
            (
                [(t["pair"], t["cohort"], t["position"], t["outcome"]) for t in document["trials"]],
                document["decision"]["pValue"],
                document["pass"],
            )
        )
    assert documents[0] == documents[1]


def test_the_probe_says_whether_the_task_can_show_a_benefit(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    done = run(
        kcut, repo, "--task", "true", "--score", f"echo $HARNESS_COMPONENT_ENABLED >> {tmp_path}/p; true", "--k", "1"
    )
    assert "baseline-passes" in done.stdout
    assert (tmp_path / "p").read_text().split()[0] == "0"
    assert len((tmp_path / "p").read_text().split()) == 3
    done = run(kcut, repo, "--task", "touch y", "--setup", "touch z", "--score", "test -f y && test -f z", "--k", "1")
    assert "fails on the untouched base, as it should" in done.stderr
    (tmp_path / "p").unlink()
    run(kcut, repo, "--task", "true", "--score", f"echo x >> {tmp_path}/p", "--k", "1", "--no-probe")
    assert len((tmp_path / "p").read_text().split()) == 2


def test_credentials_reach_no_file(repo: Repo, kcut: Kcut) -> None:
    secret = "sk-ant-api03-" + "Zq7" * 20
    task = f"export API_KEY={secret}; echo {secret}; echo $API_KEY > leaked.txt; {TOGGLE}"
    done = run(kcut, repo, "--task", task, "--k", "1", "--logs")
    assert "credential" in done.stdout
    assert secret not in done.stdout + done.stderr
    assert "***" in artifact(repo)["task"]
    found = [
        path for path in (repo.path / ".claude").rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]
    assert found == []
    logs = list((repo.path / ".claude/eval/runs").rglob("task.stdout"))
    assert len(logs) == 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in logs)
    assert "leaked.txt" in next((repo.path / ".claude/eval/runs").rglob("task.diff")).read_text()


def test_nothing_of_the_output_is_kept_without_logs(repo: Repo, kcut: Kcut) -> None:
    mark = "x9f3-kept-nowhere"
    run(kcut, repo, "--task", f"echo {mark[:4]}''{mark[4:]}; echo {mark[:4]}''{mark[4:]} >&2", "--k", "1")
    found = [
        path for path in (repo.path / ".claude").rglob("*") if path.is_file() and mark.encode() in path.read_bytes()
    ]
    assert found == []


def test_kept_worktrees_are_named(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    task = f"echo kept > mine.txt; {TOGGLE}"
    done = run(kcut, repo, "--task", task, "--k", "2", "--keep", "failed", "--workdir", str(place))
    assert done.returncode == 0
    kept = list(place.rglob("mine.txt"))
    assert len(kept) == 2
    for path in kept:
        assert str(path.parent) in done.stdout + done.stderr


def test_every_trial_has_an_empty_home_if_asked(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    task = (
        f'ls -A "$HOME" >> {tmp_path}/homes; touch "$HOME/mark"; echo "$HOME" "$XDG_CONFIG_HOME" >> {tmp_path}/names'
    )
    run(kcut, repo, "--task", task, "--k", "2", "--isolate-home")
    names = (tmp_path / "names").read_text().splitlines()
    assert len(set(names)) == 4
    assert not any(line.startswith(os.environ["HOME"]) for line in names)
    assert "mark" not in (tmp_path / "homes").read_text()


def test_marks_of_an_enclosing_agent_do_not_reach_trials(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    env = {
        "CLAUDECODE": "1",
        "KCUT_SECRET": "1",
        "CODEX_SANDBOX_X": "1",
        "ANTHROPIC_API_KEY": "kept",
        "GIT_AUTHOR_NAME": "me",
    }
    run(kcut, repo, "--task", f"env >> {tmp_path}/env", "--k", "1", env=env)
    names = {line.split("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert {"ANTHROPIC_API_KEY", "GIT_AUTHOR_NAME"} <= names
    assert names & {"CLAUDECODE", "KCUT_SECRET", "CODEX_SANDBOX_X"} == set()


def test_a_budget(repo: Repo, kcut: Kcut) -> None:
    task = f'echo \'{{"cost_usd": 1}}\' > "$HARNESS_TRIAL_OUT"; {TOGGLE}'
    done = run(kcut, repo, "--task", task, "--max-cost", "6.5", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["with"]["valid"] == 3
    assert document["k"] == 5
    assert document["with"]["passCaret"] is False
    assert "budget-stop" in {warning["code"] for warning in document["decision"]["warnings"]}
    done = run(kcut, repo, "--task", TOGGLE, "--max-cost", "6.5")
    assert done.returncode == 2
    assert "cost" in done.stdout + done.stderr


def start(repo: Repo, *args: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "kcut", "benchmark", "--component", "x", *args],
        cwd=repo.path,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(condition: Any) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_resume_counts_nothing_twice(
    repo: Repo, kcut: Kcut, tmp_path: Path, signum: signal.Signals, jobs: str
) -> None:
    ran, go = tmp_path / "ran", tmp_path / "go"
    task = (
        f'echo "$HARNESS_TRIAL $HARNESS_COMPONENT_ENABLED $HARNESS_SEED" >> {ran};'
        f' if [ "$HARNESS_TRIAL" -ge 2 ]; then while [ ! -e {go} ]; do sleep 0.05; done; fi;'
        f" {TOGGLE} || [ $((HARNESS_SEED % 2)) = 0 ]"
    )
    options = ("--task", task, "--k", "5", "--seed", "3", "--jobs", jobs)
    place = tmp_path / "place"
    place.mkdir()
    process = start(repo, *options, env={"TMPDIR": str(place)})
    until(lambda: len(lines(ran)) >= 5)
    time.sleep(0.3)
    process.send_signal(signum)
    out, error = process.communicate(timeout=LIMIT)
    assert out == ""
    assert process.returncode == (-9 if signum == signal.SIGKILL else 128 + signum), error
    before = json.loads(kcut("show", "last", "--json", cwd=repo.path).stdout)
    finished = len(before["trials"])
    assert finished >= 4
    go.touch()
    first = lines(ran)

    done = kcut("benchmark", "--resume", "last", "--json", cwd=repo.path, env={"TMPDIR": str(place)})
    document = json.loads(done.stdout)
    assert len(document["trials"]) == 10
    assert len(lines(ran)) - len(first) == 10 - finished
    assert list(place.iterdir()) == []

    ran.unlink()
    whole = json.loads(kcut("benchmark", "--component", "y", *options, "--json", cwd=repo.path).stdout)
    for key in ("with", "without"):
        for part in ("valid", "successes", "passCaret", "successRate", "rateInterval"):
            assert document[key][part] == whole[key][part]
    for part in ("verdict", "pValue", "pValueCut", "difference", "interval", "neededK", "pairs"):
        assert document["decision"][part] == whole["decision"][part]
    assert [t["outcome"] for t in document["trials"]] == [t["outcome"] for t in whole["trials"]]
    assert kcut("benchmark", "--resume", "last", cwd=repo.path).returncode == done.returncode


def test_an_interrupted_run_prints_its_shape_with_json(repo: Repo, tmp_path: Path) -> None:
    started = tmp_path / "started"
    process = start(repo, "--task", f"touch {started}; sleep 60", "--json")
    until(started.exists)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    document = json.loads(out)
    assert document["decision"]["verdict"] == "invalid"
    assert document["pass"] is False
    assert not (repo.path / ".claude/eval/benchmarks/x.json").exists()


def test_resume_refuses_what_changed(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    started = tmp_path / "started"
    process = start(repo, "--task", f"touch {started}; sleep 60")
    until(started.exists)
    process.terminate()
    process.communicate(timeout=LIMIT)
    done = kcut("benchmark", "--resume", "last", "--k", "9", cwd=repo.path)
    assert done.returncode == 2
    assert "--k" in done.stderr
    assert kcut("benchmark", "--resume", "20990101", cwd=repo.path).returncode == 2
    repo.write("b.txt", "b")
    repo.commit("moved on")
    done = kcut("benchmark", "--resume", "last", cwd=repo.path)
    assert done.returncode == 2
    assert "base has changed" in done.stderr


def test_one_run_is_resumed_by_one_process(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    started = tmp_path / "started"
    process = start(repo, "--task", f"touch {started}; sleep 60")
    until(started.exists)
    done = kcut("benchmark", "--resume", "last", cwd=repo.path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    process.terminate()
    process.communicate(timeout=LIMIT)


def test_a_pattern_that_protects_nothing_is_a_slip_of_the_pen(repo: Repo, kcut: Kcut) -> None:
    done = run(kcut, repo, "--task", "true", "--protect", "*.txt", "--protect", "tset/*")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--protect tset/*: no file of the base matches" in done.stderr


def test_the_run_says_when_the_checkout_changed(repo: Repo, kcut: Kcut) -> None:
    task = f'[ "$HARNESS_TRIAL" = 1 ] && echo changed-$HARNESS_COMPONENT_ENABLED > {repo.path}/a.txt; {TOGGLE}'
    done = run(kcut, repo, "--task", task, "--k", "3")
    assert done.returncode == 0
    assert "checkout-changed" in done.stdout
    warning = next(w for w in artifact(repo)["decision"]["warnings"] if w["code"] == "checkout-changed")
    assert any("#1" in line and "a.txt" in line for line in warning["evidence"]["trials"])
    said = done.stdout.split("checkout-changed: ")[1].split("  warning")[0]
    assert "#1: your checkout changed while this trial ran" in " ".join(said.split())
    assert "a.txt" in said
    assert (repo.path / "a.txt").read_text().startswith("changed")


def test_configuration_and_environment(repo: Repo, kcut: Kcut) -> None:
    repo.write("kcut.toml", "[benchmark]\nk = 2\njobs = 2\n")
    repo.commit()
    run(kcut, repo, "--task", TOGGLE)
    assert artifact(repo)["k"] == 2
    run(kcut, repo, "--task", TOGGLE, env={"KCUT_BENCHMARK_K": "3"})
    assert artifact(repo)["k"] == 3
    run(kcut, repo, "--task", TOGGLE, "--k", "1", env={"KCUT_BENCHMARK_K": "3"})
    assert artifact(repo)["k"] == 1


def test_quiet_prints_the_result_only(repo: Repo, kcut: Kcut) -> None:
    done = run(kcut, repo, "--task", TOGGLE, "--k", "1", "-q")
    assert done.stderr == ""
    assert "verdict (point rule)" in done.stdout


@pytest.mark.parametrize(
    "cleared", ["rm -rf -- $PWD", "cd / && rm -rf -- $OLDPWD", "chmod -R 000 .", "mkdir -p d && chmod 000 d"]
)
def test_a_trial_that_ruins_its_worktree_is_scored_and_removed(
    repo: Repo, kcut: Kcut, tmp_path: Path, cleared: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    done = run(
        kcut,
        repo,
        "--task",
        f"{TOGGLE} || {{ {cleared}; }}",
        "--score",
        "test -s a.txt",
        "--k",
        "2",
        "--workdir",
        str(place),
        "--no-probe",
        "--json",
    )
    document = json.loads(done.stdout)
    assert document["with"]["successes"] == 2
    assert document["without"]["valid"] == 2
    assert list(place.iterdir()) == []


def warnings(document: dict[str, Any]) -> dict[str, str]:
    """The advice of each warning by its code."""
    return {warning["code"]: warning["advice"] for warning in document["decision"]["warnings"]}


@pytest.mark.parametrize(
    ("task", "exits"),
    [("./rum.sh", "127"), ("./plain.sh", "126"), ("no-such-command -x", "127"), ("exit 127", "127")],
)
def test_a_task_that_cannot_run_is_said(repo: Repo, kcut: Kcut, task: str, exits: str) -> None:
    repo.write("plain.sh", "true\n")
    repo.commit()
    done = run(kcut, repo, "--task", task, "--score", "test -f out", "--k", "3", "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert exits in warnings(document)["task-not-run"]
    assert ("task-missing" in warnings(document)) == (task == "./rum.sh")
    assert ("rum.sh" in done.stderr) == (task == "./rum.sh")
    own = json.loads(run(kcut, repo, "--task", task, "--k", "3", "--json").stdout)
    assert own["decision"]["verdict"] == "invalid"
    assert "the task could not run" in own["reason"]


def test_a_task_that_cannot_run_in_one_cohort_is_said(repo: Repo, kcut: Kcut) -> None:
    task = '[ "$HARNESS_COMPONENT_ENABLED" = 0 ] || ./nowhere'
    document = json.loads(run(kcut, repo, "--task", task, "--score", "true", "--k", "3", "--json").stdout)
    assert warnings(document)["task-not-run"].startswith("no WITH trial")


def test_a_dry_run_names_what_the_base_lacks(repo: Repo, kcut: Kcut) -> None:
    repo.write("sub/run.sh", "true\n", executable=True)
    assert "run.sh" in run(kcut, repo, "--task", "sub/run.sh", "--dry-run").stdout.split("note", 1)[1]
    repo.commit()
    assert "the base has no" not in run(kcut, repo, "--task", "sub/run.sh", "--dry-run").stdout
    assert "the base has no run.sh" in run(kcut, repo, "--task", "./run.sh", "--dry-run").stdout
    assert "the base has no" not in run(kcut, repo, "--task", "cd sub && ./run.sh", "--dry-run").stdout
    assert "the base has no" not in run(kcut, repo, "--task", "make x", "--dry-run").stdout


def test_timeouts_are_said(repo: Repo, kcut: Kcut) -> None:
    document = json.loads(run(kcut, repo, "--task", "sleep 20", "--timeout", "0.2", "--k", "1", "--json").stdout)
    assert "--timeout ended 2 tasks" in warnings(document)["timeouts"]


def test_a_spec_that_is_not_what_it_seems_is_said(repo: Repo, kcut: Kcut) -> None:
    repo.write(
        "spec.md",
        "- [ ] **AC-1 (one):** x\n  ```eval\n  test -f one\n  ```\n- **AC-2**: y\n  ```eval\n  test -f two\n  ```\n",
    )
    done = run(kcut, repo, "--task", "touch two", "--spec", "spec.md", "--k", "1", "--json")
    assert "line 5" in warnings(json.loads(done.stdout))["spec"]
    assert "line 5" in done.stderr
    repo.write("spec.md", "- [ ] **AC-2 two**: y\n  ```eval\n  test -f two\n  ```\n")
    done = run(kcut, repo, "--task", "touch two", "--spec", "spec.md")
    assert done.returncode == 2
    assert done.stderr.startswith("kcut: spec.md: line 1: this looks like a criterion, but has no (label)")


def test_an_uncommitted_spec_scores_and_is_not_called_absent(repo: Repo, kcut: Kcut) -> None:
    repo.write("specs/s.md", "- [ ] **AC-1 (one):** x\n  ```eval\n  test -f one\n  ```\n")
    repo.write("other.txt", "x")
    done = run(kcut, repo, "--task", "touch one", "--spec", "specs/s.md", "--k", "1", "--json")
    assert "specs/s.md scores as it is now" in " ".join(done.stderr.split())
    document = json.loads(done.stdout)
    dirty = next(warning for warning in document["decision"]["warnings"] if warning["code"] == "dirty")
    assert dirty["evidence"]["paths"] == ["other.txt"]
    assert document["with"]["successes"] == 1


def test_a_finished_run_is_not_run_again_and_replaces_nothing(repo: Repo, kcut: Kcut) -> None:
    run(kcut, repo, "--task", "false", "--k", "1")
    first = artifact(repo)["runId"]
    run(kcut, repo, "--task", TOGGLE, "--k", "1")
    before = (repo.path / ".claude/eval/benchmarks/x.json").read_bytes()
    done = kcut("benchmark", "--resume", first, "--json", cwd=repo.path)
    assert "had finished" in done.stderr
    assert json.loads(done.stdout)["runId"] == first
    assert (repo.path / ".claude/eval/benchmarks/x.json").read_bytes() == before


@pytest.mark.parametrize("option", ["--task", "--score", "--component", "--setup"])
def test_a_forgotten_value_does_not_swallow_the_next_option(repo: Repo, kcut: Kcut, option: str) -> None:
    done = kcut("benchmark", "--component", "x", "--task", "true", option, "--dry-run", cwd=repo.path)
    assert done.returncode == 2
    assert f"{option} needs a value" in done.stderr


def test_runs_leave_no_empty_folders(repo: Repo, kcut: Kcut) -> None:
    run(kcut, repo, "--task", "true", "--k", "1")
    assert not list((repo.path / ".claude/eval").glob("runs/*"))
    done = run(kcut, repo, "--task", "echo hello", "--k", "1", "--logs", "-v")
    assert "logs   .claude/eval/runs/" in done.stdout
    assert "task exit 0" in done.stderr


def test_lines_fit_a_terminal(repo: Repo, kcut: Kcut) -> None:
    for number in range(12):
        repo.write(f"a-file-with-a-long-name-that-is-not-committed-{number}.txt", "x")
    task = f"echo a-task-of-some-length-to-show > out.txt; {TOGGLE}"
    done = run(kcut, repo, "--task", task, "--score", "test -s out.txt && grep -q length out.txt", "--k", "2")
    shown = kcut("show", "last", cwd=repo.path).stdout
    lines = (done.stdout + done.stderr + "\n".join(shown.splitlines()[8:])).splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("evidence:")] == []


@pytest.mark.parametrize(
    ("kind", "words"), [("sealed", "sealed worktrees"), ("worktree", "linked worktrees"), ("clone", "clones")]
)
def test_the_plan_says_what_trials_run_in(repo: Repo, kcut: Kcut, kind: str, words: str) -> None:
    repo.write(".gitignore", "/odd*\n")
    base = repo.commit()
    repo.write("odd\nname", "x")
    options = ("--component", "x", "--task", "true", "--isolation", kind, "--link", "odd\nname", "--dry-run")
    done = kcut("benchmark", *options, cwd=repo.path)
    assert done.returncode == 0, done.stderr
    assert f"   {words} of {base[:7]}   " in done.stdout
    assert "reach your files: odd\\nname\n" in done.stdout

"""The command that `kcut gate` names: the experiment that was run, with nothing dropped."""

import json
import shlex
import subprocess
import sys
from typing import Any

import pytest

from kcut.commandline import words
from kcut.model.plan import CheckoutPlan, Plan, SpecText, TaskPlan
from tests.conftest import Kcut, Repo
from tests.documents import example, first_format, put

TASKS = """
[[task]]
name = "one"
task = "true"

[[task]]
name = "two"
task = "true"
score = "false"
weight = 2
"""
SPEC = '- [ ] **AC-1 (a):** it is there\n  ```eval\n  test "$HARNESS_COMPONENT_ENABLED" = 2\n  ```\n'


def advice(kcut: Kcut, repo: Repo, below: str = "") -> str:
    done = kcut("gate", "x", "--json", cwd=repo.path / below)
    told: str = json.loads(done.stdout)["components"][0]["advice"]
    assert told in kcut("gate", "x", cwd=repo.path / below).stdout
    return told


def planned(kcut: Kcut, repo: Repo, *args: str, below: str = "") -> dict[str, Any]:
    done = kcut("benchmark", *args, "--dry-run", "--json", cwd=repo.path / below)
    assert done.returncode == 0, done.stderr
    plan: dict[str, Any] = json.loads(done.stdout)["plan"]
    return {key: value for key, value in plan.items() if key != "seed"}


@pytest.mark.parametrize(
    ("args", "k"),
    [
        (("--tasks", "t.toml", "--score", "test 1 = 2", "--k", "2"), 2),
        (("--task", "true", "--spec", "a b.md", "--k", "3", "--min-gain", "1/3", "--no-probe", "--out", "x"), 3),
        (
            ("--task", "false", "--until-decided", "--max-k", "21", "--beta", ".2", "--stop", "keep-unreachable"),
            21,
        ),
        (
            (
                *("--task", "echo $HARNESS_SEED; false", "--setup", "true; :", "--k", "2", "--delta", "0.25"),
                *("--alpha", "0.1", "--objective", "cost", "--margin", "0.15", "--timeout", "90", "--jobs", "2"),
                *("--score-timeout", "2.5", "--setup-timeout", "2h", "--void-retries", "0", "--retry-wait", "1,1.5"),
                *("--agent-output", "none", "--protect", "a.txt", "--unprotect", "z*", "--base", "main"),
                *("--isolation", "clone", "--refs", "all", "--dirty", "include", "--copy", "own"),
                *("--keep", "failed", "--isolate-home", "--logs"),
            ),
            2,
        ),
    ],
)
def test_the_command_plans_the_run_that_was(repo: Repo, kcut: Kcut, args: tuple[str, ...], k: int) -> None:
    repo.write("t.toml", TASKS)
    repo.write("a b.md", SPEC)
    repo.write(".gitignore", "own\n")
    repo.commit()
    repo.write("own", "mine")
    done = kcut("benchmark", "--component", "x", *args, "-q", "-y", cwd=repo.path)
    assert done.returncode == 1, done.stdout + done.stderr
    kcut("clean", "--kept", "-y", cwd=repo.path)
    told = shlex.split(advice(kcut, repo))
    assert told[:4] == ["kcut", "benchmark", "--component", "x"]
    before, again = planned(kcut, repo, "--component", "x", *args), planned(kcut, repo, *told[2:])
    assert again.pop("k") >= before.pop("k") == k
    assert again == before


def test_it_begins_where_the_run_began(repo: Repo, kcut: Kcut) -> None:
    repo.write("a b/run.sh", "exit 1\n", executable=True)
    repo.commit()
    assert kcut("benchmark", "--component", "x", "--task", "sh run.sh", "--k", "1", cwd=repo.path / "a b").returncode
    assert advice(kcut, repo).startswith("cd 'a b' && kcut benchmark --component x --task 'sh run.sh' --k ")
    assert advice(kcut, repo, "a b").startswith("kcut benchmark --component x --task 'sh run.sh' --k ")


def test_more_pairs_are_asked_for_where_the_run_had_too_few(repo: Repo, kcut: Kcut) -> None:
    task = "test $((HARNESS_TRIAL % 2)) = 0"
    args = ("--component", "x", "--task", task, "--until-decided", "--max-k", "4", "--rule", "evidence")
    done = kcut("benchmark", *args, "--json", "-q", cwd=repo.path)
    assert done.returncode == 3, done.stderr
    needed = json.loads(done.stdout)["decision"]["neededK"]
    assert needed > 4
    told = advice(kcut, repo)
    assert f"--until-decided --max-k {needed} --rule evidence" in told
    assert "--k" not in shlex.split(told)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"maxK": 20, "k": 9}, "--until-decided --max-k 20"),
        ({"maxK": 20, "decision": {"verdict": "inconclusive", "neededK": 90}}, "--until-decided --max-k 90"),
        ({"decision": {"verdict": "cut", "method": "eprocess"}}, "--anytime"),
        (
            {"decision": {"verdict": "cut", "alpha": 0.01, "objective": "cost", "cost": {"margin": 0.2}}, "k": 5},
            "--k 5 --alpha 0.01 --objective cost --margin 0.2",
        ),
    ],
)
def test_an_artifact_without_its_run(repo: Repo, kcut: Kcut, changes: dict[str, Any], told: str) -> None:
    put(repo.path, "x", first_format("x", **{"pass": False}) | changes)
    assert advice(kcut, repo) == f"kcut benchmark --component x --task ./run.sh {told}"


def test_no_wrong_command_for_several_tasks(repo: Repo, kcut: Kcut) -> None:
    one = {"name": "a", "weight": 1.0, "task": "./a", "with": example()["with"], "without": example()["without"]}
    put(repo.path, "x", example(component="x", **{"pass": False}, tasks=[one, one | {"name": "b"}]))
    assert advice(kcut, repo) == "run it again as it was, with the file of its 2 tasks"


def test_a_run_that_was_stopped_can_go_on(repo: Repo, kcut: Kcut) -> None:
    argv = [sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--task", "sleep 0.2", "--k", "9"]
    with subprocess.Popen(argv, cwd=repo.path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(process.stderr)
        next(process.stderr)
        process.terminate()
        process.stderr.read()
    run = json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"][0]["runId"]
    assert advice(kcut, repo) == f"kcut benchmark --resume {run}"


def test_words_of_a_plan() -> None:
    checkout = CheckoutPlan(base="0" * 40, link_paths=("l",), workdir="/w", history="none")
    spec = SpecText(path="s.md", text="")
    plan = Plan(component="x", task="t", spec=spec, k=1, seed=1, checkout=checkout, max_cost=0.000001)
    assert " ".join(words(plan, k=7)) == (
        "--component x --task t --spec s.md --k 7 --max-cost 0.000001 --history none --workdir /w --link l"
    )
    several = plan.model_copy(update={"tasks": (TaskPlan(name="a", task="t"),)})
    with pytest.raises(ValueError, match="file"):
        words(several)

"""The replay example: what kcut makes of recorded rows is what the rows say, computed here once more by hand."""

import json
import os
import shlex
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Repo
from tests.test_examples import EXAMPLES, clone_with, command_of, expected_of, run_example, shell

Row = dict[str, Any]
SAMPLE = EXAMPLES / "replay" / "sample.json"
RECORDED = os.environ.get("KCUT_MAESTRO_RUNS")
recorded = pytest.mark.skipif(RECORDED is None, reason="KCUT_MAESTRO_RUNS names no recorded runs")


def rows_of(path: Path) -> list[Row]:
    """The rows of a file."""
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    return rows


def is_void(row: Row) -> bool:
    """The rule that was published with the recordings."""
    turns, cost = row.get("num_turns"), row.get("cost_usd")
    return bool(row.get("is_error")) or (turns is not None and turns <= 1) or cost is None or cost == 0


@dataclass(frozen=True)
class Expected:
    """One cohort as its rows say."""

    rows: list[Row]

    @property
    def valid(self) -> list[Row]:
        return [row for row in self.rows if not is_void(row)]

    @property
    def successes(self) -> int:
        return sum(row["pass"] is True for row in self.valid)

    @property
    def voids(self) -> int:
        return len(self.rows) - len(self.valid)

    def total(self, key: str) -> float:
        return float(sum(row[key] for row in self.valid))

    def median(self, key: str) -> float:
        return float(statistics.median(row[key] for row in self.valid))


def expected(rows: Iterable[Row], task: str, mode: str, k: int) -> Expected:
    """The first k rows of a task and mode."""
    mine = [row for row in rows if row["task"].startswith(f"{task}-") and row["mode"] == mode]
    return Expected(sorted(mine, key=lambda row: int(row["run"]))[:k])


def replay(repo: Repo, rows: Path, task: str, k: int) -> tuple[int, dict[str, Any]]:
    """Exit code and artifact of a replay."""
    task_command = shlex.join(["python3", "replay.py", str(rows), task])
    plan = ["--component", "rules-file", "--task", task_command, "--score", "grep -qx pass outcome.txt"]
    options = ["--k", str(k), "--void-retries", "0", "--jobs", "2", "--json"]
    done = shell(shlex.join(["kcut", "benchmark", *plan, *options]), repo.path / "examples" / "replay")
    assert done.stdout, done.stderr
    artifact: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, artifact


def assert_as_in_the_rows(artifact: Mapping[str, Any], name: str, cohort: Expected) -> None:
    """Passes, voids, costs, tokens and turns of one cohort of the artifact."""
    summary = artifact[name]
    assert (summary["k"], summary["valid"]) == (len(cohort.rows), len(cohort.valid))
    assert summary["successes"] == cohort.successes
    assert sum(summary["voids"].values()) == summary["voidAttempts"] == cohort.voids
    assert summary["totalCostUsd"] == pytest.approx(cohort.total("cost_usd"))
    assert summary["meanCostPerTrial"] == pytest.approx(cohort.total("cost_usd") / len(cohort.valid))
    if cohort.successes:
        assert summary["costPerSuccess"] == pytest.approx(cohort.total("cost_usd") / cohort.successes)
    assert summary["tokens"] == {
        "input": cohort.total("in_tokens"),
        "output": cohort.total("out_tokens"),
        "cacheRead": cohort.total("cache_read"),
        "cacheCreation": cohort.total("cache_write"),
    }
    assert summary["medianTurns"] == cohort.median("num_turns")
    for trial in (trial for trial in artifact["trials"] if trial["cohort"] == name):
        row = cohort.rows[trial["index"]]
        assert trial["attempts"] == 1
        assert trial["outcome"] == ("void" if is_void(row) else "pass" if row["pass"] else "fail")
        assert trial["costUsd"] == row.get("cost_usd")
        assert trial["turns"] == row.get("num_turns")


def median_cost(artifact: Mapping[str, Any], cohort: str) -> float:
    """The median cost of a cohort's valid trials."""
    trials = [trial for trial in artifact["trials"] if trial["cohort"] == cohort and trial["outcome"] != "void"]
    return float(statistics.median(trial["costUsd"] for trial in trials))


@pytest.fixture
def clone(repo: Repo) -> Repo:
    """A repository with the replay example."""
    return clone_with(repo, "replay")


def test_the_sample(clone: Repo) -> None:
    """The README's command: eight rows each, three of them void, `core` rows beside them."""
    verdict = run_example(clone, command_of("replay"), "rules-file")
    assert verdict.code == 0
    assert verdict.passed == expected_of("replay")
    assert verdict.evidence == "inconclusive"
    artifact = verdict.artifact
    rows = rows_of(SAMPLE)
    assert any(row["mode"] == "core" for row in rows)
    for name, mode in (("with", "on"), ("without", "off")):
        cohort = expected(rows, "s01", mode, 8)
        assert cohort.voids > 0
        assert_as_in_the_rows(artifact, name, cohort)
    assert artifact["with"]["voids"] == {"harness": 1, "interrupted": 1}
    assert artifact["without"]["voids"] == {"startup": 1}
    # what a void cost stands apart, and is unknown if one of them does not say
    assert artifact["with"]["voidCostUsd"] is None
    assert artifact["without"]["voidCostUsd"] == 0


def test_unequal_cohorts(clone: Repo) -> None:
    """The count pairs what can be paired; a trial beyond the recording is void, never a repeated or invented row."""
    counted = shell(f"python3 replay.py --count '{SAMPLE}' s02", clone.path / "examples" / "replay")
    assert (counted.stdout, counted.returncode) == ("3\n", 0)
    assert "5 rows on, 3 off" in counted.stderr
    code, artifact = replay(clone, SAMPLE, "s02", 3)
    assert code == 1  # three of three in both
    rows = rows_of(SAMPLE)
    assert_as_in_the_rows(artifact, "with", expected(rows, "s02", "on", 3))
    assert_as_in_the_rows(artifact, "without", expected(rows, "s02", "off", 3))
    code, artifact = replay(clone, SAMPLE, "s02", 5)
    assert code == 2
    assert artifact["decision"]["verdict"] == "invalid"
    assert artifact["without"]["voids"] == {"harness": 2}


@recorded
@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("20260610-202033-claude-sonnet", "t12"),
        ("20260610-213829-claude-sonnet", "t12"),
        ("20260610-192800-claude-haiku", "t09"),
    ],
)
def test_the_recorded_runs(clone: Repo, name: str, task: str) -> None:
    """Real rows, on against off, each file one run."""
    path = Path(str(RECORDED)) / "rows" / f"{name}.json"
    rows = rows_of(path)
    k = int(shell(f"python3 replay.py --count '{path}' {task}", clone.path / "examples" / "replay").stdout)
    cohorts = {"with": expected(rows, task, "on", k), "without": expected(rows, task, "off", k)}
    code, artifact = replay(clone, path, task, k)
    invalid = any(4 * cohort.voids > k for cohort in cohorts.values())
    assert (artifact["decision"]["verdict"] == "invalid") is invalid
    rates = [cohort.successes / len(cohort.valid) for cohort in cohorts.values()]
    assert code == (2 if invalid else 0 if rates[0] > rates[1] else 1)
    for cohort, said in cohorts.items():
        assert_as_in_the_rows(artifact, cohort, said)
    if name.startswith("20260610-202033"):
        assert round(median_cost(artifact, "without"), 4) == 0.3433
        assert round(median_cost(artifact, "with"), 4) == 0.3576


@recorded
def test_the_rule_for_voids_on_all_recorded_rows() -> None:
    """The example's rule finds the voids that were published: 69 of 377."""
    folder = Path(str(RECORDED)) / "rows"
    script = (
        "import json, sys, pathlib, replay\n"
        "rows = [row for path in pathlib.Path(sys.argv[1]).glob('*.json') for row in replay.recorded(path)]\n"
        "print(json.dumps([replay.void_reason(row) for row in rows]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, str(folder)],
        cwd=EXAMPLES / "replay",
        capture_output=True,
        check=True,
    )
    reasons = Counter(json.loads(done.stdout))
    assert (reasons.total(), reasons[None]) == (377, 377 - 69)
    assert set(reasons) <= {None, "startup", "interrupted", "harness"}

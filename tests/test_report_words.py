"""The two verdict lines, for every end a run can have."""

from typing import Any

import pytest

from kcut.model.artifact import Artifact
from kcut.report.words import odds, p_equals, verdict_lines
from kcut.verdict import assemble
from tests.documents import first_format
from tests.records import a_run
from tests.test_verdict import counted, trials


def said(x: int, n: int, y: int, **changes: Any) -> list[str]:
    """The lines of x of n WITH against y of n WITHOUT."""
    artifact = assemble(a_run(k=n, state="finished", **changes), counted(x, n, y))
    return [str(line) for line in verdict_lines(artifact, min_gain=changes.get("min_gain"))]


@pytest.mark.parametrize(
    ("x", "n", "y", "changes", "point", "evidence"),
    [
        (
            *(5, 5, 2, {}),
            "verdict (point rule): PASS - the success rate rose from 0.40 to 1.00",
            "evidence: KEEP - 5 of 5 against 2 of 5, at least +0.03 (95 %); "
            "a difference this large would appear by chance in 3 of 100 experiments (Boschloo p = 0.031)",
        ),
        (
            *(18, 20, 9, {}),
            "verdict (point rule): PASS - the success rate rose from 0.45 to 0.90",
            "evidence: KEEP - 18 of 20 against 9 of 20, at least +0.16 (95 %); "
            "a difference this large would appear by chance in 1 of 1000 experiments (Boschloo p = 0.0012)",
        ),
        (
            *(0, 5, 2, {}),
            "verdict (point rule): FAIL - the success rate fell from 0.40 to 0.00",
            "evidence: CUT - a benefit of 20 points or more is ruled out (0 of 5 against 2 of 5); "
            "a component that adds 0.20 would do so poorly in 2 of 100 experiments (p = 0.023); "
            "true gain between -0.77 and +0.12 (95 %)",
        ),
        (
            *(100, 200, 100, {"delta": 0.125}),
            "verdict (point rule): FAIL - the success rate is 0.50 in both cohorts",
            "evidence: CUT - a benefit of 12.5 points or more is ruled out (100 of 200 against 100 of 200); "
            "a component that adds 0.12 would do so poorly in 7 of 1000 experiments (p = 0.0069); "
            "true gain between -0.10 and +0.10 (95 %)",
        ),
        (
            *(8, 10, 5, {}),
            "verdict (point rule): PASS - the success rate rose from 0.50 to 0.80",
            "evidence: INCONCLUSIVE - 10 trials a cohort cannot show less than +0.40; "
            "32 would show +0.30 in 4 of 5 runs; a difference this large would appear by chance in 10 of 100 "
            "experiments (Boschloo p = 0.099); true gain between -0.11 and +0.60 (95 %)",
        ),
        (
            *(5, 10, 5, {}),
            "verdict (point rule): FAIL - the success rate is 0.50 in both cohorts",
            "evidence: INCONCLUSIVE - 10 trials a cohort cannot show less than +0.40; "
            "75 would show +0.20 in 4 of 5 runs; no difference was seen (Boschloo p = 0.472); "
            "true gain between -0.37 and +0.37 (95 %)",
        ),
        (
            *(4, 10, 5, {}),
            "verdict (point rule): FAIL - the success rate fell from 0.50 to 0.40",
            "evidence: INCONCLUSIVE - 10 trials a cohort cannot show less than +0.40; "
            "75 would show +0.20 in 4 of 5 runs; WITH passed less often (Boschloo p = 0.689); "
            "true gain between -0.45 and +0.29 (95 %)",
        ),
        (
            *(1, 2, 0, {}),
            "verdict (point rule): PASS - the success rate rose from 0.00 to 0.50",
            "evidence: INCONCLUSIVE - 2 trials a cohort cannot show anything; 9 would show +0.50 in 4 of 5 runs; "
            "a difference this large would appear by chance in 31 of 100 experiments (Boschloo p = 0.313); "
            "true gain between -0.27 and +0.91 (95 %)",
        ),
        (
            *(3, 3, 3, {}),
            "verdict (point rule): FAIL - the success rate is 1.00 in both cohorts",
            "evidence: INCONCLUSIVE - all trials of both cohorts passed, so the task cannot show a benefit; "
            "true gain between -0.56 and +0.56 (95 %)",
        ),
        (
            *(9, 10, 1, {"min_gain": "0.9"}),
            "verdict (point rule): FAIL - a gain of +0.80 is short of --min-gain 0.9",
            "evidence: KEEP - 9 of 10 against 1 of 10, at least +0.37 (95 %); a difference this large would appear "
            "by chance in fewer than 1 of 1000 experiments (Boschloo p = 0.0002)",
        ),
        (
            *(9, 10, 1, {"min_gain": "0.9", "rule": "evidence"}),
            "verdict (point rule): FAIL - a gain of +0.80 is short of --min-gain 0.9",
            "evidence: KEEP - 9 of 10 against 1 of 10, at least +0.37 (95 %); a difference this large would appear "
            "by chance in fewer than 1 of 1000 experiments (Boschloo p = 0.0002)",
        ),
        (
            *(3, 5, 2, {"rule": "evidence"}),
            "verdict (point rule): PASS - the success rate rose from 0.40 to 0.60",
            "evidence: INCONCLUSIVE - 5 trials a cohort cannot show less than +0.60; "
            "79 would show +0.20 in 4 of 5 runs; a difference this large would appear by chance in 38 of 100 "
            "experiments (Boschloo p = 0.377); true gain between -0.32 and +0.60 (95 %)",
        ),
    ],
)
def test_lines(x: int, n: int, y: int, changes: dict[str, Any], point: str, evidence: str) -> None:
    assert said(x, n, y, **changes) == [point, evidence]


def test_an_invalid_run() -> None:
    artifact = assemble(a_run(k=2, state="finished"), trials(["auth", "auth"], ["pass", "pass"]))
    assert [str(line) for line in verdict_lines(artifact)] == [
        "verdict (point rule): FAIL - the run is invalid",
        "evidence: INVALID - more than a quarter of a cohort stayed void: 2 of 2 WITH trials (auth)",
    ]


def test_voids_that_may_have_made_the_difference() -> None:
    attempts = trials(["pass"] * 4 + ["quota"], ["fail"] * 3 + ["pass", "auth"])
    artifact = assemble(a_run(k=5, state="finished"), attempts)
    assert "the trials that were void may have made the difference" in str(verdict_lines(artifact)[1])


def test_an_artifact_of_the_first_format_has_one_line() -> None:
    artifact = Artifact.model_validate(first_format(reason="with 0.80 > without 0.40\x1b[2J"))
    assert [str(line) for line in verdict_lines(artifact)] == [
        "verdict (point rule): PASS - with 0.80 > without 0.40\\x1b[2J"
    ]


def test_a_decision_of_which_little_is_known() -> None:
    for verdict in ("keep", "cut", "inconclusive"):
        artifact = Artifact.model_validate(first_format(decision={"verdict": verdict}))
        assert str(verdict_lines(artifact)[1]).startswith(f"evidence: {verdict.upper()} - ")


@pytest.mark.parametrize(
    ("p", "chance", "equals"),
    [
        (0.00005, "fewer than 1 of 1000", "p < 0.0001"),
        (0.004, "4 of 1000", "p = 0.0040"),
        (0.0099, "10 of 1000", "p = 0.0099"),
        (0.031, "3 of 100", "p = 0.031"),
        (0.049999, "5 of 100", "p = 0.050"),
        (1.0, "100 of 100", "p = 1.000"),
    ],
)
def test_chances(p: float, chance: str, equals: str) -> None:
    assert (odds(p), p_equals(p)) == (chance, equals)

"""What a third cohort with a placebo adds to a verdict, and what it leaves as it is."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from kcut.commandline import words
from kcut.model.artifact import Artifact, TaskResult
from kcut.model.plan import TaskPlan
from kcut.model.trial import TrialRecord
from kcut.report import html, junit, markdown, table_csv, terminal
from kcut.report.cells import Cell
from kcut.soundness import look
from kcut.stats.exact import boschloo
from kcut.stats.intervals import newcombe
from kcut.verdict import assemble, early_invalid
from tests.records import a_run
from tests.test_verdict import counted, judged, trial


def third(outcomes: Sequence[str], **changes: Any) -> list[TrialRecord]:
    return [trial(pair, "placebo", outcome, position=2, **changes) for pair, outcome in enumerate(outcomes)]


def of(x: int, n: int, y: int, z: int) -> list[TrialRecord]:
    """x of n WITH, y of n WITHOUT, z of n PLACEBO passed."""
    return [*counted(x, n, y), *third(["pass"] * z + ["fail"] * (n - z))]


def test_it_decides_nothing() -> None:
    alone, _, _ = judged(counted(9, 10, 2))
    both, decision, warnings = judged(of(9, 10, 2, 1), control="placebo")
    assert both.placebo is not None
    assert decision.placebo is not None
    assert (both.placebo.successes, both.placebo.valid, both.placebo.k) == (1, 10, 10)
    assert decision.placebo.difference == pytest.approx(0.8)
    assert decision.placebo.interval == newcombe(9, 10, 1, 10)
    assert decision.placebo.p_value == boschloo(9, 10, 1, 10)
    assert "placebo-as-good" not in warnings
    plain = both.model_copy(update={"placebo": None, "decision": decision.model_copy(update={"placebo": None})})
    assert plain.model_copy(update={"trials": alone.trials}) == alone
    assert "placebo" not in alone.document()
    assert "placebo" not in alone.document()["decision"]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((10, 10, 2, 10), "helps as much: it may be the length or the attention and not the content; change what"),
        ((10, 10, 2, 8), r"do not show that it helps more than text of the same length; run again with --k \d+ to"),
        ((3, 5, 2, 2), "do not show that it helps more"),  # the point rule passes
    ],
)
def test_a_placebo_that_is_as_good_is_said(counts: tuple[int, int, int, int], said: str) -> None:
    _, decision, warnings = judged(of(*counts), control="placebo")
    warn = warnings["placebo-as-good"]
    x, n, _, z = counts
    assert decision.placebo is not None
    assert warn.evidence == {
        "with": f"{x}/{n}",
        "placebo": f"{z}/{n}",
        "difference": pytest.approx((x - z) / n),
        "interval": list(decision.placebo.interval or ()),
        "p": decision.placebo.p_value,
    }
    assert re.search(said, warn.advice)


def test_what_did_not_pass_is_not_held_against_a_placebo() -> None:
    for counts in ((2, 10, 5, 5), (5, 10, 5, 10)):
        assert "placebo-as-good" not in judged(of(*counts), control="placebo")[2]


def test_its_voids_and_its_manipulation_spoil_the_run() -> None:
    for outcomes, cause, note in (
        (["overloaded"] * 2 + ["pass"] * 3, "voids", "2 of 5 PLACEBO trials (overloaded)"),
        (["pass", "manipulation"] + ["pass"] * 3, "manipulation", "not as its placebo should be in 1 PLACEBO trial"),
    ):
        attempts = [*counted(5, 5, 0), *third(outcomes, attempt=3)]
        artifact, decision, warnings = judged(attempts, control="placebo", void_retries=2)
        assert decision.verdict == "invalid"
        assert warnings["invalid"].evidence == {"cause": cause}
        assert note in artifact.reason
        assert early_invalid(a_run(k=5, control="placebo").plan, attempts) == artifact.reason


def test_a_few_voids_are_counted() -> None:
    attempts = [*counted(10, 10, 0), *third(["quota", *["fail"] * 9])]
    artifact, decision, warnings = judged(attempts, control="placebo")
    assert decision.verdict == "keep"
    assert warnings["voids"].evidence == {"with": {}, "without": {}, "placebo": {"quota": 1}}
    assert warnings["voids"].advice.startswith("1 PLACEBO trial (quota 1) stayed void")
    assert artifact.placebo is not None
    assert artifact.placebo.voids == {"quota": 1}


def test_a_run_without_its_placebo_is_incomplete() -> None:
    _, _, warnings = judged(counted(5, 5, 0), control="placebo")
    assert warnings["invalid"].evidence == {"cause": "incomplete"}


def test_several_tasks_are_strata() -> None:
    tasks = tuple(TaskPlan(name=name, task="./run.sh", weight=weight) for name, weight in (("a", 1.0), ("b", 3.0)))
    attempts = [
        trial(pair, cohort, "pass" if passed else "fail")
        for pair in range(16)
        for cohort, passed in (("with", True), ("without", False), ("placebo", pair % 2 == 0))
    ]
    artifact, decision, _ = judged(attempts, k=8, control="placebo", tasks=tasks)
    assert artifact.placebo is not None
    assert decision.placebo is not None
    assert artifact.placebo.success_rate == 0.25  # task a passes, with a quarter of the weight
    assert decision.placebo.difference == 0.75
    assert decision.placebo.p_value is not None
    assert decision.placebo.p_value < 0.01
    assert all(isinstance(task, TaskResult) for task in artifact.tasks)


def artifact_of() -> Artifact:
    return assemble(a_run(k=10, control="placebo", state="finished"), of(10, 10, 2, 8))


def test_every_report_shows_it() -> None:
    artifact = artifact_of()
    line = "against the placebo: 10 of 10 against 8 of 10, +0.20"
    assert line in terminal.render(artifact)
    assert line in markdown.render(artifact).replace("\\", "")
    page = html.render([Cell(artifact)], library="")
    assert line in page
    assert page.count("<td>third") >= 1 or "third" in page
    for text in (terminal.render(artifact), markdown.render(artifact), page):
        assert "placebo-as-good" in text
    suite = junit.render([Cell(artifact)])
    assert 'name="placebo #9"' in suite
    assert '"kcut.placebo.successes" value="8"' in suite
    assert '"kcut.decision.placebo.difference"' in suite
    assert table_csv.render([Cell(artifact)]).count(",placebo,") == 10
    assert Artifact.model_validate(artifact.document()) == artifact


def test_the_command_that_asks_for_it_again() -> None:
    assert words(a_run(k=10, control="placebo").plan)[-2:] == ("--control", "placebo")
    assert "--control" not in words(a_run(k=10).plan)


def test_the_record_is_checked_with_it() -> None:
    found = look(a_run(k=10, control="placebo", state="finished"), of(10, 10, 2, 8))
    assert found.trials == 30
    assert "runs placebo" in found.tests
    assert "placebo-as-good" not in {warn.code for warn in found.warnings}, "it says what the verdict means"

"""The result as JUnit XML, for the test view of a pipeline. Pure.

A suite per benchmark. Its first test cases are the verdict lines, since that is what a pipeline's reader came for,
and test cases are what tools show: GitLab and most reporters of GitHub Actions show neither properties nor the names
of suites, Jenkins shows properties only where it is told to. A KEEP or PASS is a passed case, a CUT or FAIL a failed
one, INCONCLUSIVE is skipped (nothing failed, and nothing is shown), an invalid run is an error.

A case per trial follows. A void is skipped, with its reason; a trial that failed is a failure, with the exit codes
and never with the task's output. Trials WITHOUT the component may well fail, so let the exit code of kcut decide over
a job, as GitLab does, and not the number of failures (Jenkins: `skipMarkingBuildUnstable: true`). Names are stable
from run to run, as tools compare a case with its past, and unique, as GitLab shows only the first of several.

The properties hold rule, verdict, decision and rates for programs. Elements and attributes are those that Jenkins'
junit-10 schema knows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from xml.sax.saxutils import escape

from kcut.model.artifact import Artifact, PlaceboFinding, TrialRow
from kcut.rates import trials_of
from kcut.report.cells import Cell
from kcut.report.spread import in_order
from kcut.report.table import cohorts_of
from kcut.report.text import duration, money, plain
from kcut.report.words import Line, verdict_lines

#: Characters that XML cannot hold and `plain` lets through.
_NONE = re.compile("[\ufffe\uffff]")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_ENDS = {
    "PASS": None,
    "KEEP": None,
    "FAIL": "failure",
    "CUT": "failure",
    "INCONCLUSIVE": "skipped",
    "INVALID": "error",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A test case: its end is None if it passed, else the element that says how it ended."""

    name: str
    seconds: float = 0.0
    end: str | None = None
    kind: str = ""
    message: str = ""


def render(all_cells: Sequence[Cell]) -> str:
    """The document, with a newline at the end; all of it can be encoded as UTF-8."""
    suites = [(cell, list(_cases(cell))) for cell in all_cells]
    every = [case for _, cases in suites for case in cases]
    counts = {"tests": len(every), "failures": _ended(every, "failure"), "errors": _ended(every, "error")}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _open("testsuites", name="kcut", **counts, time=_total(every))]
    classes = _classes(all_cells)
    for (cell, cases), name in zip(suites, classes, strict=True):
        lines += _suite(cell, name, cases)
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _classes(all_cells: Sequence[Cell]) -> list[str]:
    """A name for each benchmark: its component's, with the run or a number where several have the same."""
    seen = Counter(cell.artifact.component for cell in all_cells)
    names: list[str] = []
    for number, cell in enumerate(all_cells, 1):
        name = cell.artifact.component
        if seen[name] > 1:
            name = f"{name} ({cell.artifact.run_id or cell.artifact.ts})"
        names.append(f"{name} ({number})" if name in names else name)
    return names


def _suite(cell: Cell, name: str, cases: Sequence[Case]) -> Iterator[str]:
    artifact = cell.artifact
    stamp = _TIME.match(artifact.ts)
    yield "  " + _open(
        "testsuite",
        name=name,
        tests=len(cases),
        failures=_ended(cases, "failure"),
        errors=_ended(cases, "error"),
        skipped=_ended(cases, "skipped"),
        time=_total(cases),
        **({"timestamp": stamp[0]} if stamp else {}),
    )
    yield "    <properties>"
    for key, value in _properties(cell):
        yield "      " + _empty("property", name=key, value=value)
    yield "    </properties>"
    for case in cases:
        about = {"classname": name, "name": case.name, "time": f"{case.seconds:.3f}"}
        if case.end is None:
            yield "    " + _empty("testcase", **about)
        else:
            yield "    " + _open("testcase", **about)
            yield "      " + _empty(case.end, type=case.kind, message=case.message)
            yield "    </testcase>"
    yield "  </testsuite>"


def _cases(cell: Cell) -> Iterator[Case]:
    artifact = cell.artifact
    return chain(
        map(_verdict, verdict_lines(artifact, min_gain=cell.min_gain)), map(_trial, in_order(artifact.trials))
    )


def _verdict(line: Line) -> Case:
    return Case(line.label, end=_ENDS[line.word], kind=line.word.lower(), message=str(line))


def _trial(row: TrialRow) -> Case:
    name = f"{row.cohort} #{row.pair}" if row.task is None else f"{row.task}, {row.cohort} #{row.pair}"
    seconds = row.wall_ms / 1000
    if row.outcome == "pass":
        return Case(name, seconds)
    exits = [
        f"{what} exit {code}"
        for what, code in (("task", row.task_exit), ("score", row.score_exit))
        if code is not None
    ]
    facts = [*exits, *(["the task ran into its time limit"] if row.timed_out else []), duration(row.wall_ms)]
    facts += [money(row.cost_usd)] if row.cost_usd is not None else []
    if row.outcome == "void":
        late = ", after work had been done" if row.late else ""
        return Case(name, seconds, "skipped", row.reason or "void", f"void: {row.reason}{late} ({', '.join(facts)})")
    return Case(name, seconds, "failure", "fail", ", ".join(facts))


def _properties(cell: Cell) -> Iterator[tuple[str, str]]:
    """What programs look for, as far as it is known."""
    artifact = cell.artifact
    facts: dict[str, object] = {
        "kcut.pass": str(artifact.pass_).lower(),
        "kcut.rule": artifact.rule,
        "kcut.reason": artifact.reason,
        "kcut.decision": cell.decision,
        "kcut.component": artifact.component,
        "kcut.k": artifact.k,
        "kcut.run": artifact.run_id,
        "kcut.base": artifact.base.commit if artifact.base else None,
        "kcut.seed": artifact.order.seed if artifact.order else None,
        "kcut.version": artifact.environment.kcut if artifact.environment else None,
    }
    for name, cohort in cohorts_of(artifact):
        facts |= {
            f"kcut.{name}.trials": trials_of(cohort),
            f"kcut.{name}.successes": cohort.successes,
            f"kcut.{name}.successRate": cohort.success_rate,
            f"kcut.{name}.costPerSuccess": cohort.cost_per_success,
        }
    facts |= _decision(artifact)
    yield from ((key, str(value)) for key, value in facts.items() if value is not None)


def _decision(artifact: Artifact) -> dict[str, object]:
    decision = artifact.decision
    if decision is None:
        return {}
    low, high = decision.interval or (None, None)
    return {
        "kcut.decision.method": decision.method,
        "kcut.decision.pValue": decision.p_value,
        "kcut.decision.difference": decision.difference,
        "kcut.decision.low": low,
        "kcut.decision.high": high,
        **_placebo(decision.placebo),
        "kcut.decision.warnings": " ".join(warn.code for warn in decision.warnings) or None,
    }


def _placebo(found: PlaceboFinding | None) -> dict[str, object]:
    if found is None:
        return {}
    low, high = found.interval or (None, None)
    return {
        "kcut.decision.placebo.pValue": found.p_value,
        "kcut.decision.placebo.difference": found.difference,
        "kcut.decision.placebo.low": low,
        "kcut.decision.placebo.high": high,
    }


def _ended(cases: Sequence[Case], end: str) -> int:
    return sum(case.end == end for case in cases)


def _total(cases: Sequence[Case]) -> str:
    return f"{sum(case.seconds for case in cases):.3f}"


def _open(_tag: str, **attributes: object) -> str:
    """An opening tag."""
    return f"<{_tag}" + "".join(f' {name}="{_attribute(str(value))}"' for name, value in attributes.items()) + ">"


def _empty(_tag: str, **attributes: object) -> str:
    """An element without content."""
    return _open(_tag, **attributes).removesuffix(">") + "/>"


def _attribute(text: str) -> str:
    """`text` as an attribute's value: what XML cannot hold, and what acts on a terminal, is shown as escapes."""
    shown = _NONE.sub(lambda match: f"\\u{ord(match[0]):04x}", plain(text))
    return escape(shown, {'"': "&quot;"})

"""The two verdict lines. They never say more than the numbers do. Pure."""

from dataclasses import dataclass

from kcut.decision import point_rule, rate_of, saturation, trials_of
from kcut.model.artifact import Artifact, Decision
from kcut.report.text import plain, signed


@dataclass(frozen=True, slots=True)
class Line:
    """One verdict line: `label: WORD - text`."""

    label: str
    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.label}: {self.word} - {self.text}"


def verdict_lines(artifact: Artifact, *, min_gain: str | None = None) -> tuple[Line, ...]:
    """The point rule's line and, where the artifact has a decision, the evidence line; free of control characters.

    `min_gain` is the run's, which an artifact decided by the evidence does not hold.
    """
    point = point_line(artifact, min_gain=min_gain)
    return (point,) if artifact.decision is None else (point, evidence_line(artifact, artifact.decision))


def point_line(artifact: Artifact, *, min_gain: str | None = None) -> Line:
    """`verdict (point rule): PASS - the success rate rose from 0.40 to 1.00`."""
    if artifact.decision is not None and artifact.decision.verdict == "invalid":
        passed, text = False, "the run is invalid"
    elif artifact.rule == "evidence":
        point = point_rule(artifact.with_, artifact.without, min_gain)
        passed, text = point.passed, point.reason
    else:
        passed, text = artifact.pass_, artifact.reason
    return Line("verdict (point rule)", "PASS" if passed else "FAIL", plain(text))


def evidence_line(artifact: Artifact, decision: Decision) -> Line:
    """`evidence: KEEP - a difference this large would appear by chance in 3 of 100 experiments ...`."""
    if decision.verdict == "invalid":
        text = plain(artifact.reason)
    else:
        parts = [_finding(artifact, decision), _interval(decision), _trials(artifact, decision)]
        text = "; ".join(part for part in parts if part)
    return Line("evidence", decision.verdict.upper(), text)


def _finding(artifact: Artifact, decision: Decision) -> str:
    """What the tests say, for the verdict they led to."""
    if decision.verdict == "cut":
        return _cut(decision)
    if decision.verdict == "inconclusive":
        full = saturation(artifact.with_, artifact.without)
        if full is not None:
            return f"all trials of both cohorts {full}, so the task cannot show a benefit"
        if (rate_of(artifact.with_) or 0) < (rate_of(artifact.without) or 0):
            return f"WITH passed less often than WITHOUT{_p(decision)}"
        if rate_of(artifact.with_) == rate_of(artifact.without):
            return f"no difference was seen{_p(decision)}"
        if any(warn.code == "void-imbalance" for warn in decision.warnings) and _significant(decision):
            return f"the trials that were void may have made the difference{_p(decision)}"
    return _by_chance(decision)


def _by_chance(decision: Decision) -> str:
    if decision.p_value is None:
        return "the success rate rose" if decision.verdict == "keep" else "the trials settle nothing"
    return f"a difference this large would appear by chance in {odds(decision.p_value)} experiments{_p(decision)}"


def _cut(decision: Decision) -> str:
    """A benefit of delta is ruled out; that is not to say that there is none."""
    worse = decision.difference is not None and decision.difference < 0
    text = "WITH passed less often than WITHOUT; " if worse else ""
    if decision.p_value_cut is None or decision.delta is None:
        return f"{text}the benefit asked for is ruled out"
    return (
        f"{text}a component that adds {decision.delta:.2f} would do so poorly in "
        f"{odds(decision.p_value_cut)} experiments ({p_equals(decision.p_value_cut)})"
    )


def _significant(decision: Decision) -> bool:
    return decision.p_value is not None and decision.alpha is not None and decision.p_value <= decision.alpha


def _p(decision: Decision) -> str:
    if decision.p_value is None:
        return ""
    name = "Boschloo " if decision.method == "boschloo" else ""
    return f" ({name}{p_equals(decision.p_value)})"


def p_equals(p: float) -> str:
    """`p = 0.031`, `p = 0.0040`, `p < 0.0001`."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.4f}" if p < 0.00995 else f"p = {p:.3f}"


def odds(p: float) -> str:
    """`3 of 100` for 0.031; of 1000 below 0.01, and never `0 of`."""
    if p >= 0.00995:
        return f"{round(100 * p)} of 100"
    if p >= 0.00095:
        return f"{round(1000 * p)} of 1000"
    return "fewer than 1 of 1000"


def _interval(decision: Decision) -> str:
    if decision.interval is None:
        return ""
    low, high = decision.interval
    return f"true gain between {signed(low)} and {signed(high)} (95 %)"


def _trials(artifact: Artifact, decision: Decision) -> str:
    """How many trials would show the gain, where more trials are what is missing."""
    needed = decision.needed_k
    enough = min(trials_of(artifact.with_), trials_of(artifact.without))
    if needed is None or needed <= enough or saturation(artifact.with_, artifact.without) is not None:
        return ""
    gain = max(decision.delta or 0.0, decision.difference or 0.0)
    return f"{needed} trials per cohort would show a gain of {gain:.2f} in 4 of 5 runs"

"""The two verdict lines. They never say more than the numbers do. Pure."""

from dataclasses import dataclass

from kcut.model.artifact import Artifact, CostFinding, Decision
from kcut.rates import point_rule, rates_of, saturation, trials_of
from kcut.report.text import count, plain, rate, signed
from kcut.stats.detectable import least_provable


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


def placebo_line(artifact: Artifact) -> str | None:
    """`against the placebo: 5 of 5 against 2 of 5, +0.60 (+0.03 - +0.88, 95 %); Boschloo p = 0.031`; None without
    one.
    """
    if artifact.placebo is None:
        return None
    found = artifact.decision.placebo if artifact.decision is not None else None
    both = " against ".join(
        f"{cohort.successes} of {trials_of(cohort)}" for cohort in (artifact.with_, artifact.placebo)
    )
    line = f"against the placebo: {both}"
    if found is None or found.difference is None or found.p_value is None:
        return line
    interval = "" if found.interval is None else f" ({signed(found.interval[0])} - {signed(found.interval[1])}, 95 %)"
    test = "Cochran-Mantel-Haenszel" if len(artifact.tasks) > 1 else "Boschloo"
    return f"{line}, {signed(found.difference)}{interval}; {test} {p_equals(found.p_value)}"


def point_line(artifact: Artifact, *, min_gain: str | None = None) -> Line:
    """`verdict (point rule): PASS - the success rate rose from 0.40 to 1.00`."""
    if artifact.decision is not None and artifact.decision.verdict == "invalid":
        passed, text = False, "the run is invalid"
    elif artifact.rule == "evidence":
        point = point_rule(artifact.with_, artifact.without, min_gain, artifact.tasks)
        passed, text = point.passed, point.reason
    else:
        passed, text = artifact.pass_, artifact.reason
    return Line("verdict (point rule)", "PASS" if passed else "FAIL", plain(text))


def evidence_line(artifact: Artifact, decision: Decision) -> Line:
    """`evidence: KEEP - 18 of 20 against 9 of 20, at least +0.16 (95 %); a difference this large ...`."""
    if decision.verdict == "invalid":
        parts = [plain(artifact.reason)]
    elif decision.objective == "cost":
        parts = [_savings(decision), _stopped(decision, artifact)]
    else:
        find = {"keep": _keep, "cut": _cut, "inconclusive": _open}[decision.verdict]
        parts = [*find(artifact, decision), _stopped(decision, artifact)]
    return Line("evidence", decision.verdict.upper(), "; ".join(part for part in parts if part))


def _keep(artifact: Artifact, decision: Decision) -> list[str]:
    """What was seen, and how much of it is certain."""
    seen = _seen(artifact)
    if decision.interval is not None and decision.interval[0] > 0:
        return [f"{seen}, at least {signed(decision.interval[0])} (95 %)", _by_chance(decision)]
    return [seen, _by_chance(decision), _interval(decision, "; the test asks for a gain only")]


def _cut(artifact: Artifact, decision: Decision) -> list[str]:
    """A benefit of delta is ruled out; that is not to say that there is none."""
    delta = "the size asked for" if decision.delta is None else f"{_points(decision.delta)} points"
    parts = [f"a benefit of {delta} or more is ruled out ({_seen(artifact)})"]
    if decision.p_value_cut is not None and decision.delta is not None:
        parts.append(
            f"a component that adds {decision.delta:.2f} would do so poorly in "
            f"{odds(decision.p_value_cut)} experiments ({p_equals(decision.p_value_cut)})"
        )
    elif decision.beta is not None:
        parts.append(f"a component that adds as much is cut so in at most {odds(decision.beta)} runs")
    above = decision.interval is not None and decision.delta is not None and decision.interval[1] > decision.delta
    return [*parts, _interval(decision, "; the test is at 10 %" * above)]


def _open(artifact: Artifact, decision: Decision) -> list[str]:
    """What the trials could not show, and how many would."""
    full = saturation(artifact.with_, artifact.without)
    if full is not None:
        return [f"all trials of both cohorts {full}, so the task cannot show a benefit", _interval(decision)]
    if any(warn.code == "void-imbalance" for warn in decision.warnings) and _significant(decision):
        return [f"the trials that were void may have made the difference{_p(decision)}", _interval(decision)]
    on, off = rates_of(artifact.with_, artifact.without, artifact.tasks)
    seen = ""
    if on is not None and off is not None and on <= off:
        seen = f"no difference was seen{_p(decision)}" if on == off else f"WITH passed less often{_p(decision)}"
    return [_limit(artifact, decision), seen or _by_chance(decision), _interval(decision)]


def _limit(artifact: Artifact, decision: Decision) -> str:
    """`5 trials a cohort cannot show less than +0.60; 19 would show +0.40 in 4 of 5 runs`."""
    needed = decision.needed_k
    gain = max(decision.delta or 0.0, decision.difference or 0.0)
    if decision.method == "boschloo":
        valid = min(trials_of(artifact.with_), trials_of(artifact.without))
        least = least_provable(valid, valid, decision.alpha or 0.05)
        text = f"{count(valid, 'trial')} a cohort cannot show {f'less than {signed(least)}' if least else 'anything'}"
        enough, what = valid, ""
    elif decision.method == "cmh":
        enough = min(min(trials_of(task.with_), trials_of(task.without)) for task in artifact.tasks)
        text, what = f"{count(enough, 'trial')} a task and cohort leave it open", " a task"
    else:
        enough = decision.pairs or 0
        text, what = f"{count(enough, 'pair')} leave it open", ""
        enough = max(enough, artifact.max_k or 0)
    if needed is None or needed <= enough:
        return text
    return f"{text}; {needed}{what} would show {signed(gain)} in 4 of 5 runs"


def _seen(artifact: Artifact) -> str:
    """`18 of 20 against 9 of 20`; of several tasks their mean rates."""
    if artifact.tasks:
        on, off = rates_of(artifact.with_, artifact.without, artifact.tasks)
        if on is not None and off is not None:
            means = f"{rate(float(on))} against {rate(float(off))}"
            return f"a mean rate of {means} over {count(len(artifact.tasks), 'task')}"
    cohorts = (artifact.with_, artifact.without)
    return " against ".join(f"{cohort.successes} of {trials_of(cohort)}" for cohort in cohorts)


def _points(delta: float) -> str:
    return f"{100 * delta:.10g}"


def _stopped(decision: Decision, artifact: Artifact) -> str:
    """After how many pairs it was clear, and what was running then."""
    if decision.method not in {"sequential", "eprocess"} or decision.verdict == "inconclusive":
        return ""
    cap = f" of at most {artifact.max_k}" if artifact.max_k else ""
    late = f" ({count(decision.after or 0, 'trial')} that ran on {'does' if decision.after == 1 else 'do'} not count)"
    return f"clear after {count(artifact.k, 'pair')}{cap}{late if decision.after else ''}"


def _savings(decision: Decision) -> str:
    """Success no worse, and at what cost."""
    cost = decision.cost or CostFinding()
    margin = "the margin" if cost.margin is None else f"{_points(cost.margin)} points"
    fall = f"success falls by less than {margin}"
    success = fall if cost.non_inferior else f"the trials do not show that {fall}"
    if cost.ratio is None:
        return f"{success}; the costs are not known"
    text = f"WITH costs {cost.ratio:.2f} times as much"
    if cost.upper is not None and cost.upper < 1:
        text += f", at most {_ratio(cost.upper)} times (95 %)"
    elif cost.interval is not None and cost.coverage is not None:
        low, high = cost.interval
        text += f", between {_ratio(low)} and {_ratio(high)} times ({100 * cost.coverage:.0f} %)"
    return f"{text}; {success}"


def _ratio(value: float) -> str:
    """Two digits, more where two would claim exactly 1."""
    text = f"{value:.2f}"
    return text if text != "1.00" or value == 1 else f"{value:.4f}"


def _by_chance(decision: Decision) -> str:
    if decision.p_value is None:
        return ""
    return f"a difference this large would appear by chance in {odds(decision.p_value)} experiments{_p(decision)}"


def _significant(decision: Decision) -> bool:
    return decision.p_value is not None and decision.alpha is not None and decision.p_value <= decision.alpha


def _p(decision: Decision) -> str:
    if decision.p_value is None:
        return ""
    name = {"boschloo": "Boschloo ", "cmh": "Cochran-Mantel-Haenszel "}.get(decision.method or "", "")
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


def _interval(decision: Decision, remark: str = "") -> str:
    """The two-sided interval; `remark` says why the test, which is one-sided, can be surer than it."""
    if decision.interval is None:
        return ""
    low, high = decision.interval
    return f"true gain between {signed(low)} and {signed(high)} (95 %{remark})"

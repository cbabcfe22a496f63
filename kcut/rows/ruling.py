"""What the cells say: each by itself, and the tasks of one agent and model together. Never across models. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, fsum, log
from typing import Any, Literal

from kcut.decision import VoidBalance, by_cost, needed_for
from kcut.model.artifact import CohortSummary, CostFinding, Decision, TaskResult, Verdict, Warn
from kcut.rates import point_rule, rate_of, rates_of, saturation
from kcut.rows.advice import of_cell, of_strata
from kcut.rows.cells import Cell, Key, Sample, known, merged, summary_of
from kcut.stats.cmh import cmh_exact_one_sided
from kcut.stats.cost import cost_ratio
from kcut.stats.exact import fisher_two_sided
from kcut.stats.intervals import newcombe
from kcut.stats.settled import Table, below, gains, proves
from kcut.summary import averaged, gain_of

#: p-values are computed, and not only compared with their level, for one table or while the squared numbers of
#: trials of all different ones come to no more than this: 15 tables of 50 against 50, 375 of 10 against 10.
COMPUTED = 150_000
#: How many trials would settle it is computed for so many open cells at most, and not at all if there are many.
PLANNED, FEW = 12, 50


@dataclass(frozen=True, slots=True)
class Levels:
    """How sure a verdict has to be, and which of two rules says whether it passes."""

    alpha: float = 0.05
    delta: float = 0.20
    beta: float = 0.10
    objective: Literal["success", "cost"] = "success"
    margin: float = 0.10
    rule: Literal["point", "evidence"] = "evidence"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision on a cell or, where `tasks` names several, on these tasks of one agent and model."""

    key: Key
    with_: CohortSummary
    without: CohortSummary
    decision: Decision
    cost: CostFinding | None
    passed: bool
    reason: str
    tasks: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """keep, cut, inconclusive or invalid."""
        return self.decision.verdict


@dataclass(frozen=True, slots=True)
class Rulings:
    """All cells, and all sets of several tasks of one agent and model."""

    cells: tuple[Ruling, ...]
    strata: tuple[Ruling, ...]


def rule(cells: Sequence[Cell], levels: Levels) -> Rulings:
    """Decide every cell, and every agent and model over its tasks as strata."""
    judge = _Judge(levels, [_table(cell.on, cell.off) for cell in cells])
    found = [judge.cell(cell) for cell in cells]
    groups: dict[tuple[str | None, str | None], list[tuple[Cell, Ruling]]] = {}
    for cell, ruling in zip(cells, found, strict=True):
        if ruling.verdict != "invalid":
            groups.setdefault(cell.key[:2], []).append((cell, ruling))
    if levels.objective == "cost":  # what tasks cost is compared task by task
        groups.clear()
    several = [judge.strata(group) for group in groups.values() if len(group) > 1]
    return Rulings(tuple(found), tuple(several))


def _table(on: Sample, off: Sample) -> Table:
    return on.passed, on.valid, off.passed, off.valid


class _Judge:
    """The tests of one command, which remember what they found."""

    def __init__(self, levels: Levels, tables: Sequence[Table]) -> None:
        self._levels = levels
        self._gains = gains(levels.alpha)
        self._below = below(levels.delta, levels.beta)
        self._worse = below(levels.margin, levels.alpha)
        different = {table for table in tables if table[1] and table[3]}
        self._computed = len(different) == 1 or sum((n1 + n2) ** 2 for _, n1, _, n2 in different) <= COMPUTED
        self._planned = PLANNED if len(tables) <= FEW else 0
        if not self._computed:
            self._gains.settle(different)
            if levels.objective == "success":
                self._below.settle(table for table in different if not self._gains.holds(table))

    def cell(self, cell: Cell) -> Ruling:
        """One cell by itself."""
        on, off = summary_of(cell.on), summary_of(cell.off)
        invalid = _invalid(cell)
        if invalid is not None:
            decision = Decision(
                verdict="invalid", alpha=self._levels.alpha, delta=self._levels.delta, warnings=(invalid[1],)
            )
            return Ruling(cell.key, on, off, decision, None, passed=False, reason=invalid[0])
        table = _table(cell.on, cell.off)
        cost = self._cost(cell.on, cell.off, lambda: self._worse.holds((*table[2:], *table[:2])))
        shown = self._computed
        decision = self._decided(
            Decision(
                verdict="inconclusive",
                method="boschloo",
                p_value=self._gains.p(table) if shown else None,
                p_value_cut=self._below.p(table) if shown else None,
                difference=float((rate_of(on) or 0) - (rate_of(off) or 0)),
                interval=newcombe(*table),
                pairs=len(cell.on.pairs & cell.off.pairs),
            ),
            gain=lambda: self._gains.holds(table),
            cut=lambda: self._below.holds(table),
            cost=cost,
        )
        balance = _balance(
            [(cell.on, cell.off)], lambda: self._good_enough(table), lambda worst: self._good_enough(worst[0])
        )
        decision = self._settled(decision, balance, on, off, ())
        point = point_rule(on, off)
        decision = decision.model_copy(
            update={
                "warnings": tuple(
                    of_cell(cell, on, off, decision=decision, balance=balance, point=point, rule=self._levels.rule)
                )
            }
        )
        return self._ruled(Ruling(cell.key, on, off, decision, cost, point.passed, point.reason))

    def _good_enough(self, table: Table) -> bool:
        """Whether success is what a KEEP takes: more of it, or, where costs are compared, no less by the margin."""
        if self._levels.objective == "cost":
            return self._worse.holds((*table[2:], *table[:2]))
        return self._gains.holds(table)

    def strata(self, group: Sequence[tuple[Cell, Ruling]]) -> Ruling:
        """The tasks of one agent and model: each counts alike, and none is mixed with another."""
        results = [_task(ruling) for _, ruling in group]
        samples = [(cell.on, cell.off) for cell, _ in group]
        tables = [_table(*pair) for pair in samples]
        all_on, all_off = (merged(side) for side in zip(*samples, strict=True))
        on = averaged(summary_of(all_on), [(1.0, result.with_) for result in results])
        off = averaged(summary_of(all_off), [(1.0, result.without) for result in results])
        alike = pooled(tables)
        cost = _mean_ratio([ruling.cost for _, ruling in group])
        p = cmh_exact_one_sided(tables)
        difference, interval = gain_of(results)
        decision = self._decided(
            Decision(
                verdict="inconclusive",
                method="cmh",
                p_value=p,
                p_value_cut=self._below.p(alike) if self._computed else None,
                difference=difference,
                interval=interval,
                pairs=sum(len(on.pairs & off.pairs) for on, off in samples),
            ),
            gain=lambda: proves(p, self._levels.alpha),
            cut=lambda: self._below.holds(alike),
            cost=cost,
        )
        balance = _balance(
            samples,
            lambda: proves(p, self._levels.alpha),
            lambda worst: proves(cmh_exact_one_sided(worst), self._levels.alpha),
        )
        decision = self._settled(decision, balance, on, off, results)
        point = point_rule(on, off, None, results)
        warnings = tuple(of_strata(on, off, decision=decision, balance=balance, tasks=results))
        decision = decision.model_copy(update={"warnings": warnings})
        names = tuple(result.name for result in results)
        key = (*group[0][0].key[:2], "")
        return self._ruled(Ruling(key, on, off, decision, cost, point.passed, point.reason, names))

    def _ruled(self, ruling: Ruling) -> Ruling:
        """Passed by the rule in force; as it comes, by the point rule."""
        return replace(ruling, passed=ruling.verdict == "keep") if self._levels.rule == "evidence" else ruling

    def _decided(self, found: Decision, *, gain: Any, cut: Any, cost: CostFinding | None) -> Decision:
        """With the verdict of the tests, before voids and saturation are looked at."""
        levels = self._levels
        verdict: Verdict = "inconclusive"
        if levels.objective == "cost":
            verdict = "inconclusive" if cost is None else by_cost(cost)
        elif gain():
            verdict = "keep"
        elif cut():
            verdict = "cut"
        update: dict[str, Any] = {"verdict": verdict, "alpha": levels.alpha, "delta": levels.delta}
        if levels.objective == "cost":
            update |= {"objective": "cost", "cost": cost}
        return found.model_copy(update=update)

    def _settled(
        self,
        decision: Decision,
        balance: VoidBalance,
        on: CohortSummary,
        off: CohortSummary,
        tasks: Sequence[TaskResult],
    ) -> Decision:
        """Open after all where voids, or a task that nothing can fail or pass, could have made the difference."""
        verdict = decision.verdict
        saturated = self._levels.objective == "success" and saturation(on, off) is not None
        if (verdict == "keep" and balance.upset) or (verdict == "cut" and saturated):
            verdict = "inconclusive"
        needed = None
        if verdict == "inconclusive" and self._levels.objective == "success" and self._planned:
            self._planned -= 1
            needed = self._needed(on, off, tasks)
        return decision.model_copy(update={"verdict": verdict, "needed_k": needed})

    def _needed(self, on: CohortSummary, off: CohortSummary, tasks: Sequence[TaskResult]) -> int | None:
        """The trials per cohort (and task) that would show the gain seen, or delta if that is larger."""
        rate_on, rate_off = rates_of(on, off, tasks)
        levels = self._levels
        needed = needed_for(rate_on or Fraction(0), rate_off or Fraction(0), alpha=levels.alpha, delta=levels.delta)
        return None if needed is None else -(-needed // max(1, len(tasks)))

    def _cost(self, on: Sample, off: Sample, no_worse: Any) -> CostFinding | None:
        """The ratio of the costs WITH over WITHOUT; None if they are not known and nobody asked for them."""
        asked = self._levels.objective == "cost"
        first, second = known(on.costs), known(off.costs)
        ratio = None if first is None or second is None else cost_ratio(first, second, level=1 - self._levels.alpha)
        if ratio is None and not asked:
            return None
        finding = CostFinding()
        if ratio is not None:
            finding = CostFinding(
                ratio=ratio.ratio,
                interval=None if ratio.low is None or ratio.high is None else (ratio.low, ratio.high),
                coverage=ratio.coverage,
                lower=ratio.lower,
                upper=ratio.upper,
            )
        if asked:
            finding = finding.model_copy(update={"margin": self._levels.margin, "non_inferior": no_worse()})
        return finding


def _mean_ratio(costs: Sequence[CostFinding | None]) -> CostFinding | None:
    """The geometric mean of the tasks' ratios, without an interval; None if one is not known."""
    ratios = [cost.ratio for cost in costs if cost is not None and cost.ratio is not None]
    return CostFinding(ratio=exp(fsum(map(log, ratios)) / len(ratios))) if len(ratios) == len(costs) else None


def _invalid(cell: Cell) -> tuple[str, Warn] | None:
    """Why a cell can carry no verdict: a cohort without a valid trial, or one that was not what it should be."""
    for name, sample in (("WITH", cell.on), ("WITHOUT", cell.off)):
        reasons = ", ".join(f"{reason} {times}" for reason, times in sorted(sample.voids.items()))
        if not sample.trials:
            note, cause = f"there is no trial {name}", "no-trial"
            advice = f"{note}: record trials of both cohorts, or leave out the rows of the other"
        elif not sample.valid:
            note, cause = f"no trial {name} is valid (void: {reasons})", "no-valid-trial"
            advice = f"no trial {name} is valid: mend what made them void, then record them again"
        elif sample.voids["manipulation"]:
            note, cause = f"trials {name} were not of that cohort (void: {reasons})", "manipulation"
            advice = f"trials {name} were not of that cohort: check how the task switches the component"
        else:
            continue
        evidence = {"cause": cause, "cohort": name.lower(), "voids": dict(sorted(sample.voids.items()))}
        return note, Warn(code="invalid", evidence=evidence, advice=advice)
    return None


def _balance(pairs: Sequence[tuple[Sample, Sample]], keeps: Any, keeps_still: Any) -> VoidBalance:
    """How void attempts are spread, and whether a KEEP would stand if every void trial had gone against it."""
    hit_on, hit_off = sum(on.hit for on, _ in pairs), sum(off.hit for _, off in pairs)
    ran_on, ran_off = sum(on.trials for on, _ in pairs), sum(off.trials for _, off in pairs)
    if not hit_on and not hit_off:
        return VoidBalance(0, 0, 1.0, flips=False)
    p = fisher_two_sided(hit_on, ran_on, hit_off, ran_off)
    stayed = any(sample.void for pair in pairs for sample in pair)
    worst = [(on.passed, on.trials, off.passed + off.void, off.trials) for on, off in pairs]
    return VoidBalance(hit_on, hit_off, p, flips=stayed and keeps() and not keeps_still(worst))


def pooled(tables: Iterable[Table]) -> Table:
    """One table of several tasks in which each counts alike in both cohorts.

    If each task gained at least delta, so did their mean, and trials of tasks that differ spread less than as many of
    one with the mean rate (Hoeffding 1956): the test of one table errs on the side of not cutting. Where a task has
    more trials of one cohort, those above the number of the other are left out that speak most for cutting: failures
    WITH are, and passes WITHOUT, so that this, too, only makes a CUT harder.
    """
    sums = [0, 0, 0, 0]
    for x1, n1, x2, n2 in tables:
        n = min(n1, n2)
        alike = (min(x1, n), n, max(0, x2 - (n2 - n)), n)
        sums = [total + count for total, count in zip(sums, alike, strict=True)]
    return sums[0], sums[1], sums[2], sums[3]


def _task(ruling: Ruling) -> TaskResult:
    name = ruling.key[2]
    cohorts: dict[str, Any] = {"with": ruling.with_}  # no name that Python would take
    return TaskResult(
        name=name,
        weight=1.0,
        task=name,
        without=ruling.without,
        difference=ruling.decision.difference,
        interval=ruling.decision.interval,
        **cohorts,
    )


def passes(rulings: Rulings) -> bool:
    """True if every cell passes by its rule."""
    return all(ruling.passed for ruling in rulings.cells)

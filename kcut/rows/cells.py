"""From tables to cells, one for each agent, model and task, and to what each of their cohorts did. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum

from kcut.model.artifact import CohortSummary
from kcut.model.errors import UsageFault
from kcut.model.outcome import SIDES, Cohort
from kcut.rows.columns import shown
from kcut.rows.table import NAMES, CohortNames, Table
from kcut.stats.estimators import median, pass_at_k, pass_hat_k
from kcut.stats.intervals import wilson

#: Agent, model and task; None where the rows do not say.
Key = tuple[str | None, str | None, str]


@dataclass(slots=True)
class Sample:
    """The trials of one cohort. Lists hold a value for each valid trial, None where it is unknown.

    `hit` counts trials with a void attempt, `attempts` the void ones; `voids` the trials that stayed void by reason.
    """

    passed: int = 0
    valid: int = 0
    voids: Counter[str] = field(default_factory=Counter)
    hit: int = 0
    attempts: int = 0
    costs: list[float | None] = field(default_factory=list)
    walls: list[float | None] = field(default_factory=list)
    turns: list[float | None] = field(default_factory=list)
    tokens: list[float | None] = field(default_factory=list)
    void_costs: list[float | None] = field(default_factory=list)
    pairs: set[tuple[int, str]] = field(default_factory=set)
    settings: Counter[str] = field(default_factory=Counter)

    @property
    def void(self) -> int:
        """How many trials stayed void."""
        return self.voids.total()

    @property
    def trials(self) -> int:
        """All trials, void ones too."""
        return self.valid + self.void


@dataclass(slots=True)
class Cell:
    """The trials of one agent, model and task."""

    key: Key
    on: Sample = field(default_factory=Sample)
    off: Sample = field(default_factory=Sample)

    def of(self, cohort: Cohort) -> Sample:
        """One of the two cohorts."""
        return self.on if cohort is Cohort.WITH else self.off


def cells_of(tables: Sequence[Table], cohorts: CohortNames) -> list[Cell]:
    """The cells by agent, model and task, whatever the order of the rows.

    UsageFault if there is no row of one of the cohorts at all, or a trial is there twice.
    """
    cells: dict[Key, Cell] = {}
    for table in tables:
        voids = any(reason is not None for reason in table.void)
        trials: dict[tuple[Key, Cohort, str], list[int]] = {}
        groups: dict[tuple[Key, Cohort | None], list[int]] = {}
        keys = zip(zip(table.cli, table.model, table.task, strict=True), table.cohort, strict=True)
        for row, group in enumerate(keys):
            groups.setdefault(group, []).append(row)
        for (key, cohort), rows in groups.items():
            if cohort is None:
                continue
            sample = cells.setdefault(key, Cell(key)).of(cohort)
            alone = []
            for row in rows:
                pair = table.pair[row]
                if pair is None:
                    alone.append(row)
                else:
                    trials.setdefault((key, cohort, pair), []).append(row)
            _add(sample, table, alone, voids=voids)
        for (key, cohort, pair), rows in trials.items():
            _add_trial(cells[key].of(cohort), table, pair, rows)
    _both(cells.values(), tables, cohorts)
    return sorted(cells.values(), key=lambda cell: tuple((part is not None, part or "") for part in cell.key))


def _add(sample: Sample, table: Table, rows: Sequence[int], *, voids: bool = True) -> None:
    """Trials of one attempt each; `voids` is False if none of the table is void."""
    valid = rows
    if voids:
        valid = [row for row in rows if table.void[row] is None]
        void = [row for row in rows if table.void[row] is not None]
        sample.voids.update(str(table.void[row]) for row in void)
        sample.hit += len(void)
        sample.attempts += len(void)
        sample.void_costs += [table.cost[row] for row in void]
    sample.valid += len(valid)
    sample.passed += sum([table.passed[row] for row in valid])
    sample.costs += [table.cost[row] for row in valid]
    sample.walls += [table.wall[row] for row in valid]
    sample.turns += [table.turns[row] for row in valid]
    sample.tokens += [table.tokens[row] for row in valid]
    if table.retried:
        again = sum(table.retried[row] for row in valid)
        sample.hit += again
        sample.attempts += again
    if table.setting:
        sample.settings.update(setting for row in valid if (setting := table.setting[row]) is not None)


def _add_trial(sample: Sample, table: Table, pair: str, rows: Sequence[int]) -> None:
    """The attempts at one trial of a pair: at most one is valid, the others were void and were run again."""
    valid = [row for row in rows if table.void[row] is None]
    void = [row for row in rows if table.void[row] is not None]
    if len(valid) > 1:
        other = table.place(valid[0]).rpartition(", ")[2]
        raise UsageFault(
            f"{table.place(valid[1])}: that trial of pair {shown(pair)} is there already ({other})",
            remedy="leave out what was recorded twice; a pair is one trial with and one without",
        )
    _add(sample, table, valid)
    sample.attempts += len(void)
    sample.void_costs += [table.cost[row] for row in void]
    if valid:
        sample.pairs.add((id(table), pair))
        sample.hit += bool(void) and not (table.retried and table.retried[valid[0]])
    else:
        sample.voids[min(str(table.void[row]) for row in void)] += 1
        sample.hit += 1


def _both(cells: Iterable[Cell], tables: Sequence[Table], cohorts: CohortNames) -> None:
    """UsageFault unless both cohorts are somewhere."""
    for cohort in SIDES:
        if not any(cell.of(cohort).trials for cell in cells):
            name = cohorts.with_ if cohort is Cohort.WITH else cohorts.without
            looked = shown(name) if name is not None else "/".join(word for word in NAMES[cohort] if "." not in word)
            seen = list(dict.fromkeys(value for table in tables for value in table.seen))
            listed = ", ".join(map(shown, sorted(seen)[:6])) + (" ..." if len(seen) > 6 else "")
            raise UsageFault(
                f"no row is of the cohort {cohort.value} ({looked}); there are {listed}",
                remedy="name the two cohorts: --with VALUE --without VALUE",
            )


def merged(samples: Iterable[Sample]) -> Sample:
    """The trials of several samples as one."""
    total = Sample()
    for sample in samples:
        total.passed += sample.passed
        total.valid += sample.valid
        total.voids += sample.voids
        total.hit += sample.hit
        total.attempts += sample.attempts
        for name in ("costs", "walls", "turns", "tokens", "void_costs"):
            getattr(total, name).extend(getattr(sample, name))
    return total


def summary_of(sample: Sample) -> CohortSummary:
    """One cohort as an artifact has it; how many trials were planned is not known, so `k` counts all that there are.

    Sums and medians are over the valid trials, and None as soon as one of them is unknown.
    """
    n, c, k = sample.valid, sample.passed, sample.trials
    costs = known(sample.costs)
    total = fsum(costs) if costs else None
    void_costs = known(sample.void_costs)
    return CohortSummary(
        k=k,
        valid=n,
        successes=c,
        pass_at=c >= 1,
        pass_caret=k == n == c and k > 0,
        success_rate=c / n if n else None,
        rate_interval=wilson(c, n),
        pass_at_k=pass_at_k(n, c, k) if k else None,
        pass_hat_k=pass_hat_k(n, c, k) if k else None,
        total_cost_usd=total,
        mean_cost_per_trial=None if total is None else total / n,
        cost_per_success=total / c if total is not None and c else None,
        median_wall_ms=_median(sample.walls),
        median_turns=_median(sample.turns),
        median_cost_usd=_median(sample.costs),
        median_tokens=_median(sample.tokens),
        voids=dict(sorted(sample.voids.items())),
        void_attempts=sample.attempts,
        void_cost_usd=0.0 if not sample.void_costs else None if void_costs is None else fsum(void_costs),
    )


def known(values: Sequence[float | None]) -> list[float] | None:
    """The values if there are any and all are known, else None."""
    found = [value for value in values if value is not None]
    return found if found and len(found) == len(values) else None


def _median(values: Sequence[float | None]) -> float | None:
    found = known(values)
    return None if found is None else median(found)

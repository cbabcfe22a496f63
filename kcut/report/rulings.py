"""Decisions on recorded trials as a terminal shows them: a row per cell, warnings once, an overall line. Pure."""

from collections.abc import Sequence
from textwrap import wrap

from kcut.model.artifact import Artifact, CohortSummary, CostFinding
from kcut.report.terminal import COLORS, RESET
from kcut.report.text import UNKNOWN, count, duration, money, pad, plain, rate, shorten, signed
from kcut.report.text import width as text_width
from kcut.report.words import verdict_lines
from kcut.rows.ruling import Ruling, Rulings

#: So many warnings are printed; the others are in the JSON document.
WARNINGS = 12
#: Names are cut rather than given a line of their own where this much of them fits.
_ENOUGH = 24
_INDENT = "  "
#: The column of void trials, which is there only if there are any.
_VOID = 2


def render(
    found: Rulings,
    decision: str,
    *,
    rose: bool | None = None,
    color: bool = False,
    width: int = 80,
    verbose: bool = False,
) -> str:
    """The table, the warnings and the overall decision. Text from outside is neutralised.

    `rose` is whether all cells pass by the point rule, where that is the rule in force: it has the last line then.
    Nothing but the verdict lines of a single cell is wider than `width`. `verbose` adds voids and medians.
    """
    lines = [*_tables(found, color=color, width=width, verbose=verbose), ""]
    if len(found.cells) == 1:
        lines += _sentences(found.cells[0], color=color)
    lines += _warnings(found, color=color, width=width)
    if len(found.cells) > 1:
        evidence = f"{_paint(decision.upper(), color)} ({_tally(found.cells)})"
        lines.append(f"overall: {evidence}" if rose is None else f"evidence: {evidence}")
        if rose is not None:
            risen = f"the rate rose in {sum(cell.passed for cell in found.cells)} of {len(found.cells)} cells"
            lines.append(f"overall (point rule): {_paint('PASS' if rose else 'FAIL', color)} - {risen}")
    return "\n".join(lines) + "\n"


def label(ruling: Ruling) -> str:
    """`claude sonnet t12`, as far as the rows say; control characters neutralised."""
    cli, model, task = ruling.key
    return " ".join(plain(part) for part in (cli, model, task or f"all {len(ruling.tasks)} tasks") if part)


def _tables(found: Rulings, *, color: bool, width: int, verbose: bool) -> list[str]:
    heads = ["with", "without", "void", "gain (95 %)", "cost ratio", "evidence"]
    groups: dict[tuple[str | None, str | None], list[Ruling]] = {}
    for ruling in (*found.cells, *found.strata):
        groups.setdefault(ruling.key[:2], []).append(ruling)
    rows = {id(ruling): _row(ruling) for group in groups.values() for ruling in group}
    if not any(row[_VOID] for row in rows.values()):
        for row in (heads, *rows.values()):
            del row[_VOID]
    sizes = [max(map(text_width, column)) for column in zip(heads, *rows.values(), strict=True)]
    room = width - sum(sizes) - 2 * len(sizes)
    longest = max(text_width(_name(ruling)) for group in groups.values() for ruling in group)
    own_line = longest > room and room < _ENOUGH
    first = len(_INDENT) if own_line else max(len("task"), min(longest, room))
    lines = [_line("" if own_line else "task", heads, first, sizes, color=False)]
    for (cli, model), group in groups.items():
        named = " ".join(part for part in (cli, model) if part)
        if named:
            lines.append(shorten(named, width))
        for ruling in group:
            name = shorten(_name(ruling), width if own_line else first)
            if own_line:
                lines.append(name)
            lines.append(_line("" if own_line else name, rows[id(ruling)], first, sizes, color=color))
            if verbose:
                lines += [_medians("with", ruling.with_), _medians("without", ruling.without)]
    return lines


def _name(ruling: Ruling) -> str:
    return f"= {len(ruling.tasks)} tasks" if ruling.tasks else plain(ruling.key[2])


def _row(ruling: Ruling) -> list[str]:
    return [
        _passed(ruling.with_),
        _passed(ruling.without),
        _void(ruling),
        _gain(ruling),
        _ratio(ruling.cost),
        ruling.verdict.upper(),
    ]


def _line(name: str, row: Sequence[str], first: int, sizes: Sequence[int], *, color: bool) -> str:
    cells = [pad(name, first)]
    for index, (cell, size) in enumerate(zip(row, sizes, strict=True)):
        cells.append(" " * (size - text_width(cell)) + cell if index < 2 else pad(cell, size))
    text = "  ".join(cells).rstrip()
    return text.removesuffix(row[-1]) + _paint(row[-1], color) if color else text


def _passed(cohort: CohortSummary) -> str:
    """`5/7`: of 7 valid trials 5 passed."""
    return f"{cohort.successes}/{cohort.valid}"


def _void(ruling: Ruling) -> str:
    """`3 1`: 3 trials with and 1 without are void; empty if none is."""
    with_, without = (sum(cohort.voids.values()) for cohort in (ruling.with_, ruling.without))
    return f"{with_} {without}" if with_ or without else ""


def _gain(ruling: Ruling) -> str:
    decision = ruling.decision
    if decision.difference is None or decision.interval is None:
        return signed(decision.difference)
    low, high = decision.interval
    return f"{signed(decision.difference)} ({signed(low)}, {signed(high)})"


def _ratio(cost: CostFinding | None) -> str:
    if cost is None or cost.ratio is None:
        return UNKNOWN
    text = _digits(cost.ratio)
    if cost.interval is None:
        return text
    low, high = cost.interval
    return f"{text} ({_digits(low)}-{_digits(high)})"


def _digits(value: float) -> str:
    """Two digits, more where two would claim exactly 1, fewer where the number is large."""
    if value >= 100 or value < 0.005:
        return f"{value:.2g}"
    text = f"{value:.2f}"
    return f"{value:.4f}" if text == "1.00" and value != 1 else text


def _medians(name: str, cohort: CohortSummary) -> str:
    parts = [
        f"cost {money(cohort.median_cost_usd)}",
        f"time {duration(cohort.median_wall_ms)}",
        f"turns {UNKNOWN if cohort.median_turns is None else f'{cohort.median_turns:g}'}",
        f"void {sum(cohort.voids.values())}",
    ]
    return f"    {name:<7}  rate {rate(cohort.success_rate)}   median {'   '.join(parts)}"


def _sentences(ruling: Ruling, *, color: bool) -> list[str]:
    """The verdict lines of a single cell, as a benchmark has them."""
    cohorts = {"with": ruling.with_}  # no name that Python would take
    artifact = Artifact.model_construct(
        component="",
        k=max(ruling.with_.k, ruling.without.k),
        task=ruling.key[2],
        with_=cohorts["with"],
        without=ruling.without,
        pass_=ruling.passed,
        reason=ruling.reason,
        rule="evidence",
        decision=ruling.decision,
        ts="",
    )
    return [
        f"{line.label}: {_paint(line.word, color)} - {line.text}"
        for line in verdict_lines(artifact)
        if line.label == "evidence" or ruling.verdict != "invalid"
    ]


def _warnings(found: Rulings, *, color: bool, width: int) -> list[str]:
    """Each advice once, with the cells that it is for."""
    told: dict[tuple[str, str], list[str]] = {}
    for ruling in (*found.cells, *found.strata):
        for warn in ruling.decision.warnings:
            told.setdefault((warn.code, warn.advice), []).append(label(ruling))
    lines = []
    lead = "  warning  "
    ordered = sorted(told.items(), key=lambda item: item[0][0] != "invalid")  # as they come, the gravest first
    for (code, advice), labels in ordered[:WARNINGS]:
        whose = "" if len(found.cells) == 1 else f" ({_listed(labels)})"
        first, *rest = wrap(plain(f"{code}{whose}: {advice}"), max(20, width - len(lead)), break_on_hyphens=False)
        lines += [f"  {_paint('warning', color)}  {first}", *(" " * len(lead) + line for line in rest)]
    if len(told) > WARNINGS:
        lines.append(f"  {count(len(told) - WARNINGS, 'more warning')}: see --json")
    return lines


def _listed(labels: Sequence[str]) -> str:
    if len(labels) <= 2:
        return ", ".join(shorten(each, 40) for each in labels)
    return f"{shorten(labels[0], 40)} and {len(labels) - 1} more"


def _tally(cells: Sequence[Ruling]) -> str:
    """`9 cells: 1 cut, 8 inconclusive`."""
    numbers = [
        (word, sum(cell.verdict == word for cell in cells)) for word in ("keep", "cut", "inconclusive", "invalid")
    ]
    return f"{count(len(cells), 'cell')}: {', '.join(f'{number} {word}' for word, number in numbers if number)}"


def _paint(word: str, color: bool) -> str:
    return f"{COLORS[word]}{word}{RESET}" if color and word in COLORS else word

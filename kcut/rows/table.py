"""The rows of one file as columns, and the two cohorts among their values. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kcut.model.errors import UsageFault
from kcut.model.outcome import SIDES, Cohort
from kcut.rows import values
from kcut.rows.columns import SYNONYMS, columns_of, shown

#: What the cohorts are called unless that is said.
NAMES = {
    Cohort.WITH: ("with", "on", "1", "1.0", "true", "enabled", "treatment"),
    Cohort.WITHOUT: ("without", "off", "0", "0.0", "false", "disabled", "control"),
}


class Records(Protocol):
    """What was read from a file, before it means anything."""

    @property
    def source(self) -> str:
        """The file, as messages name it."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    def __len__(self) -> int:
        """The number of rows."""

    def column(self, name: str) -> Sequence[Any]:
        """A value for each row, None where there is none."""

    def place(self, row: int) -> str:
        """`rows.csv, row 3 (line 4)` for the row of that index."""


@dataclass(frozen=True, slots=True)
class CohortNames:
    """The values that stand for the cohorts, compared without regard to case. None: those of NAMES."""

    with_: str | None = None
    without: str | None = None

    @property
    def exclusive(self) -> bool:
        """True if both were named, so that rows of other cohorts are someone else's."""
        return self.with_ is not None and self.without is not None

    def known(self) -> dict[str, Cohort]:
        """The cohort of each value. UsageFault if both have one name."""
        given = {Cohort.WITH: self.with_, Cohort.WITHOUT: self.without}
        named = {name.strip().lower(): cohort for cohort, name in given.items() if name is not None}
        if len(named) < sum(name is not None for name in given.values()):
            raise UsageFault(f"--with and --without are both {shown(self.with_)}")
        return {name: cohort for cohort in SIDES if given[cohort] is None for name in NAMES[cohort]} | named


@dataclass(slots=True)
class Table:
    """Trials, column by column; `cohort` is None in rows that do not count. Costs are US dollars, times milliseconds.

    `retried` is True where a trial took more than one attempt. `tokens` has the two kinds apart where they are known.
    `setting` names what differed between trials besides the component.
    """

    place: values.Place
    task: list[str]
    cohort: list[Cohort | None]
    passed: list[bool]
    void: list[str | None]
    cli: list[str | None]
    model: list[str | None]
    cost: list[float | None]
    wall: list[float | None]
    turns: list[float | None]
    tokens: list[float | None]
    pair: list[str | None]
    retried: list[bool] = field(default_factory=list)
    setting: list[str | None] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)
    seen: tuple[str, ...] = ()


def table(records: Records, mapping: Mapping[str, str], cohorts: CohortNames) -> Table:
    """What the rows of a file mean. UsageFault with file, row and column for what means nothing."""
    if not len(records):
        raise UsageFault(f"{records.source}: there are no rows")
    columns = columns_of(records.names, mapping, records.source)
    reader = _Reader(records, columns)
    cohort, ignored, seen = _cohorts(reader, cohorts)
    passed, void = _outcomes(reader)
    return Table(
        place=records.place,
        task=reader.words("task", values.name, ""),
        cohort=cohort,
        passed=passed,
        void=void,
        cli=reader.words("cli", values.optional, None),
        model=reader.words("model", values.optional, None),
        cost=reader.numbers("cost"),
        wall=_milliseconds(reader, columns.get("wall")),
        turns=reader.numbers("turns"),
        tokens=_tokens(reader),
        pair=reader.words("pair", values.optional, None),
        ignored=ignored,
        seen=seen,
    )


class _Reader:
    """The columns of one file by field."""

    def __init__(self, records: Records, columns: Mapping[str, str]) -> None:
        self._records = records
        self._columns = columns
        self.place = records.place
        self.count = len(records)

    def name(self, field: str) -> str:
        return self._columns[field]

    def has(self, field: str) -> bool:
        return field in self._columns

    def words(self, field: str, meaning: Any, default: Any) -> list[Any]:
        if field not in self._columns:
            return [default] * self.count
        name = self._columns[field]
        return values.read(self._records.column(name), meaning, name, self.place)

    def numbers(self, field: str) -> list[float | None]:
        if field not in self._columns:
            return [None] * self.count
        name = self._columns[field]
        return values.numbers(self._records.column(name), name, self.place)


def _cohorts(reader: _Reader, cohorts: CohortNames) -> tuple[list[Cohort | None], dict[str, int], tuple[str, ...]]:
    """The cohort of each row, how many rows of which others are left out, and all values seen."""
    known = cohorts.known()
    words: list[str] = reader.words("cohort", values.name, "")
    meant = {word: known.get(word.lower()) for word in dict.fromkeys(words)}
    found = [meant[word] for word in words]
    ignored: dict[str, int] = {}
    if None in meant.values():
        if not cohorts.exclusive:
            row = found.index(None)
            raise UsageFault(
                f"{reader.place(row)}, column {shown(reader.name('cohort'))}: {shown(words[row])} is neither cohort",
                remedy="name both, and rows of others are left out: --with VALUE --without VALUE",
            )
        for word, cohort in zip(words, found, strict=True):
            if cohort is None:
                ignored[word] = ignored.get(word, 0) + 1
    return found, dict(sorted(ignored.items())), tuple(meant)


def _outcomes(reader: _Reader) -> tuple[list[bool], list[str | None]]:
    """Whether each row passed, and why it is void, if it is."""
    outcomes: list[bool | str | None] = reader.words("pass", values.passed, None)
    void: list[str | None] = reader.words("void", values.void, None)
    if set(map(type, outcomes)) == {bool}:
        return [outcome is True for outcome in outcomes], void
    for row, outcome in enumerate(outcomes):
        if outcome == values.UNNAMED:
            void[row] = void[row] or values.UNNAMED
        elif outcome is None and void[row] is None:
            raise UsageFault(f"{reader.place(row)}, column {shown(reader.name('pass'))}: there is nothing")
    return [outcome is True for outcome in outcomes], void


def _milliseconds(reader: _Reader, column: str | None) -> list[float | None]:
    """Times; in a column whose name ends like seconds they are such."""
    found = reader.numbers("wall")
    if column is not None and values.in_seconds(column):
        return [None if value is None else 1000 * value for value in found]
    return found


def _tokens(reader: _Reader) -> list[float | None]:
    """Tokens of each trial, or input and output together."""
    if reader.has("tokens") or not (reader.has("input_tokens") and reader.has("output_tokens")):
        return reader.numbers("tokens")
    both = zip(reader.numbers("input_tokens"), reader.numbers("output_tokens"), strict=True)
    return [None if read is None or written is None else read + written for read, written in both]


def mapped(pairs: Iterable[str]) -> dict[str, str]:
    """`--map FIELD=COLUMN` as a mapping. UsageFault for another form, an unknown field, or one named twice."""
    found: dict[str, str] = {}
    for pair in pairs:
        known, separator, name = pair.partition("=")
        known = known.strip()
        if not separator or not name:
            raise UsageFault(f"--map takes FIELD=COLUMN (got {shown(pair)})", remedy="such as: --map cohort=mode")
        if known not in SYNONYMS:
            raise UsageFault(f"--map: there is no field {shown(known)}", remedy=f"one of: {', '.join(SYNONYMS)}")
        if known in found:
            raise UsageFault(f"--map names the column of {known} twice")
        found[known] = name
    return found

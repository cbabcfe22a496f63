"""From the bytes of a file to records: CSV, JSON Lines, JSON, and kcut's own artifact. Pure."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal

from kcut.model.errors import UsageFault
from kcut.rows.columns import shown

Format = Literal["csv", "jsonl", "json"]

#: What a file's name says about its format.
SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
#: The lists of rows that a JSON object may hold.
LISTS = ("rows", "trials")
#: A cell of a CSV file longer than this is no cell.
LARGEST_FIELD = 131_072


@dataclass(frozen=True, slots=True)
class Lines:
    """A CSV file: its columns, and how to find the line of a row again."""

    source: str
    names: Sequence[str]
    columns: Sequence[Sequence[str]]
    text: str
    delimiter: str

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def column(self, name: str) -> Sequence[Any]:
        """A value for each row."""
        return self.columns[self.names.index(name)]

    def place(self, row: int) -> str:
        """The row with its line: a quoted cell may hold several."""
        line = 1
        reader = _reader(self.text, self.delimiter)
        seen = -1  # the heading
        for cells in reader:
            if cells:
                if seen == row:
                    break
                seen += 1
            line = reader.line_num + 1
        return f"{self.source}, row {row + 1} (line {line})"


@dataclass(frozen=True, slots=True)
class Objects:
    """Rows of JSON; `lines` holds the line of each where every line is a row."""

    source: str
    names: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    lines: Sequence[int] = ()
    document: Mapping[str, Any] | None = None

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def column(self, name: str) -> Sequence[Any]:
        """A value for each row, None where it has none."""
        return [row.get(name) for row in self.rows]

    def place(self, row: int) -> str:
        """The row, with its line where that is known."""
        line = f" (line {self.lines[row]})" if self.lines else ""
        return f"{self.source}, row {row + 1}{line}"


def records(data: bytes, source: str, kind: Format | None) -> Lines | Objects:
    """The records of a file. `kind` is None where only the content can say; `source` names it in a UsageFault."""
    text = _decoded(data, source)
    if not text.strip():
        raise UsageFault(f"{source}: it is empty")
    if kind is None:
        kind = _guessed(text)
    if kind == "csv":
        return _csv(text, source)
    try:
        return _json_lines(text, source) if kind == "jsonl" else _json(text, source)
    except RecursionError as error:
        raise UsageFault(f"{source}: it is nested too deeply") from error


def _decoded(data: bytes, source: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageFault(f"{source}: it is UTF-16, not UTF-8", remedy="convert it: iconv -f UTF-16 -t UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageFault(f"{source}, line {line}: it is not UTF-8 (byte {data[error.start]:#04x})") from error


def _guessed(text: str) -> Format:
    """JSON Lines if the first line is an object and others follow; JSON by its first character; else CSV."""
    start = text.lstrip()
    if not start.startswith(("{", "[")):
        return "csv"
    first, _, rest = start.partition("\n")
    if start.startswith("{") and rest.strip():
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return "json"
        return "jsonl"
    return "json"


def _csv(text: str, source: str) -> Lines:
    heading = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(",;\t", key=heading.count) if any(map(heading.count, ",;\t")) else ","
    reader = _reader(text, delimiter)
    cells: list[list[str]] = []
    try:
        cells.extend(filter(None, reader))
    except csv.Error as error:
        why = str(error).replace("\t", "TAB")
        if "limit" in why:
            why = f"a field is longer than {LARGEST_FIELD:,} characters"
        raise UsageFault(f"{source}, line {reader.line_num}: {why}") from error
    names = [name.strip() for name in cells[0]] if cells else []
    del cells[:1]
    found = Lines(source, names, (), text, delimiter)
    twice = next((name for index, name in enumerate(names) if name and name in names[:index]), None)
    if twice is not None:
        raise UsageFault(f"{source}: there are two columns {shown(twice)}")
    if {len(row) for row in cells} - {len(names)}:
        row = next(index for index, row in enumerate(cells) if len(row) != len(names))
        told = f"{len(cells[row])} value{'s' * (len(cells[row]) != 1)} for {len(names)} columns"
        raise UsageFault(f"{found.place(row)}: {told}")
    return Lines(source, names, list(zip(*cells, strict=True)), text, delimiter)


def _reader(text: str, delimiter: str) -> Any:
    csv.field_size_limit(LARGEST_FIELD)
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)


class _TwiceError(ValueError):
    """A JSON object that has a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(f"an object has the key {shown(next(key for key in keys if keys.count(key) > 1))} twice")
    return found


#: NaN and the like stay words, which no column takes.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=str)


def _parsed(text: str, where: str, line: int) -> Any:
    """The value of a JSON text. UsageFault with the line, counted from `line`, if it is none."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise UsageFault(f"{where}, line {line + error.lineno - 1}: it is not JSON ({error.msg})") from error
    except _TwiceError as error:
        raise UsageFault(f"{where}{f', line {line}' if line > 1 else ''}: {error}") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise UsageFault(f"{where}{f', line {line}' if line > 1 else ''}: a number is too long to be read") from error


def _json(text: str, source: str) -> Objects:
    document = _parsed(text, source, 1)
    if isinstance(document, list):
        return _objects(document, source)
    if not isinstance(document, dict):
        raise UsageFault(f"{source}: it holds no rows, only {_kind(document)}")
    lists = [name for name in LISTS if isinstance(document.get(name), list)]
    if lists:
        found = _objects(document[lists[0]], source)
        return Objects(source, found.names, found.rows, document=document)
    return _objects([document], source)


def _json_lines(text: str, source: str) -> Objects:
    rows, numbers = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            rows.append(_parsed(line.rstrip("\r"), source, number))
            numbers.append(number)
    return _objects(rows, source, numbers)


def _objects(rows: list[Any], source: str, lines: Sequence[int] = ()) -> Objects:
    if set(map(type, rows)) - {dict}:
        row = next(index for index, row in enumerate(rows) if type(row) is not dict)
        place = Objects(source, (), (), lines).place(row)
        raise UsageFault(f"{place}: it is {_kind(rows[row])}, not an object")
    names: dict[str, None] = {}
    for keys in dict.fromkeys(map(tuple, rows)):
        names.update(dict.fromkeys(keys))
    return Objects(source, list(names), rows, lines)


def _kind(value: object) -> str:
    """`a list`, `a number`, `null`, as JSON has it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
    return "an object"

"""JSON documents in the last bytes of an output, whose head may be missing.

A document begins at the start of a line and ends at the end of one; it may span lines. Nothing inside a
string, inside another object or after other words on a line is a document. The scan goes backwards, so that
the end of the output is read first, and the work is bounded whatever the bytes are.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kcut.agents.values import DECODER

#: An output of this many bytes is taken to have lost its head; callers keep the last 1 MiB.
FULL = 1_000_000

_OPENING = re.compile(r"^[{\[]", re.MULTILINE)
#: Where an element of an array begins. Inside a string the quote would have a backslash before it.
_NEXT_ELEMENT = re.compile(r"\},[ \t\r\n]{0,64}(?=\{[ \t\r\n]{0,64}\")")
_BLANK = re.compile(r"[ \t\r]*(?:\n|\Z)")
_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_COMMA = re.compile(r"[ \t\r\n]{0,64}(,?)[ \t\r\n]{0,64}")
_WORD = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Event:
    """A JSON object that stands alone or in an array. `closes`: nothing follows it in its document."""

    value: dict[str, Any]
    start: int
    end: int
    closes: bool = True


class Kind(Enum):
    """What an event is in the stream of the CLI that printed it."""

    OPEN = "the first event of a run"
    TURN = "the beginning of a further turn"
    STEP = "any other event"
    WEAK = "an event that others print as well: counts beside the CLI's own only"
    TERMINAL = "the terminal event"


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of an output: its text, where the last word of it ends, and the events in it, in order.

    `cut`: the output was long enough to have lost its head.
    """

    text: str
    end: int
    events: tuple[Event, ...]
    cut: bool

    def last_line(self) -> str:
        """The last line that is not blank."""
        return self.text[self.text.rfind("\n", 0, self.end) + 1 : self.end].strip()


@dataclass(frozen=True, slots=True)
class Run:
    """The events of one CLI's run, and its terminal event if it has one. `cut`: its first events are out of sight."""

    events: tuple[dict[str, Any], ...]
    terminal: dict[str, Any] | None
    cut: bool
    end: int


@dataclass(slots=True)
class _Budget:
    left: int

    def decode(self, text: str, start: int) -> tuple[Any, int] | None:
        """The JSON document at `start` and where it ends. None: there is none, or the work is used up."""
        size = 512
        while self.left > 0:
            chunk = text[start : start + size]
            whole = start + size >= len(text)
            try:
                value, length = DECODER.raw_decode(chunk)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string") or error.pos >= len(chunk) - 10
                self.left -= max(256, len(chunk) if cut else error.pos)
                if whole or not cut:
                    return None
            except RecursionError:
                self.left -= max(20_000, len(chunk))
                return None
            else:
                self.left -= max(200, length)
                if whole or length < len(chunk):
                    return value, start + length
            size *= 8
        return None


def read_tail(data: bytes) -> Tail:
    """The events at the end of an output. Never raises; undecodable bytes become U+FFFD."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    budget = _Budget(8 * len(text) + 100_000)
    found: list[tuple[int, int, Any]] = []
    for start in reversed([match.start() for match in _OPENING.finditer(text)]):
        document = budget.decode(text, start)
        if document is None or _BLANK.match(text, document[1]) is None:
            continue
        while found and found[-1][0] < document[1]:
            found.pop()  # a part of this document that began a line
        found.append((start, document[1], document[0]))
    found.reverse()
    end = len(text.rstrip())
    if text.endswith("]", 0, end) and (not found or found[-1][1] < end):
        found += _cut_array(text, end, budget)
    events: list[Event] = []
    for start, stop, value in found:
        items = value if isinstance(value, list) else [value]
        events += [
            Event(item, start, stop, closes=index == len(items) - 1)
            for index, item in enumerate(items)
            if isinstance(item, dict) and item
        ]
    return Tail(text, end, tuple(events), cut=len(data) >= FULL)


def _cut_array(text: str, end: int, budget: _Budget) -> list[tuple[int, int, Any]]:
    """The last elements of an array that ends the text and whose beginning is missing, as one document."""
    position = 0
    while (match := _NEXT_ELEMENT.search(text, position, end)) is not None:
        start = position = match.end()
        items = []
        while (document := budget.decode(text, position)) is not None:
            items.append(document[0])
            position = document[1]
            comma = _COMMA.match(text, position)
            if comma is None or not comma[1]:
                if comma is not None and comma.end() == end - 1:
                    return [(start, end, items)]
                break
            position = comma.end()
    return []


def find_run(tail: Tail, kind: Callable[[dict[str, Any]], Kind | None]) -> Run | None:
    """The last run of a CLI in an output that is this run's output; None if there is none.

    Events quoted in the midst of other words are no run. A run ends the output; or it begins the output; or
    it is complete, from its first event to its terminal one.
    """
    groups = _groups(tail, _known(tail, kind))
    known = [pair for group in groups for pair in group]
    if not any(name is not Kind.WEAK for _, name in known):
        return None
    for group in reversed(groups):
        names = [name for _, name in group]
        complete = Kind.OPEN in names and Kind.TERMINAL in names
        if complete or _ends(tail, group[-1][0]):
            return _run(tail, [pair for pair in known if pair[0].start <= group[-1][0].start])
    if groups and _begins(tail, known[0][0]):
        taken: list[tuple[Event, Kind]] = []
        for group in groups:
            taken += group
            if any(name is Kind.TERMINAL for _, name in group):
                break
        return _run(tail, taken)
    return None


def whole_run(tail: Tail, kind: Callable[[dict[str, Any]], Kind | None]) -> Run | None:
    """All events of a CLI as one run, wherever they stand: for an output that is known to be the CLI's."""
    known = _known(tail, kind)
    return _run(tail, known) if known else None


def _known(tail: Tail, kind: Callable[[dict[str, Any]], Kind | None]) -> list[tuple[Event, Kind]]:
    """The CLI's events. A terminal event that does not end its array is none."""
    named = [(event, kind(event.value)) for event in tail.events]
    return [(event, name) for event, name in named if name and (event.closes or name is not Kind.TERMINAL)]


def _groups(tail: Tail, known: Sequence[tuple[Event, Kind]]) -> list[list[tuple[Event, Kind]]]:
    """Events with nothing but blanks between them; those that a code fence precedes are left out."""
    groups: list[list[tuple[Event, Kind]]] = []
    for event, name in known:
        if groups and (
            event.start == groups[-1][-1][0].start or not tail.text[groups[-1][-1][0].end : event.start].strip()
        ):
            groups[-1].append((event, name))
        else:
            groups.append([(event, name)])
    return [group for group in groups if not _fenced(tail, group[0][0])]


def _ends(tail: Tail, event: Event) -> bool:
    """Nothing follows but, where the CLI was stopped while it wrote, one unfinished line of JSON."""
    rest = _WORD.search(tail.text, event.end, tail.end)
    if rest is None:
        return True
    return tail.text.startswith('{"', rest.start()) and tail.text.find("\n", rest.start(), tail.end) < 0


def _begins(tail: Tail, event: Event) -> bool:
    before = tail.text[: event.start].strip()
    return not before or (tail.cut and "\n" not in before)


def _fenced(tail: Tail, event: Event) -> bool:
    line = tail.text[max(0, event.start - 200) : event.start].rstrip().rpartition("\n")[2]
    return _FENCE.match(line) is not None


def _run(tail: Tail, known: Sequence[tuple[Event, Kind]]) -> Run:
    terminal: dict[str, Any] | None = None
    first = 0
    opened = False
    for index, (event, name) in enumerate(known):
        if name is Kind.OPEN:
            first, opened, terminal = index, True, None
        elif name is Kind.TURN:
            terminal = None
        elif name is Kind.TERMINAL:
            terminal = event.value
    events = tuple(event.value for event, _ in known[first:])
    return Run(events, terminal, cut=tail.cut and not opened, end=known[-1][0].end)

"""The bare API-error envelope: what an agent prints last when it gives up, without any events."""

import re
from typing import Any

from kcut.agents.events import Tail
from kcut.agents.faults import by_kind, name_fault
from kcut.agents.report import Fault
from kcut.agents.values import DECODER, mapping, text

NAME = "api"

_LINE = re.compile(r"(?:Failed to authenticate\. |Please run /login · )?API Error: ([45]\d\d) (?=\{)")
_AFTER = re.compile(r"\s*(?:·.*)?")


def find_envelope(tail: Tail) -> Fault | None:
    """The fault that the last line reports: `API Error: NNN {...}`, or an error object whose type is known."""
    line = tail.last_line()
    if (match := _LINE.match(line)) is not None:
        try:
            body, end = DECODER.raw_decode(line[match.end() :])
        except (ValueError, RecursionError):
            return None
        if not isinstance(body, dict) or not _AFTER.fullmatch(line, match.end() + end):
            return None
        error = mapping(body.get("error"))
        return name_fault(
            status=int(match[1]), kind=text(error.get("type")), message=text(error.get("message")) + _waits(body)
        )
    if not tail.events or tail.events[-1].end < tail.end:
        return None
    event = tail.events[-1]
    error = mapping(event.value.get("error"))
    kind = text(error.get("type"))
    if event.value.get("type") != "error" or not event.closes:
        return None
    if by_kind(kind) is None:
        return None
    return name_fault(kind=kind, message=text(error.get("message")) + _waits(event.value))


def _waits(body: dict[str, Any]) -> str:
    """A wait that the envelope names beside its message, in the words that messages use."""
    for place in (body, mapping(body.get("error"))):
        if isinstance(seconds := place.get("retry_after"), int | float):
            return f" retry after {seconds}"
    return ""

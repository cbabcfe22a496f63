"""Codex: the events of `codex exec --json`. A turn ends in `turn.completed` or `turn.failed`, never in `error`.

It reports no cost, no number of turns and no duration; a failed turn has a message only.
"""

import re
from typing import Any

from kcut.agents.events import Kind, Run
from kcut.agents.faults import name_fault
from kcut.agents.report import Fault, Reading
from kcut.agents.values import count, mapping, text
from kcut.model.trial import Tokens, Usage

NAME = "codex"

KINDS = {
    "thread.started": Kind.OPEN,
    "turn.started": Kind.TURN,
    "turn.completed": Kind.TERMINAL,
    "turn.failed": Kind.TERMINAL,
    "item.started": Kind.STEP,
    "item.updated": Kind.STEP,
    "item.completed": Kind.STEP,
    "error": Kind.WEAK,
}
#: The part of its own that each event must have, and its type.
PARTS: dict[str, tuple[str, type]] = {
    "thread.started": ("thread_id", str),
    "turn.completed": ("usage", dict),
    "turn.failed": ("error", dict),
    "item.started": ("item", dict),
    "item.updated": ("item", dict),
    "item.completed": ("item", dict),
    "error": ("message", str),
}
#: Items that the CLI itself writes: warnings about its configuration.
OWN_ITEMS = frozenset({"error"})
RETRY = re.compile(r"Reconnecting\b")


def kind(event: dict[str, Any]) -> Kind | None:
    """What an event is in Codex's stream, None if it is not one of its events."""
    name = text(event.get("type"))
    part, wanted = PARTS.get(name, ("type", str))
    return KINDS.get(name) if isinstance(event.get(part), wanted) else None


def read(run: Run | None) -> Reading:
    """The evidence in a run's events."""
    if run is None:
        return Reading(NAME)
    end = run.terminal or {}
    tokens = _tokens(mapping(end.get("usage")))
    worked = run.cut or any(map(_answers, run.events))
    failed = end.get("type") == "turn.failed"
    return Reading(
        NAME,
        terminal=run.terminal is not None,
        responded=worked or bool(tokens and tokens.output),
        worked=worked,
        fault=_fault(end, run) if failed or not end else None,
        retrying=RETRY.match(_error(run.events[-1])) is not None,
        usage=Usage(tokens=tokens, is_error=failed if end else None),
    )


def _answers(event: dict[str, Any]) -> bool:
    item = mapping(event.get("item"))
    return bool(item) and item.get("type") not in OWN_ITEMS


def _error(event: dict[str, Any]) -> str:
    return text(event.get("message")) if event.get("type") == "error" else ""


def _fault(end: dict[str, Any], run: Run) -> Fault | None:
    messages = [text(mapping(end.get("error")).get("message"))]
    messages += [message for event in reversed(run.events) if (message := _error(event))][:1]
    return next((fault for message in messages if message and (fault := name_fault(message=message))), None)


def _tokens(usage: dict[str, Any]) -> Tokens | None:
    """The thread's counts so far. Cached tokens are part of its `input_tokens`; here they are apart."""
    input_, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if input_ is None or output is None:
        return None
    cached, written = count(usage.get("cached_input_tokens")) or 0, count(usage.get("cache_write_input_tokens")) or 0
    return Tokens(max(0, input_ - cached - written), output, cached, written)

"""What an agent's event stream tells while it passes by: its end does not hold its beginning any more."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kcut.agents.adapter import Adapter, Component
from kcut.agents.events import Kind
from kcut.agents.values import DECODER

#: A longer line is no event that anything is looked up in, but its bytes.
LONGEST = 1 << 24


class Watch:
    """Takes the bytes of a stream as they come; any bytes, lines of any length.

    `ended`: its terminal event was seen. `opening`: the first event.
    `shown`: whether an opening event showed the component, None if none told.
    `used`: how often it was used, None if the CLI's events do not tell. `mentions`: events that name the oracle.
    """

    def __init__(self, adapter: Adapter, component: Component | None, oracle: Iterable[str] = ()) -> None:
        self.opening: dict[str, Any] | None = None
        self.ended = False
        self.shown: bool | None = None
        self.used: int | None = None
        self.retries = 0
        self.mentions = 0
        self._adapter = adapter
        self._component = component
        words = "|".join(re.escape(name) for name in sorted(oracle, key=len, reverse=True) if name)
        self._oracle = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE) if words else None
        self._line = bytearray()
        self._skipping = False
        self._long_mentions = False

    def feed(self, data: bytes) -> None:
        """The next bytes of stdout."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._line += data[start:end]
            self._finish()
            start = end + 1
        self._line += data[start:]
        if len(self._line) > LONGEST:
            self._skipping = True
            self._long_mentions = self._long_mentions or self._mentioned([self._line.decode("utf-8", "replace")])
            del self._line[:-4096]

    def close(self) -> None:
        """The stream has ended; its last line may lack its end."""
        self._finish()

    def _finish(self) -> None:
        """A line is whole."""
        line = self._line.strip()
        self._line = bytearray()
        if self._skipping:
            self.mentions += self._long_mentions or self._mentioned([line.decode("utf-8", "replace")])
            self._skipping = self._long_mentions = False
            return
        event = _event(bytes(line)) if line.startswith(b"{") else None
        if event is not None:
            self._see(event)
        elif line and self._mentioned([line.decode("utf-8", "replace")]):
            self.mentions += 1

    def _see(self, event: dict[str, Any]) -> None:
        kind = self._adapter.kind(event)
        opens = kind is Kind.OPEN
        self.ended = self.ended or kind is Kind.TERMINAL
        if opens:
            self.opening = self.opening or event
        self.retries += self._adapter.retries(event)
        if not opens and event.get("role") != "user" and self._mentioned(_strings(event)):
            self.mentions += 1
        if self._component is None:
            return
        if opens and (shown := self._adapter.shows(event, self._component)) is not None:
            self.shown = bool(self.shown) or shown
        if (used := self._adapter.uses(event, self._component)) is not None:
            self.used = (self.used or 0) + used

    def _mentioned(self, texts: Iterable[str]) -> bool:
        return self._oracle is not None and any(self._oracle.search(each) for each in texts)


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        value = DECODER.decode(line.decode("utf-8", "replace"))
    except (json.JSONDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, keys included."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            left += each.keys()
            left += each.values()
        elif isinstance(each, list):
            left += each

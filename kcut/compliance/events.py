"""From the lines of an agent's event stream to its tool calls and its last words. Pure.

Claude Code (`--output-format stream-json`), Codex (`exec --json`) and Gemini CLI (`--output-format stream-json`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: What a Codex item says of its own outcome; the rest is what went into the tool.
_OUTCOME = frozenset({"id", "type", "status", "aggregated_output", "exit_code", "result", "error"})
#: Codex items that are no call of a tool.
_NO_CALLS = frozenset({"agent_message", "reasoning", "error", "todo_list"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: the tool's name, and what it was given."""

    name: str
    input: Any

    def strings(self) -> Iterator[str]:
        """Every string in the input, keys too."""
        waiting = [self.input]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                yield value
            elif isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, dict):
                waiting.extend(value)
                waiting.extend(value.values())

    def text(self, key: str) -> str:
        """A string of the input, "" if it has none of that name."""
        value = self.input.get(key) if isinstance(self.input, dict) else None
        return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Transcript:
    """What a stream holds. `final` is the text that the run ended with, None if there is none.

    `events` counts the lines that are events (objects with a type), `skipped` the others that are not blank.
    """

    folder: str | None = None
    calls: list[Call] = field(default_factory=list)
    result: str | None = None
    said: str | None = None
    events: int = 0
    skipped: int = 0

    @property
    def final(self) -> str | None:
        """The result of the run, else the last text of the agent."""
        return self.said if self.result is None else self.result


def read(lines: Iterable[str | bytes]) -> Transcript:
    """The transcript of a stream; lines that are no JSON are skipped, whatever they are."""
    found = Transcript()
    reader = _Reader(found)
    for line in lines:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        text = text.strip().removeprefix("\ufeff")
        if not text:
            continue
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            found.events += 1
            reader.take(event)
        else:
            found.skipped += 1
    return found


@dataclass(slots=True)
class _Reader:
    """Sorts events; `seen` holds the Codex items that are known, `speaking` if the last event was a piece of text."""

    found: Transcript
    seen: set[str] = field(default_factory=set)
    speaking: bool = False

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        was_speaking, self.speaking = self.speaking, False
        if kind == "system" and self.found.folder is None:
            self.found.folder = _text(event.get("cwd")) or None
        elif kind == "result" and isinstance(event.get("result"), str):
            self.found.result = event["result"]
        elif kind == "assistant":
            self._claude(event.get("message"))
        elif kind.startswith("item.") and isinstance(event.get("item"), dict):
            self._codex(event["item"])
        elif kind == "tool_use" and isinstance(event.get("tool_name"), str):
            self.found.calls.append(Call(event["tool_name"], event.get("parameters")))
        elif kind == "message" and event.get("role") == "assistant" and isinstance(event.get("content"), str):
            pieces = event.get("delta") is True
            before = self.found.said if pieces and was_speaking and self.found.said else ""
            self._say(before + event["content"])
            self.speaking = pieces

    def _claude(self, message: Any) -> None:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            self._say(content)
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text":
                self._say(_text(block.get("text")))
            elif block.get("type") == "tool_use" and isinstance(block.get("name"), str):
                self.found.calls.append(Call(block["name"], block.get("input")))

    def _codex(self, item: Mapping[str, Any]) -> None:
        kind = _text(item.get("type"))
        if kind == "agent_message":
            self._say(_text(item.get("text")))
        elif kind and kind not in _NO_CALLS:
            mark = _text(item.get("id"))
            if not mark or mark not in self.seen:  # started, updated and completed are one call
                self.seen.add(mark)
                self.found.calls.append(Call(kind, {key: item[key] for key in item if key not in _OUTCOME}))

    def _say(self, text: str) -> None:
        if text.strip():
            self.found.said = text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

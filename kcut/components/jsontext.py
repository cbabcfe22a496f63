"""JSON as text with positions: a value is taken out, put in or replaced, and every other byte stays.

Comments (`//`, `/* */`) are blanks, as the settings of some agents have them. Line ends and a byte order mark stay.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

#: Deeper than any settings file, and far from the interpreter's own limit.
DEEPEST = 100
#: Larger than any settings file, in bytes.
LIMIT = 4 << 20
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_BOM = "\ufeff"

#: The way to a value: names of members and numbers of items.
Way = tuple[str | int, ...]


class NotJson(ValueError):
    """Text that is no JSON; the message is one clause."""


@dataclass(slots=True)
class Node:
    """A value and where it stands. `members` are those of an object, with where each begins (at its name)."""

    start: int
    end: int
    value: Any
    members: list[tuple[str, int, "Node"]] = field(default_factory=list)
    items: list["Node"] = field(default_factory=list)

    def spans(self) -> list[tuple[int, int]]:
        """Where each member or item begins and ends."""
        return [(at, node.end) for _, at, node in self.members] + [(node.start, node.end) for node in self.items]

    def child(self, step: str | int) -> "Node | None":
        """The member of that name, or the item of that number; None if there is none."""
        if isinstance(step, str):
            return next((node for name, _, node in self.members if name == step), None)
        return self.items[step] if 0 <= step < len(self.items) else None


def parse(text: str) -> Node:
    """The document. Raises NotJson, with the line, if it is none, repeats a name in an object, or is too deep."""
    return _Parser(text).document()


def decode(data: bytes) -> str:
    """The text of a file, its byte order mark kept. Raises NotJson if it is not UTF-8, or no settings file's size."""
    if len(data) > LIMIT:
        raise NotJson(f"it is larger than {LIMIT >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson("it is not UTF-8 text") from error


def look(text: str, way: Way) -> Node | None:
    """The value at the end of a way, None if there is none."""
    node: Node | None = parse(text)
    for step in way:
        if node is None:
            return None
        node = node.child(step)
    return node


def remove(text: str, way: Way) -> str:
    """The text without the member or item at the end of the way; unchanged if there is none."""
    parent = look(text, way[:-1])
    if parent is None or parent.child(way[-1]) is None:
        return text
    last = way[-1]
    at = next(i for i, (name, _, _) in enumerate(parent.members) if name == last) if isinstance(last, str) else last
    spans = parent.spans()
    start, end = spans[at]
    if at + 1 < len(spans):  # up to its successor, which takes its place
        return text[:start] + text[spans[at + 1][0] :]
    if at:  # with the comma before it
        return text[: spans[at - 1][1]] + text[end:]
    return text[: parent.start + 1] + text[parent.end - 1 :]


def replace(text: str, way: Way, value: Any) -> str:
    """The text with another value at the end of the way, which has to be there."""
    node = look(text, way)
    if node is None:
        raise KeyError(way)
    return text[: node.start] + _written(text, value, _indent_at(text, node.start)) + text[node.end :]


def put(text: str, way: Way, value: Any) -> str:
    """The text with `value` at the end of the way: replaced if it is another, added last if it is not there.

    Objects on the way are made; an item of a list is put in before the item of its number, or last. Raises KeyError
    if something on the way is neither object nor list.
    """
    node = look(text, way)
    if node is not None and isinstance(way[-1], str):
        return text if same(node.value, value) else replace(text, way, value)
    parent = look(text, way[:-1])
    if parent is None:
        return put(text, way[:-1], {way[-1]: value} if isinstance(way[-1], str) else [value])
    return _insert(text, parent, way[-1], value)


def same(one: Any, other: Any) -> bool:
    """True for equal JSON values; true and 1 are different ones."""
    return canonical(one) == canonical(other)


def canonical(value: Any) -> str:
    """One spelling for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _insert(text: str, parent: Node, step: str | int, value: Any) -> str:
    if not isinstance(parent.value, dict if isinstance(step, str) else list):
        raise KeyError(step)
    name = f"{_dumped(step)}: " if isinstance(step, str) else ""
    spans = parent.spans()
    if not spans:
        outer = _indent_at(text, parent.start)
        inner = outer + _unit(text)
        line = _line_end(text)
        return (
            text[: parent.start + 1]
            + f"{line}{inner}{name}{_written(text, value, inner)}{line}{outer}"
            + text[parent.end - 1 :]
        )
    start = spans[0][0]
    broken = "\n" in text[parent.start + 1 : start]
    indent = _indent_at(text, start) if broken else ""
    between = f"{_line_end(text)}{indent}" if broken else " "
    written = f"{name}{_written(text, value, indent) if broken else _dumped(value)}"
    if isinstance(step, int) and step < len(spans):
        at = spans[step][0]
        return f"{text[:at]}{written},{between}{text[at:]}"
    at = spans[-1][1]
    return f"{text[:at]},{between}{written}{text[at:]}"


def _written(text: str, value: Any, indent: str) -> str:
    """A value in the style of a text, for a line that is indented so."""
    if "\n" not in text.strip() and text.strip() not in {"{}", "[]"}:
        return _dumped(value)
    return _dumped(value, indent=_unit(text)).replace("\n", _line_end(text) + indent)


def _dumped(value: Any, indent: str | None = None) -> str:
    made = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        made.encode()
    except UnicodeEncodeError:  # half of a pair, which can only stand there as an escape
        return json.dumps(value, indent=indent)
    return made


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    found = re.search(r"[{\[]\r?\n([ \t]+)", text)
    return found[1] if found else "  "


def _indent_at(text: str, position: int) -> str:
    """The blanks that the line of this position begins with."""
    start = text.rfind("\n", 0, position) + 1
    found = re.compile(r"[ \t]*").match(text, start)
    return found[0] if found else ""


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith(_BOM) else 0

    def document(self) -> Node:
        self._blank()
        node = self._value(0)
        self._blank()
        if self._at != len(self._text):
            raise self._fault("more than one value")
        return node

    def _fault(self, what: str) -> NotJson:
        line = self._text.count("\n", 0, self._at) + 1
        return NotJson(f"it is not JSON (line {line}: {what})")

    def _blank(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._fault("nested too deeply")
        char = self._peek()
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._list(depth)
        if char == '"':
            start = self._at
            return Node(start, *self._string())
        found = _PLAIN.match(self._text, self._at)
        if found is None:
            raise self._fault("a value is missing" if char in {"", "}", "]", ","} else f"unexpected {char!r}")
        start, self._at = self._at, found.end()
        try:
            value = json.loads(found[0])
        except ValueError as error:  # thousands of digits
            raise self._fault("a number is too long") from error
        if isinstance(value, float) and math.isinf(value):
            raise self._fault("a number beyond all measure")
        return Node(start, self._at, value)

    def _string(self) -> tuple[int, str]:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._fault("a string is not closed")
        try:
            value: str = json.loads(found[0])
        except ValueError as error:
            raise self._fault("a string has a wrong escape") from error
        self._at = found.end()
        return self._at, value

    def _object(self, depth: int) -> Node:
        node = Node(self._at, 0, {})
        self._at += 1
        self._blank()
        while self._peek() != "}":
            at = self._at
            if self._peek() != '"':
                raise self._fault("the name of a member is missing")
            _, name = self._string()
            self._blank()
            if self._peek() != ":":
                raise self._fault("a colon is missing")
            self._at += 1
            self._blank()
            inner = self._value(depth + 1)
            if name in node.value:
                raise self._fault(f"{name!r} stands in one object twice")
            node.members.append((name, at, inner))
            node.value[name] = inner.value
            self._separator("}")
        self._at += 1
        node.end = self._at
        return node

    def _list(self, depth: int) -> Node:
        node = Node(self._at, 0, [])
        self._at += 1
        self._blank()
        while self._peek() != "]":
            inner = self._value(depth + 1)
            node.items.append(inner)
            node.value.append(inner.value)
            self._separator("]")
        self._at += 1
        node.end = self._at
        return node

    def _separator(self, closing: str) -> None:
        """Skip a comma, which has to be followed by something; or be at the closing bracket."""
        self._blank()
        if self._peek() == closing:
            return
        if self._peek() != ",":
            raise self._fault("a comma is missing")
        self._at += 1
        self._blank()
        if self._peek() == closing:
            raise self._fault("a comma with nothing after it")

"""What the behaviours are told by: patterns and names, from a TOML document. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kcut.keys import check_keys
from kcut.model.errors import UsageFault
from kcut.rows.columns import shown

EXAMPLE = "see the keys that are built in: kcut score compliance --print-registry"

#: The keys that hold a list of texts; the first two of regular expressions.
PATTERNS = ("checkers", "smoke")
NAMES = ("shells", "editors", "oracles", "protected", "claims", "statuses", "claiming_statuses")
TASK_KEYS = ("name", "call", "import", "implementation")


@dataclass(frozen=True, slots=True)
class Task:
    """A task whose new behaviour only some smoke runs exercise.

    `imports` and `call` are searched in what was run; a script of the path `implementation` is none.
    """

    imports: re.Pattern[str]
    call: re.Pattern[str]
    implementation: str | None = None

    def exercised_by(self, text: str) -> bool:
        """True if a program imports the module and calls the function, as far as its text tells."""
        return self.imports.search(text) is not None and self.call.search(text) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """The names and patterns that tell behaviours. Checkers and smoke match from a command's first word on."""

    shells: frozenset[str]
    editors: frozenset[str]
    checkers: tuple[re.Pattern[str], ...]
    smoke: tuple[re.Pattern[str], ...]
    oracles: tuple[str, ...]
    protected: tuple[str, ...]
    claims: re.Pattern[str] | None
    statuses: re.Pattern[str] | None
    claiming_statuses: frozenset[str]
    tasks: Mapping[str, Task]


def parse_rules(document: Mapping[str, Any], where: str, base: Rules | None = None) -> Rules:
    """The rules of a TOML document; what it leaves out is as in `base`, or nothing.

    `where` names the document in the UsageFault for a key that is unknown, a value of the wrong type or a pattern
    that is none.
    """
    known = (*PATTERNS, *NAMES, "task")
    check_keys(where, document, known)
    nothing = Rules(frozenset(), frozenset(), (), (), (), (), None, None, frozenset(), {})
    made: dict[str, Any] = {}
    for key, value in document.items():
        place = f"{where}: {key}"
        if key == "task":
            made["tasks"] = _tasks(where, value)
        elif key in PATTERNS:
            made[key] = tuple(
                _pattern(place, text, end=r"(?!\S)", flags=re.IGNORECASE) for text in _texts(place, value)
            )
        elif key == "claims":
            made[key] = _words(_texts(place, value), re.IGNORECASE)
        elif key == "statuses":
            made[key] = _words(_texts(place, value), 0)
        elif key in {"shells", "editors", "claiming_statuses"}:
            made[key] = frozenset(_texts(place, value))
        else:
            made[key] = tuple(text.replace("\\", "/") for text in _texts(place, value))
    return replace(base or nothing, **made)


def _texts(where: str, value: Any) -> list[str]:
    """A list of texts, none of them blank; a single text is a list of one."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) and text.strip() for text in values):
        raise UsageFault(f"{where} must be a list of texts that are not empty", remedy=EXAMPLE)
    return values


def _pattern(where: str, text: str, *, end: str = "", flags: int = 0) -> re.Pattern[str]:
    """The pattern `text`, with what has to follow it."""
    try:
        re.compile(text)  # by itself: a bracket too many must not pair with what stands around it
        return re.compile(f"(?:{text}){end}", flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageFault(
            f"{where}: {shown(text)} is no regular expression: {error}",
            remedy="Python's regular expressions; write them in single quotes: 'node \\S+'",
        ) from error


def _words(texts: Sequence[str], flags: int) -> re.Pattern[str] | None:
    """A pattern for whole words and phrases, whatever blanks lie between their words; None for no words."""
    longest_first = sorted(texts, key=len, reverse=True)
    phrases = "|".join(r"\s+".join(map(re.escape, text.split())) for text in longest_first)
    return re.compile(rf"(?<!\w)(?:{phrases})(?!\w)", flags) if texts else None


def _tasks(where: str, value: Any) -> dict[str, Task]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise UsageFault(f"{where}: tasks are an array of tables, [[task]]", remedy=EXAMPLE)
    tasks: dict[str, Task] = {}
    for number, entry in enumerate(value, 1):
        place = f"{where}: task {number}"
        check_keys(place, entry, TASK_KEYS)
        for key in TASK_KEYS:
            if key not in entry and key != "implementation":
                raise UsageFault(f"{place} has no {key}", remedy=EXAMPLE)
            if key in entry and (not isinstance(entry[key], str) or not entry[key].strip()):
                raise UsageFault(f"{place}: {key} must be a text that is not empty", remedy=EXAMPLE)
        if entry["name"] in tasks:
            raise UsageFault(f"{place}: two tasks are named {shown(entry['name'])}", remedy="give each its own name")
        implementation = entry.get("implementation")
        tasks[entry["name"]] = Task(
            _pattern(f"{place}: import", entry["import"], flags=re.IGNORECASE),
            _pattern(f"{place}: call", entry["call"]),
            implementation and implementation.replace("\\", "/"),
        )
    return tasks

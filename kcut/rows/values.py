"""From the values of a column to what they mean; those that mean nothing get one sentence with their place. Pure."""

from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import Any, TypeVar

from kcut.model.errors import UsageFault
from kcut.rows.columns import normalised, shown

#: Names longer than this are no names.
LONGEST = 1000

Place = Callable[[int], str]
T = TypeVar("T")

#: Kinds of values of which equal ones mean the same; those of the second set may be equal across kinds.
_HASHED = frozenset({str, type(None), bool, int, float})
_EQUAL = frozenset({bool, int, float})

_PASS = ("true", "1", "1.0", "pass", "passed", "yes")
_FAIL = ("false", "0", "0.0", "fail", "failed", "no")
_NO_VOID = frozenset({"", "0", "0.0", "false", "no", "none", "null", "-"})
_BARE_VOID = frozenset({"1", "1.0", "true", "yes"})
#: What stands for a void of which only that is known.
UNNAMED = "void"


def read(values: Sequence[Any], meaning: Callable[[Any], T], column: str, place: Place) -> list[T]:
    """What each value means. Equal ones are read once; UsageFault where `meaning` raises ValueError with a clause."""
    kinds = set(map(type, values))
    if not kinds <= _HASHED or len(kinds & _EQUAL) > 1:  # 1 and True are equal, and not the same word
        return [_meaning(value, row, meaning, column, place) for row, value in enumerate(values)]
    first = dict(zip(reversed(values), range(len(values) - 1, -1, -1), strict=True))
    known = {
        value: _meaning(value, row, meaning, column, place)
        for value, row in sorted(first.items(), key=lambda item: item[1])
    }
    return list(map(known.__getitem__, values))


def _meaning(value: Any, row: int, meaning: Callable[[Any], T], column: str, place: Place) -> T:
    try:
        return meaning(value)
    except ValueError as error:
        raise UsageFault(f"{place(row)}, column {shown(column)}: {error}") from error


#: No cost, time or count of a trial is larger.
LARGEST = 1e15


def numbers(values: Sequence[Any], column: str, place: Place) -> list[float | None]:
    """Numbers of at least 0; None where there is none."""
    kinds = set(map(type, values))
    if kinds <= {int, float} or (kinds == {str} and "" not in values and "_" not in "".join(values)):
        try:
            found = list(map(float, values))
        except (ValueError, OverflowError):
            return read(values, number, column, place)
        if min(found) >= 0 and max(found) <= LARGEST and isfinite(sum(found)):
            return [*found]
    return read(values, number, column, place)


def number(value: object) -> float | None:
    """A number of at least 0, None for nothing. ValueError with a clause otherwise."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        try:
            found = float(text) if "_" not in text else -inf
        except ValueError:
            found = -inf
        if found == -inf:
            raise ValueError(f"{shown(value)} is no number")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            found = inf
    else:
        raise ValueError(f"{shown(value)} is no number")  # noqa: TRY004  # what a row holds, not what was called
    if not isfinite(found):
        raise ValueError(f"{shown(value)} is no finite number")
    if found < 0:
        raise ValueError(f"{shown(value)} is less than 0")
    if found > LARGEST:
        raise ValueError(f"{shown(value)} is larger than anything that is measured here")
    return found + 0.0  # no -0.0


def word(value: object) -> str:
    """A value as a word: booleans and numbers as JSON writes them, text without blanks around it; "" for nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value.strip()
        if len(text) > LONGEST:
            raise ValueError(f"a text of {len(text):,} characters is no name")
        return text
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        return str(int(value)) if whole and abs(value) < 1e15 else str(value)[:LONGEST]
    raise ValueError(f"{shown(value)} is no name")


def name(value: object) -> str:
    """A name that has to be there."""
    found = word(value)
    if not found:
        raise ValueError("there is nothing")
    return found


def optional(value: object) -> str | None:
    """A name, None if there is none."""
    return word(value) or None


def passed(value: object) -> bool | str | None:
    """True or False; the word void for an outcome that is one; None for nothing."""
    if isinstance(value, int | float) and value in {0, 1}:
        return bool(value)
    text = word(value).lower()
    if text in _PASS:
        return True
    if text in _FAIL:
        return False
    if text in {"", UNNAMED}:
        return text or None
    raise ValueError(f"{shown(value)} is neither pass nor fail (true/false, 1/0, pass/fail, passed/failed, yes/no)")


def void(value: object) -> str | None:
    """Why a trial is void, None if it is not."""
    text = word(value)
    if text.lower() in _NO_VOID:
        return None
    return UNNAMED if text.lower() in _BARE_VOID else text


def in_seconds(column: str) -> bool:
    """True if a column of times counts seconds by its name; else they are milliseconds."""
    return normalised(column).rpartition("_")[2] in {"s", "sec", "secs", "seconds"}

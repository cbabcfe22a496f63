"""Values out of foreign JSON: only numbers, names and objects that may be recorded."""

import json
import math
import re
from typing import Any

from kcut.redact import looks_like_credential

#: Counts beyond this are no whole numbers in JSON any more, and nothing that is counted here reaches it.
LIMIT = 2**53

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,63}")


def _integer(digits: str) -> int | None:
    value = int(digits) if len(digits) <= 20 else LIMIT
    return value if abs(value) < LIMIT else None


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _nothing(_constant: str) -> None:
    return None


#: Reads JSON as the standard library does; NaN, infinities and numbers beyond 2^53 become None.
DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number, parse_constant=_nothing)


def amount(value: object) -> float | None:
    """A finite number from 0 on as a float, else None. A boolean is no number; -0 is 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < LIMIT:  # also false for NaN
        return None
    return abs(float(value))


def count(value: object) -> int | None:
    """A whole number from 0 on, below 2^53 (3.0 is 3), else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < LIMIT or value != int(value):
        return None
    return int(value)


def label(value: object) -> str | None:
    """A model's or version's name if it is a plain short word that looks like no credential, else None."""
    if not isinstance(value, str) or _LABEL.fullmatch(value) is None or looks_like_credential(value):
        return None
    return value


def text(value: object) -> str:
    """The value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}

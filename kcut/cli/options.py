"""Values that options take: durations, counts, money. A wrong one gets one sentence that names the option."""

import re
from collections.abc import Callable
from typing import Any

import click

from kcut.model.errors import UsageFault

WEEK = 604_800.0
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|)")


def _name(param: click.Parameter | None) -> str:
    return param.opts[-1] if param is not None and param.opts else "the value"


def seconds(text: str) -> float | None:
    """The seconds of `90`, `90s`, `1.5m` or `2h`; None if it is none of these."""
    found = _DURATION.fullmatch(text.strip().lower())
    return float(found[1]) * _UNITS[found[2]] if found else None


def spelled(*times: float) -> str:
    """Seconds as an option takes and shows them: `30m`, or `5s,30s` for several."""
    return ",".join(f"{time / 60:g}m" if time and time % 60 == 0 else f"{time:g}s" for time in times)


class Value(click.ParamType[Any]):
    """An option's type made of a function that returns None for what it does not take."""

    def __init__(self, name: str, read: Callable[[str], Any], rule: str) -> None:
        self.name = name
        self._read = read
        self._rule = rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value read; raises UsageFault with the rule that it breaks."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        read = self._read(str(value))
        if read is None:
            raise UsageFault(f"{_name(param)} must be {self._rule} (got {value})")
        return read


def _count(least: int) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        text = text.strip()
        return int(text) if re.fullmatch(r"\+?[0-9]{1,9}", text) and int(text) >= least else None

    return read


def _duration(text: str) -> float | None:
    value = seconds(text)
    return value if value is not None and 0 < value <= WEEK else None


def _waits(text: str) -> tuple[float, ...] | None:
    values = [value for part in text.split(",") if (value := seconds(part)) is not None and value <= WEEK]
    return tuple(values) if len(values) == text.count(",") + 1 else None


def _money(text: str) -> float | None:
    return float(text.strip()) if re.fullmatch(r"\s*(\d{1,9}(\.\d*)?|\.\d+)\s*", text) else None


def _seed(text: str) -> int | None:
    value = _count(0)(text) if len(text.strip()) <= 9 else (int(text) if re.fullmatch(r"[0-9]{10}", text) else None)
    return value if value is not None and value < 2**31 else None


def _rate(text: str) -> float | None:
    value = float(text.strip()) if re.fullmatch(r"\s*(0|1|[01]?\.\d{0,12})\s*", text) and text.strip() != "." else 2.0
    return value if value <= 1 else None


def _share(text: str) -> float | None:
    value = float(text.strip()) if re.fullmatch(r"\s*0?\.\d{1,12}\s*", text) else 0.0
    return value if 0 < value < 1 else None


COUNT = Value("n", _count(1), "a whole number of at least 1")
WHOLE = Value("n", _count(0), "a whole number of at least 0")
DURATION = Value("time", _duration, "a time such as 90, 90s, 10m or 2h")
WAITS = Value("times", _waits, "a list of times such as 5s,30s")
MONEY = Value("usd", _money, "an amount in US dollars such as 2.50")
SHARE = Value("p", _share, "a number between 0 and 1, such as 0.05")
RATE = Value("rate", _rate, "a rate from 0 to 1, such as 0.5")
SEED = Value("n", _seed, "a whole number from 0 to 2147483647")

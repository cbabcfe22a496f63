"""Warnings in one line each: the code, what was measured, and what to do. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kcut.model.artifact import Warn
from kcut.report.text import count, duration, money, plain

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
#: So many entries of a list are printed.
_MOST = 5


def line(warn: Warn) -> str:
    """`drift: p 0.003, early with 9/10, without 8/10, ...: what to do`, free of control characters."""
    evidence = _flips(warn.evidence) if warn.code == "scorer-flips" else measured(warn.evidence)
    return plain(f"{warn.code}: {evidence}{': ' if evidence else ''}{warn.advice}")


def measured(evidence: Mapping[str, Any]) -> str:
    """The evidence of a warning as words: `with 3, without 0, p 0.04`."""
    return ", ".join(f"{_words(name)} {_value(name, value)}".strip() for name, value in evidence.items())


def _flips(evidence: Mapping[str, Any]) -> str:
    """`4 of 8 scores disagreed (with #0 1/2, without #0 3/6), up to 81 of 100 in the long run (95 %)`."""
    trials = [f"{trial} {share}" for trial, share in evidence["trials"].items()]
    more = f" and {len(trials) - _MOST} more" if len(trials) > _MOST else ""
    which = f" ({', '.join(trials[:_MOST])}{more})" if trials else ""
    said = f"{evidence['flips']} of {count(evidence['rescores'], 'score')} disagreed with the trial's own{which}"
    return f"{said}, in the long run up to {100 * evidence['upper']:.0f} of 100 (95 %)"


def _words(name: str) -> str:
    """`withTrials` as `with trials`; what is no name of a program's stays as it is."""
    return _HUMP.sub(" ", name).lower() if name.isidentifier() else name


def _value(name: str, value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        if "trial" in value and "median" in value:
            return _outlier(value)
        inner = measured(value)
        return f"({inner})" if len(value) != 1 else inner
    if isinstance(value, Sequence) and not isinstance(value, str):
        shown = ", ".join(_value(name, one) for one in value[:_MOST])
        return shown + (f" and {len(value) - _MOST} more" if len(value) > _MOST else "")
    return str(value)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1g}"


def _outlier(row: Mapping[str, Any]) -> str:
    """`with #3 12.0s (median 1.1s, z 14.2)`."""
    show = duration if "ms" in row else money
    own = row["ms"] if "ms" in row else row["usd"]
    return f"{row['trial']} {show(own)} (median {show(row['median'])}, z {row['z']:.1f})"

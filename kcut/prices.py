"""What tokens cost: a file of prices, for agents that report tokens and no money."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import fsum
from pathlib import Path
from typing import Any

from kcut.keys import check_keys
from kcut.model.errors import UsageFault
from kcut.model.trial import Tokens
from kcut.rows.columns import shown
from kcut.toml import read_toml

#: Prices are for so many tokens.
PER = 1_000_000
#: In US dollars per million tokens: more is a slip of the pen.
HIGHEST = 1_000_000.0
EXAMPLE = 'e.g. ["gpt-5.5"] with input = 1.25, output = 10 and cache_read = 0.125 (US dollars per million tokens)'

#: A model's release in its name: `-2026-01-31`, `-20260131`, `@20260131`, `-latest`.
_RELEASE = re.compile(r"(?:[-@](?:\d{4}-\d\d-\d\d|\d{8})|-latest)\Z")
#: What providers and other tools call the kinds of tokens.
_OTHER_NAMES = {
    "cached": "cache_read",
    "cached_input": "cache_read",
    "cached_input_tokens": "cache_read",
    "cached_tokens": "cache_read",
    "cache_hit": "cache_read",
    "cache_write": "cache_creation",
    "cache_write_tokens": "cache_creation",
    "cached_write": "cache_creation",
    "prompt": "input",
    "completion": "output",
}
#: What a table around the models may be called by those who expect one.
_AROUND = frozenset({"model", "models", "price", "prices"})


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens of each kind, None where the file names no price.

    The kinds are those of `Tokens`, none of which is part of another: `input` is what was not cached, tokens read
    from a cache are `cache_read`, those written to one `cache_creation`. Reasoning is part of `output`.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_creation: float | None = None


#: The keys of a model.
KEYS = tuple(field.name for field in fields(Price))


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a file, by model."""

    models: Mapping[str, Price]

    def price(self, model: str) -> Price | None:
        """The price of the model of exactly that name, else of its name without the release at its end.

        A release is a date (`gpt-5.5-2026-01-31`, `claude-opus-5-20260131`, with `@` or `-` before it) or
        `-latest`. Nothing else is guessed: neither the start of a name nor another release of the model will do.
        """
        return self.models.get(model) or self.models.get(_RELEASE.sub("", model))

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """US dollars that the tokens cost; None if the model, or a kind of which there are tokens, has no price."""
        price = self.price(model)
        if price is None:
            return None
        parts = []
        for kind in KEYS:
            count, each = getattr(tokens, kind), getattr(price, kind)
            if count and each is None:
                return None
            parts.append(count * (each or 0.0))
        return fsum(parts) / PER


def read_prices(path: Path) -> Prices:
    """The prices in a TOML file: a table per model, its name quoted, with prices from 0 on.

    Raises UsageFault with what is wrong and where.
    """
    return prices_of(read_toml(path, example=EXAMPLE), str(path))


def prices_of(document: Mapping[str, Any], path: str) -> Prices:
    """The prices in a document that was read from `path`. Raises as `read_prices`."""
    if not document:
        raise UsageFault(f"{path} names no model", remedy=EXAMPLE)
    return Prices({model: _price(path, model, entry) for model, entry in document.items()})


def _price(path: str, model: str, entry: Any) -> Price:
    where = f"{path}: {shown(model)}"
    if not isinstance(entry, dict):
        raise UsageFault(f"{where} is no table of prices", remedy=EXAMPLE)
    for key, value in entry.items():
        if isinstance(value, dict):  # [gpt-5.5] without quotes is a table in a table
            name = key if model in _AROUND else f"{model}.{key}"
            raise UsageFault(
                f"{where}: {shown(key)} is a table, and prices are numbers", remedy=f"write [{_quoted(name)}]"
            )
        if key in _OTHER_NAMES:
            raise UsageFault(f"{where}: unknown key {key}", remedy=f"did you mean {_OTHER_NAMES[key]}?")
    check_keys(where, entry, KEYS)
    if not entry:
        raise UsageFault(f"{where} has no price", remedy=EXAMPLE)
    return Price(**{key: _dollars(f"{where}: {key}", value) for key, value in entry.items()})


def _dollars(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageFault(f"{where} must be a number, not {_kind(value)}", remedy=EXAMPLE)
    if not 0 <= value <= HIGHEST:  # true for NaN
        raise UsageFault(
            f"{where} must be a number from 0 to {HIGHEST:.0f} (got {str(value)[:30]})",
            remedy="prices are US dollars per million tokens",
        )
    return float(value) + 0.0  # no -0.0


def _quoted(name: str) -> str:
    """A name as TOML writes it in quotes; an example where it would not be that simple."""
    return f'"{name}"' if name.isprintable() and len(name) < 100 and not {'"', "\\"} & {*name} else '"NAME"'


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "a text", list: "a list"}
    return names.get(type(value), "a date or time")

"""The secrets in the users' own logins of the agent CLIs, so that no log holds them."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kcut.agents.adapter import Place
from kcut.agents.registry import BUILT_IN
from kcut.system.files import read_regular

#: Shorter strings in a login name things: a kind, a scope, a date.
_SHORTEST = 16
_LARGEST = 1 << 20


def login_secrets(environ: Mapping[str, str]) -> frozenset[str]:
    """The long words in the files that let the built-in CLIs log in; what cannot be read has none."""
    home = Path(environ.get("HOME") or "/")
    place = Place(Path("home"), Path("config"), Path("temporary"))
    found: set[str] = set()
    for adapter in BUILT_IN.values():
        for original in adapter.credentials(environ, home, place).values():
            with contextlib.suppress(OSError, ValueError, RecursionError):
                found |= set(_words(json.loads(read_regular(original, limit=_LARGEST))))
    return frozenset(found)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= _SHORTEST and not any(map(str.isspace, value)):
            yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _words(each)

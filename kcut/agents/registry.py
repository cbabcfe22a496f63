"""The agent CLIs that can be run: the built-in ones, and those that other packages bring by an entry point."""

import functools
from importlib import metadata
from typing import Any

from kcut.agents.adapter import Adapter
from kcut.agents.claude import Claude
from kcut.agents.codex import Codex
from kcut.agents.command import Command
from kcut.agents.gemini import Gemini
from kcut.agents.opencode import Opencode
from kcut.model.errors import NotReady, UsageFault

#: The entry point group of adapters; an entry names an adapter object, or a class that makes one without arguments.
GROUP = "kcut.agents"
BUILT_IN: dict[str, Adapter] = {
    adapter.name: adapter for adapter in (Claude(), Codex(), Gemini(), Opencode(), Command())
}


def adapter_names() -> tuple[str, ...]:
    """The names of all adapters, the built-in ones first."""
    return (*BUILT_IN, *sorted(set(_entries()) - BUILT_IN.keys()))


def find_adapter(name: str) -> Adapter:
    """The adapter of that name. UsageFault if there is none, NotReady if another package's cannot be used."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name not in _entries():
        raise UsageFault(f"there is no agent {name!r}", remedy=f"known: {', '.join(adapter_names())}")
    return _loaded(name)


@functools.cache
def _entries() -> dict[str, metadata.EntryPoint]:
    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


@functools.cache
def _loaded(name: str) -> Adapter:
    entry = _entries()[name]
    try:
        found: Any = entry.load()
        found = found() if isinstance(found, type) else found
    except Exception as error:
        raise NotReady(
            f"the adapter {name} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}",
            remedy="mend or remove the package that brings it",
        ) from error
    if not isinstance(found, Adapter) or found.name != name:
        raise NotReady(
            f"the adapter {name} ({entry.value}) does not do what an adapter does",
            remedy="mend or remove the package that brings it",
        )
    return found

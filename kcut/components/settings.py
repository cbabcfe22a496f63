"""Components that are entries of settings files: hooks with their script, MCP servers, single entries."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from kcut.components import entries, jsontext
from kcut.components.cohort import Cohort, as_part, digest
from kcut.components.found import Found, Scene, at_base, content
from kcut.components.jsontext import Way
from kcut.components.places import MCP_FILES, SERVERS, Place, servers
from kcut.components.sides import Side
from kcut.globs import literal
from kcut.model.errors import UsageFault

_EMPTY = "{}\n"


def of_hook(scene: Scene, side: Side, name: str, group: Sequence[Place]) -> Found:
    """A hook: its script, and the entries of settings files that run it."""
    place = group[0]
    own = content(scene, side, place)
    texts = {path: scene.text(side, path) for path in entries.HOOK_FILES}
    told = {path: entries.hook_entries(text, place.path) for path, text in texts.items() if text is not None}
    spellings = sorted({entry.spelled for found in told.values() for entry in found})
    parts = {os.path.basename(place.path): own.files[""]}  # noqa: PTH119  # a path of the tree
    parts |= {f"entry/{number}": as_part(spelling) for number, spelling in enumerate(spellings)}

    def make(with_: Cohort, without: Cohort) -> tuple[str, ...]:
        gone = at_base(scene, "hook", name, [place.path])
        for cohort in (with_, without):
            cohort.drop(gone)
        own.fill(with_)
        touched = gone | own.paths
        for path in entries.HOOK_FILES:
            touched |= _hooks(path, place.path, told.get(path, []), with_, without)
        return tuple(map(literal, sorted(touched)))

    return Found("hook", place.path, digest(parts), make)


def _hooks(path: str, script: str, wanted: list[entries.HookEntry], with_: Cohort, without: Cohort) -> set[str]:
    """Give the cohorts their entries of one settings file; the real path of the file, if they may differ in it."""
    text = with_.text(path)
    had = [] if text is None else entries.hook_entries(text, script)
    if not had and not wanted:
        return set()
    bare = _EMPTY if text is None else entries.without_hooks(text, script)
    if had:
        without.put_data(path, bare.encode())
    if [entry.spelled for entry in had] != [entry.spelled for entry in wanted]:
        with_.put_data(path, bare.encode())
        _put(with_, path, entries.with_hooks, wanted)
    return {with_.real(path)}


def of_server(scene: Scene, side: Side, name: str, group: Sequence[Place]) -> Found:
    """An MCP server: its entry in each settings file, and what enables it by its name."""
    way: Way = (SERVERS, name)
    told = {path: found[name] for path in MCP_FILES if name in (found := servers(side, path))}
    spellings = sorted({jsontext.canonical(value) for value in told.values()})

    def make(with_: Cohort, without: Cohort) -> tuple[str, ...]:
        touched: set[str] = set()
        for path in MCP_FILES:
            text = with_.text(path)
            had = text is not None and jsontext.look(text, way) is not None
            if text is not None and had:
                without.put_data(path, jsontext.remove(text, way).encode())
            if path in told:
                _put(with_, path, jsontext.put, way, told[path])
            elif text is not None:
                with_.put_data(path, jsontext.remove(text, way).encode())
            if had or path in told:
                touched.add(with_.real(path))
        for path in entries.ENABLING:
            touched |= _enabled(scene.text(side, path), path, name, with_, without)
        return tuple(map(literal, sorted(touched)))

    parts = {str(number): as_part(spelling) for number, spelling in enumerate(spellings)}
    return Found("mcp", group[0].path, digest(parts), make)


def _enabled(told: str | None, path: str, name: str, with_: Cohort, without: Cohort) -> set[str]:
    """Give the cohorts the name in the lists of one settings file; the file's real path, if they may differ in it."""
    touched: set[str] = set()
    for way in entries.ENABLING[path]:
        text, other = with_.text(path), without.text(path)
        if other is not None and entries.has_item(other, way, name):
            without.put_data(path, entries.without_item(other, way, name).encode())
            touched.add(with_.real(path))
        if told is not None and entries.has_item(told, way, name):
            _put(with_, path, entries.with_item, way, name)
            touched.add(with_.real(path))
        elif text is not None:
            with_.put_data(path, entries.without_item(text, way, name).encode())
    return touched


def of_setting(scene: Scene, side: Side, path: str, way: Way, value: Any) -> Found:
    """A single entry of a JSON file."""

    def make(with_: Cohort, without: Cohort) -> tuple[str, ...]:
        text = with_.text(path)
        at = None if text is None else _same_entry(scene.text(side, path), text, way, value)
        if text is None or at is None:
            _put(with_, path, jsontext.put, way, value)
        else:
            without.put_data(path, jsontext.remove(text, at).encode())
            node = jsontext.look(text, at)
            if node is not None and not jsontext.same(node.value, value):
                with_.put_data(path, jsontext.replace(text, at, value).encode())
        return (literal(with_.real(path)),)

    return Found("setting", path, digest({"": as_part(jsontext.canonical(value))}), make)


def _same_entry(told: str | None, text: str, way: Way, value: Any) -> Way | None:
    """Where a text has the entry that stands at `way` in the text `told`; None if it lacks it.

    An item of a list is known by its value; one with another value at the same place is an older form of it, unless
    the lists differ in length or it is another item's value.
    """
    if isinstance(way[-1], str):
        return way if jsontext.look(text, way) is not None else None
    own, other = jsontext.look(text, way[:-1]), jsontext.look(told, way[:-1]) if told is not None else None
    items = own.items if own is not None else []
    equal = [number for number, item in enumerate(items) if jsontext.same(item.value, value)]
    if equal:
        return (*way[:-1], min(equal, key=lambda number: abs(number - int(way[-1]))))
    others = [item.value for item in other.items] if other is not None else []
    if way[-1] >= len(items) or len(items) != len(others):
        return None
    held = items[way[-1]].value
    return None if any(jsontext.same(held, each) for each in others) else way


def _put(cohort: Cohort, path: str, change: Callable[..., str], *args: Any) -> None:
    """Change the text of a cohort's settings file, made if it is missing, by `change(text, *args)`."""
    try:
        made = change(cohort.text(path) or _EMPTY, *args)
    except KeyError as error:
        raise UsageFault(
            f"{path!r} of the base has no place for it: what should hold {error.args[0]!r} is no object or list",
            remedy="make the file of the base like that of the checkout: commit it, then run again",
        ) from error
    cohort.put_data(path, made.encode())

"""Entries of settings files that belong to a component: hooks that run its script, and what enables an MCP server."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kcut.components import jsontext
from kcut.components.jsontext import Way

HOOK_FILES = (".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json", ".gemini/settings.json")
#: Lists of names that enable a server of that name.
ENABLING: dict[str, tuple[Way, ...]] = {
    ".claude/settings.json": (("enabledMcpjsonServers",),),
    ".claude/settings.local.json": (("enabledMcpjsonServers",),),
    ".gemini/settings.json": (("mcp", "allowed"), ("allowMCPServers",)),
}
_HOOKS = "hooks"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ASSIGNED = re.compile(r"(?<![\w$-])(\w+)=([^\s;&|<>()]*)")
_ROOT = re.compile(r"\$(?:\{(?:CLAUDE|GEMINI)_PROJECT_DIR\}|(?:CLAUDE|GEMINI)_PROJECT_DIR(?!\w))/")
#: The end of what only the shell knows.
_UNKNOWN = re.compile(r"\$\w+|[}`]")
#: What enters another folder, from which a path is meant then.
_MOVES = re.compile(r"(?<![\w/.-])(?:cd|pushd|chdir|-C)(?![\w/.-])")


class HookEntry(NamedTuple):
    """One hook: the event, the rest of its group (such as the matcher), and itself.

    `whole` is the number of its group, if that holds nothing but hooks of the component; else None.
    """

    event: str
    group: dict[str, Any]
    hook: Any
    whole: int | None

    @property
    def spelled(self) -> str:
        """One spelling for equal hooks, whatever groups they stand in."""
        return jsontext.canonical([self.event, self.group, self.hook])


def hook_entries(text: str, script: str) -> list[HookEntry]:
    """The hooks of a settings file that mention the script. Raises NotJson if it is none."""
    return [entry for _, entry in _mentioning(text, script)]


def without_hooks(text: str, script: str) -> str:
    """The text without them, and without the groups, events and objects that only they filled."""
    while found := next(_mentioning(text, script), None):
        way = found[0]
        text = jsontext.remove(text, way)
        # the list of hooks, its group, the event's list, the event, all hooks
        for emptied in (way[:4], way[:2], way[:1]):
            node = jsontext.look(text, emptied)
            if node is None or node.value:
                break
            text = jsontext.remove(text, emptied[:3] if len(emptied) == 4 else emptied)
    return text


def with_hooks(text: str, entries: list[HookEntry]) -> str:
    """The text with the entries: whole groups as such, others in the group that is like theirs, last there.

    KeyError if it cannot be.
    """
    begun: dict[tuple[str, int], int] = {}
    for entry in entries:
        node = jsontext.look(text, (_HOOKS, entry.event))
        groups = node.value if node is not None else []
        if entry.whole is None:
            at = next((n for n, group in enumerate(groups) if _is_like(group, entry)), None)
        else:
            at = begun.get((entry.event, entry.whole))
            begun.setdefault((entry.event, entry.whole), len(groups))
        if at is None:
            made = {**entry.group, _HOOKS: [entry.hook]}
            text = jsontext.put(text, (_HOOKS, entry.event, len(groups)), made)
        else:
            text = jsontext.put(text, (_HOOKS, entry.event, at, _HOOKS, len(groups[at][_HOOKS])), entry.hook)
    return text


def mentions(value: Any, script: str) -> bool:
    """True if a text in the value names the script: its file name, with nothing before it that makes it another file.

    Variables that are set in the same text are followed, and so are those that hold the project's root.
    """
    folder, _, name = script.rpartition("/")
    pattern = re.compile(rf"([^\s;&|<>()=]{{0,400}}?)(?<![\w.-]){re.escape(name)}(?![\w.-]|/)")
    texts = list(_texts(value))
    moves = any(_MOVES.search(text) for text in texts)
    return any(_may_be(found[1], folder, text, moves) for text in texts for found in pattern.finditer(text))


def _may_be(before: str, folder: str, text: str, moves: bool) -> bool:
    """True if what stands before a file's name in a text may be the folder. `moves`: the text enters folders."""
    before = _expanded(before, text)
    rooted = _ROOT.match(before)
    if rooted is not None:
        return os.path.normpath(before[rooted.end() :].lstrip("/") or ".") == folder
    tail = _UNKNOWN.split(before)[-1]
    parts = [part for part in os.path.normpath(tail or ".").split("/") if part not in {"", ".", ".."}]
    wanted = folder.split("/")
    if len(parts) >= len(wanted) or not parts:
        return not parts or parts[-len(wanted) :] == wanted
    starts_anywhere = tail != before or (moves and not tail.startswith(("/", "~")))
    return starts_anywhere and parts == wanted[-len(parts) :]


def _expanded(before: str, text: str) -> str:
    """It without quotes, and with the values that the text itself gives to variables."""
    values: dict[str, str] = dict(_ASSIGNED.findall(text))
    for _ in range(3):
        before = _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), before)[:4000]
    return re.sub(r"[\"'\\]", "", before)


def change(text: str, ways: tuple[Way, ...], act: Callable[[str, Way], str]) -> str:
    """The text after `act` was done for each way."""
    for way in ways:
        text = act(text, way)
    return text


def without_item(text: str, way: Way, value: Any) -> str:
    """The text without the items of a list that equal the value; the list stays."""
    while True:
        node = jsontext.look(text, way)
        items = node.value if node is not None and isinstance(node.value, list) else []
        at = next((n for n, item in enumerate(items) if jsontext.same(item, value)), None)
        if at is None:
            return text
        text = jsontext.remove(text, (*way, at))


def has_item(text: str, way: Way, value: Any) -> bool:
    """True if the list at the end of the way holds the value."""
    node = jsontext.look(text, way)
    return (
        node is not None and isinstance(node.value, list) and any(jsontext.same(item, value) for item in node.value)
    )


def with_item(text: str, way: Way, value: Any) -> str:
    """The text with the value in the list at the end of the way. KeyError if that is no list."""
    if has_item(text, way, value):
        return text
    node = jsontext.look(text, way)
    return jsontext.put(text, (*way, len(node.items) if node is not None else 0), value)


def _mentioning(text: str, script: str) -> Iterator[tuple[Way, HookEntry]]:
    node = jsontext.look(text, (_HOOKS,))
    events = node.value if node is not None and isinstance(node.value, dict) else {}
    for event, groups in events.items():
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            hooks = group.get(_HOOKS) if isinstance(group, dict) else None
            if not isinstance(hooks, list):
                continue
            ours = [at for at, hook in enumerate(hooks) if mentions(hook, script)]
            rest = {key: value for key, value in group.items() if key != _HOOKS}
            whole = number if len(ours) == len(hooks) else None
            for at in ours:
                yield (_HOOKS, event, number, _HOOKS, at), HookEntry(event, rest, hooks[at], whole)


def _is_like(group: Any, entry: HookEntry) -> bool:
    if not isinstance(group, dict) or not isinstance(group.get(_HOOKS), list):
        return False
    return jsontext.same({key: value for key, value in group.items() if key != _HOOKS}, entry.group)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)

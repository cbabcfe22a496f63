"""The names that agent CLIs know a component by: its file's or folder's, and the one in its frontmatter."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kcut.agents.adapter import Component, trusted_folder
from kcut.agents.values import DECODER, mapping
from kcut.system.files import read_regular

#: Where the files of a kind lie, below the project; the name is the file's stem, of a SKILL.md its folder's.
PLACES = {
    "skill": tuple(f".{folder}/skills/*/SKILL.md" for folder in ("claude", "agents", "codex", "gemini")),
    "agent": (".claude/agents/**/*.md", ".gemini/agents/**/*.md"),
    "command": (".claude/commands/**/*.md",),
}
PLACES["draft"] = PLACES["skill"]
_NAME = re.compile(r"^name:[ \t]*(?P<quote>[\"']?)(?P<name>[^\r\n]*?)(?P=quote)[ \t]*\r?$", re.MULTILINE)
_LARGEST = 1 << 20


_UNLISTED = re.compile(
    r"^(?:user-invocable:[ \t]*[\"']?(?:false|no|off)|disable-model-invocation:[ \t]*[\"']?(?:true|yes|on))\b",
    re.MULTILINE | re.IGNORECASE,
)
_OWN_HOOKS = re.compile(r"^hooks:", re.MULTILINE)
#: The settings file of a project that its hooks stand in, and files that may bring hooks of their own.
SETTINGS = ".claude/settings.json"
_BRING_HOOKS = (".claude/skills/*/SKILL.md", ".claude/agents/**/*.md", ".claude/commands/**/*.md")


def known_as(kind: str, name: str, cwd: Path) -> Component:
    """The component with every name that the checkout around `cwd` gives it.

    Of a file in a subfolder the CLIs list the stem, or the path with `/` or `:`. A name that another component of the
    kind goes by as well tells nothing, unless it is the one that was asked for.
    """
    if kind == "hook":
        return Component(kind, (name,), events=_events(name, cwd))
    files = {path: _names(path, place) for path, place in _files(PLACES.get(kind, ()), cwd)}
    exact = {path for path, names in files.items() if names[0] == name}
    chosen = exact or {path for path, names in files.items() if name in names}
    others = {each for path, names in files.items() if path not in chosen for each in names}
    names = [each for path in files if path in chosen for each in files[path] if each not in others]
    own = (name, name.replace("/", ":")) if kind in {"agent", "command"} else (name,)
    unlisted = any(_UNLISTED.search(_frontmatter(path)) for path in chosen)
    return Component(kind, tuple(dict.fromkeys((*own, *names))), unlisted=unlisted)


def _files(patterns: Iterable[str], cwd: Path) -> Iterator[tuple[Path, str]]:
    """The files that the patterns name, each with its path in the folder that holds those of its kind."""
    for folder in dict.fromkeys((trusted_folder(cwd), cwd)):
        for pattern in patterns:
            start = folder / pattern.partition("/*")[0]
            for path in sorted(folder.glob(pattern))[:1000]:
                yield path, path.relative_to(start).as_posix()


def _names(path: Path, place: str) -> tuple[str, ...]:
    """The name by its place first, then the others."""
    inner = place.removesuffix("/SKILL.md").removesuffix(".md")
    names = [inner, inner.replace("/", ":"), inner.rpartition("/")[2]]
    if (found := _NAME.search(_frontmatter(path))) and found["name"]:
        names.append(found["name"])
    return tuple(dict.fromkeys(names))


def _frontmatter(path: Path) -> str:
    """The lines between the marks at a file's beginning; empty if it has none, or cannot be read."""
    try:
        head = read_regular(path, limit=_LARGEST).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return ""
    return head[: head.find("\n---", 3) + 1] if head.startswith("---") else ""


def _events(name: str, cwd: Path) -> frozenset[str] | None:
    """The events at which hooks of the project run this script and nothing else; None if that cannot be known."""
    if any(_OWN_HOOKS.search(_frontmatter(path)) for path, _ in _files(_BRING_HOOKS, cwd)):
        return None
    commands: dict[str, list[str]] = {}
    try:
        for folder in dict.fromkeys((trusted_folder(cwd), cwd)):
            if not (folder / SETTINGS).exists():
                continue
            document = DECODER.decode(read_regular(folder / SETTINGS, limit=_LARGEST).decode("utf-8"))
            for event, groups in mapping(mapping(document).get("hooks")).items():
                hooks = [hook for group in groups for hook in group["hooks"]]
                commands.setdefault(event, []).extend(json.dumps(hook) for hook in hooks)
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return None
    script = re.compile(rf"(?<![\w.-]){re.escape(name.rpartition('/')[2])}(?![\w-]|/)")
    own = {event for event, found in commands.items() if any(map(script.search, found))}
    sure = all(script.search(each) for event in own for each in commands[event])
    return frozenset(own) if own and sure else None

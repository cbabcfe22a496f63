"""Where components lie: every skill, agent, command, rule file, hook script, MCP server, draft and manifest."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kcut.components import jsontext
from kcut.components.sides import Base, Side, resolve, way_out
from kcut.model.component import LINK, File, Kind
from kcut.model.errors import UsageFault
from kcut.rubric import read_frontmatter

SKILL = "SKILL.md"
SKILLS = (".claude/skills", ".agents/skills", ".codex/skills", ".gemini/skills")
STAGING = ".claude/skills-staging"
AGENTS, COMMANDS, RULES = ".claude/agents", ".claude/commands", ".claude/rules"
HOOKS = (".claude/hooks", ".codex/hooks", ".gemini/hooks")
MANIFESTS = ".claude/kcut/components"
#: Files that agents read whole, in any folder.
RULE_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md")
MCP_FILES = (".mcp.json", ".gemini/settings.json")
SERVERS = "mcpServers"
_FRONTMATTER_WITHIN = 512 * 1024
_DEEPEST = 8
_TREE = 0o040000


@dataclass(frozen=True, slots=True)
class Place:
    """One component as it lies. `name` is the one it is listed by, `names` all that it answers to."""

    kind: Kind
    name: str
    names: frozenset[str]
    path: str


def places(side: Side) -> Iterator[Place]:
    """Every component that lies there by itself: sections and single settings are not among them."""
    yield from manifests(side)
    for folder in SKILLS:
        yield from _skills(side, folder, "skill")
    yield from _texts(side, AGENTS, "agent", _agent_names)
    yield from _texts(side, COMMANDS, "command", _command_names)
    yield from _texts(side, RULES, "rule", _rule_names)
    yield from _rule_files(side)
    for folder in HOOKS:
        yield from _hooks(side, folder)
    yield from _servers(side)
    yield from _skills(side, STAGING, "draft")


def manifests(side: Side) -> Iterator[Place]:
    """Every manifest."""
    for name in side.names(MANIFESTS):
        if name.endswith(".toml") and not name.startswith("."):
            stem = name.removesuffix(".toml")
            yield Place("manifest", stem, frozenset({stem}), f"{MANIFESTS}/{name}")


def rule_file(side: Side, name: str) -> Place | None:
    """The rule file of that path, if it is one and lies there."""
    path = tidy_path(name)
    if path is None or path.rpartition("/")[2] not in RULE_FILES or not _is_file(side, path):
        return None
    return Place("rule", path, frozenset({path}), path)


def tidy_path(path: str) -> str | None:
    """A path relative to the root without needless parts; None if it is none or leads out of the root."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    if path.startswith("/") or not parts or "\0" in path or parts[0] == ".git":
        return None
    return "/".join(parts)


def servers(side: Side, path: str) -> dict[str, object]:
    """The MCP servers in a settings file by name; none if it is absent or cannot be read."""
    file = _file(side, path)
    if file is None:
        return {}
    try:
        found = jsontext.parse(jsontext.decode(file.data)).value
    except jsontext.NotJson:
        return {}
    listed = found.get(SERVERS) if isinstance(found, dict) else None
    return listed if isinstance(listed, dict) else {}


def _skills(side: Side, folder: str, kind: Kind) -> Iterator[Place]:
    for name in side.names(folder):
        path = f"{folder}/{name}"
        if name.startswith(".") or not _is_file(side, f"{path}/{SKILL}"):
            continue
        told = _told(side, f"{path}/{SKILL}")
        yield Place(kind, name, frozenset({name, *told}), path)


def _texts(side: Side, folder: str, kind: Kind, names: Callable[[str], Iterable[str]]) -> Iterator[Place]:
    for inner in _markdown(side, folder, _DEEPEST):
        path = f"{folder}/{inner}"
        stem = inner.removesuffix(".md")
        first, *more = names(stem)
        yield Place(kind, first, frozenset({first, *more, *_told(side, path)}), path)


def _agent_names(stem: str) -> Iterable[str]:
    return (stem.rpartition("/")[2], stem)


def _command_names(stem: str) -> Iterable[str]:
    return (stem.replace("/", ":"), stem)


def _rule_names(stem: str) -> Iterable[str]:
    return (stem,)


def _markdown(side: Side, folder: str, depth: int) -> Iterator[str]:
    """The Markdown files below a folder; folders that are links in it are not entered: they may lead in circles."""
    real = resolve(side, folder)
    for name in side.names(folder) if real is not None else ():
        path = f"{folder if real is None else real.path}/{name}"
        if name.startswith("."):
            continue
        if name.endswith(".md") and _is_file(side, path):
            yield name
        elif depth and side.kind(path) == _TREE:
            yield from (f"{name}/{inner}" for inner in _markdown(side, path, depth - 1))


def _rule_files(side: Side) -> Iterator[Place]:
    known = [*RULE_FILES, *(f".claude/{name}" for name in RULE_FILES)]
    if isinstance(side, Base):
        known += [path for path in side.paths if path.rpartition("/")[2] in RULE_FILES and path not in known]
    for path in known:
        place = rule_file(side, path)
        if place is not None:
            yield place


def _hooks(side: Side, folder: str) -> Iterator[Place]:
    for name in side.names(folder):
        path = f"{folder}/{name}"
        if not name.startswith(".") and _is_file(side, path):
            stem = re.sub(r"(?<=.)\.[^.]*$", "", name)
            yield Place("hook", stem, frozenset({stem, name}), path)


def _servers(side: Side) -> Iterator[Place]:
    for path in MCP_FILES:
        for name in servers(side, path):
            yield Place("mcp", name, frozenset({name}), path)


def _is_file(side: Side, path: str) -> bool:
    """True for a file, also one that only a link out of the root leads to: it is refused when it is chosen."""
    real = resolve(side, path)
    kind = side.kind(real.path if real is not None else path)
    return kind is not None and kind not in {_TREE, LINK}


def _file(side: Side, path: str) -> File | None:
    real = resolve(side, path)
    try:
        return side.read(real.path) if real is not None else None
    except UsageFault:
        return None


def _told(side: Side, path: str) -> set[str]:
    """The name in the frontmatter, if there is one."""
    if way_out(side, path) is not None:
        return set()
    file = _file(side, path)
    told = read_frontmatter(file.data).name if file is not None and len(file.data) <= _FRONTMATTER_WITHIN else None
    return {told} if told else set()

"""Copies of a component elsewhere, which an agent sees in both cohorts: at user level, or where it works."""

import json
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from kcut.components import pointer, sections
from kcut.components.places import MCP_FILES, SERVERS
from kcut.globs import covers, fixed_part
from kcut.isolation.checkout import Checkout
from kcut.isolation.reads import Reader
from kcut.model.component import ComponentPlan
from kcut.rubric import read_frontmatter
from kcut.system.files import read_regular

_LIMIT = 4 << 20
_OWN = (".claude", ".codex", ".gemini", ".agents")
_USER_FILES = (".claude.json", ".claude/settings.json", ".gemini/settings.json")
#: Where the files of installed plugins lie, below `~/.claude/plugins`.
_PLUGINS = ("*", "*/*", "cache/*/*/*", "marketplaces/*/plugins/*")
_RULES = {
    "CLAUDE.md": (".claude/CLAUDE.md",),
    "CLAUDE.local.md": (".claude/CLAUDE.md",),
    "AGENTS.md": (".codex/AGENTS.md",),
    "AGENTS.override.md": (".codex/AGENTS.override.md", ".codex/AGENTS.md"),
    "GEMINI.md": (".gemini/GEMINI.md",),
}


def user_copies(plan: ComponentPlan, home: Path) -> tuple[str, ...]:
    """What lies at user level and bears the component's name, as `~/...`; what cannot be read is passed over.

    A rule file has its counterpart there, whatever that says; a section counts if the counterpart has its heading.
    """
    return tuple(dict.fromkeys(_tilde(home, path) for path in _copies(plan, home)))


def other_copies(plan: ComponentPlan, checkout: Checkout, *, dirty: bool) -> tuple[str, ...]:
    """What bears the component's name in the folder that kcut was started in, or between that and the root.

    Paths are relative to the root, of files that trials have: with `dirty`, uncommitted ones are among them.
    """
    parts = checkout.subdir.split("/") if checkout.subdir else []
    known = set(Reader(checkout.git(), checkout.git_dir).entries(checkout.base)) if parts else set()
    known |= set(checkout.dirty) if dirty else set()
    found: list[str] = []
    for depth in range(1, len(parts) + 1):
        folder = checkout.root.joinpath(*parts[:depth])
        paths = (path.relative_to(checkout.root).as_posix() for path in _copies(plan, folder, nested=True))
        found += [path for path in paths if not covers(plan.paths, path) and _is_known(path, known)]
    return tuple(dict.fromkeys(found))


def _is_known(path: str, known: Collection[str]) -> bool:
    """True for a file, or a folder of files, among those known; a folder of untracked ones is known by its name."""
    return any(each == path or each.startswith(f"{path}/") or f"{path}/".startswith(each) for each in known)


def _tilde(home: Path, path: Path) -> str:
    return f"~/{path.relative_to(home).as_posix()}"


def _copies(plan: ComponentPlan, home: Path, *, nested: bool = False) -> Iterator[Path]:
    """What lies below `home`, which is a folder of the checkout if `nested`. A rule file there is one of its own."""
    end = plan.path.rpartition("/")[2]
    if plan.kind in {"skill", "draft"}:
        for folder in (*(home / own / "skills" for own in _OWN), *_plugins(home, "skills")):
            yield from _skills(folder, {end, plan.name})
    elif plan.kind in {"agent", "command"}:
        inner = plan.path.removeprefix(f".claude/{plan.kind}s/")
        for folder in (home / ".claude" / f"{plan.kind}s", *_plugins(home, f"{plan.kind}s")):
            yield from _there(folder / inner)
    elif plan.kind in {"rule", "hook"}:
        for path in () if nested and end in _RULES else _RULES.get(end, (plan.path,)):
            yield from _there(home / path)
    elif plan.kind == "mcp":
        yield from _servers(plan.name, home, MCP_FILES if nested else _USER_FILES)
    elif plan.kind == "manifest":
        for start in map(fixed_part, plan.paths):
            if start.partition("/")[0] in _OWN and "/" in start:
                yield from _there(home / start)
    else:
        yield from _parts(plan, home, (end, f".claude/{end}") if nested else _RULES.get(end, ()))


def _parts(plan: ComponentPlan, home: Path, rules: Iterable[str]) -> Iterator[Path]:
    """The files below a folder that have the section, if they are among the rules, or the settings entry."""
    part = plan.name.partition("#")[2]
    if plan.kind == "section":
        for path in rules:
            data = _read(home / path)
            if data is not None and sections.find(sections.read(data), part):
                yield home / path
    elif plan.path.partition("/")[0] in _OWN:
        found = _json(home / plan.path)
        if found is not None and pointer.find(found, part) is not None:
            yield home / plan.path


def _plugins(home: Path, kind: str) -> Iterator[Path]:
    for pattern in _PLUGINS:
        try:
            yield from sorted((home / ".claude" / "plugins").glob(f"{pattern}/{kind}"))
        except OSError:
            continue


def _skills(folder: Path, names: set[str]) -> Iterator[Path]:
    try:
        inside = sorted(path for path in folder.iterdir() if (path / "SKILL.md").is_file())
    except OSError:
        return
    for path in inside:
        data = None if path.name in names else _read(path / "SKILL.md")
        if path.name in names or (data is not None and read_frontmatter(data).name in names):
            yield path


def _servers(name: str, home: Path, files: Iterable[str]) -> Iterator[Path]:
    for path in (home / file for file in files):
        found = _json(path)
        if isinstance(found, dict) and isinstance(found.get(SERVERS), dict) and name in found[SERVERS]:
            yield path
    data = _read(home / ".codex" / "config.toml")
    try:
        table = tomllib.loads(data.decode()) if data is not None else {}
    except (ValueError, RecursionError):
        return
    if isinstance(table.get("mcp_servers"), dict) and name in table["mcp_servers"]:
        yield home / ".codex" / "config.toml"


def _there(path: Path) -> Iterator[Path]:
    try:
        path.lstat()
    except (OSError, ValueError):
        return
    yield path


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path, limit=_LIMIT)
    except (OSError, ValueError):
        return None


def _json(path: Path) -> Any:
    data = _read(path)
    try:
        return json.loads(data.decode("utf-8-sig")) if data is not None else None
    except (ValueError, RecursionError):
        return None

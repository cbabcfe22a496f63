"""What each agent reads of a checkout as kcut starts it, and whether a component lies in any of that."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kcut.components.entries import ENABLING, HOOK_FILES
from kcut.components.places import MCP_FILES
from kcut.globs import fixed_part
from kcut.model.component import ComponentPlan
from kcut.model.errors import UsageFault
from kcut.system.files import read_regular

_LIMIT = 1 << 20
_LOCAL = ("CLAUDE.local.md", ".claude/settings.local.json")


class Reader(NamedTuple):
    """One agent. `reads` tells a person what it reads; `skips` are names of files and folders that it is known to
    pass over, wherever they lie; `rules` are the files that it reads whole, `spare` those it reads in their place;
    `own` are files and folders that it reads, whatever a link in their place leads to.
    """

    reads: str
    skips: tuple[str, ...]
    rules: tuple[str, ...]
    own: tuple[str, ...]
    spare: tuple[str, ...] = ()


#: As kcut starts them: without the user's own configuration, in a project that they trust.
READERS = {
    "claude": Reader(
        "CLAUDE.md (AGENTS.md only where there is none), .mcp.json, and .claude but for its settings.local.json",
        (*_LOCAL, "AGENTS.override.md", "GEMINI.md", ".codex", ".gemini", ".agents"),
        ("CLAUDE.md", ".claude/CLAUDE.md"),
        (".claude", *(f".claude/{name}" for name in ("skills", "agents", "commands", "rules", "settings.json"))),
        spare=("AGENTS.md",),
    ),
    "codex": Reader(
        "AGENTS.md, .codex and .agents/skills",
        ("CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".claude", ".gemini", ".mcp.json"),
        ("AGENTS.md", "AGENTS.override.md"),
        (".codex", ".codex/skills", ".codex/hooks.json", ".codex/config.toml", ".agents", ".agents/skills"),
    ),
    "gemini": Reader(
        "GEMINI.md, .gemini and .agents/skills",
        ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", ".claude", ".codex", ".mcp.json"),
        ("GEMINI.md",),
        (".gemini", ".gemini/skills", ".gemini/settings.json", ".agents", ".agents/skills"),
    ),
    "opencode": Reader(
        "AGENTS.md (CLAUDE.md only where there is none), .opencode, and the skills of .claude and .agents",
        ("CLAUDE.local.md", "AGENTS.override.md", "GEMINI.md", ".codex", ".gemini"),
        ("AGENTS.md",),
        (".claude", ".claude/skills", ".agents", ".agents/skills"),
        spare=("CLAUDE.md",),
    ),
}


def must_be_read(root: Path, plan: ComponentPlan, agent: str, told: Iterable[str]) -> None:
    """Raise UsageFault if the agent passes over every file that the cohorts differ in.

    `told` are texts that the agent gets beside the files, such as its prompt and its options: what they name, or what
    a file that it reads names, may be read. An agent that is not known may read anything.
    """
    reader = READERS.get(agent)
    paths = _paths(plan)
    if reader is None or plan.variables or not paths:
        return
    texts = [*told, *_texts(root, reader)]
    if any(_is_read(root, reader, path, texts) for path in paths):
        return
    some = " and ".join(dict.fromkeys(paths[:2]))
    raise UsageFault(
        f"{agent} as kcut starts it does not read {some}, so the {plan.kind} {plan.name} would reach no trial",
        remedy=f"{agent} reads {reader.reads}; choose another agent, or put it there",
    )


def is_wired(plan: ComponentPlan) -> bool:
    """True if a settings file runs the hook."""
    return bool(_paths(plan))


def _paths(plan: ComponentPlan) -> list[str]:
    """Where an agent would meet the component: not at the script of a hook, nor where a server is only enabled."""
    paths = [fixed_part(glob) for glob in plan.paths]
    if plan.kind == "hook":
        return [path for path in paths if path in HOOK_FILES]
    if plan.kind == "mcp":
        return [path for path in paths if path not in ENABLING or path in MCP_FILES]
    return paths


def _is_read(root: Path, reader: Reader, path: str, texts: Sequence[str]) -> bool:
    name = next((name for name in (*reader.skips, *reader.spare) if _passes(name, path)), None)
    if name is None or _is_linked(root, reader, path):
        return True
    if name in reader.spare and not any((root / path).parent.joinpath(rule).is_file() for rule in reader.rules):
        return True
    handle = path.rpartition("/")[2] if name.endswith(".md") else _beginning(name, path)
    names = [handle, "--setting-sources"] if name in _LOCAL else [handle]
    return any(each in text for each in names for text in texts)


def _passes(name: str, path: str) -> bool:
    return re.fullmatch(rf"(?:.*/)?{re.escape(name)}(?:/.*)?", path, re.DOTALL) is not None


def _beginning(name: str, path: str) -> str:
    """The folder of an agent and what follows it, as `.claude/skills`: how a text would speak of what lies there."""
    rest = f"/{path}/".partition(f"/{name}/")[2]
    return f"{name}/{rest.partition('/')[0]}".rstrip("/")


def _is_linked(root: Path, reader: Reader, path: str) -> bool:
    """True if something that the agent reads is a link to the path, or to a folder above it."""
    real, folder = Path(os.path.realpath(root / path)), (root / path).parent
    known = [*(root / own for own in reader.own), *(each / rule for each in (root, folder) for rule in reader.rules)]
    elsewhere = (each for each in known if os.path.lexists(each) and not (root / path).is_relative_to(each))
    return any(real.is_relative_to(os.path.realpath(each)) for each in elsewhere)


def _texts(root: Path, reader: Reader) -> Iterator[str]:
    """The files in the root that the agent reads whole."""
    for name in dict.fromkeys((*reader.rules, *(own for own in reader.own if "." in own.rpartition("/")[2][1:]))):
        try:
            yield read_regular(root / name, limit=_LIMIT).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue

"""The names that agent CLIs know a component by: its file's or folder's, and the one in its frontmatter."""

import re
from collections.abc import Iterator
from pathlib import Path

from kcut.agents.adapter import Component, trusted_folder
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


def known_as(kind: str, name: str, cwd: Path) -> Component:
    """The component with every name that the checkout around `cwd` gives it."""
    names = [name]
    for folder in dict.fromkeys((trusted_folder(cwd), cwd)):
        for pattern in PLACES.get(kind, ()):
            for path in sorted(folder.glob(pattern))[:1000]:
                found = tuple(_names(path))
                if name in found:
                    names += found
    return Component(kind, tuple(dict.fromkeys(names)))


def _names(path: Path) -> Iterator[str]:
    yield path.parent.name if path.name == "SKILL.md" else path.stem
    try:
        head = read_regular(path, limit=_LARGEST).decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError:
        return
    if head.startswith("---") and (found := _NAME.search(head[: head.find("\n---", 3)])) and found["name"]:
        yield found["name"]

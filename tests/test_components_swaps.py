"""Whatever a component is: a base that has it and one that lacks it give the same cohorts, and the same digest."""

import json
from collections.abc import Callable

import pytest

from tests.components import Cohorts, Tree, cohorts
from tests.conftest import Repo

RULES = "\ufeff# A\r\n\r\none\r\n\r\n## B\r\n\r\ntwo\r\n\r\n### C\r\n\r\nthree\r\n\r\n## D\r\n\r\nfour"
SETTINGS = (
    '{\n\t"permissions": {"allow": ["Read", "Edit"]},\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t'
    '{"hooks": [{"type": "command", "command": "echo"}]},\n\t\t\t'
    '{"hooks": [{"type": "command", "command": ".claude/hooks/check.sh"}]}\n\t\t]\n\t},\n\t"env": {"A": "1"}\n}'
)
MANIFEST = ".claude/kcut/components/m.toml"


def manifest(text: str) -> Callable[[Repo], object]:
    return lambda repo: repo.write(MANIFEST, text)


def nothing(_: Repo) -> None:
    """The component is there already."""


def block(repo: Repo) -> None:
    repo.write(MANIFEST, '[[text]]\nfile = "CLAUDE.md"\nblock = "## D\\n\\nfour"\n')
    repo.write("CLAUDE.md", f"{RULES}\r\n")


KINDS: dict[str, tuple[str, Callable[[Repo], object]]] = {
    "skill": ("tidy", lambda repo: repo.write(".claude/skills/tidy/run.sh", "x", executable=True)),
    "rule file": ("CLAUDE.md", nothing),
    "section": ("CLAUDE.md#B", nothing),
    "inner section": ("CLAUDE.md#c", nothing),
    "last section": ("CLAUDE.md#D", nothing),
    "whole document as a section": ("CLAUDE.md#A", nothing),
    "hook": ("check", lambda repo: repo.write(".claude/hooks/check.sh", "x", executable=True)),
    "server": ("db", lambda repo: repo.write(".mcp.json", '{"mcpServers": {"db": {"command": "x"}}}\n')),
    "member": ("settings.json#/env/A", nothing),
    "object": ("settings.json#/hooks", nothing),
    "item": ("settings.json#/permissions/allow/1", nothing),
    "files": ("m", manifest('files = [".claude/skills/**", "CLAUDE.md"]\n')),
    "block": ("m", block),
    "json": (
        "m",
        manifest(
            '[[json]]\nfile = ".claude/settings.json"\nmerge = {env = {A = "1"}, permissions = {allow = ["Edit"]}}\n'
        ),
    ),
}


def normal(tree: Tree) -> dict[str, object]:
    """The tree with JSON files as what they hold: an entry that is put in anew stands last."""
    return {path: json.loads(data) if path.endswith(".json") else (mode, data) for path, (mode, data) in tree.items()}


def commit_without(repo: Repo, found: Cohorts) -> None:
    """Commit WITHOUT's tree; the checkout keeps its files."""
    files = {path: (repo.path / path).read_bytes() for path in found.base}
    modes = {path: (repo.path / path).stat().st_mode for path in found.base}
    for path in found.base:
        if path in found.without:
            repo.write(path, found.without[path][1])
        else:
            (repo.path / path).unlink()
    repo.commit("without")
    for path, data in files.items():
        repo.write(path, data).chmod(modes[path])


@pytest.mark.parametrize("kind", KINDS)
def test_a_base_that_lacks_it_gives_the_same_cohorts(repo: Repo, kind: str) -> None:
    name, make = KINDS[kind]
    repo.write("CLAUDE.md", RULES)
    repo.write(".claude/settings.json", SETTINGS)
    repo.write(".claude/skills/tidy/SKILL.md", "---\nname: tidy\n---\n")
    make(repo)
    repo.commit()
    had = cohorts(repo, name)
    assert {path for path, file in had.treatment.with_.items() if file is not None} == set()
    assert had.treatment.without
    commit_without(repo, had)
    lacked = cohorts(repo, name)
    assert {path for path in lacked.treatment.without if path != MANIFEST} == set()
    assert normal(lacked.without) == normal(had.without)
    assert normal(lacked.with_) == normal(had.with_)
    assert lacked.treatment.plan.digest == had.treatment.plan.digest

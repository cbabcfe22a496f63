"""The skills that let an agent drive kcut: every command in them runs, and ends as its comment says.

Placeholders in commands are words in capitals. The rule: each stands for the value in PLACEHOLDERS, which is what the
prepared repository holds. A comment `# exit 0: ..., 1: ...` behind a command names every exit code it may end with.
"""

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from kcut.cli import COMMANDS, app
from tests.conftest import Kcut, Repo

SKILLS = Path(__file__).parent.parent / ".claude" / "skills"
NAMES = ("benchmark", "eval", "extract")
PLACEHOLDERS = {
    "NAME": "tidy-imports",
    "SLUG": "tidy-imports",
    "TASK": "./run.sh",
    "SPEC": "specs/tidy.md",
    "AGENT": "claude",
    "PROMPT": "task.md",
}
#: Where a program lies that stands in for the agent's CLI.
STAND_INS = Path(__file__).parent / "data" / "agents"
#: What the agent does: the work, if it has the skill.
DOES = "test ! -e .claude/skills/tidy-imports/SKILL.md || LC_ALL=C sort -u -o imports.txt imports.txt"

#: `sh` blocks, indented or not.
BLOCK = re.compile(r"^( *)```sh\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)

RUN = """\
#!/bin/sh
export LC_ALL=C
if [ "$HARNESS_COMPONENT_ENABLED" = 1 ]; then sort -u -o imports.txt imports.txt; fi
"""
SPEC = """\
# Tidy imports

- [ ] **AC-1 (no duplicates left):** no line stands there twice.
  ```eval
  test -z "$(sort imports.txt | uniq -d)"
  ```
- [ ] **AC-2 (nothing is lost):** both modules are still there.
  ```eval
  grep -q '^os$' imports.txt && grep -q '^sys$' imports.txt
  ```
"""
DRAFT = """\
---
name: tidy-imports
description: Put the imports of a module in order. Use when a module was changed.
---

1. Sort the imports.
2. Take out what stands there twice.
"""


@dataclass(frozen=True)
class Command:
    """One command of a skill, its placeholders filled in, and the exit codes that its comment names."""

    skill: str
    words: tuple[str, ...]
    exits: frozenset[int]

    @property
    def text(self) -> str:
        return shlex.join(self.words)


def commands_of(skill: str) -> list[Command]:
    """The commands in the fenced blocks of a skill, in their order."""
    found = []
    for _, block in BLOCK.findall((SKILLS / skill / "SKILL.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            command, _, comment = line.partition("#")
            exits = re.match(r" exit (\d+)", comment)
            assert exits is not None, f"{skill}: no exit code is named for: {line.strip()}"
            others = re.findall(r", (\d+):", comment)
            filled = tuple(PLACEHOLDERS.get(word, word) for word in shlex.split(command))
            assert filled[0] == "kcut"
            assert not any(re.fullmatch(r"[A-Z]+", word) for word in filled), f"{skill}: no value for {line.strip()}"
            found.append(Command(skill, filled[1:], frozenset(map(int, [exits[1], *others]))))
    return found


def options_of(name: str) -> set[str]:
    """Every spelling of every option of a command."""
    command = app.get_command(click.Context(app), name)
    assert command is not None
    return {spelling for param in command.params for spelling in param.opts}


@pytest.fixture
def tidy(repo: Repo) -> Repo:
    """A repository with a task, a spec, a draft, and imports that are not in order."""
    repo.write("run.sh", RUN, executable=True)
    repo.write("specs/tidy.md", SPEC)
    repo.write(".claude/skills-staging/tidy-imports/SKILL.md", DRAFT)
    repo.write("imports.txt", "sys\nos\nsys\n")
    repo.write("task.md", "Put imports.txt in order.\n")
    repo.commit("ready for the skills")
    return repo


def agent_that(does: str) -> dict[str, str]:
    """The environment in which `claude` is the stand-in, which does that."""
    return {"PATH": f"{STAND_INS}{os.pathsep}{os.environ['PATH']}", "AGENT_DOES": does}


#: What each command of a skill ends with in the prepared repository, in the order of the skill. None: with any code
#: that the skill names, because the machine decides (doctor).
ENDS: dict[str, list[int | None]] = {
    "benchmark": [None, 0, 0, 0, 0, 0, 0, 0],
    "eval": [0, 0, 1, 1],
    "extract": [2, 0, 0, 2, 0],
}


@pytest.mark.parametrize("skill", NAMES)
def test_every_command_runs(skill: str, tidy: Repo, kcut: Kcut) -> None:
    """In the order in which an agent would run them."""
    commands = commands_of(skill)
    assert len(commands) == len(ENDS[skill])
    for command, end in zip(commands, ENDS[skill], strict=True):
        done = kcut(*command.words, cwd=tidy.path, env=agent_that(DOES))
        told = f"kcut {command.text}\n{done.stdout}\n{done.stderr}"
        assert end in {None, done.returncode}, told
        assert done.returncode in command.exits, f"{skill}: its comment does not name exit {done.returncode}: {told}"


def test_the_other_ends_of_the_extract_skill(tidy: Repo, kcut: Kcut) -> None:
    """A component that does not help: the gate and the rubric say so with the codes that the skill names."""
    commands = {command.words[0]: command for command in commands_of("extract")}
    for name, end in (("gate", 2), ("benchmark", 1), ("gate", 1), ("rubric", 1)):
        assert kcut(*commands[name].words, cwd=tidy.path, env=agent_that("true")).returncode == end
        assert end in commands[name].exits


def test_an_agent_follows_eval_to_the_end(tidy: Repo, kcut: Kcut) -> None:
    """Once the work is done the same commands end on 0."""
    tidy.write("imports.txt", "os\nsys\n")
    for command in commands_of("eval"):
        assert kcut(*command.words, cwd=tidy.path).returncode == 0


@pytest.mark.parametrize("skill", NAMES)
def test_the_skills_pass_their_own_rubric(skill: str, kcut: Kcut, repo: Repo) -> None:
    """Frontmatter and numbered steps are as kcut asks of a draft; each is short."""
    path = SKILLS / skill / "SKILL.md"
    done = kcut("rubric", str(path), "--json", cwd=repo.path)
    document = json.loads(done.stdout)
    assert document["name"] == skill
    results = {item["id"]: item["result"] for item in document["items"]}
    assert (results["R1"], results["R2"]) == ("PASS", "PASS")
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("skill", NAMES)
def test_every_option_exists(skill: str) -> None:
    """Options in commands are their command's; options in the text are somebody's."""
    commands = commands_of(skill)
    known = {name: options_of(name) for name in {command.words[0] for command in commands}}
    for command in commands:
        used = {word for word in command.words[1:] if word.startswith("-")}
        assert used <= known[command.words[0]], f"kcut {command.text}"
    text = (SKILLS / skill / "SKILL.md").read_text(encoding="utf-8")
    for code in re.findall(r"`([^`\n]+)`", text):
        words = code.split()
        if words[0].startswith("--"):
            assert words[0] in set().union(*known.values()), code
        elif words[0] == "kcut":
            assert words[1] in COMMANDS, code

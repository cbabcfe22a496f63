"""What an adapter is: all that kcut knows of one agent CLI, as plain data and functions of plain data.

An adapter starts nothing and writes nothing: it says what is to be run with which files and variables, and what the
CLI's events mean. `kcut.agents.perform` does the rest, the same for every CLI.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kcut.agents.events import Kind, Run
from kcut.agents.report import Ending, Reading
from kcut.agents.values import mapping, text

#: A longer prompt is no argument any more: the kernel takes 128 KiB for one, and it goes in by stdin.
LONG_PROMPT = 100_000


@dataclass(frozen=True, slots=True)
class Component:
    """The component that a run is about. `names`: all that a CLI may know it by, its own name first.

    `unlisted`: it says of itself that a CLI's lists need not have it. `events`: those that
    a hook runs at, and no other hook of the project; None if that is not sure.
    """

    kind: str
    names: tuple[str, ...]
    unlisted: bool = False
    events: frozenset[str] | None = None

    @property
    def name(self) -> str:
        """The name that kcut knows it by."""
        return self.names[0]

    def among(self, listed: object) -> bool:
        """True if a list of names has it."""
        return isinstance(listed, list) and any(name in listed for name in self.names)

    def is_read(self, words: str) -> bool:
        """True if a path or a command names this skill's SKILL.md."""
        return any(
            re.search(rf"(?:^|[/\\\s'\"]){re.escape(name)}[/\\]+SKILL\.md\b", words) is not None
            for name in self.names
        )


@dataclass(frozen=True, slots=True)
class Errand:
    """What an agent is asked to do, and how. `resumes`: go on with the session of the round before.

    `session` is a UUID to give the session, where it is to be resumed later. `cwd` is where the agent works.
    """

    prompt: str
    cwd: Path
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    args: tuple[str, ...] = ()
    session: str | None = None
    resumes: bool = False

    @property
    def is_long(self) -> bool:
        """True if the prompt has to go in by stdin."""
        return len(os.fsencode(self.prompt)) > LONG_PROMPT


@dataclass(frozen=True, slots=True)
class Place:
    """The agent's own folders, empty when its first round begins: HOME, its configuration, temporary files."""

    home: Path
    config: Path
    temporary: Path


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: arguments after the program's path, variables to add, files to write first (path -> bytes).

    `feeds`: the prompt goes in by stdin; else stdin is empty.
    """

    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, bytes] = field(default_factory=dict)
    feeds: bool = False


@runtime_checkable
class Adapter(Protocol):
    """One agent CLI."""

    #: What `kcut agent NAME` calls it, the program that is looked for on the PATH, and how to get it.
    name: str
    program: str
    install: str
    #: True if a resumed session counts its usage from the session's beginning.
    cumulative: bool

    def launch(self, errand: Errand, place: Place, environ: Mapping[str, str]) -> Launch:
        """How to run it. UsageFault for what the CLI cannot do."""
        ...

    def credentials(self, environ: Mapping[str, str], home: Path, place: Place) -> Mapping[Path, Path]:
        """Files of the user's that let the CLI log in, copy -> original. They are copied where they are there."""
        ...

    def kind(self, event: dict[str, Any]) -> Kind | None:
        """What an event is in the CLI's stream, None if it is not one of its events."""
        ...

    def read(self, run: Run | None, ending: Ending, last_error: str) -> Reading:
        """The evidence in a run's events; `last_error` is the last line of stderr."""
        ...

    def shows(self, opening: dict[str, Any], component: Component) -> bool | None:
        """Whether the first event says that the component is there; None if it tells nothing of its kind."""
        ...

    def uses(self, event: dict[str, Any], component: Component) -> int | None:
        """How often an event uses the component; None if no event would tell for its kind."""
        ...

    def retries(self, event: dict[str, Any]) -> bool:
        """True for the notice of a request that failed and will be made again."""
        ...

    def retry_line(self, line: str) -> bool:
        """True for such a notice on stderr."""
        ...


def trusted_folder(cwd: Path) -> Path:
    """The root of the checkout that `cwd` lies in, else `cwd`: what CLIs take for the project."""
    return next((folder for folder in (cwd, *cwd.parents) if os.path.lexists(folder / ".git")), cwd)


def tool_calls(event: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Name and input of the tools that an assistant's message of the Anthropic kind calls."""
    if event.get("type") != "assistant":
        return []
    content = mapping(event.get("message")).get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return [
        (text(block.get("name")), mapping(block.get("input"))) for block in blocks if block.get("type") == "tool_use"
    ]

"""Any other agent: a command whose words hold the prompt.

No event of it is known; its outcome is told by its output alone, if that ends like one of the known CLIs'.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcut.agents.adapter import Component, Errand, Launch, Place
from kcut.agents.events import Kind, Run
from kcut.agents.report import Ending, Reading
from kcut.model.errors import UsageFault

NAME = "command"
PROMPT, PROMPT_FILE = "{prompt}", "{prompt_file}"


class Command:
    """The adapter of a command. The words of `Errand.args` are the command, its program first."""

    name = NAME
    program = ""
    install = ""
    cumulative = False

    def launch(self, errand: Errand, place: Place, environ: Mapping[str, str]) -> Launch:
        """The command with the prompt, or the path of a copy of it, in place of `{prompt}` and `{prompt_file}`."""
        if not errand.args:
            raise UsageFault("no command", remedy="kcut agent command --prompt TEXT -- CMD {prompt}")
        named = [f"--{name.replace('_', '-')}" for name in ("model", "effort", "max_turns") if getattr(errand, name)]
        if named:
            raise UsageFault(f"{named[0]} is for the known agent CLIs", remedy="give the command its own option")
        if not any(PROMPT in word or PROMPT_FILE in word for word in errand.args):
            raise UsageFault(
                "the command takes no prompt", remedy=f"write {PROMPT} or {PROMPT_FILE} where the command takes it"
            )
        file = place.config / "prompt.txt"
        values = {PROMPT: errand.prompt, PROMPT_FILE: str(file)}
        args = tuple(_filled(word, values) for word in errand.args)
        return Launch(args[1:], {}, {file: os.fsencode(errand.prompt)})

    def credentials(self, environ: Mapping[str, str], home: Path, place: Place) -> Mapping[Path, Path]:
        """None are known."""
        return {}

    def kind(self, event: dict[str, Any]) -> Kind | None:
        """No event is known."""
        return None

    def read(self, run: Run | None, ending: Ending, last_error: str) -> Reading:
        """Nothing is known but that it was started."""
        return Reading(NAME, terminal=True, responded=True, worked=True)

    def shows(self, opening: dict[str, Any], component: Component) -> bool | None:
        """Unknown."""
        return None

    def uses(self, event: dict[str, Any], component: Component) -> int | None:
        """Unknown."""
        return None

    def retries(self, event: dict[str, Any]) -> bool:
        """Unknown."""
        return False

    def retry_line(self, line: str) -> bool:
        """Unknown."""
        return False


def _filled(word: str, values: Mapping[str, str]) -> str:
    """The word with each placeholder replaced once: what a prompt holds is never replaced again."""
    for name in sorted(values, key=len, reverse=True):
        if name in word:
            before, _, after = word.partition(name)
            return _filled(before, values) + values[name] + _filled(after, values)
    return word

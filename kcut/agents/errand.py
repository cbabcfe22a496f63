"""How a trial has its agent run: the words of the command, and the brief that the agent itself never sees."""

import json
import re
import shlex
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from kcut.agents.brief import VARIABLE
from kcut.agents.place import write_private
from kcut.model.component import ComponentPlan
from kcut.model.plan import AgentPlan, OraclePlan, TextFile

#: A command that runs an agent by kcut, which reads the brief, and removes it before the agent starts.
RUNS_AGENT = re.compile(r"\bkcut\s+agent\s")
#: Names of the files that a trial writes beside the sidecar.
BRIEF, PROMPT = "brief.json", "prompt.md"


def agent_words(agent: AgentPlan) -> tuple[str, ...]:
    """The words after `kcut` that run the agent, without its prompt."""
    words = ["agent", agent.name]
    for option, value in (
        ("--model", agent.model),
        ("--effort", agent.effort),
        ("--max-turns", agent.max_turns),
        ("--executable", agent.executable),
    ):
        if value is not None:
            words += [option, str(value)]
    for arg in agent.args:
        words += ["--arg", arg]
    return tuple(words)


def task_line(agent: AgentPlan, prompt: TextFile) -> str:
    """The command that stands for the task: with the prompt's file, or its words."""
    said = ("--prompt-file", prompt.path) if prompt.path is not None else ("--prompt", prompt.text)
    return shlex.join(("kcut", *agent_words(agent), *said))


def argv(agent: AgentPlan, scratch: Path) -> tuple[str, ...]:
    """What a trial starts; its prompt lies in `scratch`. kcut is this one, whatever the worktree holds."""
    return (sys.executable, "-P", "-m", "kcut", *agent_words(agent), "--prompt-file", str(scratch / PROMPT))


def write_prompt(scratch: Path, prompt: str) -> None:
    """Write the prompt of a round where `argv` says. Raises OSError."""
    write_private(scratch / PROMPT, prompt.encode("utf-8", "surrogateescape"))


def write_brief(
    scratch: Path,
    *,
    component: ComponentPlan | None,
    present: bool,
    oracle: OraclePlan | None,
    number: int = 0,
) -> dict[str, str]:
    """Write the brief of a round; returns the variable that leads to it. Raises OSError.

    All rounds in one `scratch` have one session.
    """
    document = {
        "component": None if component is None else {"name": component.name, "kind": component.kind},
        "variables": [] if component is None else list(component.variables),
        "present": present,
        "oracle": list(_names(oracle)),
        "session": str(uuid.uuid5(uuid.NAMESPACE_URL, str(scratch))),
        "round": number,
    }
    write_private(scratch / BRIEF, json.dumps(document).encode())
    return {VARIABLE: str(scratch / BRIEF)}


def _names(oracle: OraclePlan | None) -> Sequence[str]:
    """What an agent that knew of the oracle would write: its path in the tree, and its own name."""
    if oracle is None:
        return ()
    name = Path(oracle.source).name
    # a plain word, such as `tests`, stands in many a sentence that has nothing to do with the oracle
    return (oracle.place,) if name.isalpha() and "/" in oracle.place else tuple(dict.fromkeys((oracle.place, name)))

"""opencode: how it is run, and the events of `opencode run --format json`.

There is no terminal event: a run ends with a step that asks for no further tool, or with an error. Costs and tokens
are those of its steps.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcut.agents.adapter import Component, Errand, Launch, Place
from kcut.agents.events import Kind, Run
from kcut.agents.faults import name_fault
from kcut.agents.report import Ending, Fault, Reading
from kcut.agents.values import amount, count, mapping, text
from kcut.model.errors import UsageFault
from kcut.model.outcome import Void
from kcut.model.trial import Tokens, Usage

NAME = "opencode"

KINDS = {"step_start": Kind.STEP, "text": Kind.STEP, "reasoning": Kind.STEP, "tool_use": Kind.STEP}
#: Errors of the model's own end: the agent ran.
RAN = frozenset({"MessageOutputLengthError"})
ERRORS = {"ProviderAuthError": Void.AUTH, "MessageAbortedError": Void.INTERRUPTED}
VARIABLES = dict.fromkeys(
    (
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
    ),
    "1",
)
#: Its providers that take a base URL from the environment here: variable -> provider, and what comes after the URL.
BASES = {"ANTHROPIC_BASE_URL": ("anthropic", "/v1"), "OPENAI_BASE_URL": ("openai", "")}
FOLDER = Path(".local", "share", "opencode")
CREDENTIALS = "auth.json"


class Opencode:
    """The adapter of opencode."""

    name = NAME
    program = "opencode"
    install = "npm install -g opencode-ai"
    cumulative = False

    def launch(self, errand: Errand, place: Place, environ: Mapping[str, str]) -> Launch:
        """`opencode run`; its configuration is a variable, and its data lie in HOME."""
        if errand.max_turns is not None:
            raise UsageFault("opencode has no limit of turns", remedy="limit its time with --timeout")
        args = ["run", "--format", "json", "--auto"]
        for flag, value in (("-m", errand.model), ("--variant", errand.effort)):
            args += [] if value is None else [flag, value]
        args += ["--continue"] if errand.resumes else []
        args += errand.args
        if not errand.is_long:
            args += ["--", errand.prompt]
        bases = {
            provider: {"options": {"baseURL": url.rstrip("/") + rest}}
            for name, (provider, rest) in BASES.items()
            if (url := environ.get(name))
        }
        configuration = {"autoupdate": False, "share": "disabled", "provider": bases}
        env = VARIABLES | {"OPENCODE_CONFIG_CONTENT": json.dumps(configuration)}
        return Launch(tuple(args), env, feeds=errand.is_long)

    def credentials(self, environ: Mapping[str, str], home: Path, place: Place) -> Mapping[Path, Path]:
        """The file of its logins; keys in variables go before it."""
        data = environ.get("XDG_DATA_HOME")
        folder = Path(data, "opencode") if data else home / FOLDER
        return {place.home / FOLDER / CREDENTIALS: folder / CREDENTIALS}

    def kind(self, event: dict[str, Any]) -> Kind | None:
        """What an event is in opencode's stream, None if it is not one of its events."""
        if not isinstance(event.get("sessionID"), str):
            return None
        name = text(event.get("type"))
        if name == "error":
            return Kind.TERMINAL if isinstance(event.get("error"), dict) else None
        if not isinstance(event.get("part"), dict):
            return None
        if name == "step_finish":
            return Kind.STEP if mapping(event["part"]).get("reason") == "tool-calls" else Kind.TERMINAL
        return KINDS.get(name)

    def read(self, run: Run | None, ending: Ending, last_error: str) -> Reading:
        """The evidence in a run's events."""
        if run is None:
            return Reading(NAME)
        end = run.terminal if run.terminal is run.events[-1] else None
        steps = [mapping(event.get("part")) for event in run.events if event.get("type") == "step_finish"]
        worked = any(event.get("type") in {"text", "tool_use", "step_finish"} for event in run.events)
        failed = end is not None and end.get("type") == "error"
        usage = Usage(is_error=failed if end else None)
        if steps and not run.cut:
            usage = _usage(steps, is_error=usage.is_error)
        return Reading(
            NAME,
            terminal=end is not None,
            responded=worked or run.cut,
            worked=worked,
            fault=_fault(mapping(end.get("error"))) if end is not None and failed else None,
            usage=usage,
        )

    def shows(self, opening: dict[str, Any], component: Component) -> bool | None:
        """Its events list no components."""
        return None

    def uses(self, event: dict[str, Any], component: Component) -> int | None:
        """Skills that were loaded or read, subagents that were started, and calls of the server's tools."""
        part = mapping(event.get("part")) if event.get("type") == "tool_use" else {}
        tool, given = text(part.get("tool")), mapping(mapping(part.get("state")).get("input"))
        if component.kind in {"skill", "draft"}:
            if tool == "skill":
                return int(given.get("name") in component.names)
            return int(tool in {"read", "bash"} and component.is_read(json.dumps(given)))
        if component.kind == "agent":
            return int(tool == "task" and given.get("subagent_type") in component.names)
        if component.kind == "mcp":
            return int(any(tool.startswith(f"{name}_") for name in component.names))
        return None

    def retries(self, event: dict[str, Any]) -> bool:
        """It says nothing of them."""
        return False

    def retry_line(self, line: str) -> bool:
        """It says nothing of them."""
        return False


def _fault(error: dict[str, Any]) -> Fault | None:
    name, data = text(error.get("name")), mapping(error.get("data"))
    if name in RAN:
        return None
    if name in ERRORS:
        return Fault(ERRORS[name], f"error {name}")
    headers = mapping(data.get("responseHeaders"))
    wait = f" retry-after: {headers['retry-after']}" if isinstance(headers.get("retry-after"), str) else ""
    body = text(data.get("responseBody"))
    return name_fault(status=count(data.get("statusCode")), message=text(data.get("message")) + wait + " " + body)


def _usage(steps: list[dict[str, Any]], *, is_error: bool | None) -> Usage:
    """The sums over the steps; unknown if a step does not tell. Reasoning is output, as it is paid."""
    costs = [amount(step.get("cost")) for step in steps]
    total: Tokens | None = Tokens(0, 0)
    for step in steps:
        tokens = mapping(step.get("tokens"))
        cache = mapping(tokens.get("cache"))
        input_, output = count(tokens.get("input")), count(tokens.get("output"))
        if total is None or input_ is None or output is None:
            total = None
            continue
        reasoning, read_, written = (
            count(value) or 0 for value in (tokens.get("reasoning"), cache.get("read"), cache.get("write"))
        )
        total += Tokens(input_, output + reasoning, read_, written)
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) if len(known) == len(costs) else None
    return Usage(cost_usd=cost, tokens=total, turns=len(steps), is_error=is_error)

"""Claude Code: how it is run, its events (`--output-format json` and `stream-json`), what its `result` event says.

`subtype` is "success" on API errors as well and the exit code can be 0 on any of them, so neither decides.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kcut.agents.adapter import Component, Errand, Launch, Place, tool_calls
from kcut.agents.events import Kind, Run
from kcut.agents.faults import name_fault
from kcut.agents.mcp import project_servers
from kcut.agents.report import Ending, Fault, Reading
from kcut.agents.values import amount, count, label, mapping, text
from kcut.model.outcome import Void
from kcut.model.trial import Tokens, Usage

NAME = "claude"

#: Keys of a `result` event; a foreign object with the same `type` has none of them.
RESULT_KEYS = frozenset(
    {"session_id", "total_cost_usd", "usage", "modelUsage", "num_turns", "duration_api_ms", "terminal_reason"}
)
INIT_KEYS = frozenset({"tools", "mcp_servers", "claude_code_version", "permissionMode", "model", "cwd"})
#: What of a `result` says whether a model answered.
ECONOMY = ("usage", "modelUsage", "total_cost_usd")

#: The notice of a request that failed and will be made again.
RETRY = "api_retry"
#: The model that the CLI names as the author of its own messages.
SYNTHETIC = "<synthetic>"
#: Ways to run in which a refused tool call is what was asked for.
RESTRICTED_MODES = frozenset({"acceptEdits", "plan", "dontAsk", "auto"})

#: Ends at a limit, of the model or of the run: the agent ran.
LIMITS = frozenset({"error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"})
RAN = {"stop_reason": frozenset({"refusal"}), "api_error": frozenset({"max_output_tokens"}), "subtype": LIMITS}
#: `terminal_reason` of runs that were stopped, or that held more than the model takes.
TERMINAL_REASONS = {
    "aborted_tools": Void.INTERRUPTED,
    "aborted_streaming": Void.INTERRUPTED,
    "prompt_too_long": Void.PROMPT_TOO_LONG,
    "blocking_limit": Void.PROMPT_TOO_LONG,
}
#: How the CLI's own error messages begin.
OWN_MESSAGE = re.compile(r"(?:[\w' ./-]{1,60}(?:\.| ·) )?API Error\b")
OVERFLOW = re.compile(r"exceeded the \d+ output token maximum")


def kind(event: dict[str, Any]) -> Kind | None:
    """What an event is in Claude Code's stream, None if it is not one of its events."""
    name = event.get("type")
    if name == "result":
        known = isinstance(event.get("subtype"), str) and isinstance(event.get("is_error"), bool)
        return Kind.TERMINAL if known and RESULT_KEYS & event.keys() else None
    if not isinstance(event.get("session_id"), str):
        return None
    if name == "system" and event.get("subtype") == "init" and INIT_KEYS & event.keys():
        return Kind.OPEN
    if name in {"assistant", "user"} and isinstance(mapping(event.get("message")).get("role"), str):
        return Kind.STEP
    if event.get("subtype") == RETRY:
        return Kind.STEP
    return Kind.WEAK if isinstance(name, str) and isinstance(event.get("uuid"), str) else None


def read(run: Run | None) -> Reading:
    """The evidence in a run's events."""
    if run is None:
        return Reading(NAME)
    events, result = run.events, run.terminal or {}
    opening = next((event for event in events if event.get("subtype") == "init"), {})
    usage = _usage(result, opening, events)
    answered = any(map(_answers, events)) or (run.cut and not result)
    if result and not any(key in result for key in ECONOMY):
        answered = answered or (len(events) == 1 and result.get("is_error") is False)
    responded = answered or bool(usage.cost_usd) or bool(usage.tokens and usage.tokens.output)
    denials = result.get("permission_denials")
    return Reading(
        NAME,
        terminal=run.terminal is not None,
        responded=responded,
        worked=responded,
        denials=len(denials)
        if isinstance(denials, list) and opening.get("permissionMode") not in RESTRICTED_MODES
        else 0,
        fault=_fault(result, events, responded=responded),
        retrying=bool(events) and events[-1].get("subtype") == RETRY,
        usage=usage,
    )


def _answers(event: dict[str, Any]) -> bool:
    """A model wrote this event; the CLI's own error messages look the same but for their author."""
    if event.get("type") == "stream_event":
        return True
    message = mapping(event.get("message"))
    return (
        event.get("type") == "assistant"
        and message.get("model") != SYNTHETIC
        and not event.get("error")
        and not event.get("isApiErrorMessage")
        and bool(message.get("content"))
    )


def _fault(result: dict[str, Any], events: tuple[dict[str, Any], ...], *, responded: bool) -> Fault | None:
    if result.get("is_error") is not True:
        return None if result else _last_error(events)
    if any(result.get(key) in ends for key, ends in RAN.items() if isinstance(result.get(key), str)):
        return None
    message = _own_message(result, responded=responded)
    if OVERFLOW.search(message):
        return None
    status = count(result.get("api_error_status"))
    if status is not None:
        message = message or text(result.get("result"))
        if (fault := name_fault(status=status, kind=text(result.get("api_error_type")), message=message)) is not None:
            return fault
    if reason := TERMINAL_REASONS.get(text(result.get("terminal_reason"))):
        return Fault(reason, f"terminal_reason {result['terminal_reason']}")
    named = text(result.get("api_error_type")) or text(result.get("api_error"))
    if fault := name_fault(kind=named, message=message) or _last_error(events):
        return fault
    if OWN_MESSAGE.match(message) or (responded and result.get("terminal_reason") == "api_error"):
        # of an API error without a status no more is known: the request got no whole reply
        return Fault(Void.CONNECTION, "an API error without a status")
    return None


def _own_message(result: dict[str, Any], *, responded: bool) -> str:
    """The CLI's own error message; empty where the text may be a model's."""
    if isinstance(lines := result.get("errors"), list) and "result" not in result:
        return "" if responded else "\n".join(line for line in lines[:5] if isinstance(line, str))
    message = text(result.get("result"))
    own = result.get("stop_reason") == "stop_sequence" and OWN_MESSAGE.match(message)
    return message if own or not responded else ""


def _last_error(events: tuple[dict[str, Any], ...]) -> Fault | None:
    """The fault of the last error that the stream reports before its end."""
    for event in reversed(events):
        if event.get("subtype") == RETRY or (event.get("type") == "assistant" and event.get("error")):
            return name_fault(status=count(event.get("error_status")), kind=text(event.get("error")))
        if _answers(event):
            break
    return None


def _usage(result: dict[str, Any], opening: dict[str, Any], events: tuple[dict[str, Any], ...]) -> Usage:
    error = result.get("is_error")
    return Usage(
        cost_usd=amount(result.get("total_cost_usd")),
        tokens=_tokens(result),
        turns=count(result.get("num_turns")),
        duration_ms=amount(result.get("duration_ms")),
        is_error=error if isinstance(error, bool) else None,
        model=next((name for name in map(label, _models(result, opening, events)) if name), None),
        agent_version=label(opening.get("claude_code_version")),
    )


def _tokens(result: dict[str, Any]) -> Tokens | None:
    """The sums over `modelUsage`, which agree with the cost; `usage` counts streams that broke off and leaves
    out the last message of a run that its budget stopped."""
    sums = [0, 0, 0, 0]
    keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    models = [entry for entry in mapping(result.get("modelUsage")).values() if isinstance(entry, dict)]
    counts = [[count(entry.get(key)) for key in keys] for entry in models]
    if counts and all(row[0] is not None and row[1] is not None for row in counts):
        for row in counts:
            sums = [total + (value or 0) for total, value in zip(sums, row, strict=True)]
        return Tokens(*sums)
    usage = mapping(result.get("usage"))
    input_, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if input_ is None or output is None:
        return None
    read_, created = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Tokens(input_, output, read_ or 0, created or 0)


def _models(result: dict[str, Any], opening: dict[str, Any], events: tuple[dict[str, Any], ...]) -> Iterator[str]:
    """Names of the model that ran, the surest first; the mark of a long context (`[1m]`) is left out."""
    yield text(opening.get("model")).partition("[")[0]
    spent = mapping(result.get("modelUsage"))
    for name in sorted(spent, key=lambda name: -(amount(mapping(spent[name]).get("costUSD")) or 0)):
        yield name.partition("[")[0]
    for event in events:
        if _answers(event):
            yield text(mapping(event.get("message")).get("model"))


#: The same for both cohorts. Without the first three it calls home whatever the base URL is.
VARIABLES = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
}
FLAGS = (
    *("--output-format", "stream-json", "--verbose", "--include-hook-events", "--dangerously-skip-permissions"),
    *("--setting-sources", "project", "--strict-mcp-config"),
)
#: Variables that log it in without a file.
KEYS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
)
CREDENTIALS = ".credentials.json"
#: Where the first event lists the components of a kind.
LISTS = {"skill": ("skills",), "draft": ("skills",), "agent": ("agents",), "command": ("slash_commands", "skills")}


class Claude:
    """The adapter of Claude Code."""

    name = NAME
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"
    cumulative = True

    def launch(self, errand: Errand, place: Place, environ: Mapping[str, str]) -> Launch:
        """Its print mode, with a configuration folder of its own; of settings only the project's count.

        MCP servers are those that the project's .mcp.json files name, by a file that is there in both cohorts.
        """
        servers = place.config / "mcp.json"
        args = ["-p", *FLAGS, "--mcp-config", str(servers)]
        for flag, value in (
            ("--model", errand.model),
            ("--effort", errand.effort),
            ("--max-turns", errand.max_turns),
        ):
            if value is not None:
                args += [flag, str(value)]
        if errand.session is None:
            args.append("--no-session-persistence")
        else:
            args += ["--resume" if errand.resumes else "--session-id", errand.session]
        args += errand.args
        if not errand.is_long:
            args += ["--", errand.prompt]
        env = VARIABLES | {
            "CLAUDE_CONFIG_DIR": str(place.config),
            "CLAUDE_CODE_MAX_RETRIES": environ.get("CLAUDE_CODE_MAX_RETRIES", "1"),
        }
        if os.geteuid() == 0:
            env["IS_SANDBOX"] = "1"  # without it the CLI refuses to skip permissions as root
        return Launch(tuple(args), env, {servers: project_servers(errand.cwd)}, feeds=errand.is_long)

    def credentials(self, environ: Mapping[str, str], home: Path, place: Place) -> Mapping[Path, Path]:
        """The file of a login, unless a variable logs it in."""
        if any(environ.get(name) for name in KEYS):
            return {}
        folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
        return {place.config / CREDENTIALS: folder / CREDENTIALS}

    def kind(self, event: dict[str, Any]) -> Kind | None:
        """See `kind`."""
        return kind(event)

    def read(self, run: Run | None, ending: Ending, last_error: str) -> Reading:
        """See `read`."""
        return read(run)

    def shows(self, opening: dict[str, Any], component: Component) -> bool | None:
        """Whether `init` lists it; an MCP server has to be connected."""
        if component.kind == "mcp":
            servers = opening.get("mcp_servers")
            if not isinstance(servers, list):
                return None
            connected = [mapping(server) for server in servers if mapping(server).get("status") == "connected"]
            return component.among([server.get("name") for server in connected])
        lists = [opening[key] for key in LISTS.get(component.kind, ()) if isinstance(opening.get(key), list)]
        if any(map(component.among, lists)):
            return True
        return False if lists and not component.unlisted else None

    def uses(self, event: dict[str, Any], component: Component) -> int | None:
        """Calls of a skill (or reads of its file), a command, a subagent, a server's tools; a hook's sure runs."""
        if component.kind == "hook":
            if component.events is None:
                return None
            return int(event.get("subtype") == "hook_response" and event.get("hook_event") in component.events)
        used = USES.get(component.kind)
        return None if used is None else sum(used(name, given, component) for name, given in tool_calls(event))

    def retries(self, event: dict[str, Any]) -> bool:
        """`api_retry`."""
        return event.get("subtype") == RETRY

    def retry_line(self, line: str) -> bool:
        """It says nothing of them on stderr."""
        return False


def _uses_skill(tool: str, given: dict[str, Any], component: Component) -> bool:
    if tool in {"Skill", "SlashCommand"}:
        word = (text(given.get("skill")) or text(given.get("command"))).removeprefix("/").partition(" ")[0]
        return word in component.names
    return tool in {"Read", "Bash"} and component.is_read(text(given.get("file_path")) or text(given.get("command")))


def _uses_agent(tool: str, given: dict[str, Any], component: Component) -> bool:
    return tool in {"Agent", "Task"} and text(given.get("subagent_type")) in component.names


def _uses_server(tool: str, _given: dict[str, Any], component: Component) -> bool:
    return any(tool.startswith(f"mcp__{re.sub(r'[^A-Za-z0-9_-]', '_', name)}__") for name in component.names)


USES = {
    "skill": _uses_skill,
    "draft": _uses_skill,
    "command": _uses_skill,
    "agent": _uses_agent,
    "mcp": _uses_server,
}

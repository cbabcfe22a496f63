"""Gemini CLI: how it is run, the events of `--output-format stream-json`, and the one document of `json`.

An API error ends with exit code `status & 255`; with `json` its document stands at the end of stderr. Error
types are mostly "unknown", and the provider's own error is JSON inside the message.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcut.agents.adapter import Component, Errand, Launch, Place
from kcut.agents.events import Kind, Run
from kcut.agents.faults import by_rules, name_fault, rules
from kcut.agents.report import Ending, Fault, Reading
from kcut.agents.values import DECODER, amount, count, label, mapping, text
from kcut.model.errors import UsageFault
from kcut.model.outcome import Void
from kcut.model.trial import Tokens, Usage

NAME = "gemini"

STATS_KEYS = frozenset({"total_tokens", "input_tokens", "output_tokens", "tool_calls", "duration_ms", "models"})
STEPS = {"tool_use": "tool_id", "tool_result": "tool_id"}
WEAK = {"message": "role", "error": "severity"}

#: The CLI's own error types; None: the agent ran and met a limit or a failing tool.
ERROR_TYPES: dict[str, Void | None] = {
    "FatalTurnLimitedError": None,
    "FatalToolExecutionError": None,
    "FatalAuthenticationError": Void.AUTH,
    "FatalInputError": Void.STARTUP,
    "FatalSandboxError": Void.STARTUP,
    "FatalConfigError": Void.STARTUP,
    "FatalUntrustedWorkspaceError": Void.STARTUP,
    "FatalCancellationError": Void.INTERRUPTED,
}
#: Its exit codes before there is any event.
EXITS = {41: Void.AUTH, 42: Void.STARTUP, 44: Void.STARTUP, 52: Void.STARTUP, 55: Void.STARTUP}
#: Exit codes that are `status & 255` of an HTTP status. None of them is a signal's.
HTTP_EXITS = {status & 255: status for status in (400, 401, 403, 404, 429, 500, 502, 503, 504, 529)}

LIMIT = rules((r"max(imum)? session turns|loop detected", Void.STARTUP))
RETRY = re.compile(r"Attempt \d+ failed\b.*\bRetrying\b", re.DOTALL)


def kind(event: dict[str, Any]) -> Kind | None:
    """What an event is in Gemini CLI's output, None if it is not one of its events."""
    name = event.get("type")
    if name is None:
        return Kind.TERMINAL if _document(event) else None
    if not isinstance(name, str):
        return None
    if name == "init":
        told = isinstance(event.get("model"), str) or isinstance(event.get("timestamp"), str)
        return Kind.OPEN if told and isinstance(event.get("session_id"), str) else None
    if name == "result":
        stats = event.get("stats")
        own = isinstance(stats, dict) and bool(STATS_KEYS & stats.keys() or isinstance(event.get("timestamp"), str))
        return Kind.TERMINAL if own and event.get("status") in {"success", "error"} else None
    if name in STEPS:
        return Kind.STEP if isinstance(event.get(STEPS[name]), str) else None
    if name in WEAK and isinstance(event.get("timestamp"), str):
        return Kind.WEAK if isinstance(event.get(WEAK[name]), str) else None
    return None


def _document(event: dict[str, Any]) -> bool:
    """Whether an object is the one document of `--output-format json`."""
    if isinstance(mapping(event.get("stats")).get("models"), dict) and ("response" in event or "error" in event):
        return True
    error = mapping(event.get("error"))
    named = isinstance(error.get("type"), str) and isinstance(error.get("message"), str)
    return named and isinstance(event.get("session_id"), str)


def read(run: Run | None, ending: Ending, stderr: str = "") -> Reading:
    """The evidence in a run's events, its exit code and the last line of its stderr."""
    events = run.events if run else ()
    end = (run.terminal if run else None) or {}
    stats = mapping(end.get("stats"))
    tokens = _tokens(stats)
    document = bool(end) and "type" not in end
    answered = any(map(_answers, events)) or (run is not None and run.cut and not document)
    output = bool(tokens and tokens.output)
    failed = "error" in end or end.get("status") == "error"
    opening = next((event for event in events if event.get("type") == "init"), {})
    return Reading(
        NAME,
        terminal=bool(end),
        responded=answered or output,
        worked=answered or bool(count(stats.get("tool_calls"))) or (document and output),
        fault=_fault(end, events, ending) if failed or not end else None,
        retrying=RETRY.search(stderr) is not None,
        usage=Usage(
            tokens=tokens,
            duration_ms=amount(stats.get("duration_ms")) or None,  # 0 where a failing run did not measure it
            is_error=failed if end else None,
            model=label(opening.get("model")) or _model(stats),
        ),
    )


def _answers(event: dict[str, Any]) -> bool:
    if event.get("type") == "message":
        return event.get("role") == "assistant" and bool(event.get("content"))
    return event.get("type") == "tool_use"


def _fault(end: dict[str, Any], events: tuple[dict[str, Any], ...], ending: Ending) -> Fault | None:
    code = ending.exit_code
    if not end:
        reason = EXITS.get(code) if code is not None else None
        return Fault(reason, f"exit code {code}") if reason else _by_exit(code)
    error = mapping(end.get("error"))
    name = text(error.get("type"))
    if name in ERROR_TYPES:
        reason = ERROR_TYPES[name]
        return Fault(reason, f"error type {name}") if reason else None
    message = text(error.get("message"))
    if not message:
        told = (text(event.get("message")) for event in reversed(events) if event.get("type") == "error")
        message = next(told, "")
    if by_rules(LIMIT, message):
        return None
    status, label_, detail = _provider_error(message, count(error.get("code")))
    fault = name_fault(status=status, kind=label_, message=detail) or _by_exit(code)
    if fault is None and (not message or message.startswith("[API Error")):
        # an API error of which no more is known is a reply that was empty or broke off
        return Fault(Void.SERVER_ERROR, "an API error without a reason")
    return fault


def _by_exit(code: int | None) -> Fault | None:
    return name_fault(status=HTTP_EXITS.get(code)) if code is not None else None


def _provider_error(message: str, status: int | None) -> tuple[int | None, str, str]:
    """The provider's HTTP status, its name and message: from the JSON in an error's message, else its first line.

    After the first line the CLI gives advice, in words that other errors consist of.
    """
    name, detail = "", message.partition("\n")[0]
    for _ in range(3):
        start = message.find("{")
        try:
            document = DECODER.raw_decode(message[start : start + 20_000])[0] if start >= 0 else None
        except (ValueError, RecursionError):
            break
        error = mapping(mapping(document).get("error"))
        if not error:
            break
        status = count(error.get("code")) or status
        name = text(error.get("status")) or name
        message = text(error.get("message"))
        detail = f"{message} {error.get('details', '')}"
    return status, name, detail


def _tokens(stats: dict[str, Any]) -> Tokens | None:
    """Sums over the models. Cached tokens are part of the prompt; here they are apart."""
    if "input_tokens" in stats:
        rows = [(stats.get("input_tokens"), stats.get("output_tokens"), None, stats.get("cached"))]
    else:
        counts = [mapping(mapping(entry).get("tokens")) for entry in mapping(stats.get("models")).values()]
        rows = [(row.get("prompt"), row.get("candidates"), row.get("thoughts"), row.get("cached")) for row in counts]
    total = Tokens(0, 0)
    for prompt, candidates, thoughts, cached in rows:
        input_, output, read_ = count(prompt), count(candidates), count(cached) or 0
        if input_ is None or output is None:
            return None
        total += Tokens(max(0, input_ - read_), output + (count(thoughts) or 0), read_)
    return total if rows else None


def _model(stats: dict[str, Any]) -> str | None:
    models = [name for name in mapping(stats.get("models")) if label(name)]
    return models[0] if len(models) == 1 else None


VARIABLES = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
FLAGS = ("--output-format", "stream-json", "--yolo")
FOLDER = ".gemini"
CREDENTIALS = "oauth_creds.json"
SKILL_TOOLS = frozenset({"activate_skill"})
READERS = frozenset({"read_file", "read_many_files", "run_shell_command"})


class Gemini:
    """The adapter of Gemini CLI."""

    name = NAME
    program = "gemini"
    install = "npm install -g @google/gemini-cli"
    cumulative = False

    def launch(self, errand: Errand, place: Place, environ: Mapping[str, str]) -> Launch:
        """Its headless mode; its configuration lies in HOME."""
        if errand.effort is not None:
            raise UsageFault("gemini has no --effort", remedy="choose a model instead")
        settings: dict[str, Any] = {
            "security": {"auth": {"selectedType": _login(environ)}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "maxAttempts": 1},
        }
        if errand.max_turns is not None:
            settings["model"] = {"maxSessionTurns": errand.max_turns}
        args = [*(() if errand.model is None else ("-m", errand.model)), *FLAGS]
        if errand.session is not None:
            args += ["--resume", "latest"] if errand.resumes else ["--session-id", errand.session]
        args += errand.args
        if not errand.is_long:
            args.append(f"--prompt={errand.prompt}")
        files = {place.home / FOLDER / "settings.json": json.dumps(settings).encode()}
        return Launch(tuple(args), VARIABLES, files, feeds=errand.is_long)

    def credentials(self, environ: Mapping[str, str], home: Path, place: Place) -> Mapping[Path, Path]:
        """The file of a login, unless a variable logs it in."""
        if _login(environ) != "oauth-personal":
            return {}
        return {place.home / FOLDER / CREDENTIALS: home / FOLDER / CREDENTIALS}

    def kind(self, event: dict[str, Any]) -> Kind | None:
        """See `kind`."""
        return kind(event)

    def read(self, run: Run | None, ending: Ending, last_error: str) -> Reading:
        """See `read`."""
        return read(run, ending, last_error)

    def shows(self, opening: dict[str, Any], component: Component) -> bool | None:
        """Its events list no components."""
        return None

    def uses(self, event: dict[str, Any], component: Component) -> int | None:
        """Skills that were activated or read, and calls of the server's tools."""
        tool = text(event.get("tool_name")) if event.get("type") == "tool_use" else ""
        given = mapping(event.get("parameters"))
        if component.kind in {"skill", "draft"}:
            if tool in SKILL_TOOLS:
                return int(given.get("name") in component.names)
            return int(tool in READERS and component.is_read(json.dumps(given)))
        if component.kind == "mcp":
            return int(any(tool.startswith((f"mcp_{name}_", f"{name}__")) for name in component.names))
        return None

    def retries(self, event: dict[str, Any]) -> bool:
        """It says nothing of them in its events."""
        return False

    def retry_line(self, line: str) -> bool:
        """`Attempt N failed ... Retrying`."""
        return RETRY.search(line) is not None


def _login(environ: Mapping[str, str]) -> str:
    """How it logs in: the name that its settings have for it."""
    if environ.get("GOOGLE_GENAI_USE_VERTEXAI") == "true":
        return "vertex-ai"
    logged_in = Path(environ.get("HOME") or "/", FOLDER, CREDENTIALS).is_file()
    return "oauth-personal" if logged_in and not environ.get("GEMINI_API_KEY") else "gemini-api-key"

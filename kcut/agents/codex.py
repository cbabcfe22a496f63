"""Codex: how it is run, and the events of `codex exec --json`.

A turn ends in `turn.completed` or `turn.failed`, never in `error`.
It reports no cost, no number of turns and no duration; a failed turn has a message only.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kcut.agents.adapter import Component, Errand, Launch, Place, trusted_folder
from kcut.agents.events import Kind, Run
from kcut.agents.faults import name_fault
from kcut.agents.report import Ending, Fault, Reading
from kcut.agents.values import count, mapping, text
from kcut.model.errors import UsageFault
from kcut.model.trial import Tokens, Usage

NAME = "codex"

KINDS = {
    "thread.started": Kind.OPEN,
    "turn.started": Kind.TURN,
    "turn.completed": Kind.TERMINAL,
    "turn.failed": Kind.TERMINAL,
    "item.started": Kind.STEP,
    "item.updated": Kind.STEP,
    "item.completed": Kind.STEP,
    "error": Kind.WEAK,
}
#: The part of its own that each event must have, and its type.
PARTS: dict[str, tuple[str, type]] = {
    "thread.started": ("thread_id", str),
    "turn.completed": ("usage", dict),
    "turn.failed": ("error", dict),
    "item.started": ("item", dict),
    "item.updated": ("item", dict),
    "item.completed": ("item", dict),
    "error": ("message", str),
}
#: Items that the CLI itself writes: warnings about its configuration.
OWN_ITEMS = frozenset({"error"})
RETRY = re.compile(r"Reconnecting\b")


def kind(event: dict[str, Any]) -> Kind | None:
    """What an event is in Codex's stream, None if it is not one of its events."""
    name = text(event.get("type"))
    part, wanted = PARTS.get(name, ("type", str))
    return KINDS.get(name) if isinstance(event.get(part), wanted) else None


def read(run: Run | None) -> Reading:
    """The evidence in a run's events."""
    if run is None:
        return Reading(NAME)
    end = run.terminal or {}
    tokens = _tokens(mapping(end.get("usage")))
    worked = run.cut or any(map(_answers, run.events))
    failed = end.get("type") == "turn.failed"
    return Reading(
        NAME,
        terminal=run.terminal is not None,
        responded=worked or bool(tokens and tokens.output),
        worked=worked,
        fault=_fault(end, run) if failed or not end else None,
        retrying=RETRY.match(_error(run.events[-1])) is not None,
        usage=Usage(tokens=tokens, is_error=failed if end else None),
    )


def _answers(event: dict[str, Any]) -> bool:
    item = mapping(event.get("item"))
    return bool(item) and item.get("type") not in OWN_ITEMS


def _error(event: dict[str, Any]) -> str:
    return text(event.get("message")) if event.get("type") == "error" else ""


def _fault(end: dict[str, Any], run: Run) -> Fault | None:
    messages = [text(mapping(end.get("error")).get("message"))]
    messages += [message for event in reversed(run.events) if (message := _error(event))][:1]
    return next((fault for message in messages if message and (fault := name_fault(message=message))), None)


def _tokens(usage: dict[str, Any]) -> Tokens | None:
    """The thread's counts so far. Cached tokens are part of its `input_tokens`; here they are apart."""
    input_, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if input_ is None or output is None:
        return None
    cached, written = count(usage.get("cached_input_tokens")) or 0, count(usage.get("cache_write_input_tokens")) or 0
    return Tokens(max(0, input_ - cached - written), output, cached, written)


FLAGS = (
    *("--json", "--skip-git-repo-check"),
    *("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"),
)
KEYS = ("OPENAI_API_KEY", "CODEX_API_KEY")
CREDENTIALS = "auth.json"
OPENAI = "https://api.openai.com/v1"


class Codex:
    """The adapter of Codex."""

    name = NAME
    program = "codex"
    install = "npm install -g @openai/codex"
    cumulative = True

    def launch(self, errand: Errand, place: Place, environ: Mapping[str, str]) -> Launch:
        """`codex exec`, with a configuration of its own in which the project is trusted."""
        if errand.max_turns is not None:
            raise UsageFault("codex has no limit of turns", remedy="limit its time with --timeout")
        args = ["exec", *(("resume", "--last") if errand.resumes else ()), *FLAGS]
        if errand.session is None:
            args.append("--ephemeral")
        if errand.model is not None:
            args += ["-m", errand.model]
        if errand.effort is not None:
            args += ["-c", f"model_reasoning_effort={_quoted(errand.effort)}"]
        args += errand.args
        args += ["-"] if errand.is_long else ["--", errand.prompt]
        files = {place.config / "config.toml": _configuration(errand.cwd, environ).encode("utf-8", "replace")}
        return Launch(tuple(args), {"CODEX_HOME": str(place.config)}, files, feeds=errand.is_long)

    def credentials(self, environ: Mapping[str, str], home: Path, place: Place) -> Mapping[Path, Path]:
        """The file of a login, unless a variable logs it in."""
        if _key(environ) is not None:
            return {}
        folder = Path(environ.get("CODEX_HOME") or home / ".codex")
        return {place.config / CREDENTIALS: folder / CREDENTIALS}

    def kind(self, event: dict[str, Any]) -> Kind | None:
        """See `kind`."""
        return kind(event)

    def read(self, run: Run | None, ending: Ending, last_error: str) -> Reading:
        """See `read`."""
        return read(run)

    def shows(self, opening: dict[str, Any], component: Component) -> bool | None:
        """Its events list no components."""
        return None

    def uses(self, event: dict[str, Any], component: Component) -> int | None:
        """Commands that read the skill's file, and calls of the server's tools."""
        item = mapping(event.get("item")) if event.get("type") == "item.completed" else {}
        if component.kind in {"skill", "draft"}:
            return int(item.get("type") == "command_execution" and component.is_read(text(item.get("command"))))
        if component.kind == "mcp":
            return int(item.get("type") == "mcp_tool_call" and item.get("server") in component.names)
        return None

    def retries(self, event: dict[str, Any]) -> bool:
        """An `error` that says `Reconnecting`."""
        return RETRY.match(_error(event)) is not None

    def retry_line(self, line: str) -> bool:
        """It says nothing of them on stderr."""
        return False


def _key(environ: Mapping[str, str]) -> str | None:
    """The variable that holds its API key."""
    return next((name for name in KEYS if environ.get(name)), None)


def _configuration(cwd: Path, environ: Mapping[str, str]) -> str:
    """The text of its config.toml. Retries are off: kcut runs the trial again."""
    lines = ["check_for_update_on_startup = false"]
    key, base = _key(environ), environ.get("OPENAI_BASE_URL")
    if key or base:
        lines.append('model_provider = "kcut"')
    lines += ["[features]", "plugins = false", "apps = false", "[analytics]", "enabled = false"]
    lines += [f"[projects.{_quoted(str(trusted_folder(cwd)))}]", 'trust_level = "trusted"']
    if key or base:
        lines += ["[model_providers.kcut]", 'name = "kcut"', f"base_url = {_quoted(base or OPENAI)}"]
        lines += [f'env_key = "{key}"'] if key else []
        lines += ['wire_api = "responses"', "request_max_retries = 0", "stream_max_retries = 0"]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    """A basic string of TOML, which JSON's strings are as well once DEL is escaped."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")

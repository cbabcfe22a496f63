"""Outputs recorded from the real CLIs: every one is classified as it was, however it is laid out."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kcut.agents import classify, read_output
from kcut.model.outcome import Void
from kcut.model.trial import Tokens

FOLDER = Path(__file__).parent / "data" / "agents" / "recorded"
#: Runs that ended before the CLI printed any event: only who started the CLI knows that it ran.
WITHOUT_EVENTS = {"claude-h_badflag", "claude-h_root_nosandbox", "codex-cxe_badcfg", "gemini-ge_noauth"}


@dataclass(frozen=True)
class Recorded:
    name: str
    cli: str
    stdout: bytes
    stderr: bytes
    exit_code: int
    agent_ran: bool
    void: Void | None

    @property
    def has_events(self) -> bool:
        return self.name not in WITHOUT_EVENTS


def load(path: Path) -> Recorded:
    record: dict[str, Any] = json.loads(path.read_text())
    return Recorded(
        path.stem,
        record["cli"],
        record["stdout"].encode(),
        record["stderr"].encode(),
        record["exit_code"],
        record["agent_ran"],
        Void(record["void_reason"]) if record["void_reason"] else None,
    )


RECORDED = {path.stem: load(path) for path in sorted(FOLDER.glob("*.json"))}
every = pytest.mark.parametrize("run", RECORDED.values(), ids=lambda run: run.name)


def test_there_are_recorded_outputs() -> None:
    assert len(RECORDED) == 40
    assert RECORDED.keys() >= WITHOUT_EVENTS


@every
def test_classified_as_recorded(run: Recorded) -> None:
    report = classify(run.cli, run.stdout, run.stderr, run.exit_code)
    assert (report.cli, report.void) == (run.cli, run.void)
    assert (report.void is None) == run.agent_ran
    assert report.late == (run.name == "claude-f_500_t1_r0")


@every
def test_recognised_without_knowing_the_cli(run: Recorded) -> None:
    report = read_output(run.stdout, run.stderr, exit_code=run.exit_code)
    if run.has_events:
        assert report == classify(run.cli, run.stdout, run.stderr, run.exit_code)
    else:
        assert report is None


def shuffled(value: Any, order: random.Random) -> Any:
    """The same JSON value with the keys of its objects in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


def documents(text: bytes) -> list[Any]:
    return [json.loads(line) for line in text.decode().splitlines() if line.startswith("{")]


LAYOUTS = {
    "compact": lambda events: "\n".join(json.dumps(event, separators=(",", ":")) for event in events),
    "spaced, CRLF": lambda events: "\r\n".join(json.dumps(event) for event in events) + "\r\n\r\n",
    "pretty": lambda events: "\n".join(json.dumps(event, indent=2, ensure_ascii=False) for event in events) + "\n",
    "flat": lambda events: "\n".join(json.dumps(event, indent=0) for event in events) + "\n",
    "tabs": lambda events: "\n".join(json.dumps(event, indent="\t") for event in events) + "\n",
    "array": lambda events: json.dumps(events) + "\n",
    "pretty array": lambda events: json.dumps(events, indent=4) + "\n",
    "after other output": lambda events: "npm notice\n[1] x {\n" + "\n".join(map(json.dumps, events)) + "\n\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "run", [run for run in RECORDED.values() if run.stdout and run.has_events], ids=lambda run: run.name
)
def test_layout_does_not_matter(run: Recorded, layout: str) -> None:
    events = shuffled(documents(run.stdout), random.Random(run.name + layout))
    report = read_output(LAYOUTS[layout](events).encode(), run.stderr, exit_code=run.exit_code)
    assert report == classify(run.cli, run.stdout, run.stderr, run.exit_code)


@pytest.mark.parametrize(
    "run", [run for run in RECORDED.values() if run.stdout and run.has_events], ids=lambda run: run.name
)
@pytest.mark.parametrize("trailer", ["\ndone\n", '\n{"ok": true}\n', "\n\x1b[0m> tests passed\nbye"])
def test_what_a_task_prints_afterwards_does_not_hide_it(run: Recorded, trailer: str) -> None:
    report = read_output(run.stdout.rstrip() + trailer.encode(), run.stderr, exit_code=run.exit_code)
    assert report == classify(run.cli, run.stdout, run.stderr, run.exit_code)


def test_a_json_error_at_the_end_of_stderr() -> None:
    run = RECORDED["gemini-ge_401json"]
    assert not run.stdout.strip()
    report = read_output(b"building\n", run.stderr, exit_code=1)
    assert report is not None
    assert (report.cli, report.void) == ("gemini", Void.AUTH)


USAGE = {
    # name: cost, tokens, turns, duration, is_error, model, version
    "claude-basic_new": (0.015, Tokens(3000, 150), 3, 531, False, "claude-opus-5-5", None),
    "claude-basic_old": (0.018750000000000003, Tokens(3000, 150), 3, 345, False, "claude-opus-4-8", None),
    "claude-f_401_r0": (0, Tokens(0, 0), 1, 124, True, None, None),
    "claude-f_500_t1_r0": (0.005, Tokens(1000, 50), 2, 323, True, "claude-opus-5-5", None),
    # `usage` is 0 here: a run that its budget stopped counts its last message in the cost and `modelUsage` only
    "claude-h_budget_tiny": (0.005, Tokens(1000, 50), 1, 279, True, "claude-opus-5-5", None),
    "claude-kill_bash_INT_pid": (0.005, Tokens(1000, 50), 3, 2786, True, "claude-opus-5-5", "2.1.332"),
    "claude-h_badflag": (None, None, None, None, None, None, None),
    "codex-cx_basic": (None, Tokens(2000, 100), None, None, False, None, None),
    "codex-cxe_401": (None, None, None, None, True, None, None),
    "gemini-ge_ok": (None, Tokens(3000, 150), None, 423, False, "gemini-2.5-flash", None),
    "gemini-ge_maxturns": (None, Tokens(1000, 50), None, None, True, "gemini-2.5-flash", None),
    "gemini-ge_401json": (None, None, None, None, True, None, None),
    "gemini-gmk_TERM_group": (None, None, None, None, None, "gemini-2.5-flash", None),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage(name: str) -> None:
    run = RECORDED[name]
    usage = classify(run.cli, run.stdout, run.stderr, run.exit_code).usage
    assert (
        usage.cost_usd,
        usage.tokens,
        usage.turns,
        usage.duration_ms,
        usage.is_error,
        usage.model,
        usage.agent_version,
    ) == USAGE[name]

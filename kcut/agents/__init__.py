"""What is known of the agent CLIs: their terminal events, and what those say of a trial.

Decided on events and exit status alone. Text that a model wrote is never read for words.
"""

from dataclasses import replace
from pathlib import Path

from kcut.agents import claude, codex, envelope, gemini
from kcut.agents.adapter import Adapter
from kcut.agents.component import known_as
from kcut.agents.events import Kind, Run, Tail, find_run, read_tail, whole_run
from kcut.agents.outcome import decide
from kcut.agents.registry import BUILT_IN, find_adapter
from kcut.agents.report import AgentReport, Ending, Fault, Reading
from kcut.agents.sidecar import Sidecar, parse_sidecar, read_sidecar

__all__ = ["AgentReport", "Sidecar", "classify", "parse_sidecar", "read_output", "read_sidecar", "shown"]

#: The CLIs whose events are known wherever they stand.
KNOWN = {name: BUILT_IN[name] for name in (claude.NAME, codex.NAME, gemini.NAME)}


def read_output(
    stdout: bytes, stderr: bytes, *, exit_code: int | None, timed_out: bool = False, sent_signal: bool = False
) -> AgentReport | None:
    """The report of the agent CLI whose events end the output, or whose API error does; None if there is none.

    `stdout` and `stderr` are the last bytes of the task's output (1 MiB of each is enough), `exit_code` as the
    shell or subprocess has it. `sent_signal`: kcut told the task to stop. Any bytes are accepted.
    """
    ending = Ending(exit_code, timed_out, sent_signal)
    tails = (read_tail(stdout), read_tail(stderr))
    for tail in tails:
        runs = [(run.end, cli, run) for cli in KNOWN.values() if (run := find_run(tail, cli.kind)) is not None]
        if runs:
            _, cli, run = max(runs, key=lambda found: found[0])
            return decide(_read(cli, run, tails, ending), ending)
    if (fault := _envelope(tails, ending)) is not None:
        return decide(Reading(envelope.NAME, terminal=True, fault=fault), ending)
    return None


def shown(stdout: bytes, stderr: bytes, *, kind: str, name: str, cwd: Path) -> bool | None:
    """Whether the first event of the agent that ends the output lists a component.

    None if the output does not hold that event any more, or if the CLI tells nothing of the kind. `cwd` is where it
    ran.
    """
    for tail in (read_tail(stdout), read_tail(stderr)):
        for adapter in KNOWN.values():
            run = find_run(tail, adapter.kind)
            opening = next((event for event in run.events if adapter.kind(event) is Kind.OPEN), None) if run else None
            if opening is not None:
                return adapter.shows(opening, known_as(kind, name, cwd))
    return None


def classify(
    cli: str,
    stdout: bytes,
    stderr: bytes,
    exit_code: int | None,
    *,
    timed_out: bool = False,
    sent_signal: bool = False,
) -> AgentReport:
    """The report of a run of `cli` (claude, codex, gemini, or another adapter's name), which the caller started.

    Unlike `read_output` it needs no event to know that the CLI ran. UsageFault for a name that no adapter has.
    """
    adapter = find_adapter(cli)
    ending = Ending(exit_code, timed_out, sent_signal)
    tails = (read_tail(stdout), read_tail(stderr))
    for find in (find_run, whole_run):
        for tail in tails:
            if (run := find(tail, adapter.kind)) is not None:
                return decide(_read(adapter, run, tails, ending), ending)
    return decide(_read(adapter, None, tails, ending), ending)


def _read(adapter: Adapter, run: Run | None, tails: tuple[Tail, Tail], ending: Ending) -> Reading:
    reading = adapter.read(run, ending, tails[1].last_line())
    if not reading.terminal and (fault := _envelope(tails, ending)) is not None:
        reading = replace(reading, terminal=True, fault=fault)
    return reading


def _envelope(tails: tuple[Tail, Tail], ending: Ending) -> Fault | None:
    if not ending.failed:
        return None
    return next((fault for tail in tails if (fault := envelope.find_envelope(tail)) is not None), None)

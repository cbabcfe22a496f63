"""From evidence to outcome: one table for every CLI, and the first row that fits decides."""

from collections.abc import Callable
from typing import NamedTuple

from kcut.agents.report import AgentReport, Ending, Reading
from kcut.model.outcome import Void

#: Faults of the provider, or of the account with it: they void a trial at any turn.
PROVIDER = frozenset({Void.AUTH, Void.RATE_LIMIT, Void.OVERLOADED, Void.QUOTA, Void.SERVER_ERROR, Void.CONNECTION})


class Row(NamedTuple):
    """One row. `reason` None: the reason that the CLI itself gave, else `startup`."""

    fits: Callable[[Reading, Ending], bool]
    reason: Void | None
    why: str


def _denied(reading: Reading, _ending: Ending) -> bool:
    return reading.denials > 0


def _provider(reading: Reading, _ending: Ending) -> bool:
    return reading.terminal and reading.fault is not None and reading.fault.reason in PROVIDER


def _unanswered(reading: Reading, ending: Ending) -> bool:
    if reading.responded:
        return False
    return reading.terminal or (ending.failed and not ending.sent_signal and not ending.stopped_by_others)


def _interrupted(reading: Reading, ending: Ending) -> bool:
    if ending.stopped_by_kcut:
        return False
    if reading.terminal:
        return reading.fault is not None and reading.fault.reason is Void.INTERRUPTED
    return ending.stopped_by_others or ending.exit_code == 0


def _cut_off(reading: Reading, ending: Ending) -> bool:
    return ending.timed_out and not reading.terminal and (reading.retrying or not reading.responded)


ROWS = (
    Row(_denied, Void.PERMISSIONS, "the terminal event lists permission denials"),
    Row(_provider, None, "the provider failed"),
    Row(_unanswered, None, "no model response"),
    Row(_interrupted, Void.INTERRUPTED, "ended by a signal, or without its terminal event"),
    Row(_cut_off, Void.CONNECTION, "timed out without a model response, or while it waited to ask again"),
)


def decide(reading: Reading, ending: Ending) -> AgentReport:
    """The report for one run; without a row that fits the agent ran and the score decides."""
    fault = reading.fault
    for row in ROWS:
        if row.fits(reading, ending):
            named = fault if row.reason is None else None
            reason = row.reason or (named.reason if named else Void.STARTUP)
            return AgentReport(
                cli=reading.cli,
                void=reason,
                late=row.fits is _provider and reading.worked,
                usage=reading.usage,
                why=f"{reading.cli}: {row.why}" + (f" ({named.what})" if named else ""),
                retry_after_s=named.retry_after_s if named else None,
            )
    seen = "ended with its terminal event" if reading.terminal else "worked and ended without its terminal event"
    return AgentReport(
        reading.cli, None, late=False, usage=reading.usage, why=f"{reading.cli}: the agent ran; it {seen}"
    )

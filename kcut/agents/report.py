"""What an agent CLI's output says of its run: first as evidence, then as a report with an outcome."""

from dataclasses import dataclass, field

from kcut.model.outcome import Void
from kcut.model.trial import Usage

#: Exit statuses of a process that INT or TERM ended, as a shell and as Python's subprocess report them.
STOPPED = frozenset({130, 143, -2, -15})


@dataclass(frozen=True, slots=True)
class Ending:
    """How the task's process ended. `sent_signal`: kcut itself told it to stop."""

    exit_code: int | None
    timed_out: bool = False
    sent_signal: bool = False

    @property
    def failed(self) -> bool:
        """It ended by itself and not with exit code 0."""
        return self.exit_code not in {0, None} and not self.timed_out

    @property
    def stopped_by_others(self) -> bool:
        """INT or TERM ended it, and kcut had sent neither."""
        return self.exit_code in STOPPED and not self.stopped_by_kcut

    @property
    def stopped_by_kcut(self) -> bool:
        """Kcut told it to stop, at a timeout or because kcut was told to."""
        return self.timed_out or self.sent_signal


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason that the CLI itself gave, and where: `what` is a few of kcut's own words, never the output's."""

    reason: Void
    what: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The evidence in one run's output, the same for every CLI.

    `terminal`: the terminal event (or error envelope) is there. `responded`: a model answered at all.
    `worked`: it had begun to work. `denials`: tool calls refused for want of permission.
    `retrying`: the stream ends while the CLI waits to ask again.
    """

    cli: str
    terminal: bool = False
    responded: bool = False
    worked: bool = False
    denials: int = 0
    fault: Fault | None = None
    retrying: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What is recorded of an agent's run.

    `void` is None if the agent ran, so that the score decides. `late`: a provider's fault after work had
    been done. `why` is one sentence that names the rule that decided. `retry_after_s` is what the provider
    asked to wait, in seconds, where it said so.
    """

    cli: str
    void: Void | None
    late: bool
    usage: Usage
    why: str
    retry_after_s: float | None = None

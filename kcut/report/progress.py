"""Progress on stderr while a run goes on: a live view on a terminal, plain lines elsewhere."""

import contextlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Self, cast

from kcut.model.outcome import SIDES, Cohort, Outcome, Void
from kcut.model.plan import Plan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialKey, TrialRecord
from kcut.ready import Ready
from kcut.report.text import clock, count, duration, fold, plain, width
from kcut.trial import Probe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live


#: What trials run in, by the kind of isolation.
_KINDS = {"sealed": "sealed worktrees", "worktree": "linked worktrees", "clone": "clones"}
#: Warnings that a person can act on before the first trial, and that nothing else here says.
SAID_BEFORE = frozenset(
    {
        *("task-missing", "spec", "dirty-filtered"),
        *("user-copy", "other-copy", "hook-unwired", "component-in-history"),
    }
)


def plan_text(plan: Plan, ready: Ready) -> str:
    """What is about to run, in one line. Credentials in the plan are the caller's to replace."""
    if plan.tasks:
        score = "each scored by its own" if len({work.score_line for work in plan.tasks}) > 1 else "one score for all"
        score = f"{count(len(plan.tasks), 'task')}, {score}"
    elif ready.specs and plan.spec is not None:
        checks = len(ready.specs[0].checks)
        score = f"score {plain(plan.spec.path)} ({checks} check{'s' * (checks != 1)})"
    else:
        score = f"score {plain(plan.score)}" if plan.score else "score: the task's own exit code"
    facts = [
        plain(plan.component),
        _size(plan),
        f"{_KINDS[plan.checkout.isolation]} of {plan.checkout.base[:7]}",
        f"seed {plan.seed}",
        *([f"in {plain(plan.checkout.subdir)}"] if plan.checkout.subdir else []),
    ]
    line = "   ".join(facts)
    return f"{line}   {score}" if width(line) + width(score) + 3 <= 80 else f"{line}\n  {score}"


def _size(plan: Plan) -> str:
    """`2 cohorts x 5 trials`, `pairs until decided, at most 20`."""
    if not plan.until_decided:
        return f"{len(plan.cohorts)} cohorts x {plan.pairs} trial{'s' * (plan.pairs != 1)}"
    return f"pairs until decided{f', at most {plan.pairs}' * plan.capped}"


def notes(ready: Ready) -> list[str]:
    """What a person should know before the first trial, a line each."""
    lines = [_switch(ready)]
    if ready.protected:
        shown = ", ".join(plain(path) for path in ready.protected[:4])
        more = f" and {len(ready.protected) - 4} more" if len(ready.protected) > 4 else ""
        lines.append(f"restored from the base before scoring: {shown}{more}")
    manual = sum(criterion.check is None for spec in ready.specs for criterion in spec.criteria)
    if manual:
        lines.append(f"{manual} criteri{'on' if manual == 1 else 'a'} without a check: a person's, not scored here")
    if ready.plan.checkout.link_paths:
        linked = ", ".join(map(plain, ready.plan.checkout.link_paths))
        lines.append(f"writes through linked paths reach your files: {linked}")
    lines += [plain(warn.advice) for warn in ready.warnings if warn.code in SAID_BEFORE]
    lines += ready.spec_notes
    if ready.uncommitted:
        shown = ", ".join(plain(path) for path in ready.uncommitted[:5])
        more = f" and {len(ready.uncommitted) - 5} more" if len(ready.uncommitted) > 5 else ""
        what = "are in every trial" if ready.plan.checkout.dirty_mode == "include" else "are in no trial"
        lines.append(f"uncommitted changes {what}: {shown}{more}")
    return lines


def _switch(ready: Ready) -> str:
    """Who switches the component on and off."""
    toggle = ready.plan.toggle
    if toggle is not None:
        third = ", and puts irrelevant text of its length in its place" if ready.plan.control == "placebo" else ""
        what = plain(toggle.name if toggle.kind in {"section", "setting"} else toggle.path)
        return f"kcut applies and withholds the {toggle.kind} {what} ({toggle.digest[:19]}){third}"
    places = ", ".join(plain(path) for path in ready.looked[:3])
    more = f" and {count(len(ready.looked) - 3, 'more place')}" if len(ready.looked) > 3 else ""
    looked = f"; looked for {places}{more}" if places else ""
    return f"plain environment toggle: the task reads HARNESS_COMPONENT_ENABLED{looked}"


def probe_note(result: Probe) -> str | None:
    """What the score said of the untouched base, None if it was not asked."""
    score = f"the score of {plain(result.task)}" if result.task else "the score"
    if result.stopped:
        return None
    if result.note is not None:
        return f"on the untouched base: {plain(result.note)}"
    if result.passes is None:
        return None
    if result.passes:
        return f"{score} passes on the untouched base: the task can show no benefit"
    if result.broken:
        return f"{score} cannot run on the untouched base (exit {result.exit})"
    return f"{score} fails on the untouched base, as it should"


def outcome_words(record: TrialRecord) -> str:
    """`pass 18.7s`, `void rate_limit`."""
    if record.outcome is Outcome.VOID:
        return f"void {record.reason}"
    return f"{record.outcome.value} {duration(record.wall_ms)}"


def _exit(code: int | None) -> str:
    return "none" if code is None else str(code)


@dataclass
class _State:
    """What is known of the run; guarded by `lock`."""

    plan: Plan | None = None
    final: dict[TrialKey, TrialRecord] = field(default_factory=dict)
    running: dict[TrialKey, tuple[str, float]] = field(default_factory=dict)
    void: int = 0
    done_before: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class PlainProgress:
    """One line per finished pair, and one per trial that is run again."""

    def __init__(self, write: Callable[[str], None], now: Callable[[], float], *, quiet: bool, verbose: bool) -> None:
        self._write, self._now = write, now
        self._quiet, self._verbose = quiet, verbose
        self._state = _State()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing to restore."""

    def began(self, run: RunRecord, ready: Ready, done: int) -> None:
        """Print the plan line and its notes."""
        self._state.plan, self._state.done_before = run.plan, done
        self.say(plan_text(run.plan, ready))
        for line in notes(ready):
            self.note(line)
        if done:
            self.note(f"going on with run {run.run_id}: {done} trials are done")

    def probed(self, result: Probe) -> None:
        """Print what the score said of the base."""
        note = probe_note(result)
        if note is not None:
            self.note(note)

    def phase(self, key: TrialKey, phase: str) -> None:
        """Remember what runs; called from the trials' threads."""
        with self._state.lock:
            self._state.running[key] = (phase, self._now())

    def finished(self, record: TrialRecord, again_in: float | None) -> None:
        """Print the pair once all of its trials are final, and each attempt that is run again."""
        with self._state.lock:
            self._state.running.pop(record.key, None)
            if record.outcome is Outcome.VOID:
                self._state.void += 1
            if again_in is None:
                self._state.final[record.key] = record
            pair = [self._state.final.get(TrialKey(record.key.pair, cohort)) for cohort in self._cohorts]
        if again_in is not None:
            wait = f" in {again_in:g} s" if again_in else ""
            then = "the run pauses" if record.reason is Void.QUOTA else f"again{wait}"
            self.say(f"  {record.key}  {outcome_words(record)}: {then}")
        elif all(pair):
            words = "   ".join(f"{one.key} {outcome_words(one)}" for one in pair if one is not None)
            self.say(f"pair {record.key.pair + 1}{self._of(record)}   {words}")
        if self._verbose:
            exits = f"task exit {_exit(record.task_exit)}, score exit {_exit(record.score_exit)}"
            spent = ", ".join(f"{name} {duration(ms)}" for name, ms in record.phases_ms.items() if ms >= 1)
            for line in (f"{outcome_words(record)}; {exits}; {spent}", *map(plain, record.notes)):
                self.say(fold(f"  {record.key}  {line}", 14))

    @property
    def _cohorts(self) -> tuple[Cohort, ...]:
        """The cohorts of a pair."""
        return SIDES if self._state.plan is None else self._state.plan.cohorts

    def _of(self, record: TrialRecord) -> str:
        """` of 5`, ` of at most 20`, and the pair's task where there are several."""
        plan = self._state.plan
        if plan is None:
            return ""
        task = f" ({plain(plan.work(record.key.pair).name)})" if plan.tasks else ""
        return (f" of {'at most ' * plan.until_decided}{plan.pairs}" if plan.capped else "") + task

    def note(self, text: str) -> None:
        """Print what a person should know, folded."""
        self.say(fold(f"  note  {text}", 8))

    def say(self, line: str) -> None:
        """Print a line unless quiet."""
        if not self._quiet:
            with contextlib.suppress(OSError):  # a run goes on though nobody listens
                self._write(line)


class LiveProgress(PlainProgress):
    """A line per running trial and one bar, redrawn in place; no running verdict."""

    def __init__(self, console: "Console", now: Callable[[], float], *, verbose: bool) -> None:
        super().__init__(self._print, now, quiet=False, verbose=verbose)
        self._console = console
        self._live: Live | None = None
        self._start = now()

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(console=self._console, get_renderable=self._view, refresh_per_second=4, transient=True)
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Take the live view away."""
        if self._live is not None:
            self._live.stop()

    def _print(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(line), soft_wrap=True)

    def _view(self) -> "RenderableType":
        from rich.console import Group
        from rich.text import Text

        with self._state.lock:
            running = sorted(self._state.running.items(), key=lambda item: (item[0].pair, item[0].cohort.value))
            done = len(self._state.final) + self._state.done_before
            fresh, void, plan = len(self._state.final), self._state.void, self._state.plan
        now = self._now()
        room = max(1, self._console.size.height - 3)
        lines = [
            Text(f"  {key}  {phase} {clock(now - since)}", no_wrap=True, overflow="ellipsis")
            for key, (phase, since) in running[:room]
        ]
        if plan is None or not plan.capped:
            return Group(*lines, Text(f"  {done} done   {void} void", no_wrap=True))
        planned = plan.trials
        width = max(8, min(30, self._console.size.width - 50))
        filled = width * done // planned
        words = f"{done} of {'at most ' * plan.until_decided}{planned} done   {void} void"
        if fresh and done < planned:
            words += f"   about {clock((now - self._start) / fresh * (planned - done))} left"
        bar = Text.assemble("  ", ("━" * filled, "green"), ("━" * (width - filled), "dim"), f"  {words}")
        bar.no_wrap = True
        return Group(*lines, bar)


class _Tolerant:
    """A stream whose writes never raise: the terminal may be closed while a run goes on."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def progress(now: Callable[[], float], *, live: bool, quiet: bool, verbose: bool, color: bool) -> PlainProgress:
    """The progress that fits: live on a terminal, plain lines elsewhere, silence with --quiet."""
    if live and not quiet:
        from rich.console import Console

        stream = cast("IO[str]", _Tolerant(sys.stderr))
        console = Console(file=stream, force_terminal=True, no_color=not color, highlight=False, markup=False)
        return LiveProgress(console, now, verbose=verbose)

    def write(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    return PlainProgress(write, now, quiet=quiet, verbose=verbose)

"""One trial: open a worktree, set up, run the task, freeze, score, close. It returns data and never raises."""

import contextlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from kcut.bench import Bench, Findings, has, trial_environment
from kcut.isolation import CheckoutFailed, Worktree
from kcut.logs import TrialLogs
from kcut.model.errors import Interrupted, KcutError
from kcut.model.outcome import Cohort, Outcome, Void
from kcut.model.plan import Plan
from kcut.model.trial import TrialKey, TrialRecord
from kcut.schedule import TrialRequest
from kcut.steps import Steps
from kcut.system.clock import Clock, timestamp


class _Phases:
    """Times the phases of one attempt in milliseconds."""

    def __init__(self, clock: Clock, tell: Callable[[str], None]) -> None:
        self._clock, self._tell = clock, tell
        self.start = self._since = clock.monotonic()
        self._name: str | None = None
        self.spent: dict[str, float] = {}

    def begin(self, name: str | None) -> None:
        now = self._clock.monotonic()
        if self._name is not None:
            self.spent[self._name] = self.spent.get(self._name, 0.0) + (now - self._since) * 1000
        self._name, self._since = name, now
        if name is not None:
            self._tell(name)

    @property
    def wall_ms(self) -> float:
        return (self._clock.monotonic() - self.start) * 1000


def run_trial(request: TrialRequest, bench: Bench) -> TrialRecord | None:
    """Run one attempt. Returns its record, or None if kcut was told to stop before it ended; never raises."""
    found = Findings()
    phases = _Phases(bench.clock, lambda name: bench.on_phase(request.key, name))
    started_at = timestamp(bench.clock.now())
    try:
        _perform(request, bench, found, phases)
    except Interrupted:
        found.stopped = True
    except Exception as error:  # noqa: BLE001  # a fault of the harness is data, not a verdict on the component
        found.fault(f"{type(error).__name__}: {error}")
    phases.begin(None)
    if found.stopped or (found.outcome is Outcome.VOID and bench.supervisors.stopped):
        return None  # what kcut itself ended says nothing of the trial
    changed: tuple[str, ...] = ()
    with contextlib.suppress(KcutError, OSError):  # the trial has ended well, whatever becomes of this look
        changed = bench.watch()
    if changed:
        found.notes.append("your checkout changed while this trial ran: " + ", ".join(changed[:5]))
    task, report, sidecar = found.task, found.report, found.sidecar
    told = sidecar if sidecar is not None else report
    return TrialRecord(
        key=request.key,
        attempt=request.attempt,
        position=request.position,
        seed=request.seed,
        outcome=found.outcome or Outcome.FAIL,
        reason=found.reason,
        late=told.late if told is not None and found.reason is told.void else False,
        task_exit=task.code if task is not None else None,
        score_exit=found.score_exit,
        score_broken=found.score_broken,
        timed_out=task.timed_out if task is not None else False,
        wall_ms=phases.wall_ms - phases.spent.pop("rework", 0.0),
        phases_ms=phases.spent,
        usage=found.usage,
        agent=report.cli if report is not None else sidecar.agent if sidecar is not None else None,
        tree=found.tree,
        touched=found.touched,
        failing=found.failing,
        ended=found.ended,
        retry_after_s=told.retry_after_s if told is not None else None,
        kept=found.kept,
        notes=tuple(found.notes),
        started_at=started_at,
        reached=sidecar.component_reached if sidecar is not None else None,
        used=sidecar.component_used if sidecar is not None else None,
        tamper=sidecar.tamper if sidecar is not None else None,
        retries=sidecar.retries if sidecar is not None else None,
        rounds=found.rounds,
        resolved=found.resolved,
        rework_cost_usd=found.rework_cost_usd,
        repeated=found.repeated,
    )


def _perform(request: TrialRequest, bench: Bench, found: Findings, phases: _Phases) -> None:
    phases.begin("open")
    with ExitStack() as stack:
        try:
            protected = bench.work(request.key.pair).protected
            opened = bench.isolation.open(protected, cohort=has(bench.plan, request.key))
            worktree = stack.enter_context(opened)
        except (CheckoutFailed, OSError) as error:
            found.void(Void.WORKTREE, str(error))
            return
        phases.begin("apply")
        env = trial_environment(bench, request.key, request.seed, worktree)
        logs = TrialLogs.of(bench.logs, f"{request.key.cohort.value}-{request.key.pair}-{request.attempt}")
        Steps(bench, request.key, worktree, env, logs, found).do(phases.begin)
        found.stopped = found.stopped or (found.outcome is Outcome.VOID and bench.supervisors.stopped)
        if not found.stopped and _keeps(bench.plan, found):
            try:
                found.kept = str(worktree.keep())
            except OSError as error:
                found.notes.append(f"the worktree could not be kept: {error}")
        phases.begin("close")
    if worktree.leftover:
        found.notes.append(f"could not remove {worktree.leftover[0]}")


def _keeps(plan: Plan, found: Findings) -> bool:
    return plan.keep == "all" or (plan.keep == "failed" and found.outcome is not Outcome.PASS)


def score_again(bench: Bench, trial: TrialRecord, worktree: Worktree) -> Outcome | None:
    """Score what a trial left in a worktree once more, as it was scored then; its task is not run.

    Returns PASS or FAIL, VOID if the score could not be started, None if kcut was told to stop.
    """
    found = Findings()
    env = trial_environment(bench, trial.key, trial.seed, worktree)
    Steps(bench, trial.key, worktree, env, TrialLogs(None), found).judge()
    stopped = found.stopped or (found.outcome is Outcome.VOID and bench.supervisors.stopped)
    return None if stopped else found.outcome


@dataclass(frozen=True, slots=True)
class Probe:
    """What the score said of the untouched base: None if `--setup` failed there, or kcut was told to stop.

    `task` is the name of the task whose score it was, empty where there is only one.
    """

    passes: bool | None
    exit: int | None = None
    broken: bool = False
    stopped: bool = False
    note: str | None = None
    task: str = ""


def probe(bench: Bench, number: int = 0) -> Probe:
    """Score the untouched base once with the task of that number, after `--setup`, in the WITHOUT environment.

    Raises CheckoutFailed if no worktree can be made: no trial could be either.
    """
    plan, work, found = bench.plan, bench.works[number], Findings()
    with bench.isolation.open() as worktree:
        key = TrialKey(number, Cohort.WITHOUT)
        env = trial_environment(bench, key, 0, worktree)
        steps = Steps(bench, key, worktree, env, TrialLogs(None), found)
        scored = plan.probe and (work.spec is not None or work.plan.score is not None)
        if scored and steps.set_up():
            steps.reveal()
            steps.score()
    name = work.plan.name
    if found.stopped or found.outcome in {None, Outcome.VOID}:
        stopped = found.stopped or bench.supervisors.stopped
        return Probe(None, stopped=stopped, note=found.notes[0] if found.notes else None, task=name)
    return Probe(found.outcome is Outcome.PASS, found.score_exit, found.score_broken, task=name)

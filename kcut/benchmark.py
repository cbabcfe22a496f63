"""The data flow of a run: trials through an engine, each recorded as it ends, then summed up and decided."""

import contextlib
import os
import platform
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from kcut import __version__, artifacts
from kcut.aftermath import PROBED, at_the_end
from kcut.bench import Bench
from kcut.course import Course, pair_of
from kcut.engine import Engine
from kcut.isolation import Checkout, Worktree, clean_environment, fingerprint, isolate, sweep
from kcut.model.artifact import Artifact, Environment
from kcut.model.errors import KcutError, NotReady, UsageFault
from kcut.model.plan import Plan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialKey, TrialRecord
from kcut.prices import prices_of
from kcut.ready import Ready
from kcut.resolve import again, safe_plan
from kcut.schedule import TrialSchedule
from kcut.store import Store, run_dir, state_dir
from kcut.system import git
from kcut.system.clock import Clock, timestamp
from kcut.system.faults import MACHINE_FAULTS, mend
from kcut.system.proc import Supervisors
from kcut.system.signals import StopSignals
from kcut.trial import Probe, probe, run_trial
from kcut.verdict import assemble, early_invalid


class Observer(Protocol):
    """Who watches a run. `phase` comes from the trials' threads, the rest from the main one."""

    def began(self, run: RunRecord, ready: Ready, done: int) -> None:
        """The run is recorded; `done` trials are final already (a resumed run)."""
        ...

    def probed(self, result: Probe) -> None:
        """What the score said of the untouched base."""
        ...

    def phase(self, key: TrialKey, phase: str) -> None:
        """A trial entered a phase."""
        ...

    def finished(self, record: TrialRecord, again_in: float | None) -> None:
        """An attempt ended; it will be run again after that many seconds, or it is final (None)."""
        ...


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its end: its artifact, where that was saved (None if it has no verdict), worktrees kept.

    `stopped` is the signal that ended it early, `done` how many of its trials are final; `again` is True if it had
    finished before and nothing was run now. `lost` says what became of the record, None if it is where it belongs.
    `paused` is the attempt that met a quota that is used up: the run can go on when that is renewed.
    """

    run: RunRecord
    artifact: Artifact
    path: Path | None
    attempts: tuple[TrialRecord, ...] = ()
    kept: tuple[tuple[TrialKey, str], ...] = ()
    stopped: int | None = None
    done: int = 0
    again: bool = False
    lost: str | None = None
    paused: TrialRecord | None = None


class _Watch:
    """Tells what changed in the user's checkout since it was last asked; asked from the trials' threads."""

    def __init__(self, checkout: Checkout, links: tuple[str, ...]) -> None:
        self._checkout, self._links = checkout, links
        self._lock = threading.Lock()
        self._last = fingerprint(checkout, links)

    def __call__(self) -> tuple[str, ...]:
        with self._lock:
            now = fingerprint(self._checkout, self._links)
            changed = self._last.differences(now)
            self._last = now
            return changed


def new_run(ready: Ready, clock: Clock) -> RunRecord:
    """A run's record at its beginning: a fresh id, what runs, and what is to be done."""
    now = clock.now()
    return RunRecord(
        run_id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        ts=timestamp(now),
        plan=safe_plan(ready.plan),
        environment=Environment(
            kcut=__version__,
            git=git.version(),
            python=platform.python_version(),
            platform=f"{sys.platform}-{platform.machine()}",
            agent=None if ready.plan.agent is None else ready.plan.agent.name,
        ),
        warnings=ready.warnings,
    )


def benchmark(
    ready: Ready, *, engine: Engine, store: Store, clock: Clock, stop: StopSignals, observer: Observer
) -> Finished:
    """Run a benchmark from its beginning. After a signal, `stopped` is set and finished trials stay recorded.

    Raises NotReady if no worktree can be made.
    """
    run = new_run(ready, clock)
    store.begin(run)
    return _go(run, ready, (), engine=engine, store=store, clock=clock, stop=stop, observer=observer)


def resume(
    ref: str, cwd: Path, *, engine: Engine, store: Store, clock: Clock, stop: StopSignals, observer: Observer
) -> Finished:
    """Go on with a recorded run; a trial that is final is not run again. Raises as `benchmark`, and UsageFault."""
    run = store.find(ref)
    if run.state == "invalid":
        raise UsageFault(
            f"run {run.run_id} can carry no verdict: {run.note or 'it was invalid'}",
            remedy="mend the cause, and start a new run",
        )
    if run.state == "finished":
        attempts = store.attempts(run.run_id)
        artifact = assemble(run, attempts)
        path = None
        if not run.plan.aa:
            path = artifacts.reserve(git.toplevel(cwd), run.plan.component, run.plan.out)
            if not path.exists():  # a later run's verdict is not for this one to replace
                artifacts.write(path, artifact)
        return Finished(run, artifact, path, attempts, again=True)
    ready = again(run, cwd)
    store.claim(run.run_id)  # before the attempts are read: nobody else adds to them from here on
    return _go(
        run,
        ready,
        store.attempts(run.run_id),
        engine=engine,
        store=store,
        clock=clock,
        stop=stop,
        observer=observer,
    )


def _go(
    run: RunRecord,
    ready: Ready,
    recorded: tuple[TrialRecord, ...],
    *,
    engine: Engine,
    store: Store,
    clock: Clock,
    stop: StopSignals,
    observer: Observer,
) -> Finished:
    schedule = TrialSchedule(ready.plan, recorded, clock.monotonic)
    course = Course(ready.plan) if ready.plan.until_decided else None
    observer.began(run, ready, len(schedule.final))
    left: list[str] = []
    try:
        world: dict[str, Any] = {"engine": engine, "store": store, "clock": clock, "stop": stop, "observer": observer}
        try:
            left = _trials(run, ready, schedule, course, **world)
        except KcutError:
            if not stop.stopped:
                raise
        return _conclude(run, ready, schedule, course, left, store=store, clock=clock, stop=stop)
    except (KcutError, OSError) as error:
        # what is wrong can be mended: the run stays open for --resume
        update = {"state": "interrupted", "ended": timestamp(clock.now())}
        with contextlib.suppress(KcutError):  # the record may be what is wrong; without an owner it is open, too
            store.finish(run.model_copy(update=update), None)
        if isinstance(error, OSError) and error.errno in MACHINE_FAULTS:
            raise _can_go_on(run, error) from error
        raise


def _can_go_on(run: RunRecord, error: OSError) -> NotReady:
    where = os.fsdecode(error.filename or ".")
    return NotReady(
        f"{where}: {error.strerror or error}",
        remedy=f"{mend(error, where)}; finished trials stay recorded, then: kcut benchmark --resume {run.run_id}",
    )


def _trials(
    run: RunRecord,
    ready: Ready,
    schedule: TrialSchedule,
    course: Course | None,
    *,
    engine: Engine,
    store: Store,
    clock: Clock,
    stop: StopSignals,
    observer: Observer,
) -> list[str]:
    """Probe the base, then run what the schedule hands out; returns what could not be removed."""
    plan, checkout = ready.plan, ready.checkout
    with ExitStack() as stack:
        # what comes after the trials ends soon, and they have their verdict then
        stack.callback(stop.on_stop, lambda: None, git.end_running)
        sweep(state_dir(checkout.root))
        folder = run_dir(checkout.root, run.run_id)
        supervisors = stack.enter_context(Supervisors())
        world: dict[str, Any] = {"run_id": run.run_id, "state": folder, "treatment": ready.treatment}
        world["perform"] = partial(_by_command, supervisors, plan)
        watch = _Watch(checkout, plan.checkout.link_paths)

        def halt() -> None:
            schedule.halt()
            supervisors.stop()
            git.end_running()  # a checkout has no time limit, and what it makes is thrown away
            engine.wake()

        def end() -> None:
            supervisors.kill()
            git.end_running()

        stop.on_stop(halt, end, lambda: supervisors.stopped)
        isolation = stack.enter_context(isolate(checkout, plan.checkout, **world))
        bench = Bench(
            plan=plan,
            works=ready.works,
            isolation=isolation,
            supervisors=supervisors,
            clock=clock,
            environ=clean_environment(os.environ),
            watch=watch,
            on_phase=observer.phase,
            logs=folder if plan.logs else None,
            treatment=ready.treatment,
            prices=None if plan.prices is None else prices_of(plan.prices.models, plan.prices.path or "prices"),
        )
        _probe(run, bench, store=store, observer=observer)
        results = engine.map_unordered(partial(run_trial, bench=bench), schedule)
        _record(run, schedule, course, results, store=store, supervisors=supervisors, observer=observer, stop=stop)
    with contextlib.suppress(OSError):
        folder.rmdir()  # empty unless there are logs
    return isolation.left


def _by_command(supervisors: Supervisors, plan: Plan, command: str, worktree: Worktree) -> None:
    """Run a component's command in a worktree. Raises NotReady if it fails."""
    env = clean_environment(os.environ) | {"HARNESS_COMPONENT": plan.component}
    ran = supervisors.run(["/bin/sh", "-c", command], cwd=worktree.cwd, env=env, timeout=plan.setup_timeout)
    if ran.code != 0 or ran.error is not None or ran.timed_out:
        how = f"timed out after {plan.setup_timeout:g} s" if ran.timed_out else ran.error or f"exit {ran.code}"
        raise NotReady(f"the component's command failed ({how})", remedy=f"make it succeed in a worktree: {command}")


def _probe(run: RunRecord, bench: Bench, *, store: Store, observer: Observer) -> None:
    """Ask each task's score of the untouched base, unless this run has asked before."""
    asked = {event.detail.get("task", "") for event in store.events(run.run_id) if event.kind == PROBED}
    for number, work in enumerate(bench.works):
        if work.plan.name in asked:
            continue
        result = probe(bench, number)
        observer.probed(result)
        if result.stopped:
            return
        detail = {"passes": result.passes, "exit": result.exit}
        store.event(run.run_id, PROBED, detail | ({"task": result.task} if result.task else {}))


def _record(
    run: RunRecord,
    schedule: TrialSchedule,
    course: Course | None,
    results: Iterator[TrialRecord | None],
    *,
    store: Store,
    supervisors: Supervisors,
    observer: Observer,
    stop: StopSignals,
) -> None:
    """Record every attempt the moment it ends; stop as soon as the run can only end invalid.

    Once it is clear, nothing new starts; what runs then comes to its end and is recorded.
    """
    try:
        _follow(course, schedule)
        for record in results:
            if record is None:
                continue
            store.record(run.run_id, record)
            again_in = schedule.finished(record)
            observer.finished(record, again_in)
            _follow(course, schedule)
            if early_invalid(run.plan, _judged(course, schedule)) is not None and not stop.stopped:
                schedule.halt()
                supervisors.stop()
    except BaseException:
        supervisors.stop()  # the trials' threads must end before the iteration can be closed
        raise


def _follow(course: Course | None, schedule: TrialSchedule) -> None:
    """Look at every pair that all before it have ended for; stop handing out trials once it is clear."""
    if course is None:
        return
    while not course.over and schedule.pair_done(course.seen):
        course.add(pair_of(schedule.pair_trials(course.seen)))
    if course.over:
        schedule.halt()


def _judged(course: Course | None, schedule: TrialSchedule) -> tuple[TrialRecord, ...]:
    """The trials that the run is judged by: those of pairs ahead of the course may never count."""
    if course is None:
        return schedule.final
    return tuple(trial for trial in schedule.final if trial.key.pair < course.seen)


def _conclude(
    run: RunRecord,
    ready: Ready,
    schedule: TrialSchedule,
    course: Course | None,
    left: list[str],
    *,
    store: Store,
    clock: Clock,
    stop: StopSignals,
) -> Finished:
    """Decide on what ran, write the artifact, and close the record."""
    attempts = schedule.attempts
    ended = timestamp(clock.now())
    decided = course is not None and course.over
    note = None if decided else early_invalid(run.plan, _judged(course, schedule))
    if note is None and schedule.unknown_cost:
        note = "--max-cost needs the cost of every trial, and a trial's cost is unknown"
    whole = note is not None or schedule.complete or schedule.budget_stop or decided
    if not whole and stop.signum is None and schedule.paused is None:
        raise AssertionError("a run ends complete, decided, invalid, out of budget, paused, or by a signal")
    state = "finished" if whole else "interrupted"
    run = run.model_copy(update={"note": note, "ended": ended, "state": state})
    if whole:  # what only the end shows is not recorded before it, so that a resumed run does not say it twice
        warnings = (*run.warnings, *at_the_end(run, ready, schedule, left, store))
        run = run.model_copy(update={"warnings": warnings})
    artifact = assemble(run, attempts)
    path = None
    if whole and artifact.decision is not None and artifact.decision.verdict == "invalid":
        run = run.model_copy(update={"state": "invalid", "note": note or artifact.reason})
    elif whole and not run.plan.aa:  # the component against itself is no verdict on it
        path = ready.artifact
        artifacts.write(path, artifact)
    store.finish(run, None if run.plan.aa else artifact)
    kept = tuple((record.key, record.kept) for record in attempts if record.kept is not None)
    stopped = None if whole else stop.signum
    paused = None if whole or stopped is not None else schedule.paused
    done = len(schedule.final)
    return Finished(run, artifact, path, attempts, kept, stopped, done, lost=store.lost, paused=paused)

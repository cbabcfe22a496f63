"""Scores the worktrees that a run kept again and again, without running a task: does the score say the same?"""

import contextlib
import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from kcut.bench import Bench
from kcut.flips import Flips
from kcut.isolation import CheckoutFailed, clean_environment, inspect, isolate, kept_folder, set_aside, sweep
from kcut.model.errors import UsageFault
from kcut.model.outcome import Outcome
from kcut.model.plan import CheckoutPlan, Plan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialRecord
from kcut.resolve import works
from kcut.store import Store, run_dir, state_dir
from kcut.summary import final_trials
from kcut.system import git
from kcut.system.clock import SystemClock
from kcut.system.proc import Supervisors
from kcut.system.signals import StopSignals
from kcut.trial import score_again


def rescorable(run: RunRecord, attempts: tuple[TrialRecord, ...]) -> tuple[TrialRecord, ...]:
    """The valid trials whose worktree was kept and that were scored; UsageFault if there is none, or none can be."""
    plan = run.plan
    if any(warning.code == "credential" for warning in run.warnings):
        raise UsageFault(
            "the run's commands held a credential, which kcut does not keep, so its score cannot be run again",
            remedy="put the credential into an environment variable, and start a new run",
        )
    scored = [work.score is not None or work.spec is not None for work in plan.works]
    if not any(scored):
        raise UsageFault(
            f"run {run.run_id} was scored by its task's exit code, and no task is run again",
            remedy="score with --score or --spec, and --keep all, then check that run",
        )
    found = tuple(
        trial
        for trial in final_trials(attempts)
        if trial.valid and trial.kept is not None and scored[trial.key.pair % len(scored)]
    )
    if not found:
        raise UsageFault(f"run {run.run_id} kept no worktree to score again", remedy="start a run with --keep all")
    return found


def rescore(
    run: RunRecord, trials: tuple[TrialRecord, ...], times: int, *, root: Path, store: Store, stop: StopSignals
) -> Flips:
    """Score the kept worktree of each trial that many times: fresh copies of it, each in its place.

    The kept ones are put aside meanwhile and are as they were afterwards. After a signal, what was found so far.
    Raises NotReady or UsageFault if the base that protected files are restored from cannot be had.
    """
    store.claim(run.run_id)  # two at once would put the same worktree aside
    try:
        sweep(state_dir(root))
        folder = run_dir(root, run.run_id)
        try:
            return _rescore(run, trials, times, root=root, folder=folder, stop=stop)
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()  # empty unless there are logs
    finally:
        store.release(run.run_id)


def _rescore(
    run: RunRecord, trials: tuple[TrialRecord, ...], times: int, *, root: Path, folder: Path, stop: StopSignals
) -> Flips:
    plan = run.plan
    checkout = replace(inspect(root, base=plan.checkout.base), subdir=plan.checkout.subdir)
    found = Flips({}, {}, {})
    with ExitStack() as stack:
        supervisors = stack.enter_context(Supervisors())

        def halt() -> None:
            supervisors.stop()
            git.end_running()

        def end() -> None:
            supervisors.kill()
            git.end_running()

        stop.on_stop(halt, end)
        ready = works(plan, checkout)
        isolation = stack.enter_context(isolate(checkout, _base_only(plan), run_id=run.run_id, state=folder))
        every = tuple(dict.fromkeys(path for work in ready for path in work.protected))
        base = stack.enter_context(isolation.open(every))
        bench = Bench(
            plan=plan,
            works=ready,
            isolation=isolation,
            supervisors=supervisors,
            clock=SystemClock(),
            environ=clean_environment(os.environ),
        )
        for trial in trials:
            place = kept_folder(trial.kept or "")
            if stop.stopped:
                break
            if place is None:
                found.gone[str(trial.key)] = str(trial.kept)
                continue
            try:
                with set_aside(place, common_dir=checkout.common_dir, state=folder) as aside:
                    for _ in range(times):
                        with aside.copy(base, bench.work(trial.key.pair).protected) as worktree:
                            outcome = score_again(bench, trial, worktree)
                        if outcome is None:
                            break
                        _count(found, trial, outcome)
            except CheckoutFailed as error:
                found.unscored[str(trial.key)] = str(error)
    return replace(found, left=tuple(isolation.left))


def _count(found: Flips, trial: TrialRecord, outcome: Outcome) -> None:
    """File one more score; one that could not be started says nothing."""
    if outcome is Outcome.VOID:
        found.unscored[str(trial.key)] = "the score could not be started"
    else:
        flips, scores = found.trials.get(str(trial.key), (0, 0))
        found.trials[str(trial.key)] = (flips + (outcome is not trial.outcome), scores + 1)


def _base_only(plan: Plan) -> CheckoutPlan:
    """A plan of worktrees that only the base's files are read from: nothing is brought along or registered."""
    return plan.checkout.model_copy(update={"isolation": "sealed", "copy_paths": (), "link_paths": ()})

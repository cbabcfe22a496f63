"""One trial: open a worktree, set up, run the task, freeze, score, close. It returns data and never raises."""

import contextlib
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from kcut.agents import AgentReport, read_output
from kcut.agents.sidecar import Sidecar, read_sidecar
from kcut.checkpoint import Spec
from kcut.evaluate import evaluate
from kcut.isolation import CheckoutFailed, Isolation, Worktree
from kcut.logs import HEAD, TrialLogs
from kcut.model.component import Treatment
from kcut.model.errors import Interrupted, KcutError
from kcut.model.outcome import Cohort, Outcome, Void
from kcut.model.plan import Plan
from kcut.model.trial import TrialKey, TrialRecord, Usage
from kcut.plan import Work
from kcut.schedule import TrialRequest
from kcut.system.clock import Clock, timestamp
from kcut.system.proc import Ran, Supervisors

#: How much of the end of each output stream is read for an agent's terminal event.
TAIL = 1024 * 1024
#: A shell's own words for "cannot run that" and "no such command": the score itself is broken.
BROKEN_EXITS = frozenset({126, 127})
#: Folders of a trial's own with --isolate-home, by variable.
HOME_FOLDERS = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_CACHE_HOME": "home/.cache",
}


@dataclass(frozen=True)
class Bench:
    """What trials run on: everything they need beside their request."""

    plan: Plan
    works: tuple[Work, ...]  # the tasks, which the pairs take in turn
    isolation: Isolation
    supervisors: Supervisors
    clock: Clock
    environ: Mapping[str, str]  # cleaned of git's bindings, KCUT_* and the marks of an enclosing agent session
    watch: Callable[[], tuple[str, ...]] = lambda: ()  # what changed in the user's checkout since the last call
    on_phase: Callable[[TrialKey, str], None] = lambda _key, _phase: None
    logs: Path | None = None
    treatment: Treatment | None = None

    def work(self, pair: int) -> Work:
        """The task of a pair."""
        return self.works[pair % len(self.works)]


@dataclass
class _Findings:
    """What is known of an attempt so far."""

    outcome: Outcome | None = None
    reason: Void | None = None
    stopped: bool = False
    task: Ran | None = None
    score_exit: int | None = None
    score_broken: bool = False
    usage: Usage = field(default_factory=Usage)
    report: AgentReport | None = None
    tree: str | None = None
    touched: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    ended: int = 0
    kept: str | None = None
    notes: list[str] = field(default_factory=list)

    def void(self, reason: Void, note: str | None = None) -> None:
        self.outcome, self.reason = Outcome.VOID, reason
        if note:
            self.notes.append(note)

    def fault(self, note: str) -> None:
        """A fault of the harness: what was decided before it stays decided."""
        if self.outcome is None:
            self.outcome, self.reason = Outcome.VOID, Void.HARNESS
        self.notes.append(note)


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


def enabled(plan: Plan, key: TrialKey) -> bool:
    """True if the trial has the component; in no trial of the component against itself."""
    return key.cohort is Cohort.WITH and not plan.aa


def trial_environment(bench: Bench, key: TrialKey, seed: int, worktree: Worktree) -> dict[str, str]:
    """The environment of every command of a trial. Inherited values of the same names are overridden."""
    env, plan = dict(bench.environ), bench.plan
    env.pop("OLDPWD", None)
    for name, value in bench.treatment.env.items() if bench.treatment is not None else ():
        if enabled(plan, key):
            env[name] = value
        else:
            env.pop(name, None)
    if plan.isolate_home:
        for name, folder in HOME_FOLDERS.items():
            path = worktree.scratch / folder
            path.mkdir(parents=True, exist_ok=True)
            env[name] = str(path)
    if plan.checkout.isolation == "worktree":
        # its configuration is the user's own, so hooks are switched off from here: the folder does not exist
        hooks = ("core.hooksPath", str(worktree.scratch / "hooks"))
        env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": hooks[0], "GIT_CONFIG_VALUE_0": hooks[1]}
    if plan.tasks:
        env["HARNESS_TASK"] = plan.work(key.pair).name
    return env | {
        "PWD": str(worktree.cwd),
        "HARNESS_COMPONENT": plan.component,
        "HARNESS_COMPONENT_ENABLED": "1" if enabled(plan, key) else "0",
        "HARNESS_TRIAL": str(key.pair),
        "HARNESS_TRIAL_OUT": str(worktree.scratch / "trial-out.json"),
        "HARNESS_SEED": str(seed),
    }


def run_trial(request: TrialRequest, bench: Bench) -> TrialRecord | None:
    """Run one attempt. Returns its record, or None if kcut was told to stop before it ended; never raises."""
    found = _Findings()
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
    task, report = found.task, found.report
    return TrialRecord(
        key=request.key,
        attempt=request.attempt,
        position=request.position,
        seed=request.seed,
        outcome=found.outcome or Outcome.FAIL,
        reason=found.reason,
        late=report.late if report is not None and found.reason is report.void else False,
        task_exit=task.code if task is not None else None,
        score_exit=found.score_exit,
        score_broken=found.score_broken,
        timed_out=task.timed_out if task is not None else False,
        wall_ms=phases.wall_ms,
        phases_ms=phases.spent,
        usage=found.usage,
        agent=report.cli if report is not None else None,
        tree=found.tree,
        touched=found.touched,
        failing=found.failing,
        ended=found.ended,
        retry_after_s=report.retry_after_s if report is not None else None,
        kept=found.kept,
        notes=tuple(found.notes),
        started_at=started_at,
    )


def _perform(request: TrialRequest, bench: Bench, found: _Findings, phases: _Phases) -> None:
    phases.begin("open")
    with ExitStack() as stack:
        try:
            protected = bench.work(request.key.pair).protected
            opened = bench.isolation.open(protected, enabled=enabled(bench.plan, request.key))
            worktree = stack.enter_context(opened)
        except (CheckoutFailed, OSError) as error:
            found.void(Void.WORKTREE, str(error))
            return
        phases.begin("apply")
        env = trial_environment(bench, request.key, request.seed, worktree)
        logs = TrialLogs.of(bench.logs, f"{request.key.cohort.value}-{request.key.pair}-{request.attempt}")
        _Steps(bench, request.key, worktree, env, logs, found).do(phases.begin)
        found.stopped = found.stopped or (found.outcome is Outcome.VOID and bench.supervisors.stopped)
        if not found.stopped and _keeps(bench.plan, found):
            try:
                found.kept = str(worktree.keep())
            except OSError as error:
                found.notes.append(f"the worktree could not be kept: {error}")
        phases.begin("close")
    if worktree.leftover:
        found.notes.append(f"could not remove {worktree.leftover[0]}")


def _keeps(plan: Plan, found: _Findings) -> bool:
    return plan.keep == "all" or (plan.keep == "failed" and found.outcome is not Outcome.PASS)


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is done in an open worktree; it notes what it sees in `found`."""

    bench: Bench
    key: TrialKey
    worktree: Worktree
    env: Mapping[str, str]
    logs: TrialLogs
    found: _Findings

    @property
    def work(self) -> Work:
        """The trial's task."""
        return self.bench.work(self.key.pair)

    def do(self, begin: Callable[[str], None]) -> None:
        """Setup, task, freeze, score; `begin` is told of each phase."""
        found = self.found
        begin("setup")
        if not self.set_up():
            return
        if (astray := self.astray()) is not None:
            found.void(Void.MANIPULATION, astray)
            return
        begin("task")
        plan = self.bench.plan
        reads = plan.agent_output == "auto" or self.logs.wanted
        task = found.task = self.shell("task", self.work.plan.task, plan.timeout, reads=reads)
        begin("freeze")
        if found.stopped:
            return
        if task.error is not None:
            found.void(Void.HARNESS, task.error)
            return
        sidecar = read_sidecar(Path(self.env["HARNESS_TRIAL_OUT"]))
        found.tree = self.worktree.freeze().tree
        if self.logs.wanted:
            self.logs.write("task.diff", self.worktree.diff())
        self.account(sidecar, task)
        if found.outcome is None:
            self.judge(begin)
        elif self.bench.supervisors.stopped:
            found.stopped = True  # kcut ended its own git as well: what was seen since then is no result

    def shell(self, phase: str, command: str, timeout: float, *, reads: bool = False) -> Ran:
        """Run a shell command in the worktree; everything it started is ended when this returns."""
        keep = TAIL if reads or self.logs.wanted else 0
        ran = self.bench.supervisors.run(
            ["/bin/sh", "-c", command],
            cwd=self.worktree.cwd,
            env=self.env,
            timeout=timeout,
            keep=keep,
            head=HEAD if self.logs.wanted else 0,
        )
        self.logs.streams(phase, ran)
        self.found.ended += ran.ended
        self.found.stopped = self.found.stopped or ran.interrupted
        if ran.left:
            self.found.notes.append(f"could not end {ran.left} of another user's processes")
        return ran

    def set_up(self) -> bool:
        """Run `--setup`, if there is one; False if the trial ends here."""
        plan = self.bench.plan
        if plan.setup is None:
            return True
        done = self.shell("setup", plan.setup, plan.setup_timeout)
        if self.found.stopped:
            return False
        if done.error is None and done.code == 0 and not done.timed_out:
            return True
        how = f"timed out after {plan.setup_timeout:g} s" if done.timed_out else f"exit {done.code}"
        self.found.void(Void.SETUP, done.error or f"--setup failed: {how}")
        return False

    def astray(self) -> str | None:
        """What of the component is not as this cohort is to have it, when the task is about to begin."""
        treatment = self.bench.treatment
        if treatment is None:
            return None
        has = enabled(self.bench.plan, self.key)
        for path, file in (treatment.with_ if has else treatment.without).items():
            place = self.worktree.path / path
            there = os.path.lexists(place) and (place.is_symlink() or not place.is_dir())
            if there is (file is None):
                return f"{path}, of the component, is {'there' if there else 'missing'} when the task begins"
        return None

    def account(self, sidecar: Sidecar | None, task: Ran) -> None:
        """Usage and void reason, from the sidecar if it can be read, else from an agent's terminal event."""
        found = self.found
        if sidecar is not None:
            found.usage = sidecar.usage
            if sidecar.void is not None:
                found.void(sidecar.void, "the task's sidecar says so")
            return
        if self.bench.plan.agent_output == "none":
            return
        report = read_output(task.stdout, task.stderr, exit_code=task.code, timed_out=task.timed_out)
        if report is not None:
            found.report, found.usage = report, report.usage
            if report.void is not None:
                found.void(report.void, report.why)

    def judge(self, begin: Callable[[str], None] = lambda _phase: None) -> None:
        """Score what the task left, with its oracle, and the protected files as they are at the base."""
        found = self.found
        try:
            self.worktree.mend()
            begin("reveal")
            self.reveal()
            begin("score")
            found.touched = self.worktree.restore()
        except CheckoutFailed as error:  # what is in the way is the trial's doing
            found.outcome = Outcome.FAIL
            found.notes.append(str(error))
        except OSError as error:  # the machine's
            found.void(Void.HARNESS, f"the worktree could not be made ready for the score: {error}")
        if self.bench.supervisors.stopped:
            found.stopped = True  # kcut ended its own git as well: what was seen since then is no result
        elif found.outcome is None:
            self.score()

    def reveal(self) -> None:
        """Bring the task's oracle, which it was not to see. Raises as the worktree's `reveal` does."""
        if self.work.plan.oracle is None:
            return
        try:
            self.worktree.reveal(self.work.plan.oracle)
        except CheckoutFailed:
            raise
        except KcutError as error:  # it is not what it was
            self.found.void(Void.HARNESS, error.message)

    def score(self) -> None:
        """Decide pass or fail: by the spec, else by `--score`, else by the task's own exit."""
        plan, found = self.bench.plan, self.found
        if self.work.spec is not None:
            passed = self.score_by_spec(self.work.spec)
            if found.outcome is not None:
                return
        else:
            ran = found.task
            if self.work.plan.score is not None:
                ran = self.shell("score", self.work.plan.score, plan.score_timeout)
                if ran.error is not None:
                    found.void(Void.HARNESS, ran.error)
                    return
                found.score_broken = ran.timed_out
            if ran is None:
                raise AssertionError("a trial is scored after its task")
            found.score_exit = ran.code
            found.score_broken = found.score_broken or ran.code in BROKEN_EXITS
            passed = ran.code == 0 and not ran.timed_out
        found.outcome = Outcome.PASS if passed else Outcome.FAIL

    def score_by_spec(self, spec: Spec) -> bool:
        """Run the spec's checks; True if none fails and at least one passes."""
        found = self.found
        timeout = self.bench.plan.score_timeout
        runner = self.bench.supervisors
        result = evaluate(spec, runner=runner, cwd=self.worktree.cwd, env=self.env, timeout=timeout)
        found.stopped = found.stopped or result.interrupted
        if result.error is not None:
            found.void(Void.HARNESS, result.error)
        found.failing = result.failing
        found.ended += result.ended
        found.score_exit = 0 if result.passes else 1
        found.score_broken = result.broken
        return result.passes


def score_again(bench: Bench, trial: TrialRecord, worktree: Worktree) -> Outcome | None:
    """Score what a trial left in a worktree once more, as it was scored then; its task is not run.

    Returns PASS or FAIL, VOID if the score could not be started, None if kcut was told to stop.
    """
    found = _Findings()
    env = trial_environment(bench, trial.key, trial.seed, worktree)
    _Steps(bench, trial.key, worktree, env, TrialLogs(None), found).judge()
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
    plan, work, found = bench.plan, bench.works[number], _Findings()
    with bench.isolation.open() as worktree:
        key = TrialKey(number, Cohort.WITHOUT)
        env = trial_environment(bench, key, 0, worktree)
        steps = _Steps(bench, key, worktree, env, TrialLogs(None), found)
        scored = plan.probe and (work.spec is not None or work.plan.score is not None)
        if scored and steps.set_up():
            steps.reveal()
            steps.score()
    name = work.plan.name
    if found.stopped or found.outcome in {None, Outcome.VOID}:
        stopped = found.stopped or bench.supervisors.stopped
        return Probe(None, stopped=stopped, note=found.notes[0] if found.notes else None, task=name)
    return Probe(found.outcome is Outcome.PASS, found.score_exit, found.score_broken, task=name)

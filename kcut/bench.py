"""What trials run on, what each of their commands sees, and what is known of an attempt so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kcut.agents import AgentReport
from kcut.agents.sidecar import Sidecar
from kcut.isolation import Isolation, Worktree
from kcut.model.component import Treatment
from kcut.model.outcome import Cohort, Outcome, Void
from kcut.model.plan import Plan
from kcut.model.trial import TrialKey, Usage
from kcut.plan import Work
from kcut.prices import Prices
from kcut.rework import Failure
from kcut.system.clock import Clock
from kcut.system.proc import Ran, Supervisors

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
    prices: Prices | None = None

    def work(self, pair: int) -> Work:
        """The task of a pair."""
        return self.works[pair % len(self.works)]


@dataclass
class Findings:
    """What is known of an attempt so far."""

    outcome: Outcome | None = None
    reason: Void | None = None
    stopped: bool = False
    task: Ran | None = None
    score_exit: int | None = None
    score_broken: bool = False
    usage: Usage = field(default_factory=Usage)
    sidecar: Sidecar | None = None
    report: AgentReport | None = None
    failures: tuple[Failure, ...] = ()
    rounds: int = 0
    resolved: bool | None = None
    rework_cost_usd: float | None = None
    repeated: tuple[str, ...] = ()
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


def has(plan: Plan, key: TrialKey) -> Cohort:
    """The cohort whose files and environment the trial has: WITHOUT's in a run of the component against itself."""
    return Cohort.WITHOUT if plan.aa else key.cohort


def enabled(plan: Plan, key: TrialKey) -> bool:
    """True if the trial has the component, or what stands in for it."""
    return has(plan, key) is not Cohort.WITHOUT


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

"""What is done in a trial's open worktree: set up, run the task, freeze, score, and note what was seen."""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path

from kcut.agents import AgentReport, classify, read_output, shown
from kcut.agents.errand import RUNS_AGENT, argv, write_brief, write_prompt
from kcut.agents.sidecar import Sidecar, read_sidecar
from kcut.bench import Bench, Findings, enabled
from kcut.checkpoint import Spec
from kcut.evaluate import evaluate
from kcut.isolation import CheckoutFailed, Worktree
from kcut.logs import HEAD, TrialLogs
from kcut.model.errors import Interrupted, KcutError
from kcut.model.outcome import Outcome, Void
from kcut.model.plan import AgentPlan
from kcut.model.trial import TrialKey, Usage
from kcut.plan import Work
from kcut.redact import redact
from kcut.rework import OUTPUT, Failure, feedback, repeated
from kcut.system.proc import Ran
from kcut.treatment import SPEC_EDITED

#: What stays that of the first attempt, whatever rework brought.
OF_FIRST = (
    *("outcome", "reason", "task", "score_exit", "score_broken", "usage", "sidecar", "report"),
    *("touched", "failing", "failures"),
)
#: How much of the end of each output stream is read for an agent's terminal event.
TAIL = 1024 * 1024
#: A shell's own words for "cannot run that" and "no such command": the score itself is broken.
BROKEN_EXITS = frozenset({126, 127})


@dataclass(frozen=True, slots=True)
class Steps:
    """What is done in an open worktree; it notes what it sees in `found`."""

    bench: Bench
    key: TrialKey
    worktree: Worktree
    env: Mapping[str, str]
    logs: TrialLogs
    found: Findings

    @property
    def work(self) -> Work:
        """The trial's task."""
        return self.bench.work(self.key.pair)

    @property
    def outcome(self) -> Outcome | None:
        """What the trial, or a round of its rework, has come to by now."""
        return self.found.outcome

    def do(self, begin: Callable[[str], None]) -> None:
        """Setup, task, freeze, score; `begin` is told of each phase."""
        found = self.found
        begin("setup")
        if not self.set_up():
            return
        if (astray := self.worktree.astray()) is not None:
            found.void(Void.MANIPULATION, astray)
            return
        begin("task")
        task = self.perform()
        begin("freeze")
        if found.stopped:
            return
        if task.error is not None:
            found.void(Void.HARNESS, task.error)
            return
        sidecar = read_sidecar(Path(self.env["HARNESS_TRIAL_OUT"]))
        frozen = self.worktree.freeze()
        found.tree = frozen.tree
        self.look_at_spec(frozen.changed)
        if self.logs.wanted:
            self.logs.write("task.diff", self.worktree.diff())
        self.account(sidecar, task)
        if found.outcome is None:
            self.judge(begin)
        elif self.bench.supervisors.stopped:
            found.stopped = True  # kcut ended its own git as well: what was seen since then is no result
        agent = self.bench.plan.agent
        if found.outcome is Outcome.FAIL and not found.stopped and self.bench.plan.rework and agent is not None:
            begin("rework")
            self.rework(agent)

    def perform(self) -> Ran:
        """Run the task: its command, or the agent with its prompt."""
        plan, work = self.bench.plan, self.work.plan
        if plan.agent is None or work.prompt is None:
            reads = plan.agent_output == "auto" or self.logs.wanted
            brief = None
            if plan.toggle is not None or RUNS_AGENT.search(work.task):  # a script may run `kcut agent`, too
                brief = self.brief(oracle=RUNS_AGENT.search(work.task) is not None)
            self.found.task = self.run("task", ("/bin/sh", "-c", work.task), plan.timeout, reads=reads, more=brief)
        else:
            self.found.task = self.ask(plan.agent, work.prompt.text)
        return self.found.task

    def ask(self, agent: AgentPlan, prompt: str, number: int = 0) -> Ran:
        """Have the agent do what the prompt says; `number` is the round, 0 for the first attempt."""
        scratch = self.worktree.scratch
        write_prompt(scratch, prompt)
        phase, brief = f"rework-{number}" if number else "task", self.brief(number)
        return self.run(phase, argv(agent, scratch), self.bench.plan.timeout, reads=True, more=brief)

    def brief(self, number: int = 0, *, oracle: bool = True) -> dict[str, str]:
        """Write down for `kcut agent` what the agent must not see; returns the variable that leads there.

        Without the oracle's names where it is not sure that the brief is removed before an agent starts.
        """
        plan = self.bench.plan
        return write_brief(
            self.worktree.scratch,
            component=plan.toggle,
            present=enabled(plan, self.key),
            oracle=self.work.plan.oracle if oracle else None,
            number=number,
        )

    def rework(self, agent: AgentPlan) -> None:
        """Let the agent try again, knowing what failed; the outcome stays that of its first attempt."""
        found, first = self.found, replace(self.found)
        costs: list[float | None] = []
        last: Outcome | None = Outcome.FAIL
        try:
            while last is Outcome.FAIL and found.rounds < self.bench.plan.rework:
                before = found.failures
                last = self.try_again(agent, before)
                if found.stopped:
                    return
                costs.append(found.usage.cost_usd)
                found.repeated = tuple(dict.fromkeys((*found.repeated, *repeated(before, found.failures))))
        except Interrupted:
            raise
        except (KcutError, OSError) as error:  # the first attempt has its outcome, whatever becomes of the others
            found.notes.append(f"rework ended: {error}")
            last = None
            costs.append(None)
        found.resolved = None if last is None else last is Outcome.PASS
        known = [cost for cost in costs if cost is not None]
        found.rework_cost_usd = fsum(known) if len(known) == len(costs) else None
        for name in OF_FIRST:
            setattr(found, name, getattr(first, name))

    def try_again(self, agent: AgentPlan, failures: Sequence[Failure]) -> Outcome | None:
        """One more round; returns PASS, FAIL, or None for a round that never got its chance."""
        found = self.found
        if not self.worktree.has_scratch():
            raise OSError(errno.ELOOP, "the trial put something else in the place of the folder for its sidecar")
        if self.work.plan.oracle is not None:
            self.worktree.conceal(self.work.plan.oracle)
        Path(self.env["HARNESS_TRIAL_OUT"]).unlink(missing_ok=True)
        found.rounds += 1
        found.outcome, found.reason, found.failures, found.usage = None, None, (), Usage()
        ran = self.ask(agent, feedback(failures), found.rounds)
        if ran.error is not None:
            found.void(Void.HARNESS, ran.error)
        elif not found.stopped:
            self.account(read_sidecar(Path(self.env["HARNESS_TRIAL_OUT"])), ran)
        if self.outcome is None and not found.stopped:
            self.judge()
        if self.outcome is Outcome.VOID:
            found.notes.append(f"round {found.rounds} of rework was void ({found.reason})")
        return None if self.outcome is Outcome.VOID else self.outcome

    def look_at_spec(self, changed: Sequence[str]) -> None:
        """Note an edit of the spec: the one that was read at the start scores, whatever the trial made of it."""
        spec = self.work.plan.spec
        if spec is None:
            return
        place = f"{self.bench.plan.checkout.subdir}/{spec.path}".lstrip("/")
        path = os.path.normpath(place)  # `..` is folded by name
        if path in changed:
            self.found.notes.append(f"{SPEC_EDITED} {path}")

    def shell(self, phase: str, command: str, timeout: float, *, reads: bool = False) -> Ran:
        """Run a shell command in the worktree; everything it started is ended when this returns."""
        return self.run(phase, ("/bin/sh", "-c", command), timeout, reads=reads)

    def run(
        self,
        phase: str,
        words: Sequence[str],
        timeout: float,
        *,
        reads: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> Ran:
        """As `shell`, for a command in words, with `more` in its environment."""
        keep = TAIL if reads or self.logs.wanted else 0
        ran = self.bench.supervisors.run(
            words,
            cwd=self.worktree.cwd,
            env={**self.env, **(more or {})},
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

    def account(self, sidecar: Sidecar | None, task: Ran) -> None:
        """Usage and void reason, from the sidecar if it can be read, else from an agent's terminal event."""
        found, agent = self.found, self.bench.plan.agent
        found.sidecar = sidecar
        if sidecar is not None:
            found.usage = sidecar.usage
            if sidecar.void is not None:
                found.void(sidecar.void, "the task's sidecar says so")
        elif agent is not None or self.bench.plan.agent_output != "none":
            found.report = self.read(task)
            if found.report is not None:
                found.usage = found.report.usage
                if found.report.void is not None:
                    found.void(found.report.void, found.report.why)
        self.check_presence(task)
        usage, prices = found.usage, self.bench.prices
        if prices is not None and usage.cost_usd is None and usage.model is not None and usage.tokens is not None:
            found.usage = replace(usage, cost_usd=prices.cost(usage.model, usage.tokens))

    def check_presence(self, task: Ran) -> None:
        """Of an agent that the task runs by itself: does its first event show the component where it has to?"""
        toggle, found = self.bench.plan.toggle, self.found
        if toggle is None or found.outcome is not None or found.report is None:
            return
        seen = shown(task.stdout, task.stderr, kind=toggle.kind, name=toggle.name, cwd=self.worktree.cwd)
        if seen is not None and seen is not enabled(self.bench.plan, self.key):
            where = "is in the agent's first event although it was withheld" if seen else "is not in its first event"
            found.void(Void.MANIPULATION, f"the {toggle.kind} {toggle.name} {where}")

    def read(self, task: Ran) -> AgentReport | None:
        """What the task's output says of the agent that ran, None if it is that of none."""
        agent, late = self.bench.plan.agent, task.timed_out
        if agent is None:
            return read_output(task.stdout, task.stderr, exit_code=task.code, timed_out=late)
        report = classify(agent.name, task.stdout, task.stderr, task.code, timed_out=late)
        model = report.usage.model or agent.model
        return replace(report, usage=replace(report.usage, model=model))

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
                ran = self.shell("score", self.work.plan.score, plan.score_timeout, reads=plan.rework_output)
                if ran.error is not None:
                    found.void(Void.HARNESS, ran.error)
                    return
                found.score_broken = ran.timed_out
            if ran is None:
                raise AssertionError("a trial is scored after its task")
            found.score_exit = ran.code
            found.failures = (Failure("score", exit=None if ran.timed_out else ran.code, output=self.heard(ran)),)
            found.score_broken = found.score_broken or ran.code in BROKEN_EXITS
            passed = ran.code == 0 and not ran.timed_out
        found.outcome = Outcome.PASS if passed else Outcome.FAIL

    def heard(self, ran: Ran) -> str:
        """What a score printed, if the agent is to hear of it."""
        if not self.bench.plan.rework_output:
            return ""
        return redact((ran.stdout + ran.stderr).decode("utf-8", "replace"))[0]

    def score_by_spec(self, spec: Spec) -> bool:
        """Run the spec's checks; True if none fails and at least one passes."""
        found = self.found
        timeout = self.bench.plan.score_timeout
        runner = self.bench.supervisors
        keep = OUTPUT if self.bench.plan.rework_output else 0
        result = evaluate(spec, runner=runner, cwd=self.worktree.cwd, env=self.env, timeout=timeout, keep=keep)
        found.stopped = found.stopped or result.interrupted
        if result.error is not None:
            found.void(Void.HARNESS, result.error)
        found.failing = result.failing
        found.failures = tuple(
            Failure(each.criterion.id, each.criterion.label, each.exit, each.output)
            for each in result.results
            if each.result == "FAIL"
        )
        found.ended += result.ended
        found.score_exit = 0 if result.passes else 1
        found.score_broken = result.broken
        return result.passes

"""Which trial may start next: pairs in index order, voids again after their wait, a budget that holds."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kcut.model.outcome import NO_RETRY, RETRY_AFTER_WAIT, Outcome, Void
from kcut.model.plan import Plan
from kcut.model.trial import TrialKey, TrialRecord
from kcut.plan import Slot, pair_slots

#: A provider that asks for a longer wait than this, in seconds, is asked again before.
LONGEST_WAIT = 3600.0
#: Voids after which a model may have answered: without a cost of theirs, what they cost is unknown.
MAY_HAVE_COST = frozenset({Void.INTERRUPTED, Void.MANIPULATION, Void.PERMISSIONS, Void.HARNESS})


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """One attempt at one trial; plain data, so that any engine can carry it."""

    key: TrialKey
    attempt: int
    position: int
    seed: int


class TrialSchedule:
    """The schedule of one run. `now` is a monotonic clock in seconds.

    Attempts that were recorded before (a resumed run) are given at the start and never run again. `paused` is the
    attempt that met a quota that is used up, after which nothing is started any more.
    """

    def __init__(self, plan: Plan, recorded: Iterable[TrialRecord], now: Callable[[], float]) -> None:
        self._plan = plan
        self._now = now
        self._attempts: dict[TrialKey, list[TrialRecord]] = {}
        self._final: set[TrialKey] = set()
        self._started: set[int] = set()
        self._fresh: list[Slot] = []  # the rest of the pair that was opened last
        self._next_pair = 0
        self._retries: list[tuple[float, int, int, Slot]] = []  # (due, pair, position, slot)
        self._halted = False
        self.budget_stop = False
        self.unknown_cost = False
        self.paused: TrialRecord | None = None
        for record in sorted(recorded, key=lambda record: (record.key.pair, record.attempt)):
            self._file(record)
        for key, attempts in self._attempts.items():
            self._started.add(key.pair)
            if key not in self._final and attempts:
                self._plan_retry(attempts[-1], wait=0.0)

    # -- what an engine asks -----------------------------------------------------------------------------------

    def take(self) -> TrialRequest | None:
        """The next attempt to start now, None if there is none at this moment."""
        if self._halted:
            return None
        if self._retries and self._retries[0][0] <= self._now():
            return self._start(heapq.heappop(self._retries)[3])
        if not self._fresh and not self._open_pair():
            return None
        return self._start(self._fresh.pop(0))

    def wait(self) -> float | None:
        """Seconds until a retry is due; None if only a result can bring something new."""
        if self._halted or not self._retries:
            return None
        return max(0.0, self._retries[0][0] - self._now())

    # -- what the run tells ------------------------------------------------------------------------------------

    def halt(self) -> None:
        """Start nothing more. Callable from a signal handler."""
        self._halted = True

    def finished(self, record: TrialRecord) -> float | None:
        """File a finished attempt; returns the seconds after which it is run again, None if it is final."""
        self._file(record)
        if record.key in self._final:
            return None
        if record.reason is Void.QUOTA:
            self.paused = record  # the next would meet it as well
            self.halt()
        wait = self._wait_of(record)
        self._plan_retry(record, wait)
        return wait

    # -- what the run reads ------------------------------------------------------------------------------------

    @property
    def attempts(self) -> tuple[TrialRecord, ...]:
        """Every recorded attempt."""
        return tuple(record for attempts in self._attempts.values() for record in attempts)

    @property
    def final(self) -> tuple[TrialRecord, ...]:
        """The last attempt of every trial that will not run again."""
        return tuple(self._attempts[key][-1] for key in sorted(self._final, key=_order))

    @property
    def complete(self) -> bool:
        """True if every planned trial is final."""
        return len(self._final) == self._plan.trials

    def pair_done(self, pair: int) -> bool:
        """True if all trials of the pair are final."""
        return all(TrialKey(pair, cohort) in self._final for cohort in self._plan.cohorts)

    def pair_trials(self, pair: int) -> tuple[TrialRecord, ...]:
        """The last attempts of a pair whose trials are all final."""
        return tuple(self._attempts[TrialKey(pair, cohort)][-1] for cohort in self._plan.cohorts)

    # -- inside ------------------------------------------------------------------------------------------------

    def _file(self, record: TrialRecord) -> None:
        attempts = self._attempts.setdefault(record.key, [])
        attempts.append(record)
        if not runs_again(self._plan, record):
            self._final.add(record.key)

    def _wait_of(self, record: TrialRecord) -> float:
        if record.reason not in RETRY_AFTER_WAIT:
            return 0.0
        if record.retry_after_s is not None:
            return min(record.retry_after_s, LONGEST_WAIT)
        waits = self._plan.retry_wait
        return waits[min(record.attempt, len(waits)) - 1] if waits else 0.0

    def _plan_retry(self, record: TrialRecord, wait: float) -> None:
        slot = Slot(record.key, record.position, record.seed)
        heapq.heappush(self._retries, (self._now() + wait, record.key.pair, record.position, slot))

    def _start(self, slot: Slot) -> TrialRequest:
        self._started.add(slot.key.pair)
        return TrialRequest(slot.key, len(self._attempts.get(slot.key, ())) + 1, slot.position, slot.seed)

    def _open_pair(self) -> bool:
        """Line up the next pair that has trials without any attempt; False if there is none or no money."""
        while self._next_pair < self._plan.pairs:
            pair = self._next_pair
            waiting = [
                slot
                for slot in pair_slots(self._plan.seed, pair, self._plan.cohorts)
                if slot.key not in self._attempts
            ]
            if waiting and not self._affordable(pair):
                return False
            self._next_pair += 1
            if waiting:
                self._fresh = waiting
                return True
        return False

    def _affordable(self, pair: int) -> bool:
        limit = self._plan.max_cost
        if limit is None or pair in self._started or not self._started:
            return True
        spent, dearest, open_pairs = 0.0, 0.0, 0
        for started in self._started:
            costs = [
                record.spent_usd
                for cohort in self._plan.cohorts
                for record in self._attempts.get(TrialKey(started, cohort), ())
                if _may_have_cost(record)
            ]
            known = [cost for cost in costs if cost is not None]
            if len(known) < len(costs):
                self.unknown_cost = True
                self.halt()
                return False
            spent += sum(known)
            if self.pair_done(started):
                dearest = max(dearest, sum(known))
            else:
                open_pairs += 1
        if open_pairs == len(self._started):
            return False  # no pair has shown its price yet: wait for the first
        if spent + (open_pairs + 1) * dearest <= limit:
            return True
        if open_pairs == 0:
            self.budget_stop = True
            self.halt()
        return False


def runs_again(plan: Plan, record: TrialRecord) -> bool:
    """True if the attempt was void, and another one may still change that.

    Where kcut runs the agent, it pauses when the provider's quota is used up, and tries again when it goes on.
    """
    pauses = record.reason is Void.QUOTA and plan.agent is not None
    again = (record.reason not in NO_RETRY or pauses) and record.attempt <= plan.void_retries
    return record.outcome is Outcome.VOID and again


def _may_have_cost(record: TrialRecord) -> bool:
    """False for what never ran its task, and for an agent that no model answered: they cost nothing."""
    if record.task_exit is None:
        return False
    answered = record.valid or record.late or record.reason in MAY_HAVE_COST
    return answered or record.usage.cost_usd is not None


def _order(key: TrialKey) -> tuple[int, str]:
    return key.pair, key.cohort.value

"""The order of a run's trials and their seeds, both drawn from the run's one recorded seed."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcut.checkpoint import Spec
from kcut.model.outcome import SIDES, Cohort
from kcut.model.plan import TaskPlan
from kcut.model.trial import TrialKey

SEED_LIMIT = 2**31
#: Odd, so that multiplying by them permutes the integers modulo 2**31.
_ODD = (0x2C1B3C6D, 0x297A2D39)


@dataclass(frozen=True, slots=True)
class Slot:
    """One planned trial: which, whether its pair starts it first (position 0) or second, and HARNESS_SEED."""

    key: TrialKey
    position: int
    seed: int


@dataclass(frozen=True, slots=True)
class Work:
    """One task ready to run: its spec parsed, and the base's files that are restored before it is scored."""

    plan: TaskPlan
    spec: Spec | None = None
    protected: tuple[str, ...] = ()


def _draw(seed: int, what: str) -> int:
    digest = hashlib.sha256(f"{what}:{seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def pair_seed(seed: int, pair: int) -> int:
    """HARNESS_SEED of a pair: 0 <= value < 2**31, equal within the pair, different between pairs."""
    # each step is one to one on 31 bits, so no two pairs of a run get one seed
    value = (_draw(seed, "seed") + pair) % SEED_LIMIT
    for shift, odd in zip((15, 13), _ODD, strict=True):
        value = (value ^ (value >> shift)) * odd % SEED_LIMIT
    return value ^ (value >> 16)


def pair_order(seed: int, pair: int) -> tuple[Cohort, Cohort]:
    """Which cohort a pair starts first: a fair coin per pair, drawn from the run's seed."""
    if _draw(seed, f"order:{pair}") & 1:
        return Cohort.WITH, Cohort.WITHOUT
    return Cohort.WITHOUT, Cohort.WITH


def cohort_order(seed: int, pair: int, cohorts: Sequence[Cohort] = SIDES) -> tuple[Cohort, ...]:
    """The order in which a pair starts its trials: `pair_order`, a placebo at a place that is drawn apart.

    So WITH and WITHOUT start as they would without a placebo, and all six orders are equally likely.
    """
    order = list(pair_order(seed, pair))
    if Cohort.PLACEBO in cohorts:
        order.insert(_draw(seed, f"placebo:{pair}") % 3, Cohort.PLACEBO)
    return tuple(order)


def pair_slots(seed: int, pair: int, cohorts: Sequence[Cohort] = SIDES) -> tuple[Slot, ...]:
    """The trials of a pair, the one to start first in front."""
    return tuple(
        Slot(TrialKey(pair, cohort), position, pair_seed(seed, pair))
        for position, cohort in enumerate(cohort_order(seed, pair, cohorts))
    )


def slots(seed: int, k: int, cohorts: Sequence[Cohort] = SIDES) -> Iterator[Slot]:
    """All trials of a run in their order: pair after pair, never one cohort and then the other."""
    for pair in range(k):
        yield from pair_slots(seed, pair, cohorts)

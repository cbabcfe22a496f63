"""The order of trials and their seeds."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kcut.model.outcome import SIDES, Cohort
from kcut.plan import SEED_LIMIT, pair_order, pair_seed, pair_slots, slots

SEEDS = st.integers(0, SEED_LIMIT - 1)


@given(SEEDS, st.integers(1, 400))
def test_seeds_differ_between_pairs_and_agree_within_one(seed: int, k: int) -> None:
    drawn = [pair_seed(seed, pair) for pair in range(k)]
    assert len(set(drawn)) == k
    assert all(0 <= value < SEED_LIMIT for value in drawn)
    assert all(len({slot.seed for slot in pair_slots(seed, pair)}) == 1 for pair in range(min(k, 20)))


@given(SEEDS, st.integers(1, 60))
def test_every_trial_once_and_pairs_stay_together(seed: int, k: int) -> None:
    order = list(slots(seed, k))
    assert len({slot.key for slot in order}) == len(order) == 2 * k
    assert [slot.key.pair for slot in order] == [pair for pair in range(k) for _ in range(2)]
    assert [slot.position for slot in order] == [0, 1] * k


ALL = (*SIDES, Cohort.PLACEBO)


@given(SEEDS, st.integers(1, 60))
def test_a_placebo_changes_neither_order_nor_seeds_of_the_others(seed: int, k: int) -> None:
    order = list(slots(seed, k, ALL))
    assert [slot.position for slot in order] == [0, 1, 2] * k
    rest = [(slot.key, slot.seed) for slot in order if slot.key.cohort is not Cohort.PLACEBO]
    assert rest == [(slot.key, slot.seed) for slot in slots(seed, k)]


def test_with_a_placebo_all_orders_are_equally_likely() -> None:
    drawn = Counter(tuple(slot.key.cohort for slot in pair_slots(3, pair, ALL)) for pair in range(6000))
    assert len(drawn) == 6
    assert all(880 < number < 1120 for number in drawn.values())  # 1,000 each, 4 standard deviations


def test_either_cohort_starts_first_about_as_often() -> None:
    first = sum(pair_order(seed, pair)[0] is Cohort.WITH for seed in range(20) for pair in range(100))
    assert 900 < first < 1100  # a fair coin: 2,000 draws, more than 4 standard deviations away


def test_seeds_look_random_to_small_moduli() -> None:
    for modulus in (2, 3, 5, 7):
        drawn = [pair_seed(3, pair) % modulus for pair in range(2100)]
        assert all(abs(drawn.count(rest) - 2100 / modulus) < 120 for rest in range(modulus))


def test_the_same_seed_gives_the_same_plan() -> None:
    assert list(slots(11, 9)) == list(slots(11, 9))
    assert list(slots(11, 9)) != list(slots(12, 9))

"""What options take, and the one sentence that a wrong value gets."""

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcut.cli.options import COUNT, DURATION, MONEY, RATE, SEED, SHARE, WAITS, WHOLE, Value, seconds
from kcut.model.errors import UsageFault

OPTION = click.Option(["--limit"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("10m", 600), ("2h", 7200), (" 5 S ", 5), ("0.5", 0.5), (7, 7)],
)
def test_durations(text: object, value: float) -> None:
    assert DURATION.convert(text, OPTION, None) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (DURATION, "0"),
        (DURATION, "-1"),
        (DURATION, "1d"),
        (DURATION, "nan"),
        (DURATION, "inf"),
        (DURATION, "1e3"),
        (DURATION, ""),
        (COUNT, "0"),
        (COUNT, "-3"),
        (COUNT, "2.5"),
        (COUNT, "five"),
        (COUNT, "1_000"),
        (COUNT, "٣"),
        (COUNT, "9" * 30),
        (WHOLE, "-1"),
        (MONEY, "-1"),
        (MONEY, "NaN"),
        (MONEY, "$5"),
        (SEED, "2147483648"),
        (SEED, "-1"),
        (WAITS, "5s,,3"),
        (WAITS, "soon"),
    ],
)
def test_what_is_refused_names_the_option_and_the_value(kind: Value, text: str) -> None:
    with pytest.raises(UsageFault, match=r"^--limit must be .*\(got ") as fault:
        kind.convert(text, OPTION, None)
    assert text in fault.value.message


@given(st.text())
@example("0\x1f")
@example("\x1c.5\u2003")
def test_any_text_is_read_or_refused(text: str) -> None:
    for kind in (COUNT, WHOLE, DURATION, MONEY, SEED, WAITS, RATE, SHARE):
        try:
            kind.convert(text, OPTION, None)
        except UsageFault:
            continue


@given(st.integers(0, 2**31 - 1))
def test_every_seed_is_taken(seed: int) -> None:
    assert SEED.convert(str(seed), OPTION, None) == seed


def test_waits() -> None:
    assert WAITS.convert("5s,30s", OPTION, None) == (5, 30)
    assert WAITS.convert("0", OPTION, None) == (0,)
    assert seconds("1m") == 60

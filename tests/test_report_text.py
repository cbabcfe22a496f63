"""Text made safe for a terminal, and numbers in words."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.report import text

ANY = st.text(st.characters(codec=None), max_size=40)  # lone surrogates too


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("tidy-imports", "tidy-imports"),
        ("日本 é", "日本 é"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred\x1b]0;t\x07", "\\x1b[31mred\\x1b]0;t\\x07"),
        ("\x9b31m \x7f\x00", "\\x9b31m \\x7f\\x00"),
        ("a\u202eb\u2066c\u200bd\ufeffe", "a\\u202eb\\u2066c\\u200bd\\ufeffe"),
        ("a\u2028b\u2029c\x85d", "a\\u2028b\\u2029c\\x85d"),
        ("\udcff\udc80\ud800", "\\xff\\x80\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    assert text.plain(raw) == shown


@settings(deadline=None)
@given(ANY)
def test_plain_text_is_one_harmless_line_that_can_be_encoded(raw: str) -> None:
    shown = text.plain(raw)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.encode().decode() == shown
    assert text.plain(shown) == shown


@settings(deadline=None)
@given(ANY, st.integers(0, 30))
def test_shortened_text_fits(raw: str, columns: int) -> None:
    assert text.width(text.shorten(raw, columns)) <= columns
    if text.width(text.plain(raw)) <= columns:
        assert text.shorten(raw, columns) == text.plain(raw)


def test_widths() -> None:
    assert text.width("ab") == 2
    assert text.width("日本") == 4
    assert text.width("e\u0301") == 1
    assert text.pad("日", 4) == "日  "
    assert text.shorten("abcdefghij", 7) == "ab...ij"
    assert text.shorten("日本語日本語", 7) == "日...語"


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (None, "-"),
        (0.0, "$0.00"),
        (0.104, "$0.104"),
        (0.0004, "$0.0004"),
        (1e-6, "<$0.0001"),
        (0.9999, "$1.000"),
        (12.5, "$12.50"),
        (1234.567, "$1234.57"),
    ],
)
def test_money(usd: float | None, shown: str) -> None:
    assert text.money(usd) == shown


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "-"),
        (0, "0ms"),
        (420.4, "420ms"),
        (999.6, "1.0s"),
        (18692, "18.7s"),
        (59940, "59.9s"),
        (59960, "1m00s"),
        (125_000, "2m05s"),
        (3_599_600, "1h00m"),
        (3_720_000, "1h02m"),
    ],
)
def test_duration(ms: float | None, shown: str) -> None:
    assert text.duration(ms) == shown


def test_clock() -> None:
    assert [text.clock(seconds) for seconds in (-1, 0, 41.9, 80, 3723)] == ["0:00", "0:00", "0:41", "1:20", "1:02:03"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0, "0.00"), (1.0, "1.00"), (0.4, "0.40"), (0.9975, "0.998"), (0.002, "0.002"), (1e-9, "<0.0001")],
)
def test_rate(value: float | None, shown: str) -> None:
    assert text.rate(value) == shown
    if value is not None:
        assert text.rate(0.99999999) == ">0.9999"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0, "0.00"), (0.029, "+0.03"), (-0.4, "-0.40"), (-0.003, "-0.003"), (1, "+1.00")],
)
def test_signed(value: float | None, shown: str) -> None:
    assert text.signed(value) == shown


def test_count() -> None:
    assert [text.count(number, "trial") for number in (0, 1, 3)] == ["0 trials", "1 trial", "3 trials"]
    assert text.count(2, "criterion", "criteria") == "2 criteria"

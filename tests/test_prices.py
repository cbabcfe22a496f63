"""Prices: what tokens cost, and what a file of prices may hold."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.model.errors import UsageFault
from kcut.model.trial import Tokens
from kcut.prices import KEYS, Price, Prices, read_prices

FILE = """\
["gpt-5.5"]
input = 1.25
output = 10
cache_read = 0.125

["gpt-5.5-2026-03-01"]
input = 2
output = 20
cache_read = 0
cache_creation = 2.5

[small]
output = 0.4
"""


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    path = tmp_path / "prices.toml"
    path.write_text(FILE)
    return read_prices(path)


@pytest.mark.parametrize(
    ("model", "tokens", "cost"),
    [
        ("gpt-5.5", Tokens(1_000_000, 0), 1.25),
        ("gpt-5.5", Tokens(200_000, 10_000, 800_000), 0.25 + 0.1 + 0.1),  # what was cached is no part of the input
        ("gpt-5.5", Tokens(0, 0), 0.0),
        ("gpt-5.5", Tokens(1, 1, 1, 1), None),  # written to the cache, at no known price
        ("gpt-5.5-2026-03-01", Tokens(1_000_000, 0, 5, 400_000), 3.0),  # the exact name first
        ("gpt-5.5-2026-01-01", Tokens(1_000_000, 0), 1.25),
        ("gpt-5.5-20260101", Tokens(1_000_000, 0), 1.25),
        ("gpt-5.5@20260101", Tokens(1_000_000, 0), 1.25),
        ("gpt-5.5-latest", Tokens(1_000_000, 0), 1.25),
        ("small", Tokens(0, 1_000_000), 0.4),
        ("small", Tokens(1, 1_000_000), None),
        # near misses: another model is not this one
        ("gpt-5.5-mini", Tokens(1, 1), None),
        ("gpt-5.5-mini-2026-01-01", Tokens(1, 1), None),
        ("gpt-5", Tokens(1, 1), None),
        ("GPT-5.5", Tokens(1, 1), None),
        ("gpt-5.5-2026-01-01-preview", Tokens(1, 1), None),
        ("gpt-5.5-2026-01", Tokens(1, 1), None),
        ("gpt-5.5-2026-01-01\n", Tokens(1, 1), None),
        ("", Tokens(1, 1), None),
    ],
)
def test_cost(prices: Prices, model: str, tokens: Tokens, cost: float | None) -> None:
    assert prices.cost(model, tokens) == (None if cost is None else pytest.approx(cost))


counts = st.integers(0, 2**53)
some_price = st.one_of(st.none(), st.floats(0, 1e6))


@given(st.builds(Price, *[some_price] * 4), st.builds(Tokens, *[counts] * 4), st.builds(Tokens, *[counts] * 4))
def test_a_cost_is_a_sum_or_unknown(price: Price, first: Tokens, second: Tokens) -> None:
    prices = Prices({"m": price})
    costs = [prices.cost("m", tokens) for tokens in (first, second, first + second)]
    for tokens, cost in zip((first, second), costs, strict=False):
        unknown = any(getattr(tokens, kind) and getattr(price, kind) is None for kind in KEYS)
        assert (cost is None) is unknown
    if costs[0] is None or costs[1] is None:
        assert costs[2] is None
    else:
        assert costs[2] == pytest.approx(costs[0] + costs[1])


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("", "names no model", "e.g."),
        ("[m]\n", "'m' has no price", "e.g."),
        ("m = 3\n", "'m' is no table of prices", "e.g."),
        ("[[m]]\ninput = 1\n", "'m' is no table of prices", "e.g."),
        ("[m]\ninputs = 1\n", "unknown key inputs", "did you mean input?"),
        ("[m]\ncached_input = 1\n", "unknown key cached_input", "did you mean cache_read?"),
        ("[m]\ncache_write = 1\n", "unknown key cache_write", "did you mean cache_creation?"),
        ('[m]\n"\\u001b[31m" = 1\n', "unknown key '\\x1b[31m'", "known: input, output, cache_read"),
        ("[gpt-5.5]\ninput = 1\n", "'gpt-5': '5' is a table", 'write ["gpt-5.5"]'),
        ('[models."gpt-5.5"]\ninput = 1\n', "'models': 'gpt-5.5' is a table", 'write ["gpt-5.5"]'),
        ("[m]\ninput = -0.1\n", "input must be a number from 0 to 1000000 (got -0.1)", "per million"),
        ("[m]\ninput = nan\n", "(got nan)", "per million"),
        ("[m]\ninput = inf\n", "(got inf)", "per million"),
        ("[m]\ninput = 1" + "0" * 400 + "\n", "(got 1000", "per million"),
        ("[m]\ninput = 1" + "0" * 5000 + "\n", "cannot read", "e.g."),
        ("[m]\ninput = true\n", "input must be a number, not true or false", "e.g."),
        ('[m]\ninput = "1.25"\n', "input must be a number, not a text", "e.g."),
        ("[m]\ninput = [1]\n", "input must be a number, not a list", "e.g."),
        ("[m]\ninput = 2026-01-01\n", "input must be a number, not a date", "e.g."),
        ("[m]\ninput = $3\n", "is no TOML", "e.g."),
        ("[m]\ninput = 1\ninput = 2\n", "is no TOML", "e.g."),
        ("m = " + "[" * 100_000, "is nested too deeply", "e.g."),
        ("\udcff = 1", "is not UTF-8", "save it as UTF-8"),
    ],
)
def test_what_no_file_of_prices_is(tmp_path: Path, text: str, message: str, remedy: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageFault) as caught:
        read_prices(path)
    assert message in caught.value.message
    assert str(path) in caught.value.message
    assert remedy in (caught.value.remedy or "")


@pytest.mark.parametrize(("name", "message"), [("none.toml", "No such file"), (".", "it is not a regular file")])
def test_no_file(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(UsageFault, match=message):
        read_prices(tmp_path / name)


def test_a_file_saved_on_windows(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
    assert read_prices(path).cost("small", Tokens(0, 500_000)) == pytest.approx(0.2)

"""The sidecar: numbers, booleans, known reasons and plain names; nothing else gets in."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.agents.sidecar import SIZE, Sidecar, parse_sidecar, read_sidecar
from kcut.model.outcome import Void
from kcut.model.trial import Tokens, Usage

EMPTY = Sidecar(Usage(), None)


def parse(document: Any) -> Sidecar:
    sidecar = parse_sidecar(json.dumps(document).encode())
    assert sidecar is not None
    return sidecar


def test_everything_that_may_stand_in_it() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}
    document = {
        "cost_usd": 0.25,
        "usage": usage,
        "num_turns": 7,
        "duration_ms": 1234.5,
        "is_error": True,
        "void": "rate_limit",
        "model": "anthropic.claude-3-5-sonnet-20241022-v2:0",
        "agent_version": "2.1.332",
    }
    sidecar = parse(document)
    assert sidecar.void is Void.RATE_LIMIT
    assert sidecar.usage == Usage(
        0.25, Tokens(1, 2, 3, 4), 7, 1234.5, True, "anthropic.claude-3-5-sonnet-20241022-v2:0", "2.1.332"
    )
    assert parse(document | {"result": "secret", "usage": usage | {"note": "secret"}}) == sidecar


def test_cost_by_either_name() -> None:
    assert parse({"total_cost_usd": 0.5}).usage.cost_usd == 0.5
    assert parse({"total_cost_usd": 0.5, "cost_usd": 0.25}).usage.cost_usd == 0.25
    assert parse({"total_cost_usd": 0.5, "cost_usd": "0.25"}).usage.cost_usd == 0.5
    assert parse({"cost_usd": 0}).usage.cost_usd == 0


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "-0.5",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "true",
        '"1"',
        "[1]",
        "{}",
        "null",
        str(2**53),
        "9" * 5000,
    ],
)
def test_numbers_that_are_none_are_unknown(text: str) -> None:
    document = '{"cost_usd":%s,"num_turns":%s,"duration_ms":%s,"usage":{"input_tokens":%s,"output_tokens":1}}'
    assert parse_sidecar((document % (text, text, text, text)).encode()) == EMPTY


def test_numbers() -> None:
    assert parse({"num_turns": 2.5}).usage.turns is None
    assert parse({"num_turns": 3.0}).usage.turns == 3
    cost = parse_sidecar(b'{"cost_usd": -0.0}')
    assert cost is not None
    assert str(cost.usage.cost_usd) == "0.0"
    assert parse({"cost_usd": 2**53 - 1}).usage.cost_usd == 2.0**53 - 1


def test_half_a_count_is_unknown() -> None:
    assert parse({"usage": {"input_tokens": 1}}).usage.tokens is None
    assert parse({"usage": {"output_tokens": 1}}).usage.tokens is None
    assert parse({"usage": {"input_tokens": 1, "output_tokens": 2}}).usage.tokens == Tokens(1, 2)
    assert parse({"usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": "x"}}).usage.tokens == (
        Tokens(1, 2)
    )
    assert parse({"usage": [1, 2]}).usage.tokens is None


@pytest.mark.parametrize("reason", list(Void))
def test_every_reason_voids(reason: Void) -> None:
    assert parse({"void": str(reason)}).void is reason


@pytest.mark.parametrize("reason", ["", "AUTH", "auth ", "unlucky", 1, True, None, ["auth"], {"auth": 1}])
def test_other_reasons_do_not_void(reason: Any) -> None:
    assert parse({"void": reason}) == EMPTY


@pytest.mark.parametrize("flag", [0, 1, "true", None, []])
def test_is_error_is_a_boolean(flag: Any) -> None:
    assert parse({"is_error": flag}) == EMPTY


@pytest.mark.parametrize(
    "name",
    [
        "",
        " x",
        "-x",
        "a b",
        "a\n",
        "a" * 65,
        "é",
        "x\u0000",
        "claude-opus-4-8[1m]",
        "sk-ant-api03-abcdef",
        "ghp_abcdefghijklmnop123",
        "AKIAIOSFODNN7EXAMPLE",
        "0123456789abcdef0123456789abcdef",
        "AbCdEfGh0123456789IjKlMn",
        "https://user:secret@host/x",
        7,
        None,
        ["gpt"],
    ],
)
def test_names_that_are_dropped(name: Any) -> None:
    assert parse({"model": name, "agent_version": name}) == EMPTY


@pytest.mark.parametrize(
    "name", ["gpt-5.5", "o3", "Qwen/Qwen2.5-Coder-32B-Instruct", "2.1.332", "1.0.0-beta.1+build.5", "a" * 64, "x@y:z"]
)
def test_names_that_are_kept(name: str) -> None:
    usage = parse({"model": name, "agent_version": name}).usage
    assert (usage.model, usage.agent_version) == (name, name)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[]",
        b"3",
        b'"x"',
        b"null",
        b"{} {}",
        b"{'cost_usd': 1}",
        b'{"cost_usd": 1}\xff',
        b'{"cost_usd": 1}'.decode().encode("utf-16"),
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"cost_usd": 1, "x": "' + b"x" * SIZE + b'"}',
    ],
)
def test_malformed_is_unknown(data: bytes) -> None:
    assert parse_sidecar(data) is None


def test_a_byte_order_mark_and_duplicates() -> None:
    sidecar = parse_sidecar(b'\xef\xbb\xbf{"void": "auth", "num_turns": 1, "num_turns": 2}\r\n')
    assert sidecar is not None
    assert (sidecar.void, sidecar.usage.turns) == (Void.AUTH, 2)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    parse_sidecar(data)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["cost_usd", "usage", "num_turns", "duration_ms", "is_error", "void", "model", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), inner, max_size=2),
            max_leaves=4,
        ),
    )
)
def test_any_document_gives_numbers_that_can_be_kept(document: dict[str, Any]) -> None:
    usage = parse(document).usage
    for value in (usage.cost_usd, usage.duration_ms, usage.turns):
        assert value is None or 0 <= value < 2**53 + 1
    json.dumps([usage.cost_usd, usage.duration_ms, usage.turns], allow_nan=False)


def test_reading_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sidecar.json"
    assert read_sidecar(path) is None
    path.write_text('{"num_turns": 3}')
    assert read_sidecar(path) == Sidecar(Usage(turns=3), None)
    path.write_bytes(b" " * SIZE + b'{"num_turns": 3}')
    assert read_sidecar(path) is None
    path.write_bytes(b'{"num_turns": 3}'.ljust(SIZE))
    assert read_sidecar(path) == Sidecar(Usage(turns=3), None)


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_text('{"num_turns": 3}')
    link = tmp_path / "link"
    link.symlink_to(target)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    endless = tmp_path / "endless"
    endless.symlink_to("/dev/zero")
    for path in (link, fifo, endless, tmp_path, Path("/dev/null"), tmp_path / "no" / "such", Path("a\0b")):
        assert read_sidecar(path) is None

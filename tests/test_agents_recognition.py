"""Which outputs are an agent CLI's: its own events at the end, and never words that a model wrote."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.agents import classify, read_output
from kcut.model.outcome import Void
from tests.test_agents_outcomes import ASSISTANT, INIT, MESSAGE, SESSION, THREAD, TURN, failed, lines, result
from tests.test_agents_recorded import RECORDED, documents

MIB = 1 << 20
ERROR = json.dumps(failed("API Error: 429 x", 429))
OK = json.dumps(result())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "all tests passed",
        '{"type":"result","ok":true}',
        '{"type":"result","status":"success"}',
        '{"type":"result","status":"error","error":{"type":"ValueError","message":"x"}}',
        '{"type":"result","subtype":"success","is_error":"no"}',
        '{"type":"result","subtype":"success","is_error":false}',
        '{"type":"system","message":"up"}',
        '{"type":"login","session_id":"1","uuid":"2"}',
        '{"type":"message","timestamp":"t","role":"user","content":"hello"}',
        '{"type":"error","message":"no such file"}',
        '{"type":"error","timestamp":"t","severity":"error","message":"x"}',
        '{"type":"init","session_id":7}',
        '{"session_id":"s","response":"x","stats":[]}',
        '{"error":{"type":"Error","message":"x","code":401}}',
        '{"response":"x","stats":{"models":3}}',
        '[{"type":"result","ok":true}]',
        "[]",
        "{}",
        "null",
    ],
)
def test_other_programs_output_is_not_taken_for_an_agents(text: str) -> None:
    for code in (0, 1, 143):
        assert read_output(text.encode(), text.encode(), exit_code=code) is None


@pytest.mark.parametrize(
    "text",
    [
        f"The log says: {ERROR}",
        f"{ERROR} is what it printed",
        f"I found this:\n{ERROR}\nwhich means that it was throttled.",
        f"I found this:\n\n    {ERROR}",
        f"Here it is:\n```json\n{ERROR}\n```",
        f"Here it is:\n```json\n{ERROR}\n",
        f"Here it is:\n~~~\n{ERROR}\n~~~\nDone.",
        f"> {ERROR}",
        json.dumps({"answer": ERROR}),
        json.dumps({"answer": json.loads(ERROR)}),
        json.dumps({"answer": json.loads(ERROR)}, indent=2),
        json.dumps([ERROR]),
        json.dumps([json.loads(ERROR), {"note": "and then"}]),
        json.dumps({"log": [json.loads(ERROR)]}, indent=0) + "\nand more",
        'The CLI prints {"type":"thread.started","thread_id":"x"} first',
        f"A run looks so:\n{json.dumps(INIT)}\n{json.dumps(ASSISTANT)}\nand then ends.",
    ],
)
def test_an_answer_that_quotes_an_event_is_words(text: str) -> None:
    assert read_output(text.encode(), b"", exit_code=0) is None


def test_an_event_as_the_whole_last_line_counts() -> None:
    for text in (ERROR, f"words\n{ERROR}", f"words\n\n{ERROR}\n\n  \n"):
        report = read_output(text.encode(), b"", exit_code=0)
        assert report is not None
        assert report.void is Void.RATE_LIMIT


def test_the_last_event_decides() -> None:
    for first, second, void in ((OK, ERROR, Void.RATE_LIMIT), (ERROR, OK, None)):
        report = read_output(f"{first}\n{second}\n".encode(), b"", exit_code=0)
        assert report is not None
        assert report.void is void


def test_a_real_event_counts_though_an_answer_quotes_another_later() -> None:
    report = read_output(f"{OK}\nsummary:\n{ERROR}\nend\n".encode(), b"", exit_code=0)
    assert report is not None
    assert report.void is None


def test_noise_between_events_does_not_matter() -> None:
    texts = [json.dumps(event) for event in (INIT, ASSISTANT, result())]
    for noise in ("warning: x", "\x1b[31mred", '{"level":"debug"}'):
        data = f"\n{noise}\n".join(texts).encode()
        for trailer in (b"", b"\ntests passed\n"):
            report = read_output(data + trailer, b"", exit_code=0)
            assert report is not None
            assert report.void is None


def test_an_array_counts_by_its_last_element() -> None:
    events: list[Any] = [INIT, ASSISTANT, json.loads(ERROR)]
    for data in (json.dumps(events), json.dumps(events, indent=2), json.dumps([1, "x", None, *events])):
        report = read_output(data.encode(), b"", exit_code=1)
        assert report is not None
        assert report.void is Void.RATE_LIMIT
    report = read_output(json.dumps(events[:2]).encode(), b"", exit_code=0)
    assert report is not None
    assert report.void is Void.INTERRUPTED


def test_stderr_is_read_after_stdout() -> None:
    report = read_output(b"building\n", f"words\n{ERROR}\n".encode(), exit_code=1)
    assert report is not None
    assert report.void is Void.RATE_LIMIT
    report = read_output(OK.encode(), ERROR.encode(), exit_code=1)
    assert report is not None
    assert report.void is None


def last_mib(data: bytes) -> bytes:
    return data[-MIB:]


@pytest.mark.parametrize("indent", [None, 2, 4])
@pytest.mark.parametrize("filler", ['"},{"', "x" * 40, '\\"},{\\"type\\"', "\n{\n", "é"])
def test_an_output_whose_head_is_cut(indent: int | None, filler: str) -> None:
    said = {"role": "user", "content": [{"a": 1}, {"type": "x"}]}
    user = {"type": "user", "session_id": SESSION, "message": said}
    big = user | {"tool_use_result": filler * (MIB // len(filler.encode()))}
    events: list[Any] = [INIT, ASSISTANT, big, user, json.loads(ERROR)]
    stream = "\n".join(json.dumps(event, indent=indent, ensure_ascii=False) for event in events)
    array = json.dumps(events, indent=indent, ensure_ascii=False)
    for text in (stream, stream + "\n", array, array + "\n"):
        report = read_output(last_mib(text.encode()), b"", exit_code=1)
        assert report is not None
        assert (report.cli, report.void) == ("claude", Void.RATE_LIMIT)


def test_a_stream_whose_head_is_cut_had_worked() -> None:
    big = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "x" * MIB}}
    failure = {"type": "turn.failed", "error": {"message": "unexpected status 500 Internal Server Error"}}
    report = read_output(last_mib(lines(THREAD, TURN, big, failure)), b"", exit_code=1)
    assert report is not None
    assert (report.void, report.late) == (Void.SERVER_ERROR, True)
    report = read_output(lines(failure), b"", exit_code=1)
    assert report is not None
    assert (report.void, report.late) == (Void.SERVER_ERROR, False)


HOSTILE = [
    "[", "{", '"', "\\", "[\n", "{\n", "[\n]\n", '{"a":', '{"a":\n', "},{", '"},{"', '},{"a":[', "[{},", '{"a":"\n',
    '{"type":"turn.started"}\nx\n', "\xff", 'API Error: 429 {"', '{"a":' + "9" * 4400 + "}\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_mebibyte_of_anything_is_read_in_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        data = (unit * (size // len(unit) + 1))[:size].encode("latin-1")
        begin = time.process_time()
        read_output(data + b"\n]\n", b"", exit_code=1)
        report = read_output(data + f"]\n\n.\n{ERROR}\n".encode(), b"", exit_code=1)
        assert report is not None
        assert report.void is Void.RATE_LIMIT
        return time.process_time() - begin

    # a quadratic reading of a whole mebibyte takes minutes
    assert seconds(MIB) < 60


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=400), st.binary(max_size=100), st.sampled_from([0, 1, 130, 143, -9, None]), st.booleans())
def test_any_bytes_are_read(stdout: bytes, stderr: bytes, code: int | None, flag: bool) -> None:
    read_output(stdout, stderr, exit_code=code, timed_out=flag)
    for cli in ("claude", "codex", "gemini"):
        classify(cli, stdout, stderr, code, timed_out=flag, sent_signal=not flag)


PIECES = st.sampled_from(
    [
        ERROR,
        OK,
        json.dumps(INIT),
        json.dumps(THREAD),
        json.dumps(MESSAGE),
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        " ",
        '"',
        "x",
        "```",
    ]
)


@settings(deadline=None, max_examples=100)
@given(st.lists(PIECES, max_size=12), st.integers(0, 300))
def test_pieces_of_events_are_read(pieces: list[str], cut: int) -> None:
    read_output("".join(pieces).encode()[cut:], b"", exit_code=1)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *sorted(result()),
    "errors",
    "modelUsage",
    "api_error",
    "api_error_type",
    "error",
    "stats",
    "status",
    "item",
    "message",
]
TYPES = [
    "result",
    "system",
    "assistant",
    "turn.failed",
    "turn.completed",
    "item.completed",
    "init",
    "error",
    "message",
]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=10), max_size=4), st.data())
def test_events_with_any_values_are_read(events: list[dict[str, Any]], data: st.DataObject) -> None:
    typed = [event | {"type": data.draw(st.sampled_from(TYPES))} for event in events]
    read_output("\n".join(map(json.dumps, typed)).encode(), b"", exit_code=1)


SAYING = [run for run in RECORDED.values() if run.void is None and run.stdout]
QUOTES = st.lists(
    st.sampled_from(
        [ERROR, OK, "API Error: 429 {}", "Not logged in · Please run /login", "quota exceeded", "rate limit"]
    )
    | st.text(max_size=20),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(SAYING), QUOTES, st.sampled_from(["", " ", "\n", "```json\n"]), st.sampled_from([None, 2]))
def test_what_a_model_says_never_changes_the_outcome(
    run: Any, quotes: list[str], glue: str, indent: int | None
) -> None:
    """Model text is the answer in `result`, assistant texts, and what its tools printed."""
    text = glue.join(quotes)
    events = documents(run.stdout)
    for event in events:
        if event.get("is_error") is False and "result" in event:
            event["result"] = text
        if event.get("type") == "message" and event.get("role") == "assistant":
            event["content"] = text or "x"
        if event.get("type") == "tool_result":
            event["output"] = text
        item = event.get("item", {})
        if item.get("type") == "agent_message":
            item["text"] = text
        if item.get("type") == "command_execution":
            item["aggregated_output"] = text
    data = "\n".join(json.dumps(event, indent=indent) for event in events)
    report = read_output(data.encode(), run.stderr, exit_code=run.exit_code)
    assert report == classify(run.cli, run.stdout, run.stderr, run.exit_code)


@settings(deadline=None, max_examples=100)
@given(QUOTES)
def test_text_in_a_stream_never_changes_the_outcome(quotes: list[str]) -> None:
    for text in ("\n".join(quotes), *quotes):
        said = ASSISTANT | {"message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}
        tool = {
            "type": "user",
            "session_id": SESSION,
            "message": {"role": "user", "content": [{"type": "tool_result", "content": text}]},
            "tool_use_result": {"stdout": text, "items": [json.loads(ERROR), {"a": 1}, json.loads(ERROR)]},
        }
        report = read_output(lines(INIT, said, tool, result(result=text)), b"", exit_code=0)
        assert report is not None
        assert report.void is None
        cut = read_output(lines(INIT, said, tool), b"", exit_code=0)
        assert cut is not None
        assert cut.void is Void.INTERRUPTED

"""What each CLI's end means, row by row: outputs made in the shape of the recorded ones."""

import json
from typing import Any

import pytest

from kcut.agents import AgentReport, classify, read_output
from kcut.model.errors import UsageFault
from kcut.model.outcome import Void
from kcut.model.trial import Tokens

SESSION = "b274d4e3-7a71-4002-994d-27723a81742b"


def lines(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def result(**changes: Any) -> dict[str, Any]:
    """A `result` event of Claude Code for a run that went well; a key set to ... is left out."""
    event = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "result": "Done.",
        "stop_reason": "end_turn",
        "terminal_reason": "completed",
        "num_turns": 3,
        "duration_ms": 500,
        "session_id": SESSION,
        "total_cost_usd": 0.01,
        "usage": {"input_tokens": 2000, "output_tokens": 100},
        "permission_denials": [],
    } | changes
    return {key: value for key, value in event.items() if value is not ...}


NOTHING = {"total_cost_usd": 0, "usage": {"input_tokens": 0, "output_tokens": 0}, "num_turns": 1}


def failed(text: str, status: int | None = None, **changes: Any) -> dict[str, Any]:
    """A `result` event for an API error before any model response."""
    error = {"is_error": True, "terminal_reason": "api_error", "stop_reason": "stop_sequence"}
    return result(result=text, api_error_status=status, **(error | NOTHING | changes))


WORKED: dict[str, Any] = {
    "total_cost_usd": 0.01,
    "usage": {"input_tokens": 2000, "output_tokens": 100},
    "num_turns": 4,
}

CLAUDE = {
    "ok": (0, result(), None),
    "empty text": (0, result(result=""), None),
    "quotes an error": (0, result(result='API Error: 429 {"type":"error"}'), None),
    "401": (1, failed("Failed to authenticate. API Error: 401 x", 401), Void.AUTH),
    "403": (1, failed("API Error: 403 x", 403, api_error_type="permission_error"), Void.AUTH),
    "404": (1, failed("There's an issue with the selected model (x).", 404), Void.STARTUP),
    "400": (1, failed("API Error: 400 x", 400, api_error_type="invalid_request_error"), Void.STARTUP),
    "400 credit": (1, failed("Credit balance is too low", 400, api_error_type="invalid_request_error"), Void.QUOTA),
    "402": (1, failed("API Error: 402", 402, api_error_type="billing_error"), Void.QUOTA),
    "429": (1, failed("API Error: Request rejected (429) · x", 429), Void.RATE_LIMIT),
    "429 usage limit": (1, failed("You've hit your session limit · resets 3pm", 429), Void.QUOTA),
    "429 rate": (1, failed("This request would exceed your account's rate limit.", 429), Void.RATE_LIMIT),
    "500": (1, failed("API Error: 500 x", 500, api_error_type="api_error"), Void.SERVER_ERROR),
    "503": (1, failed("API Error: 503 Service Unavailable", 503), Void.SERVER_ERROR),
    "503 overloaded": (1, failed("API Error: 503 the model is overloaded", 503), Void.OVERLOADED),
    "529": (1, failed("API Error: 529 x", 529, api_error_type="overloaded_error"), Void.OVERLOADED),
    "prompt too long": (1, failed("Prompt is too long", terminal_reason="prompt_too_long"), Void.PROMPT_TOO_LONG),
    "prompt too long, old": (1, failed("Prompt is too long", 400, terminal_reason="completed"), Void.PROMPT_TOO_LONG),
    "prompt too long after work": (1, failed("Prompt is too long", 400, **WORKED), None),
    "413": (1, failed("API Error: 413", 413, api_error_type="request_too_large"), Void.PROMPT_TOO_LONG),
    "400 after work": (1, failed("API Error: 400 x", 400, **WORKED), None),
    "cut": (1, failed("API Error: Connection dropped (ECONNRESET)"), Void.CONNECTION),
    "timeout": (1, failed("API Error: Request timed out. Check your internet connection"), Void.CONNECTION),
    "error of no known kind": (1, failed("API Error: Something unheard-of"), Void.CONNECTION),
    "no key": (1, failed("Not logged in · Please run /login"), Void.AUTH),
    "bad key": (1, failed("Invalid API key · Fix external API key"), Void.AUTH),
    "exit 0": (0, failed("API Error: Rate limit reached", terminal_reason=...), Void.RATE_LIMIT),
    "refusal": (1, failed("API Error: flagged", stop_reason="refusal", **WORKED), None),
    "max tokens": (1, failed("API Error: x", api_error="max_output_tokens", **WORKED), None),
    "max tokens, old": (1, failed("API Error: response exceeded the 128000 output token maximum.", **WORKED), None),
    "max turns": (1, result(subtype="error_max_turns", is_error=True, errors=["x"], result=...), None),
    "budget": (1, result(subtype="error_max_budget_usd", is_error=True, result=..., terminal_reason=...), None),
    "aborted": (
        0,
        result(subtype="error_during_execution", is_error=True, terminal_reason="aborted_tools"),
        Void.INTERRUPTED,
    ),
    "aborted at once": (0, failed("", terminal_reason="aborted_streaming"), Void.INTERRUPTED),
    "crashed after work": (
        1,
        result(subtype="error_during_execution", is_error=True, errors=["ECONNRESET"], result=...),
        None,
    ),
    "denied": (0, result(permission_denials=[{"tool_name": "Write"}]), Void.PERMISSIONS),
    "no response": (0, result(**(NOTHING | {"num_turns": 5})), Void.STARTUP),
    "no response, no cost": (0, result(**NOTHING | {"total_cost_usd": ...}), Void.STARTUP),
    "cost only": (0, result(usage=...), None),
}


@pytest.mark.parametrize("case", CLAUDE)
def test_claude(case: str) -> None:
    exit_code, event, void = CLAUDE[case]
    report = read_output(lines(event), b"", exit_code=exit_code)
    assert report is not None
    assert (report.cli, report.void, report.late) == ("claude", void, False)


@pytest.mark.parametrize(
    ("event", "void"),
    [
        (failed("API Error: 500 x", 500, **WORKED), Void.SERVER_ERROR),
        (failed("API Error: 401 x", 401, **WORKED), Void.AUTH),
        (failed("API Error: Connection dropped", **WORKED), Void.CONNECTION),
        (failed("API Error: Connection dropped", terminal_reason="completed", **WORKED), Void.CONNECTION),
        (failed("You are out of credits", 429, **WORKED), Void.QUOTA),
    ],
)
def test_a_providers_fault_after_work_is_late_and_keeps_its_cost(event: dict[str, Any], void: Void) -> None:
    report = read_output(lines(event), b"", exit_code=1)
    assert report is not None
    assert (report.void, report.late) == (void, True)
    assert (report.usage.cost_usd, report.usage.turns) == (0.01, 4)


def test_the_cli_reports_an_error_in_prose_and_exits_0() -> None:
    event = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "duration_api_ms": 0,
        "result": "API Error: Rate limit reached",
        "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    report = read_output(lines(event), b"", exit_code=0)
    assert report is not None
    assert report.void is Void.RATE_LIMIT


INIT = {"type": "system", "subtype": "init", "session_id": SESSION, "model": "claude-x", "tools": [], "cwd": "/w"}
ASSISTANT = {
    "type": "assistant",
    "session_id": SESSION,
    "message": {"role": "assistant", "content": [{"type": "text"}]},
}
SYNTHETIC = {
    "type": "assistant",
    "session_id": SESSION,
    "error": "overloaded",
    "message": {"role": "assistant", "model": "<synthetic>", "content": [{"type": "text"}]},
}


def retry(status: int | None, error: str = "unknown") -> dict[str, Any]:
    return {"type": "system", "subtype": "api_retry", "session_id": SESSION, "error_status": status, "error": error}


THREAD = {"type": "thread.started", "thread_id": "01a2"}
TURN = {"type": "turn.started"}
MESSAGE = {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Writing."}}
WARNING = {"type": "item.completed", "item": {"id": "item_1", "type": "error", "message": "unexpected status 401"}}
RECONNECTING = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected before completion)"}
COMPLETED = {
    "type": "turn.completed",
    "usage": {"input_tokens": 2000, "cached_input_tokens": 500, "output_tokens": 100},
}

GEMINI_INIT = {"type": "init", "timestamp": "t", "session_id": "1857c6e3", "model": "gemini-2.5-flash"}
GEMINI_TOOL = {"type": "tool_use", "timestamp": "t", "tool_name": "write_file", "tool_id": "w", "parameters": {}}

STREAMS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], Void | None]] = {
    # no terminal event
    "claude exits 0": ([INIT, ASSISTANT], {"exit_code": 0}, Void.INTERRUPTED),
    "claude is terminated": ([INIT, ASSISTANT], {"exit_code": 143}, Void.INTERRUPTED),
    "claude is terminated before it works": ([INIT], {"exit_code": -15}, Void.INTERRUPTED),
    "claude is killed": ([INIT, ASSISTANT], {"exit_code": 137}, None),
    "claude is killed before it works": ([INIT], {"exit_code": 137}, Void.STARTUP),
    "claude crashes": ([INIT, ASSISTANT], {"exit_code": 1}, None),
    "claude crashes at once": ([INIT, SYNTHETIC], {"exit_code": 1}, Void.OVERLOADED),
    "claude times out": ([INIT, ASSISTANT], {"exit_code": 143, "timed_out": True}, None),
    "claude times out, nothing said": ([INIT], {"exit_code": 143, "timed_out": True}, Void.CONNECTION),
    "claude times out retrying": (
        [INIT, ASSISTANT, retry(529)],
        {"exit_code": 143, "timed_out": True},
        Void.CONNECTION,
    ),
    "claude is stopped by kcut": ([INIT, ASSISTANT], {"exit_code": 143, "sent_signal": True}, None),
    "codex exits 0": ([THREAD, TURN, MESSAGE], {"exit_code": 0}, Void.INTERRUPTED),
    "codex without a key": ([THREAD], {"exit_code": 1}, Void.STARTUP),
    "codex crashes": ([THREAD, TURN, MESSAGE], {"exit_code": 1}, None),
    "codex is terminated": ([THREAD, TURN, MESSAGE], {"exit_code": -15}, Void.INTERRUPTED),
    "codex times out retrying": (
        [THREAD, TURN, MESSAGE, RECONNECTING],
        {"exit_code": -15, "timed_out": True},
        Void.CONNECTION,
    ),
    "codex times out with a warning": (
        [THREAD, TURN, WARNING],
        {"exit_code": -15, "timed_out": True},
        Void.CONNECTION,
    ),
    "codex begins a second turn": ([THREAD, TURN, MESSAGE, COMPLETED, TURN], {"exit_code": 0}, Void.INTERRUPTED),
    "codex warns": ([THREAD, TURN, WARNING, MESSAGE, COMPLETED], {"exit_code": 0}, None),
    "codex reconnects": ([THREAD, TURN, RECONNECTING, MESSAGE, COMPLETED], {"exit_code": 0}, None),
    "gemini exits 0": ([GEMINI_INIT, GEMINI_TOOL], {"exit_code": 0}, Void.INTERRUPTED),
    "gemini times out and exits 0": ([GEMINI_INIT, GEMINI_TOOL], {"exit_code": 0, "timed_out": True}, None),
    "gemini times out at once": ([GEMINI_INIT], {"exit_code": 0, "timed_out": True}, Void.CONNECTION),
    # terminal events and what came before them
    "claude answers": ([INIT, retry(500), ASSISTANT, result()], {"exit_code": 0}, None),
    "claude runs twice, the second is cut": (
        [INIT, ASSISTANT, result(), INIT, ASSISTANT],
        {"exit_code": 0},
        Void.INTERRUPTED,
    ),
    "claude takes the reason of the last error": (
        [INIT, retry(529, "overloaded"), failed("Gave up")],
        {"exit_code": 1},
        Void.OVERLOADED,
    ),
    "claude denies what it was told to deny": (
        [INIT | {"permissionMode": "plan"}, ASSISTANT, result(permission_denials=[{"tool_name": "Write"}])],
        {"exit_code": 0},
        None,
    ),
    "claude denies in a bypass run": (
        [
            INIT | {"permissionMode": "bypassPermissions"},
            ASSISTANT,
            result(permission_denials=[{"tool_name": "Write"}]),
        ],
        {"exit_code": 0},
        Void.PERMISSIONS,
    ),
}


@pytest.mark.parametrize("case", STREAMS)
def test_streams(case: str) -> None:
    events, ending, void = STREAMS[case]
    report = read_output(lines(*events), b"noise\n", **ending)
    assert report is not None
    assert report.void == void, report.why
    assert report == classify(report.cli, lines(*events), b"noise\n", **ending)


def test_a_stream_that_breaks_off_in_the_midst_of_a_line() -> None:
    report = read_output(lines(INIT, ASSISTANT) + b'{"type":"user","mess', b"", exit_code=0)
    assert report is not None
    assert report.void is Void.INTERRUPTED


CODEX = {
    "unexpected status 401 Unauthorized: x, url: http://h/v1": Void.AUTH,
    "unexpected status 403 Forbidden: x": Void.AUTH,
    "unexpected status 400 Bad Request: x": Void.STARTUP,
    "unexpected status 404 Not Found: x": Void.STARTUP,
    "unexpected status 400: Your credit balance is too low": Void.QUOTA,
    "exceeded retry limit, last status: 429 Too Many Requests": Void.RATE_LIMIT,
    "You’ve hit your usage limit. Try again later.": Void.QUOTA,
    "Quota exceeded. Check your plan and billing details.": Void.QUOTA,
    "The usage limit has been reached": Void.QUOTA,
    "Rate limit reached for gpt-5.5 on tokens per min (TPM). Please try again in 1.5s.": Void.RATE_LIMIT,
    "We’re currently experiencing high demand, which may cause temporary errors.": Void.SERVER_ERROR,
    "unexpected status 502 Bad Gateway: x": Void.SERVER_ERROR,
    "Selected model is at capacity. Please try a different model.": Void.OVERLOADED,
    "stream disconnected before completion: Transport error: network error": Void.CONNECTION,
    "stream disconnected before completion: error sending request for url (http://h)": Void.CONNECTION,
    "timeout waiting for child process to exit": Void.CONNECTION,
    "Missing environment variable: `FAKE_KEY`.": Void.AUTH,
    "Codex ran out of room in the model's context window.": Void.PROMPT_TOO_LONG,
    "Something unheard-of": Void.STARTUP,
}


@pytest.mark.parametrize("message", CODEX)
def test_codex(message: str) -> None:
    failure: dict[str, Any] = {"type": "turn.failed", "error": {"message": message}}
    stream: list[dict[str, Any]] = [THREAD, TURN, {"type": "error", "message": message}, failure]
    report = read_output(lines(*stream), b"Reading additional input from stdin...\n", exit_code=1)
    assert report is not None
    assert (report.cli, report.void, report.late) == ("codex", CODEX[message], False)
    later = read_output(lines(*stream[:2], MESSAGE, *stream[2:]), b"", exit_code=1)
    assert later is not None
    if report.void in {Void.STARTUP, Void.PROMPT_TOO_LONG}:
        assert (later.void, later.late) == (None, False)
    else:
        assert (later.void, later.late) == (report.void, True)


def test_codex_takes_the_reason_of_the_last_error() -> None:
    error = {"type": "error", "message": "exceeded retry limit, last status: 429 Too Many Requests"}
    failures: list[dict[str, Any]] = [
        {"error": {"message": ""}},
        {"error": {"message": "turn failed"}},
        {"error": {}},
    ]
    for failure in failures:
        stream = lines(THREAD, TURN, MESSAGE, error, {"type": "turn.failed"} | failure)
        report = read_output(stream, b"", exit_code=1)
        assert report is not None
        assert (report.void, report.late) == (Void.RATE_LIMIT, True)


def test_codex_tokens_are_told_apart() -> None:
    report = read_output(lines(THREAD, TURN, MESSAGE, COMPLETED), b"", exit_code=0)
    assert report is not None
    assert report.usage.tokens == Tokens(1500, 100, cache_read=500)


def gemini(message: str | None, kind: str = "unknown", **stats: int) -> dict[str, Any]:
    counts = {"total_tokens": 0, "input_tokens": 0, "output_tokens": 0, "cached": 0, "tool_calls": 0} | stats
    event: dict[str, Any] = {"type": "result", "timestamp": "t", "status": "error", "stats": counts}
    return event if message is None else event | {"error": {"type": kind, "message": message}}


def wrapped(code: int, status: str, message: str = "scripted") -> str:
    return "[API Error: " + json.dumps({"error": {"code": code, "message": message, "status": status}}) + "]"


DAILY = "You exceeded your current quota, GenerateRequestsPerDayPerProject. Please retry in 34.5s."
MINUTE = "You exceeded your current quota, please check your plan and billing details. Please retry in 34.5s."

GEMINI: dict[str, tuple[int, dict[str, Any], Void | None]] = {
    "400": (144, gemini(wrapped(400, "INVALID_ARGUMENT")), Void.STARTUP),
    "400 key": (144, gemini(wrapped(400, "INVALID_ARGUMENT", "API key not valid.")), Void.AUTH),
    "401": (145, gemini(wrapped(401, "UNAUTHENTICATED")), Void.AUTH),
    "403": (147, gemini(wrapped(403, "PERMISSION_DENIED")), Void.AUTH),
    "404": (1, gemini(wrapped(404, "NOT_FOUND")), Void.STARTUP),
    "429": (173, gemini(wrapped(429, "RESOURCE_EXHAUSTED")), Void.RATE_LIMIT),
    "429 a minute": (173, gemini(wrapped(429, "RESOURCE_EXHAUSTED", MINUTE)), Void.RATE_LIMIT),
    "429 a day": (173, gemini(wrapped(429, "RESOURCE_EXHAUSTED", DAILY)), Void.QUOTA),
    "429 advice": (
        173,
        gemini("[API Error: x RESOURCE_EXHAUSTED\nrequest a quota increase through AI Studio"),
        Void.RATE_LIMIT,
    ),
    "429 exit code only": (173, gemini("[API Error: x]"), Void.RATE_LIMIT),
    "429 through a pipe": (1, gemini(wrapped(429, "RESOURCE_EXHAUSTED")), Void.RATE_LIMIT),
    "500": (244, gemini(wrapped(500, "INTERNAL")), Void.SERVER_ERROR),
    "503": (247, gemini(wrapped(503, "UNAVAILABLE")), Void.OVERLOADED),
    "nested": (173, gemini(wrapped(429, "", wrapped(429, "RESOURCE_EXHAUSTED"))), Void.RATE_LIMIT),
    "cut": (1, gemini("[API Error: terminated]"), Void.CONNECTION),
    "fetch": (1, gemini("[API Error: exception TypeError: fetch failed sending request]"), Void.CONNECTION),
    "unknown": (1, gemini("[API Error: unheard-of]"), Void.SERVER_ERROR),
    "crash": (1, gemini("Cannot read properties of undefined", "TypeError"), Void.STARTUP),
    "crash after work": (1, gemini("Cannot read properties of undefined", "TypeError", output_tokens=5), None),
    "empty reply": (0, gemini(None, output_tokens=200), Void.SERVER_ERROR),
    "turn limit": (53, gemini("Reached max session turns", "FatalTurnLimitedError", output_tokens=5), None),
    "authentication": (41, gemini("x", "FatalAuthenticationError"), Void.AUTH),
    "input": (42, gemini("x", "FatalInputError"), Void.STARTUP),
    "cancelled": (130, gemini("Operation cancelled.", "FatalCancellationError", output_tokens=5), Void.INTERRUPTED),
    "safety": (0, gemini(None, output_tokens=5) | {"status": "success"}, None),
    "no response": (0, gemini(None) | {"status": "success"}, Void.STARTUP),
}


@pytest.mark.parametrize("case", GEMINI)
def test_gemini(case: str) -> None:
    exit_code, event, void = GEMINI[case]
    report = read_output(lines(GEMINI_INIT, event), b"noise\n", exit_code=exit_code)
    assert report is not None
    assert (report.cli, report.void, report.late) == ("gemini", void, False), report.why


def test_gemini_late() -> None:
    stream = lines(GEMINI_INIT, GEMINI_TOOL, gemini(wrapped(500, "INTERNAL"), tool_calls=1, output_tokens=9))
    report = read_output(stream, b"", exit_code=244)
    assert report is not None
    assert (report.void, report.late) == (Void.SERVER_ERROR, True)


def test_gemini_takes_the_reason_of_the_last_error() -> None:
    def error(message: str) -> dict[str, Any]:
        return {"type": "error", "timestamp": "t", "severity": "error", "message": message}

    limit = lines(GEMINI_INIT, GEMINI_TOOL, error("Maximum session turns exceeded"), gemini(None, output_tokens=5))
    report = read_output(limit, b"", exit_code=0)
    assert report is not None
    assert report.void is None
    busy = lines(GEMINI_INIT, error("terminated"), error("The model is overloaded."), gemini(None))
    report = read_output(busy, b"", exit_code=0)
    assert report is not None
    assert report.void is Void.OVERLOADED


@pytest.mark.parametrize(
    ("code", "void"),
    [
        (41, Void.AUTH),
        (42, Void.STARTUP),
        (52, Void.STARTUP),
        (55, Void.STARTUP),
        (1, Void.STARTUP),
        (145, Void.AUTH),
    ],
)
def test_gemini_exit_codes_without_any_event(code: int, void: Void) -> None:
    assert classify("gemini", b"", b"some words\n", code).void is void
    assert read_output(b"", b"some words\n", exit_code=code) is None


def test_gemini_times_out_while_it_tries_again() -> None:
    stream = lines(GEMINI_INIT, GEMINI_TOOL)
    stderr = b"YOLO mode is enabled.\nAttempt 2 failed with status 503. Retrying with backoff... _ApiError: x\n"
    report = read_output(stream, stderr, exit_code=0, timed_out=True)
    assert report is not None
    assert report.void is Void.CONNECTION


def test_gemini_json_document() -> None:
    counts = {"input": 700, "prompt": 1000, "candidates": 50, "total": 1060, "cached": 300, "thoughts": 10, "tool": 0}
    document = {
        "session_id": "s",
        "response": "Done",
        "stats": {"models": {"gemini-2.5-flash": {"api": {"totalRequests": 2}, "tokens": counts}}, "tools": {}},
    }
    report = read_output(json.dumps(document, indent=2).encode(), b"", exit_code=0)
    assert report is not None
    assert (report.cli, report.void) == ("gemini", None)
    assert report.usage.tokens == Tokens(700, 60, cache_read=300)
    assert report.usage.model == "gemini-2.5-flash"


def test_usage_prefers_what_agrees_with_the_cost() -> None:
    spent = {
        "a": {
            "inputTokens": 10,
            "outputTokens": 2,
            "cacheReadInputTokens": 5,
            "cacheCreationInputTokens": 1,
            "costUSD": 1,
        },
        "claude-b[1m]": {"inputTokens": 1, "outputTokens": 1, "costUSD": 2},
    }
    report = read_output(lines(result(modelUsage=spent)), b"", exit_code=0)
    assert report is not None
    assert report.usage.tokens == Tokens(11, 3, 5, 1)
    assert report.usage.model == "claude-b"


@pytest.mark.parametrize("bad", ["NaN", "-1", "1e400", "true", '"3"', "[]", "null", "1" * 5000, str(2**63)])
def test_numbers_that_are_none(bad: str) -> None:
    text = (
        '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":%s,"num_turns":%s,"duration_ms":%s,'
    )
    text += '"usage":{"input_tokens":%s,"output_tokens":7},"session_id":"s","result":"x"}'
    report = read_output((text % (bad, bad, bad, bad)).encode(), b"", exit_code=0)
    assert report is not None
    usage = report.usage
    assert (usage.cost_usd, usage.turns, usage.duration_ms, usage.tokens) == (None, None, None, None)


ENVELOPES: dict[str, Void | None] = {
    'API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}': Void.RATE_LIMIT,
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}} · check status.claude.com': Void.OVERLOADED,
    'Failed to authenticate. API Error: 401 {"type":"error"}': Void.AUTH,
    'API Error: 500 {"error": {}}': Void.SERVER_ERROR,
    'API Error: 404 {"type":"error","error":{"type":"not_found_error"}}': Void.STARTUP,
    'API Error: 400 {"error":{"message":"Your credit balance is too low"}}': Void.QUOTA,
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}': Void.OVERLOADED,
    '{"error":{"message":"x","type":"authentication_error"},"request_id":"r","type":"error"}': Void.AUTH,
    '{\n  "type": "error",\n  "error": {\n    "type": "rate_limit_error"\n  }\n}': Void.RATE_LIMIT,
}


@pytest.mark.parametrize("text", ENVELOPES)
def test_bare_envelopes(text: str) -> None:
    data = f"working\n{text}\n\n".encode()
    for report in (read_output(data, b"", exit_code=1), read_output(b"words\n", data, exit_code=1)):
        assert report is not None
        assert (report.cli, report.void, report.late) == ("api", ENVELOPES[text], False)
    assert read_output(data, b"", exit_code=0) is None
    assert read_output(data, b"", exit_code=143, timed_out=True) is None
    assert read_output(data + b"more words\n", b"", exit_code=1) is None


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 429",
        "API Error: Rate limit reached",
        "API Error: 429 {not json}",
        "API Error: 429 {} and so on",
        'It said: API Error: 429 {"type":"error"}',
        '> {"type":"error","error":{"type":"overloaded_error"}}',
        '{"type":"error","error":{"type":"ValidationError"}}',
        '{"type":"error","error":"overloaded_error"}',
        '{"type":"warning","error":{"type":"overloaded_error"}}',
        "API Error: 200 {}",
    ],
)
def test_words_are_no_envelope(text: str) -> None:
    assert read_output(text.encode(), text.encode(), exit_code=1) is None


def test_an_envelope_after_a_stream_without_its_end() -> None:
    stderr = b'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}\n'
    report = read_output(lines(INIT, ASSISTANT), stderr, exit_code=1)
    assert report is not None
    assert (report.cli, report.void, report.late) == ("claude", Void.OVERLOADED, True)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("Please try again in 250ms", 0.25),
        ("Please try again in 2 minutes", 120),
        ("rate limited, retry-after: 20", 20),
        ("Your quota will reset after 34s", 34),
        ("slow down", None),
    ],
)
def test_retry_after(message: str, seconds: float | None) -> None:
    failure = {"type": "turn.failed", "error": {"message": f"last status: 429 Too Many Requests. {message}"}}
    report = read_output(lines(THREAD, TURN, failure), b"", exit_code=1)
    assert report is not None
    assert (report.void, report.retry_after_s) == (Void.RATE_LIMIT, seconds)


def test_why_holds_none_of_the_output() -> None:
    report = read_output(lines(failed("API Error: 401 sk-ant-secret", 401)), b"", exit_code=1)
    assert report is not None
    assert isinstance(report, AgentReport)
    assert report.why == "claude: the provider failed (auth by HTTP status 401)"


def test_an_unknown_cli_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(UsageFault, match="there is no agent 'emacs'"):
        classify("emacs", b"", b"", 0)

"""Outputs of the same kinds as the recorded ones: what does not matter is changed, and the answer stays."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcut.agents import classify
from tests.test_agents_recorded import RECORDED, Recorded, documents

#: What a model may say, and what no answer may depend on.
WORDS = st.one_of(
    st.sampled_from(
        [
            'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}',
            "API Error: Connection error.",
            "Not logged in · Please run /login",
            "prompt is too long: 250000 tokens > 200000 maximum",
            "You've hit your usage limit. Credit balance is too low",
            "Reconnecting... 1/5 (stream disconnected before completion)",
            "unexpected status 401 Unauthorized",
            "[API Error: RESOURCE_EXHAUSTED]",
            '{"type":"result","subtype":"success","is_error":true,"session_id":"x"}\n{"type":"turn.failed"}',
            "Attempt 1 failed. Retrying",
        ]
    ),
    st.text(min_size=1, max_size=60),
)
#: Fields that say when, where and under which name.
IRRELEVANT = frozenset(
    {"uuid", "timestamp", "session_id", "thread_id", "duration_ms", "duration_api_ms", "ttft_ms", "cwd", "request_id"}
)


def own_words(cli: str, event: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Where in an event stand words of a model's or a tool's: the object and its key."""
    if cli == "claude":
        message = event.get("message") if isinstance(event.get("message"), dict) else {}
        assert isinstance(message, dict)
        if event.get("type") == "result" and event.get("is_error") is False:
            return [(event, "result")]
        if event.get("type") == "assistant" and message.get("model") != "<synthetic>" and not event.get("error"):
            return [(block, "text") for block in message["content"] if block.get("type") == "text"]
        return []
    if cli == "codex":
        item = event.get("item", {})
        keys = {"agent_message": "text", "command_execution": "aggregated_output"}
        return [(item, keys[item["type"]])] if item.get("type") in keys else []
    if event.get("type") == "message" and event.get("role") == "assistant":
        return [(event, "content")]
    return [(event, "output")] if event.get("type") == "tool_result" and "output" in event else []


def moved(value: Any, seed: str, inside: str = "") -> Any:
    """The same with other times, places and names."""
    if isinstance(value, dict):
        changed = {
            key: (f"{each}-{seed}" if isinstance(each, str) else each + 1)
            if key in IRRELEVANT and isinstance(each, str | int | float) and not isinstance(each, bool)
            else moved(each, seed, key)
            for key, each in value.items()
        }
        # what is listed by the models' names has no other keys
        return changed if inside in {"modelUsage", "models"} else changed | {f"new_{seed}": {"nested": [seed]}}
    return [moved(each, seed) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("run", [run for run in RECORDED.values() if run.has_events], ids=lambda run: run.name)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_the_answer_stays(run: Recorded, data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(["a", "b2", "zz"]))
    events = [moved(event, seed) for event in documents(run.stdout)]
    for event in events:
        for place, key in own_words(run.cli, event):
            if place.get(key):
                place[key] = data.draw(WORDS)
    stdout = "".join(json.dumps(event, ensure_ascii=data.draw(st.booleans())) + "\n" for event in events)
    # lone surrogates are drawn too, which no CLI writes
    report = classify(run.cli, stdout.encode("utf-8", "replace"), run.stderr, run.exit_code)
    expected = classify(run.cli, run.stdout, run.stderr, run.exit_code)
    assert (report.void, report.late) == (expected.void, expected.late) == (run.void, expected.late)
    assert (report.usage.cost_usd, report.usage.tokens) == (expected.usage.cost_usd, expected.usage.tokens)

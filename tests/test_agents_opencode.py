"""opencode's events, in the shape of recorded ones (1.18.33)."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcut.agents import classify
from kcut.agents.adapter import Component
from kcut.agents.registry import find_adapter
from kcut.model.trial import Tokens
from tests.conftest import Kcut, Repo
from tests.test_cli_agent import Trial

SESSION = "ses_dd11aecd7ffengfx6xqbdBhY8u"


def event(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1796083096774, "sessionID": SESSION, "part": {"messageID": "msg_1", **part}}


def finish(reason: str, **changes: Any) -> dict[str, Any]:
    tokens = {"total": 1060, "input": 1000, "output": 50, "reasoning": 10, "cache": {"write": 0, "read": 7}}
    return event("step_finish", type="step-finish", reason=reason, **({"tokens": tokens, "cost": 0.00375} | changes))


def error(name: str = "APIError", **data: Any) -> dict[str, Any]:
    return {"type": "error", "timestamp": 1, "sessionID": SESSION, "error": {"name": name, "data": data}}


START = event("step_start", type="step-start")
TEXT = event("text", type="text", text='{"type":"error"} API Error: 429')
TOOL = event("tool_use", type="tool", tool="bash", state={"status": "completed", "input": {"command": "ls"}})
STEP = [START, TEXT, TOOL, finish("tool-calls")]

CASES: dict[str, tuple[list[dict[str, Any]], int, str | None, bool]] = {
    "ok": ([*STEP, START, TEXT, finish("stop")], 0, None, False),
    "too long an answer": ([START, TEXT, finish("length")], 0, None, False),
    "401": ([error(message="no", statusCode=401)], 1, "auth", False),
    "429": ([error(message="no", statusCode=429, responseHeaders={"retry-after": "7"})], 1, "rate_limit", False),
    "400": ([error(message="no", statusCode=400)], 1, "startup", False),
    "400, no credit": (
        [error(message="no", statusCode=400, responseBody="Your credit balance is too low")],
        1,
        "quota",
        False,
    ),
    "no login": ([error("ProviderAuthError", providerID="anthropic", message="no key")], 1, "auth", False),
    "500 after work": ([*STEP, error(message="no", statusCode=500)], 1, "server_error", True),
    "limit of the answer": ([*STEP, error("MessageOutputLengthError")], 1, None, False),
    "ended in the midst": (STEP, 0, "interrupted", False),
    "crashed in the midst": (STEP, 1, None, False),
    "never began": ([], 1, "startup", False),
}


@pytest.mark.parametrize("case", CASES)
def test_outcomes(case: str) -> None:
    events, code, void, late = CASES[case]
    report = classify("opencode", "".join(json.dumps(each) + "\n" for each in events).encode(), b"", code)
    assert (report.void and report.void.value, report.late) == (void, late)
    if case == "429":
        assert report.retry_after_s == 7


def test_usage_is_the_sum_of_the_steps() -> None:
    def usage(*events: dict[str, Any]) -> Any:
        return classify("opencode", "\n".join(map(json.dumps, events)).encode(), b"", 0).usage

    both = usage(*STEP, START, TEXT, finish("stop"))
    assert (both.cost_usd, both.turns) == (pytest.approx(0.0075), 2)
    assert both.tokens == Tokens(2000, 120, 14)
    unknown = usage(*STEP, START, finish("stop", cost=None, tokens={}))
    assert (unknown.cost_usd, unknown.tokens) == (None, None)


@pytest.mark.parametrize(
    ("component", "tool", "given"),
    [
        (Component("skill", ("tidy",)), "skill", {"name": "tidy"}),
        (Component("skill", ("tidy",)), "read", {"filePath": "/w/.claude/skills/tidy/SKILL.md"}),
        (Component("agent", ("helper",)), "task", {"subagent_type": "helper"}),
        (Component("mcp", ("pinger",)), "pinger_ping", {}),
    ],
)
def test_uses(component: Component, tool: str, given: dict[str, Any]) -> None:
    adapter = find_adapter("opencode")
    call = event("tool_use", type="tool", tool=tool, state={"input": given})
    assert adapter.uses(call, component) == 1
    assert adapter.uses(TOOL, component) == 0
    assert adapter.uses(call, Component("rule", ("AGENTS.md",))) is None


def test_how_it_is_run(repo: Repo, tmp_path: Path, kcut: Kcut) -> None:
    trial = Trial(repo, tmp_path, kcut)
    code = "json.dump({'args': sys.argv[1:], 'env': dict(os.environ)}, open('seen.json', 'w'))"
    trial.stand_in(START, TEXT, finish("stop"), code=code)
    done = trial.run("--model", "anthropic/x", cli="opencode", env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1/"})
    assert done.returncode == 0, done.stderr
    seen = json.loads((trial.repo.path / "seen.json").read_text())
    assert seen["args"] == ["run", "--format", "json", "--auto", "-m", "anthropic/x", "--", "Do it."]
    configuration = json.loads(seen["env"]["OPENCODE_CONFIG_CONTENT"])
    assert configuration["provider"] == {"anthropic": {"options": {"baseURL": "http://127.0.0.1:1/v1"}}}
    assert trial.sidecar()["model"] == "anthropic/x"

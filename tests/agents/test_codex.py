"""The real Codex through `kcut agent`: what it says of its runs, and what every fault becomes."""

import json
from typing import Any

import pytest

from tests.agents.conftest import SESSION, Agent
from tests.conftest import Repo

WRITES = {"name": "exec_command", "input": {"cmd": "echo made > out.txt"}}
TWO_TURNS = {"turns": [{"text": "Writing.", "tools": [WRITES]}, {"text": "Done."}]}


def status(number: int, **more: Any) -> dict[str, Any]:
    return {"fault": {"kind": "status", "status": number, **more}}


def test_a_run_that_goes_well(codex: Agent) -> None:
    sidecar = codex.run(script=TWO_TURNS)
    assert codex.exit_code == 0
    assert (codex.repo.path / "out.txt").read_text() == "made\n"
    assert (sidecar["usage"]["input_tokens"], sidecar["usage"]["output_tokens"]) == (2000, 100)
    assert "cost_usd" not in sidecar
    assert (sidecar["model"], sidecar["is_error"]) == ("gpt-5.5", False)
    assert sidecar["agent_version"].startswith("0.")
    assert codex.events()[-1]["type"] == "turn.completed"
    assert codex.repo.git("status", "--porcelain") == "?? out.txt"


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "400": (status(400), "startup"),
    "401": (status(401), "auth"),
    "403": (status(403), "auth"),
    "404": (status(404), "startup"),
    "429": (status(429), "rate_limit"),
    "429, quota": (status(429, etype="usage_limit_reached", msg="The usage limit has been reached"), "quota"),
    "429, empty account": (status(429, code="insufficient_quota", msg="You exceeded your current quota"), "quota"),
    "500": (status(500), "server_error"),
    "cut": ({"fault": {"kind": "cut", "after": 1}}, "connection"),
    "reset": ({"fault": {"kind": "reset"}}, "connection"),
    "error event": (
        {"fault": {"kind": "sse_error", "after": 1, "etype": "context_length_exceeded"}},
        "prompt_too_long",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_at_once_is_void(codex: Agent, case: str) -> None:
    script, void = FAULTS[case]
    sidecar = codex.run(script=script)
    assert (codex.exit_code, sidecar["void"]) == (75, void)
    assert "late" not in sidecar


def test_a_fault_after_work_is_late(codex: Agent) -> None:
    sidecar = codex.run(script={"turns": [TWO_TURNS["turns"][0], status(500)]})
    assert (codex.exit_code, sidecar["void"], sidecar["late"]) == (75, "server_error", True)


def test_nobody_listens(codex: Agent) -> None:
    codex.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    sidecar = codex.run("--timeout", "3s")  # it waits for the network for ever
    assert (sidecar["void"], codex.exit_code) == ("connection", 75)


def test_an_unknown_model_is_a_warning(codex: Agent) -> None:
    sidecar = codex.run("--model", "gpt-unheard-of", script={"turns": [{"text": "unexpected status 401"}]})
    assert (codex.exit_code, sidecar.get("void")) == (0, None)


def test_what_keeps_it_from_starting(codex: Agent) -> None:
    codex.server.play({})
    assert (codex.run("--arg=--no-such-flag")["void"], codex.exit_code) == ("startup", 75)
    assert (codex.run("--arg=-c", "--arg=model_provider=nobody")["void"], codex.exit_code) == ("startup", 75)
    assert codex.server.requests == []


def test_what_it_cannot_do_is_said(codex: Agent) -> None:
    assert codex.run("--max-turns", "3") == {"agent": "codex", "void": "startup"}
    assert codex.exit_code == 2
    assert codex.done is not None
    assert "codex has no limit of turns" in codex.done.stderr


SKILL = "---\nname: tidy\ndescription: SKILLMARK\n---\nSKILLBODY\n"
HOOK = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "touch fired"}]}]}}


@pytest.mark.parametrize("sealed", [False, True])
def test_components_of_the_project_reach_it(codex: Agent, sealed: bool) -> None:
    codex.repo.write(".agents/skills/tidy/SKILL.md", SKILL)
    codex.repo.write("AGENTS.md", "RULEMARK\n")
    codex.repo.write(".codex/hooks.json", json.dumps(HOOK))
    codex.repo.write(".codex/config.toml", 'developer_instructions = "CONFIGMARK"\n')
    codex.repo.commit()
    if sealed:  # as a trial's worktree is: one of a bare repository
        hub, worktree = codex.scratch / "hub", codex.scratch / "worktree"
        codex.repo.git("clone", "-q", "--bare", ".", str(hub))
        codex.repo.git("-C", str(hub), "worktree", "add", "-q", "--detach", str(worktree))
        codex.repo = Repo(worktree)
    codex.brief(component={"name": "tidy", "kind": "skill"}, present=True)
    call = {"name": "exec_command", "input": {"cmd": "cat .agents/skills/tidy/SKILL.md"}}
    sidecar = codex.run(script={"turns": [{"tools": [call]}, {"text": "Done."}]})
    assert (codex.exit_code, sidecar["component_used"]) == (0, 1)
    assert "component_reached" not in sidecar, "its events do not tell"
    said = codex.server.said()
    assert [mark for mark in ("SKILLMARK", "RULEMARK", "CONFIGMARK") if mark not in said] == []
    assert (codex.repo.path / "fired").exists()


def test_a_session_goes_on_and_counts_each_round_apart(codex: Agent) -> None:
    codex.brief(session=SESSION, round=0)
    codex.run(prompt="FIRSTMARK", script=TWO_TURNS)
    codex.brief(session=SESSION, round=1)
    second = codex.run(prompt="SECONDMARK", script={"turns": [{"text": "a"}, {"text": "b"}, {"text": "Again."}]})
    assert codex.exit_code == 0
    assert "FIRSTMARK" in codex.server.said()
    assert second["usage"]["input_tokens"] == 1000


@pytest.mark.parametrize("prompt", ["-starts with a dash", "x" * 200_000])
def test_any_prompt(codex: Agent, prompt: str) -> None:
    file = codex.scratch / "prompt.md"
    file.write_text(prompt)
    codex.server.play({})
    done = codex.kcut(*codex.words, "--prompt-file", str(file), cwd=codex.repo.path, env=codex.variables)
    assert done.returncode == 0, done.stderr
    assert prompt in codex.server.said()

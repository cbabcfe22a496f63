"""The real Gemini CLI through `kcut agent`: what it says of its runs, and what every fault becomes."""

import json
from typing import Any

import pytest

from tests.agents.conftest import SESSION, Agent

WRITES = {"name": "run_shell_command", "input": {"command": "echo made > out.txt"}}
TWO_TURNS = {"turns": [{"text": "Writing.", "tools": [WRITES]}, {"text": "Done."}]}


def status(number: int, **more: Any) -> dict[str, Any]:
    return {"fault": {"kind": "status", "status": number, **more}}


def test_a_run_that_goes_well(gemini: Agent) -> None:
    sidecar = gemini.run(script=TWO_TURNS)
    assert gemini.exit_code == 0
    assert (gemini.repo.path / "out.txt").read_text() == "made\n"
    assert (sidecar["usage"]["input_tokens"], sidecar["usage"]["output_tokens"]) == (2000, 100)
    assert "cost_usd" not in sidecar
    assert (sidecar["model"], sidecar["is_error"]) == ("gemini-2.5-flash", False)
    assert sidecar["agent_version"].startswith("0.")
    assert gemini.events()[-1]["type"] == "result"
    assert gemini.repo.git("status", "--porcelain") == "?? out.txt"


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "400": (status(400), "startup"),
    "401": (status(401), "auth"),
    "403": (status(403), "auth"),
    "429": (status(429), "rate_limit"),
    "429, quota": (status(429, msg="Quota exceeded for quota metric 'requests per day'"), "quota"),
    "500": (status(500), "server_error"),
    "503": (status(503, msg="The model is overloaded."), "overloaded"),
    "cut": ({"fault": {"kind": "cut", "after": 1}}, "connection"),
    "empty reply": ({"turns": [{"text": ""}]}, "server_error"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_at_once_is_void(gemini: Agent, case: str) -> None:
    script, void = FAULTS[case]
    sidecar = gemini.run(script={"turns": [{"text": "hello"}]} | script)
    assert (gemini.exit_code, sidecar["void"]) == (75, void)


def test_a_fault_after_work_is_late(gemini: Agent) -> None:
    sidecar = gemini.run(script={"turns": [TWO_TURNS["turns"][0], status(500)]})
    assert (gemini.exit_code, sidecar["void"], sidecar["late"]) == (75, "server_error", True)


def test_limits_and_refusals_are_runs(gemini: Agent) -> None:
    sidecar = gemini.run("--max-turns", "1", script={"turns": [{"tools": [WRITES]}]})
    assert (gemini.exit_code, sidecar.get("void")) == (1, None)
    sidecar = gemini.run(script={"turns": [{"text": "No.", "stop": "SAFETY"}]})
    assert (gemini.exit_code, sidecar.get("void")) == (0, None)


def test_what_keeps_it_from_starting(gemini: Agent) -> None:
    assert (gemini.run("--arg=--no-such-flag")["void"], gemini.exit_code) == ("startup", 75)
    gemini.env["GEMINI_API_KEY"] = ""
    assert (gemini.run()["void"], gemini.exit_code) == ("auth", 75)


SKILL = "---\nname: tidy\ndescription: SKILLMARK\n---\nSKILLBODY\n"
HOOK = {"matcher": "*", "hooks": [{"name": "h", "type": "command", "command": "touch fired"}]}


def test_components_of_the_project_reach_it(gemini: Agent) -> None:
    gemini.repo.write(".gemini/skills/folder/SKILL.md", SKILL)
    gemini.repo.write("GEMINI.md", "RULEMARK\n")
    gemini.repo.write(".gemini/settings.json", json.dumps({"hooks": {"BeforeTool": [HOOK]}}))
    gemini.repo.commit()
    gemini.brief(component={"name": "folder", "kind": "skill"}, present=True)
    call = {"name": "activate_skill", "input": {"name": "tidy"}}
    sidecar = gemini.run(script={"turns": [{"tools": [call]}, {"text": "Done."}]})
    assert (gemini.exit_code, sidecar["component_used"]) == (0, 1)
    said = gemini.server.said()
    assert [mark for mark in ("SKILLMARK", "RULEMARK") if mark not in said] == []
    assert (gemini.repo.path / "fired").exists()


def test_a_session_goes_on(gemini: Agent) -> None:
    gemini.brief(session=SESSION, round=0)
    gemini.run(prompt="FIRSTMARK", script=TWO_TURNS)
    gemini.brief(session=SESSION, round=1)
    second = gemini.run(prompt="SECONDMARK", script={"turns": [{"text": "a"}, {"text": "b"}, {"text": "Again."}]})
    assert gemini.exit_code == 0
    assert "FIRSTMARK" in gemini.server.said()
    assert second["usage"]["input_tokens"] == 1000


@pytest.mark.parametrize("prompt", ["-starts with a dash", "x" * 200_000])
def test_any_prompt(gemini: Agent, prompt: str) -> None:
    file = gemini.scratch / "prompt.md"
    file.write_text(prompt)
    gemini.server.play({})
    done = gemini.kcut(*gemini.words, "--prompt-file", str(file), cwd=gemini.repo.path, env=gemini.variables)
    assert done.returncode == 0, done.stderr
    assert prompt in gemini.server.said()

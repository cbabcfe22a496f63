"""The real Claude Code through `kcut agent`: what it says of its runs, and what every fault becomes."""

import json
from typing import Any

import pytest

from tests.agents.conftest import SESSION, Agent

WRITES = {"name": "Bash", "input": {"command": "echo made > out.txt", "description": "write"}}
TWO_TURNS = {"turns": [{"text": "Writing.", "tools": [WRITES]}, {"text": "Done."}]}


def status(number: int, **more: Any) -> dict[str, Any]:
    return {"fault": {"kind": "status", "status": number, **more}}


def test_a_run_that_goes_well(claude: Agent) -> None:
    sidecar = claude.run(script=TWO_TURNS)
    assert claude.exit_code == 0
    assert (claude.repo.path / "out.txt").read_text() == "made\n"
    assert sidecar["usage"]["input_tokens"] == 2000
    assert sidecar["usage"]["output_tokens"] == 100
    assert sidecar["num_turns"] == 2
    assert sidecar["cost_usd"] > 0
    assert sidecar["is_error"] is False
    assert sidecar["agent_version"].startswith("2.")
    assert sidecar["retries"] == 0
    assert "void" not in sidecar
    assert "component_reached" not in sidecar
    assert claude.events()[-1]["type"] == "result"
    assert claude.repo.git("status", "--porcelain") == "?? out.txt"


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "400": (status(400), "startup"),
    "400, no credit": (status(400, msg="Your credit balance is too low to access the API."), "quota"),
    "400, prompt": (status(400, msg="prompt is too long: 250000 tokens > 200000 maximum"), "prompt_too_long"),
    "401": (status(401), "auth"),
    "403": (status(403), "auth"),
    "404": (status(404), "startup"),
    "429": (status(429), "rate_limit"),
    "429, quota": (status(429, msg="You have reached your weekly limit"), "quota"),
    "500": (status(500), "server_error"),
    "529": (status(529), "overloaded"),
    "cut": ({"fault": {"kind": "cut", "after": 2}}, "connection"),
    "reset": ({"fault": {"kind": "reset"}}, "connection"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_at_once_is_void(claude: Agent, case: str) -> None:
    script, void = FAULTS[case]
    sidecar = claude.run(script=script)
    assert (claude.exit_code, sidecar["void"]) == (75, void)
    assert "late" not in sidecar


@pytest.mark.parametrize(
    ("fault", "void"), [(status(500), "server_error"), (status(529), "overloaded"), (status(401), "auth")]
)
def test_a_fault_after_work_is_void_and_keeps_its_cost(claude: Agent, fault: dict[str, Any], void: str) -> None:
    sidecar = claude.run(script={"turns": [TWO_TURNS["turns"][0], fault]})
    assert (claude.exit_code, sidecar["void"], sidecar["late"]) == (75, void, True)
    assert sidecar["cost_usd"] > 0


def test_nobody_listens(claude: Agent) -> None:
    claude.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    assert (claude.run()["void"], claude.exit_code) == ("connection", 75)


def test_without_a_key(claude: Agent) -> None:
    claude.env["ANTHROPIC_API_KEY"] = ""
    assert (claude.run()["void"], claude.exit_code) == ("auth", 75)


RAN: dict[str, tuple[dict[str, Any], tuple[str, ...], int]] = {
    "empty text": ({"turns": [{"text": ""}]}, (), 0),
    "refusal": ({"turns": [{"text": "No.", "stop": "refusal"}]}, (), 1),
    "max tokens": ({"turns": [{"text": "long", "stop": "max_tokens"}]}, (), 1),
    "max turns": ({"turns": [{"tools": [WRITES]}]}, ("--max-turns", "2"), 1),
    "error event, once": ({"fault": {"kind": "sse_error", "after": 1, "times": 1}, **TWO_TURNS}, (), 0),
    "an answer about errors": ({"turns": [{"text": 'API Error: 429 {"type":"error"} rate limit'}]}, (), 0),
}


@pytest.mark.parametrize("case", RAN)
def test_the_agent_ran(claude: Agent, case: str) -> None:
    script, options, code = RAN[case]
    sidecar = claude.run(*options, script=script)
    assert "void" not in sidecar
    assert claude.exit_code == code


def test_what_keeps_it_from_starting(claude: Agent) -> None:
    assert (claude.run("--arg=--no-such-flag")["void"], claude.exit_code) == ("startup", 75)
    hook = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}
    claude.repo.write(".claude/settings.json", json.dumps(hook))
    assert (claude.run(script={})["void"], claude.exit_code) == ("startup", 75)
    assert claude.server.requests == []


def test_retries_are_counted(claude: Agent) -> None:
    claude.env["CLAUDE_CODE_MAX_RETRIES"] = "1"
    sidecar = claude.run(script={"fault": {"kind": "status", "status": 529, "times": 1}, **TWO_TURNS})
    assert (claude.exit_code, sidecar["retries"]) == (0, 1)


SKILL = "---\nname: tidy\ndescription: SKILLMARK\n---\nSKILLBODY\n"
AGENT = "---\nname: helper\ndescription: AGENTMARK\n---\nhelp\n"
SERVER = """\
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method"), {}
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "pinger", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "ping", "description": "MCPMARK", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "pong"}]}
    if message.get("id") is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
HOOK = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "touch fired"}]}]}}
SERVERS = {"mcpServers": {"pinger": {"command": "python3", "args": ["server.py"]}}}


def calls_skill(name: str) -> dict[str, Any]:
    return {"name": "Skill", "input": {"skill": name}}


#: kind, name, files, the tool call that uses it, the word that the model sees of it.
COMPONENTS: dict[str, tuple[str, dict[str, str], dict[str, Any], str]] = {
    "skill": ("tidy", {".claude/skills/tidy/SKILL.md": SKILL}, calls_skill("tidy"), "SKILLMARK"),
    "draft": ("tidy", {".claude/skills/tidy/SKILL.md": SKILL}, calls_skill("tidy"), "SKILLMARK"),
    "command": ("shout", {".claude/commands/shout.md": "SHOUT\n"}, calls_skill("shout"), "shout"),
    "agent": (
        "helper",
        {".claude/agents/any.md": AGENT},
        {"name": "Agent", "input": {"subagent_type": "helper", "description": "d", "prompt": "p"}},
        "AGENTMARK",
    ),
    "mcp": (
        "pinger",
        {".mcp.json": json.dumps(SERVERS), "server.py": SERVER},
        {"name": "mcp__pinger__ping", "input": {}},
        "pinger",
    ),
    "hook": ("fired", {".claude/settings.json": json.dumps(HOOK)}, WRITES, ""),
    "rule": ("CLAUDE.md", {"CLAUDE.md": "RULEMARK\n"}, WRITES, "RULEMARK"),
}


@pytest.mark.parametrize("kind", COMPONENTS)
def test_a_component_that_is_there(claude: Agent, kind: str) -> None:
    name, files, call, mark = COMPONENTS[kind]
    for path, text in files.items():
        claude.repo.write(path, text)
    claude.repo.commit()
    component = {"name": name, "kind": kind}
    claude.brief(component=component, present=True, oracle=[], session=SESSION, round=0)
    sidecar = claude.run(script={"turns": [{"tools": [call]}, {"text": "Done."}]})
    assert claude.exit_code == 0, claude.done
    assert mark in claude.server.said()
    assert sidecar.get("component_reached") == (None if kind in {"hook", "rule"} else True)
    if kind == "rule":
        assert "component_used" not in sidecar
    else:
        assert sidecar["component_used"] >= 1
    if kind == "hook":
        assert (claude.repo.path / "fired").exists()
        return
    claude.brief(component=component, present=False, oracle=[], session=None, round=0)
    leaked = claude.run(script={"turns": [{"text": "Done."}]})
    assert leaked.get("void") == (None if kind == "rule" else "manipulation")
    assert claude.exit_code == (0 if kind == "rule" else 75)


@pytest.mark.parametrize(("kind", "name"), [("agent", "team/rev"), ("command", "git/sync"), ("skill", "quiet")])
def test_a_component_that_is_listed_otherwise_or_not_at_all(claude: Agent, kind: str, name: str) -> None:
    path = f".claude/skills/{name}/SKILL.md" if kind == "skill" else f".claude/{kind}s/{name}.md"
    hidden = "user-invocable: false\n" if kind == "skill" else ""
    claude.repo.write(path, f"---\nname: own\ndescription: OWNMARK\n{hidden}---\nbody\n")
    claude.brief(component={"name": name, "kind": kind}, present=True)
    sidecar = claude.run(script=TWO_TURNS)
    assert (claude.exit_code, sidecar.get("void")) == (0, None), claude.events()[0]


def test_a_component_that_is_not_there(claude: Agent) -> None:
    for kind, (name, *_) in COMPONENTS.items():
        if kind in {"draft", "command", "hook", "rule"}:
            continue
        claude.brief(component={"name": name, "kind": kind}, present=False)
        sidecar = claude.run(script=TWO_TURNS)
        assert (claude.exit_code, sidecar["component_reached"], sidecar["component_used"]) == (0, False, 0)
        claude.brief(component={"name": name, "kind": kind}, present=True)
        assert (claude.run()["void"], claude.exit_code) == ("manipulation", 75)
    assert claude.done is not None
    assert "pinger is not in its first event" in claude.done.stderr


def test_a_server_that_does_not_start_is_not_there(claude: Agent) -> None:
    claude.repo.write(".mcp.json", json.dumps({"mcpServers": {"pinger": {"command": "false"}}}))
    claude.brief(component={"name": "pinger", "kind": "mcp"}, present=True)
    assert claude.run(script={})["void"] == "manipulation"


def test_a_skill_is_known_by_its_folder_and_by_its_own_name(claude: Agent) -> None:
    claude.repo.write(".claude/skills/folder/SKILL.md", SKILL)
    claude.brief(component={"name": "tidy", "kind": "skill"}, present=True)
    call = {"name": "Bash", "input": {"command": "cat .claude/skills/folder/SKILL.md", "description": "read"}}
    sidecar = claude.run(script={"turns": [{"tools": [call]}, {"text": "Done."}]})
    assert (sidecar["component_reached"], sidecar["component_used"]) == (True, 1)


def test_the_agent_sees_neither_cohort_nor_trial(claude: Agent) -> None:
    brief = claude.brief(component={"name": "tidy", "kind": "rule"}, present=True, oracle=["secret/check.py"])
    call = {"name": "Bash", "input": {"command": "env; ls ~; git config user.name", "description": "look"}}
    sidecar = claude.run(script={"turns": [{"tools": [call]}, {"text": "cat 'secret/check.py'"}]})
    assert not brief.exists()
    said = claude.server.said()
    assert "HARNESS_COMPONENT" not in said
    assert "HARNESS_TRIAL" not in said
    assert "Tester" in said, "the user's git identity works"
    assert sidecar["tamper"] == 2, "the message, and the result that repeats it"


def test_a_session_goes_on_and_counts_each_round_apart(claude: Agent) -> None:
    claude.brief(session=SESSION, round=0)
    first = claude.run(prompt="FIRSTMARK", script=TWO_TURNS)
    claude.brief(session=SESSION, round=1)
    second = claude.run(prompt="SECONDMARK", script={"turns": [{"text": "a"}, {"text": "b"}, {"text": "Again."}]})
    assert claude.exit_code == 0
    assert "FIRSTMARK" in claude.server.said()
    assert second["usage"]["input_tokens"] == 1000
    assert second["cost_usd"] == pytest.approx(first["cost_usd"] / 2)


@pytest.mark.parametrize("prompt", ["-starts with a dash", "two\nlines 'and' \"quotes\" $HOME é", "x" * 200_000])
def test_any_prompt(claude: Agent, prompt: str) -> None:
    file = claude.scratch / "prompt.md"
    file.write_text(prompt)
    claude.server.play({})
    done = claude.kcut(*claude.words, "--prompt-file", str(file), cwd=claude.repo.path, env=claude.variables)
    assert done.returncode == 0, done.stderr
    assert json.dumps(prompt)[1:-1] in claude.server.said()

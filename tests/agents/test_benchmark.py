"""A benchmark with the real Claude Code: what reaches the model WITH reaches it WITH only."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Agent
from tests.agents.test_claude import SERVER, WRITES

MARK = "quokka marmalade"
DESCRIPTION = f"Use it for {MARK} at all times."
SKILL = f"---\nname: mark\ndescription: {DESCRIPTION}\n---\n1. Do so.\n"
PINGER = {"mcpServers": {"pinger": {"command": "python3", "args": ["server.py"]}}}
ALONE = {"turns": [{"text": "Done."}]}


def settings(**hooks: str) -> str:
    entries = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()}
    return json.dumps({"hooks": entries})


#: By kind: its name, and its files.
COMPONENTS: dict[str, tuple[str, dict[str, str]]] = {
    "skill": ("mark", {".claude/skills/mark/SKILL.md": SKILL}),
    "draft": ("mark", {".claude/skills-staging/mark/SKILL.md": SKILL}),
    "agent": ("mark", {".claude/agents/mark.md": SKILL}),
    "command": ("mark", {".claude/commands/mark.md": f"---\ndescription: {MARK}\n---\nDo it.\n"}),
    "rule": ("mark", {".claude/rules/mark.md": f"Think of {MARK}.\n"}),
    "file": ("CLAUDE.md", {"CLAUDE.md": f"# Rules\nThink of {MARK}.\n"}),
    "section": ("CLAUDE.md#Second", {"CLAUDE.md": f"# First\nBe brief.\n\n# Second\nThink of {MARK}.\n"}),
    "hook": (
        "mark.sh",
        {
            ".claude/hooks/mark.sh": f"echo {MARK}\n",
            ".claude/settings.json": settings(UserPromptSubmit="sh .claude/hooks/mark.sh"),
        },
    ),
    "setting": (
        "settings.json#/hooks/UserPromptSubmit",
        {".claude/settings.json": settings(UserPromptSubmit=f"echo {MARK}")},
    ),
    "mcp": (
        "pinger",
        {".mcp.json": json.dumps({"mcpServers": {"pinger": {"command": "python3", "args": ["server.py"]}}})},
    ),
}


def bench(claude: Agent, component: str, *options: str, code: int | None = None) -> dict[str, Any]:
    """Run a benchmark of one pair and return its document."""
    words = ["--component", component, "--agent", "claude", "--agent-executable", claude.program, "--prompt", "go"]
    claude.done = claude.kcut("benchmark", *words, "--json", *options, cwd=claude.repo.path, env=claude.variables)
    assert claude.server.egress == []
    if code is not None:
        assert claude.done.returncode == code, claude.done.stderr
    document: dict[str, Any] = json.loads(claude.done.stdout)
    return document


def told(claude: Agent, document: dict[str, Any]) -> dict[str, str]:
    """What each cohort's only trial said to the model, by cohort."""
    order = sorted(document["trials"], key=lambda trial: trial["position"])
    requests = [json.dumps(request) for request in claude.server.requests]
    assert len(requests) == len(order), "one request for each trial"
    return {trial["cohort"]: request for trial, request in zip(order, requests, strict=True)}


@pytest.mark.parametrize(
    ("kind", "committed"), [*((kind, False) for kind in COMPONENTS), ("skill", True), ("hook", True)]
)
def test_the_model_hears_of_it_with_and_not_without(claude: Agent, kind: str, committed: bool) -> None:
    name, files = COMPONENTS[kind]
    claude.repo.write("server.py", SERVER)
    claude.repo.commit("a server")
    for path, text in files.items():
        claude.repo.write(path, text)
    if committed:
        claude.repo.commit("the component")
    claude.server.play(dict(ALONE))
    document = bench(claude, name, "--k", "1", "--score", "true")
    said = told(claude, document)
    mark = "mcp__pinger__ping" if kind == "mcp" else MARK
    assert mark in said["with"]
    assert mark not in said["without"]
    assert [document[side]["valid"] for side in ("with", "without")] == [1, 1]
    if kind in {"skill", "draft", "agent", "command", "mcp"}:
        assert (document["treatment"]["shownWith"], document["treatment"]["shownWithout"]) == (1, 0)


def test_nothing_else_differs_in_what_the_model_hears(claude: Agent) -> None:
    claude.repo.write(".claude/skills/mark/SKILL.md", SKILL)
    claude.server.play(dict(ALONE))
    said = told(claude, bench(claude, "mark", "--k", "1", "--score", "true", "--history", "none"))
    lines = {side: {*"\n".join(_texts(json.loads(request))).splitlines()} for side, request in said.items()}
    assert [line for line in lines["with"] - lines["without"] if not _changing(line)] == [f"- mark: {DESCRIPTION}"]
    assert [line for line in lines["without"] - lines["with"] if not _changing(line)] == []


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def _changing(line: str) -> bool:
    """True for what differs from trial to trial anyway: folders, commit ids, sessions."""
    return any(word in line for word in ("/w-", "session", "device_id")) or len(line.split(maxsplit=1)[0]) in {7, 40}


def test_use_is_counted_and_an_unused_component_is_said_to_be(claude: Agent) -> None:
    claude.repo.write(".claude/skills/mark/SKILL.md", SKILL)
    claude.server.play(dict(ALONE))
    document = bench(claude, "mark", "--k", "1", "--score", "true")
    assert document["treatment"]["usedWith"] == 0
    assert "component-unused" in {warning["code"] for warning in document["decision"]["warnings"]}
    claude.server.play(
        {"turns": [{"text": "", "tools": [{"name": "Skill", "input": {"skill": "mark"}}]}, {"text": "ok"}]}
    )
    document = bench(claude, "mark", "--k", "1", "--score", "true")
    assert document["treatment"]["usedWith"] == 1
    assert "component-unused" not in {warning["code"] for warning in document["decision"]["warnings"]}


def test_the_oracle_is_hidden_and_a_word_of_it_is_told(claude: Agent, tmp_path: Path) -> None:
    claude.repo.write(".claude/skills/mark/SKILL.md", SKILL)
    claude.repo.write("hidden-answers/expected.txt", "made\n")
    claude.repo.commit("all")
    looks = {
        "name": "Bash",
        "input": {"command": "ls; cat hidden-answers/*; git log --all --stat", "description": "x"},
    }
    claude.server.play({"turns": [{"text": "", "tools": [looks, WRITES]}, {"text": "ok"}]})
    options = ("--oracle", "hidden-answers", "--score", "diff out.txt hidden-answers/expected.txt")
    document = bench(claude, "mark", "--k", "1", *options)
    assert document["with"]["successes"] == document["without"]["successes"] == 1
    results = json.dumps([message for request in claude.server.requests for message in request["messages"]])
    assert "No such file or directory" in results
    assert "expected.txt" not in results.replace("cat hidden-answers/*", "")
    assert "tamper" in {warning["code"] for warning in document["decision"]["warnings"]}


def test_after_a_failing_score_the_same_session_hears_what_failed(claude: Agent) -> None:
    claude.repo.write(".claude/skills/mark/SKILL.md", SKILL)
    claude.repo.write(
        "spec.md", "- [ ] **AC-7 (out.txt is made):** x\n\n```eval\necho SECRET; test -f out.txt\n```\n"
    )
    turns = [{"text": "Done."}, {"text": "", "tools": [WRITES]}, {"text": "Now it is."}]
    claude.server.play({"turns": turns})
    document = bench(claude, "mark", "--k", "1", "--spec", "spec.md", "--rework", "2", "--rule", "evidence", code=3)
    for side in ("with", "without"):
        assert document[side]["successes"] == 0
        assert document[side]["rework"] == {"trials": 1, "rounds": 1, "resolved": 1}
    again = [json.dumps(request["messages"]) for request in claude.server.requests if len(request["messages"]) > 2]
    assert all("AC-7 (out.txt is made): exit 1" in text for text in again)
    assert again
    assert "SECRET" not in claude.server.said()


def test_runs_in_a_repository_whose_hooks_and_settings_are_local(claude: Agent) -> None:
    """What only the main checkout has, ignored or not committed, reaches no trial."""
    claude.repo.write(".gitignore", "settings.local.json\n")
    claude.repo.commit()
    claude.repo.write(".claude/skills/mark/SKILL.md", SKILL)
    claude.repo.write(".claude/skills/other/SKILL.md", "---\nname: other\ndescription: wombat pickle\n---\n1. x\n")
    claude.repo.write(".claude/settings.local.json", settings(UserPromptSubmit="echo wombat pickle"))
    claude.server.play(dict(ALONE))
    bench(claude, "mark", "--k", "1", "--score", "true")
    assert "wombat pickle" not in claude.server.said()
    assert MARK in claude.server.said()


def test_nothing_is_left(claude: Agent, tmp_path: Path) -> None:
    claude.repo.write(".claude/skills/mark/SKILL.md", SKILL)
    places = tmp_path / "places"
    places.mkdir()
    claude.env["TMPDIR"] = str(places)
    claude.server.play(dict(ALONE))
    bench(claude, "mark", "--k", "2", "--score", "true")
    assert list(places.iterdir()) == []
    assert claude.repo.git("status", "--porcelain", "--untracked-files=all").splitlines() == [
        "?? .claude/eval/benchmarks/mark.json",
        "?? .claude/skills/mark/SKILL.md",
    ]
    shutil.rmtree(places)

"""Components that the chosen agent can never see are refused before any trial; all others are let through."""

import json
import os
from pathlib import Path

import pytest

from kcut.components.readers import must_be_read
from kcut.model.errors import UsageFault
from tests.components import look
from tests.conftest import Kcut, Repo

SKILL = "---\nname: tidy\ndescription: d\n---\nbody\n"
SERVER = json.dumps({"mcpServers": {"db": {"command": "db"}}})
HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": ".claude/hooks/g.sh"}]}]}


def is_read(repo: Repo, name: str, agent: str, *told: str) -> bool:
    treatment = look(repo, name)
    assert treatment is not None, name
    try:
        must_be_read(repo.path, treatment.plan, agent, told)
    except UsageFault:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "path", "text", "agents"),
    [
        ("CLAUDE.md#T", "CLAUDE.md", "# T\nx\n", "claude opencode"),
        ("AGENTS.md#T", "AGENTS.md", "# T\nx\n", "claude codex opencode"),
        ("sub/AGENTS.md", "sub/AGENTS.md", "# T\nx\n", "claude codex opencode"),
        ("GEMINI.md", "GEMINI.md", "# T\nx\n", "gemini"),
        ("CLAUDE.local.md", "CLAUDE.local.md", "# T\nx\n", ""),
        ("tidy", ".claude/skills/tidy/SKILL.md", SKILL, "claude opencode"),
        ("tidy", ".agents/skills/tidy/SKILL.md", SKILL, "codex gemini opencode"),
        ("tidy", ".codex/skills/tidy/SKILL.md", SKILL, "codex"),
        ("tidy", ".gemini/skills/tidy/SKILL.md", SKILL, "gemini"),
        ("tidy", ".claude/skills-staging/tidy/SKILL.md", SKILL, "claude opencode"),
        ("rev", ".claude/agents/rev.md", SKILL, "claude opencode"),
        ("db", ".mcp.json", SERVER, "claude opencode"),
        ("db", ".gemini/settings.json", SERVER, "gemini"),
        ("settings.local.json#/a", ".claude/settings.local.json", '{"a": 1}', "opencode"),
        ("settings.json#/a", ".claude/settings.json", '{"a": 1}', "claude opencode"),
        ("m", ".claude/kcut/components/m.toml", 'files = [".codex/*"]\n', "codex"),
        ("m", ".claude/kcut/components/m.toml", 'files = [".codex/*", "src/*"]\n', "claude codex gemini opencode"),
        (
            "m",
            ".claude/kcut/components/m.toml",
            'files = [".codex/*"]\n[env]\nA = "1"\n',
            "claude codex gemini opencode",
        ),
        ("docs/guide.md#T", "docs/guide.md", "# T\nx\n", "claude codex gemini opencode"),
    ],
)
def test_each_agent_reads_its_own(repo: Repo, name: str, path: str, text: str, agents: str) -> None:
    repo.write(path, text)
    for more in (".codex/a", "src/a") if name == "m" else ():
        repo.write(more, "x")
    assert [each for each in ("claude", "codex", "gemini", "opencode") if is_read(repo, name, each)] == agents.split()
    assert is_read(repo, name, "of-another-package")


@pytest.mark.parametrize(
    ("own", "agent", "other"), [("CLAUDE.md", "claude", "AGENTS.md"), ("AGENTS.md", "opencode", "CLAUDE.md")]
)
def test_where_one_rule_file_stands_for_another(repo: Repo, own: str, agent: str, other: str) -> None:
    repo.write(other, "# T\nx\n")
    repo.write(own, "# Other\n")
    assert not is_read(repo, f"{other}#T", agent)
    repo.write(own, f"@{other}\n")
    assert is_read(repo, f"{other}#T", agent)
    (repo.path / own).unlink()
    (repo.path / own).symlink_to(other)
    assert is_read(repo, f"{other}#T", agent)


def test_what_is_named_or_linked_or_in_several_places_is_read(repo: Repo) -> None:
    repo.write("CLAUDE.md", "# T\nx\n")
    assert not is_read(repo, "CLAUDE.md#T", "codex", "go")
    assert is_read(repo, "CLAUDE.md#T", "codex", "go", 'project_doc_fallback_filenames=["CLAUDE.md"]')
    repo.write(".gemini/settings.json", '{"context": {"fileName": ["CLAUDE.md"]}}')
    assert is_read(repo, "CLAUDE.md#T", "gemini")
    repo.write(".claude/settings.local.json", '{"a": 1}')
    assert is_read(repo, "settings.local.json#/a", "claude", "--setting-sources", "project,local")
    repo.write(".agents/skills/tidy/SKILL.md", SKILL)
    assert not is_read(repo, "tidy", "claude")
    assert is_read(repo, "tidy", "claude", "follow .agents/skills/tidy/SKILL.md")
    (repo.path / ".claude/skills").symlink_to("../.agents/skills")
    assert is_read(repo, "tidy", "claude")
    (repo.path / ".claude/skills").unlink()
    (repo.path / ".claude/skills").mkdir()
    os.symlink("../../.agents/skills/tidy", repo.path / ".claude/skills/tidy")  # noqa: PTH211
    assert is_read(repo, "tidy", "claude")
    assert is_read(repo, "tidy", "codex")


def test_a_hook_is_met_where_it_is_wired(repo: Repo) -> None:
    repo.write(".claude/hooks/g.sh", "exit 0\n", executable=True)
    assert is_read(repo, "g", "claude")  # nobody runs it, which is said elsewhere
    repo.write(".claude/settings.local.json", json.dumps({"hooks": HOOKS}))
    assert not is_read(repo, "g", "claude")
    repo.write(".claude/settings.json", json.dumps({"hooks": HOOKS}))
    assert is_read(repo, "g", "claude")
    assert not is_read(repo, "g", "codex")


def test_it_is_refused_before_any_trial(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    repo.write("GEMINI.md", "# T\nx\n")
    program = tmp_path / "agent"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    words = ["--agent", "claude", "--agent-executable", str(program), "--score", "true", "--k", "1"]
    done = kcut("benchmark", "--component", "GEMINI.md#T", "--prompt", "go", *words, cwd=repo.path)
    assert done.returncode == 2
    assert "claude as kcut starts it does not read GEMINI.md" in done.stderr
    assert not (repo.path / ".claude").exists()

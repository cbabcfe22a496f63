"""`--control placebo` from the command line."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from kcut.components import find_component, with_placebo
from kcut.isolation import inspect
from kcut.model.errors import UsageFault
from tests.conftest import Kcut, Repo
from tests.test_cli_agent_benchmark import World
from tests.test_cli_benchmark import LIMIT, lines, start, until

SKILL = ".claude/skills/tidy/SKILL.md"
TEXT = """\
---
name: tidy
description: Sorts the imports of a module whenever it was changed.
---

# Tidy imports

1. Sort them, then run `check.sh`.
"""
#: The task does well where the skill says what to do, or where there is any skill.
BY_CONTENT = f"grep -qs 'Sort them' {SKILL}"
BY_LENGTH = f"test -s {SKILL}"


@pytest.fixture
def skilled(repo: Repo) -> Repo:
    """A repository with a skill."""
    repo.write(SKILL, TEXT)
    repo.commit()
    return repo


def run(kcut: Kcut, repo: Repo, *args: str, name: str = "tidy", **more: Any) -> Any:
    return kcut("benchmark", "--component", name, "--control", "placebo", *args, cwd=repo.path, **more)


def artifact(repo: Repo, name: str = "tidy") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((repo.path / f".claude/eval/benchmarks/{name}.json").read_text())
    return document


def test_a_component_whose_content_matters(skilled: Repo, kcut: Kcut) -> None:
    done = run(kcut, skilled, "--task", BY_CONTENT, "--k", "5", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "3 cohorts x 5 trials" in done.stderr
    pairs = [line for line in done.stderr.splitlines() if line.startswith("pair ")]
    assert len(pairs) == 5
    assert all("placebo #" in line for line in pairs)
    assert "against the placebo: 5 of 5 against 0 of 5, +1.00" in done.stdout
    assert "placebo-as-good" not in done.stdout
    document = artifact(skilled)
    assert (document["placebo"]["successes"], document["placebo"]["valid"]) == (0, 5)
    assert document["decision"]["placebo"]["difference"] == 1
    assert {trial["cohort"] for trial in document["trials"]} == {"with", "without", "placebo"}
    shown = kcut("show", cwd=skilled.path)
    assert "placebo #4" in shown.stdout
    assert "5 pairs with a placebo" in shown.stdout
    decided = kcut("decide", ".claude/eval/benchmarks/tidy.json", "--json", cwd=skilled.path)
    assert decided.returncode == 0, decided.stderr


def test_a_placebo_that_does_as_well(skilled: Repo, kcut: Kcut) -> None:
    told = f"{BY_LENGTH} && test $HARNESS_COMPONENT_ENABLED = 1 && grep -q '^name: tidy$' {SKILL}"
    done = run(kcut, skilled, "--task", told, "--rule", "evidence", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "evidence: KEEP" in done.stdout
    assert "placebo-as-good: text of the same length helps as much" in " ".join(done.stdout.split())


def test_a_placebo_that_is_taken_away_is_a_manipulation(skilled: Repo, kcut: Kcut) -> None:
    setup = f"! test -e {SKILL} || grep -q 'Sort them' {SKILL} || rm {SKILL}"
    done = run(kcut, skilled, "--task", BY_CONTENT, "--k", "2", "--setup", setup)
    assert done.returncode == 2
    assert "the component was not as its placebo should be in 1 PLACEBO trial" in done.stdout


def test_a_run_that_was_stopped_goes_on(skilled: Repo, kcut: Kcut, tmp_path: Path) -> None:
    ran, go = tmp_path / "ran", tmp_path / "go"
    wait = f'if [ "$HARNESS_TRIAL" -ge 1 ]; then while [ ! -e {go} ]; do sleep 0.05; done; fi'
    task = f"sha256sum {SKILL} >> {ran} || echo none >> {ran}; {wait}; {BY_CONTENT}"
    options = ("--component", "tidy", "--control", "placebo", "--task", task, "--k", "3", "--seed", "3")
    process = start(skilled, *options)
    until(lambda: len(lines(ran)) == 4)
    process.send_signal(signal.SIGINT)
    assert "stopped after 3 of 9 trials" in process.communicate(timeout=LIMIT)[1]
    go.touch()
    done = kcut("benchmark", "--resume", "last", "--json", cwd=skilled.path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [document[name]["successes"] for name in ("with", "without", "placebo")] == [3, 0, 0]
    assert len(lines(ran)) == 10
    assert len(set(lines(ran))) == 3, "the placebo is the same before and after"


def test_a_budget_holds_for_all_three(skilled: Repo, kcut: Kcut) -> None:
    task = f'echo \'{{"cost_usd": 1}}\' > "$HARNESS_TRIAL_OUT"; {BY_CONTENT}'
    document = json.loads(run(kcut, skilled, "--task", task, "--max-cost", "6.5", "--json").stdout)
    assert [document[name]["valid"] for name in ("with", "without", "placebo")] == [2, 2, 2]
    assert document["placebo"]["totalCostUsd"] == 2
    assert "budget-stop" in {warning["code"] for warning in document["decision"]["warnings"]}


def test_a_dry_run_counts_all_three(skilled: Repo, kcut: Kcut) -> None:
    done = run(kcut, skilled, "--task", BY_CONTENT, "--dry-run")
    assert "15 trials" in done.stdout
    assert "puts irrelevant text of its length in its place" in " ".join(done.stdout.split())
    assert json.loads(run(kcut, skilled, "--task", "true", "--dry-run", "--json").stdout)["trials"] == 15


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("nothing", (), "there is no component nothing for kcut to switch"),
        ("guard.sh", (), "guard.sh is more than text: a hook is a program"),
        ("docs", (), "docs is more than text: an MCP server is a program"),
        ("settings.json#/env", (), "is more than text: a setting is read by the agent's program"),
        ("patched", (), "its manifest holds variables and JSON, which is no text that an agent reads"),
        ("drawn", (), "'.claude/skills/drawn/logo.png' is no text, so no text can stand in for it"),
        ("mute", (), "mute holds no words, so nothing can stand in for them"),
        ("tidy", ("--until-decided",), "--control placebo cannot go with --until-decided"),
        ("tidy", ("--objective", "cost"), "--control placebo cannot go with --objective cost"),
    ],
)
def test_what_has_no_placebo(skilled: Repo, kcut: Kcut, name: str, more: tuple[str, ...], said: str) -> None:
    skilled.write(".claude/hooks/guard.sh", "#!/bin/sh\nexit 0\n", executable=True)
    hook = {"hooks": [{"type": "command", "command": ".claude/hooks/guard.sh"}]}
    skilled.write(".claude/settings.json", json.dumps({"env": {"A": "1"}, "hooks": {"Stop": [hook]}}))
    skilled.write(".mcp.json", json.dumps({"mcpServers": {"docs": {"command": "true"}}}))
    skilled.write(
        ".claude/kcut/components/patched.toml",
        'env = { A = "1" }\n[[json]]\nfile = "a.json"\n[json.merge]\nb = 1\n',
    )
    skilled.write(".claude/skills/drawn/SKILL.md", "---\nname: drawn\n---\nLook at the logo.\n")
    skilled.write(".claude/skills/drawn/logo.png", b"\x89PNG\r\n\x1a\n\0\xff")
    skilled.write(".claude/skills/mute/SKILL.md", "***\n")
    skilled.commit()
    done = run(kcut, skilled, "--task", "true", *more, name=name)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (skilled.path / ".claude/eval/kcut.db").exists()


def test_of_uncommitted_changes(skilled: Repo, kcut: Kcut, tmp_path: Path) -> None:
    skilled.write(SKILL, TEXT + "\n2. Look again.\n")
    skilled.write("new.txt", "new\n")
    task = f"cat {SKILL} >> {tmp_path}/all; test -e new.txt && grep -qs 'Look again' {SKILL}"
    done = run(kcut, skilled, "--task", task, "--dirty", "include", "--k", "1", "--json")
    document = json.loads(done.stdout)
    assert [document[name]["successes"] for name in ("with", "without", "placebo")] == [1, 0, 0]
    seen = (tmp_path / "all").read_text()
    assert len(seen) == 2 * len(TEXT + "\n2. Look again.\n")
    assert seen.count("\n2. ") == 2


def placebo_of(repo: Repo, name: str) -> dict[str, str]:
    """The files in which PLACEBO differs from WITHOUT, as text."""
    checkout = inspect(repo.path)
    found = find_component(checkout, name, checkout.base)
    assert found is not None
    made = with_placebo(checkout, found, checkout.base).placebo
    assert made is not None
    return {path: file.data.decode() for path, file in made.items() if file is not None}


def test_of_a_section_the_other_lines_stay(repo: Repo) -> None:
    text = "# Rules\n\nBe kind.\n\n## Tests\n\nRun the tests often.\n\n## Style\n\nRun the tests often.\n"
    repo.write("CLAUDE.md", text)
    repo.commit()
    made = placebo_of(repo, "CLAUDE.md#Tests")["CLAUDE.md"].splitlines()
    assert made[:4] == text.splitlines()[:4]
    assert made[7:] == text.splitlines()[7:]
    assert made[4].startswith("## ")
    assert not {"Tests", "tests", "Run", "often"} & set(" ".join(made[4:7]).split())


def test_of_text_and_files_in_a_manifest(repo: Repo) -> None:
    repo.write("docs/how.md", "How to sort imports.\n")
    repo.write("AGENTS.md", "Be kind.\n")
    manifest = 'files = ["docs/how.md"]\n[[text]]\nfile = "AGENTS.md"\nblock = "- Sort imports first."\n'
    repo.write(".claude/kcut/components/both.toml", manifest)
    repo.commit()
    made = placebo_of(repo, "both")
    assert set(made) == {"docs/how.md", "AGENTS.md"}
    assert made["AGENTS.md"].startswith("Be kind.\n\n- ")
    assert len(made["AGENTS.md"]) == len("Be kind.\n\n- Sort imports first.\n")
    assert "ort" not in made["docs/how.md"] + made["AGENTS.md"]


def test_of_a_draft_and_of_links(repo: Repo) -> None:
    repo.write(".claude/skills-staging/tidy/SKILL.md", TEXT)
    repo.write(".claude/skills-staging/tidy/check.sh", "#!/bin/sh\nisort --check src\n", executable=True)
    repo.commit()
    made = placebo_of(repo, "tidy")
    assert made[".claude/skills/tidy/SKILL.md"].startswith("---\nname: tidy\ndescription: The ")
    assert made[".claude/skills/tidy/check.sh"].startswith("#!/bin/sh\n# ")
    repo.git("rm", "-rq", ".claude/skills-staging")
    repo.write(SKILL, TEXT)
    (repo.path / ".agents/skills").mkdir(parents=True)
    (repo.path / ".agents/skills/tidy").symlink_to("../../.claude/skills/tidy")
    repo.commit()
    assert set(placebo_of(repo, "tidy")) == {SKILL}


def test_a_fault_is_a_usage_fault(repo: Repo) -> None:
    repo.write(SKILL, b"---\nname: tidy\n---\n\xff\xfe\n")
    repo.commit()
    with pytest.raises(UsageFault, match="is no text"):
        placebo_of(repo, "tidy")


def test_an_agent_sees_a_component_of_that_name(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    world = World(kcut, repo, tmp_path / "agent folder")
    document = world.document("--control", "placebo", "--k", "3")
    assert [document[side]["successes"] for side in ("with", "without", "placebo")] == [3, 0, 3]
    assert document["placebo"]["totalCostUsd"] == 0.75
    assert "placebo-as-good" in {warning["code"] for warning in document["decision"]["warnings"]}
    words = [[word for word in call["args"] if "/" not in word and len(word) != 36] for call in world.calls]
    assert len(words) == 9
    assert all(each == words[0] for each in words), "the same flags in all cohorts"


def test_an_agent_that_does_not_list_the_placebo_spoils_the_run(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    world = World(kcut, repo, tmp_path / "agent folder")
    script = tmp_path / "agent folder" / "agent.py"
    real = 'here and "Tidy." in pathlib.Path(".claude/skills/tidy/SKILL.md").read_text()'
    told = script.read_text().replace('["tidy"] if here else []', f'["tidy"] if {real} else []')
    script.write_text(told)
    document = world.document("--control", "placebo", "--k", "2", code=2)
    assert "was not as its placebo should be in" in document["reason"]

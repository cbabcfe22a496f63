"""`kcut benchmark --agent`, with a program that prints the events of an agent in its place."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo
from tests.guard import guard

__all__ = ["guard"]
pytestmark = pytest.mark.usefixtures("guard")

#: Does as its plan says: a JSON object with `with` and `without`, lists of what each round does. It knows its cohort
#: by the skill alone, and its round by being told to go on.
STAND_IN = r"""
import json, os, pathlib, sys
args, folder = sys.argv[1:], pathlib.Path(__file__).parent
codex = "exec" in args
here = pathlib.Path(".claude/skills/tidy/SKILL.md").exists()
if not here and not codex:
    assert not pathlib.Path(".claude").exists()
log = folder / "log"
number = len(list(log.iterdir()))
(log / f"{number:03}").write_text(json.dumps({"args": args, "env": dict(os.environ)}))
plan = json.loads((folder / "plan.json").read_text())["with" if here else "without"]
past = "resume" in args or "--resume" in args
does = plan[min(len(plan) - 1, int(past))]
def say(event):
    print(json.dumps(event), flush=True)
for code in does.get("python", []):
    exec(code)
for name, data in does.get("files", {}).items():
    pathlib.Path(name).write_text(data)
model = args[args.index("--model") + 1] if "--model" in args else "some-model"
if codex:
    say({"type": "thread.started", "thread_id": "t"})
    say({"type": "turn.started"})
    say({"type": "item.completed", "item": {"id": "0", "type": "agent_message", "text": "ok"}})
    spent = {"input_tokens": 3000000, "cached_input_tokens": 1000000, "output_tokens": 500000}
    say({"type": "turn.completed", "usage": spent})
    sys.exit(0)
ids = {"session_id": "11111111-1111-4111-8111-111111111111"}
shown = does.get("skills", ["tidy"] if here else [])
say({"type": "system", "subtype": "init", **ids, "tools": ["Bash"], "mcp_servers": [], "skills": shown, "agents": [],
     "slash_commands": [], "model": model, "permissionMode": "bypassPermissions", "claude_code_version": "2.1.332"})
status = does.get("status")
for block in [*does.get("calls", []), *([] if status else [{"type": "text", "text": "ok"}])]:
    say({"type": "assistant", **ids, "message": {"role": "assistant", "model": model, "content": [block]}})
end = {"type": "result", "subtype": "success", "is_error": status is not None, **ids, "num_turns": 1,
       "total_cost_usd": 0 if status else 0.25, "result": does.get("text", "ok"), "permission_denials": [],
       "usage": {"input_tokens": 0 if status else 10, "output_tokens": 0 if status else 5}, "modelUsage": {}}
if status is not None:
    end |= {"api_error_status": status, "terminal_reason": "api_error", "stop_reason": "stop_sequence"}
say(end)
sys.exit(1 if status else 0)
"""
SKILL = "---\nname: tidy\ndescription: Tidies.\n---\n1. Tidy.\n"
USES = {"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": "tidy"}}
MADE = {"files": {"out.txt": "made\n"}}


class World:
    """A repository with an uncommitted skill, and the program that stands in for the agent."""

    def __init__(self, kcut: Kcut, repo: Repo, folder: Path) -> None:
        self.kcut, self.repo, self.folder = kcut, repo, folder
        (folder / "log").mkdir(parents=True)
        script = folder / "agent.py"
        script.write_text(STAND_IN)
        self.program = folder / "agent"
        self.program.write_text(f'#!/bin/sh\nexec "{shutil.which("python3")}" "{script}" "$@"\n')
        self.program.chmod(0o755)
        repo.write(".claude/skills/tidy/SKILL.md", SKILL)
        self.plan([MADE], [{}])

    def plan(self, with_: list[Any], without: list[Any]) -> None:
        """What the agent does in each cohort, round by round."""
        (self.folder / "plan.json").write_text(json.dumps({"with": with_, "without": without}))

    def run(self, *options: str, agent: str | None = "claude", prompt: bool = True, **more: Any) -> Any:
        words = ["--component", "tidy", "--agent-executable", str(self.program), "--score", "test -f out.txt"]
        words += ["--agent", agent] if agent else []
        words += ["--prompt", "go"] if prompt else []
        return self.kcut("benchmark", *words, *options, cwd=self.repo.path, **more)

    def document(self, *options: str, code: int = 0, **more: Any) -> dict[str, Any]:
        done = self.run("--json", *options, **more)
        assert done.returncode == code, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted((self.folder / "log").iterdir())]


@pytest.fixture
def world(kcut: Kcut, repo: Repo, tmp_path: Path) -> World:
    return World(kcut, repo, tmp_path / "agent folder")


def codes(document: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in document["decision"]["warnings"]}


def test_the_main_job(world: World) -> None:
    world.plan([MADE | {"calls": [USES]}], [{}])
    (world.repo.path / "task.md").write_text("go\n")
    document = world.document("--prompt-file", "task.md", "--model", "opus", "--k", "2", prompt=False)
    assert [document[side]["successes"] for side in ("with", "without")] == [2, 0]
    assert document["with"]["totalCostUsd"] == 0.5
    assert (
        document["environment"] | {"agent": "claude", "model": "opus", "agentVersion": "2.1.332"}
        == document["environment"]
    )
    assert document["treatment"] == {
        "kind": "skill",
        "path": ".claude/skills/tidy",
        "shownWith": 2,
        "shownWithout": 0,
        "usedWith": 2,
        "trialsWith": 2,
    }
    assert document["componentDigest"].startswith("sha256:")
    assert document["task"].startswith("kcut agent claude --model opus")
    assert document["task"].endswith("--prompt-file task.md")
    assert codes(document) <= {"few-trials", "exploratory"}
    homes = {call["env"]["HOME"] for call in world.calls}
    assert len(homes) == 4
    assert not any(name.startswith("HARNESS_COMPONENT") for call in world.calls for name in call["env"])
    assert not any(Path(home).exists() for home in homes)
    words = [[word for word in call["args"] if "/" not in word and len(word) != 36] for call in world.calls]
    assert all(each == words[0] for each in words), "the same flags in both cohorts"


@pytest.mark.parametrize(("side", "shown"), [("with", []), ("without", ["tidy"])])
def test_a_component_that_is_not_where_it_should_be_makes_the_run_invalid(
    world: World, side: str, shown: list[str]
) -> None:
    world.plan(
        [MADE | ({"skills": shown} if side == "with" else {})], [{"skills": shown} if side == "without" else {}]
    )
    document = world.document("--k", "2", code=2)
    assert document["decision"]["verdict"] == "invalid"
    assert document[side]["voids"] == {"manipulation": 1}
    assert not (world.repo.path / ".claude/eval/benchmarks/tidy.json").exists()


def test_setup_that_undoes_the_difference_makes_the_run_invalid(world: World) -> None:
    document = world.document("--k", "2", "--setup", "rm -rf .claude/skills", code=2)
    assert document["with"]["voids"] == {"manipulation": 1}
    document = world.document(
        "--k",
        "2",
        "--setup",
        "test -d .claude || mkdir -p .claude/skills/tidy; : >> .claude/skills/tidy/SKILL.md",
        code=2,
    )
    assert document["without"]["voids"] == {"manipulation": 1}


def test_faults_of_the_provider_are_void(world: World) -> None:
    world.plan([MADE], [{"status": 529}])
    document = world.document("--k", "1", "--retry-wait", "0s", code=2)
    assert document["without"]["voids"] == {"overloaded": 1}
    assert document["without"]["voidAttempts"] == 3


def test_tokens_become_money(world: World) -> None:
    world.repo.write(".agents/skills/tidy/SKILL.md", SKILL)  # where codex reads it
    prices = world.folder / "prices.toml"
    prices.write_text('["gpt-5.5"]\ninput = 1.0\noutput = 10.0\ncache_read = 0.1\n')
    model = ("--model", "gpt-5.5", "--k", "1", "--objective", "success")
    world.plan([MADE], [{}])
    assert world.document(*model, agent="codex")["with"]["totalCostUsd"] is None
    document = world.document(*model, "--prices", str(prices), agent="codex")
    assert document["with"]["totalCostUsd"] == pytest.approx(2.0 + 5.0 + 0.1)
    other = world.document("--model", "gpt-6", "--k", "1", "--prices", str(prices), agent="codex")
    assert other["with"]["totalCostUsd"] is None


def test_performers_are_cells_of_their_own(world: World) -> None:
    document = world.document("--model", "opus", "--model", "haiku", "--k", "3", "--rule", "evidence")
    assert document["decision"] == "keep"
    assert [(cell["cli"], cell["model"], cell["with"]["k"]) for cell in document["cells"]] == [
        ("claude", "opus", 3),
        ("claude", "haiku", 3),
    ]
    saved = sorted(path.name for path in (world.repo.path / ".claude/eval/benchmarks").iterdir())
    assert saved == ["tidy-claude-haiku.json", "tidy-claude-opus.json"]
    told = world.run("--model", "opus", "--model", "haiku", "--k", "1")
    assert "overall: INCONCLUSIVE (claude opus INCONCLUSIVE, claude haiku INCONCLUSIVE)" in told.stdout


def test_the_gate_follows_the_worst_performer(world: World) -> None:
    assert world.run("--model", "opus", "--model", "haiku", "--k", "1").returncode == 0
    gate = world.kcut("gate", "tidy", cwd=world.repo.path)
    assert (gate.returncode, "of 2 with a verdict" in gate.stdout) == (0, True), gate.stdout
    path = world.repo.path / ".claude/eval/benchmarks/tidy-claude-opus.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pass": False}))
    (path.parent / "tidy-other.json").write_text(path.read_text())  # of --out: another experiment
    gate = world.kcut("gate", "tidy", cwd=world.repo.path)
    assert (gate.returncode, "(tidy-claude-opus, the worst of 2 with a verdict)" in gate.stdout) == (1, True), (
        gate.stdout
    )
    assert "--model opus" in gate.stdout
    listed = json.loads(world.kcut("components", "--json", cwd=world.repo.path).stdout)
    assert [(row["name"], row["pass"], row["stale"]) for row in listed["components"]] == [("tidy", False, False)]
    world.repo.write(".claude/skills/tidy/SKILL.md", f"{SKILL}2. Tidy again.\n")
    gate = world.kcut("gate", "tidy", cwd=world.repo.path)
    assert (gate.returncode, "stale" in gate.stdout) == (2, True), gate.stdout


def test_a_file_of_performers(world: World) -> None:
    world.repo.write(".agents/skills/tidy/SKILL.md", SKILL)  # where codex reads it
    file = world.folder / "performers.toml"
    file.write_text(
        f'[[performer]]\nagent = "claude"\nmodel = "opus"\neffort = "high"\n'
        f'[[performer]]\nagent = "codex"\nmodel = "gpt-5.5"\nexecutable = "{world.program}"\n'
        "price = { input = 1, output = 1, cache_read = 1 }\n"
    )
    document = world.document("--performers", str(file), "--k", "1", agent=None)
    costs = [cell["with"]["totalCostUsd"] for cell in document["cells"]]
    assert costs == [0.25, pytest.approx(3.5)]
    assert {
        call["args"][call["args"].index("--effort") + 1] for call in world.calls if "--effort" in call["args"]
    } == {"high"}


def test_a_quota_that_is_used_up_pauses(world: World) -> None:
    world.plan([MADE], [{"status": 429, "text": "You have reached your weekly limit"}])
    done = world.run("--k", "3", "--seed", "1")
    assert done.returncode == 2
    assert "the quota of claude is used up" in done.stderr
    ref = done.stderr.split("--resume ")[1].split()[0]
    before = len(world.calls)
    world.plan([MADE], [{}])
    again = world.kcut("benchmark", "--resume", ref, "--json", cwd=world.repo.path)
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert (document["with"]["valid"], document["without"]["valid"], document["without"]["voidAttempts"]) == (3, 3, 1)
    assert len(world.calls) - before == 6 - (before - 1)


def test_rework_is_told_and_not_counted(world: World) -> None:
    world.repo.write("spec.md", "- [ ] **AC-1 (made):** x\n\n```eval\necho HUSH; grep -q made out.txt\n```\n")
    world.plan([{}, MADE], [{}, {}])
    words = ("--spec", "spec.md", "--rework", "2", "--k", "1")
    words_of_run = [
        "--component",
        "tidy",
        "--agent",
        "claude",
        "--agent-executable",
        str(world.program),
        "--prompt",
        "go",
    ]
    done = world.kcut("benchmark", *words_of_run, "--json", *words, cwd=world.repo.path)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["with"]["successes"], document["without"]["successes"]) == (0, 0)
    assert document["with"]["rework"] == {"trials": 1, "rounds": 1, "resolved": 1}
    assert document["without"]["rework"] == {"trials": 1, "rounds": 2, "resolved": 0}
    assert document["with"]["totalCostUsd"] == 0.25
    assert "spec-defect" not in codes(document), "one of them met it"
    prompts = [call["args"][-1] for call in world.calls]
    assert sum("AC-1 (made): exit 2" in prompt for prompt in prompts) == 3
    assert not any("HUSH" in prompt for prompt in prompts)
    world.kcut("benchmark", *words_of_run, *words, "--rework-output", cwd=world.repo.path)
    assert any("HUSH" in call["args"][-1] for call in world.calls)
    world.plan([{}], [{}])
    done = world.kcut("benchmark", *words_of_run, "--json", *words, cwd=world.repo.path)
    assert "spec-defect" in codes(json.loads(done.stdout))


def test_edits_of_the_spec_are_told_and_have_no_effect(world: World) -> None:
    spec = "- [ ] **AC-1 (made):** x\n\n```eval\ntest -f out.txt\n```\n"
    world.repo.write("spec.md", spec)
    world.repo.git("add", "spec.md")
    world.repo.git("commit", "-q", "-m", "spec")
    world.plan([{"files": {"spec.md": spec.replace("test -f out.txt", "true")}}], [{}])
    words = ["--component", "tidy", "--agent", "claude", "--agent-executable", str(world.program), "--prompt", "go"]
    done = world.kcut("benchmark", *words, "--spec", "spec.md", "--k", "1", "--json", cwd=world.repo.path)
    document = json.loads(done.stdout)
    assert document["with"]["successes"] == 0
    assert "spec-edited" in codes(document)


def test_several_tasks_with_prompts(world: World) -> None:
    file = world.folder / "tasks.toml"
    file.write_text('[[task]]\nname = "a"\nprompt = "do a"\n[[task]]\nname = "b"\nprompt = "do b"\n')
    document = world.document("--tasks", str(file), "--k", "1", prompt=False)
    assert [task["name"] for task in document["tasks"]] == ["a", "b"]
    assert {call["args"][-1] for call in world.calls} == {"do a", "do b"}


USAGE = {
    "no prompt": ([], "no prompt"),
    "two prompts": (["--prompt", "x", "--prompt-file", "y"], "two prompts"),
    "empty prompt": (["--prompt", " "], "the prompt is empty"),
    "missing prompt": (["--prompt-file", "nowhere"], "cannot read the prompt nowhere"),
    "task": (["--prompt", "x", "--task", "true"], "--task and --agent both given"),
    "models": (
        ["--prompt", "x", "--agent", "codex", "--model", "a", "--model", "b", "--model", "c"],
        "which runs which?",
    ),
    "twice": (["--prompt", "x", "--model", "a", "--model", "a"], "the same agent and model twice"),
    "both": (["--prompt", "x", "--performers", "f"], "--performers and --agent"),
    "agent": (["--prompt", "x", "--agent", "clod", "--model", "a", "--model", "b"], "there is no agent 'clod'"),
    "rework": (["--prompt", "x", "--rework", "4"], "0<=x<=3"),
    "output": (["--prompt", "x", "--rework-output"], "add --rework 1"),
    "command": (
        ["--prompt", "x", "--agent", "command", "--model", "a", "--model", "b"],
        "--agent command has no command",
    ),
}


@pytest.mark.parametrize("case", USAGE)
def test_what_does_not_go_together_is_said_before_any_trial(world: World, case: str) -> None:
    options, message = USAGE[case]
    done = world.run(*options, prompt=False)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert world.calls == []


@pytest.mark.parametrize("option", ["--model", "--prompt", "--effort", "--rework"])
def test_without_an_agent_nobody_could_follow(world: World, option: str) -> None:
    done = world.kcut("benchmark", "--component", "tidy", "--task", "true", option, "1", cwd=world.repo.path)
    assert (done.returncode, "needs an agent" in done.stderr) == (2, True), done.stderr


def test_an_agent_needs_a_component_that_kcut_can_switch(world: World) -> None:
    words = ["--agent", "claude", "--agent-executable", str(world.program), "--prompt", "go"]
    done = world.kcut("benchmark", "--component", "tidi", *words, cwd=world.repo.path)
    assert done.returncode == 2
    assert "there is no component tidi for kcut to switch" in done.stderr
    assert "did you mean tidy?" in done.stderr


def test_a_changed_component_is_no_longer_the_runs(world: World) -> None:
    world.plan([MADE], [{"status": 429, "text": "You have reached your weekly limit"}])
    ref = world.run("--k", "3").stderr.split("--resume ")[1].split()[0]
    world.repo.write(".claude/skills/tidy/SKILL.md", SKILL + "2. Tidy more.\n")
    done = world.kcut("benchmark", "--resume", ref, cwd=world.repo.path)
    assert (done.returncode, "is not what it was when the run began" in done.stderr) == (2, True)


def test_no_credential_of_a_prompt_is_kept(world: World) -> None:
    secret = "sk-ant-api03-" + "Zx9Q" * 20
    done = world.run("--prompt", f"use {secret} now", "--k", "1", prompt=False)
    assert "credential" in done.stdout
    for path in (world.repo.path / ".claude/eval").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("how", ["command", "script", "raw"])
def test_an_agent_that_the_task_runs_is_checked_alike(world: World, how: str) -> None:
    command = f"{sys.executable} -P -m kcut agent claude --executable '{world.program}' --prompt go"
    world.repo.write("run.sh", f"#!/bin/sh\nexec {command}\n", executable=True)
    world.repo.git("add", "run.sh")
    world.repo.git("commit", "-q", "-m", "a task")
    task = {"command": command, "script": "./run.sh", "raw": f"'{world.program}' -p go"}[how]
    options = ("--task", task, "--score", "test -f out.txt", "--k", "1", "--json")
    world.plan([MADE | {"calls": [USES]}], [{"skills": ["tidy"]}])
    done = world.kcut("benchmark", "--component", "tidy", *options, cwd=world.repo.path)
    document = json.loads(done.stdout)
    assert (done.returncode, document["without"]["voids"]) == (2, {"manipulation": 1})
    world.plan([MADE | {"calls": [USES], "skills": []}], [{}])
    done = world.kcut("benchmark", "--component", "tidy", *options, cwd=world.repo.path)
    assert (done.returncode, json.loads(done.stdout)["with"]["voids"]) == (2, {"manipulation": 1})
    world.plan([MADE | {"calls": [USES]}], [{}])
    done = world.kcut("benchmark", "--component", "tidy", *options, cwd=world.repo.path)
    assert done.returncode == 0, done.stderr
    if how != "raw":
        assert json.loads(done.stdout)["treatment"]["usedWith"] == 1
        assert not any(name.startswith("HARNESS_COMPONENT") for call in world.calls for name in call["env"])


def test_kept_worktrees_stay_whole_and_go_when_asked(world: World, tmp_path: Path) -> None:
    places = tmp_path / "places"
    places.mkdir()
    done = world.run("--k", "1", "--keep", "all", env={"TMPDIR": str(places)})
    kept = [Path(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("kept ")]
    assert len(kept) == 2
    for folder in kept:
        shown = subprocess.run(["git", "log", "--stat"], cwd=folder, check=True, capture_output=True, text=True)
        assert "first" in shown.stdout
        assert not list(folder.parent.rglob(".credentials.json"))
    assert world.kcut("clean", "--kept", cwd=world.repo.path, env={"TMPDIR": str(places)}).returncode == 0
    assert list(places.iterdir()) == []


def test_the_command_that_repeats_a_run_names_its_agent(world: World) -> None:
    (world.repo.path / "task.md").write_text("go\n")
    world.run("--prompt-file", "task.md", "--model", "opus", "--rework", "1", "--k", "1", prompt=False)
    world.repo.write(".claude/skills/tidy/SKILL.md", SKILL + "2. Tidy more.\n")
    told = world.kcut("gate", "tidy", cwd=world.repo.path).stdout
    assert "--agent claude --model opus" in told
    assert "--prompt-file task.md" in told
    assert "--rework 1" in told


def test_a_dry_run_of_several_performers(world: World) -> None:
    document = world.document("--model", "opus", "--model", "haiku", "--dry-run")
    assert [each["plan"]["agent"]["model"] for each in document["plans"]] == ["opus", "haiku"]
    assert world.calls == []


@pytest.mark.parametrize("rework", ["0", "1"])
@pytest.mark.parametrize("where", ['os.environ["CLAUDE_CONFIG_DIR"]', 'os.path.dirname(os.environ["TMPDIR"])'])
def test_an_agent_that_leads_kcut_astray_costs_its_user_nothing(
    world: World, where: str, rework: str, tmp_path: Path
) -> None:
    """It puts a link to the user's own folder in the place of kcut's: nothing there is written or removed."""
    own = tmp_path / "home" / ".claude"
    own.mkdir(parents=True)
    (own / ".credentials.json").write_text("{}")
    act = f"import shutil; c = {where}; os.rename(c, c + '-x'); os.symlink({str(own)!r}, c)"
    world.plan([{"python": [act]}, {}], [{}])
    done = world.run("--k", "1", "--rework", rework, env={"HOME": str(own.parent)})
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_text() for path in own.iterdir()} == {".credentials.json": "{}"}


def test_variables_of_a_component_reach_the_agent_with_and_not_without(world: World) -> None:
    variables = '[env]\nCLAUDE_CODE_DISABLE_AUTO_MEMORY = "0"\nLINT = "strict"\n'
    world.repo.write(".claude/kcut/components/memory.toml", variables)
    world.repo.git("add", ".claude/skills")
    world.repo.git("commit", "-q", "-m", "a skill")
    world.plan([MADE], [MADE])
    words = ["--component", "memory", "--agent", "claude", "--agent-executable", str(world.program), "--prompt", "go"]
    world.kcut("benchmark", *words, "--score", "true", "--k", "1", cwd=world.repo.path)
    names = ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "LINT")
    seen = {tuple(call["env"].get(name) for name in names) for call in world.calls}
    assert seen == {("0", "strict"), ("1", None)}

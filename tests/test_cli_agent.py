"""`kcut agent` with stand-ins for the CLIs: what it gives them, passes on, writes and leaves behind."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo
from tests.test_agents_recorded import FOLDER, RECORDED

SESSION = "b274d4e3-7a71-4002-994d-27723a81742b"
INIT = {
    "type": "system", "subtype": "init", "session_id": SESSION, "model": "claude-x[1m]", "tools": [], "cwd": "/w",
    "skills": ["tidy"], "agents": [], "slash_commands": [], "claude_code_version": "2.9.1",
}  # fmt: skip
RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": SESSION,
    "num_turns": 2, "total_cost_usd": 0.25, "usage": {"input_tokens": 20, "output_tokens": 10},
    "permission_denials": [],
}  # fmt: skip
SAID = {
    "type": "assistant",
    "session_id": SESSION,
    "message": {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "hm"}]},
}


class Trial:
    """A worktree, a scratch folder and a stand-in for a CLI, as a trial has them."""

    def __init__(self, repo: Repo, folder: Path, kcut: Kcut) -> None:
        self.repo, self.scratch, self.kcut = repo, folder / "scratch", kcut
        self.scratch.mkdir()
        self.out = self.scratch / "out.json"
        self.env = {"HARNESS_TRIAL_OUT": str(self.out), "HARNESS_COMPONENT": "tidy", "HARNESS_SEED": "7"}
        self.fake = folder / "fake"

    def stand_in(self, *lines: Any, code: str = "", exit_code: int = 0) -> None:
        """A program that does `code` and prints these events (or bytes)."""
        data = b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in lines)
        (self.fake.parent / "stream").write_bytes(data)
        self.fake.write_text(
            f"#!{sys.executable}\nimport json, os, sys, time\n{code}\n"
            f"sys.stdout.buffer.write(open({str(self.fake.parent / 'stream')!r}, 'rb').read())\n"
            f"sys.stdout.flush()\nsys.exit({exit_code})\n"
        )
        self.fake.chmod(0o755)

    def brief(self, **brief: Any) -> None:
        path = self.scratch / "brief.json"
        path.write_text(json.dumps(brief))
        self.env["HARNESS_TRIAL_BRIEF"] = str(path)

    def run(self, *options: str, cli: str = "claude", env: dict[str, str] | None = None) -> Any:
        words = ["agent", cli, "--prompt", "Do it.", "--executable", str(self.fake), *options]
        return self.kcut(*words, cwd=self.repo.path, env=self.env | (env or {}))

    def sidecar(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out.read_text())
        return document


@pytest.fixture
def trial(repo: Repo, tmp_path: Path, kcut: Kcut) -> Trial:
    return Trial(repo, tmp_path, kcut)


DUMP = """
json.dump({"env": dict(os.environ), "args": sys.argv[1:], "stdin": sys.stdin.buffer.read().decode(),
           "config": {n: open(os.path.join(os.environ["CLAUDE_CONFIG_DIR"], n)).read()
                      for n in os.listdir(os.environ["CLAUDE_CONFIG_DIR"])},
           "modes": {n: os.stat(os.path.join(os.environ["CLAUDE_CONFIG_DIR"], n)).st_mode & 0o777
                     for n in os.listdir(os.environ["CLAUDE_CONFIG_DIR"])},
           "home": os.listdir(os.environ["HOME"])}, open("seen.json", "w"))
"""


def seen(trial: Trial) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((trial.repo.path / "seen.json").read_text())
    return document


def test_what_the_agent_gets_and_what_is_written(trial: Trial, home: Path) -> None:
    trial.stand_in(INIT, SAID, RESULT, code=DUMP)
    trial.brief(component={"name": "tidy", "kind": "skill"}, present=True, oracle=["check.py"], session=SESSION)
    done = trial.run("--model", "claude-x", "--effort", "high", "--max-turns", "9", "--arg=--foo", "--arg=b c")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["system", "assistant", "result"]
    got = seen(trial)
    assert got["stdin"] == ""
    assert got["home"] == []
    assert not [name for name in got["env"] if name.startswith(("HARNESS_TRIAL_", "HARNESS_COMPONENT"))]
    assert got["env"]["HARNESS_SEED"] == "7"
    assert got["env"]["PWD"] == str(trial.repo.path)
    assert got["env"]["GIT_CONFIG_GLOBAL"] == str(home / ".gitconfig")
    assert ("IS_SANDBOX" in got["env"]) == (os.geteuid() == 0)
    for word in (["--model", "claude-x"], ["--effort", "high"], ["--max-turns", "9"], ["--session-id", SESSION]):
        at = got["args"].index(word[0])
        assert got["args"][at : at + 2] == word
    assert got["args"][-4:] == ["--foo", "b c", "--", "Do it."]
    assert trial.sidecar() == {
        "agent": "claude",
        "cost_usd": 0.25,
        "num_turns": 2,
        "is_error": False,
        "model": "claude-x",
        "agent_version": "2.9.1",
        "usage": {"input_tokens": 20, "output_tokens": 10}
        | {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
        "component_reached": True,
        "component_used": 0,
        "tamper": 0,
        "retries": 0,
    }
    assert not (trial.scratch / "brief.json").exists()


def test_cohorts_are_run_alike(trial: Trial) -> None:
    ran = []
    for present in (True, False):
        trial.stand_in(INIT | {"skills": ["tidy"] if present else []}, SAID, RESULT, code=DUMP)
        trial.brief(component={"name": "tidy", "kind": "skill"}, present=present, session=SESSION)
        trial.env["HARNESS_COMPONENT_ENABLED"] = "1" if present else "0"
        assert trial.run().returncode == 0
        got = seen(trial)
        got["env"] = {name: value for name, value in got["env"].items() if not name.startswith("_KCUT_")}
        ran.append(got)
    assert ran[0] == ran[1]


def test_a_login_is_copied_and_removed(trial: Trial, home: Path) -> None:
    folder = home / ".claude"
    folder.mkdir()
    (folder / ".credentials.json").write_text('{"secret": "S3CRET"}')
    try:
        trial.stand_in(INIT, SAID, RESULT, code=DUMP)
        done = trial.run("-v")
    finally:
        (folder / ".credentials.json").unlink()
        folder.rmdir()
    assert done.returncode == 0, done.stderr
    assert "S3CRET" not in done.stderr + done.stdout
    got = seen(trial)
    assert got["config"][".credentials.json"] == '{"secret": "S3CRET"}'
    assert got["modes"][".credentials.json"] == stat.S_IRUSR | stat.S_IWUSR
    left = [path for path in trial.scratch.rglob("*") if path.is_file() and b"S3CRET" in path.read_bytes()]
    assert left == []
    trial.run(env={"ANTHROPIC_API_KEY": "k"})
    assert ".credentials.json" not in seen(trial)["config"]


def test_servers_of_the_project_come_by_one_file(trial: Trial) -> None:
    trial.repo.write(".mcp.json", json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"command": "far"}}}))
    trial.repo.write("sub/.mcp.json", json.dumps({"mcpServers": {"b": {"command": "near"}}}))
    trial.stand_in(INIT, SAID, RESULT, code=DUMP)
    words = ["agent", "claude", "--prompt", "p", "--executable", str(trial.fake)]
    assert trial.kcut(*words, cwd=trial.repo.path / "sub", env=trial.env).returncode == 0
    got = json.loads((trial.repo.path / "sub" / "seen.json").read_text())
    servers = json.loads(got["config"]["mcp.json"])["mcpServers"]
    assert servers == {"a": {"command": "x"}, "b": {"command": "near"}}


@pytest.mark.parametrize(
    ("events", "options", "exit_code", "void"),
    [
        ([INIT, SAID, RESULT | {"is_error": True, "subtype": "error_max_turns"}], (), 1, None),
        ([INIT, SAID, RESULT | {"permission_denials": [{"tool_name": "Write"}]}], (), 75, "permissions"),
        ([INIT], (), 75, "interrupted"),
        ([b"no JSON\n\xff\xfe\n"], (), 75, "interrupted"),
        ([], (), 75, "interrupted"),
    ],
)
def test_outcomes(
    trial: Trial, events: list[Any], options: tuple[str, ...], exit_code: int, void: str | None
) -> None:
    trial.stand_in(*events)
    done = trial.run(*options)
    assert (done.returncode, trial.sidecar().get("void")) == (exit_code, void)
    if void:
        assert f"void {void}" in done.stderr


@pytest.mark.parametrize("present", [True, False])
def test_the_manipulation_check(trial: Trial, present: bool) -> None:
    for skills, reached in ((["tidy", "other"], True), (["tidy-up"], False)):
        trial.stand_in(INIT | {"skills": skills}, SAID, RESULT)
        trial.brief(component={"name": "tidy", "kind": "skill"}, present=present)
        done = trial.run()
        sidecar = trial.sidecar()
        assert sidecar["component_reached"] is reached
        assert (done.returncode, sidecar.get("void")) == ((0, None) if reached is present else (75, "manipulation"))
    trial.stand_in({key: value for key, value in INIT.items() if key != "skills"}, SAID, RESULT)
    trial.brief(component={"name": "tidy", "kind": "skill"}, present=present)
    assert trial.run().returncode == 0, "a CLI that does not tell is not held against the trial"


def test_long_streams_and_odd_bytes_pass_through(trial: Trial) -> None:
    odd = b"\xff\x00 not JSON \x1b[31m\n"
    long = SAID | {"message": {**SAID["message"], "content": [{"type": "text", "text": "x" * 3_000_000}]}}  # type: ignore[dict-item]
    huge = b'{"type":"user","text":"' + b"check.py " * 2_200_000 + b'"}\n'
    mention = SAID | {"message": {"role": "assistant", "content": [{"type": "text", "text": "see\n./CHECK.py!"}]}}
    trial.stand_in(INIT, odd, mention, huge, *[SAID] * 3000, long, RESULT)
    trial.brief(component={"name": "tidy", "kind": "skill"}, present=True, oracle=["check.py", "other/"])
    with (trial.repo.path / "out").open("wb") as out:
        words = ["agent", "claude", "--prompt", "p", "--executable", str(trial.fake)]
        command = [sys.executable, "-m", "kcut", *words]
        done = subprocess.run(command, cwd=trial.repo.path, env=os.environ | trial.env, stdout=out, check=False)
    assert done.returncode == 0
    assert (trial.repo.path / "out").read_bytes() == (trial.fake.parent / "stream").read_bytes()
    sidecar = trial.sidecar()
    assert (sidecar["tamper"], sidecar["component_reached"], sidecar["agent_version"]) == (2, True, "2.9.1")
    assert sidecar["cost_usd"] == 0.25


def test_a_reader_that_goes_away_does_not_end_the_agent(trial: Trial) -> None:
    trial.stand_in(INIT, *[SAID] * 20_000, RESULT)
    words = ["agent", "claude", "--prompt", "p", "--executable", str(trial.fake)]
    command = [sys.executable, "-m", "kcut", *words]
    process = subprocess.Popen(command, cwd=trial.repo.path, env=os.environ | trial.env, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(100)
    process.stdout.close()
    assert process.wait(60) == 0
    assert trial.sidecar()["cost_usd"] == 0.25


STUBBORN = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sh", "-c", "trap '' TERM; echo $$ > tool; sleep 300 & wait; sleep 300"], start_new_session=True)
print(json.dumps(%r), flush=True)
open("began", "w").close()
time.sleep(300)
"""


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_stubborn_agent_is_ended_with_all_it_started(trial: Trial, signum: signal.Signals) -> None:
    trial.stand_in(code=STUBBORN % SAID)
    words = ["agent", "claude", "--prompt", "p", "--executable", str(trial.fake)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kcut", *words],
        cwd=trial.repo.path,
        env=os.environ | trial.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not ((trial.repo.path / "began").exists() and (trial.repo.path / "tool").exists()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    trial.out.write_text('{"cost_usd": 0}')  # not the agent's to write
    process.send_signal(signum)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signum, stderr
    assert "stopped" in stderr
    assert not trial.out.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((trial.repo.path / "tool").read_text()), 0)


def test_folders_by_hand_are_gone_afterwards(trial: Trial, tmp_path: Path) -> None:
    trial.stand_in(INIT, SAID, RESULT, code=DUMP)
    del trial.env["HARNESS_TRIAL_OUT"]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert trial.run(env={"TMPDIR": str(temporary)}).returncode == 0
    assert Path(seen(trial)["env"]["HOME"]).is_relative_to(temporary)
    assert list(temporary.iterdir()) == []


KILLED = """
print(json.dumps(%r), flush=True)
open("began", "w").close()
time.sleep(300)
"""


@pytest.mark.parametrize("how", ["agent", "clean"])
def test_what_a_killed_run_left_goes_with_the_next(trial: Trial, tmp_path: Path, how: str) -> None:
    login, temporary = tmp_path / "login", tmp_path / "temporary"
    login.mkdir()
    temporary.mkdir()
    (login / ".credentials.json").write_text('{"secret": "S3CRET"}')
    (temporary / "kcut-agent-foreign").mkdir()
    (temporary / "kcut-agent-link").symlink_to(login)
    del trial.env["HARNESS_TRIAL_OUT"]
    env = {"TMPDIR": str(temporary), "CLAUDE_CONFIG_DIR": str(login)}
    trial.stand_in(code=KILLED % SAID)
    words = [sys.executable, "-m", "kcut", "agent", "claude", "--prompt", "p", "--executable", str(trial.fake)]
    with subprocess.Popen(
        words, cwd=trial.repo.path, env=os.environ | trial.env | env, stdout=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        while not (trial.repo.path / "began").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        living = trial.kcut("clean", "--dry-run", cwd=trial.repo.path, env=env)
        process.kill()
    assert "would remove" not in living.stdout
    assert [path for path in temporary.rglob(".credentials.json") if path.is_file()]
    if how == "clean":
        done = trial.kcut("clean", cwd=trial.repo.path, env=env)
        assert (done.returncode, done.stdout.count("removed")) == (0, 1), done.stdout + done.stderr
    else:
        trial.stand_in(INIT, SAID, RESULT)
        assert trial.run(env=env).returncode == 0
    assert sorted(path.name for path in temporary.iterdir()) == ["kcut-agent-foreign", "kcut-agent-link"]
    assert (login / ".credentials.json").exists()


def test_variables_of_the_component_reach_the_agent(trial: Trial) -> None:
    values = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0", "XDG_CONFIG_HOME": "/x", "OTHER": "1"}
    for present in (True, False):
        trial.stand_in(INIT, SAID, RESULT, code=DUMP)
        component = {"name": "m", "kind": "manifest"}
        trial.brief(component=component, present=present, variables=[*values])
        assert trial.run(env=values if present else {}).returncode == 0
        got = seen(trial)["env"]
        assert ({name: got.get(name) for name in values} == values) is present
    for name in ("HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "HARNESS_TRIAL_OUT"):
        trial.brief(component={"name": "m", "kind": "manifest"}, present=False, variables=[name])
        done = trial.run()
        assert (done.returncode, f"kcut: the component sets {name}, which kcut needs itself" in done.stderr) == (
            2,
            True,
        )


@pytest.mark.parametrize("line", ["user-invocable: false", "disable-model-invocation: true"])
def test_a_skill_that_lists_need_not_have_is_not_missed(trial: Trial, line: str) -> None:
    trial.repo.write(".claude/skills/tidy/SKILL.md", f"---\nname: tidy\n{line}\n---\nbody\n")
    for skills, reached in (([], None), (["tidy"], True)):
        trial.stand_in(INIT | {"skills": skills}, SAID, RESULT)
        trial.brief(component={"name": "tidy", "kind": "skill"}, present=True)
        assert trial.run().returncode == 0
        assert trial.sidecar().get("component_reached") is reached


@pytest.mark.parametrize(("kind", "key"), [("agent", "agents"), ("command", "slash_commands")])
def test_a_component_in_a_subfolder_is_known_by_every_name(trial: Trial, kind: str, key: str) -> None:
    trial.repo.write(f".claude/{kind}s/team/rev.md", "---\nname: reviewer\n---\nbody\n")
    trial.repo.write(f".claude/{kind}s/other/own.md", "---\nname: rev-2\n---\nbody\n")
    names = {"team/rev": True, "team:rev": True, "rev": True, "reviewer": True, "rev-2": False, "own": False}
    for listed, reached in names.items():
        trial.stand_in(INIT | {"skills": [], key: [listed]}, SAID, RESULT)
        trial.brief(component={"name": "team/rev", "kind": kind}, present=reached)
        assert trial.run().returncode == 0, listed
        assert trial.sidecar()["component_reached"] is reached
    trial.repo.write(f".claude/{kind}s/rev.md", "body\n")
    trial.stand_in(INIT | {"skills": [], key: ["rev"]}, SAID, RESULT)
    trial.brief(component={"name": "team/rev", "kind": kind}, present=False)
    assert trial.run().returncode == 0, "another one of that name"


def test_runs_of_a_hook_count_only_where_it_is_sure_whose(trial: Trial) -> None:
    def settings(**events: str) -> str:
        hooks = {event: [{"hooks": [{"type": "command", "command": word}]} for word in words.split()]
                 for event, words in events.items()}  # fmt: skip
        return json.dumps({"hooks": hooks})

    ran = [
        {"type": "system", "subtype": "hook_response", "session_id": SESSION, "hook_event": event}
        for event in ("PreToolUse", "Stop", "Stop")
    ]
    cases: list[tuple[str | None, int | None]] = [
        (settings(Stop=".claude/hooks/lint.sh", PreToolUse="other.sh"), 2),
        (settings(Stop=".claude/hooks/lint.sh other.sh"), None),
        (settings(Stop="other-lint.sh"), None),
        ("no JSON", None),
        (None, None),
    ]
    for text, used in cases:
        (trial.repo.path / ".claude/settings.json").unlink(missing_ok=True)
        if text is not None:
            trial.repo.write(".claude/settings.json", text)
        trial.stand_in(INIT, *ran, SAID, RESULT)
        trial.brief(component={"name": "lint.sh", "kind": "hook"}, present=True)
        assert trial.run().returncode == 0
        assert trial.sidecar().get("component_used") == used, text


def test_a_later_round_finds_its_folders_and_another_run_does_not(trial: Trial) -> None:
    trial.stand_in(
        INIT, SAID, RESULT, code="open(os.environ['CLAUDE_CONFIG_DIR'] + '/kept', 'a').write('x')\n" + DUMP
    )
    for number, kept in ((0, "x"), (1, "xx"), (0, "x")):
        trial.brief(session=SESSION, round=number)
        assert trial.run().returncode == 0
        got = seen(trial)
        assert got["config"]["kept"] == kept
        assert ("--resume" in got["args"]) == (number > 0)
    assert trial.sidecar()["cost_usd"] == 0.25


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["claude"], "no prompt"),
        (["claude", "--prompt", " "], "the prompt is empty"),
        (["claude", "--prompt", "a", "--prompt-file", "b"], "--prompt and --prompt-file both given"),
        (["claude", "--prompt-file", "missing"], "--prompt-file missing: No such file or directory"),
        (["claude", "--prompt-file", "."], "--prompt-file .: it is not a regular file"),
        (["claude", "--prompt", "a"], "the claude CLI is not installed: there is no claude on the PATH"),
        (["codex", "--prompt", "a"], "the codex CLI is not installed: there is no codex on the PATH"),
        (["gemini", "--prompt", "a"], "the gemini CLI is not installed: there is no gemini on the PATH"),
        (["gemini", "--prompt", "a", "--effort", "high"], "gemini has no --effort"),
        (["codex", "--prompt", "a", "--max-turns", "3"], "codex has no limit of turns"),
        (["claude", "--prompt", "a", "--executable", "./nothing"], "./nothing is not there, or cannot be run"),
        (["command", "--prompt", "a"], "no command"),
        (["command", "--prompt", "a", "--", "echo"], "the command takes no prompt"),
        (["command", "--prompt", "a", "--", "./nothing", "{prompt}"], "./nothing is not there, or cannot be run"),
        (["emacs", "--prompt", "a"], "there is no agent 'emacs'"),
        (["classify", "emacs", "--exit-code", "0", "--stdout", "a.txt"], "there is no agent 'emacs'"),
        (["classify", "claude", "--exit-code", "0", "--stdout", "missing"], "missing: No such file or directory"),
        (["classify", "claude", "--exit-code", "0", "--stdout", "."], ".: Is a directory"),
    ],
)
def test_what_cannot_be_done_is_said(repo: Repo, kcut: Kcut, words: list[str], message: str) -> None:
    path = "/usr/bin:/bin"  # git and a shell, none of the CLIs
    done = kcut("agent", *words, cwd=repo.path, env={"PATH": path})
    assert done.returncode == 2
    assert done.stderr.startswith(f"kcut: {message}")
    assert "Traceback" not in done.stderr
    if "not installed" in message:
        assert "npm install -g @" in done.stderr


def test_in_a_trial_an_agent_that_cannot_start_voids_it(trial: Trial) -> None:
    for words in (("--prompt", "a", "--executable", "/no"), ("--prompt-file", "missing"), ()):
        trial.out.write_text('{"cost_usd": 7}')
        assert trial.kcut("agent", "claude", *words, env=trial.env).returncode == 2
        assert trial.sidecar() == {"agent": "claude", "void": "startup"}


def test_options_stand_in_the_configuration_too(trial: Trial) -> None:
    trial.repo.write("kcut.toml", '[agent.claude]\nmodel = "claude-x"\narg = ["--foo"]\n')
    trial.stand_in(INIT, SAID, RESULT, code=DUMP)
    assert trial.run(env={"KCUT_AGENT_CLAUDE_EFFORT": "low"}).returncode == 0
    args = seen(trial)["args"]
    assert args[args.index("--model") + 1] == "claude-x"
    assert args[args.index("--effort") + 1] == "low"
    assert "--foo" in args
    trial.repo.write("kcut.toml", '[agent.claude]\nmodle = "claude-x"\n')
    done = trial.run()
    assert (done.returncode, "did you mean: model" in done.stderr) == (2, True)


def test_prices_turn_tokens_into_money(trial: Trial, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["gpt-5.5"]\ninput = 1\noutput = 10\n')
    run = RECORDED["codex-cx_basic"]
    trial.stand_in(run.stdout)
    for model, cost in (("gpt-5.5", 0.003), ("gpt-unheard-of", None)):
        assert trial.run("--prices", str(prices), "--model", model, cli="codex").returncode == 0
        assert trial.sidecar().get("cost_usd") == cost
    done = trial.run("--prices", "missing.toml", cli="codex")
    assert (done.returncode, "missing.toml" in done.stderr) == (2, True)


def test_a_command_of_any_kind(trial: Trial) -> None:
    prompt = "say {prompt_file} and {prompt}"
    words = ("agent", "command", "--prompt", prompt, "--", "sh", "-c", 'echo "$1"; cat "$2"; exit 3', "x")
    done = trial.kcut(*words, "{prompt}!", "{prompt_file}", cwd=trial.repo.path, env=trial.env)
    assert (done.returncode, done.stdout) == (1, f"{prompt}!\n{prompt}")
    sidecar = trial.sidecar()
    assert (sidecar["agent"], "void" in sidecar) == ("command", False), sidecar
    run = RECORDED["claude-f_529_r0"]
    trial.stand_in(run.stdout, exit_code=run.exit_code)
    again = ("agent", "command", "--prompt", "p", "--", str(trial.fake), "{prompt}")
    done = trial.kcut(*again, cwd=trial.repo.path, env=trial.env)
    assert (done.returncode, trial.sidecar()["void"], trial.sidecar()["agent"]) == (75, "overloaded", "claude")


@pytest.mark.parametrize("name", RECORDED)
def test_classify_gives_the_recorded_answer(name: str, kcut: Kcut, tmp_path: Path) -> None:
    run = RECORDED[name]
    (tmp_path / "out").write_bytes(run.stdout)
    (tmp_path / "err").write_bytes(run.stderr)
    files = ("--stdout", "out", "--stderr", "err")
    done = kcut("agent", "classify", run.cli, "--exit-code", str(run.exit_code), *files, "--json", cwd=tmp_path)
    answer = json.loads(done.stdout)
    assert done.returncode == 0
    assert list(answer) == ["outcome", "reason", "late", "usage", "costUsd", "turns", "why"]
    expected = json.loads((FOLDER / f"{name}.json").read_text())
    assert (answer["outcome"] == "ran") == expected["agent_ran"]
    assert answer["reason"] == expected["void_reason"]


def test_classify_in_words(kcut: Kcut, tmp_path: Path) -> None:
    run = RECORDED["claude-f_500_t1_r0"]
    (tmp_path / "out").write_bytes(run.stdout)
    words = ("agent", "classify", "claude", "--exit-code", "1", "--stdout", "out")
    done = kcut(*words, cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "void server_error, after work had been done"
    assert "0.005 USD" in done.stdout
    (tmp_path / "out").write_bytes(b'{"type":"thread.started","thread_id":"x"}\n')
    done = kcut("agent", "classify", "codex", "--exit-code=-15", "--stdout", "out", "--timed-out", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "void connection"


ADAPTER = """
from kcut.agents.adapter import Launch
from kcut.agents.command import Command

class Mine(Command):
    name = "mine"
    program = "mine-agent"
    install = "pip install mine-agent"

    def launch(self, errand, place, environ):
        return Launch(("--ask", errand.prompt), {"MINE": "1"})

class Broken:
    name = "broken"
"""


def test_an_adapter_of_another_package(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    package = tmp_path / "packages"
    info = package / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "mine_adapter.py").write_text(ADAPTER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    entries = ("mine = mine_adapter:Mine", "broken = mine_adapter:Broken", "absent = no_such_module:x")
    (info / "entry_points.txt").write_text("[kcut.agents]\n" + "\n".join(entries) + "\n")
    program = tmp_path / "bin" / "mine-agent"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$MINE $*"\n')
    program.chmod(0o755)
    # a variable of its own gets it a Python that looks for packages anew
    env = {"PYTHONPATH": str(package), "PYTHONNOUSERSITE": "1", "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = kcut("agent", "mine", "--prompt", "hello", cwd=repo.path, env=env)
    assert (done.returncode, done.stdout) == (0, "1 --ask hello\n"), done.stderr
    assert "mine" in kcut("agent", "-h", env=env).stdout
    for name in ("broken", "absent"):
        done = kcut("agent", name, "--prompt", "hello", cwd=repo.path, env=env)
        assert done.returncode == 2
        assert f"the adapter {name}" in done.stderr

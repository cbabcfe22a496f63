"""Real CLIs that are stopped in the midst of their work, or run by somebody else: nothing of them lives on."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import Agent, MakeAgent

SLEEP = "touch began; python3 -c 'import time; time.sleep(300)'"
CALLS: dict[str, dict[str, Any]] = {
    "claude": {"name": "Bash", "input": {"command": SLEEP, "description": "wait"}},
    "codex": {"name": "exec_command", "input": {"cmd": SLEEP, "yield_time_ms": 290_000}},
    "gemini": {"name": "run_shell_command", "input": {"command": SLEEP}},
}
QUICK: dict[str, dict[str, Any]] = {
    "claude": {"command": "id -u > who", "description": "who"},
    "codex": {"cmd": "id -u > who"},
    "gemini": {"command": "id -u > who"},
}
CLIS = list(CALLS)
SERVERS = {"claude": "anthropic", "codex": "openai", "gemini": "google"}


@pytest.fixture(params=CLIS)
def agent(request: pytest.FixtureRequest, make_agent: MakeAgent) -> Agent:
    """Each CLI, about to call a tool that does not end."""
    made = make_agent(request.param, request.getfixturevalue(SERVERS[request.param]))
    made.server.play({"turns": [{"text": "Working.", "tools": [CALLS[request.param]]}, {"text": "Done."}]})
    return made


def living(mark: Path) -> list[str]:
    """Processes at work below a folder: their working folder or their command line is there."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            cwd, words = str((entry / "cwd").readlink()), (entry / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if cwd.startswith(str(mark)) or str(mark) in words:
            found.append(f"{entry.name} {words}")
    return found


linux = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc")


#: Time limits to try, the next one where a busy machine did not come as far as its test means to.
LIMITS = ("6s", "30s", "120s")


@linux
def test_a_timeout_in_a_tool_call_is_a_run(agent: Agent) -> None:
    for limit in LIMITS:
        sidecar = agent.run("--timeout", limit)
        if (agent.repo.path / "began").exists():
            break
    assert (agent.exit_code, sidecar.get("void")) == (1, None)
    assert living(agent.repo.path.parent) == []


@linux
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_in_a_tool_call_leaves_nothing(agent: Agent, signum: signal.Signals) -> None:
    command = [sys.executable, "-P", "-m", "kcut", *agent.words, "--prompt", "go"]
    process = subprocess.Popen(
        command,
        cwd=agent.repo.path,
        env={**os.environ, **agent.variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for((agent.repo.path / "began").exists)
        process.send_signal(signum)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == (143 if signum is signal.SIGTERM else -9), stderr
    assert agent.sidecar() == {}, "whoever was told to stop says nothing of the trial"
    wait_for(lambda: not living(agent.repo.path.parent))


def wait_for(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, condition
        time.sleep(0.05)


def test_a_server_that_says_nothing(claude: Agent) -> None:
    sidecar = claude.run("--timeout", "3s", script={"fault": {"kind": "stall"}})
    assert (claude.exit_code, sidecar["void"]) == (75, "connection")
    for limit in LIMITS:
        script = {"turns": [{"tools": [LOOK]}, {"fault": {"kind": "stall"}}]}
        sidecar = claude.run("--timeout", limit, script=script)
        if len(claude.server.requests) > 1:
            break
    assert (claude.exit_code, sidecar.get("void")) == (1, None)


LOOK = {"name": "Bash", "input": {"command": "ls", "description": "look"}}


def test_the_trap_sees_what_would_leave(claude: Agent) -> None:
    claude.env |= {"ANTHROPIC_BASE_URL": "https://model.invalid"}
    with pytest.raises(AssertionError):
        claude.run()
    assert set(claude.server.egress) == {"model.invalid:443"}


#: Another user may not reach the Python that runs the tests, but the system's, which takes the same packages.
PYTHONS = (sys.executable, "/usr/bin/python3")
PACKAGES = os.pathsep.join([str(Path(__file__).parents[2]), sysconfig.get_path("platlib")])
REACH = "import subprocess, sys, kcut.agents.perform, click; subprocess.run([sys.executable, '-c', ''], check=True)"


def as_nobody() -> tuple[list[str], pwd.struct_passwd]:
    """What starts this Python as another user, and who that is; the test is skipped where that cannot be."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root with setpriv can be somebody else")
    nobody = pwd.getpwnam("nobody")
    switch = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    env = {**os.environ, "PYTHONPATH": PACKAGES, "PYTHONDONTWRITEBYTECODE": "1"}
    for python in PYTHONS:
        words = [*switch, python, "-P"]
        done = subprocess.run([*words, "-c", REACH], cwd="/", env=env, capture_output=True, check=False)
        if done.returncode == 0:
            return words, nobody
    pytest.skip("another user can read neither this checkout's packages nor a Python that takes them")


@pytest.mark.parametrize("cli", CLIS)
def test_an_ordinary_user(cli: str, make_agent: MakeAgent, request: pytest.FixtureRequest) -> None:
    words, nobody = as_nobody()
    agent = make_agent(cli, request.getfixturevalue(SERVERS[cli]))
    tool = {"name": CALLS[cli]["name"], "input": QUICK[cli]}
    agent.server.play({"turns": [{"tools": [tool]}, {"text": "Done."}]})
    with tempfile.TemporaryDirectory(prefix="kcut-nobody-") as name:
        place = Path(name)
        shutil.copytree(agent.repo.path, place / "repo")
        for folder in ("home", "scratch", "tmp"):
            (place / folder).mkdir()
        for path in (place, *place.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
        ours = {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), "PYTHONPATH": PACKAGES}
        ours |= {"HARNESS_TRIAL_OUT": str(place / "scratch" / "out.json"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*words, "-m", "kcut", *agent.words, "--prompt", "go"],
            cwd=place / "repo",
            env={**os.environ, **agent.variables, **ours},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        assert (place / "repo" / "who").read_text() == f"{nobody.pw_uid}\n"
        assert [*(place / "home").iterdir(), *(place / "tmp").iterdir()] == []
        assert "void" not in json.loads((place / "scratch" / "out.json").read_text())
        assert agent.server.egress == []

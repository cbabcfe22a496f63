"""The real agent CLIs, each with a scripted model server that a module's tests share, run by `kcut agent`."""

import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.servers import AnthropicServer, GeminiServer, OpenAIServer, Scripted
from tests.conftest import Kcut, Repo

if TYPE_CHECKING:
    import subprocess

MODULES = Path(__file__).parent / "node_modules"
#: Where npm puts the programs themselves. Started directly, there is no wrapper process.
PROGRAMS = {
    "claude": "@anthropic-ai/claude-code-*/claude",
    "codex": "@openai/codex-*/vendor/*/bin/codex",
    "gemini": ".bin/gemini",
}
SERVERS: dict[str, type[Scripted]] = {"claude": AnthropicServer, "codex": OpenAIServer, "gemini": GeminiServer}
NAMED = {cli: os.environ.get(f"KCUT_E2E_{cli.upper()}") for cli in PROGRAMS}
SESSION = "6f2b0a34-93a4-4c0f-9d0e-52d1a54a1c11"


@functools.cache
def find_program(cli: str) -> str | None:
    """The CLI's program, None if there is none."""
    return NAMED[cli] or next((str(path) for path in sorted(MODULES.glob(PROGRAMS[cli]))), None)


def program(cli: str) -> str:
    """The CLI's program; the test is skipped where there is none."""
    found = find_program(cli)
    if found is None:
        pytest.skip(f"the {cli} CLI is not here: npm ci in tests/agents, or KCUT_E2E_{cli.upper()}=PATH")
    return found


@dataclass
class Agent:
    """Runs `kcut agent CLI` in a repository as a trial does, and reads what it leaves."""

    cli: str
    program: str
    server: Scripted
    repo: Repo
    scratch: Path
    kcut: Kcut
    env: dict[str, str] = field(default_factory=dict)
    done: "subprocess.CompletedProcess[str] | None" = None

    @property
    def variables(self) -> dict[str, str]:
        """The caller's environment: keys, the server, and a trap for whatever wants to leave loopback."""
        url = self.server.url
        proxies = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), url)
        ours = {
            "claude": {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "sk-ant-dummy",
                "CLAUDE_CODE_MAX_RETRIES": "0",
            },
            "codex": {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-dummy"},
            "gemini": {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"},
        }[self.cli]
        return {
            **proxies,
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "HARNESS_COMPONENT": "tidy",
            "HARNESS_COMPONENT_ENABLED": "1",
            "HARNESS_TRIAL_OUT": str(self.scratch / "out.json"),
            **ours,
            **self.env,
        }

    @property
    def words(self) -> list[str]:
        """The command line up to its options."""
        models = {"claude": [], "codex": ["--model", "gpt-5.5"], "gemini": ["--model", "gemini-2.5-flash"]}
        return ["agent", self.cli, "--executable", self.program, *models[self.cli]]

    def brief(self, **brief: Any) -> Path:
        """Leave a brief for the next run."""
        path = self.scratch / "brief.json"
        path.write_text(json.dumps(brief))
        self.env["HARNESS_TRIAL_BRIEF"] = str(path)
        return path

    def run(self, *options: str, prompt: str = "go", script: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One run to its end; returns the sidecar, an empty one if there is none."""
        (self.scratch / "out.json").unlink(missing_ok=True)
        if script is not None:
            self.server.play(dict(script))
        self.done = self.kcut(*self.words, "--prompt", prompt, *options, cwd=self.repo.path, env=self.variables)
        assert self.server.egress == []
        return self.sidecar()

    def sidecar(self) -> dict[str, Any]:
        """The sidecar as it is now."""
        path = self.scratch / "out.json"
        sidecar: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return sidecar

    @property
    def exit_code(self) -> int:
        assert self.done is not None
        return self.done.returncode

    def events(self) -> list[dict[str, Any]]:
        """The events that the last run passed on."""
        assert self.done is not None
        return [json.loads(line) for line in self.done.stdout.splitlines() if line.startswith("{")]


def serve(cli: str) -> Iterator[Scripted]:
    with SERVERS[cli]() as server:
        yield server


@pytest.fixture(scope="module")
def anthropic() -> Iterator[Scripted]:
    """The server that claude talks to."""
    yield from serve("claude")


@pytest.fixture(scope="module")
def openai() -> Iterator[Scripted]:
    """The server that codex talks to."""
    yield from serve("codex")


@pytest.fixture(scope="module")
def google() -> Iterator[Scripted]:
    """The server that gemini talks to."""
    yield from serve("gemini")


MakeAgent = Callable[[str, Scripted], Agent]


@pytest.fixture
def make_agent(repo: Repo, tmp_path: Path, kcut: Kcut) -> MakeAgent:
    """An agent of that CLI, at work in `repo`."""

    def make(cli: str, server: Scripted) -> Agent:
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        server.egress.clear()
        return Agent(cli, program(cli), server, repo, scratch, kcut)

    return make


@pytest.fixture
def claude(make_agent: MakeAgent, anthropic: Scripted) -> Agent:
    """Claude Code."""
    return make_agent("claude", anthropic)


@pytest.fixture
def codex(make_agent: MakeAgent, openai: Scripted) -> Agent:
    """Codex."""
    return make_agent("codex", openai)


@pytest.fixture
def gemini(make_agent: MakeAgent, google: Scripted) -> Agent:
    """Gemini CLI."""
    return make_agent("gemini", google)

"""The examples do what their READMEs say: each command is taken from its README and run in a real repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import program
from tests.conftest import Repo

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def command_of(name: str) -> str:
    """The one shell command that an example's README shows."""
    blocks = BLOCK.findall((EXAMPLES / name / "README.md").read_text(encoding="utf-8"))
    assert len(blocks) == 1, f"{name}: its README shows {len(blocks)} commands"
    return str(blocks[0])


def expected_of(name: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Passed and valid trials, with and without, as the README says."""
    text = " ".join((EXAMPLES / name / "README.md").read_text(encoding="utf-8").split())
    found = re.search(r"Expect (\d+) of (\d+)(?: valid trials)? with and (\d+) of (\d+) without", text)
    assert found is not None
    passed, valid, passed_without, valid_without = map(int, found.groups())
    return (passed, valid), (passed_without, valid_without)


def shell(command: str, cwd: Path, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command as a reader would, `kcut` and `python3` being those of this installation."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-e", "-c", command],
        cwd=cwd,
        env={**os.environ, **(env or {}), "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def clone_with(repo: Repo, *names: str) -> Repo:
    """A repository that holds these examples as a clone of this one does."""
    for name in names:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(EXAMPLES / name, repo.path / "examples" / name, ignore=ignored)
    repo.commit("examples")
    return repo


@dataclass(frozen=True)
class Verdict:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str
    artifact: Mapping[str, Any]

    @property
    def passed(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Passed and valid trials, with and without."""
        with_, without = (self.artifact[cohort] for cohort in ("with", "without"))
        return (with_["successes"], with_["valid"]), (without["successes"], without["valid"])

    @property
    def evidence(self) -> str:
        return str(self.artifact["decision"]["verdict"])

    @property
    def warnings(self) -> set[str]:
        return {warning["code"] for warning in self.artifact["decision"]["warnings"]}


def run_example(repo: Repo, command: str, component: str) -> Verdict:
    """Run the command at the root of the repository; nothing but the artifact may be new there."""
    head = repo.git("rev-parse", "HEAD")
    done = shell(command, repo.path)
    path = f".claude/eval/benchmarks/{component}.json"
    assert repo.git("status", "--porcelain", "--untracked-files=all") == f"?? {path}", done.stderr
    assert repo.git("rev-parse", "HEAD") == head
    assert repo.git("worktree", "list").count("\n") == 0
    artifact = json.loads((repo.path / path).read_text(encoding="utf-8"))
    assert artifact["component"] == component
    return Verdict(done.returncode, done.stdout, done.stderr, artifact)


def test_every_folder_has_a_readme_of_one_screen() -> None:
    """Four at least, each with its README, and the table of examples lists them all."""
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(NAMES)
    assert len(NAMES) >= 4
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"]({name}/README.md)" in table
        assert len((EXAMPLES / name / "README.md").read_text(encoding="utf-8").splitlines()) <= 30
        assert command_of(name).startswith(f"cd examples/{name}\n")


def test_shell_toggle(repo: Repo) -> None:
    """A retry wrapper earns its keep."""
    verdict = run_example(clone_with(repo, "shell-toggle"), command_of("shell-toggle"), "retry")
    assert verdict.code == 0
    assert verdict.passed == expected_of("shell-toggle")
    assert verdict.evidence == "keep"


def test_skill_follower(repo: Repo) -> None:
    """A skill's steps are worth something, and `show` says which criteria failed without them."""
    clone = clone_with(repo, "skill-follower")
    verdict = run_example(clone, command_of("skill-follower"), "release-notes")
    assert verdict.code == 0
    assert verdict.passed == expected_of("skill-follower")
    assert verdict.evidence == "keep"
    shown = shell("kcut show last", clone.path)
    assert "AC-3" in shown.stdout
    linted = shell("kcut checkpoint spec.md --lint", clone.path / "examples" / "skill-follower")
    assert linted.returncode == 0, linted.stdout


def test_skill_follower_reads_the_skill(repo: Repo) -> None:
    """Without its step on groups the same skill is worth less: the follower reads the file."""
    clone = clone_with(repo, "skill-follower")
    skill = clone.path / "examples/skill-follower/SKILL.md"
    skill.write_text(re.sub(r"^2\. Group.*\n", "", skill.read_text(encoding="utf-8"), flags=re.MULTILINE))
    clone.commit("a step less")
    verdict = run_example(clone, command_of("skill-follower").replace("--k 10", "--k 6"), "release-notes")
    assert verdict.passed == ((2, 6), (1, 6))


def test_lint_hook(repo: Repo) -> None:
    """The hook stops the defects that it can see, and no harmless change."""
    verdict = run_example(clone_with(repo, "lint-hook"), command_of("lint-hook"), "lint-hook")
    assert verdict.code == 0
    assert verdict.passed == expected_of("lint-hook")
    assert verdict.evidence == "keep"


def test_a_useless_hook_is_found_out(repo: Repo) -> None:
    """A hook that fires on nothing leaves both cohorts alike."""
    command = command_of("lint-hook").replace("hooks/lint", "hooks/whitespace").replace("--k 12", "--k 6")
    verdict = run_example(clone_with(repo, "lint-hook"), command, "lint-hook")
    assert verdict.code == 1
    assert verdict.passed == ((2, 6), (2, 6))
    assert verdict.evidence == "inconclusive"
    assert "arms-identical" in verdict.warnings


@pytest.fixture
def own(tmp_path: Path) -> Repo:
    """A clone of this repository as it was committed last, with the examples as they are now."""
    clone = Repo(tmp_path / "clone")
    if (ROOT / ".git").exists():
        Repo(tmp_path).git("clone", "-q", "--local", str(ROOT), str(clone.path))
    else:  # a source distribution
        clone.path.mkdir()
        clone.git("init", "-q")
    shutil.rmtree(clone.path / "examples", ignore_errors=True)
    shutil.copytree(EXAMPLES, clone.path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    clone.commit("the examples of the working tree")
    return clone


def test_own_repository(own: Repo) -> None:
    """The lint of specs, a step of this repository's own checks, keeps weak checks out and harmless edits in."""
    verdict = run_example(own, command_of("own-repository"), "spec-lint")
    assert verdict.code == 0
    assert verdict.passed == expected_of("own-repository")
    assert verdict.evidence == "keep"


def run_claude_skill(repo: Repo) -> dict[str, Any]:
    """The artifact that the example prints with the real CLI; it leaves nothing behind."""
    env = {"KCUT_E2E_CLAUDE": program("claude"), "TMPDIR": str(repo.path.parent)}
    before = sorted(repo.path.parent.iterdir())
    done = shell(f"{command_of('claude-skill').rstrip()} --json", repo.path, env)
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""
    assert sorted(repo.path.parent.iterdir()) == before
    artifact: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if artifact["pass"] else 1), done.stderr
    return artifact


def test_claude_skill(repo: Repo) -> None:
    """The skill reaches the real Claude Code in one cohort alone, and is worth having."""
    artifact = run_claude_skill(clone_with(repo, "claude-skill"))
    cohorts = [artifact["with"], artifact["without"]]
    with_, without = [(each["successes"], each["valid"]) for each in cohorts]
    assert (with_, without) == expected_of("claude-skill")
    assert artifact["decision"]["verdict"] == "keep"
    assert (artifact["treatment"]["shownWith"], artifact["treatment"]["shownWithout"]) == (5, 0)
    assert artifact["treatment"]["usedWith"] == 5


def test_claude_skill_is_worth_what_it_says(repo: Repo) -> None:
    """A skill that the agent lists and uses, but that says the wrong thing, is not kept."""
    clone = clone_with(repo, "claude-skill")
    skill = clone.path / "examples/claude-skill/project/SKILL.md"
    skill.write_text(skill.read_text(encoding="utf-8").replace("changes/ISSUE.added", "changes/ISSUE.new"))
    clone.commit("another skill")
    artifact = run_claude_skill(clone)
    assert (artifact["with"]["successes"], artifact["without"]["successes"]) == (0, 1)
    assert artifact["treatment"]["usedWith"] == 5


def test_claude_skill_without_the_cli(repo: Repo, tmp_path: Path) -> None:
    """One sentence, exit 2, and nothing is begun."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "dirname"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    clone = clone_with(repo, "claude-skill")
    env = {**os.environ, "PATH": str(tools)}
    env.pop("KCUT_E2E_CLAUDE", None)
    words = ["/bin/sh", str(clone.path / "examples/claude-skill/run.sh")]
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "needs the claude CLI" in done.stderr

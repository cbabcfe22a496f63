"""Completion in real shells: commands, options, names; fast, and silent whatever is wrong."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kcut.store import Store
from tests.conftest import Kcut, Repo
from tests.records import a_run

Complete = Callable[..., list[str]]


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A folder for PATH that holds `kcut`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "kcut"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m kcut "$@"\n')
    script.chmod(0o755)
    return folder


def shell(argv: Sequence[str], command: Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PATH": f"{command}:{os.environ['PATH']}", "TERM": "dumb"}
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def complete(command: Path, repo: Repo) -> Complete:
    """What bash offers for the words of a line, the last of which is being typed."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")

    def offer(*words: str, cwd: Path | None = None) -> list[str]:
        code = (
            "source <(kcut completion bash)\ncomplete -p kcut >/dev/null || exit 9\ncompopt() { :; }\n"
            'COMP_WORDS=(kcut "$@")\nCOMP_CWORD=$#\n_kcut_completion kcut\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
        )
        done = shell(["bash", "--norc", "-c", code, "bash", *words], command, cwd or repo.path)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    return offer


def test_bash_registers_the_function(command: Path, repo: Repo) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    done = shell(["bash", "--norc", "-c", "source <(kcut completion bash); complete -p kcut"], command, repo.path)
    assert (done.stdout, done.stderr) == ("complete -o nosort -F _kcut_completion kcut\n", "")


def test_bash_offers_commands_and_options(complete: Complete) -> None:
    assert complete("hist") == ["history"]
    assert complete("c") == ["checkpoint", "check", "components", "clean", "completion"]
    assert {"benchmark", "history", "report", "doctor"} <= set(complete(""))
    assert complete("history", "--j") == ["--json"]
    assert complete("report", "--format", "") == ["terminal", "json", "markdown", "html", "junit", "csv"]
    assert complete("completion", "") == ["bash", "zsh", "fish"]


def test_bash_offers_runs(complete: Complete, repo: Repo) -> None:
    with Store.open(repo.path) as store:
        for name in ("20261130T151500Z-aaaa", "20261130T161500Z-bbbb", "20261201T000000Z-cccc"):
            store.begin(a_run(name))
    assert complete("show", "") == ["last", "20261201T000000Z-cccc", "20261130T161500Z-bbbb", "20261130T151500Z-aaaa"]
    assert complete("show", "20261130") == ["20261130T161500Z-bbbb", "20261130T151500Z-aaaa"]
    assert complete("check", "20261201") == ["20261201T000000Z-cccc"]
    assert complete("report", "last", "20261201") == ["20261201T000000Z-cccc"]
    assert complete("benchmark", "--resume", "l") == ["last"]
    assert complete("gate", "tidy") == ["tidy-imports"]
    repo.write(".claude/skills-staging/new-skill/SKILL.md", "x")
    assert complete("rubric", "n") == ["new-skill"]


@pytest.mark.parametrize(
    "words",
    [("nonsense", ""), ("show", ""), ("show", "20"), ("report", ""), ("--", ""), ("history", "--nonsense", "")],
)
def test_bash_is_silent_where_something_is_wrong(
    complete: Complete, tmp_path: Path, repo: Repo, words: tuple[str, ...]
) -> None:
    complete(*words)  # a checkout without a record
    assert not (repo.path / ".claude").exists()
    repo.write(".claude/eval/kcut.db", b"no database" * 100)
    repo.write("kcut.toml", "[nonsense")
    complete(*words)
    complete(*words, cwd=tmp_path)  # outside of a repository


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_each_script_is_valid_and_swallows_errors(name: str, command: Path, repo: Repo, kcut: Kcut) -> None:
    done = kcut("completion", name, cwd=repo.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2>/dev/null)" in done.stdout
    assert "_KCUT_COMPLETE" in done.stdout
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    script = repo.write(f"script.{name}", done.stdout)
    checked = shell([name, "-n", str(script)], command, repo.path)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_other_shells_get_their_answers(name: str, repo: Repo, kcut: Kcut) -> None:
    words = {"zsh": ("kcut hist", "1"), "fish": ("kcut hist", "hist")}[name]
    env = {"_KCUT_COMPLETE": f"{name}_complete", "COMP_WORDS": words[0], "COMP_CWORD": words[1]}
    done = kcut(cwd=repo.path, env=env)
    assert done.stderr == ""
    assert done.stdout.startswith({"zsh": "plain\nhistory\n", "fish": "plain,history\t"}[name])


def test_fish_completes(command: Path, repo: Repo) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    code = "kcut completion fish | source; complete -C 'kcut hist'"
    done = shell(["fish", "--no-config", "-c", code], command, repo.path)
    assert done.stdout.split()[0] == "history"


def test_a_wrong_shell_is_a_usage_error(kcut: Kcut) -> None:
    done = kcut("completion", "tcsh")
    assert done.returncode == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.stderr

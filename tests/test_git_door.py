"""The door to git: whose repository it speaks to, what it must not do, how it fails."""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from kcut.model.errors import NotReady
from kcut.system.git import Git, GitFailed, end_running, join, local_variables, scrub, toplevel, version
from tests.conftest import Kcut, Repo


def test_every_name_that_binds_git_is_scrubbed() -> None:
    asked = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True)
    assert set(asked.stdout.split()) <= local_variables()
    kept = {"GIT_CONFIG_GLOBAL": "x", "GIT_AUTHOR_NAME": "x", "GIT_SSH_COMMAND": "x", "PATH": "x"}
    lost = {"GIT_DIR": "x", "GIT_CONFIG_KEY_3": "x", "GIT_CONFIG_VALUE_3": "x", "GIT_TEMPLATE_DIR": "x"}
    assert scrub(kept | lost) == kept


def test_an_inherited_repository_is_ignored(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    assert toplevel(repo.path) == repo.path


def test_a_name_that_keeps_git_from_answering_binds_nothing(repo: Repo, kcut: Kcut) -> None:
    bound = dict.fromkeys(local_variables(), "x/")
    done = kcut("benchmark", "--component", "x", "--task", "true", "--k", "1", cwd=repo.path, env=bound)
    assert done.returncode == 1, done.stderr


def test_hooks_and_monitors_do_not_run(repo: Repo, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        hook = repo.path / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    (tmp_path / "monitor").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (tmp_path / "monitor").chmod(0o755)
    repo.git("config", "core.fsmonitor", str(tmp_path / "monitor"))
    Git(repo.path).must("status")
    Git(repo.path).must("update-ref", "refs/heads/x", "HEAD")
    assert not ran.exists()


def test_words_of_failure(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match=r"git rev-parse failed: fatal: Needed a single revision") as caught:
        Git(repo.path).ask("rev-parse", "--verify", "nope")
    assert caught.value.result.code == 128
    with pytest.raises(NotReady, match="is gone"):
        Git(tmp_path / "missing").run("version")
    with pytest.raises(NotReady, match="not inside a git repository"):
        toplevel(tmp_path)


def test_git_is_missing(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    local_variables()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NotReady, match="git is not installed"):
        Git(repo.path).run("version")
    local_variables.cache_clear()
    assert "GIT_DIR" in local_variables()
    local_variables.cache_clear()


def test_bytes_in_and_out(repo: Repo) -> None:
    blob = Git(repo.path).ask("hash-object", "-w", "--stdin", stdin=b"\0\xff\n")
    assert Git(repo.path).must("cat-file", "blob", blob).stdout == b"\0\xff\n"
    name = os.fsdecode(b"odd\xff\nname")
    repo.write(name, "x")
    assert name in Git(repo.path).must("ls-files", "-z", "-o").fields()
    assert join(["a", name]) == b"a\0odd\xff\nname\0"


def test_a_limit_ends_git_and_what_it_started(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "alias.hang", f"!sleep 61 & echo $! > {tmp_path}/pid; sleep 60")
    started = time.monotonic()
    result = Git(repo.path).run("hang", timeout=0.5)
    assert time.monotonic() - started < 50
    assert (result.ok, result.code, result.complaint) == (False, None, "it took too long")
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if not state.stdout.strip() or state.stdout.startswith("Z"):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the process lives")


def test_a_checkout_that_hangs_can_be_ended(repo: Repo) -> None:
    repo.git("config", "alias.hang", "!sleep 60")
    threading.Timer(0.5, end_running).start()
    started = time.monotonic()
    assert not Git(repo.path).run("hang").ok
    assert time.monotonic() - started < 50
    end_running()


def test_only_the_beginning_is_read(repo: Repo) -> None:
    repo.write("big", "line\n" * 200_000)
    blob = repo.git("hash-object", "-w", "big")
    data, more = Git(repo.path).head("cat-file", "blob", blob, limit=1000)
    assert (len(data), more) == (1000, True)
    assert Git(repo.path).head("cat-file", "-t", blob, limit=1000) == (b"blob\n", False)


def test_version() -> None:
    assert version()[0].isdigit()

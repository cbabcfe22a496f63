"""`kcut doctor`: what is in the way of a benchmark, each with one thing to do; nothing is changed by looking."""

import json
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kcut.store import Store, state_dir
from tests.conftest import Kcut, Repo, make_repo
from tests.records import a_run

if TYPE_CHECKING:
    import subprocess

Checks = dict[str, dict[str, Any]]


def checks(done: "subprocess.CompletedProcess[str]") -> Checks:
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert list(document) == ["checks"]
    for check in document["checks"]:
        assert list(check) == ["code", "ok", "evidence", "advice"]
        assert bool(check["advice"]) is not check["ok"], "advice where something is wrong, and only there"
        assert "\n" not in check["evidence"] + (check["advice"] or "")
    found = {check["code"]: check for check in document["checks"]}
    assert len(found) == len(document["checks"])
    assert done.returncode == (0 if all(check["ok"] for check in found.values()) else 1)
    return found


def wrong(found: Checks) -> list[str]:
    return [code for code, check in found.items() if not check["ok"]]


def test_a_ready_checkout(repo: Repo, kcut: Kcut) -> None:
    done = kcut("doctor", cwd=repo.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "ready"
    assert all(line.startswith("ok  ") for line in done.stdout.splitlines()[:-1])
    found = checks(kcut("doctor", "--json", cwd=repo.path))
    assert wrong(found) == []
    assert set(found) >= {"python", "git", "sh", "bash", "processes", "checkout", "place", "state", "record"}
    assert found["checkout"]["evidence"].startswith(f"{repo.path.resolve()} at {repo.git('rev-parse', 'HEAD')[:12]}")
    assert repo.git("status", "--porcelain", "--ignored") == "", "looking makes nothing"


def test_outside_of_a_repository_the_machine_is_checked(tmp_path: Path, kcut: Kcut) -> None:
    found = checks(kcut("doctor", "--json", cwd=tmp_path))
    assert wrong(found) == ["checkout"]
    assert found["checkout"]["evidence"] == "not inside a git repository"
    assert "kcut demo" in found["checkout"]["advice"]
    text = kcut("doctor", cwd=tmp_path)
    assert text.returncode == 1
    assert "MEND  checkout" in text.stdout
    assert text.stdout.splitlines()[-1].endswith("checks need mending")


def test_a_repository_without_a_commit_and_a_bare_one(tmp_path: Path, repo: Repo, kcut: Kcut) -> None:
    empty = Repo(tmp_path / "empty")
    empty.path.mkdir()
    empty.git("init", "-q")
    assert wrong(checks(kcut("doctor", "--json", cwd=empty.path))) == ["checkout"]
    bare = tmp_path / "bare.git"
    repo.git("clone", "-q", "--bare", ".", str(bare))
    found = checks(kcut("doctor", "--json", cwd=bare))
    assert wrong(found) == ["checkout"]
    assert "bare" in found["checkout"]["evidence"]


def test_git_missing_or_too_old(tmp_path: Path, repo: Repo, kcut: Kcut) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    found = checks(kcut("doctor", "--json", cwd=repo.path, env={"PATH": str(folder)}))
    assert found["git"]["evidence"] == "not installed"
    assert "checkout" not in found
    assert found["bash"]["ok"], "only some specs need it"
    old = folder / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.9\n")
    old.chmod(0o755)
    found = checks(kcut("doctor", "--json", cwd=tmp_path, env={"PATH": f"{folder}:/usr/bin:/bin"}))
    assert (found["git"]["evidence"], found["git"]["ok"]) == ("2.30.9 is older than 2.31", False)


def test_the_state_folder(repo: Repo, tmp_path: Path, kcut: Kcut) -> None:
    repo.write(".claude/eval/.gitignore", "*.log\n")
    found = checks(kcut("doctor", "--json", cwd=repo.path))
    assert wrong(found) == ["state"]
    assert found["state"]["evidence"] == ".claude/eval/.gitignore does not cover kcut.db"
    (repo.path / ".claude/eval/.gitignore").unlink()
    state_dir(repo.path)
    assert wrong(checks(kcut("doctor", "--json", cwd=repo.path))) == []
    other = make_repo(tmp_path / "other")
    (other.path / ".claude").symlink_to(tmp_path)
    found = checks(kcut("doctor", "--json", cwd=other.path))
    assert "state" in wrong(found)
    assert "leads out of the checkout" in found["state"]["evidence"]


def test_the_record(repo: Repo, kcut: Kcut) -> None:
    with Store.open(repo.path) as store:
        store.begin(a_run("a"))
        store.finish(a_run("a", state="interrupted"), None)
    found = checks(kcut("doctor", "--json", cwd=repo.path))
    assert found["record"]["evidence"] == (
        f"1 runs, 1 interrupted (SQLite {sqlite3.sqlite_version}, write-ahead log)"
    )
    repo.write(".claude/eval/kcut.db", b"junk" * 1000)
    found = checks(kcut("doctor", "--json", cwd=repo.path))
    assert wrong(found) == ["record"]
    assert "move the file away" in found["record"]["advice"]


@pytest.mark.parametrize("text", ["[benchmark]\nkk = 1\n", "[gate]\njson = 1\n", "[broken"])
def test_every_table_of_the_configuration_is_checked(repo: Repo, kcut: Kcut, text: str) -> None:
    repo.write("kcut.toml", text)
    found = checks(kcut("doctor", "--json", cwd=repo.path))
    assert wrong(found) == ["configuration"]
    assert found["configuration"]["evidence"].startswith("kcut.toml")


def test_a_sound_configuration(repo: Repo, kcut: Kcut) -> None:
    repo.write("kcut.toml", "[benchmark]\nk = 7\n[gate]\njson = true\n")
    assert (
        checks(kcut("doctor", "--json", cwd=repo.path))["configuration"]["evidence"]
        == "kcut.toml: [benchmark], [gate]"
    )


def test_an_environment_that_points_into_the_checkout(repo: Repo, kcut: Kcut) -> None:
    inside = repo.path / ".venv"
    inside.mkdir()
    (inside / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n")
    found = checks(kcut("doctor", "--json", cwd=repo.path, env={"VIRTUAL_ENV": str(inside)}))
    assert wrong(found) == []
    packages = inside / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "_mine.pth").write_text(f"{repo.path}/src\n")
    found = checks(kcut("doctor", "--json", cwd=repo.path, env={"VIRTUAL_ENV": str(inside)}))
    assert wrong(found) == ["environment"]
    assert f"{repo.path}/src" in found["environment"]["evidence"]


def test_names_cannot_act_on_the_terminal(tmp_path: Path, kcut: Kcut) -> None:
    odd = make_repo(tmp_path / "a\x1b[31mred")
    done = kcut("doctor", cwd=odd.path)
    assert "\x1b" not in done.stdout
    assert "a\\x1b[31mred" in done.stdout

"""`kcut check` on real runs: what it warns of, and scoring kept worktrees again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kcut.store import Store
from tests.conftest import Kcut, Repo
from tests.guard import repository_state
from tests.hostile import HOSTILE, LINUX, gone, new_tag
from tests.records import a_run, an_attempt

TOGGLE = 'test "$HARNESS_COMPONENT_ENABLED" = 1'
#: WITH always passes, WITHOUT never; the trials leave different files.
WORKS = f'echo "$HARNESS_TRIAL $HARNESS_COMPONENT_ENABLED" > out.txt; {TOGGLE} && touch on; true'


def run(kcut: Kcut, repo: Repo, *args: str) -> "subprocess.CompletedProcess[str]":
    """A benchmark that came to its end; its worktrees lie where the test's own files do."""
    place = repo.path.parent / "place"
    place.mkdir(exist_ok=True)
    done = kcut("benchmark", "--component", "x", "-q", "--workdir", str(place), *args, cwd=repo.path)
    assert done.returncode in {0, 1}, done.stderr
    return done


def check(kcut: Kcut, repo: Repo, *args: str) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
    """The exit code, the document, and the warnings by code."""
    done = kcut("check", *args, "--json", cwd=repo.path)
    assert done.returncode in {0, 1}, done.stderr
    document = json.loads(done.stdout)
    return done.returncode, document, {warning["code"]: warning for warning in document["warnings"]}


def kept(repo: Repo) -> list[Path]:
    """The worktrees that the last run kept."""
    with Store.open(repo.path, create=False) as store:
        attempts = store.attempts(store.find("last").run_id)
    return [Path(attempt.kept) for attempt in attempts if attempt.kept is not None]


def state(folders: list[Path]) -> dict[str, tuple[Any, ...]]:
    """All that is in folders and around them: names, modes, times and bytes."""
    found: dict[str, tuple[Any, ...]] = {}
    for folder in {path.parent.parent for path in folders}:
        for where, inner, files in os.walk(folder):
            for name in [*inner, *files]:
                path = Path(where) / name
                info = path.lstat()
                data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = (info.st_mode, info.st_mtime_ns, info.st_ino, data)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder for worktrees, looked at by the test."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def test_a_sound_run(repo: Repo, kcut: Kcut) -> None:
    run(kcut, repo, "--task", WORKS, "--score", "test -e on", "--k", "8")
    done = kcut("check", cwd=repo.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nothing to warn of in run ")
    assert "(16 valid trials): voids, time limits, " in done.stdout
    assert done.stdout.count("\n") == 1
    code, document, codes = check(kcut, repo, "last")
    assert (code, codes, document["trials"], document["rescore"]) == (0, {}, 16, None)


def test_a_task_that_changes_while_it_is_measured(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    task = f'echo x >> {tmp_path}/count; echo "$HARNESS_TRIAL$HARNESS_COMPONENT_ENABLED" > out.txt'
    run(
        kcut, repo, "--task", task, "--score", f'test "$(wc -l < {tmp_path}/count)" -le 10', "--k", "10", "--no-probe"
    )
    code, _, codes = check(kcut, repo)
    assert code == 1
    assert codes["drift"]["evidence"]["early"] == {"with": "5/5", "without": "5/5"}
    assert codes["drift"]["evidence"]["late"] == {"with": "0/5", "without": "0/5"}
    assert "position" not in codes
    lines = kcut("check", cwd=repo.path).stdout.splitlines()
    assert sum(line.startswith("warning  drift: p ") for line in lines) == 1
    assert len(lines) == len(codes)


def test_what_a_trial_leaves_to_the_next(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    work = 'echo "$HARNESS_TRIAL$HARNESS_COMPONENT_ENABLED" > out'
    task = f"{work}; if [ -e {cache} ]; then rm {cache}; touch ok; else touch {cache}; fi"
    run(kcut, repo, "--task", task, "--score", "test -e ok", "--k", "10", "--seed", "4")
    _, _, codes = check(kcut, repo)
    evidence = codes["position"]["evidence"]
    assert {share.split("/")[0] for share in evidence["first"].values()} == {"0"}
    assert "--isolate-home" in codes["position"]["advice"]


def test_a_trial_that_takes_much_longer(repo: Repo, kcut: Kcut) -> None:
    task = f'if [ "$HARNESS_TRIAL" = 3 ] && {TOGGLE}; then sleep 6; fi; {WORKS}'
    run(kcut, repo, "--task", task, "--score", "test -e on", "--k", "8")
    _, _, codes = check(kcut, repo)
    assert [row["trial"] for row in codes["outliers"]["evidence"]["time"]] == ["with #3"]
    assert "--logs" in codes["outliers"]["advice"]


def test_a_run_that_was_stopped_and_one_that_is_going_on(repo: Repo, kcut: Kcut) -> None:
    with Store.open(repo.path) as store:
        store.begin(a_run("20261130T150000Z-aaaa"))
        store.record("20261130T150000Z-aaaa", an_attempt(0))
        done = kcut("check", "2026", cwd=repo.path)
        assert done.returncode == 2
        assert "is going on" in done.stderr
        store.finish(a_run("20261130T150000Z-aaaa", state="interrupted"), None)
    _, _, codes = check(kcut, repo, "2026")
    assert codes["invalid"]["evidence"] == {"cause": "interrupted"}
    assert kcut("check", "nonsense", cwd=repo.path).returncode == 2


def test_a_run_against_itself(repo: Repo, kcut: Kcut) -> None:
    task = 'echo "$HARNESS_TRIAL" > out; test $((HARNESS_SEED % 2)) = 0'
    assert (
        kcut(
            "aa", "--component", "x", "--task", task, "--runs", "4", "--k", "3", "--seed", "1", "-q", cwd=repo.path
        ).returncode
        == 0
    )
    code, document, codes = check(kcut, repo)
    assert (code, codes, document["trials"]) == (0, {}, 24)


def test_a_score_that_says_the_same(repo: Repo, kcut: Kcut, place: Path) -> None:
    repo.write("score.sh", "#!/bin/sh\ntest -e on && git status --porcelain > /dev/null\n", executable=True)
    repo.commit()
    before = repository_state(repo.path)
    task = f"{WORKS}; git add -A; git commit -qm work; echo broken > score.sh"
    run(kcut, repo, "--task", task, "--score", "./score.sh", "--k", "2", "--keep", "all")
    assert len(kept(repo)) == 4
    untouched = state(kept(repo))
    done = kcut("check", "--rescore", "3", cwd=repo.path)
    assert "scoring 4 kept worktrees 3 times each" in done.stderr
    assert "score    0 of 12 scores of 4 worktrees disagreed: it flips in less than 22.1 of 100 cases" in done.stdout
    assert state(kept(repo)) == untouched
    assert repository_state(repo.path) == before
    assert len(list(place.iterdir())) == 1
    assert not list((repo.path / ".claude/eval/runs").iterdir())
    _, document, codes = check(kcut, repo, "--rescore", "1")
    assert (document["rescore"]["rescores"], document["rescore"]["shrink"]) == (4, 1.0)
    assert "scorer-flips" not in codes


@pytest.mark.parametrize("isolation", ["sealed", "worktree", "clone"])
def test_a_score_that_flips_and_changes_files(repo: Repo, kcut: Kcut, place: Path, isolation: str) -> None:
    """The score passes every other time, writes where it likes, commits, and knows the path of its worktree."""
    count = place.parent / "count"
    score = (
        f"pwd >> {place.parent}/paths; echo x >> a.txt; mkdir -p new/folder; rm -f out.txt; git add -A; "
        f"git commit -qm s; echo x >> {count}; test $(($(wc -l < {count}) % 2)) = 1"
    )
    run(
        kcut, repo, "--task", WORKS, "--score", score, "--k", "2", "--keep", "all", "--no-probe",
        "--isolation", isolation
    )  # fmt: skip
    untouched = state(kept(repo))
    worktrees = repo.git("worktree", "list", "--porcelain")
    code, document, codes = check(kcut, repo, "--rescore", "2")
    assert code == 1
    assert document["rescore"]["rescores"] == 8
    assert document["rescore"]["flips"] == 4
    assert (document["rescore"]["rate"], document["rescore"]["shrink"]) == (0.5, 0.0)
    assert "--score" in codes["scorer-flips"]["advice"]
    text = kcut("check", "--rescore", "2", cwd=repo.path).stdout
    assert re.search(
        r"^warning  scorer-flips: 4 of 8 scores disagreed with the trial's own \(with", text, re.MULTILINE
    ), text
    assert "shrink" not in text.split("make --score")[0]
    paths = (place.parent / "paths").read_text().split()
    assert set(paths[4:]) == set(paths[:4])
    assert repo.git("worktree", "list", "--porcelain") == worktrees
    now = state(kept(repo))
    assert {path: what[2:] for path, what in now.items()} == {path: what[2:] for path, what in untouched.items()}


def test_only_failures_are_scored_again_where_only_they_were_kept(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    score = f"test -e on || test -e {tmp_path}/lenient"
    run(kcut, repo, "--task", WORKS, "--score", score, "--k", "2", "--keep", "failed")
    (tmp_path / "lenient").touch()
    _, document, codes = check(kcut, repo, "--rescore", "2")
    assert (document["rescore"]["rate"], document["rescore"]["shrink"]) == (1.0, 0.0)
    assert document["rescore"]["failuresOnly"] is True
    assert codes["scorer-flips"]["evidence"]["shrink"] == 0.0
    text = kcut("check", "--rescore", "2", cwd=repo.path).stdout
    assert "effects shrink to 0.00 of their size; only failures were kept (--keep failed)" in text


def test_specs_and_several_tasks_are_scored_again(repo: Repo, kcut: Kcut) -> None:
    repo.write("spec.md", "- [ ] **AC-1 (one):** x\n  ```eval\n  test -e on\n  ```\n")
    repo.write(
        "tasks.toml",
        f'[[task]]\nname = "a"\ntask = """{WORKS}"""\nspec = "spec.md"\n'
        f'[[task]]\nname = "b"\ntask = """{TOGGLE}"""\n',
    )
    run(kcut, repo, "--tasks", "tasks.toml", "--k", "2", "--keep", "failed", "--seed", "1")
    _, document, codes = check(kcut, repo, "--rescore", "2")
    assert set(document["rescore"]["trials"]) == {"without #0", "without #2"}  # the other task is its own score
    assert document["rescore"]["flips"] == 0
    assert "scorer-flips" not in codes


def test_worktrees_that_are_gone_and_one_that_is_read_only(repo: Repo, kcut: Kcut) -> None:
    run(kcut, repo, "--task", WORKS, "--score", "touch scored; test -e on", "--k", "2", "--keep", "all")
    first, second, third, fourth = kept(repo)
    subprocess.run(["rm", "-rf", first, second.parent], check=True)
    subprocess.run(["chmod", "-R", "a-w", third], check=True)
    _, document, codes = check(kcut, repo, "--rescore", "1")
    assert sorted(codes["kept-gone"]["evidence"].values()) == sorted([str(first), str(second)])
    assert document["rescore"]["worktrees"] == 2
    assert third.stat().st_mode & 0o222 == 0
    assert fourth.is_dir()
    subprocess.run(["chmod", "-R", "u+w", third], check=True)
    subprocess.run(["rm", "-rf", third, fourth], check=True)
    assert check(kcut, repo, "--rescore", "1")[1]["rescore"]["rate"] is None


def test_a_score_that_hangs(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    score = f"if [ -e {tmp_path}/hang ]; then sleep 600; fi; test -e on"
    run(kcut, repo, "--task", WORKS, "--score", score, "--k", "1", "--keep", "all", "--score-timeout", "1")
    (tmp_path / "hang").touch()
    _, document, _ = check(kcut, repo, "--rescore", "1")
    assert document["rescore"]["trials"] == {
        "with #0": {"flips": 1, "rescores": 1},
        "without #0": {"flips": 0, "rescores": 1},
    }


@pytest.mark.skipif(not LINUX, reason="finds processes in /proc")
def test_a_score_that_leaves_a_daemon(repo: Repo, kcut: Kcut) -> None:
    tag = new_tag()
    score = f"{sys.executable} {HOSTILE / 'daemon.py'} {tag}; test -e on"
    run(kcut, repo, "--task", WORKS, "--score", score, "--k", "1", "--keep", "all")
    _, document, _ = check(kcut, repo, "--rescore", "2")
    assert (document["rescore"]["rescores"], document["rescore"]["flips"]) == (4, 0)
    assert not gone(tag)


def waiting(repo: Repo, kcut: Kcut, tmp_path: Path) -> "tuple[subprocess.Popen[str], dict[str, tuple[Any, ...]]]":
    """A check whose score waits, in a copy of a kept worktree; and the state of the kept ones before."""
    score = f"echo x > changed; if [ -e {tmp_path}/wait ]; then touch {tmp_path}/waits; sleep 600; fi; test -e on"
    run(
        kcut, repo, "--task", WORKS, "--score", score, "--k", "1", "--keep", "all", "--no-probe"
    )  # fmt: skip
    (tmp_path / "wait").touch()
    untouched = state(kept(repo))
    process = subprocess.Popen(
        [sys.executable, "-m", "kcut", "check", "--rescore", "5"],
        cwd=repo.path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, untouched


def until(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_check_that_is_stopped(repo: Repo, kcut: Kcut, tmp_path: Path, place: Path, signum: signal.Signals) -> None:
    process, untouched = waiting(repo, kcut, tmp_path)
    until(tmp_path / "waits")
    process.send_signal(signum)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (128 + signum, "")
    assert re.search(r"stopped by SIG\w+ after 0 scores; nothing was left behind", errors)
    assert len(list(place.iterdir())) == 1
    assert [path.name for path in place.rglob("*.aside")] == []
    assert state(kept(repo)) == untouched
    assert not list((repo.path / ".claude/eval/runs").iterdir())
    (tmp_path / "wait").unlink()
    assert check(kcut, repo, "--rescore", "1")[1]["rescore"]["flips"] == 0


def test_a_check_that_is_killed_is_mended_by_the_next(repo: Repo, kcut: Kcut, tmp_path: Path, place: Path) -> None:
    process, untouched = waiting(repo, kcut, tmp_path)
    until(tmp_path / "waits")
    assert len(list(place.rglob("*.aside"))) == 1
    busy = kcut("check", "--rescore", "1", cwd=repo.path)
    assert busy.returncode == 2
    assert "is going on" in busy.stderr
    process.kill()
    process.communicate(timeout=120)
    assert kcut("clean", cwd=repo.path).returncode == 0
    assert list(place.rglob("*.aside")) == []
    assert len(list(place.iterdir())) == 1
    assert state(kept(repo)) == untouched
    (tmp_path / "wait").unlink()
    assert check(kcut, repo, "--rescore", "1")[1]["rescore"]["rescores"] == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--task", TOGGLE, "--keep", "all"), "no task is run again"),
        (("--task", WORKS, "--score", "test -e on"), "--keep all"),
        (("--task", WORKS, "--score", "test -e on", "--keep", "all"), "a whole number of at least 1"),
    ],
)
def test_what_cannot_be_scored_again(repo: Repo, kcut: Kcut, args: tuple[str, ...], said: str) -> None:
    run(kcut, repo, *args, "--k", "1")
    done = kcut("check", "--rescore", "0" if "whole" in said else "1", cwd=repo.path)
    assert done.returncode == 2
    assert said in done.stderr
    for path in kept(repo):
        subprocess.run(["rm", "-rf", path.parent.parent], check=True)


def test_the_base_may_have_moved_on(repo: Repo, kcut: Kcut) -> None:
    repo.write("score.sh", "#!/bin/sh\ntest -e on\n", executable=True)
    repo.commit()
    run(kcut, repo, "--task", WORKS, "--score", "./score.sh", "--k", "1", "--keep", "all")
    repo.write("score.sh", "#!/bin/sh\nfalse\n", executable=True)
    repo.commit()
    assert check(kcut, repo, "--rescore", "1")[1]["rescore"]["flips"] == 0


def test_the_record_of_another_does_not_lead_out(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    """A record that came with a repository names a folder of the user's as a kept worktree."""
    mine = tmp_path / "mine" / "tree"
    mine.mkdir(parents=True)
    (mine / "file").write_text("x")
    base = repo.git("rev-parse", "HEAD")
    with Store.open(repo.path) as store:
        planned = a_run("20261130T150000Z-aaaa", score="rm -rf *", keep="all")
        checkout = planned.plan.checkout.model_copy(update={"base": base})
        planned = planned.model_copy(update={"plan": planned.plan.model_copy(update={"checkout": checkout})})
        store.begin(planned)
        store.record(planned.run_id, an_attempt(0, kept=str(mine)))
        store.finish(planned.model_copy(update={"state": "finished"}), None)
    _, _, codes = check(kcut, repo, "--rescore", "1")
    assert codes["kept-gone"]["evidence"] == {"with #0": str(mine)}
    assert (mine / "file").read_text() == "x"

"""Oracles of tasks: no trial sees one before its task has ended, and none can change it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo

#: Passes by doing the work; what it could see of the oracle goes to a file outside.
LOOK = (
    'ls -a oracle >> "{seen}" 2>/dev/null; cat "$(git rev-parse --show-toplevel)"/oracle/* >> "{seen}" 2>/dev/null; '
    'git log --all -p -- oracle >> "{seen}" 2>/dev/null; '
    'git cat-file --batch-all-objects --batch 2>/dev/null | grep -a "only-in-the[-]oracle" >> "{seen}"; '
)


def tasks(repo: Repo, task: str, oracle: str = "oracle", score: str = "sh oracle/check.sh") -> None:
    """A file of one task."""
    repo.write("t.toml", f"[[task]]\nname = 'one'\ntask = '''{task}'''\nscore = '{score}'\noracle = '{oracle}'\n")


def oracle_in(repo: Repo, answer: str = "the-answer") -> None:
    repo.write("oracle/check.sh", f'test "$(cat answer)" = {answer}\n')
    repo.write("oracle/deep/more.txt", "only-in-the-oracle\n")


def run(kcut: Kcut, repo: Repo, *args: str, code: int = 0, **more: Any) -> dict[str, Any]:
    done = kcut(
        "benchmark", "--component", "x", "--tasks", "t.toml", "--k", "2", "--json", *args, cwd=repo.path, **more
    )
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("tracked", [True, False])
def test_no_trial_sees_it_and_the_score_does(repo: Repo, kcut: Kcut, tmp_path: Path, tracked: bool) -> None:
    seen = tmp_path / "seen"
    oracle_in(repo)
    if not tracked:
        repo.write(".gitignore", "oracle/\n")
    tasks(repo, LOOK.format(seen=seen) + 'test "$HARNESS_COMPONENT_ENABLED" = 1 && echo the-answer > answer; true')
    repo.commit()
    seen.write_text("")
    artifact = run(kcut, repo, "--dirty", "include" if not tracked else "ignore")
    assert (artifact["with"]["successes"], artifact["without"]["successes"]) == (2, 0)
    assert seen.read_text() == ""
    assert (repo.path / "oracle/deep/more.txt").read_text() == "only-in-the-oracle\n"
    assert all(row["phasesMs"]["reveal"] > 0 for row in artifact["trials"])


def test_what_an_earlier_commit_tracked_is_out_of_reach(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    oracle_in(repo)
    repo.commit()
    repo.git("rm", "-q", "-r", "--cached", "oracle")
    repo.write(".gitignore", "oracle/\n")
    tasks(repo, LOOK.format(seen=seen) + "echo the-answer > answer")
    repo.commit()
    seen.write_text("")
    assert run(kcut, repo, code=1)["with"]["successes"] == 2
    assert seen.read_text() == ""


def test_an_oracle_from_elsewhere_lies_beside_the_task(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    repo.write("sub/a.txt", "a\n")
    repo.commit()
    (tmp_path / "away").mkdir()
    (tmp_path / "away/check.sh").write_text('test "$HARNESS_COMPONENT_ENABLED" = 1\n')
    inner = Repo(repo.path / "sub")
    tasks(inner, "test ! -e away", str(tmp_path / "away"), "sh away/check.sh && test $(basename $PWD) = sub")
    artifact = run(kcut, inner)
    assert (artifact["with"]["successes"], artifact["without"]["successes"]) == (2, 0)


@pytest.mark.parametrize(
    "trick",
    [
        "mkdir -p oracle && echo true > oracle/check.sh && chmod 000 oracle",
        "ln -s {outside} oracle",
        "echo x > oracle",
        "mkfifo oracle",
        "mkdir -p oracle/check.sh",
    ],
)
def test_what_a_trial_leaves_in_its_place_goes_out_of_the_way(
    repo: Repo, kcut: Kcut, tmp_path: Path, trick: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "check.sh").write_text("true\n")
    oracle_in(repo)
    tasks(repo, trick.format(outside=outside))
    repo.commit()
    artifact = run(kcut, repo, code=1)
    assert (artifact["with"]["valid"], artifact["with"]["successes"]) == (2, 0)
    assert (outside / "check.sh").read_text() == "true\n"
    assert sorted(path.name for path in outside.iterdir()) == ["check.sh"]


def test_a_link_above_its_place_leads_nowhere(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.write("deep/oracle/check.sh", "test -e answer\n")
    tasks(repo, f"echo x > answer; rm -rf deep; ln -s {outside} deep", "deep/oracle", "sh deep/oracle/check.sh")
    repo.commit()
    artifact = run(kcut, repo, code=1)
    assert artifact["with"]["successes"] == artifact["without"]["successes"] == 2
    assert list(outside.iterdir()) == []


def test_an_oracle_that_changes_during_a_run_decides_nothing(repo: Repo, kcut: Kcut) -> None:
    oracle_in(repo)
    tasks(repo, f"echo the-answer > answer; echo true > {repo.path}/oracle/check.sh")
    repo.commit()
    artifact = run(kcut, repo, "--void-retries", "0", code=2)
    assert artifact["decision"]["verdict"] == "invalid"
    assert artifact["with"]["voids"] == {"harness": 1} or artifact["without"]["voids"] == {"harness": 1}


def test_a_changed_oracle_stops_a_resume(repo: Repo, kcut: Kcut) -> None:
    oracle_in(repo)
    tasks(repo, "sleep 0.3")
    repo.commit()
    argv = [sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--tasks", "t.toml", "--k", "9"]
    with subprocess.Popen(argv, cwd=repo.path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "pair 1 of 9" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 143
    repo.write("oracle/deep/more.txt", "other\n")
    done = kcut("benchmark", "--resume", "last", cwd=repo.path)
    assert (done.returncode, "the oracle has changed since the run began" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("oracle", "said"),
    [("nowhere", "there is no such folder"), (".", "holds the checkout itself"), (".git", "is git's own")],
)
def test_what_can_be_no_oracle(repo: Repo, kcut: Kcut, oracle: str, said: str) -> None:
    tasks(repo, "true", oracle)
    done = kcut("benchmark", "--component", "x", "--tasks", "t.toml", cwd=repo.path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_an_oracle_is_not_brought_by_other_means(repo: Repo, kcut: Kcut) -> None:
    oracle_in(repo)
    repo.write(".gitignore", "oracle/\n")
    repo.write(".worktreeinclude", "oracle/\n")
    tasks(repo, "test ! -e oracle && echo the-answer > answer")
    repo.commit()
    assert run(kcut, repo, code=1)["with"]["successes"] == 2
    done = kcut("benchmark", "--component", "x", "--tasks", "t.toml", "--copy", "oracle", cwd=repo.path)
    assert (done.returncode, "is an oracle's" in done.stderr) == (2, True)

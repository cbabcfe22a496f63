"""What `kcut history`, `show` and `report` say of runs of several tasks, of A/A runs, and of finished ones."""

import json

import pytest

from tests.conftest import Kcut, Repo

TOGGLE = 'test "$HARNESS_COMPONENT_ENABLED" = 1'
TASKS = f"[[task]]\nname = 'first one'\ntask = '{TOGGLE}'\n[[task]]\nname = 'other'\ntask = 'true'\n"


def test_a_cell_of_a_report_says_whose_it_is_and_what_it_stands_on(repo: Repo, kcut: Kcut) -> None:
    repo.write("t.toml", TASKS)
    kcut("benchmark", "--component", "x", "--tasks", "t.toml", "--k", "2", "--rule", "evidence", cwd=repo.path)
    artifact = json.loads((repo.path / ".claude/eval/benchmarks/x.json").read_text())
    [cell] = json.loads(kcut("report", "--json", cwd=repo.path).stdout)["cells"]
    assert list(cell)[:6] == ["task", "cli", "model", "with", "without", "decision"]
    assert cell["decision"] == artifact["decision"]["verdict"]
    assert cell["evidence"] == artifact["decision"]
    assert (cell["component"], cell["runId"], cell["rule"]) == ("x", artifact["runId"], "evidence")
    assert (cell["pass"], cell["tasks"]) == (artifact["pass"], artifact["tasks"])


def test_a_finished_run_whose_artifact_was_replaced_is_not_said_to_be_saved(repo: Repo, kcut: Kcut) -> None:
    args = ("benchmark", "--component", "x", "--task", TOGGLE, "--k", "1")
    for _ in range(2):
        assert kcut(*args, cwd=repo.path).returncode == 0
    new, old = (run["runId"] for run in json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"])
    path = ".claude/eval/benchmarks/x.json"
    assert f"\nsaved  {path}\n" in kcut("benchmark", "--resume", new, cwd=repo.path).stdout
    done = kcut("benchmark", "--resume", old, cwd=repo.path)
    assert done.returncode == 0
    assert f"\nnot saved: {path} is of another run, {new}\n" in done.stdout
    assert "saved  " not in done.stdout
    (repo.path / path).unlink()
    assert f"\nsaved  {path}\n" in kcut("benchmark", "--resume", old, cwd=repo.path).stdout
    assert json.loads((repo.path / path).read_text())["runId"] == old


def test_trials_of_several_tasks_name_theirs(repo: Repo, kcut: Kcut) -> None:
    repo.write("t.toml", TASKS)
    kcut("benchmark", "--component", "x", "--tasks", "t.toml", "--k", "1", cwd=repo.path)
    lines = kcut("show", cwd=repo.path).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("trial"))
    assert lines[at].split()[:3] == ["trial", "task", "outcome"]
    rows = {line.split("  ")[0]: line for line in lines[at + 1 : at + 5]}
    assert "  first one  " in rows["with #0"]
    assert "  other " in rows["without #1"]
    column = lines[at].index("exit")
    assert {line[column + 3] for line in rows.values()} <= {"0", "1"}


def test_one_task_is_one(repo: Repo, kcut: Kcut) -> None:
    repo.write("t.toml", TASKS.split("[[task]]\nname = 'other'", maxsplit=1)[0])
    done = kcut("benchmark", "--component", "x", "--tasks", "t.toml", "--k", "1", cwd=repo.path)
    assert "1 task, one score for all" in done.stderr
    assert json.loads((repo.path / ".claude/eval/benchmarks/x.json").read_text())["task"] == "t.toml (1 task)"


def test_the_history_marks_runs_against_themselves(repo: Repo, kcut: Kcut) -> None:
    kcut("benchmark", "--component", "x", "--task", TOGGLE, "--k", "1", cwd=repo.path)
    task = "test $((HARNESS_SEED % 2)) = 0"
    options = ("--k", "3", "--runs", "2", "--seed", "3")
    assert kcut("aa", "--component", "x", "--task", task, *options, cwd=repo.path).returncode == 0
    own, usual = json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"]
    assert (own["aa"], own["decision"], usual["aa"]) == (2, None, 0)
    _, first, second = kcut("history", cwd=repo.path).stdout.splitlines()
    assert " a/a " in first
    assert "a/a" not in second


@pytest.mark.parametrize(("name", "code"), [("x.foo", 2), ("x.html5", 2), ("x", 0), ("x.txt", 0), ("x.MD", 0)])
def test_an_ending_that_means_no_format(repo: Repo, kcut: Kcut, name: str, code: int) -> None:
    kcut("benchmark", "--component", "x", "--task", TOGGLE, "--k", "4", cwd=repo.path)
    out = repo.path.parent / name
    done = kcut("report", "-o", str(out), cwd=repo.path)
    assert done.returncode == code, done.stderr
    assert out.exists() == (code == 0)
    if code:
        assert "end the name in .html, .htm, .xml, .csv, .md, .json, .txt" in done.stderr
        assert kcut("report", "-o", str(out), "-f", "csv", cwd=repo.path).returncode == 0

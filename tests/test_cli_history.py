"""`kcut history`, `show` and `report`: views of the record that change nothing."""

import itertools
import json
import re
import shlex
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from kcut.model.run import RunRecord
from kcut.report.cells import overall
from kcut.store import Store
from kcut.verdict import assemble
from tests.conftest import Kcut, Repo
from tests.documents import first_format, put
from tests.records import a_run, an_attempt

KEEP, CUT, OPEN = "20261130T150000Z-keep", "20261130T160000Z-cut0", "20261130T170000Z-open"


def record(repo: Repo, run: RunRecord, passed_with: int, passed_without: int, **changes: Any) -> None:
    """A finished run, its trials as many passes as said."""
    with Store.open(repo.path) as store:
        store.begin(run)
        for pair in range(run.plan.k):
            for cohort, passed in (("with", passed_with), ("without", passed_without)):
                failing = () if pair < passed else ("AC-2", "AC-7")
                outcome = "pass" if pair < passed else "fail"
                store.record(run.run_id, an_attempt(pair, cohort, outcome, failing=failing, **changes))
        ended = run.model_copy(update={"state": "finished", "ended": "2026-11-30T17:00:00.000Z"})
        store.finish(ended, assemble(ended, store.attempts(run.run_id)))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Three runs: kept, cut, and one that settles nothing."""
    repo = Repo(tmp_path_factory.mktemp("template"))
    record(repo, a_run(KEEP, k=8, ts="2026-11-30T15:00:00.000Z"), 8, 0)
    record(repo, a_run(CUT, k=20, component="old-rule", ts="2026-11-30T16:00:00.000Z"), 4, 19)
    record(repo, a_run(OPEN, k=4, component="e\x1b[31mvil\u202e", ts="2026-11-30T17:00:00.000Z"), 3, 2)
    return repo


@pytest.fixture
def recorded(repo: Repo, template: Repo) -> Repo:
    """A checkout with those runs."""
    shutil.copytree(template.path / ".claude", repo.path / ".claude")
    return repo


def document(repo: Repo, kcut: Kcut, *args: str, code: int = 0) -> dict[str, Any]:
    done = kcut(*args, cwd=repo.path)
    assert (done.returncode, done.stderr) == (code, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# -- history


def test_history_lists_the_newest_first(recorded: Repo, kcut: Kcut) -> None:
    done = kcut("history", cwd=recorded.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["run", "when", "(UTC)", "component", "k", "decision", "pass", "state"]
    assert [line.split()[0] for line in lines[1:]] == [OPEN, CUT, KEEP]
    assert lines[3].split() == [KEEP, "2026-11-30", "15:00", "tidy-imports", "8", "keep", "yes", "finished"]
    assert lines[2].split()[-4:] == ["20", "cut", "no", "finished"]
    assert "e\\x1b[31mvil" in lines[1]


def test_history_as_json(recorded: Repo, kcut: Kcut) -> None:
    found = document(recorded, kcut, "history", "--json")
    assert list(found) == ["runs"]
    assert found["runs"][2] == {
        "runId": KEEP,
        "ts": "2026-11-30T15:00:00.000Z",
        "component": "tidy-imports",
        "k": 8,
        "decision": "keep",
        "pass": True,
        "state": "finished",
        "aa": 0,
    }
    assert [run["decision"] for run in found["runs"]] == ["inconclusive", "cut", "keep"]


def test_history_of_a_dead_process_is_interrupted(repo: Repo, kcut: Kcut) -> None:
    with Store.open(repo.path) as store:
        store.begin(a_run())
        assert document(repo, kcut, "history", "--json")["runs"][0]["state"] == "running"
        store.release(a_run().run_id)
    run = document(repo, kcut, "history", "--json")["runs"][0]
    assert (run["state"], run["decision"], run["pass"]) == ("interrupted", None, None)
    shown = kcut("show", cwd=repo.path)
    assert shown.returncode == 0
    assert "no trial has ended yet" in shown.stdout
    assert shown.stdout.endswith(f"go on with: kcut benchmark --resume {a_run().run_id}\n")


def test_looking_makes_nothing(repo: Repo, kcut: Kcut) -> None:
    empty = kcut("history", cwd=repo.path)
    assert (empty.returncode, empty.stdout) == (0, "")
    assert empty.stderr == "no run in this checkout yet; start one: kcut benchmark -h\n"
    assert document(repo, kcut, "history", "--json") == {"runs": []}
    for command in ("show", "report"):
        done = kcut(command, cwd=repo.path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("kcut: there is no run in this checkout yet\n")
    assert not (repo.path / ".claude").exists()


@pytest.mark.parametrize("command", ["history", "show", "report"])
def test_outside_of_a_repository(tmp_path: Path, kcut: Kcut, command: str) -> None:
    done = kcut(command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kcut: not inside a git repository\n")


@pytest.mark.parametrize("command", ["history", "show", "report"])
def test_help_has_examples(kcut: Kcut, command: str) -> None:
    done = kcut(command, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Examples:\n    kcut {command}" in done.stdout


def test_a_broken_record_is_one_sentence(repo: Repo, kcut: Kcut) -> None:
    path = repo.write(".claude/eval/kcut.db", b"not a database, " * 100)
    done = kcut("history", cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kcut: {path} is not a sound record of kcut: ")
    assert len(done.stderr.splitlines()) == 2
    assert path.read_bytes() == b"not a database, " * 100


# -- show


def test_show_has_plan_trials_and_failing_criteria(recorded: Repo, kcut: Kcut) -> None:
    done = kcut("show", OPEN[:11], cwd=recorded.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith(f"run {OPEN}   ")
    assert "  task   ./run.sh\n" in done.stdout
    assert "  score  ./check.sh\n" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("with")]
    assert len(lines) == 8
    assert lines[0].split() == ["with", "#0", "pass", "-", "0", "0", "1.0s", "$0.100", "3", "1", "-"]
    failed = [line for line in lines if " fail " in line]
    assert len(failed) == 3
    assert all(line.endswith("AC-2 AC-7") for line in failed)


def test_show_as_json(recorded: Repo, kcut: Kcut) -> None:
    found = document(recorded, kcut, "show", KEEP, "--json")
    assert list(found) == ["run", "trials"]
    run, trials = found["run"], found["trials"]
    assert (run["runId"], run["component"], run["k"], run["state"]) == (KEEP, "tidy-imports", 8, "finished")
    assert (run["decision"], run["pass"], run["plan"]["seed"]) == ("keep", True, 7)
    with Store.open(recorded.path) as store:
        artifact = assemble(store.find(KEEP), store.attempts(KEEP))
    rows = [row.document() for row in artifact.trials]
    assert [{key: row[key] for key in row if key != "failing"} for row in trials] == rows
    assert {(row["cohort"], tuple(row["failing"])) for row in trials} == {("with", ()), ("without", ("AC-2", "AC-7"))}


def test_show_tells_what_a_person_should_hear(repo: Repo, kcut: Kcut) -> None:
    run = a_run(task="TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 ./run.sh", k=1)
    with Store.open(repo.path) as store:
        store.begin(run)
        store.record(run.run_id, an_attempt(0, "with", "void", reason="overloaded", late=True))
        last = an_attempt(0, "with", "fail", attempt=2, notes=("odd\x07",), touched=("check.sh",), kept="/tmp/w")
        store.record(run.run_id, last)
        store.event(run.run_id, "checkout-changed", {"paths": ["a.txt"]})
        store.finish(run.model_copy(update={"state": "invalid", "note": "stopped early"}), None)
    done = kcut("show", cwd=repo.path)
    assert "ghp_" not in done.stdout
    assert "invalid: stopped early" in done.stdout
    assert "with #0, attempt 2: odd\\x07" in done.stdout
    assert "with #0, attempt 2: changed protected files: check.sh" in done.stdout
    assert "with #0, attempt 2: kept in /tmp/w" in done.stdout
    assert "checkout-changed" in done.stdout
    found = document(repo, kcut, "show", "--json")
    assert "ghp_" not in json.dumps(found)
    assert [row["attempts"] for row in found["trials"]] == [2]


def test_show_of_no_run_names_the_candidates(recorded: Repo, kcut: Kcut) -> None:
    done = kcut("show", "20261130", cwd=recorded.path)
    assert done.returncode == 2
    assert done.stderr == f"kcut: '20261130' is the beginning of several runs\n      {OPEN}, {CUT}, {KEEP}\n"
    done = kcut("show", "nix", cwd=recorded.path)
    assert done.stderr == "kcut: there is no run 'nix' in this checkout\n      list the runs: kcut history\n"


# -- report


@pytest.mark.parametrize(("run", "decision", "code"), [(KEEP, "keep", 0), (CUT, "cut", 1), (OPEN, "inconclusive", 3)])
def test_report_of_a_run_exits_by_its_decision(
    recorded: Repo, kcut: Kcut, run: str, decision: str, code: int
) -> None:
    found = document(recorded, kcut, "report", run, "--json", code=code)
    assert found["decision"] == decision
    (cell,) = found["cells"]
    assert list(cell)[:6] == ["task", "cli", "model", "with", "without", "decision"]
    assert (cell["runId"], cell["evidence"]["verdict"]) == (run, decision)
    assert (cell["task"], cell["decision"]) == ("./run.sh", decision)
    text = kcut("report", run, cwd=recorded.path)
    assert (text.returncode, text.stderr) == (code, "")
    assert f"evidence: {decision.upper()} - " in text.stdout
    assert run in text.stdout
    assert "\x1b" not in text.stdout
    assert "\x1b[" in kcut("report", run, "--color", "always", cwd=recorded.path).stdout
    markdown = kcut("report", run, "--format", "markdown", cwd=recorded.path)
    assert markdown.returncode == code
    assert markdown.stdout.startswith("### ")


def test_report_of_several(recorded: Repo, kcut: Kcut, tmp_path: Path) -> None:
    with Store.open(recorded.path) as store:
        artifact = assemble(store.find(KEEP), store.attempts(KEEP))
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(artifact.document()))
    found = document(recorded, kcut, "report", str(path), CUT, OPEN, "-f", "json", code=1)
    assert [cell["decision"] for cell in found["cells"]] == ["keep", "cut", "inconclusive"]
    assert found["decision"] == "cut"
    assert kcut("report", str(path), OPEN, cwd=recorded.path).returncode == 3
    text = kcut("report", str(path), KEEP, cwd=recorded.path)
    assert text.returncode == 0
    assert text.stdout.endswith("\noverall: KEEP (2 benchmarks)\n")
    alone = kcut("report", str(path), "--json", cwd=tmp_path)  # a file needs no checkout
    assert (alone.returncode, alone.stderr) == (0, "")


def test_report_of_a_stopped_run_is_invalid(repo: Repo, kcut: Kcut) -> None:
    with Store.open(repo.path) as store:
        store.begin(a_run())
        store.record(a_run().run_id, an_attempt())
        store.finish(a_run(state="interrupted"), None)
    assert document(repo, kcut, "report", "--json", code=2)["decision"] == "invalid"


def test_report_reads_the_first_format(tmp_path: Path, kcut: Kcut) -> None:
    cohort = {"k": 2, "successes": 2, "passAt": True, "passCaret": True, "successRate": 1.0}
    old = {"component": "x", "k": 2, "task": "t", "score": None, "with": cohort, "without": cohort}
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old | {"pass": False, "reason": "equal", "ts": "2026-01-01T00:00:00Z"}))
    done = kcut("report", str(path), "--json", cwd=tmp_path)
    assert done.returncode == 3
    assert json.loads(done.stdout)["decision"] == "inconclusive"
    assert kcut("report", str(path), cwd=tmp_path).returncode == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("nix", "there is no run and no component 'nix' in this checkout"),
        ("nix.json", "there is no artifact 'nix.json'"),
        ("some/where", "there is no artifact 'some/where'"),
        ("a.txt", "a.txt"),
        (". --json", "there is no run and no component '.' in this checkout"),
        ("last --json -f markdown", "--json and --format markdown exclude each other"),
        ("20261130", "'20261130' is the beginning of several runs"),
    ],
)
def test_report_of_nothing(recorded: Repo, kcut: Kcut, args: str, message: str) -> None:
    done = kcut("report", *shlex.split(args), cwd=recorded.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kcut: ")
    assert message in done.stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.html", "<!doctype html>"),
        ("r.xml", '<?xml version="1.0"'),
        ("r.csv", "component,run_id,"),
        ("r.md", "### kcut: `tidy-imports`"),
        ("r.json", '{\n  "cells"'),
        ("r.txt", "tidy-imports   run"),
        ("r.HTML -f csv", "component,run_id,"),
        ("r.csv --json", '{\n  "cells"'),
    ],
)
def test_report_into_a_file(recorded: Repo, kcut: Kcut, tmp_path: Path, name: str, begins: str) -> None:
    file, *options = name.split()
    path = tmp_path / file
    path.write_text("old")
    done = kcut("report", KEEP, "-o", str(path), *options, cwd=recorded.path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"saved  {path}\n")
    assert path.read_text().startswith(begins)
    assert path.read_bytes().endswith(b"\n")
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".tmp")] == []
    if options:
        return
    kind = {".html": "html", ".xml": "junit", ".csv": "csv", ".md": "markdown", ".json": "json"}
    other = kcut("report", KEEP, "-f", kind.get(path.suffix, "terminal"), "-o", "-", cwd=recorded.path)
    assert (other.returncode, other.stdout.encode(), other.stderr) == (
        0,
        path.read_bytes().replace(b"\r\n", b"\n"),
        "",
    )


def test_report_through_a_link_and_into_a_pipe(recorded: Repo, kcut: Kcut, tmp_path: Path) -> None:
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_text("old")
    link.symlink_to(real)
    assert kcut("report", KEEP, "-o", str(link), cwd=recorded.path).returncode == 0
    assert link.is_symlink()
    assert real.read_text().startswith("### kcut")
    assert kcut("report", KEEP, "-f", "csv", "-o", "/dev/null", cwd=recorded.path).returncode == 0
    assert not Path("/dev/null").is_file()


def test_report_into_no_file(recorded: Repo, kcut: Kcut, tmp_path: Path) -> None:
    missing = kcut("report", KEEP, "-o", str(tmp_path / "no" / "r.html"), cwd=recorded.path)
    assert missing.returncode == 2
    assert missing.stderr.startswith(f"kcut: there is no folder '{tmp_path / 'no'}'\n")
    folder = kcut("report", KEEP, "-o", str(tmp_path), cwd=recorded.path)
    assert folder.returncode == 2
    full = kcut("report", KEEP, "-o", "/dev/full", cwd=recorded.path)
    assert (full.returncode, full.stdout) == (2, "")
    assert full.stderr.startswith("kcut: cannot write '/dev/full': No space left")


def test_report_of_a_component(recorded: Repo, kcut: Kcut) -> None:
    named = put(recorded.path, "CLAUDE.md", first_format("CLAUDE.md"))
    assert named.name == "claude-md.json"
    recorded.write("CLAUDE.md", "a rule file of that name\n")
    found = kcut("report", "CLAUDE.md", cwd=recorded.path)
    assert (found.returncode, found.stderr) == (3, "")
    assert found.stdout.startswith("CLAUDE.md   2026-03-01")
    assert kcut("report", "claude-md", cwd=recorded.path).stdout == found.stdout
    other = kcut("report", "claude.MD", cwd=recorded.path)
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr == (
        "kcut: there is no run and no component 'claude.MD' in this checkout\n"
        "      did you mean: kcut report CLAUDE.md\n"
    )
    near = kcut("report", "CLAUD.md", cwd=recorded.path)
    assert near.stderr.endswith("      did you mean: kcut report CLAUDE.md\n")


def test_of_a_file_a_run_and_a_component_the_help_says_which(recorded: Repo, kcut: Kcut) -> None:
    put(recorded.path, KEEP, first_format(KEEP))
    put(recorded.path, "20261130", first_format("20261130"))
    put(recorded.path, "x.json", first_format("x.json"))
    assert f"run {KEEP}" in kcut("report", KEEP, cwd=recorded.path).stdout
    assert kcut("report", "20261130", cwd=recorded.path).stdout.startswith("20261130   2026-03-01")
    recorded.write("x.json", "no artifact\n")
    assert "is not an artifact of kcut" in kcut("report", "x.json", cwd=recorded.path).stderr
    told = " ".join(kcut("report", "-h").stdout.split())
    assert "it is the file whose name ends in .json, else the run, else the component, else any other file" in told


def test_report_outside_of_a_checkout(recorded: Repo, kcut: Kcut) -> None:
    outside = kcut("report", "nix", cwd=recorded.path.parent)
    assert outside.stderr == "kcut: there is no artifact 'nix', and no checkout whose run it could be\n"


def test_show_labels_its_columns_and_says_a_note_once(repo: Repo, kcut: Kcut) -> None:
    with Store.open(repo.path) as store:
        store.begin(a_run(k=2))
        for pair in (0, 1):
            for attempt in (1, 2):
                note = ("the task's sidecar says so",)
                store.record(
                    a_run().run_id, an_attempt(pair, "with", "void", reason="auth", attempt=attempt, notes=note)
                )
        store.record(a_run().run_id, an_attempt(0, "without", "fail", notes=("another",)))
        store.finish(a_run(k=2, state="interrupted"), None)
    shown = kcut("show", cwd=repo.path).stdout
    above, below = next(pair for pair in itertools.pairwise(shown.splitlines()) if pair[1].startswith("trial"))
    assert (above.split(), below.split()[3:5]) == (["task", "score"], ["exit", "exit"])
    assert [above.index(name) + len(name) for name in ("task", "score")] == [
        found.end() for found in re.finditer("exit", below)
    ]
    assert shown.count("the task's sidecar says so") == 1
    assert "with #0 and 3 more: the task's sidecar says so\n" in shown
    assert "without #0: another\n" in shown


def test_one_decision_for_several() -> None:
    assert overall(["keep", "cut", "invalid"]) == "invalid"
    assert overall(["keep", "inconclusive", "cut"]) == "cut"
    assert overall(["keep", "keep"]) == "keep"
    assert overall(["keep", "inconclusive"]) == "inconclusive"
    assert overall([]) == "inconclusive"


def test_another_reader_may_hold_the_record(recorded: Repo, kcut: Kcut) -> None:
    reader = sqlite3.connect(recorded.path / ".claude/eval/kcut.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    assert len(document(recorded, kcut, "history", "--json")["runs"]) == 3
    reader.execute("ROLLBACK")
    reader.execute("BEGIN IMMEDIATE")  # a writer in its midst does not stop those who look
    assert len(document(recorded, kcut, "history", "--json")["runs"]) == 3
    reader.close()

"""A record that a trial removes or replaces while the run goes on: said, and the verdict is saved all the same."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kcut.model.errors import NotReady
from kcut.store import Store
from tests.conftest import Kcut, Repo
from tests.records import a_run

ARTIFACT = ".claude/eval/benchmarks/x.json"
WAYS = {
    "the file": ("rm kcut.db", "removed"),
    "with its journal": ("rm kcut.db*", "removed"),
    "with its folder": ("rm -r $PWD", "removed"),
    "moved away": ("mv kcut.db old.db", "removed"),
    "a copy": ("cp kcut.db x; mv x kcut.db", "replaced"),
    "another file": ("rm kcut.db; echo x > kcut.db", "replaced"),
    "a folder": ("rm kcut.db; mkdir kcut.db", "replaced"),
    "a link": ("rm kcut.db; touch x; ln -s x kcut.db", "replaced"),
}


def task(repo: Repo, way: str, more: str = "true") -> str:
    """A task that does something to the record in trials WITH."""
    there = f"cd {repo.path}/.claude/eval && {{ {way}; }} 2>/dev/null"
    return f"test $HARNESS_COMPONENT_ENABLED != 1 || {{ {there}; {more}; }}; true"


@pytest.mark.parametrize("name", WAYS)
def test_a_trial_takes_the_record_away(repo: Repo, kcut: Kcut, name: str) -> None:
    way, became = WAYS[name]
    options = ("--component", "x", "--task", task(repo, way), "--k", "1", "--logs")
    done = kcut("benchmark", *options, cwd=repo.path)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    warnings = {each["code"]: each for each in json.loads((repo.path / ARTIFACT).read_text())["decision"]["warnings"]}
    assert warnings["record-lost"]["evidence"] == {"path": ".claude/eval/kcut.db", "file": became}
    assert "record-lost" in done.stdout
    assert "kcut show last" not in done.stdout


@pytest.mark.parametrize(
    "way", ["rm kcut.db-wal", "rm kcut.db-shm", "test -h kcut.db || { mv kcut.db x; ln -s x kcut.db; }", "true"]
)
def test_a_record_that_is_still_there_is_not_called_lost(repo: Repo, kcut: Kcut, way: str) -> None:
    done = kcut("benchmark", "--component", "x", "--task", task(repo, way), "--k", "2", cwd=repo.path)
    assert done.returncode == 1, done.stderr
    assert "record-lost" not in done.stdout
    shown = json.loads(kcut("show", "last", "--json", cwd=repo.path).stdout)
    assert len(shown["trials"]) == 4


def test_a_stopped_run_does_not_offer_to_go_on(repo: Repo, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    options = ("--component", "x", "--task", task(repo, "rm kcut.db", f"touch {begun}; sleep 60"), "--k", "1")
    with subprocess.Popen(
        [sys.executable, "-m", "kcut", "benchmark", *options], cwd=repo.path, stderr=subprocess.PIPE, text=True
    ) as process:
        while not begun.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "something removed the record" in said
    assert "--resume" not in said


def test_where_nothing_can_be_written_any_more(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        before = store.lost
        assert before is None
        store._database.rows("PRAGMA journal_mode = DELETE")  # as on a file system without shared memory
        store.path.unlink()
        assert store.lost == "removed"
        with pytest.raises(NotReady, match="something removed or replaced the record"):
            store.begin(a_run())

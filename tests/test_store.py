"""The record of a checkout: exact, durable, shared by processes, and never at the cost of somebody's file."""

import dataclasses
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.model.artifact import Artifact, CohortSummary, Decision, Warn
from kcut.model.errors import NotReady, UsageFault
from kcut.model.outcome import Cohort, Outcome, Void
from kcut.model.trial import Tokens, TrialKey, TrialRecord, Usage
from kcut.store import SCHEMA_VERSION, Store, run_dir, state_dir
from kcut.store.database import MIGRATIONS, open_database
from kcut.store.documents import attempt_text, run_text
from tests.conftest import Repo
from tests.records import a_run, an_attempt

RUN = "20261130T151500Z-3f9c2a1b"


def database(root: Path) -> Path:
    return root / ".claude" / "eval" / "kcut.db"


def python(code: str, *args: str, prefix: Sequence[str] = ()) -> "subprocess.Popen[str]":
    """A process that runs `code` with the store at hand."""
    start = "import sys, os\nfrom pathlib import Path\nfrom kcut.store import Store\nfrom tests.records import *\n"
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", start + code, *args],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def without_privilege() -> list[str]:
    """What to put before a command so that file permissions bind it, even if root runs the tests."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("file permissions do not bind root, and there is no setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


# -- what goes in comes out

TEXT = st.text(st.characters(codec=None), max_size=8)
COUNT = st.integers(0, 2**53)
AMOUNT = st.floats(0, 1e9, allow_nan=False)
MAYBE_COUNT = st.none() | COUNT
USAGE = st.builds(
    Usage,
    cost_usd=st.none() | AMOUNT,
    tokens=st.none() | st.builds(Tokens, COUNT, COUNT, COUNT, COUNT),
    turns=MAYBE_COUNT,
    duration_ms=st.none() | AMOUNT,
    is_error=st.none() | st.booleans(),
    model=st.none() | TEXT,
    agent_version=st.none() | TEXT,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "key": st.builds(TrialKey, st.integers(0, 10**6), st.sampled_from(Cohort)),
    "attempt": st.integers(1, 9),
    "position": st.integers(0, 1),
    "seed": st.integers(0, 2**31 - 1),
    "outcome": st.sampled_from(Outcome),
    "reason": st.none() | st.sampled_from(Void),
    "late": st.booleans(),
    "task_exit": st.none() | st.integers(-64, 255),
    "score_exit": st.none() | st.integers(-64, 255),
    "score_broken": st.booleans(),
    "timed_out": st.booleans(),
    "wall_ms": AMOUNT,
    "phases_ms": st.dictionaries(TEXT, AMOUNT, max_size=3),
    "usage": USAGE,
    "agent": st.none() | TEXT,
    "tree": st.none() | TEXT,
    "touched": st.lists(TEXT, max_size=3).map(tuple),
    "failing": st.lists(TEXT, max_size=3).map(tuple),
    "ended": COUNT,
    "retry_after_s": st.none() | AMOUNT,
    "kept": st.none() | TEXT,
    "notes": st.lists(TEXT, max_size=2).map(tuple),
    "started_at": TEXT,
    "reached": st.none() | st.booleans(),
    "used": st.none() | COUNT,
    "tamper": st.none() | COUNT,
    "retries": st.none() | COUNT,
    "rounds": st.integers(0, 3),
    "resolved": st.none() | st.booleans(),
    "rework_cost_usd": st.none() | AMOUNT,
    "repeated": st.lists(TEXT, max_size=2).map(tuple),
}
ATTEMPT = st.builds(TrialRecord, **FIELDS)


def test_every_field_is_tried() -> None:
    assert set(FIELDS) == {field.name for field in dataclasses.fields(TrialRecord)}


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@settings(max_examples=40, deadline=None)
@given(attempt=ATTEMPT, component=TEXT, task=TEXT)
def test_a_record_is_given_back_exactly(shared: Path, attempt: TrialRecord, component: str, task: str) -> None:
    with Store.open(shared) as store:
        run = a_run(f"run-{len(store.history()):05}", component=component, task=task, retry_wait=(0.1, 1 / 3))
        store.begin(run)
        store.record(run.run_id, attempt)
    with Store.open(shared, create=False) as store:
        assert store.find(run.run_id) == run
        assert store.attempts(run.run_id) == (attempt,)


def test_attempts_come_by_pair_in_their_order(tmp_path: Path) -> None:
    made = [
        an_attempt(1, "without", position=0),
        an_attempt(1, "with", position=1),
        an_attempt(0, "without", "void", reason="overloaded"),
        an_attempt(0, "with"),
        an_attempt(0, "without", "fail", attempt=2, failing=("AC-2", "AC-1")),
    ]
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        for attempt in made:
            store.record(RUN, attempt)
        assert store.attempts(RUN) == (made[3], made[2], made[4], made[0], made[1])
    with sqlite3.connect(database(tmp_path)) as plain:
        assert plain.execute("SELECT criterion FROM failing").fetchall() == [("AC-1",), ("AC-2",)]
        assert plain.execute("SELECT count(*) FROM trials").fetchone() == (4,)
    plain.close()


def test_an_attempt_is_recorded_once(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        store.record(RUN, an_attempt())
        with pytest.raises(NotReady, match=r"attempt 1 of with #0 of run .* is recorded already"):
            store.record(RUN, an_attempt(outcome="fail"))
        with pytest.raises(NotReady, match="there is a run"):
            store.begin(a_run())
        with pytest.raises(UsageFault, match="there is no run 'other'"):
            store.record("other", an_attempt())
        assert store.attempts(RUN) == (an_attempt(),)


def test_events_are_kept_in_order(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        store.event(RUN, "checkout-changed", {"paths": ["a\udcff.txt"], "trial": None})
        store.event(RUN, "budget", {"spent": 0.1})
        first, second = store.events(RUN)
    assert (first.kind, first.detail) == ("checkout-changed", {"paths": ["a\udcff.txt"], "trial": None})
    assert second.detail == {"spent": 0.1}
    assert first.ts <= second.ts


# -- runs: found, listed, claimed


def test_a_run_is_found_by_id_prefix_and_last(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        with pytest.raises(UsageFault, match="no run in this checkout yet"):
            store.find("last")
        for run_id in ("2026-aa", "2026-ab", "2026-a", "2027-%"):
            store.begin(a_run(run_id))
        assert store.find("last").run_id == "2027-%"
        assert store.find("2026-aa").run_id == "2026-aa"
        assert store.find("2026-a").run_id == "2026-a", "an id that is the beginning of others is itself"
        assert store.find("2027").run_id == "2027-%"
        with pytest.raises(UsageFault, match="beginning of several runs") as fault:
            store.find("2026")
        assert fault.value.remedy == "2026-a, 2026-ab, 2026-aa"
        for nothing in ("", "%", "2026-_a", "2028", "\udcff"):
            with pytest.raises(UsageFault, match="there is no run"):
                store.find(nothing)


def summary(successes: int) -> CohortSummary:
    return CohortSummary(
        k=2, successes=successes, pass_at=True, pass_caret=successes == 2, success_rate=successes / 2
    )


def test_the_history_says_how_each_run_ended(tmp_path: Path) -> None:
    verdict = Artifact.model_validate(
        {
            "component": "tidy-imports",
            "k": 2,
            "task": "./run.sh",
            "with": summary(2),
            "without": summary(1),
            "pass": True,
            "reason": "rose",
            "decision": Decision(verdict="inconclusive"),
            "ts": "2026-11-30T15:15:00.000Z",
        }
    )
    with Store.open(tmp_path) as store:
        for name in ("kept", "bad", "stopped", "going"):
            store.begin(a_run(name))
        warned = (Warn(code="dirty", evidence={"paths": 2}, advice="commit"),)
        store.finish(a_run("kept", state="finished", warnings=warned, ended="2026-11-30T15:20:00.000Z"), verdict)
        store.finish(a_run("bad", state="invalid", note="no trial is valid"), None)
        store.finish(a_run("stopped", state="interrupted"), None)
        rows = {row.run_id: (row.decision, row.pass_, row.state) for row in store.history()}
        assert list(rows) == ["going", "stopped", "bad", "kept"]
        assert rows == {
            "going": (None, None, "running"),
            "stopped": (None, None, "interrupted"),
            "bad": ("invalid", False, "invalid"),
            "kept": ("inconclusive", True, "finished"),
        }
        assert store.find("kept").warnings == warned
        assert store.find("bad").note == "no trial is valid"


def test_one_living_process_has_a_run(tmp_path: Path) -> None:
    other = python(
        "with Store.open(Path(sys.argv[1])) as store:\n"
        "    store.begin(a_run())\n    print('begun', flush=True)\n    import time; time.sleep(600)",
        str(tmp_path),
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        with Store.open(tmp_path) as store:
            assert store.find("last").state == "running"
            with pytest.raises(NotReady, match=f"is going on in process {other.pid}"):
                store.claim(RUN)
            store.release(RUN)  # another process's claim stays
            with pytest.raises(NotReady):
                store.claim(RUN)
            other.kill()
            other.communicate()
            assert store.find("last").state == "interrupted"
            assert [row.state for row in store.history()] == ["interrupted"]
            store.claim(RUN)
            store.claim(RUN)
            assert store.find("last").state == "running"
            store.release(RUN)
            assert store.find("last").state == "interrupted"
    finally:
        other.kill()
        other.communicate()


def test_a_process_number_used_again_is_not_the_owner(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        with sqlite3.connect(database(tmp_path)) as plain:
            plain.execute("UPDATE runs SET owner_identity = 'another boot'")
        plain.close()
        assert store.find(RUN).state == "interrupted"
        store.claim(RUN)
        assert store.find(RUN).state == "running"


# -- processes: at once, killed, locked out


def test_processes_record_at_once(tmp_path: Path) -> None:
    code = (
        "with Store.open(Path(sys.argv[1])) as store:\n"
        "    store.begin(a_run(sys.argv[2]))\n"
        "    for pair in range(10):\n"
        "        store.record(sys.argv[2], an_attempt(pair))\n"
        "    store.finish(a_run(sys.argv[2], state='interrupted'), None)\n"
    )
    processes = [python(code, str(tmp_path), f"run-{n}") for n in range(5)]
    results = [ended(process) for process in processes]
    assert results == [(0, "", "")] * 5
    with Store.open(tmp_path, create=False) as store:
        assert sorted(row.run_id for row in store.history()) == [f"run-{n}" for n in range(5)]
        for row in store.history():
            assert [attempt.key.pair for attempt in store.attempts(row.run_id)] == list(range(10))


@pytest.mark.parametrize("after", [1, 4])
def test_what_was_recorded_survives_a_kill(tmp_path: Path, after: int) -> None:
    writer = python(
        "store = Store.open(Path(sys.argv[1]))\nstore.begin(a_run())\n"
        "for pair in range(10**6):\n    store.record(a_run().run_id, an_attempt(pair))\n    print(pair, flush=True)",
        str(tmp_path),
    )
    assert writer.stdout is not None
    told = [int(writer.stdout.readline()) for _ in range(after)]
    writer.kill()
    told += [int(line) for line in writer.stdout.read().split()]
    writer.communicate()
    assert writer.returncode == -signal.SIGKILL
    with Store.open(tmp_path) as store:
        kept = [attempt.key.pair for attempt in store.attempts(RUN)]
        assert kept[: len(told)] == told
        assert len(kept) <= len(told) + 1, "at most the one whose line was not printed yet"
        assert store.history()[0].state == "interrupted"


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        other = sqlite3.connect(database(tmp_path), isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        with (
            Store.open(tmp_path, wait=0.05) as hasty,
            pytest.raises(NotReady, match="another process holds") as fault,
        ):
            hasty.record(RUN, an_attempt())
        assert "\n" not in fault.value.message

        def let_go() -> None:
            time.sleep(0.3)
            other.execute("ROLLBACK")

        thread = threading.Thread(target=let_go)
        thread.start()
        store.record(RUN, an_attempt())
        thread.join()
        other.close()
        assert store.attempts(RUN) == (an_attempt(),)


def test_a_failed_write_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    code = (
        "import resource\nfrom kcut.model.errors import NotReady\n"
        "store = Store.open(Path(sys.argv[1]))\nstore.begin(a_run())\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    for pair in range(10**6):\n"
        "        store.record(a_run().run_id, an_attempt(pair))\n"
        "        print(pair)\n"
        "except NotReady as fault:\n"
        "    print(fault.message, file=sys.stderr)\n"
    )
    status, out, err = ended(python(code, str(tmp_path)))
    assert status == 0, err
    assert len(err.splitlines()) == 1
    assert str(database(tmp_path)) in err
    with Store.open(tmp_path) as store:
        assert [attempt.key.pair for attempt in store.attempts(RUN)] == [int(line) for line in out.split()]


# -- where it lies


def test_git_sees_the_artifact_and_nothing_else(repo: Repo) -> None:
    with Store.open(repo.path) as store:
        store.begin(a_run())
        logs = run_dir(repo.path, RUN)
        (logs / "task.log").write_text("x")
        repo.write(".claude/eval/benchmarks/tidy-imports.json", "{}\n")
        repo.write(".claude/eval/benchmarks/.tidy-imports.json.x.tmp", "{}\n")
        assert len(list(database(repo.path).parent.glob("kcut.db*"))) > 1, "the journal is there"
        seen = repo.git("status", "--porcelain", "--untracked-files=all")
    assert seen == "?? .claude/eval/benchmarks/tidy-imports.json"
    assert logs.stat().st_mode & 0o777 == 0o700


def test_a_gitignore_of_the_users_stays(repo: Repo) -> None:
    mine = repo.write(".claude/eval/.gitignore", "*.log\n")
    state_dir(repo.path)
    assert mine.read_text() == "*.log\n"


@pytest.mark.parametrize("part", [".claude", ".claude/eval"])
def test_a_link_out_of_the_checkout_is_refused(repo: Repo, tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = repo.path / part
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside)
    for create in (True, False):
        with pytest.raises(NotReady, match="leads out of the checkout"):
            Store.open(repo.path, create=create)
    assert list(outside.iterdir()) == []


def test_odd_places_are_refused(repo: Repo, tmp_path: Path) -> None:
    place = repo.path / ".claude"
    place.write_text("a file")
    with pytest.raises(NotReady, match=r"\.claude is not a folder"):
        Store.open(repo.path)
    place.unlink()
    place.symlink_to("nowhere")
    with pytest.raises(NotReady, match="is a link that leads nowhere"):
        Store.open(repo.path)
    place.unlink()
    place.symlink_to(".git")
    with pytest.raises(NotReady, match="leads out of the checkout"):
        Store.open(repo.path)
    place.unlink()
    (tmp_path / "foreign.db").touch()
    state_dir(repo.path)
    database(repo.path).symlink_to(tmp_path / "foreign.db")
    with pytest.raises(NotReady, match="leads out of the checkout"):
        Store.open(repo.path)
    assert (tmp_path / "foreign.db").read_bytes() == b""
    (repo.path / ".claude/eval/runs").symlink_to(tmp_path)
    with pytest.raises(NotReady, match="leads out of the checkout"):
        run_dir(repo.path, RUN)


@pytest.mark.parametrize("part", ["runs", f"runs/{RUN}"])
def test_a_runs_folder_that_cannot_be_one(repo: Repo, tmp_path: Path, part: str) -> None:
    place = state_dir(repo.path) / part
    place.parent.mkdir(exist_ok=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    ways: dict[str, Callable[[], object]] = {
        "is a link that leads out of the checkout": lambda: place.symlink_to(outside),
        "is a link that leads nowhere": lambda: place.symlink_to(outside / "missing"),
        "is not a folder": place.touch,
    }
    for why, put in ways.items():
        put()
        with pytest.raises(NotReady, match=rf"^\.claude/eval/{part} {why}") as caught:
            run_dir(repo.path, RUN)
        assert caught.value.remedy
        place.unlink()
        assert list(outside.iterdir()) == []
    place.symlink_to(repo.path / ".git")
    with pytest.raises(NotReady, match="leads out of the checkout"):
        run_dir(repo.path, RUN)


@pytest.mark.parametrize("part", ["runs", f"runs/{RUN}"])
def test_a_runs_folder_that_is_not_writable(repo: Repo, part: str) -> None:
    place = run_dir(repo.path, RUN).parents[1] / part
    if part == "runs":
        (place / RUN).rmdir()
    place.chmod(0o500)
    if os.access(place, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(NotReady, match=r"cannot write in .*Permission denied"):
        run_dir(repo.path, RUN)
    place.chmod(0o700)


def test_a_link_inside_the_checkout_is_followed(repo: Repo) -> None:
    (repo.path / "dot").mkdir()
    (repo.path / ".claude").symlink_to("dot")
    with Store.open(repo.path) as store:
        store.begin(a_run())
    assert (repo.path / "dot/eval/kcut.db").is_file()


def test_odd_paths_are_fine(tmp_path: Path) -> None:
    for name in ("a?b#c%20&mode=ro", "ünï cödé", os.fsdecode(b"byte-\xff"), "new\nline"):
        root = tmp_path / name
        root.mkdir()
        with Store.open(root) as store:
            store.begin(a_run())
        assert database(root).is_file()
    assert len(list(tmp_path.iterdir())) == 4


def test_reading_makes_nothing(repo: Repo) -> None:
    with Store.open(repo.path, create=False) as store:
        assert store.history() == ()
        with pytest.raises(UsageFault):
            store.find("last")
    assert not (repo.path / ".claude").exists()


READER = (
    "from kcut.model.errors import NotReady\n"
    "with Store.open(Path(sys.argv[1]), create=False) as store:\n"
    "    print(len(store.attempts('last' and store.find('last').run_id)))\n"
    "try:\n    Store.open(Path(sys.argv[1]))\n"
    "except NotReady as fault:\n    print(fault.message)\n"
)


@pytest.mark.parametrize("killed", [False, True])
def test_a_read_only_checkout_can_be_read(tmp_path: Path, killed: bool) -> None:
    writer = python(
        "store = Store.open(Path(sys.argv[1]))\nstore.begin(a_run())\nstore.record(a_run().run_id, an_attempt())\n"
        "os._exit(0) if sys.argv[2] == 'True' else store.close()",
        str(tmp_path),
        str(killed),
    )
    assert ended(writer)[0] == 0
    folder = database(tmp_path).parent
    assert (folder / "kcut.db-wal").exists() is killed, "what a dead process wrote last lies in the journal"
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    before = sorted(path.name for path in folder.iterdir())
    status, out, err = ended(python(READER, str(tmp_path), prefix=without_privilege()))
    folder.chmod(0o755)
    assert status == 0, err
    assert out.splitlines() == ["1", f"cannot write in {folder}: Permission denied"]
    assert sorted(path.name for path in folder.iterdir()) == before


# -- files of others, other schemas, other file systems


def test_a_file_that_is_no_record_of_kcut_is_left_alone(tmp_path: Path) -> None:
    path = database(tmp_path)
    state_dir(tmp_path)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as plain:
        plain.execute("CREATE TABLE notes (text)")
    plain.close()
    for data in (foreign.read_bytes(), b"hello\n" * 1000, b"SQLite format 3\0" + b"\xff" * 5000):
        path.write_bytes(data)
        for create in (True, False):
            with pytest.raises(NotReady, match="is not a sound record of kcut") as fault:
                Store.open(tmp_path, create=create)
            assert "\n" not in fault.value.message
        assert path.read_bytes() == data
        assert not path.with_name("kcut.db-wal").exists()
    path.unlink()
    path.mkdir()
    with pytest.raises(NotReady, match="it is not a file"):
        Store.open(tmp_path)
    path.rmdir()
    path.touch()  # what a kill right after its making leaves
    with Store.open(tmp_path) as store:
        assert store.history() == ()


def test_damage_inside_the_file_is_one_sentence(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        for number in range(20):
            store.begin(a_run(f"run-{number}"))
            store.record(f"run-{number}", an_attempt(notes=("x" * 3000,)))
    path = database(tmp_path)
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)
    with Store.open(tmp_path) as store, pytest.raises(NotReady, match="is not a sound record"):
        list(map(store.attempts, [f"run-{number}" for number in range(20)]))
    assert path.read_bytes() == data


def test_a_document_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        store.record(RUN, an_attempt())
        store.event(RUN, "x", {})
        with sqlite3.connect(database(tmp_path)) as plain:
            for table in ("runs", "attempts"):
                plain.execute(f"UPDATE {table} SET document = '{{}}'")  # noqa: S608
            plain.execute("UPDATE events SET detail = '{'")
        plain.close()
        for read in (store.find, store.attempts, store.events):
            with pytest.raises(NotReady, match="cannot be read"):
                read(RUN)


def test_a_newer_schema_is_refused_and_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
    newer = (*MIGRATIONS, ("ALTER TABLE runs ADD COLUMN tag TEXT", "CREATE TABLE tags (name TEXT)"))
    migrated = open_database(database(tmp_path), migrations=newer)
    assert migrated.rows("SELECT run_id, tag FROM runs")[0]["run_id"] == RUN, "what was there stays"
    assert migrated.rows("PRAGMA user_version")[0][0] == SCHEMA_VERSION + 1
    migrated.close()
    before = database(tmp_path).read_bytes()
    for create in (True, False):
        with pytest.raises(NotReady, match=r"written by a newer kcut \(schema 3; this one knows 2\)"):
            Store.open(tmp_path, create=create)
    assert database(tmp_path).read_bytes() == before


def test_a_record_of_the_first_schema_goes_on(tmp_path: Path) -> None:
    database(tmp_path).parent.mkdir(parents=True)
    first = open_database(database(tmp_path), migrations=MIGRATIONS[:1])
    with first.transaction() as sql:
        document = run_text(a_run())
        sql.execute(
            "INSERT INTO runs (run_id, ts, component, k, state, document) VALUES (?, '', 'x', 2, 'interrupted', ?)",
            (RUN, document),
        )
        for cohort in ("with", "without"):
            text = attempt_text(an_attempt(0, cohort, "fail", failing=("AC-1",)))
            values = "1, 0, ?, 1, 0, 'fail', NULL, 1.5, NULL, ?"
            sql.execute(f"INSERT INTO attempts VALUES ({values})", (cohort, text))  # noqa: S608
            sql.execute("INSERT INTO failing VALUES (1, 0, ?, 1, 'AC-1')", (cohort,))
        with pytest.raises(sqlite3.IntegrityError):
            sql.execute(f"INSERT INTO attempts VALUES ({values})", ("placebo", "{}"))  # noqa: S608
    first.close()
    with Store.open(tmp_path) as store:
        store.claim(RUN)
        assert [attempt.failing for attempt in store.attempts(RUN)] == [("AC-1",)] * 2
        store.record(RUN, an_attempt(0, "placebo", "fail", failing=("AC-1",)))
        assert {attempt.key.cohort for attempt in store.attempts(RUN)} == set(Cohort)
    now = open_database(database(tmp_path))
    assert [row[0] for row in now.rows("SELECT cohort FROM failing ORDER BY cohort")] == [
        "placebo",
        "with",
        "without",
    ]
    assert len(now.rows("SELECT * FROM trials")) == 3
    assert now.rows("PRAGMA foreign_key_check") == []
    now.close()


def test_a_failed_migration_changes_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.begin(a_run())
    with pytest.raises(NotReady):
        open_database(database(tmp_path), migrations=(*MIGRATIONS, ("CREATE TABLE tags (name TEXT)", "nonsense")))
    with Store.open(tmp_path) as store:
        assert [row.run_id for row in store.history()] == [RUN]


def test_without_shared_memory_a_rollback_journal_serves(tmp_path: Path) -> None:
    path = tmp_path / "kcut.db"
    fresh = open_database(path, vfs="unix-dotfile")  # a locking scheme that has no shared memory
    assert fresh.rows("PRAGMA journal_mode")[0][0] == "delete"
    with fresh.transaction() as sql:
        sql.execute("INSERT INTO runs (run_id, ts, component, k, state, document) VALUES ('a', '', '', 1, '', '')")
    again = open_database(path, vfs="unix-dotfile")
    assert again.rows("SELECT run_id FROM runs")[0][0] == "a"
    again.close()
    fresh.close()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["kcut.db"]


@pytest.mark.parametrize("vfs", ["unix-dotfile", None])
def test_a_record_from_elsewhere_is_turned_back(tmp_path: Path, vfs: str | None) -> None:
    path = database(tmp_path)
    with Store.open(tmp_path) as store:
        store.begin(a_run())
        # as a crash leaves it, brought to a place where the shared memory file cannot be made
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", tmp_path / f"moved.db{suffix}")
    moved = tmp_path / "moved.db"
    if vfs is None:
        (tmp_path / "moved.db-shm").symlink_to("nowhere/shm")
    opened = open_database(moved, vfs=vfs)
    assert opened.rows("PRAGMA journal_mode")[0][0] == "delete"
    assert opened.rows("SELECT run_id FROM runs")[0][0] == RUN
    second = open_database(moved, vfs=vfs)
    with second.transaction() as sql:
        sql.execute("UPDATE runs SET state = 'x'")
    assert opened.rows("SELECT state FROM runs")[0][0] == "x"
    second.close()
    opened.close()

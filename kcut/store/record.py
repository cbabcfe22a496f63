"""The store: what a run leaves behind, durable the moment it is known."""

import json
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from kcut.model.errors import NotReady, UsageFault
from kcut.model.trial import TrialRecord
from kcut.store.database import Database, damaged, open_database, read_database
from kcut.store.documents import attempt_of, attempt_text, run_of, run_text, visible
from kcut.store.place import DATABASE, state_dir, state_path
from kcut.system.clock import Clock, SystemClock, timestamp
from kcut.system.proc import is_alive, process_identity

if TYPE_CHECKING:  # what is read and written as documents loads pydantic, which the history does without
    from kcut.model.artifact import Artifact
    from kcut.model.run import RunRecord

LAST = "last"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the history. `decision` and `pass_` are None while the run has no verdict.

    `state` is a RunState; a run whose process died before it could say how it ended is `interrupted`. `aa` is how
    many benchmarks of the component against itself the run holds, 0 for a benchmark of the component.
    """

    run_id: str
    ts: str
    component: str
    k: int
    decision: str | None
    pass_: bool | None
    state: str
    aa: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run: when (ISO 8601, UTC), what kind, and its details."""

    ts: str
    kind: str
    detail: dict[str, Any]


class Store:
    """The record of one checkout. A context manager; used from one thread.

    Every method raises NotReady, with one sentence, if the file cannot be read or written.
    """

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database = database
        self._clock = clock or SystemClock()

    @classmethod
    def open(cls, root: Path, *, create: bool = True, wait: float = 60.0) -> Self:
        """The record of the checkout at `root`. `wait` seconds are spent on another process's lock.

        With `create` the state folder and the database are made if missing. Without it nothing is made: a
        checkout without a record has an empty one, and a read-only checkout can be read.
        Raises NotReady if the record is damaged, of a newer kcut, or leads out of the checkout.
        """
        path = (state_dir(root) if create else state_path(root)) / DATABASE
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise NotReady(
                f"{path} is a link that leads out of the checkout, and kcut writes nothing there",
                remedy="remove the link, then run again",
            )
        return cls(open_database(path, wait=wait) if create else read_database(path, wait=wait))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._database.path

    @property
    def lost(self) -> Literal["removed", "replaced"] | None:
        """What became of the file since it was opened; None if all that was recorded is still where it belongs."""
        return self._database.lost

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._database.close()

    def begin(self, run: "RunRecord") -> None:
        """Record a new run and claim it for this process. Raises NotReady if there is a run of that id."""
        plan = run.plan
        values = (run.run_id, run.ts, visible(plan.component), plan.k, run.state, run_text(run), *_self())
        try:
            with self._database.transaction() as sql:
                sql.execute(
                    "INSERT INTO runs (run_id, ts, component, k, state, document, owner_pid, owner_identity)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                )
        except sqlite3.IntegrityError as error:
            raise NotReady(f"there is a run {run.run_id} already", remedy="run again") from error

    def record(self, run_id: str, trial: TrialRecord) -> None:
        """Record an attempt; it is on the disk when this returns.

        Raises NotReady if that attempt of that trial is recorded already, UsageFault if there is no such run.
        """
        key = (self._number(run_id), trial.key.pair, trial.key.cohort.value, trial.attempt)
        reason = trial.reason.value if trial.reason else None
        rest = (trial.position, trial.outcome.value, reason, trial.wall_ms, trial.usage.cost_usd, attempt_text(trial))
        try:
            with self._database.transaction() as sql:
                sql.execute(
                    "INSERT INTO attempts (run, pair, cohort, attempt, position, outcome, reason, wall_ms, cost_usd,"
                    " document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*key, *rest),
                )
                sql.executemany(
                    "INSERT INTO failing VALUES (?, ?, ?, ?, ?)",
                    [(*key, visible(criterion)) for criterion in dict.fromkeys(trial.failing)],
                )
        except sqlite3.IntegrityError as error:
            raise NotReady(f"attempt {trial.attempt} of {trial.key} of run {run_id} is recorded already") from error

    def event(self, run_id: str, kind: str, detail: Mapping[str, Any]) -> None:
        """Record that something happened in a run. `detail` is plain JSON data."""
        number = self._number(run_id)
        values = (number, timestamp(self._clock.now()), kind, json.dumps(dict(detail), allow_nan=False))
        with self._database.transaction() as sql:
            sql.execute("INSERT INTO events (run, ts, kind, detail) VALUES (?, ?, ?, ?)", values)

    def finish(self, run: "RunRecord", artifact: "Artifact | None") -> None:
        """Record how a run ended, and give it free. Without an artifact only an invalid run has a decision.

        A run that could stop as soon as it was clear then counts the pairs that it took.
        """
        decision, passed = ("invalid", False) if run.state == "invalid" else (None, None)
        k = run.plan.k
        if artifact is not None:
            k = artifact.k if run.state == "finished" else k
            decision = artifact.decision.verdict if artifact.decision else decision
            passed = artifact.pass_
        number = self._number(run.run_id)
        with self._database.transaction() as sql:
            sql.execute(
                "UPDATE runs SET state = ?, k = ?, decision = ?, pass = ?, document = ?, owner_pid = NULL,"
                " owner_identity = NULL WHERE seq = ?",
                (run.state, k, decision, passed, run_text(run), number),
            )

    def find(self, ref: str) -> "RunRecord":
        """The run of an id, of an id's unique beginning, or the `last` one.

        Its `state` is what holds now: `running` only while its process lives. Raises UsageFault if no run or
        several fit, naming them.
        """
        query = "SELECT document, state, owner_pid, owner_identity FROM runs "
        if ref == LAST:
            rows = self._database.rows(query + "ORDER BY seq DESC LIMIT 1")
            if not rows:
                raise UsageFault("there is no run in this checkout yet", remedy="start one: kcut benchmark -h")
        else:
            rows = self._database.rows(query + "WHERE run_id = ?", self._full_id(ref))
        run = run_of(rows[0]["document"], self._database.path)
        return run.model_copy(update={"state": _state(rows[0])})

    def attempts(self, run_id: str) -> tuple[TrialRecord, ...]:
        """Every recorded attempt of a run: by pair, in the order of the pair, by attempt."""
        rows = self._database.rows(
            "SELECT document FROM attempts WHERE run = ? ORDER BY pair, position, cohort, attempt",
            self._number(run_id),
        )
        return tuple(attempt_of(row["document"], self._database.path) for row in rows)

    def events(self, run_id: str) -> tuple[Event, ...]:
        """What happened in a run, in order."""
        rows = self._database.rows(
            "SELECT ts, kind, detail FROM events WHERE run = ? ORDER BY id", self._number(run_id)
        )
        try:
            return tuple(Event(row["ts"], row["kind"], json.loads(row["detail"])) for row in rows)
        except ValueError as error:
            raise damaged(self._database.path, f"an event of run {run_id} cannot be read") from error

    def history(self) -> tuple[RunRow, ...]:
        """All runs, the newest first."""
        rows = self._database.rows(
            "SELECT run_id, ts, component, k, decision, pass, state, owner_pid, owner_identity,"
            " CASE WHEN json_valid(document) THEN json_extract(document, '$.plan.aa') END AS aa"
            " FROM runs ORDER BY seq DESC"
        )
        return tuple(
            RunRow(
                run_id=row["run_id"],
                ts=row["ts"],
                component=row["component"],
                k=row["k"],
                decision=row["decision"],
                pass_=None if row["pass"] is None else bool(row["pass"]),
                state=_state(row),
                aa=row["aa"] or 0,
            )
            for row in rows
        )

    def claim(self, run_id: str) -> None:
        """Make this process the one that runs `run_id`; a claim of a dead process is taken over.

        Raises NotReady if another living process has it. A second claim by the same process does nothing.
        """
        number = self._number(run_id)
        with self._database.transaction() as sql:
            row = sql.execute("SELECT owner_pid, owner_identity FROM runs WHERE seq = ?", (number,)).fetchone()
            mine = _self()
            if _owned(row) and (row["owner_pid"], row["owner_identity"]) != mine:
                raise NotReady(
                    f"run {run_id} is going on in process {row['owner_pid']}",
                    remedy="wait until it is done, or stop that process first",
                )
            sql.execute("UPDATE runs SET owner_pid = ?, owner_identity = ? WHERE seq = ?", (*mine, number))

    def release(self, run_id: str) -> None:
        """Give up this process's claim, if it has one."""
        number = self._number(run_id)
        with self._database.transaction() as sql:
            sql.execute(
                "UPDATE runs SET owner_pid = NULL, owner_identity = NULL"
                " WHERE seq = ? AND owner_pid = ? AND owner_identity = ?",
                (number, *_self()),
            )

    def _number(self, run_id: str) -> int:
        rows = self._database.rows("SELECT seq FROM runs WHERE run_id = ?", visible(run_id))
        if not rows:
            raise _unknown(run_id)
        return cast("int", rows[0]["seq"])

    def _full_id(self, ref: str) -> str:
        """The id that `ref` is, or is the only beginning of."""
        text = visible(ref)
        rows = self._database.rows(
            "SELECT run_id FROM runs WHERE substr(run_id, 1, length(?)) = ? ORDER BY seq DESC", text, text
        )
        ids = [cast("str", row["run_id"]) for row in rows]
        if text in ids:
            return text
        if not text or not ids:
            raise _unknown(ref)
        if len(ids) > 1:
            more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
            raise UsageFault(f"{ref!r} is the beginning of several runs", remedy=", ".join(ids[:5]) + more)
        return ids[0]


def _unknown(ref: str) -> UsageFault:
    return UsageFault(f"there is no run {ref!r} in this checkout", remedy="list the runs: kcut history")


def _self() -> tuple[int, str]:
    """This process: its number, and what tells it from a later process of the same number."""
    pid = os.getpid()
    return pid, process_identity(pid) or ""


def _owned(row: sqlite3.Row) -> bool:
    """True if the process that claimed a run is still alive."""
    return row["owner_pid"] is not None and is_alive(row["owner_pid"], row["owner_identity"])


def _state(row: sqlite3.Row) -> str:
    """The state of a run as it is now, whatever its process could still write down."""
    if _owned(row):
        return "running"
    return "interrupted" if row["state"] == "running" else cast("str", row["state"])

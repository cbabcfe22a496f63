"""The SQLite file: opening it, its schema, and what its errors mean to a user."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from kcut.model.errors import NotReady

#: `kcut` in ASCII: tells this file from any other SQLite database.
APPLICATION_ID = 0x6B637574

Migration = tuple[str, ...]
#: Step n takes a database from schema n to n + 1. Steps are only ever added.
MIGRATIONS: tuple[Migration, ...] = (
    (
        """CREATE TABLE runs (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            ts TEXT NOT NULL,
            component TEXT NOT NULL,
            k INTEGER NOT NULL,
            state TEXT NOT NULL,
            decision TEXT,
            pass INTEGER,
            document TEXT NOT NULL,
            owner_pid INTEGER,
            owner_identity TEXT
        )""",
        """CREATE TABLE attempts (
            run INTEGER NOT NULL REFERENCES runs (seq),
            pair INTEGER NOT NULL,
            cohort TEXT NOT NULL CHECK (cohort IN ('with', 'without')),
            attempt INTEGER NOT NULL,
            position INTEGER NOT NULL,
            outcome TEXT NOT NULL CHECK (outcome IN ('pass', 'fail', 'void')),
            reason TEXT,
            wall_ms REAL NOT NULL,
            cost_usd REAL,
            document TEXT NOT NULL,
            PRIMARY KEY (run, pair, cohort, attempt)
        ) WITHOUT ROWID""",
        """CREATE TABLE failing (
            run INTEGER NOT NULL,
            pair INTEGER NOT NULL,
            cohort TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            criterion TEXT NOT NULL,
            PRIMARY KEY (run, pair, cohort, attempt, criterion),
            FOREIGN KEY (run, pair, cohort, attempt) REFERENCES attempts (run, pair, cohort, attempt)
        ) WITHOUT ROWID""",
        """CREATE VIEW trials AS
            SELECT * FROM attempts AS a WHERE attempt = (
                SELECT max(attempt) FROM attempts AS b
                WHERE b.run = a.run AND b.pair = a.pair AND b.cohort = a.cohort
            )""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (seq),
            ts TEXT NOT NULL,
            kind TEXT NOT NULL,
            detail TEXT NOT NULL
        )""",
        "CREATE INDEX events_run ON events (run)",
    ),
)
SCHEMA_VERSION = len(MIGRATIONS)

_CONTENDED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _primary(error: sqlite3.Error) -> int:
    """SQLite's primary result code; the codes of `sqlite_errorcode` carry details above the low byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explain(error: sqlite3.Error, path: Path) -> NotReady:
    """What a user can do about an error of the database at `path`. The file is never touched for it."""
    code = _primary(error)
    if code in _CONTENDED:
        return NotReady(
            f"another process holds the record {path} locked",
            remedy="wait until it is done, then run again; finished trials stay recorded",
        )
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _disk_is_full(path)):
        return NotReady(
            f"the disk is full: nothing more can be recorded in {path}",
            remedy="free some space; finished trials stay recorded, and `kcut benchmark --resume last` goes on",
        )
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_DBMOVED:
        return NotReady(
            f"something removed or replaced the record {path} while it was in use",
            remedy="what was written to it is lost: keep what runs in trials away from it, then run again",
        )
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return damaged(path, str(error))
    if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return NotReady(
            f"cannot use the record {path}: {error}", remedy="make the file and its folder readable and writable"
        )
    return NotReady(f"the record {path} failed: {error}", remedy="see: kcut doctor")


def damaged(path: Path, why: str) -> NotReady:
    """The fault of a file that is no sound database of kcut."""
    return NotReady(
        f"{path} is not a sound record of kcut: {why}", remedy="move the file away; the next run starts a new one"
    )


def _file(path: Path) -> tuple[int, int] | None:
    """Which file lies at a path, links followed; None if there is none."""
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _disk_is_full(path: Path) -> bool:
    try:
        space = os.statvfs(path.parent)
    except OSError:
        return False
    return space.f_bavail * space.f_frsize < 1 << 20


class Database:
    """A connection whose transactions are durable when they end. Use it from one thread, close it after use."""

    def __init__(self, path: Path, connection: sqlite3.Connection, copy: Path | None = None) -> None:
        self.path = path
        self._connection = connection
        self._copy = copy
        self._known = None if copy is not None else _file(path)

    @property
    def lost(self) -> Literal["removed", "replaced"] | None:
        """What became of the file since it was opened: what is written goes with it. None if it is in its place."""
        now = _file(self.path)
        if self._known is None or now == self._known:
            return None
        return "removed" if now is None else "replaced"

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._connection.close()
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """All rows of a query. Raises NotReady if the file cannot be read."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction, on disk when the block ends, undone if it raises.

        Raises NotReady if it cannot be made durable; an IntegrityError is the caller's to explain.
        """
        try:
            with _immediate(self._connection):
                yield self._connection
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise explain(error, self.path) from error


@contextlib.contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at once: one that read first could not wait for it later."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk may have ended the transaction already
            connection.execute("ROLLBACK")
        raise


def open_database(
    path: Path, *, wait: float = 60.0, vfs: str | None = None, migrations: Sequence[Migration] = MIGRATIONS
) -> Database:
    """The database at `path`, made if missing, brought to the newest schema. `wait` seconds are spent on locks.

    Where write-ahead logging cannot work (no shared memory on the file system) a rollback journal does.
    Raises NotReady if the file is foreign, damaged, of a newer kcut or cannot be used; it is left as it is then.
    """
    if path.exists() and not path.is_file():
        raise damaged(path, "it is not a file")
    try:
        connection = _connect(path, wait, vfs, len(migrations))
        try:
            _migrate(connection, path, migrations)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return Database(path, connection)


def read_database(path: Path, *, wait: float = 60.0) -> Database:
    """The database at `path` for reading: an empty one in memory if there is none; a copy if it is read-only.

    SQLite can read a database in write-ahead mode only where it can write next to it. Raises as open_database.
    """
    if not os.path.lexists(path):
        connection = _settle(sqlite3.connect(":memory:", isolation_level=None))
        _migrate(connection, path, MIGRATIONS)
        return Database(path, connection)
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK):
        return open_database(path, wait=wait)
    folder = Path(tempfile.mkdtemp(prefix="kcut-read-"))
    try:
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, folder / source.name)
        copy = open_database(folder / path.name, wait=wait)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise NotReady(f"cannot read the record {path}: {error.strerror or error}") from error
        raise
    return Database(path, copy._connection, folder)


def _settle(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _connect(path: Path, wait: float, vfs: str | None, newest: int) -> sqlite3.Connection:
    """A connection in write-ahead mode, else with a rollback journal; every commit is synced to the disk.

    Nothing is written before the file is known to be kcut's.
    """
    deadline = time.monotonic() + wait
    uri = f"{path.absolute().as_uri()}?mode=rwc" + (f"&vfs={vfs}" if vfs else "")
    exclusive = False
    while True:
        connection = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)
        try:
            if exclusive:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            fresh = _version(connection, path, newest) == 0
            mode = _journal(connection, fresh=fresh, exclusive=exclusive)
            # EXTRA also syncs the folder after a rollback journal went; write-ahead mode needs no more than FULL
            connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
            connection.execute("PRAGMA fullfsync = ON")  # macOS: past the drive's own cache
            return _settle(connection)
        except sqlite3.OperationalError as error:
            connection.close()
            # the switch to write-ahead mode does not wait for locks by itself
            if _primary(error) in _CONTENDED and time.monotonic() < deadline:
                time.sleep(0.02)
            elif _no_shared_memory(error) and not exclusive and path.is_file():
                exclusive = True
            else:
                raise
        except BaseException:
            connection.close()
            raise


def _journal(connection: sqlite3.Connection, *, fresh: bool, exclusive: bool) -> str:
    """Set the journal mode and return it.

    `exclusive`: the file is in write-ahead mode, and the file system has no shared memory for it; alone with the
    file, SQLite can do without and turn it back. There it stays: only a fresh file is put into write-ahead mode.
    """
    if exclusive:
        mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        connection.execute("PRAGMA locking_mode = NORMAL")
    elif fresh:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    else:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the mode holds from here, and no lock does
    return str(mode)


def _no_shared_memory(error: sqlite3.Error) -> bool:
    """True if write-ahead logging failed for want of its shared memory file."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL} or code in {
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMLOCK,
        sqlite3.SQLITE_IOERR_SHMMAP,
    }


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    """Bring the schema to the newest version, a step per transaction; nothing is written if it is there."""
    while True:
        version = _version(connection, path, len(migrations))
        if version == len(migrations):
            return
        with _immediate(connection):
            # another process may have taken this step while this one waited for the lock
            if _version(connection, path, len(migrations)) != version:
                continue
            for statement in migrations[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {version + 1}")


def _version(connection: sqlite3.Connection, path: Path, newest: int) -> int:
    """The schema version of a database that is kcut's or still empty. Raises NotReady otherwise."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if owner != APPLICATION_ID and (owner, version, tables) != (0, 0, 0):
        raise damaged(path, "it is a database of another program")
    if version > newest:
        raise NotReady(
            f"{path} was written by a newer kcut (schema {version}; this one knows {newest})",
            remedy="upgrade kcut, or move the file away to start a new record",
        )
    return version

"""The SQLite file: opening it, its schema, and what its errors mean to a user."""

import contextlib
import os
import resource
import shlex
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from kcut.model.errors import NotReady
from kcut.store.patience import CONTENDED, Patience, primary
from kcut.system.faults import mend

#: `kcut` in ASCII: tells this file from any other SQLite database.
APPLICATION_ID = 0x6B637574

Migration = tuple[str, ...]
_FAILING = """CREATE TABLE failing (
    run INTEGER NOT NULL,
    pair INTEGER NOT NULL,
    cohort TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    criterion TEXT NOT NULL,
    PRIMARY KEY (run, pair, cohort, attempt, criterion),
    FOREIGN KEY (run, pair, cohort, attempt) REFERENCES attempts (run, pair, cohort, attempt)
) WITHOUT ROWID"""
_TRIALS = """CREATE VIEW trials AS
    SELECT * FROM attempts AS a WHERE attempt = (
        SELECT max(attempt) FROM attempts AS b
        WHERE b.run = a.run AND b.pair = a.pair AND b.cohort = a.cohort
    )"""
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
        _FAILING,
        _TRIALS,
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            run INTEGER NOT NULL REFERENCES runs (seq),
            ts TEXT NOT NULL,
            kind TEXT NOT NULL,
            detail TEXT NOT NULL
        )""",
        "CREATE INDEX events_run ON events (run)",
    ),
    (  # a third cohort; SQLite cannot change a check, and a table goes after those that refer to it
        "CREATE TABLE failing_before AS SELECT * FROM failing",
        "DROP TABLE failing",
        "DROP VIEW trials",
        "ALTER TABLE attempts RENAME TO attempts_before",
        """CREATE TABLE attempts (
            run INTEGER NOT NULL REFERENCES runs (seq),
            pair INTEGER NOT NULL,
            cohort TEXT NOT NULL CHECK (cohort IN ('with', 'without', 'placebo')),
            attempt INTEGER NOT NULL,
            position INTEGER NOT NULL,
            outcome TEXT NOT NULL CHECK (outcome IN ('pass', 'fail', 'void')),
            reason TEXT,
            wall_ms REAL NOT NULL,
            cost_usd REAL,
            document TEXT NOT NULL,
            PRIMARY KEY (run, pair, cohort, attempt)
        ) WITHOUT ROWID""",
        "INSERT INTO attempts SELECT * FROM attempts_before",
        "DROP TABLE attempts_before",
        _FAILING,
        "INSERT INTO failing SELECT * FROM failing_before",
        "DROP TABLE failing_before",
        _TRIALS,
    ),
)
SCHEMA_VERSION = len(MIGRATIONS)

#: Files that SQLite opens beside the database.
_BESIDE = ("-journal", "-wal", "-shm")


def explain(error: sqlite3.Error, path: Path) -> NotReady:
    """What a user can do about an error of the database at `path`. The file is never touched for it."""
    code = primary(error)
    if code in CONTENDED:
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
    if code == sqlite3.SQLITE_IOERR and _files_are_limited():
        return NotReady(
            f"the limit on the size of files ends what can be recorded in {path}",
            remedy="raise it (ulimit -f); finished trials stay recorded, and `kcut benchmark --resume last` goes on",
        )
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
    """Which file lies at a path, links followed; None if there is none. OSError if that cannot be told."""
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return info.st_dev, info.st_ino


def _disk_is_full(path: Path) -> bool:
    try:
        space = os.statvfs(path.parent)
    except OSError:
        return False
    return space.f_bavail * space.f_frsize < 1 << 20


def _files_are_limited() -> bool:
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY


def _must_not_wait(path: Path, endings: Sequence[str] = _BESIDE) -> None:
    """Raise NotReady if a FIFO or a device lies where SQLite keeps what it writes beside the database.

    It would be waited for without end, and no signal could be acted upon meanwhile. Of all else SQLite says itself
    what is wrong with it.
    """
    real = os.path.realpath(path)
    for ending in endings:
        try:
            mode = os.stat(real + ending).st_mode  # noqa: PTH116  # a string, and for every transaction
        except OSError:
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise NotReady(
                f"{real}{ending} is not a file, and {path.name} needs that name for one",
                remedy=f"remove it (rm {shlex.quote(real + ending)}), then run again",
            )


class Database:
    """A connection whose transactions are durable when they end. Use it from one thread, close it after use."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, patience: Patience, copy: Path | None = None
    ) -> None:
        self.path = path
        self._connection = connection
        self._patience = patience
        self._copy = copy
        # a journal is opened anew in every transaction
        self._anew = ("-journal",) if patience(lambda: _mode(connection)) == "delete" else ()
        self._known = None if copy is not None else _file(path)

    @property
    def lost(self) -> Literal["removed", "replaced"] | None:
        """What became of the file since it was opened: what is written goes with it. None if it is in its place."""
        try:
            now = _file(self.path)
        except OSError:  # closed to us, which does not take away what lies there
            return None
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
        _must_not_wait(self.path, self._anew)
        try:
            return self._patience(lambda: self._connection.execute(sql, values).fetchall())
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction, on disk when the block ends, undone if it raises.

        Raises NotReady if it cannot be made durable; an IntegrityError is the caller's to explain.
        """
        _must_not_wait(self.path, self._anew)
        try:
            with _immediate(self._connection, self._patience):
                yield self._connection
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise explain(error, self.path) from error


@contextlib.contextmanager
def _immediate(connection: sqlite3.Connection, patience: Patience) -> Iterator[None]:
    """A transaction that takes the write lock at once: one that read first could not wait for it later."""
    patience(lambda: connection.execute("BEGIN IMMEDIATE"))
    try:
        yield
        patience(lambda: connection.execute("COMMIT"))
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
    _must_not_wait(path)
    patience = Patience(wait)
    try:
        connection = _connect(path, patience, vfs, len(migrations))
        try:
            _migrate(connection, path, migrations, patience)
            return Database(path, connection, patience)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explain(error, path) from error


def read_database(path: Path, *, wait: float = 60.0) -> Database:
    """The database at `path` for reading: an empty one in memory if there is none; a copy if it is read-only.

    SQLite can read a database in write-ahead mode only where it can write next to it. Raises as open_database.
    """
    if not os.path.lexists(path):
        connection = _settle(sqlite3.connect(":memory:", isolation_level=None))
        _migrate(connection, path, MIGRATIONS, Patience(wait))
        return Database(path, connection, Patience(wait))
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK):
        return open_database(path, wait=wait)
    _must_not_wait(path)
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
            raise NotReady(
                f"cannot read the record {path}: {error.strerror or error}", remedy=mend(error, path, "readable")
            ) from error
        raise
    return Database(path, copy._connection, Patience(wait), folder)


def _settle(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _connect(path: Path, patience: Patience, vfs: str | None, newest: int) -> sqlite3.Connection:
    """A connection in write-ahead mode, else with a rollback journal; every commit is synced to the disk.

    Nothing is written before the file is known to be kcut's.
    """
    try:
        return patience(lambda: _connected(path, vfs, newest, exclusive=False))
    except sqlite3.OperationalError as error:
        if not (_no_shared_memory(error) and path.is_file()):
            raise
        return patience(lambda: _connected(path, vfs, newest, exclusive=True))


def _connected(path: Path, vfs: str | None, newest: int, *, exclusive: bool) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rwc" + (f"&vfs={vfs}" if vfs else "")
    connection = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
    try:
        if exclusive:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        fresh = _version(connection, path, newest) == 0
        mode = _journal(connection, fresh=fresh, exclusive=exclusive)
        # EXTRA also syncs the folder after a rollback journal went; write-ahead mode needs no more than FULL
        connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: past the drive's own cache
        return _settle(connection)
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
        mode = _mode(connection)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the mode holds from here, and no lock does
    return str(mode)


def _mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def _no_shared_memory(error: sqlite3.Error) -> bool:
    """True if write-ahead logging failed for want of its shared memory file."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL} or code in {
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMLOCK,
        sqlite3.SQLITE_IOERR_SHMMAP,
    }


def _migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration], patience: Patience) -> None:
    """Bring the schema to the newest version, a step per transaction; nothing is written if it is there."""
    while True:
        version = patience(lambda: _version(connection, path, len(migrations)))
        if version == len(migrations):
            return
        with _immediate(connection, patience):
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

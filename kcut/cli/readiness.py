"""The checks of `kcut doctor`. Each looks, changes nothing, and says what to do where something is in the way."""

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kcut.model.errors import KcutError

if TYPE_CHECKING:
    from kcut.isolation import Checkout

OLDEST_GIT = (2, 31)
MIB = 1 << 20
#: Free space below which a run is likely to fail: worktrees, and the record.
ROOM_FOR_WORKTREES, ROOM_FOR_RECORD = 1024 * MIB, 64 * MIB


@dataclass(frozen=True, slots=True)
class Check:
    """What was found, whether it is well, and if not, the one thing to do."""

    code: str
    ok: bool
    evidence: str
    advice: str | None = None


def checks(cwd: Path) -> Iterator[Check]:
    """Every check that applies where kcut was started."""
    yield _python()
    git = _git()
    yield git
    yield from _shells()
    yield _processes()
    if not git.ok and git.evidence == "not installed":
        return
    found = _checkout(cwd)
    yield found[1]
    if found[0] is not None:
        yield from _of_checkout(found[0])


def _of_checkout(checkout: "Checkout") -> Iterator[Check]:
    yield from _place(checkout)
    state = _state(checkout)
    yield state
    if state.ok:
        yield _record(checkout.root)
        yield _leftovers(checkout.root)
    yield _configuration(checkout.root)
    yield _environment(checkout)


def _fault(code: str, error: KcutError, advice: str) -> Check:
    """An error that a command would have ended with, as a check."""
    return Check(code, False, error.message, (error.remedy or advice).replace("\n", "; "))


def _python() -> Check:
    found = (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    known = sys.platform in {"linux", "darwin"}
    return Check("python", known, found, None if known else "run kcut on Linux or macOS")


def _git() -> Check:
    from kcut.system.git import version

    if shutil.which("git") is None:
        return Check("git", False, "not installed", "install git 2.31 or newer")
    try:
        text = version()
    except KcutError as error:
        return _fault("git", error, "install git 2.31 or newer")
    numbers = re.match(r"(\d+)\.(\d+)", text)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_GIT:
        return Check("git", False, f"{text} is older than 2.31", "install git 2.31 or newer")
    return Check("git", True, text)


def _shells() -> Iterator[Check]:
    runs = os.access("/bin/sh", os.X_OK)
    yield Check("sh", runs, "/bin/sh" if runs else "no /bin/sh", None if runs else "install a POSIX shell as /bin/sh")
    bash = shutil.which("bash")
    yield Check("bash", True, bash or "not installed; only checks in `eval bash` blocks need it")


def _processes() -> Check:
    """End a process that outlives its command, as every phase of a trial has to."""
    from kcut.system.proc import Supervisors

    with Supervisors() as supervisors:
        script = "(exec sleep 600) & exit 7"
        ran = supervisors.run(["/bin/sh", "-c", script], cwd=Path("/"), env={"PATH": os.defpath}, timeout=60)
    if ran.code == 7 and ran.ended == 1:
        how = "child subreaper and /proc" if sys.platform == "linux" else "process group and marker"
        return Check("processes", True, f"what a command leaves running is ended ({how})")
    why = ran.error or f"exit {ran.code}, {ran.ended} processes ended"
    return Check(
        "processes", False, f"a command could not be supervised: {why}", "allow /proc and process signals here"
    )


def _checkout(cwd: Path) -> "tuple[Checkout | None, Check]":
    from kcut.isolation import inspect

    try:
        checkout = inspect(cwd)
    except KcutError as error:
        return None, _fault("checkout", error, "run kcut in the repository that you want to measure")
    changed = len(checkout.dirty)
    dirty = f", {changed} uncommitted paths (in no trial, unless --dirty include)" if changed else ""
    return checkout, Check("checkout", True, f"{checkout.root} at {checkout.head[:12]}{dirty}")


def _place(checkout: "Checkout") -> Iterator[Check]:
    from kcut.isolation.place import find_place

    try:
        place = find_place(checkout, None)
    except KcutError as error:
        yield _fault("place", error, "name a clean folder: kcut benchmark --workdir DIR")
    else:
        yield Check("place", True, f"worktrees are made in {place}")
        yield _room("place-space", place, ROOM_FOR_WORKTREES)
    yield _room("checkout-space", checkout.root, ROOM_FOR_RECORD)


def _room(code: str, place: Path, needed: int) -> Check:
    free = shutil.disk_usage(place).free
    enough = free >= needed
    advice = None if enough else f"free at least {needed // MIB} MiB there"
    return Check(code, enough, f"{free // MIB} MiB free in {place}", advice)


def _state(checkout: "Checkout") -> Check:
    """The state folder can be made or written to, and git does not see what kcut keeps there."""
    from kcut.store import STATE, state_path

    try:
        folder = state_path(checkout.root)
    except KcutError as error:
        return _fault("state", error, f"make {STATE} a folder of the checkout")
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        return Check(
            "state", False, f"{nearest} is not writable", f"make it writable: kcut keeps its record in {STATE}"
        )
    if not folder.exists():
        return Check("state", True, f"{STATE} is made by the first run")
    if not (folder / ".gitignore").exists():
        return Check("state", True, f"{STATE}; its .gitignore is made by the next run")
    database = str(folder.resolve() / "kcut.db")  # git looks behind no link
    if not checkout.git().run("check-ignore", "-q", "--no-index", database).ok:
        return Check(
            "state", False, f"{STATE}/.gitignore does not cover kcut.db", "add the lines /* and !/benchmarks/ to it"
        )
    return Check("state", True, f"{STATE}, ignored by git but for benchmarks/")


def _record(root: Path) -> Check:
    import sqlite3

    from kcut.store import DATABASE, Store, state_path
    from kcut.store.database import read_database

    engine = f"SQLite {sqlite3.sqlite_version}"
    path = state_path(root) / DATABASE
    if not path.exists():
        return Check("record", True, f"no run yet ({engine})")
    try:
        database = read_database(path, wait=5.0)
        sound = database.rows("PRAGMA quick_check(1)")[0][0]
        journal = {"wal": "write-ahead log"}.get(
            mode := database.rows("PRAGMA journal_mode")[0][0], f"{mode} journal"
        )
        database.close()
        with Store.open(root, create=False, wait=5.0) as store:
            history = store.history()
    except KcutError as error:
        return _fault("record", error, f"move {path} away; the next run starts a new one")
    if sound != "ok":
        return Check(
            "record", False, f"{path} is damaged: {sound}", f"move {path} away; the next run starts a new one"
        )
    open_runs = sum(run.state == "interrupted" for run in history)
    return Check("record", True, f"{len(history)} runs, {open_runs} interrupted ({engine}, {journal})")


def _configuration(root: Path) -> Check:
    """Every table of the configuration, not only that of one command."""
    import importlib

    import click

    from kcut.cli import COMMANDS, app
    from kcut.cli.settings import defaults, find_settings

    try:
        settings = find_settings(root)
        if settings is None:
            return Check("configuration", True, "none")
        top = click.Context(app, info_name="kcut")
        for name in settings.tables:
            command = importlib.import_module(f"kcut.cli.{name}").command
            if name in COMMANDS:
                own = click.Context(command, parent=top, info_name=name)
                inner = command.commands.values() if isinstance(command, click.Group) else ()
                for each in inner or (command,):
                    defaults(settings, each, click.Context(each, parent=own, info_name=each.name) if inner else own)
    except KcutError as error:
        return _fault("configuration", error, "correct the file")
    tables = ", ".join(settings.heading(name) for name in settings.tables)
    return Check("configuration", True, f"{settings.path.name}: {tables or 'empty'}")


def _environment(checkout: "Checkout") -> Check:
    from kcut.isolation import venv_inside

    inside = venv_inside(checkout, os.environ)
    if inside is None:
        return Check("environment", True, "neither a virtual environment nor PYTHONPATH has code of the checkout")
    return Check(
        "environment",
        False,
        f"{inside}: both cohorts would run this code of the checkout",
        "deactivate it, or install in each worktree: kcut benchmark --setup CMD",
    )


def _leftovers(root: Path) -> Check:
    from kcut.cli.clean import leftovers
    from kcut.store import state_path

    left = leftovers(state_path(root))
    if not left:
        return Check("leftovers", True, "none of dead kcut processes")
    return Check("leftovers", False, f"{len(left)} of dead kcut processes, such as {left[0]}", "kcut clean")

"""The process table: who is running, who belongs to whom, and how to end them all."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

#: After this long, what has been sent KILL and is still there is reported instead of waited for, in seconds.
STUCK = 10.0
#: Processes that may not be signalled get this long to go by themselves.
REFUSED = 0.2
#: The variable by which a process is known to be of a kcut that has no supervisor for it; it tells which kcut.
OWNER = "_KCUT_OWNER"


@dataclass(frozen=True, slots=True)
class Process:
    """A line of the process table; `dead` is a zombie."""

    pid: int
    parent: int
    group: int
    dead: bool


def has_proc() -> bool:
    """True where the kernel tells about processes below /proc."""
    return os.path.exists("/proc/self/stat")  # noqa: PTH110  # the warden starts without pathlib


def table() -> dict[int, Process]:
    """Every process that can be seen, by pid."""
    if not has_proc():
        return table_by_ps()
    found: dict[int, Process] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # on the hot path
        if name.isdigit() and (fields := stat_fields(int(name))):
            pid = int(name)
            found[pid] = Process(pid, int(fields[1]), int(fields[2]), is_dead(fields))
    return found


def stat_fields(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on, so that the start time is number 19; empty if it is gone."""
    return read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def is_dead(fields: list[bytes]) -> bool:
    """True for the stat fields of a zombie. One that has threads left is none: its first thread has ended alone."""
    return fields[0] in {b"Z", b"X"} and int(fields[17]) <= 1


def read_file(path: str) -> bytes:
    """The bytes of a file, as far as they can be read."""
    parts: list[bytes] = []
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while part := os.read(handle, 65536):
                parts.append(part)
        finally:
            os.close(handle)
    return b"".join(parts)


def ask_ps(*options: str) -> list[bytes]:
    """The lines that `ps` prints, for systems without /proc."""
    import subprocess

    done = subprocess.run(
        ["/bin/ps", *options], stdin=subprocess.DEVNULL, capture_output=True, check=False, env={"LC_ALL": "C"}
    )
    return done.stdout.splitlines()


def table_by_ps() -> dict[int, Process]:
    """What `table` returns, asked of `ps`."""
    found: dict[int, Process] = {}
    for line in ask_ps("-axo", "pid=,ppid=,pgid=,stat="):
        pid, parent, group, state, *_ = [*line.split(), b"", b"", b"", b""]
        if state:
            found[int(pid)] = Process(int(pid), int(parent), int(group), state.startswith(b"Z"))
    return found


def family(root: int, *, without: Iterable[int] = ()) -> dict[int, Process]:
    """All descendants of `root`; those in `without` and below them are left out."""
    children: dict[int, list[Process]] = {}
    for process in table().values():
        children.setdefault(process.parent, []).append(process)
    skipped = set(without)
    found: dict[int, Process] = {}
    queue = [root]
    while queue:
        for process in children.get(queue.pop(), ()):
            if process.pid not in skipped and process.pid not in found:
                found[process.pid] = process
                queue.append(process.pid)
    return found


def marked(marker: str, value: str = "") -> dict[int, Process]:
    """The processes that were started with a variable of that name in their environment, as far as that shows.

    Its value begins with `value`.
    """
    sign = os.fsencode(f"{marker}={value}")
    if has_proc():
        return {
            pid: process
            for pid, process in table().items()
            if b"\0" + sign in b"\0" + read_file(f"/proc/{pid}/environ")
        }
    pids = {int(line.split()[0]) for line in ask_ps("-axEwwo", "pid=,command=") if sign in line}
    return {pid: process for pid, process in table_by_ps().items() if pid in pids}


def owner(pid: int) -> tuple[str, str]:
    """Name and value of the variable that marks what this process of kcut starts without a supervisor."""
    return OWNER, f"{pid}:{process_identity(pid)};"


def end_marked(marker: str, value: str = "") -> set[int]:
    """End what `marked` sees; returns the pids that it saw alive."""
    found: set[int] = set()

    def find() -> dict[int, Process]:
        seen = marked(marker, value)
        found.update(pid for pid, one in seen.items() if not one.dead)
        return seen

    def living(seconds: float) -> bool:
        time.sleep(seconds)
        return any(not one.dead for one in find().values())

    end(find, living)
    return found


def send(pid: int, number: int, *, group: bool = False) -> bool:
    """Send a signal; False if the process is another user's. One that is gone already is no failure."""
    try:
        (os.killpg if group else os.kill)(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def send_all(processes: Iterable[Process], number: int) -> None:
    """Send a signal to the groups of processes: a whole group gets it at once, so that no member can fork away from
    it, as the kernel restarts such a fork. A process in a group that is not its family's gets it alone."""
    targets = list(processes)
    groups = {process.group for process in targets} - {0, 1, os.getpgrp()}
    for group in groups:
        send(group, number, group=True)
    for process in targets:
        if process.group not in groups:
            send(process.pid, number)


def end(find: Callable[[], dict[int, Process]], reap: Callable[[float], bool], *, limit: float = STUCK) -> set[int]:
    """KILL what `find` sees until nothing is left; returns the pids that could not be ended within `limit` seconds.

    Everything is stopped first, so that processes that watch and restart each other do not notice. `reap(seconds)`
    collects what has ended, waiting at most that long for it, and is False once nothing is left.
    """
    started = time.monotonic()
    while reap(0.0):
        stopped: set[int] = set()
        for _ in range(4):
            fresh = {pid: process for pid, process in find().items() if pid not in stopped}
            if not fresh:
                break
            send_all(fresh.values(), signal.SIGSTOP)
            stopped |= set(fresh)
        found = find()
        send_all(found.values(), signal.SIGKILL)
        refused = {pid for pid in found if not send(pid, signal.SIGKILL)}
        living = {pid for pid, process in find().items() if not process.dead}
        waited = time.monotonic() - started
        if waited > limit or (living and living <= refused and waited > REFUSED):
            return living
        reap(0.02)
    return set()


def process_identity(pid: int) -> str | None:
    """What tells a process from a later one with its number: boot and start time. None if it is not running."""
    if pid <= 0:
        return None
    if has_proc():
        fields = stat_fields(pid)
        if len(fields) < 20 or is_dead(fields):
            return None
        boot = read_file("/proc/sys/kernel/random/boot_id").decode("ascii", "replace").strip()
        return f"{boot}:{int(fields[19])}"
    lines = ask_ps("-o", "stat=,lstart=", "-p", str(pid))
    state, *started = lines[0].decode("ascii", "replace").split() if lines else [""]
    return " ".join(started) if started and not state.startswith("Z") else None


def is_alive(pid: int, identity: str) -> bool:
    """True if the very process is running that had this identity; a zombie is not."""
    return process_identity(pid) == identity

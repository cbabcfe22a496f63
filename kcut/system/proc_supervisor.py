"""A supervisor: the small process that runs one command to its end, and ends everything that it started.

It speaks with kcut over one socket: it says `H`, reads one request, and says `R` with the result, or `E` with what
went wrong; orders to it are single bytes. It adopts every orphan of its command, so that nothing can get out of its
sight by `setsid`, a double fork or an emptied environment. The socket reads EOF when kcut is gone, however it went.
"""

import contextlib
import os
import select
import signal
import socket
import time
from dataclasses import dataclass

from kcut.system.proc_table import Process, end, family, marked, send, send_all, table

#: Orders: TERM, and KILL after the request's grace; KILL at once.
TERM, KILL = b"T", b"K"
#: What outlives its command gets this long to go by itself, then so long after TERM, in seconds.
SETTLE, GENTLE = 0.02, 0.2
UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}
_STDIN = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
_LONGEST = 3600.0  # of one sleep, in seconds


class Bell:
    """A pipe that SIGCHLD rings, so that one poll can wait for children and for sockets."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()
        os.set_blocking(self.out, False)
        os.set_blocking(self.into, False)
        signal.set_wakeup_fd(self.into, warn_on_full_buffer=False)

    def wait(self, seconds: float | None, *others: int) -> set[int]:
        """Sleep until the bell rings, one of the other descriptors has something to say, or so long; which have."""
        poll = select.poll()
        for handle in (self.out, *others):
            poll.register(handle, select.POLLIN)
        ready = poll.poll(None if seconds is None else max(0, round(min(seconds, _LONGEST) * 1000 + 0.5)))
        with contextlib.suppress(BlockingIOError):
            while os.read(self.out, 4096):
                pass
        return {handle for handle, _ in ready} - {self.out}

    def close(self) -> None:
        """Close both ends; the next bell rings itself."""
        os.close(self.out)
        os.close(self.into)


@dataclass(frozen=True, slots=True)
class Request:
    """What to run. `argv` and `env` are bytes as the system takes them, without NUL; times in seconds."""

    marker: str
    cwd: bytes
    timeout: float | None
    grace: float
    argv: list[bytes]
    env: dict[bytes, bytes]

    def pack(self) -> bytes:
        """One message: eight bytes of length, then fields between NUL bytes."""
        timeout = b"" if self.timeout is None else repr(float(self.timeout)).encode()
        head = [self.marker.encode(), self.cwd, timeout, repr(float(self.grace)).encode(), b"%d" % len(self.argv)]
        body = b"\0".join([*head, *self.argv, *(name + b"=" + value for name, value in self.env.items())])
        return len(body).to_bytes(8, "big") + body

    @classmethod
    def unpack(cls, body: bytes) -> "Request":
        """The request in a message without its length."""
        marker, cwd, timeout, grace, count, *rest = body.split(b"\0")
        cut = int(count)
        pairs = (item.partition(b"=") for item in rest[cut:])
        return cls(
            marker=marker.decode(),
            cwd=cwd,
            timeout=float(timeout) if timeout else None,
            grace=float(grace),
            argv=rest[:cut],
            env={name: value for name, _, value in pairs},
        )


def receive(control: socket.socket) -> Request | None:
    """The request that comes on a control socket; None if kcut went away before it was complete."""
    data = bytearray()
    size = 8
    while len(data) < size:
        try:
            part = control.recv(min(size - len(data), 1 << 20))
        except OSError:
            return None
        if not part:
            return None
        data += part
        if len(data) == 8 and size == 8:
            size += int.from_bytes(data, "big")
    return Request.unpack(bytes(data[8:]))


def spawn(request: Request, streams: list[int]) -> int:
    """Start the command: own session, empty stdin, signals as a fresh login has them. Raises OSError."""
    try:
        os.chdir(request.cwd)
    except OSError as error:
        raise OSError(error.errno, f"cannot enter the folder {os.fsdecode(request.cwd)}: {error.strerror}") from None
    if b"PATH" in request.env:
        os.putenv(b"PATH", request.env[b"PATH"])  # what posix_spawnp searches
    else:
        os.unsetenv(b"PATH")
    if streams:
        actions = [_STDIN, *((os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate(streams, 1))]
    else:
        actions = [_STDIN, *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2))]
    try:
        return os.posix_spawnp(
            request.argv[0],
            request.argv,
            request.env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - UNCATCHABLE,
        )
    except OSError as error:
        raise OSError(error.errno, f"cannot start {os.fsdecode(request.argv[0])}: {error.strerror}") from None


def describe(error: BaseException) -> bytes:
    """What went wrong, as one line for a message."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return os.fsencode(" ".join((said or type(error).__name__).replace("\0", " ").split()))


class Supervisor:
    """Runs one command to its end, and everything that it started."""

    def __init__(self, control: socket.socket, streams: list[int], *, adopts: bool) -> None:
        self.control = control
        self.streams = streams
        self.adopts = adopts
        self.bell = Bell()
        self.order = b""
        self.main = 0
        self.marker = ""
        self.code: int | None = None
        self.started = 0.0
        self.ended_at = 0.0

    def run(self) -> None:
        """Say hello, run what is asked for, say how it went."""
        self.control.sendall(b"H\0%d\n" % os.getpid())
        request = receive(self.control)
        if request is None:
            return
        self.marker = request.marker
        self.started = time.monotonic()
        try:
            self.main = spawn(request, self.streams)
        except (OSError, ValueError, NotImplementedError, MemoryError) as error:
            self.say(b"E", describe(error))
            return
        for handle in self.streams:
            os.close(handle)
        os.chdir("/")  # the command's folder is not this process's to keep busy
        self.control.setblocking(False)
        timed_out, stopped = self.watch(request)
        ended, left = self.finish(gently=not (timed_out or stopped or self.order))
        if self.code is None:
            self.say(b"E", b"the command could not be ended")
            return
        seconds = repr(self.ended_at - self.started).encode()
        self.say(b"R", *(b"%d" % value for value in (self.code, timed_out, stopped, ended, left)), seconds)

    def say(self, *fields: bytes) -> None:
        """Send a message; it does not matter if nobody listens any more."""
        self.control.setblocking(True)
        with contextlib.suppress(OSError):
            self.control.sendall(b"\0".join(fields) + b"\n")

    def watch(self, request: Request) -> tuple[bool, bool]:
        """Wait for the command's end, the timeout or an order; returns (timed out, stopped)."""
        deadline = None if request.timeout is None else self.started + request.timeout
        while True:
            self.reap(0.0)
            if self.code is not None:
                return False, False
            if self.order == KILL:
                return False, True
            if self.order == TERM:
                self.terminate(request.grace)
                return False, True
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                self.terminate(request.grace)
                return True, False
            self.wait(left)

    def terminate(self, grace: float) -> None:
        """TERM to everything; back when the command and its group have ended, or `grace` seconds later."""
        deadline = time.monotonic() + grace
        others = [process for process in self.find().values() if process.group != self.main]
        for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process would not see TERM
            send(self.main, number, group=True)
            send_all(others, number)
        while self.reap(0.0) and self.order != KILL:
            left = deadline - time.monotonic()
            if left <= 0 or (self.code is not None and not self.group_lives()):
                return
            self.wait(left if self.code is None else min(left, 0.05))

    def group_lives(self) -> bool:
        """True while a process of the command's group is alive."""
        return any(process.group == self.main and not process.dead for process in self.find().values())

    def finish(self, *, gently: bool) -> tuple[int, int]:
        """End all that is left; returns how many outlived the command and were ended, and how many could not be."""
        if gently:
            self.pause(SETTLE)
        if not self.reap(0.0):
            return 0, 0
        found = self.find()
        outlived = {
            pid for pid, one in found.items() if not one.dead and (self.code is not None or one.group != self.main)
        }
        if self.code is None:
            send(self.main, signal.SIGKILL, group=True)
        elif gently and outlived:
            send_all(found.values(), signal.SIGTERM)
            self.pause(GENTLE)
        left = end(self.find, self.reap)
        # One that forks faster than the table can be read is in none of the looks at it; it was there all the same.
        unseen = self.code is not None and not outlived
        return len(outlived - left) + unseen, len(left)

    def find(self) -> dict[int, Process]:
        """What belongs to the command: by descent, and where that does not hold, by group and marker."""
        found = family(os.getpid())
        if not self.adopts:
            found |= {pid: one for pid, one in table().items() if one.group == self.main}
            found |= marked(self.marker)
        return found

    def pause(self, seconds: float) -> None:
        """Wait until nothing is left, an order to KILL, or so long."""
        deadline = time.monotonic() + seconds
        while self.reap(0.0) and self.order != KILL and (left := deadline - time.monotonic()) > 0:
            self.wait(left)

    def reap(self, seconds: float) -> bool:
        """Collect what has ended, waiting at most so long for something to; False once nothing is left."""
        if seconds:
            self.wait(seconds)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self.adopts and any(not one.dead for one in self.find().values())
            if pid == 0:
                return True
            if pid == self.main:
                self.ended_at = time.monotonic()
                self.code = os.waitstatus_to_exitcode(status)

    def wait(self, seconds: float | None) -> None:
        """Sleep until a child's state changes, an order comes, or so long."""
        if not self.bell.wait(seconds, *([] if self.order == KILL else [self.control.fileno()])):
            return
        try:
            said = self.control.recv(64)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        self.order = KILL if not said or KILL in said else TERM

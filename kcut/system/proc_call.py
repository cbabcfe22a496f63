"""A call: one command as kcut sees it run, by a socket to its supervisor and pipes for its output."""

import contextlib
import fcntl
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence

from kcut.system.proc_supervisor import TERM, Request
from kcut.system.proc_table import send

#: Beyond its own limits a call waits this long for its supervisor before it takes it for lost, in seconds.
SLACK = 30.0
_PIPE = 1 << 18  # bytes; fewer switches between writer and reader than with the usual 64 KiB
_CHUNK = 1 << 16
_DRAIN = 1 << 23  # bytes; more than any pipe holds


class Stream:
    """The reading end of a pipe: its first and last bytes, taken as they come."""

    def __init__(self, handle: int, keep: int, head: int) -> None:
        self.handle = handle
        self.keep = keep
        self.first = head
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0
        self.hear: Callable[[bytes], None] | None = None

    def read(self) -> bool:
        """Take what is there now; False at the end of the stream or if nothing is there."""
        try:
            part = os.read(self.handle, _CHUNK)
        except BlockingIOError:
            return False
        if not part:
            self.close()
            return False
        self.total += len(part)
        if self.hear is not None:
            self.hear(part)
        if len(self.head) < self.first:
            self.head += part[: self.first - len(self.head)]
        if self.keep:
            self.tail += part[-self.keep :]
            if len(self.tail) > 2 * self.keep:
                del self.tail[: -self.keep]
        return True

    def drain(self) -> None:
        """Take what the pipe holds. Never waits: a process that got away may keep it open for ever."""
        limit = self.total + _DRAIN
        while self.handle >= 0 and self.total < limit and self.read():
            pass

    def close(self) -> None:
        """Close the pipe."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def last(self) -> bytes:
        """The last `keep` bytes."""
        return bytes(self.tail[-self.keep :]) if self.keep else b""


class Call:
    """One command on its way: what is still to be sent, what has been heard. OSError if descriptors run out."""

    def __init__(self, keep: int, head: int) -> None:
        self.marker = ""
        self.order = b""
        self.grace = 0.0
        self.deadline: float | None = None
        self.request = memoryview(b"")
        self.sent = False
        self.heard = bytearray()
        self.supervisor = 0
        self.answer: list[bytes] = []
        self.gone = False
        self.streams: list[Stream] = []
        self.theirs: list[int] = []
        self.control, other = socket.socketpair()
        self.control.setblocking(False)
        self.theirs.append(other.detach())
        try:
            for _ in range(2 if keep or head else 0):
                out, into = os.pipe()
                self.streams.append(Stream(out, keep, head))
                self.theirs.append(into)
                os.set_blocking(out, False)
                widen(out)
        except OSError:
            self.close()
            raise

    def prepare(self, request: Request) -> None:
        """Make ready what the supervisor will read."""
        self.marker = request.marker
        self.request = memoryview(request.pack())
        self.grace = request.grace
        if request.timeout is not None:
            self.limit(request.timeout + request.grace)

    def close_theirs(self) -> None:
        """Close the ends that the supervisor has got by now."""
        for handle in self.theirs:
            os.close(handle)
        self.theirs = []

    def close(self) -> None:
        """Close everything. A supervisor that still runs sees it and ends its command."""
        self.control.close()
        self.close_theirs()
        for stream in self.streams:
            stream.close()

    def tell(self, order: bytes) -> None:
        """Order the supervisor to TERM or KILL. Takes no lock: a signal handler calls it, at any moment."""
        self.order = order
        if self.sent:  # else the order follows the request
            self.pass_on()

    def pass_on(self) -> None:
        """Send the order that has been given."""
        self.limit(self.grace if self.order == TERM else 0.0)
        with contextlib.suppress(OSError):
            self.control.send(self.order)

    def limit(self, seconds: float) -> None:
        """From now on the supervisor has to answer within so long, and the slack."""
        deadline = time.monotonic() + seconds + SLACK
        self.deadline = deadline if self.deadline is None else min(self.deadline, deadline)

    @property
    def overdue(self) -> bool:
        """True if the supervisor should have answered by now."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def step(self, seconds: float) -> bool:
        """Wait at most so long for something to happen, and deal with it; False if nothing did."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN | (0 if self.sent else select.POLLOUT))
        streams = {stream.handle: stream for stream in self.streams if stream.handle >= 0}
        for handle in streams:
            poll.register(handle, select.POLLIN)
        ready = poll.poll(seconds * 1000)
        for handle, event in ready:
            if handle in streams:
                streams[handle].read()
                continue
            if event & select.POLLOUT:
                self.speak()
            if event & ~select.POLLOUT:
                self.listen()
        return bool(ready)

    def speak(self) -> None:
        """Send more of the request; once it is through, an order that came meanwhile."""
        try:
            self.request = self.request[self.control.send(self.request) :]
        except BlockingIOError:
            return
        except OSError:
            self.request = memoryview(b"")  # nobody reads it; what comes next is the end of the socket
        if not self.request:
            self.sent = True
            if self.order:
                self.pass_on()

    def listen(self) -> None:
        """Read what the supervisor says."""
        try:
            part = self.control.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self.gone = not part
        self.heard += part
        while b"\n" in self.heard:
            line, _, rest = self.heard.partition(b"\n")
            self.heard = rest
            fields = bytes(line).split(b"\0")
            if fields[0] == b"H":
                self.supervisor = int(fields[1])
            else:
                self.answer = fields

    def wake(self) -> None:
        """A command may have sent STOP to the process that watches it."""
        if self.supervisor and not self.gone:
            send(self.supervisor, signal.SIGCONT)

    def give_up(self) -> None:
        """KILL a supervisor that should have answered; it is still there, as the socket is open."""
        if self.supervisor and not self.gone:
            send(self.supervisor, signal.SIGKILL)

    def abandon(self) -> None:
        """Let the supervisor see the end of the socket, and wait until it has ended everything."""
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)
        self.sent = True
        deadline = time.monotonic() + SLACK
        while not self.gone and time.monotonic() < deadline:
            if not self.step(0.5):
                self.wake()


def widen(handle: int) -> None:
    """Let a pipe hold more, where that can be had."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _PIPE)


def make_request(
    argv: Sequence[str],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    timeout: float | None,
    grace: float,
) -> Request:
    """The request for a command, with a marker variable of its own in its environment.

    Raises ValueError if no system could take it.
    """
    try:
        words = [os.fsencode(word) for word in argv]
        variables = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        folder = os.fsencode(os.path.abspath(cwd))  # noqa: PTH100  # the supervisor is somewhere else
    except UnicodeEncodeError as error:
        raise ValueError(f"a character of it has no bytes: {error.reason}") from None
    if not words or not words[0]:
        raise ValueError("it is empty")
    if any(b"\0" in part for part in (*words, *variables, *variables.values(), folder)):
        raise ValueError("there is a NUL character in it, its folder or its environment")
    if any(not name or b"=" in name for name in variables):
        raise ValueError("a variable of its environment has no valid name")
    marker = f"_KCUT_{os.urandom(8).hex()}"
    variables[os.fsencode(marker)] = b"1"
    return Request(marker, folder, timeout, grace, words, variables)

"""The door to processes: commands run under supervision, and nothing that they start outlives them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kcut.system.proc_call import SLACK, Call, make_request
from kcut.system.proc_supervisor import KILL, TERM, Request
from kcut.system.proc_table import end_marked, is_alive, owner, process_identity, send
from kcut.system.proc_warden import END, START, SWEEP

__all__ = ["Ran", "Supervisors", "capped", "is_alive", "process_identity"]

#: How often a supervisor that says nothing is looked at, in seconds.
TICK = 1.0
_SCRIPT = Path(__file__).with_name("warden.py")
_LOST = "the process that supervised the command was lost"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did. Times in seconds, output in bytes."""

    argv: tuple[str, ...]
    #: The exit code; negative: ended by that signal; None: not started, or not supervised to its end.
    code: int | None
    #: From the start to the end of the main process.
    seconds: float
    #: The timeout came first, and TERM was sent.
    timed_out: bool = False
    #: kcut was told to stop, and so ended the command or did not start it.
    interrupted: bool = False
    #: Processes that outlived the main one and had to be ended.
    ended: int = 0
    #: The last `keep` bytes of each stream.
    stdout: bytes = b""
    stderr: bytes = b""
    #: Why it could not be started or supervised: the harness's fault, not the command's.
    error: str | None = None
    #: Processes that could not be ended, as they are another user's.
    left: int = 0
    #: The first `head` bytes of each stream.
    stdout_head: bytes = b""
    stderr_head: bytes = b""
    #: How long each stream was, if anything of it was to be kept.
    stdout_total: int = 0
    stderr_total: int = 0


def capped(head: bytes, tail: bytes, total: int) -> bytes:
    """A stream of `total` bytes from its first and last ones; a line says how many are left out between them."""
    if len(head) + len(tail) >= total:
        return head + tail[len(head) + len(tail) - total :]
    return head + b"\n[... %d bytes left out ...]\n" % (total - len(head) - len(tail)) + tail


class Supervisors:
    """Runs commands so that everything they start ends with them, and with kcut, however kcut ends.

    A context manager, one per run of kcut; `run` may be called from many threads at once, `stop` and `kill` from a
    signal handler. `adopt=False` works as where orphans cannot be adopted: by process group and environment.
    """

    def __init__(self, *, adopt: bool = True) -> None:
        self._adopt = adopt
        self._calls: set[Call] = set()
        self._order = b""
        self._starting = threading.Lock()  # never taken by stop and kill
        self._warden: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):  # the first run says so, if it fails as well
            self._connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        deadline = time.monotonic() + SLACK
        while self._calls and time.monotonic() < deadline:
            time.sleep(0.01)
        with self._starting:
            self._disconnect()

    def stop(self) -> None:
        """TERM to everything that runs, KILL after each command's grace; later runs return interrupted at once."""
        self._tell(self._order or TERM)

    def kill(self) -> None:
        """KILL everything that runs; later runs return interrupted at once."""
        self._tell(KILL)

    @property
    def stopped(self) -> bool:
        """True once `stop` or `kill` was called."""
        return bool(self._order)

    def _tell(self, order: bytes) -> None:
        self._order = order
        for call in self._calls.copy():
            call.tell(order)

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float | None = None,
        grace: float = 5.0,
        keep: int = 0,
        head: int = 0,
        hear: tuple[Callable[[bytes], None], Callable[[bytes], None]] | None = None,
    ) -> Ran:
        """Run a command to its end; everything that it started is ended when this returns.

        stdin is empty; stdout and stderr are thrown away, but for the first `head` and last `keep` bytes of each.
        The environment is `env`, and one variable whose name is new in every call. After `timeout` seconds TERM goes
        to the process group, KILL to everything after `grace` more. What goes wrong is in `error`, not raised.
        `hear` gets stdout and stderr as they come, if any of them is kept; it must not raise.
        """
        ran = Ran(tuple(argv), None, 0.0)
        for _ in range(3):
            try:
                request = make_request(argv, cwd=cwd, env=env, timeout=timeout, grace=grace)
                call = Call(keep, head)
                for stream, listener in zip(call.streams, hear or (), strict=False):
                    stream.hear = listener
            except ValueError as error:
                return replace(ran, error=f"cannot start the command: {error}")
            except OSError as error:
                return replace(ran, error=f"cannot start a process: {error.strerror}")
            try:
                self._calls.add(call)
                result = self._perform(call, request, ran)
            finally:
                self._calls.discard(call)
                call.close()
            if result is not None:
                return result
        return replace(ran, error="the process that starts commands does not live")

    def _perform(self, call: Call, request: Request, ran: Ran) -> Ran | None:
        """One try; None if nothing was started, because the warden or a young supervisor had gone."""
        if self._order:
            return replace(ran, interrupted=True)
        call.prepare(request)
        try:
            channel = self._connect()
            socket.send_fds(channel, [START], call.theirs)
        except ConnectionError:
            self._renew(SLACK)
            return None
        except OSError as error:
            return replace(ran, error=f"cannot start a process: {error.strerror or error}")
        call.close_theirs()
        try:
            self._attend(call)
        except BaseException:
            call.abandon()
            raise
        for stream in call.streams:
            stream.drain()
        if not call.answer and not call.supervisor:
            self._renew(TICK)
            return None
        return self._outcome(call, ran)

    def _attend(self, call: Call) -> None:
        """Until the supervisor has answered, or is lost."""
        look = time.monotonic() + TICK
        while not call.answer and not call.gone:
            call.step(TICK)
            if time.monotonic() < look:
                continue
            look = time.monotonic() + TICK
            call.wake()
            self._wake_warden()
            if call.overdue:
                call.give_up()
                return

    def _outcome(self, call: Call, ran: Ran) -> Ran:
        """What the supervisor said, or what can be said without it, with everything ended."""
        if not call.answer:
            ran = replace(ran, interrupted=bool(call.order), ended=self._sweep(call), error=_LOST)
        elif call.answer[0] == b"R":
            code, timed_out, stopped, ended, left = (int(field) for field in call.answer[1:6])
            ran = replace(
                ran, code=code, timed_out=bool(timed_out), interrupted=bool(stopped), ended=ended, left=left
            )
            ran = replace(ran, seconds=float(call.answer[6]))
        else:
            ran = replace(ran, error=os.fsdecode(call.answer[1]))
        if not call.streams:
            return ran
        out, err = call.streams
        return replace(
            ran,
            stdout=out.last(),
            stderr=err.last(),
            stdout_head=bytes(out.head),
            stderr_head=bytes(err.head),
            stdout_total=out.total,
            stderr_total=err.total,
        )

    def _sweep(self, call: Call) -> int:
        """End what a lost supervisor left, by the marker, then (the warden does) by descent. How many were marked."""
        found = end_marked(call.marker)
        self._wake_warden()
        with contextlib.suppress(OSError):
            mine, other = socket.socketpair()
            with mine, other:
                mine.settimeout(SLACK)
                socket.send_fds(self._connect(), [SWEEP], [other.fileno()])
                other.close()
                mine.sendall(b"%d\n" % call.supervisor)
                mine.recv(64)
        return len(found)

    def _connect(self) -> socket.socket:
        """The socket to the warden, which is started if there is none. OSError if it cannot be."""
        with self._starting:
            if self._channel is None:
                mine, other = socket.socketpair()
                mine.settimeout(SLACK)
                with other:
                    try:
                        self._warden = subprocess.Popen(
                            [
                                sys.executable,
                                "-I",
                                _SCRIPT,
                                str(other.fileno()),
                                "adopt" if self._adopt else "group",
                                *owner(os.getpid()),
                            ],
                            stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL,
                            pass_fds=[other.fileno()],
                            start_new_session=True,  # a ^C at the terminal is kcut's to handle
                        )
                    except BaseException:
                        mine.close()
                        raise
                self._channel = mine
            return self._channel

    def _renew(self, seconds: float) -> None:
        """Forget the warden if it has gone, or goes within so long; the next call starts another."""
        with self._starting, contextlib.suppress(subprocess.TimeoutExpired):
            if self._warden is not None:
                self._warden.wait(seconds)  # its sockets close a moment before it has ended
                self._disconnect()

    def _wake_warden(self) -> None:
        process = self._warden
        if process is not None:
            process.send_signal(signal.SIGCONT)

    def _disconnect(self) -> None:
        """Close the socket, and wait until the warden has ended everything and itself."""
        channel, process = self._channel, self._warden
        self._channel = self._warden = None
        if channel is not None:
            with contextlib.suppress(OSError):
                channel.send(END)
            channel.close()
        if process is None:
            return
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(2 * SLACK)
        except subprocess.TimeoutExpired:
            send(process.pid, signal.SIGKILL)
            process.wait()

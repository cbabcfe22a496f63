"""The warden: one small process per run of kcut, which forks a supervisor for each command.

A fork of it is cheap, where one of kcut would not be. What a supervisor that was killed leaves behind falls to the
warden, which is a subreaper too, and ends it. kcut asks it by one byte and the descriptors of a call (its control
socket, and two for the output, or none).
"""

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from kcut.system.proc_supervisor import UNCATCHABLE, Bell, Supervisor, describe
from kcut.system.proc_table import STUCK, Process, end, end_marked, family, has_proc, send

#: What kcut asks for: a supervisor; that everything is ended which a lost supervisor (its pid comes) has left; last,
#: that the warden ends: without it kcut was killed.
START, SWEEP, END = b"r", b"s", b"e"
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def settle_signals() -> None:
    """Ignore what can be ignored: only kcut's sockets give orders here. Commands start with the defaults."""
    for number in signal.valid_signals() - UNCATCHABLE - {signal.SIGCHLD}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def adopter() -> Callable[[], bool]:
    """A call that makes the calling process the one that orphans below it fall to; False where there is none."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda: False
    return lambda: bool(prctl(_SUBREAPER, 1, 0, 0, 0) == 0)


class Warden:
    """Forks supervisors, and ends what a supervisor that was killed has left, and what kcut has that was killed.

    `owner` marks what kcut starts without a supervisor: a variable's name, and its value.
    """

    def __init__(self, channel: socket.socket, *, adopts: bool, owner: tuple[str, str]) -> None:
        self.channel = channel
        self.owner = owner
        self.told = False
        self.adopt = adopter()
        self.adopts = adopts and has_proc() and self.adopt()
        self.bell = Bell()
        self.live: set[int] = set()

    def serve(self) -> None:
        """Until kcut closes its end, or is gone; then until everything has ended."""
        while True:
            ready = self.bell.wait(None, self.channel.fileno())
            if self.collect():
                end(self.orphans, self.reap)
            if ready and not self.answer():
                break
        if not self.told:
            self.end_owned()
        self.outlast(self.live.copy(), STUCK + 5.0)
        for pid in self.live:
            send(pid, signal.SIGKILL)
        self.outlast(self.live.copy(), STUCK)
        end(self.orphans, self.reap)

    def end_owned(self) -> None:
        """End what kcut was doing itself when it was killed; what it was just starting shows a moment later."""
        for pause in (0.0, 0.1):
            time.sleep(pause)
            end_marked(*self.owner)

    def outlast(self, pids: set[int], seconds: float) -> None:
        """Wait until these supervisors have ended, or so long."""
        deadline = time.monotonic() + seconds
        while self.live & pids and (left := deadline - time.monotonic()) > 0:
            self.bell.wait(left)
            self.collect()

    def answer(self) -> bool:
        """Do what kcut asks for next; False at the end of its asking."""
        size = socket.CMSG_SPACE(3 * 4)
        try:
            said, ancillary, _, _ = self.channel.recvmsg(1, size, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        except OSError:
            return False
        if not said or said == END:
            self.told = bool(said)
            return False
        handles: list[int] = []
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                cut = len(data) - len(data) % 4
                handles += [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, cut, 4)]
        for handle in handles:
            os.set_inheritable(handle, False)
        if handles:  # none: this process was out of descriptors, and kcut's end reads EOF
            with socket.socket(fileno=handles[0]) as control, contextlib.suppress(OSError):
                (self.start if said == START else self.sweep)(control, handles[1:])
        for handle in handles[1:]:
            os.close(handle)
        return True

    def start(self, control: socket.socket, streams: list[int]) -> None:
        """Fork a supervisor for one call."""
        try:
            pid = os.fork()
        except OSError as error:
            control.sendall(b"E\0cannot start a process: " + describe(error) + b"\n")
            return
        if pid:
            self.live.add(pid)
            return
        status = 1
        try:
            self.channel.close()
            self.bell.close()
            try:
                supervisor = Supervisor(control, streams, adopts=self.adopts and self.adopt())
            except OSError as error:
                control.sendall(b"E\0cannot start a process: " + describe(error) + b"\n")
            else:
                supervisor.run()
            status = 0
        finally:
            os._exit(status)

    def sweep(self, control: socket.socket, _streams: list[int]) -> None:
        """End what the supervisor has left whose pid comes on the socket; it has been killed, or is about to be."""
        control.settimeout(STUCK)
        self.outlast({int(control.recv(32) or b"0")}, STUCK)
        control.sendall(b"%d\n" % len(end(self.orphans, self.reap)))

    def orphans(self) -> dict[int, Process]:
        """What dead supervisors left: every descendant that is not below a living one."""
        return family(os.getpid(), without=self.live) if self.adopts else {}

    def collect(self) -> bool:
        """Collect what has ended; True if a supervisor came to a bad end, so that there may be orphans."""
        lost = False
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
                if pid == 0:
                    break
                if os.WIFSTOPPED(status):
                    if pid in self.live:  # none of ours ever stops by itself: a command did it
                        send(pid, signal.SIGCONT)
                elif pid in self.live:
                    self.live.remove(pid)
                    lost = lost or status != 0
        return lost

    def reap(self, seconds: float) -> bool:
        """Collect what has ended, waiting at most so long for something to; False once no orphan is left."""
        if seconds:
            self.bell.wait(seconds)
        self.collect()
        # A look at a table that changes meanwhile may miss a process; it does not miss it twice.
        return any(not one.dead for _ in range(2) for one in self.orphans().values())


def main(handle: int, *, adopts: bool, owner: tuple[str, str]) -> None:
    """Serve the socket with that descriptor."""
    gc.disable()
    settle_signals()
    os.chdir("/")
    channel = socket.socket(fileno=handle)
    channel.set_inheritable(False)
    Warden(channel, adopts=adopts, owner=owner).serve()

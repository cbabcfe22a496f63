"""Starting a program in a session of its own, so that a key at the terminal never reaches it half-way."""

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Mapping, Sequence

_CHUNK = 1 << 16
#: What a pipe takes at once when it says that it can be written to.
_PIPE = 512
_NULL = os.devnull
#: Python ignores these; a program that is started from it expects them as they are by default.
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
#: From this on no descriptor is the program's; those that kcut opens close by themselves.
_CLOSED = [(os.POSIX_SPAWN_CLOSEFROM, 3)] if hasattr(os, "POSIX_SPAWN_CLOSEFROM") else []


class Child:
    """A program that was started, and the pipes to it. Used from one thread; `kill` may be called from any.

    It has its session before it takes a signal: the stop of a ^Z cannot hold it between its start and that, where
    the thread that starts it cannot be stopped, and with it the whole process would not be.
    """

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], *, feed: bool, errors: bool) -> None:
        """Start it, with an empty stdin unless `feed`, stderr thrown away unless `errors`. OSError if that fails."""
        self.code: int | None = None
        self._in = self._out = self._err = -1
        theirs: list[int] = []
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = []
        try:
            for number, wanted in ((0, feed), (1, True), (2, errors)):
                if not wanted:
                    actions.append((os.POSIX_SPAWN_OPEN, number, _NULL, os.O_WRONLY if number else os.O_RDONLY, 0))
                    continue
                reader, writer = os.pipe()
                mine, other = (reader, writer) if number else (writer, reader)
                theirs.append(other)
                self._keep(number, mine)
                actions.append((os.POSIX_SPAWN_DUP2, other, number))
            self.pid = os.posix_spawnp(
                argv[0],
                list(argv),
                env,
                file_actions=[*actions, *_CLOSED],
                setsid=True,
                setsigmask=(),
                setsigdef=_RESTORED,
            )
        except BaseException:
            self._close()
            raise
        finally:
            for handle in theirs:
                os.close(handle)

    def communicate(self, data: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Give it `data`, read its output to the end, wait for it. TimeoutError after so many seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        parts: dict[int, list[bytes]] = {self._out: [], self._err: []}
        out, err = self._out, self._err
        left = memoryview(data or b"")
        with selectors.PollSelector() as waiting:
            for handle in (out, err):
                if handle >= 0:
                    waiting.register(handle, selectors.EVENT_READ)
            if left:
                os.set_blocking(self._in, False)
                waiting.register(self._in, selectors.EVENT_WRITE)
            elif self._in >= 0:
                self._drop(self._in)
            while waiting.get_map():
                for key, _ in waiting.select(_left(deadline)):
                    if key.fd == self._in:
                        left = left[self._feed(left) :]
                        over = not left
                    else:
                        part = os.read(key.fd, _CHUNK)
                        parts[key.fd].append(part)
                        over = not part
                    if over:
                        waiting.unregister(key.fd)
                        self._drop(key.fd)
        self._wait(deadline)
        return b"".join(parts[out]), b"".join(parts[err])

    def head(self, size: int) -> bytes:
        """The first `size` bytes of its output, fewer if there are no more."""
        data = b""
        while len(data) < size and (part := os.read(self._out, min(_CHUNK, size - len(data)))):
            data += part
        return data

    def kill(self) -> None:
        """End it and what it started, as far as that stayed in its process group."""
        if self.code is None:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes and wait for its end."""
        self._close()
        self._wait(None)

    def _feed(self, data: memoryview) -> int:
        """How much of `data` it took; all of it if it reads no more."""
        try:
            return os.write(self._in, data[:_PIPE])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            return len(data)

    def _wait(self, deadline: float | None) -> None:
        while self.code is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if deadline is None else os.WNOHANG)
            except ChildProcessError:
                self.code = 0  # its end was thrown away: kcut was started with SIGCHLD ignored
                return
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(min(0.005, _left(deadline) or 0.0))

    def _keep(self, number: int, handle: int) -> None:
        if number == 0:
            self._in = handle
        elif number == 1:
            self._out = handle
        else:
            self._err = handle

    def _drop(self, handle: int) -> None:
        os.close(handle)
        if handle == self._in:
            self._in = -1
        elif handle == self._out:
            self._out = -1
        else:
            self._err = -1

    def _close(self) -> None:
        for handle in (self._in, self._out, self._err):
            if handle >= 0:
                self._drop(handle)


def _left(deadline: float | None) -> float | None:
    """Seconds until then. Raises TimeoutError if it has passed."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left

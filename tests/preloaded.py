"""kcut as a real process whose imports are behind it: a process that forks once for each command a test runs.

Starting Python and importing kcut takes most of the time of a short command. Everything else is as in a
process of its own: arguments, environment, folder, streams, signals, exit code. Tests that are about the start
itself run `python -m kcut`.
"""

import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

#: What Python reads once, when it starts: a command with values of its own gets a Python of its own.
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
LIBRARIES = ("markdown_it", "pathspec", "pygit2", "rich.console", "rich.live", "rich.progress", "tabulate", "yaml")
MOST = 1 << 22


class Preloaded:
    """Runs commands in forks of one process; a context manager. One command at a time, others start anew."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST)
        self._env = dict(os.environ)
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd="/", stdin=subprocess.DEVNULL)
        theirs.close()
        self._free = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.wait()

    def run(
        self, args: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        """What `kcut args...` left, as `subprocess.run` has it."""
        command = [sys.executable, "-m", "kcut", *args]
        if not self._same_start(env) or not self._free.acquire(blocking=False):
            return subprocess.run(
                command,
                cwd=cwd,
                env=env,
                input=stdin,
                capture_output=True,
                text=True,
                errors="backslashreplace",
                timeout=timeout,
                check=False,
            )
        try:
            return self._fork(command, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
        finally:
            self._free.release()

    def _same_start(self, env: Mapping[str, str]) -> bool:
        names = {name for name in (*env, *self._env) if name.startswith(AT_START)}
        return all(env.get(name) == self._env.get(name) for name in names - {"PYTHONPATH"})

    def _fork(
        self, command: list[str], *, cwd: Path, env: Mapping[str, str], stdin: str, timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        wish = json.dumps({"args": command[3:], "cwd": os.fspath(cwd), "env": dict(env)}).encode()
        socket.send_fds(self._socket, [wish], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        texts = ["", ""]

        def write() -> None:
            with suppress(BrokenPipeError), os.fdopen(pipes[0][1], "w", encoding="utf-8") as stream:
                stream.write(stdin)

        def read(place: int) -> None:
            with os.fdopen(pipes[place + 1][0], encoding="utf-8", errors="backslashreplace") as stream:
                texts[place] = stream.read()

        threads = [
            threading.Thread(target=write),
            *(threading.Thread(target=read, args=(place,)) for place in (0, 1)),
        ]
        for thread in threads:
            thread.start()
        pid = int(self._socket.recv(64))
        self._socket.settimeout(timeout)
        try:
            code = int(self._socket.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(64)
            raise subprocess.TimeoutExpired(command, timeout) from None
        self._socket.settimeout(None)
        for thread in threads:
            thread.join()
        return subprocess.CompletedProcess(command, code, *texts)


def serve(channel: socket.socket) -> dict[str, Any] | None:
    """Fork for each wish; returns in the forks with their wish, and None when nobody is left to wish."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, MOST, 3)
        if not data:
            return None
        if not (pid := os.fork()):
            channel.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            wish: dict[str, Any] = json.loads(data)
            return wish
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(args: list[str], cwd: str, env: dict[str, str]) -> None:
    """Be `python -m kcut args...`."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None
    sys.argv = ["kcut", *args]
    sys.path.insert(0, cwd)
    encoding = sys.__stdout__.encoding if sys.__stdout__ else "utf-8"
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), encoding)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), encoding)  # type: ignore[misc]
    stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), encoding, "backslashreplace", line_buffering=True)
    sys.stderr = sys.__stderr__ = stderr  # type: ignore[misc]
    runpy.run_module("kcut", run_name="__main__", alter_sys=True)


def preload() -> None:
    """Import all of kcut, but for what runs when it is imported."""
    import kcut

    for module in pkgutil.walk_packages(kcut.__path__, "kcut."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    preload()
    if (asked := serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        become(**asked)

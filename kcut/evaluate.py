"""Runs a spec's checks, one after the other, and says which criteria hold."""

import difflib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kcut.checkpoint import Check, Criterion, Spec
from kcut.model.errors import UsageFault
from kcut.redact import redact
from kcut.system.clock import SystemClock
from kcut.system.proc import Ran, Supervisors

#: Where a spec is looked for if none is named, the first folder that has one.
SPEC_FOLDERS = ("specs", "docs/specs")
#: The largest spec that is read, in bytes.
MAX_SPEC = 1 << 20
#: What a shell exits with if it cannot run a command, or cannot find it.
_NOT_RUN = (126, 127)


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """What came of one criterion.

    `exit` is the check's exit code as a shell shows it (128 + N after signal N); None if it has none: MANUAL, a
    timeout, or a check that could not be started, for which `error` says why. `broken` means that the FAIL may say
    more about the check than about the criterion: exit 126 or 127, a timeout, or not started. `output` is the end of
    what the check printed, if that was kept.
    """

    criterion: Criterion
    result: Literal["PASS", "FAIL", "MANUAL"]
    exit: int | None = None
    timed_out: bool = False
    broken: bool = False
    error: str | None = None
    output: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results in the order of the spec. `ended` counts processes that checks had left running.

    `interrupted` is True if kcut was told to stop: the check that ran then, and those after it, have no result.
    """

    results: tuple[CriterionResult, ...]
    ended: int = 0
    interrupted: bool = False

    def _count(self, result: str) -> int:
        return sum(1 for each in self.results if each.result == result)

    @property
    def passed(self) -> int:
        """How many criteria passed."""
        return self._count("PASS")

    @property
    def failed(self) -> int:
        """How many criteria failed."""
        return self._count("FAIL")

    @property
    def manual(self) -> int:
        """How many criteria a person has to decide."""
        return self._count("MANUAL")

    @property
    def failing(self) -> tuple[str, ...]:
        """The ids of the criteria that failed."""
        return tuple(each.criterion.id for each in self.results if each.result == "FAIL")

    @property
    def passes(self) -> bool:
        """The score of a trial: no check failed, and at least one passed."""
        return not self.interrupted and self.failed == 0 and self.passed > 0

    @property
    def broken(self) -> bool:
        """True if checks ran and every one of them is broken: they say nothing about what they were to check."""
        ran = [each for each in self.results if each.result != "MANUAL"]
        return bool(ran) and all(each.broken for each in ran)

    @property
    def error(self) -> str | None:
        """Why the first check that could not be started was not."""
        return next((each.error for each in self.results if each.error is not None), None)


def read_spec(path: Path, cwd: Path = Path()) -> str:
    """The text of a spec file, whose path is meant from `cwd`.

    Raises UsageFault if it is missing, no regular file, too large or no UTF-8.
    """
    shown = str(path) if str(path).isprintable() else ascii(str(path))
    try:
        data = _read_regular(cwd / path, MAX_SPEC + 1)
    except OSError as error:
        if error.errno == errno.ENOENT:
            near = _nearest_spec(path, cwd)
            remedy = f"did you mean: {near}" if near else "see: kcut checkpoint -h"
            raise UsageFault(f"there is no spec {shown}", remedy=remedy) from None
        if error.errno == errno.EISDIR:
            raise UsageFault(f"{shown} is a folder", remedy="name a Markdown file in it") from None
        raise UsageFault(f"cannot read the spec {shown}: {error.strerror}") from None
    if data is None:
        raise UsageFault(f"{shown} is no regular file", remedy="name a Markdown file with acceptance criteria")
    if len(data) > MAX_SPEC:
        raise UsageFault(
            f"{shown} is too large for a spec: more than {MAX_SPEC // 1024} KiB", remedy="split it into several files"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageFault(
            f"{shown} is not UTF-8 text: line {line} holds the byte 0x{data[error.start]:02x}",
            remedy="save it as UTF-8",
        ) from None


def _nearest_spec(path: Path, cwd: Path) -> str | None:
    """The path, as one would type it in `cwd`, of the spec most like one that is missing; None if none is."""
    found: dict[str, None] = {}
    for folder in dict.fromkeys((path.parent, *map(Path, SPEC_FOLDERS))):
        try:
            with os.scandir(cwd / folder) as entries:
                names = sorted(entry.name for entry in entries if entry.is_file())
        except OSError:
            continue
        found |= {str(folder / name): None for name in names if name.endswith(".md") and name.isprintable()}
    by_name = {Path(each).name: each for each in reversed(found)}
    near = difflib.get_close_matches(str(path), found, n=1) or difflib.get_close_matches(path.name, by_name, n=1)
    return by_name.get(near[0], near[0]) if near else None


def _read_regular(path: Path, limit: int) -> bytes | None:
    """At most `limit` bytes of a file; None if it is none. A FIFO or a device is not waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with open(handle, "rb") as file:  # noqa: PTH123  # a descriptor, not a path; a folder raises here
        return file.read(limit) if stat.S_ISREG(os.fstat(handle).st_mode) else None


def evaluate(
    spec: Spec,
    *,
    runner: Supervisors,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None = None,
    keep: int = 0,
    on_result: Callable[[CriterionResult], None] | None = None,
) -> Evaluation:
    """Run the checks of a spec in order, each from `cwd` and with `env`; the last `keep` bytes they print are kept.

    `timeout` limits all checks together, in seconds; what no time is left for has timed out. `on_result` is told
    each result as it comes. What goes wrong with a check is its FAIL; nothing is raised.
    """
    clock = SystemClock()
    deadline = None if timeout is None else clock.monotonic() + timeout
    results: list[CriterionResult] = []
    ended = 0
    for criterion in spec.criteria:
        if criterion.check is None:
            result = CriterionResult(criterion, "MANUAL")
        else:
            left = None if deadline is None else deadline - clock.monotonic()
            ran = _run(criterion.check, runner, cwd=cwd, env=env, left=left, keep=keep)
            ended += ran.ended
            if ran.interrupted:
                return Evaluation(tuple(results), ended, interrupted=True)
            result = _judge(criterion, ran)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return Evaluation(tuple(results), ended)


def _run(
    check: Check, runner: Supervisors, *, cwd: Path, env: Mapping[str, str], left: float | None, keep: int
) -> Ran:
    if left is not None and left <= 0:
        return Ran((), None, 0.0, timed_out=True)
    timeout = check.timeout if left is None else min(check.timeout, left)
    argv = ["/bin/sh", "-c", check.command]
    if check.shell == "bash":
        bash = _bash(env)
        if bash is None:
            return Ran(("bash",), None, 0.0, error="there is no bash on PATH")
        argv = [bash, "-euo", "pipefail", "-c", check.command]
    return runner.run(argv, cwd=cwd, env=env, timeout=timeout, keep=keep)


def _bash(env: Mapping[str, str]) -> str | None:
    """The bash that PATH names. A relative entry of PATH means another place in every folder: it is left out."""
    entries = env.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which("bash", path=os.pathsep.join(entry for entry in entries if entry.startswith("/")))


def _judge(criterion: Criterion, ran: Ran) -> CriterionResult:
    """PASS only if the check ran to its end, in time, and exited 0."""
    if ran.timed_out or ran.error is not None or ran.code is None:
        error = None if ran.timed_out else ran.error or "it has no exit code"
        return CriterionResult(criterion, "FAIL", None, ran.timed_out, broken=True, error=error)
    code = ran.code if ran.code >= 0 else 128 - ran.code
    printed = ran.stdout + ran.stderr
    output = redact(printed.decode("utf-8", "replace"))[0] if printed else ""
    return CriterionResult(criterion, "PASS" if code == 0 else "FAIL", code, broken=code in _NOT_RUN, output=output)

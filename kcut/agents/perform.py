"""One run of an agent CLI: its folders, its program, its stream as it passes by, and what became of it."""

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kcut.agents import classify, read_output
from kcut.agents.adapter import Adapter, Component, Errand, Launch, Place
from kcut.agents.brief import Brief, take_brief
from kcut.agents.command import NAME as COMMAND
from kcut.agents.component import known_as
from kcut.agents.events import Run
from kcut.agents.place import SIDECAR, environment, find_program, logged_in, open_place, write_within
from kcut.agents.report import AgentReport, Ending
from kcut.agents.sidecar import Sidecar, parse_sidecar, sidecar_bytes
from kcut.agents.values import DECODER, label
from kcut.agents.watch import Watch
from kcut.model.errors import NotReady
from kcut.model.outcome import Void
from kcut.model.trial import Tokens, Usage
from kcut.system.files import read_regular
from kcut.system.folder import Folder
from kcut.system.proc import Ran, Supervisors

#: How much of the end of each stream is kept for the terminal event, in bytes.
TAIL = 1024 * 1024
#: What the rounds so far have used, noted beside the sidecar.
SPENT = "agent-spent.json"
#: Exit codes of `kcut agent`.
EXIT_RAN, EXIT_FAILED, EXIT_VOID = 0, 1, 75
#: From TERM to KILL, in seconds. In a trial, whose own grace is 5 s, there has to be time for the last words.
GRACE, GRACE_IN_TRIAL = 5.0, 4.0
_VERSION = re.compile(rb"\d+\.\d+[0-9A-Za-z.+-]*")
_PLATFORM = re.compile(r"-(?:linux|darwin|win32)-\w+$")


@dataclass(frozen=True, slots=True)
class Order:
    """What `kcut agent` is asked to do. `errand` lacks what only the brief knows; times in seconds."""

    adapter: Adapter
    errand: Errand
    executable: str | None = None
    timeout: float | None = None
    price: Callable[[str, Tokens], float | None] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What became of it. `stopped`: kcut itself was told to stop."""

    report: AgentReport
    sidecar: Sidecar
    exit_code: int
    stopped: bool


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of a run while it goes on: its stdout and stderr as they come, and its command line."""

    out: Callable[[bytes], None]
    err: Callable[[bytes], None]
    tell: Callable[[str], None] = lambda _line: None


def perform(order: Order, environ: Mapping[str, str], supervisors: Supervisors, listeners: Listeners) -> Done:
    """Run the agent to its end and write the sidecar. NotReady or UsageFault if it could not be started."""
    _discard(environ)
    return _Run(order, take_brief(environ), environ, supervisors, listeners).perform()


def record_unstarted(name: str, environ: Mapping[str, str]) -> None:
    """Say in the sidecar that the agent of that name could not be started, so that the trial is void."""
    _record(environ, Sidecar(Usage(), Void.STARTUP, agent=label(name)))


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of an agent."""

    order: Order
    brief: Brief | None
    environ: Mapping[str, str]
    supervisors: Supervisors
    listeners: Listeners

    def perform(self) -> Done:
        adapter, brief = self.order.adapter, self.brief
        goes_on = brief is not None and brief.round > 0
        with open_place(self.environ, goes_on=goes_on) as (place, root):
            errand = replace(
                self.order.errand, session=brief.session if brief else None, resumes=goes_on and root.has(SPENT)
            )
            launch = adapter.launch(errand, place, self.environ)
            program = find_program(adapter, self._named(), self.environ)
            component = _component(brief, errand.cwd)
            watch = Watch(adapter, component, brief.oracle if brief else ())
            with logged_in(adapter, self.environ, place, root):
                ran = self._start(errand, launch, (place, root), program, watch)
            watch.close()
            if ran.error is not None and not watch.ended:  # its last word counts, whatever became of what watched it
                raise NotReady(f"{adapter.name} could not be run: {ran.error}")
            report = self._judge(ran, watch, component)
            usage = _completed(report.usage, adapter, watch, errand)
            if usage.agent_version is None:
                usage = replace(usage, agent_version=_version(program, place, self.supervisors))
            if brief is not None:
                usage = _own(usage, root, subtract=errand.resumes and adapter.cumulative)
            price = self.order.price
            if usage.cost_usd is None and price is not None and usage.model and usage.tokens:
                usage = replace(usage, cost_usd=price(usage.model, usage.tokens))
            return self._finish(replace(report, usage=usage), ran, watch, root)

    def _named(self) -> str | None:
        """The program that the caller named."""
        words = self.order.errand.args
        if self.order.adapter.name == COMMAND:
            return words[0]
        return self.order.executable

    def _start(self, errand: Errand, launch: Launch, places: tuple[Place, Folder], program: str, watch: Watch) -> Ran:
        place, root = places
        files = dict(launch.files)
        argv = [program, *launch.args]
        if launch.feeds:
            prompt = place.config / "kcut-prompt"
            files[prompt] = os.fsencode(errand.prompt)
            argv = ["/bin/sh", "-c", 'exec "$@" <"$0"', str(prompt), *argv]
        try:
            for path, data in files.items():
                write_within(root, path, data)
        except OSError as error:
            raise NotReady(f"the agent's configuration cannot be written: {error.strerror or error}") from error
        self.listeners.tell(" ".join("PROMPT" if word == errand.prompt else word for word in argv))
        return self.supervisors.run(
            argv,
            cwd=errand.cwd,
            env=environment(self.environ, self.brief, place, launch, errand.cwd),
            timeout=self.order.timeout,
            grace=GRACE_IN_TRIAL if self.environ.get(SIDECAR) else GRACE,
            keep=TAIL,
            hear=(_both(self.listeners.out, watch.feed), _Lines(self.order.adapter, watch, self.listeners.err).feed),
        )

    def _judge(self, ran: Ran, watch: Watch, component: Component | None) -> AgentReport:
        """The first row that fits: the manipulation check, then what the stream's end and the exit code say.

        Who was told to stop does not know by whom: it says what a time limit would say; the trial knows the rest.
        """
        name, stopped = self.order.adapter.name, self.supervisors.stopped
        timed_out = ran.timed_out or stopped
        report = None
        if name == COMMAND:
            report = read_output(ran.stdout, ran.stderr, exit_code=ran.code, timed_out=timed_out, sent_signal=stopped)
        if report is None:
            report = classify(name, ran.stdout, ran.stderr, ran.code, timed_out=timed_out, sent_signal=stopped)
        if self.brief is None or component is None or watch.shown in {None, self.brief.present}:
            return report
        seen = "is not in its first event" if self.brief.present else "is in its first event although it was withheld"
        why = f"{name}: the {component.kind} {component.name} {seen}"
        return replace(report, void=Void.MANIPULATION, late=False, why=why, retry_after_s=None)

    def _finish(self, report: AgentReport, ran: Ran, watch: Watch, root: Folder) -> Done:
        """The sidecar is written, and the exit code decided.

        Who was told to stop leaves a sidecar only if it says void: the rest the trial reads in the stream, and it
        alone knows who told.
        """
        stopped = self.supervisors.stopped
        sidecar = Sidecar(
            report.usage,
            report.void,
            agent=report.cli,
            component_reached=watch.shown,
            component_used=watch.used,
            tamper=watch.mentions if self.brief is not None and self.brief.oracle else None,
            retries=watch.retries,
            late=report.late,
            retry_after_s=report.retry_after_s,
        )
        if report.void is not None or not stopped:
            _record(self.environ, sidecar, root)
        else:
            _discard(self.environ, root)
        if report.void is not None:
            code = EXIT_VOID
        else:
            failed = ran.code != 0 or ran.timed_out or report.usage.is_error is True
            code = EXIT_FAILED if failed else EXIT_RAN
        return Done(report, sidecar, code, stopped)


def _component(brief: Brief | None, cwd: Path) -> Component | None:
    if brief is None or brief.name is None or brief.kind is None:
        return None
    return known_as(brief.kind, brief.name, cwd)


class _Lines:
    """Passes stderr on, and counts the retry notices in it."""

    def __init__(self, adapter: Adapter, watch: Watch, err: Callable[[bytes], None]) -> None:
        self._adapter, self._watch, self._err = adapter, watch, err
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        self._err(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-65536:]
        self._watch.retries += sum(self._adapter.retry_line(line.decode("utf-8", "replace")) for line in lines)


def _both(first: Callable[[bytes], None], second: Callable[[bytes], None]) -> Callable[[bytes], None]:
    def feed(data: bytes) -> None:
        first(data)
        second(data)

    return feed


def _completed(usage: Usage, adapter: Adapter, watch: Watch, errand: Errand) -> Usage:
    """With the model and the version that only the stream's beginning or the command line tell."""
    opening = Usage()
    if watch.opening is not None:
        opening = adapter.read(Run((watch.opening,), None, cut=False, end=0), Ending(None), "").usage
    return replace(
        usage,
        model=usage.model or opening.model or label(errand.model),
        agent_version=usage.agent_version or opening.agent_version,
    )


def _own(usage: Usage, root: Folder, *, subtract: bool) -> Usage:
    """What this round alone used, noted for the next. `subtract`: the CLI counts from its session's beginning."""
    before = Usage()
    if subtract:
        with contextlib.suppress(OSError):
            noted = parse_sidecar(root.read(SPENT, limit=TAIL))
            before = noted.usage if noted else before
    with contextlib.suppress(OSError):
        root.write(SPENT, sidecar_bytes(Sidecar(usage, None)))
    cost, tokens = usage.cost_usd, usage.tokens
    if cost is not None and before.cost_usd is not None and cost >= before.cost_usd:
        cost -= before.cost_usd
    if tokens is not None and before.tokens is not None:
        tokens = _less(tokens, before.tokens)
    return replace(usage, cost_usd=cost, tokens=tokens)


def _less(tokens: Tokens, before: Tokens) -> Tokens:
    """The difference; all of it if the session did not go on after all."""
    left = (
        tokens.input - before.input,
        tokens.output - before.output,
        tokens.cache_read - before.cache_read,
        tokens.cache_creation - before.cache_creation,
    )
    return tokens if min(left) < 0 else Tokens(*left)


def _version(program: str, place: Place, supervisors: Supervisors) -> str | None:
    """The CLI's version: what its npm package says, else what it prints itself."""
    for folder in Path(os.path.realpath(program)).parents[:8]:
        if folder.name == "node_modules":
            break
        with contextlib.suppress(OSError, ValueError, RecursionError):
            package = DECODER.decode(read_regular(folder / "package.json", limit=TAIL).decode("utf-8"))
            if isinstance(package, dict) and isinstance(version := package.get("version"), str):
                return label(_PLATFORM.sub("", version))
    env = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    env |= {"HOME": str(place.home), "TMPDIR": str(place.temporary)}
    told = supervisors.run([program, "--version"], cwd=place.home, env=env, timeout=10.0, grace=0.5, keep=4096)
    found = _VERSION.search(told.stdout) if told.code == 0 else None
    return label(found[0].decode()) if found else None


def _discard(environ: Mapping[str, str], root: Folder | None = None) -> None:
    """No sidecar of an earlier round, or of the agent's own making, is left."""
    if path := environ.get(SIDECAR):
        with contextlib.suppress(OSError), _folder_of(Path(path), root) as folder:
            folder.remove(Path(path).name)


def _record(environ: Mapping[str, str], sidecar: Sidecar, root: Folder | None = None) -> None:
    """Write the sidecar, if there is a trial that reads it. `root`: its folder, if that is open already."""
    if not (path := environ.get(SIDECAR)):
        return
    try:
        with _folder_of(Path(path), root) as folder:
            folder.write(Path(path).name, sidecar_bytes(sidecar))
    except OSError as error:
        raise NotReady(f"the sidecar {path} cannot be written: {error.strerror or error}") from error


def _folder_of(path: Path, root: Folder | None) -> contextlib.AbstractContextManager[Folder]:
    return Folder(path.parent) if root is None else contextlib.nullcontext(root)

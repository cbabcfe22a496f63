"""The command line: the only place that prints errors and exits.

Start-up loads click and nothing heavy: a command's module is imported when the command is named.
"""

import contextlib
import importlib
import os
import signal
import sys
from typing import NoReturn

import click

from kcut import __version__
from kcut.model.errors import EXIT_BUG, EXIT_USAGE, KcutError
from kcut.system import signals
from kcut.system.faults import MACHINE_FAULTS, mend

#: name -> (one line of help). The module of a command is `kcut.cli.<name>`, its command object `command`.
COMMANDS = {
    "benchmark": "Run a task with and without a component, and say whether it earns its keep.",
    "checkpoint": "Run the checks of a spec's acceptance criteria.",
    "rubric": "Score a draft skill against the extract rubric (R1 to R5).",
    "gate": "Say for each component whether its benchmark lets it through.",
    "agent": "Run a real agent CLI as the task of a trial, or say what its output means.",
    "demo": "Make a small repository, benchmark in it, and explain the result line by line.",
    "aa": "Run the component against itself: how often does the harness give a KEEP?",
    "plan": "Say how many trials it takes to see an effect.",
    "check": "Say whether a run's evidence is sound: drift, position, outliers, a score that flips.",
    "decide": "Decide from trials that kcut did not run: CSV or JSON rows.",
    "score": "Score recorded event streams of agents: did they test what they claim?",
    "components": "List the components of this checkout, each with its latest verdict.",
    "init": "Write the beginning of a component's manifest.",
    "history": "List the runs of this checkout.",
    "show": "Show one run, trial by trial.",
    "report": "Render runs and artifacts as a table, Markdown, a page with charts, JUnit XML or CSV.",
    "doctor": "Check whether this machine and checkout are ready for a benchmark.",
    "clean": "Remove what dead kcut processes left behind.",
    "schema": "Print the JSON Schema of a file that kcut writes or reads.",
    "completion": "Print the completion script of a shell.",
}

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "KCUT", "max_content_width": 100}


class _ReaderGone(Exception):
    """Whoever read the output went away (`kcut history | head`): what it wanted it has."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table: the main job first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"kcut.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the nearest name in the message."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean: kcut {near[0]}" if near else "see: kcut -h"
            raise KcutError(f"there is no command {name!r}", remedy=hint)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """As click's, which would turn a reader that went away into exit 1: a verdict that nobody gave."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGone from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table: no command's module is loaded for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings=CONTEXT)
@click.version_option(__version__, message="kcut %(version)s")
def app() -> None:
    """Does this component earn its keep?

    kcut runs a task k times with a component of a coding agent and k times without it, each trial in its own
    throwaway git worktree, scores every trial, and writes a verdict.

    \b
    Examples:
      kcut demo
      kcut benchmark --component tidy-imports --task ./run.sh --spec specs/tidy.md
      kcut gate tidy-imports
    """


def complain(message: str, remedy: str | None = None) -> None:
    """Print a fault and its remedy on stderr, as every command does."""
    with contextlib.suppress(OSError):  # nobody may be listening any more
        click.echo(f"kcut: {message}", err=True)
        for line in (remedy or "").splitlines():
            click.echo(f"      {line}", err=True)


def _bug(error: BaseException) -> int:
    """Write the traceback where the user can find it, and say where."""
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile("w", prefix="kcut-bug-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(f"kcut {__version__}  python {sys.version.split()[0]}  {sys.platform}\n{text}")
    complain(f"a bug in kcut: {type(error).__name__}: {error}", f"please report it with this log: {log.name}")
    return EXIT_BUG


def run(args: list[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing is raised."""
    try:
        result = app.main(args=args, prog_name="kcut", standalone_mode=False)
    except KcutError as error:
        complain(error.message, error.remedy)
        return error.exit_code
    except click.exceptions.Abort:
        complain("not confirmed; nothing was started, no run was recorded")
        return EXIT_USAGE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return EXIT_USAGE
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        complain(error.format_message(), f"see: {context.command_path} -h" if context else None)
        return EXIT_USAGE
    except _ReaderGone:
        _silence_output()
        return 141
    except OSError as error:
        if error.errno not in MACHINE_FAULTS:
            return _bug(error)
        if error.filename is None:
            complain(f"{error.strerror or error}: the result could not be written")
        else:
            where = os.fsdecode(error.filename)
            complain(f"{error.strerror or error}: {where}", f"{mend(error, where, 'accessible')}, then run again")
        return EXIT_USAGE
    except Exception as error:  # noqa: BLE001  # the last net: a bug must not look like a verdict
        return _bug(error)
    return result if isinstance(result, int) else 0


def main() -> NoReturn:
    """The entry point `kcut`."""
    if sys.platform not in {"linux", "darwin"}:
        complain(f"kcut runs on Linux and macOS, not on {sys.platform}")
        sys.exit(EXIT_USAGE)
    try:
        signals.raise_told()
        _open_streams()
        code = run()
        signals.ignore()  # the exit code is decided
    except signals.Told as told:
        complain(f"stopped by {signal.Signals(told.signum).name}")
        code = 128 + told.signum
        signals.ignore()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_output()
        code = code or 141
    except OSError as error:
        _silence_output()
        complain(f"{error.strerror}: the result could not be written")
        code = EXIT_USAGE
    sys.exit(code)


def _silence_output() -> None:
    """Send what is still to be flushed at exit nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Open closed standard streams (`kcut ... >&-`): else the next file that kcut opens would take their place."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(handle, True)
    os.close(handle)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  # as long as the process
            setattr(sys, name, stream)

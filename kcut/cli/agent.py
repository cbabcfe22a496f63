"""`kcut agent`: run one real agent CLI here as the task of a trial, or say what an output of one means."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli.common import emit_json, json_option
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import DURATION
from kcut.model.errors import EXIT_PASS, Interrupted, KcutError, UsageFault

if TYPE_CHECKING:
    from kcut.agents.adapter import Adapter
    from kcut.agents.perform import Done

HELP = """Run one agent CLI here, with a HOME and a configuration of its own, as the task of a trial.

Its event stream goes to stdout. In a trial the sidecar gets cost, tokens, turns, model, version, and the reason
if the trial is void. Credentials come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY)
or from a copy of the CLI's own login, which is removed when it has ended; *_BASE_URL variables are honoured.

\b
Exit codes: 0 the agent ran, 1 it failed, 2 it could not be started, 75 the trial is void.

\b
Examples:
  kcut benchmark --component tidy --task 'kcut agent claude --prompt-file /path/task.md' --score ./score
  kcut agent codex --prompt 'Add a test for the parser.' --model gpt-5.5
  kcut agent command --prompt-file task.md -- my-agent --yes --message-file {prompt_file}
  kcut agent classify claude --exit-code 1 --stdout run.jsonl --json
"""
CLASSIFY = "classify"
_PROMPT_LIMIT = 16 << 20
_RUNS = {
    "claude": "Run Claude Code.",
    "codex": "Run Codex.",
    "gemini": "Run Gemini CLI.",
    "opencode": "Run opencode.",
    "command": "Run any other agent: a command with {prompt} or {prompt_file} in its words.",
    CLASSIFY: "Say what the output of an agent CLI means: ran, or void and why.",
}


class AgentGroup(click.Group):
    """A group with a command for each adapter, those of other packages too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The built-in ones first, and `classify` last."""
        from kcut.agents.registry import adapter_names

        return [*adapter_names(), CLASSIFY]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None if there is none."""
        if cmd_name == CLASSIFY:
            return classify_command
        return _command_of(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the known names in the message."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UsageFault(f"there is no agent {args[0]!r}", remedy=f"known: {', '.join(known)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with a line of help each."""
        rows = [(name, _RUNS.get(name, f"Run {name} (from another package).")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


command = AgentGroup("agent", help=HELP)


def _command_of(name: str) -> click.Command:
    """The command that runs one adapter."""
    takes_words = name == "command"
    params: list[click.Parameter] = [
        click.Option(["--prompt"], metavar="TEXT", help="What the agent is asked to do."),
        click.Option(["--prompt-file"], metavar="FILE", type=click.Path(path_type=Path), help="A file with it."),
        click.Option(["--timeout"], type=DURATION, metavar="TIME", help="End it then: 90s, 10m."),
        click.Option(
            ["-v", "--verbose"], is_flag=True, help="Print the command line, without the prompt, on stderr."
        ),
    ]
    if takes_words:
        params.append(click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="-- CMD..."))
    else:
        params += [
            click.Option(["--model"], metavar="M", help="The model, as the CLI names it."),
            click.Option(["--effort"], metavar="E", help="How hard the model is to think, as the CLI names it."),
            click.Option(
                ["--max-turns"], type=click.IntRange(min=1), metavar="N", help="End it after so many turns."
            ),
            click.Option(["--arg"], multiple=True, metavar="ARG", help="One more argument of the CLI; repeatable."),
            click.Option(["--executable"], metavar="PATH", help="The CLI's program, if it is not on the PATH."),
            click.Option(
                ["--prices"],
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="Prices of models (TOML), for a CLI that reports tokens and no cost.",
            ),
        ]

    def run(**options: Any) -> int:
        from kcut.agents.perform import record_unstarted

        try:
            done, signum = _run(name, **options)
        except KcutError:
            record_unstarted(name, os.environ)
            raise
        if signum is not None:
            raise Interrupted(f"stopped; {done.report.why}", signum=signum)
        _say(done)
        return done.exit_code

    settings = {"ignore_unknown_options": False, "allow_interspersed_args": not takes_words}
    return ConfiguredCommand(
        name, params=params, callback=run, help=_RUNS.get(name, f"Run {name}."), context_settings=settings
    )


def _run(
    name: str,
    *,
    prompt: str | None,
    prompt_file: Path | None,
    timeout: float | None,
    verbose: bool,
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = None,
    arg: tuple[str, ...] = (),
    executable: str | None = None,
    prices: Path | None = None,
    words: tuple[str, ...] = (),
) -> "tuple[Done, int | None]":
    """Run the agent; returns what became of it, and the signal that told kcut to stop."""
    from kcut.agents.adapter import Errand
    from kcut.agents.perform import Listeners, Order, perform
    from kcut.agents.registry import find_adapter
    from kcut.cli.checkout import current_folder
    from kcut.prices import read_prices
    from kcut.system.proc import Supervisors
    from kcut.system.signals import StopSignals

    adapter: Adapter = find_adapter(name)
    errand = Errand(
        prompt=_prompt(prompt, prompt_file),
        cwd=current_folder(),
        model=model,
        effort=effort,
        max_turns=max_turns,
        args=words or arg,
    )
    price = None if prices is None else read_prices(prices).cost
    order = Order(adapter, errand, executable=executable, timeout=timeout, price=price)
    listeners = Listeners(_passed_on(1), _passed_on(2), _teller() if verbose else lambda _line: None)
    with StopSignals() as stop, Supervisors() as supervisors:
        stop.on_stop(supervisors.stop, supervisors.kill)
        done = perform(order, os.environ, supervisors, listeners)
    return done, stop.signum


def _say(done: "Done") -> None:
    """One line on stderr about a void trial: the rest is in the stream and in the sidecar."""
    from kcut.report.text import plain

    if done.report.void is not None:
        click.echo(f"kcut agent: void {done.report.void.value}: {plain(done.report.why)}", err=True)


def _teller() -> Callable[[str], None]:
    from kcut.redact import redact
    from kcut.report.text import plain

    return lambda line: click.echo(f"kcut agent: {plain(redact(line)[0])}", err=True)


def _prompt(prompt: str | None, file: Path | None) -> str:
    """What the agent is asked to do. UsageFault if there is none, or it cannot be given."""
    from kcut.report.text import plain
    from kcut.system.files import read_regular

    if prompt is not None and file is not None:
        raise UsageFault("--prompt and --prompt-file both given", remedy="use one of them")
    if file is not None:
        try:
            prompt = os.fsdecode(read_regular(file, limit=_PROMPT_LIMIT))
        except OSError as error:
            raise UsageFault(f"--prompt-file {plain(str(file))}: {error.strerror or error}") from None
    if prompt is None or not prompt.strip():
        raise UsageFault(
            "no prompt" if prompt is None else "the prompt is empty",
            remedy="give --prompt TEXT or --prompt-file FILE",
        )
    if "\0" in prompt:
        raise UsageFault("the prompt holds a NUL character", remedy="give plain text")
    return prompt


def _passed_on(handle: int) -> Callable[[bytes], None]:
    """Writes to a stream of kcut's own; if nobody reads it any more, the agent goes on all the same."""
    gone = False

    def write(data: bytes) -> None:
        nonlocal gone
        left = memoryview(data)
        while left and not gone:
            try:
                left = left[os.write(handle, left) :]
            except BlockingIOError:
                _wait(handle)
            except OSError:
                gone = True

    return write


def _wait(handle: int) -> None:
    """Until a stream that its reader made non-blocking takes more."""
    import select

    select.select([], [handle], [], 1.0)


@click.command(CLASSIFY)
@click.argument("cli", metavar="CLI")
@click.option("--exit-code", type=int, required=True, metavar="N", help="Its exit code; negative: a signal.")
@click.option("--stdout", "out", metavar="FILE", type=click.Path(path_type=Path), required=True, help="Its stdout.")
@click.option("--stderr", "err", metavar="FILE", type=click.Path(path_type=Path), help="Its stderr.")
@click.option("--timed-out", is_flag=True, help="Kcut's time limit ended it.")
@json_option
def classify_command(*, cli: str, exit_code: int, out: Path, err: Path | None, timed_out: bool, as_json: bool) -> int:
    """Say what the output of an agent CLI means: ran, or void and why.

    CLI is claude, codex, gemini, or the name of another adapter. Decided on the terminal event and the exit code,
    never on words in the model's own text. The exit code is 0 whatever the answer is.

    \b
    Examples:
      kcut agent classify claude --exit-code 1 --stdout run.jsonl
      kcut agent classify gemini --exit-code 173 --stdout out --stderr err --json
    """
    from kcut.agents import classify
    from kcut.report.text import plain

    report = classify(cli, _end(out), _end(err) if err else b"", exit_code, timed_out=timed_out)
    usage, tokens = report.usage, report.usage.tokens
    outcome = "ran" if report.void is None else "void"
    if as_json:
        emit_json(
            {
                "outcome": outcome,
                "reason": report.void and report.void.value,
                "late": report.late,
                "usage": tokens
                and {
                    "input": tokens.input,
                    "output": tokens.output,
                    "cacheRead": tokens.cache_read,
                    "cacheCreation": tokens.cache_creation,
                },
                "costUsd": usage.cost_usd,
                "turns": usage.turns,
                "why": report.why,
            }
        )
        return EXIT_PASS
    late = ", after work had been done" if report.late else ""
    click.echo(outcome if report.void is None else f"void {report.void.value}{late}")
    click.echo(f"  why     {plain(report.why)}")
    click.echo(f"  cost    {'unknown' if usage.cost_usd is None else f'{usage.cost_usd:.6g} USD'}")
    click.echo(f"  tokens  {'unknown' if tokens is None else f'{tokens.input} in, {tokens.output} out'}")
    click.echo(f"  turns   {'unknown' if usage.turns is None else usage.turns}")
    return EXIT_PASS


def _end(path: Path) -> bytes:
    from kcut.agents.perform import TAIL
    from kcut.report.text import plain
    from kcut.system.files import read_end

    try:
        return read_end(path, size=TAIL)
    except OSError as error:
        raise UsageFault(f"{plain(str(path))}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageFault(f"{plain(str(path))}: {error}") from None

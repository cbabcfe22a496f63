"""`kcut check`: is a run's evidence sound?"""

import shutil
import sys
from typing import TYPE_CHECKING

import click

from kcut.cli.checkout import root
from kcut.cli.common import color_option, emit_json, json_option, tell, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import COUNT
from kcut.cli.suggest import runs
from kcut.model.errors import EXIT_FAIL, EXIT_PASS, Interrupted, KcutError, NotReady
from kcut.report.text import count, fold, plain

if TYPE_CHECKING:
    from pathlib import Path

    from kcut.flips import Flips
    from kcut.model.artifact import Warn
    from kcut.model.run import RunRecord
    from kcut.soundness import Looked

HELP = """Say whether a run's evidence is sound: what speaks against it, and what to do.

RUN is a run's id, a unique beginning of one, or last (the default); finished, invalid or interrupted. Looked at are
voids, drift (do equal outcomes stand together in time, does the early half differ from the late one), the place in
the pair, saturation, outliers in time and cost, cohorts that did the same, models, time limits, and the number of
trials. The tests of drift and place are corrected for their number (Holm), so that all of them together give a false
alarm in at most 5 of 100 sound runs.

--rescore R scores every worktree that the run kept (--keep all, or failed: then failures alone) R more times, as a
trial is scored. No task is run, and the kept worktree stays as it is. 0 disagreements in 59 scores say that the
score flips in less than 5 of 100 cases.

Exit codes: 0 nothing to warn of, 1 warnings, 2 usage or set-up, 129/130/143 stopped by HUP/INT/TERM.

\b
Examples:
  kcut check
  kcut check 20261130T151500Z --json
  kcut check last --rescore 10
"""

#: What is looked at, in the words of the line that says that nothing was found.
LOOKED_AT = "voids, time limits, models, identical cohorts, saturation, number of trials, outliers in time and cost"


@click.command("check", cls=ConfiguredCommand, help=HELP)
@click.argument("run", default="last", shell_complete=runs)
@click.option("--rescore", "times", type=COUNT, metavar="R", help="Score each kept worktree R more times.")
@json_option
@color_option
def command(run: str, times: int | None, as_json: bool, color: str) -> int:
    """Look, and print what was found; see HELP."""
    place = root()
    from kcut.flips import of_flips
    from kcut.soundness import look
    from kcut.store import Store

    with Store.open(place, create=False) as store:
        record = store.find(run)
        if record.state == "running":
            raise NotReady(f"run {record.run_id} is going on", remedy="wait until it has ended, or stop it")
        attempts = store.attempts(record.run_id)
    looked, flips = look(record, attempts), None
    warnings = looked.warnings
    if times is not None:
        flips = _rescore(record, times, place)
        warnings += tuple(of_flips(record.plan, flips))

    def show() -> None:
        if as_json:
            emit_json(_document(record, looked, warnings, flips))
        else:
            _print(record, looked, warnings, flips, color=wants_color(color))

    tell(show)
    return EXIT_FAIL if warnings else EXIT_PASS


def _rescore(run: "RunRecord", times: int, place: "Path") -> "Flips":
    import signal

    from kcut.rescore import rescorable, rescore
    from kcut.store import Store
    from kcut.system.git import end_running
    from kcut.system.signals import StopSignals

    found = None
    with StopSignals(end_running) as stop:
        try:
            with Store.open(place) as store:
                trials = rescorable(run, store.attempts(run.run_id))
                click.echo(f"scoring {count(len(trials), 'kept worktree')} {count(times, 'time')} each", err=True)
                found = rescore(run, trials, times, root=place, store=store, stop=stop)
        except KcutError:
            if stop.signum is None:
                raise
    if found is None or stop.signum is not None:
        signum = stop.signum or signal.SIGINT
        done = count(found.scores if found is not None else 0, "score")
        message = f"stopped by {signal.Signals(signum).name} after {done}; nothing was left behind"
        raise Interrupted(message, signum=signum)
    return found


def _document(
    run: "RunRecord", looked: "Looked", warnings: "tuple[Warn, ...]", flips: "Flips | None"
) -> dict[str, object]:
    return {
        "warnings": [warn.document() for warn in warnings],
        "runId": run.run_id,
        "trials": looked.trials,
        "tests": looked.tests,
        "rescore": None if flips is None else flips.document() | {"failuresOnly": run.plan.keep == "failed"},
    }


def _print(
    run: "RunRecord", looked: "Looked", warnings: "tuple[Warn, ...]", flips: "Flips | None", *, color: bool
) -> None:
    from kcut.report.findings import line

    for warn in warnings:
        text = _folded(f"warning  {line(warn)}")
        click.echo(text.replace("warning", click.style("warning", fg="yellow"), 1) if color else text, color=color)
    if not warnings:
        valid = count(looked.trials, "valid trial")
        click.echo(_folded(f"nothing to warn of in run {plain(run.run_id)} ({valid}): {LOOKED_AT}; {_tests(looked)}"))
    if flips is not None and flips.scores:
        said = _of_score(flips)
        if run.plan.keep == "failed":
            said += "; only failures were kept (--keep failed) and scored again, so nothing is said of passes"
        click.echo(_folded(said))


def _folded(text: str) -> str:
    """One line; at a terminal in lines of its width."""
    return fold(text, 9, shutil.get_terminal_size((80, 0)).columns) if sys.stdout.isatty() else text


def _tests(looked: "Looked") -> str:
    """`drift (p 0.41) and place in the pair (p 1.00), 5 tests corrected by Holm`."""
    drift = [p for name, p in looked.tests.items() if name != "position"]
    parts = [f"drift (p {min(drift):.2f})"] if drift else []
    parts += [f"place in the pair (p {looked.tests['position']:.2f})"] if "position" in looked.tests else []
    if not parts:
        return "drift and place in the pair cannot show where all trials of a cohort ended alike"
    return f"{' and '.join(parts)}, corrected for {count(len(looked.tests), 'test')} (Holm)"


def _of_score(flips: "Flips") -> str:
    """What re-scoring says of the score."""
    scores, worktrees = count(flips.scores, "score"), count(len(flips.trials), "worktree")
    said = f"score    {flips.flips} of {scores} of {worktrees} disagreed"
    if flips.upper is None or flips.shrink is None:
        return said
    bound = f"it flips in less than {100 * flips.upper:.1f} of 100 cases (95 %)"
    kept = (
        f"effects shrink to {flips.shrink:.2f}"
        if flips.flips
        else f"effects keep {max(0.0, 1 - 2 * flips.upper):.2f}"
    )
    return f"{said}: {bound}, and {kept} of their size{'' if flips.flips else ' or more'}"

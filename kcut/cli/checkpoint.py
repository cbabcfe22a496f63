"""`kcut checkpoint`: run the checks of a spec, list them, or say what is weak in them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.model.errors import EXIT_FAIL, EXIT_PASS, EXIT_USAGE, Interrupted, NotReady, UsageFault
from kcut.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcut.checkpoint import Spec
    from kcut.evaluate import CriterionResult, Evaluation

_COLORS = {"PASS": "green", "FAIL": "red", "MANUAL": "yellow"}


@click.command("checkpoint")
@click.argument("spec", required=False)
@click.option(
    "--list", "listed", is_flag=True, help="Print id, CHECK or MANUAL, and label of each criterion; run nothing."
)
@click.option(
    "--lint", "linted", is_flag=True, help="Say what is weak in the criteria and their checks; run nothing."
)
@json_option
@color_option
def command(spec: str | None, listed: bool, linted: bool, as_json: bool, color: str) -> int:
    """Run the checks of a spec's acceptance criteria.

    SPEC is a Markdown file; without it, the last by name of specs/*.md, else of docs/specs/*.md. A criterion is a
    list item, its check the last eval block before the next criterion or heading:

    \b
      - [ ] **AC-1 (imports are sorted):** every module of src
        ```eval
        python3 -m tidy --check src
        ```

    A check is run by /bin/sh in the current directory and passes if it exits 0. After `eval` may stand `bash`
    (run by bash -euo pipefail) and `timeout=SECONDS` (default 60). A criterion without a check is MANUAL: a person
    decides. Exit code: 0 all pass, 1 any fails, 2 otherwise (something is MANUAL, there
    are no criteria, or a line looks like a criterion but is not written as one).

    --lint names criteria that nothing tests; checks that cannot fail; criteria that share a check or a label;
    blocks that lose the failure of an earlier command; and a spec of which no criterion is about something that
    goes wrong, seen from words such as `refuses`, `missing`, `not`, or from a check with `!` or `$?`.
    Exit code: 0 clean, 1 findings.

    \b
    Examples:
      kcut checkpoint
      kcut checkpoint specs/tidy.md
      kcut checkpoint specs/tidy.md --lint
      kcut checkpoint --list --json
    """
    if listed and linted:
        raise UsageFault("--list and --lint both given", remedy="use one of them")
    from kcut.checkpoint import parse_spec
    from kcut.evaluate import read_spec

    path = Path(spec) if spec is not None else _default_spec()
    shown = plain(str(path))
    parsed = parse_spec(read_spec(path), source=shown)
    if linted and parsed.criteria:
        return _lint(parsed, shown, as_json, wants_color(color))
    _talk(parsed, shown)
    code = EXIT_PASS
    if listed:
        _list(parsed, as_json)
    elif not linted:
        code = _check(parsed, as_json, wants_color(color))
    if not parsed.criteria:
        raise UsageFault(
            f"{shown}: no criteria found", remedy="a criterion is a list item such as: - [ ] **AC-1 (label):** prose"
        )
    return code


def _default_spec() -> Path:
    from kcut.evaluate import SPEC_FOLDERS

    for folder in SPEC_FOLDERS:
        try:
            names = [
                entry.name
                for entry in os.scandir(folder)
                if entry.name.endswith(".md") and not entry.name.startswith(".") and entry.is_file()
            ]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise UsageFault(f"cannot read the folder {folder}: {error.strerror}") from None
        if names:
            return Path(folder, max(names))
    raise UsageFault(
        "no spec: there is neither specs/*.md nor docs/specs/*.md here",
        remedy="name one: kcut checkpoint path/to/spec.md",
    )


def _talk(spec: "Spec", shown: str) -> None:
    """Say on stderr what in the spec does not read as it seems to be meant."""
    for unclosed in spec.unclosed:
        click.echo(f"{shown}:{unclosed.start}: {plain(unclosed.sentence)}", err=True)
    for note in spec.notes:
        click.echo(f"{shown}:{note.line}: {plain(note.text)}", err=True)


def _kind(checked: bool) -> str:
    return "CHECK" if checked else "MANUAL"


def _list(spec: "Spec", as_json: bool) -> None:
    rows = [(each.id, _kind(each.check is not None), each.label) for each in spec.criteria]
    if as_json:
        criteria = [
            {"id": name, "label": label, "kind": kind, "result": None, "exit": None} for name, kind, label in rows
        ]
        manual = sum(1 for _, kind, _ in rows if kind == "MANUAL")
        emit_json({"criteria": criteria, "pass": None, "fail": None, "manual": manual})
        return
    for name, kind, label in rows:
        click.echo(f"{name}\t{kind}\t{plain(label)}")


def _lint(spec: "Spec", shown: str, as_json: bool, color: bool) -> int:
    from kcut.checkpoint.lint import lint

    found = lint(spec)
    if as_json:
        keys = ("kind", "line", "id", "problem", "advice")
        emit_json({"findings": [{key: getattr(finding, key) for key in keys} for finding in found]})
        return EXIT_FAIL if found else EXIT_PASS
    for finding in found:
        where = f"{shown}:{finding.line}:"
        where = click.style(where, fg="yellow") if color else where
        what = f"{finding.kind} - {plain(finding.problem)}\n      {plain(finding.advice)}"
        click.echo(f"{where} {finding.id or 'the spec'}: {what}", color=color)
    click.echo(f"lint: {len(spec.criteria)} criteria - {len(found) or 'no'} finding{'' if len(found) == 1 else 's'}")
    return EXIT_FAIL if found else EXIT_PASS


def _check(spec: "Spec", as_json: bool, color: bool) -> int:
    """Run the checks, print each result as it comes, and return the exit code."""
    width = max((len(each.id) for each in spec.criteria), default=0)
    done = _run(spec, lambda result: None if as_json else _print(result, width, color))
    if done.ended:
        noun = (
            "process that a check had left running was"
            if done.ended == 1
            else "processes that checks had left running were"
        )
        click.echo(f"{done.ended} {noun} ended", err=True)
    if as_json:
        emit_json(_document(done))
    else:
        counts = f"PASS={done.passed} FAIL={done.failed} MANUAL={done.manual}"
        click.echo(f"checkpoint: {len(done.results)} criteria - {counts}")
    if done.failed:
        return EXIT_FAIL
    if spec.lost:
        number = len(spec.lost)
        what = "1 criterion is lost" if number == 1 else f"{number} criteria are lost"
        click.echo(f"no pass: {what}, see the line{'s' * (number != 1)} named above", err=True)
        return EXIT_USAGE
    return EXIT_PASS if done.passed and not done.manual and not spec.unclosed else EXIT_USAGE


def _run(spec: "Spec", on_result: "Callable[[CriterionResult], None]") -> "Evaluation":
    import signal

    from kcut.evaluate import evaluate
    from kcut.system.git import scrub
    from kcut.system.proc import Supervisors
    from kcut.system.signals import StopSignals

    try:
        cwd = Path.cwd()
    except OSError:
        raise NotReady("the current directory is gone", remedy="change to one that is there") from None
    with StopSignals() as signals, Supervisors() as runner:
        signals.on_stop(runner.stop, runner.kill)
        # inside a git hook these variables would point the git of a check at the repository that runs the hook
        done = evaluate(spec, runner=runner, cwd=cwd, env=scrub(os.environ), on_result=on_result)
    if signals.signum is not None:
        count = f"{len(done.results)} of {len(spec.criteria)} criteria"
        raise Interrupted(f"stopped by {signal.Signals(signals.signum).name} after {count}", signum=signals.signum)
    return done


def _print(each: "CriterionResult", width: int, color: bool) -> None:
    from kcut.checkpoint import rerun

    word = f"{each.result:<6}"
    word = click.style(word, fg=_COLORS[each.result]) if color else word
    click.echo(f"{each.criterion.id:<{width}}  {word}  {plain(each.criterion.label)}".rstrip(), color=color)
    check = each.criterion.check
    if each.result != "FAIL" or check is None:
        return
    if each.timed_out:
        how = f"timeout after {check.timeout:g} s"
    elif each.exit is None:
        how = f"could not run: {plain(each.error or '')}"
    else:
        how = f"exit {each.exit}"
    click.echo(f"{'':{width}}  {how} - re-run: {rerun(check)}")


def _document(done: "Evaluation") -> dict[str, Any]:
    criteria = [
        {
            "id": each.criterion.id,
            "label": each.criterion.label,
            "kind": _kind(each.criterion.check is not None),
            "result": each.result,
            "exit": each.exit,
        }
        for each in done.results
    ]
    return {"criteria": criteria, "pass": done.passed, "fail": done.failed, "manual": done.manual}

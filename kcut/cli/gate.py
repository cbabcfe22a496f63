"""`kcut gate`: whether the benchmarks of some components let them through."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli import suggest
from kcut.cli.checkout import current_folder
from kcut.cli.checkout import root as checkout_root
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.model.errors import EXIT_FAIL, EXIT_PASS, EXIT_USAGE, UsageFault

if TYPE_CHECKING:
    from kcut.model.evidence import Evidence

HELP = """Say for each component whether its benchmark lets it through, and which command would settle what is open.

The state is pass, fail, inconclusive (under --rule evidence), missing (no benchmark yet), stale, or unreadable
(the file is broken, or another component's). Only the artifacts in .claude/eval/benchmarks are read.

Exit codes: 0 all pass, 1 one fails, 2 one is neither.

\b
Examples:
  kcut gate tidy-imports
  kcut gate tidy-imports no-todo-hook --json
"""

COLORS = {"pass": "green", "fail": "red"}
_WIDTH = max(len(state) for state in ("inconclusive", "unreadable", "missing", "stale"))
#: A spec's path as it stands in the recorded score of a run with --spec.
_SPEC = re.compile(r"kcut checkpoint ([^-\s;&|<>()$`'\"\\*?\[#~!{}][^\s;&|<>()$`'\"\\*?\[#!{}]*)")


@click.command("gate", cls=ConfiguredCommand, help=HELP)
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=suggest.components)
@json_option
@color_option
def command(names: tuple[str, ...], *, as_json: bool, color: str) -> int:
    """Print a state for each name; the exit code is that of the worst."""
    from kcut import drafts
    from kcut.artifacts import FOLDER, evidence

    if not all(name.strip() for name in names):
        raise UsageFault("a component's name is empty", remedy="kcut gate NAME...")
    here = current_folder()
    root = drafts.root_of(here)
    if not os.path.lexists(root / FOLDER):
        root = checkout_root()  # artifacts that were brought elsewhere are read there, but here there are none
    found = [evidence(root, name) for name in dict.fromkeys(names)]
    advice = {each.name: settle(each, root, here) for each in found}
    if as_json:
        emit_json({"components": [{"name": e.name, "state": e.state, "advice": advice[e.name]} for e in found]})
    else:
        _print(found, advice, painted=wants_color(color))
    states = {each.state for each in found}
    if "fail" in states:
        return EXIT_FAIL
    return EXIT_PASS if states == {"pass"} else EXIT_USAGE


def _print(found: "list[Evidence]", advice: dict[str, str], *, painted: bool) -> None:
    """A line for each component, and below it the command that would settle it."""
    from kcut.report.text import pad, plain, width

    names = {each.name: plain(each.name) for each in found}
    column = min(40, max(map(width, names.values())))
    for each in found:
        word = each.state.ljust(_WIDTH)
        state = click.style(word, fg=COLORS.get(each.state, "yellow")) if painted else word
        click.echo(f"{pad(names[each.name], column)}  {state}  {plain(each.why)}", color=painted)
        if advice[each.name]:
            click.echo(f"  settle it: {plain(advice[each.name])}")


def settle(evidence: "Evidence", root: Path, cwd: Path) -> str:
    """The shell command, on one line, that would settle a component's state; empty if it passes.

    `CMD` stands in it where no earlier benchmark says what the task is.
    """
    if evidence.state == "pass":
        return ""
    words = ["kcut", "benchmark", "--component", evidence.name]
    task = evidence.document.get("task")
    words += ["--task", task, *_options(evidence)] if isinstance(task, str) and task else ["--task", "CMD"]
    again = " ".join(map(quote, words))
    if evidence.blocker is None:
        return again
    return f"mv {_aside(root / evidence.blocker, cwd)} && {again}"


def _options(evidence: "Evidence") -> list[str]:
    """The options of the recorded run that differ from the defaults, with the trials that it turned out to need."""
    from kcut.model.evidence import whole

    document: dict[str, Any] = dict(evidence.document)
    score, k, decision = document.get("score"), whole(document.get("k")), document.get("decision")
    words: list[str] = []
    if isinstance(score, str):
        spec = _SPEC.fullmatch(score)
        words += ["--spec", spec[1]] if spec else ["--score", score]
    if k is not None:
        needed = whole(decision.get("neededK")) if isinstance(decision, dict) else None
        fewest = 2 * k if evidence.state == "inconclusive" else k
        words += ["--k", str(needed if needed is not None and needed > k else fewest)]
    if document.get("rule") == "evidence":
        words += ["--rule", "evidence"]
    if document.get("isolation") in {"worktree", "clone"}:
        words += ["--isolation", document["isolation"]]
    return words


def _aside(path: Path, cwd: Path) -> str:
    """A path and a free one beside it, relative to `cwd`, quoted for the shell."""
    aside, number = path.with_name(f"{path.name}.aside"), 1
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.aside-{number}")
    return " ".join(quote(os.path.relpath(each, cwd)) for each in (path, aside))


def quote(word: str) -> str:
    """A word quoted for the shell, on one line and without a character that acts on a terminal.

    Where it holds such characters: `$'...'`, which bash, zsh, ksh and POSIX.1-2024 shells read.
    """
    import shlex

    from kcut.report.text import plain

    if plain(word) == word:
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(char: str) -> str:
    from kcut.report.text import plain

    if char in "\\'":
        return "\\" + char
    if plain(char) == char:
        return char
    # a lone surrogate that stands for a byte of a file name is that byte; any other one is shown as it is coded
    data = char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)

"""`kcut gate`: whether the benchmarks of some components let them through."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli import suggest
from kcut.cli.checkout import current_folder
from kcut.cli.checkout import root as checkout_root
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.model.errors import EXIT_FAIL, EXIT_PASS, EXIT_USAGE, KcutError, UsageFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcut.model.evidence import Evidence
    from kcut.model.run import RunRecord

HELP = """Say for each component whether its benchmark lets it through, and which command would settle what is open.

The state is pass, fail, inconclusive (under --rule evidence), missing (no benchmark yet), stale (the component has
changed since, or is gone), or unreadable (the file is broken, or another component's). The state is told by the
artifacts in .claude/eval/benchmarks and the component as it is now; the command repeats the run as it was recorded,
where its record is at hand. Of the artifacts of several performers the worst counts.

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
    from kcut.artifacts import FOLDER

    if not all(name.strip() for name in names):
        raise UsageFault("a component's name is empty", remedy="kcut gate NAME...")
    here = current_folder()
    root = drafts.root_of(here)
    if not os.path.lexists(root / FOLDER):
        root = checkout_root()  # artifacts that were brought elsewhere are read there, but here there are none
    found: list[_Finding] = []
    for name in dict.fromkeys(names):
        evidence, advice = _look(root, name)
        found.append(_Finding(name, evidence, settle(evidence, root, here) if advice is None else advice))
    if as_json:
        documents = [{"name": each.name, "state": each.evidence.state, "advice": each.advice} for each in found]
        emit_json({"components": documents})
    else:
        _print(found, painted=wants_color(color))
    states = {each.evidence.state for each in found}
    if "fail" in states:
        return EXIT_FAIL
    return EXIT_PASS if states == {"pass"} else EXIT_USAGE


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a name as it was typed came to, and the command or sentence that would settle it."""

    name: str
    evidence: "Evidence"
    advice: str


def _look(root: Path, name: str) -> "tuple[Evidence, str | None]":
    """What the artifacts say of a name, which may tell the kind, as in `skill:tidy`; and what to do about it.

    None where a command is to be found. A verdict holds for the component that was measured, so a name that means
    several is not settled by that of one.
    """
    from kcut.artifacts import artifact_path, evidence
    from kcut.components import look_up, split_kind

    kind, bare = split_kind(name)
    exact = kind is not None and os.path.lexists(artifact_path(root, name))
    try:
        here = look_up(root, name)
    except KcutError:
        here = ()
    digests = {each.digest for each in here if each.digest is not None}
    found = evidence(root, name if exact else bare, digests=lambda: digests)
    if found.document.get("componentDigest") is None:
        return found, None
    if not here:
        path = os.path.relpath(artifact_path(root, found.name), root)
        return found, f"restore it, or remove {path}" if found.state == "stale" else None
    if len(digests) > 1:
        told = " and ".join(f"the {each.kind} {each.path}" for each in here)
        which = " or ".join(f"kcut gate {quote(f'{each.kind}:{bare}')}" for each in here)
        return replace(found, state="stale", why=f"the name means {told}"), which
    return found, None


def _print(found: "list[_Finding]", *, painted: bool) -> None:
    """A line for each component, and below it the command that would settle it."""
    from kcut.report.text import pad, plain, width

    column = min(40, max(width(plain(each.name)) for each in found))
    for each in found:
        evidence = each.evidence
        word = evidence.state.ljust(_WIDTH)
        state = click.style(word, fg=COLORS.get(evidence.state, "yellow")) if painted else word
        click.echo(f"{pad(plain(each.name), column)}  {state}  {plain(evidence.why)}", color=painted)
        if each.advice:
            click.echo(f"  settle it: {plain(each.advice)}")


def settle(evidence: "Evidence", root: Path, cwd: Path) -> str:
    """The shell command, on one line, that would settle a component's state; empty if it passes.

    It repeats the run as it was recorded, with more trials if it needs them; a run that was stopped goes on. Where
    only the artifact is left, it repeats what that tells. `CMD` stands in it where nothing says what the task is. A
    sentence instead of a command where the artifact names several tasks and nothing tells their file.
    """
    if evidence.state == "pass":
        return ""
    from kcut.commandline import words

    run = _recorded(evidence, root)
    if run is not None and evidence.state == "missing":
        return _there(run, root, cwd) + _joined(["--resume", run.run_id])
    if run is not None and (run.plan.tasks_file is not None or not run.plan.tasks):
        more = _more(evidence, run.plan.k)
        return _there(run, root, cwd) + _joined(words(run.plan, k=_capped(more) if run.plan.until_decided else more))
    named = evidence.document.get("tasks")
    if isinstance(named, list) and named:
        return f"run it again as it was, with the file of its {len(named)} task{'s' * (len(named) != 1)}"
    task = evidence.document.get("task")
    again = ["--task", task, *_options(evidence)] if isinstance(task, str) and task else ["--task", "CMD"]
    command = _joined(["--component", evidence.name, *again])
    if evidence.blocker is None:
        return command
    return f"mv {_aside(root / evidence.blocker, cwd)} && {command}"


def _joined(words: "Iterable[str]") -> str:
    return " ".join(map(quote, ("kcut", "benchmark", *words)))


def _there(run: "RunRecord", root: Path, cwd: Path) -> str:
    """The step to the folder that the run was started in, where its files and its task lie."""
    folder = os.path.relpath(root / run.plan.checkout.subdir, cwd)
    return "" if folder == os.curdir else f"cd {quote(folder)} && "


def _recorded(evidence: "Evidence", root: Path) -> "RunRecord | None":
    """The run that the artifact is of; without an artifact the last one of the component that can go on.

    None if the record holds none, or cannot be read: the artifact alone says enough.
    """
    from kcut.store import Store
    from kcut.store.documents import visible

    name = evidence.document.get("runId")
    if evidence.state != "missing" and not (isinstance(name, str) and name):
        return None
    try:
        with Store.open(root, create=False) as store:
            history = store.history()
            if evidence.state != "missing":
                ids = [row.run_id for row in history if row.run_id == name]
            else:
                ids = [
                    r.run_id for r in history if r.component == visible(evidence.name) and r.state == "interrupted"
                ]
            runs = [run for run in map(store.find, ids) if run.plan.component == evidence.name and not run.plan.aa]
    except KcutError:
        return None
    if evidence.state == "missing":  # what held a credential cannot go on
        runs = [run for run in runs if all(warning.code != "credential" for warning in run.warnings)]
    return runs[0] if runs else None


def _more(evidence: "Evidence", k: int) -> int:
    """How many trials, or pairs at most, to ask for where there were `k`."""
    from kcut.model.evidence import whole

    decision = evidence.document.get("decision")
    needed = whole(decision.get("neededK")) if isinstance(decision, dict) else None
    if needed is not None and needed > k:
        return needed
    return 2 * k if evidence.state == "inconclusive" else k


def _capped(pairs: int) -> int:
    """So many pairs, but no more than a run that stops as soon as it is clear can have."""
    from kcut.stats.paths import MOST_PAIRS

    return min(pairs, MOST_PAIRS)


def _options(evidence: "Evidence") -> list[str]:
    """What the artifact tells of its run that differs from the defaults, with as many trials as it takes."""
    from kcut.model.evidence import whole

    document: dict[str, Any] = dict(evidence.document)
    score, k, most = document.get("score"), whole(document.get("k")), whole(document.get("maxK"))
    decision = document.get("decision") if isinstance(document.get("decision"), dict) else None
    words: list[str] = []
    if isinstance(score, str):
        spec = _SPEC.fullmatch(score)
        words += ["--spec", spec[1]] if spec else ["--score", score]
    if decision is not None and decision.get("method") == "eprocess":
        words += ["--anytime", *([] if most is None else ["--max-k", str(_more(evidence, most))])]
    elif most is not None:
        words += ["--until-decided", "--max-k", str(_capped(_more(evidence, most)))]
    elif k is not None:
        words += ["--k", str(_more(evidence, k))]
    if decision is not None:
        words += _levels(decision)
    if document.get("rule") == "evidence":
        words += ["--rule", "evidence"]
    if document.get("placebo") is not None:
        words += ["--control", "placebo"]
    if document.get("isolation") in {"worktree", "clone"}:
        words += ["--isolation", document["isolation"]]
    return words


def _levels(decision: dict[str, Any]) -> list[str]:
    """How sure the verdict had to be, and of what."""
    from kcut.commandline import number
    from kcut.model.ask import Ask

    words: list[str] = []
    for name in ("alpha", "beta", "delta"):
        value = decision.get(name)
        if isinstance(value, float) and 0 < value < 1 and value != getattr(Ask, name):
            words += [f"--{name}", number(value)]
    if decision.get("objective") == "cost":
        words += ["--objective", "cost"]
        cost = decision.get("cost")
        margin = cost.get("margin") if isinstance(cost, dict) else None
        if isinstance(margin, float) and 0 < margin < 1 and margin != Ask.margin:
            words += ["--margin", number(margin)]
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

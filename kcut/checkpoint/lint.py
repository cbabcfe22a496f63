"""What is weak in a spec: criteria that nothing tests, that cannot fail, that say the same, that skip failures."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kcut.checkpoint.failure import BASH, SH, cannot_fail, lost_failures
from kcut.checkpoint.lost import html_opener
from kcut.checkpoint.shell import parse_shell
from kcut.checkpoint.spec import Check, Criterion, Spec

#: Words by which a label or a prose shows that a criterion is about the side where something goes wrong.
_FAILING_SIDE = re.compile(
    r"\b(?:fail\w*|error\w*|reject\w*|refus\w*|invalid\w*|missing|miss(?:es|ed)|absen\w+|without|no|not|never|none|nothing|"
    r"cannot|\w+n['’]t|empty|wrong\w*|broken|breaks?|bad|malformed|unknown|unreadable|corrupt\w*|crash\w*|abort\w*|"
    r"den(?:y|ies|ied)|forbid\w*|forbidden|unauthori[sz]ed|time[sd]?[ -]?outs?|duplicate\w*|conflict\w*|illegal|"
    r"non-?zero|unless|only|instead|warn\w*|ignor\w*|skip\w*|prevent\w*|avoid\w*|block\w*|overflow\w*|interrupt\w*|"
    r"survive\w*|recover\w*|untouched|unchanged|exit(?:s)?(?: code| status)? [1-9][0-9]*)\b",
    re.IGNORECASE,
)
#: What a check that looks at the failing side has in it: a negation, or a look at an exit code.
_LOOKS_AT_FAILURE = re.compile(
    r"(?:^|[\s;&|({`])!\s|\$\?|\bPIPESTATUS\b|-ne\s+0\b|!=\s*['\"]?0\b|&&\s*(?:exit\s+[1-9]|false)|"
    r"\bthen\s+(?:exit\s+[1-9]|false)|\bgrep\s+-\w*[vL]",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One weakness: its kind, the line, the criterion (None: the spec as a whole), what is wrong and what to do."""

    kind: str
    line: int
    id: str | None
    problem: str
    advice: str


def lint(spec: Spec) -> tuple[Finding, ...]:
    """The weaknesses of a spec, in the order of the lines; empty if there are none.

    Kinds: `testable`, `falsifiable`, `masked`, `disjoint`, `failure-mode`, `structure`.
    """
    found = [*_structure(spec), *_disjoint(spec), *_failure_mode(spec)]
    for criterion in spec.criteria:
        found += _testable(criterion)
        if criterion.check is not None:
            found += _script(criterion.id, criterion.check)
    return tuple(sorted(found, key=lambda finding: finding.line))


def _structure(spec: Spec) -> Iterator[Finding]:
    for unclosed in spec.unclosed:
        _, closer = html_opener(unclosed.opener) or ("", "as many of the same characters, alone on a line")
        advice = f"close it with {closer}"
        yield Finding("structure", unclosed.start, unclosed.criterion, unclosed.sentence, advice)
    for note in spec.notes:
        problem, _, advice = note.text.partition(": ")
        yield Finding("structure", note.line, None, problem, advice or "write it so that it reads as meant")
    for line in spec.orphans:
        yield Finding(
            "structure", line, None, "this eval block belongs to no criterion and never runs", "move it below one"
        )
    for criterion in spec.criteria:
        for line in criterion.passed_over:
            yield Finding(
                "structure",
                line,
                criterion.id,
                "this eval block never runs: only the last one of a criterion does",
                "join the blocks, or give this one a criterion of its own",
            )


def _testable(criterion: Criterion) -> Iterator[Finding]:
    if criterion.check is None and criterion.unclosed is None:
        yield Finding(
            "testable",
            criterion.line,
            criterion.id,
            "no check decides it",
            "add an eval block whose exit code says whether it holds",
        )


def _script(name: str, check: Check) -> Iterator[Finding]:
    script = parse_shell(check.command)
    if script is None:
        return
    shell = BASH if check.shell == "bash" else SH
    reason = cannot_fail(script, shell)
    if reason is not None:
        advice = "let the command that decides come last, and let its exit code be the block's"
        yield Finding("falsifiable", check.line, name, f"the check cannot fail: {reason}", advice)
        return
    for lost in lost_failures(script, shell):
        yield Finding("masked", check.line + lost.line, name, lost.what, lost.advice)


def _disjoint(spec: Spec) -> Iterator[Finding]:
    def command(criterion: Criterion) -> str | None:
        return None if criterion.check is None else _essence(criterion.check)

    def label(criterion: Criterion) -> str | None:
        return " ".join(criterion.label.casefold().split()) or None

    yield from _same(spec, command, "it runs the same check as {}", "test what only this one promises, or drop it")
    yield from _same(spec, label, "it has the same label as {}", "say in the label what sets the two apart")


def _same(spec: Spec, key: Callable[[Criterion], str | None], problem: str, advice: str) -> Iterator[Finding]:
    first: dict[str, Criterion] = {}
    for criterion in spec.criteria:
        value = key(criterion)
        if value is None:
            continue
        other = first.setdefault(value, criterion)
        if other is not criterion:
            where = f"{other.id} (line {other.line})"
            yield Finding("disjoint", criterion.line, criterion.id, problem.format(where), advice)


def _essence(check: Check) -> str:
    """What a check runs, without comments, blank lines and differences in spacing."""
    lines = (" ".join(line.split()) for line in check.command.split("\n"))
    return "\n".join([check.shell, *(line for line in lines if line and not line.startswith("#"))])


def _failure_mode(spec: Spec) -> Iterator[Finding]:
    """One finding if criteria are checked, and none of them is about the side where something goes wrong."""
    checked = [criterion for criterion in spec.criteria if criterion.check is not None]
    if not checked or any(_is_about_failure(criterion) for criterion in checked):
        return
    yield Finding(
        "failure-mode",
        checked[0].line,
        None,
        "no criterion looks at what happens when something goes wrong",
        "add one for an input that must be refused, a file that must not be there, or an exit code that is not 0",
    )


def _is_about_failure(criterion: Criterion) -> bool:
    if criterion.check is not None and _LOOKS_AT_FAILURE.search(criterion.check.command):
        return True
    return _FAILING_SIDE.search(f"{criterion.label}\n{criterion.prose}") is not None

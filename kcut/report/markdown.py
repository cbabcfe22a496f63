"""The result as a comment on a pull request. Pure."""

import re
from collections.abc import Sequence

from kcut.model.artifact import Artifact
from kcut.report.terminal import cells, columns
from kcut.report.text import plain, shorten
from kcut.report.words import Line, verdict_lines

#: The longest command or name shown, in columns: the comment is to be read, and has a limit.
LONGEST = 200
#: More warnings than this are counted, not shown.
MOST_WARNINGS = 20

_SPECIAL = re.compile(r"[\\`*_{}\[\]|~^$!]")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
#: An empty comment keeps a forge from seeing a mention, an issue or a link in text that is none of ours.
_BREAKS = (("@", "@<!-- -->"), ("#", "#<!-- -->"), ("://", ":<!-- -->//"), ("www.", "www<!-- -->."))


def escape(text: str) -> str:
    """`text` as one line of prose in which nothing is markup, HTML, a mention, an issue or a link."""
    text = "".join(_HTML.get(char, char) for char in plain(text))
    text = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    for found, broken in _BREAKS:
        text = text.replace(found, broken)
    return text


def code(text: str, longest: int = LONGEST) -> str:
    """`text` as a code span, shortened, whatever backticks it holds."""
    text = shorten(text, longest)
    if not text.strip():
        return "(empty)"
    runs = re.findall(r"`+", text)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{space}{text}{space}{fence}"


def render(artifact: Artifact, *, min_gain: str | None = None) -> str:
    """Heading, table, verdict lines, warnings and where it came from, with a newline at the end."""
    lines = verdict_lines(artifact, min_gain=min_gain)
    blocks = [_heading(artifact, lines), _table(artifact), *map(_verdict, lines)]
    warnings = artifact.decision.warnings if artifact.decision else ()
    if warnings:
        shown = [f"- warning {code(warn.code)}: {escape(warn.advice)}" for warn in warnings[:MOST_WARNINGS]]
        more = len(warnings) - MOST_WARNINGS
        blocks.append("\n".join(shown + ([f"- and {more} more"] if more > 0 else [])))
    blocks.append(_source(artifact))
    return "\n\n".join(blocks) + "\n"


def _heading(artifact: Artifact, lines: Sequence[Line]) -> str:
    # the point rule's own line stands below; the heading says what set `pass`
    words = ["PASS" if artifact.pass_ else "FAIL"] + [f"evidence {line.word}" for line in lines[1:]]
    return f"### kcut: {code(artifact.component, 100)} - {', '.join(words)}"


def _verdict(line: Line) -> str:
    return f"**{line.label}: {line.word}** - {escape(line.text)}"


def _table(artifact: Artifact) -> str:
    heads = columns(artifact)
    rows = [
        [heading for heading, _ in heads],
        [":--" if side == "left" else "--:" for _, side in heads],
        cells("with", artifact.with_),
        cells("without", artifact.without),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _source(artifact: Artifact) -> str:
    """Task, score, base, run and versions, as far as they are known."""
    parts = [f"task {code(artifact.task)}"]
    if artifact.score is not None:
        parts.append(f"score {code(artifact.score)}")
    if artifact.base is not None:
        parts.append(
            f"base {code(artifact.base.commit[:12])}{' (the checkout had uncommitted changes)' * artifact.base.dirty}"
        )
    if artifact.isolation is not None:
        parts.append(f"{artifact.isolation} worktrees")
    if artifact.order is not None:
        parts.append(f"seed {artifact.order.seed}")
    if artifact.environment is not None:
        known = (artifact.environment.agent, artifact.environment.agent_version, artifact.environment.model)
        parts += [code(text) for text in known if text]
        parts.append(f"kcut {code(artifact.environment.kcut)}")
    parts.append(code(artifact.ts) if artifact.run_id is None else f"run {code(artifact.run_id)}")
    return f"<sub>{' · '.join(parts)}</sub>"

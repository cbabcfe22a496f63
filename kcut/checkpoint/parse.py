"""Markdown in, criteria out. The structure is CommonMark's; the criterion itself is read from the raw text."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kcut.checkpoint.info import is_eval, is_nearly_eval, read_info
from kcut.checkpoint.lost import SHAPE, LostLine, begins_again, end_of_html, html_opener, lost_lines
from kcut.checkpoint.spec import Check, Criterion, Note, Spec, Unclosed
from kcut.model.errors import UsageFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_ID = r"AC-[A-Za-z0-9][A-Za-z0-9._-]*"
_CRITERION = re.compile(rf"\[[ xX]\][ \t\n]+\*\*({_ID})[ \t\n]+\((.*?)\):\*\*(.*)", re.DOTALL)
#: A line that would begin a criterion if it were where a list item can begin.
_CRITERION_LINE = re.compile(rf"[ \t]*(?:[-*+]|[0-9]{{1,9}}[.)])[ \t]+\[[ xX]\][ \t]+\*\*({_ID})")
_EVAL_LINE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*eval\b")
#: The beginning of an item, a paragraph or a heading that was meant to be a criterion, but is not written like one.
_NEARLY = re.compile(
    r"\[[^\]\n]{0,3}\][\s*_`]*(?:AC[-_ ]?[0-9]|AC-[A-Za-z])|\*\*AC-\S+\s*\([^\n]*?\)\s*:?\s*\*\*", re.IGNORECASE
)
_NOT_WRITTEN = f"this looks like a criterion, but is not written as one: {SHAPE}"
#: The beginning of an item that speaks of a criterion, or was meant to be one.
_NAMED = re.compile(rf"\*\*({_ID})(?:\*\*:|:\*\*)")


def parse_spec(text: str, *, source: str = "") -> Spec:
    """The criteria of a spec, in order. `source` names the file in messages.

    Raises UsageFault if two criteria have one id, an `eval` fence of a criterion has an info string that kcut does
    not know, or the text cannot be read as Markdown text.
    """
    prefix = f"{source}: " if source else ""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UsageFault(f"{prefix}line {line} holds a NUL character: this is no text file")
    reader = _Reader(prefix)
    tokens = _tokens(text + "\n", prefix)
    for index, token in enumerate(tokens):
        reader.read(token, tokens[max(index - 2, 0) : index])
    return reader.spec()


def _tokens(text: str, prefix: str) -> "list[Token]":
    """The block structure of the text; what stands inside a paragraph is left unparsed."""
    from markdown_it import MarkdownIt

    # beyond maxNesting the library drops text without a word; without a limit it is Python that says stop
    markdown = MarkdownIt("commonmark", {"maxNesting": 1_000_000})
    markdown.core.ruler.enableOnly(["normalize", "block"])
    try:
        return markdown.parse(text)
    except RecursionError:
        raise UsageFault(f"{prefix}lists or quotes are nested too deeply to be read") from None


@dataclass(slots=True)
class _Draft:
    """A criterion whose span is still being read."""

    id: str
    label: str
    prose: str
    line: int
    checks: list[Check] = field(default_factory=list)
    unclosed: tuple[int, int] | None = None
    #: Lines of `eval` fences that read as indented code.
    indented: list[int] = field(default_factory=list)

    def finished(self) -> Criterion:
        last = self.checks[-1] if self.checks else None
        runs = last is not None and self.unclosed is None and not _is_empty(last.command)
        return Criterion(
            self.id,
            self.label,
            self.prose,
            self.line,
            last if runs else None,
            self.unclosed,
            tuple(check.line for check in self.checks[:-1]),
        )


class _Reader:
    """Goes through the blocks in the order of the file."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.quotes = 0
        self.current: _Draft | None = None
        self.drafts: dict[str, _Draft] = {}
        self.unclosed: list[Unclosed] = []
        self.notes: list[Note] = []
        self.orphans: list[int] = []
        #: Criteria that items without a box begin with, and the items' lines.
        self.named: list[tuple[str, int]] = []

    def read(self, token: "Token", before: "Sequence[Token]") -> None:
        """Take one block; `before` are the two tokens that precede it."""
        self.quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if token.type == "fence":
            self.fence(token)
        elif token.type == "html_block":
            self.html(token)
        elif self.quotes:
            return
        elif token.type == "inline":
            item = len(before) == 2 and before[0].type == "list_item_open"
            self.paragraph(token, item=item, heading=before[-1].type == "heading_open")
        elif token.type == "code_block":
            self.indented(token, item=bool(before) and before[-1].type == "list_item_open")

    # --- criteria ---

    def paragraph(self, token: "Token", *, item: bool, heading: bool) -> None:
        """The text of a paragraph or a heading; `item` if it is what a list item begins with."""
        line, _ = _lines(token)
        found = _CRITERION.fullmatch(token.content) if item else None
        if found is not None:
            self.begin(found, line)
        elif heading:
            self.current = None
        start = found.start(3) if found is not None else 0
        lost = _lost_by_line(token.content[start:], line + token.content.count("\n", 0, start))
        if found is None and line not in lost:
            if _NEARLY.match(token.content):
                self.note(line, _NOT_WRITTEN)
            elif item and (named := _NAMED.match(token.content)):
                self.named.append((named[1], line))
        for number, text in enumerate(token.content.split("\n"), line):
            if number > line and _CRITERION_LINE.match(text):
                why = (
                    "this criterion reads as more text of the paragraph above it: "
                    "put an empty line before it, or indent it as a list item"
                )
                self.note(number, why, lost=number in lost)
            elif number in lost:
                self.note(number, lost[number].why, lost=True)

    def begin(self, found: "re.Match[str]", line: int) -> None:
        name, label, prose = found[1], _joined(found[2]), _joined(found[3])
        if name in self.drafts:
            raise UsageFault(
                f"{self.prefix}{name} stands twice, in lines {self.drafts[name].line} and {line}",
                remedy="give each criterion an id of its own",
            )
        self.current = self.drafts[name] = _Draft(name, label, prose, line)

    # --- fences, comments, code ---

    def fence(self, token: "Token") -> None:
        """A fenced code block: a check, an example, or one that is never closed."""
        first, end = _lines(token)
        closed = token.content.count("\n") == end - first - 1  # a closing line is the one line that is not content
        if not closed or _runs_on(token):
            opener = f"{token.markup}{token.info.strip()}"
            self.open_end(token, opener, "fence", closed_by=end if closed else None)
        elif self.quotes:
            return
        elif is_eval(token.info):
            self.check(token, first)
        elif is_nearly_eval(token.info):
            self.note(first, f"a fence marked {token.info.split()[0]!r} is not run: a check is marked eval")

    def check(self, token: "Token", line: int) -> None:
        if self.current is None:
            self.orphans.append(line)
            return
        shell, timeout = read_info(token.info, f"{self.prefix}line {line}")
        check = Check(token.content.removesuffix("\n"), shell, timeout, line)
        self.current.checks.append(check)
        inside = _ids(token.content)
        if inside and not _is_script(check.command):
            self.note(
                line,
                f"this block holds what looks like {', '.join(inside)}, and is no shell script: "
                "is its closing fence missing?",
            )

    def html(self, token: "Token") -> None:
        """An HTML block: comments do not count; criteria in other ones are lost to the reader too, so say it."""
        first, _ = _lines(token)
        opener, closer = html_opener(token.content) or ("", "")
        end = end_of_html(token.content, closer) if closer else 0
        if end < 0:
            if opener == "<!--":
                self.open_end(token, opener, "comment")
            elif not self.quotes and (_ids(token.content) or _swallows(token.content)):
                self.open_end(token, opener, "html")
            return
        if self.quotes:
            return
        again = closer and begins_again(token.content[:end], opener)
        begin = 0 if again else end
        lost = _lost_by_line(token.content[begin:], first + token.content.count("\n", 0, begin), html=True)
        for number, text in enumerate(token.content.split("\n"), first):
            if number in lost and lost[number].hidden:
                self.note(number, lost[number].why, lost=True)
            elif _CRITERION_LINE.match(text) or _EVAL_LINE.match(text):
                if number in lost or opener != "<!--":
                    why = "this line is part of an HTML block and does not count: put an empty line before it"
                    self.note(number, why, lost=number in lost)
            elif number in lost:
                self.note(number, f"{lost[number].why}, behind an empty line", lost=True)

    def indented(self, token: "Token", *, item: bool) -> None:
        """An indented code block: an example, unless somebody indented a criterion or a fence too far."""
        line, _ = _lines(token)
        if item and _CRITERION.match(token.content):
            self.note(line, "this criterion reads as indented code: put one space after the list marker", lost=True)
        if self.current is not None and _EVAL_LINE.match(token.content):
            self.current.indented.append(line)

    def open_end(
        self, token: "Token", opener: str, kind: Literal["fence", "comment", "html"], closed_by: int | None = None
    ) -> None:
        """A fence, comment or HTML block that ends only because the item, the quote or the file around it ends."""
        first, _ = _lines(token)
        swallowed = token.content.rstrip()
        lines = swallowed.count("\n") + 1 if swallowed else 0
        last = first + lines - (kind != "fence")  # the text of a comment begins with its own line
        owner = self.current.id if self.current is not None else None
        self.unclosed.append(Unclosed(first, last, opener, kind, owner, tuple(_ids(token.content)), closed_by))
        if self.current is not None and self.current.unclosed is None:
            self.current.unclosed = (first, last)

    # --- the result ---

    def note(self, line: int, text: str, *, lost: bool = False) -> None:
        self.notes.append(Note(line, text, lost))

    def spec(self) -> Spec:
        for draft in self.drafts.values():
            if not draft.checks:
                for line in draft.indented:
                    self.note(line, "this fence reads as indented code: indent it by less than four columns more")
        for name, line in self.named:
            if name not in self.drafts:
                self.note(line, _NOT_WRITTEN)
        notes = sorted(self.notes, key=lambda note: note.line)
        criteria = tuple(draft.finished() for draft in self.drafts.values())
        return Spec(criteria, tuple(self.unclosed), tuple(notes), tuple(self.orphans))


def _lines(token: "Token") -> tuple[int, int]:
    """The first and the last line of a block, from 1."""
    if token.map is None:
        raise AssertionError(f"a {token.type} block has no place in the text")
    return token.map[0] + 1, token.map[1]


def _runs_on(token: "Token") -> bool:
    """True if a fence is closed by the end of a later block, whose criterion and beginning it holds.

    An example that shows a check needs a longer or another fence around it; a script that writes one can be read.
    """
    opening = re.compile(rf"[ \t]*{re.escape(token.markup)}{token.markup[0]}*[ \t]*[A-Za-z]")
    lines = token.content.split("\n")
    criteria = [number for number, line in enumerate(lines) if _CRITERION_LINE.match(line)]
    if not criteria or not any(opening.match(line) for line in lines[criteria[0] :]):
        return False
    return not (is_eval(token.info) and _is_script(token.content))


def _is_script(text: str) -> bool:
    """True if a text reads as a shell script: what looks like a criterion in it is data, in a here-document say."""
    from kcut.checkpoint.shell import parse_shell

    return parse_shell(text) is not None


def _ids(text: str) -> list[str]:
    """The ids of criteria that seem to begin in some line of a text."""
    return [found[1] for line in text.split("\n") if (found := _CRITERION_LINE.match(line))]


def _lost_by_line(text: str, first: int, *, html: bool = False) -> dict[int, LostLine]:
    return {each.line: each for each in lost_lines(text, first, html=html)}


def _swallows(text: str) -> bool:
    """True if a text holds what looks like a criterion or a check."""
    return any(_EVAL_LINE.match(line) for line in text.split("\n")) or any(
        True for _ in lost_lines(text, 1, html=True)
    )


def _joined(text: str) -> str:
    """A text that was wrapped over lines as one line."""
    return re.sub(r"[ \t]*\n[ \t]*", " ", text).strip()


def _is_empty(command: str) -> bool:
    """True if a script does nothing: blank lines and comments only."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in command.split("\n"))

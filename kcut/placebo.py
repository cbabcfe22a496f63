"""Irrelevant text in the place of a component's: the same length, lines and structure, other words. Pure.

A placebo tells the effect of what a component says from the effect of there being something to read.
"""

import difflib
import hashlib
import re
from collections.abc import Collection, Iterator

from kcut.prose import Prose, words_of

__all__ = ["changed_lines", "stand_in", "words_of"]


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BOM = "\ufeff"
#: What begins a line of Markdown and stays: indentation, quote marks, list marks, the marks of a heading.
_LEAD = re.compile(r"[ \t]*(?:>[ \t]*|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)*(?:#{1,6}[ \t]+)?", re.ASCII)
_INDENT = re.compile(r"[ \t]*(?:>[ \t]*)*")
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<info>[^`]*|(?<=~)[^\n]*)")
#: What stays within a line: the bars of tables, code spans, bold type, comments.
_MARKS = re.compile(r"(<!--|-->|\||`+|\*\*)")
#: Keys of a frontmatter that say how an agent treats the file, and not what it is for.
_KEPT = _listed(
    "name model tools allowed-tools disallowed-tools disallowedtools permissionmode color effort globs alwaysapply "
    "paths applyto context agent disable-model-invocation user-invocable hooks mcpservers skills version license "
    "type mode temperature background isolation memory maxturns"
)
_TEXTS = _listed("description when_to_use when-to-use whentouse argument-hint summary title")
#: Values of so many words are text, whatever their key is called.
_FEW = 4
_KEY = re.compile(r"(?P<key>[\w.-]+)(?P<colon>[ \t]*:(?:[ \t]+|$))(?P<value>.*)", re.DOTALL)
_BLOCK = re.compile(r"[|>][-+\d]*[ \t]*(?:#.*)?")
_ITEM = re.compile(r"[ \t]*(?:(?:-[ \t]+)|(?:#[ \t]*))?")
#: How a comment begins in files of code, by the end of the name.
_COMMENTS = dict.fromkeys(_listed("py sh bash zsh fish rb pl r jl yaml yml toml ini cfg conf mk ps1"), "#")
_COMMENTS |= dict.fromkeys(
    _listed("js mjs cjs jsx ts mts cts tsx go rs c h cc cpp hpp java kt swift scala cs php"), "//"
)
_COMMENTS |= dict.fromkeys(_listed("sql lua hs"), "--")
#: From the first word of a text to the last.
_WORDS = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def stand_in(text: str, *, path: str, avoid: Collection[str], whole: bool = True) -> str:
    """Irrelevant text of the same length in characters, and the same lines but for what they say.

    Words of `avoid` (lower case, as `words_of` gives them) are not used, unless they are such as `the` and `of`.
    `path` tells what kind of text it is: Markdown, unless its ending says code, which becomes comments, or JSON,
    which keeps its shape. `whole` is False for lines from within a file. The same text has the same placebo.
    """
    prose = Prose(avoid, start=int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4], "big"))
    body = text.removeprefix(_BOM)
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
    lines = body.split("\n")
    if ending == "json":
        made = _STRING.sub(lambda match: f'"{prose.fill(len(match[1]))}"', body)
    elif ending in _COMMENTS or (whole and body.startswith("#!")):
        made = "\n".join(_commented(lines, _COMMENTS.get(ending, "#"), prose))
    else:
        head = _frontmatter(lines) if whole else 0
        made = "\n".join([*_described(lines[:head], prose), *_markdown(lines[head:], prose)])
    return text[: len(text) - len(body)] + made


def changed_lines(text: str, other: str) -> list[tuple[bool, str]]:
    """`text` in pieces of whole lines: whether `other` lacks them, and the lines. Joined they are the text."""
    one, two = text.splitlines(keepends=True), other.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, two, one, autojunk=False)
    return [
        (tag != "equal", "".join(one[start:end])) for tag, _, _, start, end in matcher.get_opcodes() if end > start
    ]


def _begins(pattern: re.Pattern[str], text: str) -> str:
    """What a text begins with, by a pattern that matches nothing, too."""
    found = pattern.match(text)
    return found[0] if found else ""


def _words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _parted(line: str) -> tuple[str, str]:
    """A line and the blanks, or the carriage return, at its end."""
    bare = line.rstrip()
    return bare, line[len(bare) :]


def _markdown(lines: list[str], prose: Prose) -> Iterator[str]:
    fence, apart = "", True
    for line in lines:
        bare, end = _parted(line)
        lead = _begins(_INDENT if fence else _LEAD, bare)
        found = _FENCE.fullmatch(bare, len(lead))
        if found and not fence:
            fence = found["fence"]
            yield lead + fence + _filled(found["info"], prose) + end
            prose.begin()
        elif found and found["fence"].startswith(fence) and not found["info"].strip():
            fence = ""
            yield line
        elif fence:
            yield lead + _filled(bare[len(lead) :], prose) + end
        else:
            parts = _MARKS.split(bare[len(lead) :])
            if apart or lead.strip():  # else it goes on where the line above ends
                prose.begin()
            apart = not _words(bare) or "#" in lead
            yield (
                lead
                + "".join(part if number % 2 else _filled(part, prose) for number, part in enumerate(parts))
                + end
            )


def _filled(text: str, prose: Prose) -> str:
    """Other words in the place of a text; what holds none stays, and so do blanks and signs around it."""
    found = _WORDS.search(text)
    return text if found is None else text[: found.start()] + prose.fill(len(found[0])) + text[found.end() :]


def _commented(lines: list[str], mark: str, prose: Prose) -> Iterator[str]:
    """Comments in the place of lines of code, so that the file still runs, and does nothing."""
    for number, line in enumerate(lines):
        bare, end = _parted(line)
        if number == 0 and bare.startswith("#!"):
            yield line
            continue
        lead = bare[: len(bare) - len(bare.lstrip())]
        room = len(bare) - len(lead)
        if room <= len(mark):
            yield lead + (mark if room == len(mark) else " " * room) + end
            continue
        prose.begin()
        space = " " if room > len(mark) + 1 else ""
        yield lead + mark + space + prose.fill(room - len(mark) - len(space)) + end


def _frontmatter(lines: list[str]) -> int:
    """How many lines the frontmatter takes, with both of its marks; 0 if there is none."""
    if lines[0].rstrip() != "---":
        return 0
    close = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), None)
    return 0 if close is None else close + 1


def _described(lines: list[str], prose: Prose) -> Iterator[str]:
    """A frontmatter with other texts: what says how the file is treated stays as it is."""
    if not lines:
        return
    yield lines[0]
    group: list[str] = []
    for line in lines[1:-1]:
        if _KEY.match(line) and group:
            yield from _entry(group, prose)
            group = []
        group.append(line)
    yield from _entry(group, prose)
    yield lines[-1]


def _entry(lines: list[str], prose: Prose) -> Iterator[str]:
    """A key of the frontmatter and its value, which may take several lines."""
    if not lines:
        return
    first = _KEY.match(lines[0])
    if first is None:  # a comment, or something that is no YAML
        yield from (_value(line, "", prose) for line in lines)
        return
    key = first["key"].lower()
    value = "\n".join([first["value"], *lines[1:]])
    if key in _KEPT or (key not in _TEXTS and len(value.split()) < _FEW):
        yield from lines
        return
    quote = value[:1] if value[:1] in {"'", '"'} and value.rstrip()[1:].endswith(value[:1]) else ""
    if quote:
        bare = value.rstrip()
        inner = "\n".join(_value(line, " ", prose) for line in bare[1:-1].split("\n"))
        made = quote + inner + quote + value[len(bare) :]
    else:
        head, *rest = value.split("\n")
        head = head if _BLOCK.fullmatch(head.strip()) else _value(head, "", prose)
        made = "\n".join([head, *(_value(line, "", prose) for line in rest)])
    yield from (lines[0][: first.start("value")] + made).split("\n")


def _value(line: str, blank: str, prose: Prose) -> str:
    """A line of a value with other words; `blank` is put for what holds none, if that might mean something."""
    bare, end = _parted(line)
    lead = _begins(_ITEM, bare)
    prose.begin()
    rest = bare[len(lead) :]
    if _words(rest):
        return lead + prose.fill(len(rest)) + end  # no sign of it stays: it might mean something to YAML
    return lead + (blank * len(rest) if blank else rest) + end

"""Text that looks like a criterion where none is read: a criterion that is lost is a check that never runs.

Text in code spans and closed HTML comments, and in closed HTML elements for code, does not count.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

SHAPE = "- [ ] **AC-1 (label):** prose"

_HYPHEN = "-_\u2010-\u2015\u2212"
# each repetition has a limit, so that a file of nothing but asterisks or brackets is still read in linear time
_BOX = r"\[[^\]\n]{0,3}\]\s{0,50}"
_BOLD = r"(?:\*\*|__)[*_]{0,3}\s{0,20}"
_NAME = rf"AC(?:[{_HYPHEN}]|(?=\d))[^\s(*]{{0,100}}\s{{0,50}}\("
_LABEL = r"(?:(?!\*\*|__).){0,500}?\)[\s*_]{0,9}[:\uff1a]"
_LOST = re.compile(
    rf"(?:{_BOX}{_BOLD}{_NAME}|(?:{_BOX}[*_]{{0,3}}|{_BOLD}){_NAME}{_LABEL})", re.DOTALL | re.IGNORECASE
)
_SPELLED = re.compile(r"AC-[A-Za-z0-9][A-Za-z0-9._-]*\s+\(")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_HIDING = re.compile(r"\\[`\\<]|`+|<!--|<(pre|code|script|style|textarea)\b", re.IGNORECASE)
_HTML_ENDS = (
    (re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE), "</{}>"),
    (re.compile(r"<\?"), "?>"),
    (re.compile(r"<!\[CDATA\["), "]]>"),
    (re.compile(r"<![A-Z]", re.IGNORECASE), ">"),
)


def lost_lines(text: str, *, html: bool = False) -> Iterator[tuple[int, str]]:
    """The lines of a text, from 0, in which a criterion seems to begin, each with what to mend.

    `html`: the text is an HTML block, where backticks mean nothing and elements for code do.
    """
    if "AC" not in text.upper():
        return
    lines = text.split("\n")
    shown = _INVISIBLE.sub("", _hidden(text, html=html))
    number, position, last = 0, 0, -1
    for found in _LOST.finditer(shown):
        number += shown.count("\n", position, found.start())
        position = found.start()
        if number != last:
            yield number, _mend(lines[number], found[0])
        last = number


def _mend(line: str, found: str) -> str:
    begins = "this looks like a criterion, but "
    if _INVISIBLE.search(line):
        return f"{begins}an invisible character stands in its line: delete that, and write {SHAPE}"
    if "AC-" in found and not _SPELLED.search(found):
        return (
            f"{begins}after AC- its id is not made of A-Z, a-z, 0-9, '.', '_' and '-', the first a letter or digit, "
            f"with a blank after it: write {SHAPE}"
        )
    if "<!--" in line or "-->" in line:
        return f"{begins}a comment stands in its line: move that to a line of its own, and write {SHAPE}"
    return f"{begins}is not written as one: {SHAPE}"


def html_opener(text: str) -> tuple[str, str] | None:
    """What begins an HTML block that only its end mark ends, and that mark; None if an empty line ends it."""
    start = text.lstrip(" \t")
    if start.startswith("<!--"):
        return "<!--", "-->"
    for opening, end in _HTML_ENDS:
        if found := opening.match(start):
            name = found[1].lower() if found.re.groups else ""
            return (f"<{name}>" if name else found[0]), end.format(name)
    return None


def end_of_html(text: str, closer: str) -> int:
    """The index behind the end mark of an HTML block, -1 if it has none."""
    ends = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)  # any of them ends any of them
    found = (ends if closer.startswith("</") else re.compile(re.escape(closer))).search(text)
    return found.end() if found else -1


def _hidden(text: str, *, html: bool) -> str:
    """The text with blanks for what hides a criterion; its lines stay."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    lower = text.lower()
    gone: set[str] = set()  # end marks that do not come any more
    parts: list[str] = []
    position = 0
    while found := _HIDING.search(text, position):
        parts.append(text[position : found.start()])
        end = _end(found, lower, runs, gone, html=html)
        if end > found.end():
            parts.append(re.sub(r"[^\n]", " ", text[found.start() : end]))
        else:
            parts.append(found[0])
        position = max(end, found.end())
    return "".join([*parts, text[position:]])


def _end(found: "re.Match[str]", lower: str, runs: dict[int, list[int]], gone: set[str], *, html: bool) -> int:
    """Where what hides something ends; -1 if it hides nothing."""
    if found[0][0] == "\\":
        return -1
    if found[0][0] == "`":
        starts = runs.get(len(found[0]), [])
        following = bisect_right(starts, found.start())
        return -1 if html or following == len(starts) else starts[following] + len(found[0])
    if found[1] and not html:
        return -1
    mark = f"</{found[1].lower()}>" if found[1] else "-->"
    end = -1 if mark in gone else lower.find(mark, found.end())
    if end < 0:
        gone.add(mark)
        return -1
    return end + len(mark)

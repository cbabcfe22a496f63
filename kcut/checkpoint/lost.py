"""Text that looks like a criterion where none is read: a criterion that is lost is a check that never runs.

Text in code spans and closed HTML comments, and in closed HTML elements for code, does not count.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

SHAPE = "- [ ] **AC-1 (label):** prose"

_HYPHEN = "-_\u2010-\u2015\u2212"
# each repetition has a limit, so that a file of nothing but asterisks or brackets is still read in linear time
_BOX = r"(?:\[[^\]\n]{0,3}\]|[\u2610-\u2612])\s{0,50}"
#: A box that nobody takes for the number of a footnote.
_PLAIN_BOX = r"(?:\[[^\]\n\d]{0,3}\]|[\u2610-\u2612])\s{0,50}"
_BOLD = r"(?:(?:\*\*|__)[*_]{0,3}|<(?:b|strong)>)\s{0,20}"
_MARKED = rf"AC(?:[{_HYPHEN}]|(?=\d))"
_NAME = rf"{_MARKED}[^\s(*]{{0,100}}\s{{0,50}}\("
_LABEL = r"(?:(?!\*\*|__).){0,500}?\)[\s*_]{0,9}(?:</(?:b|strong)>)?[:\uff1a]"
_LOST = re.compile(
    "|".join(
        (
            rf"{_BOX}{_BOLD}{_NAME}",
            rf"(?:{_BOX}[*_]{{0,3}}|{_BOLD}){_NAME}{_LABEL}",
            rf"{_BOX}{_BOLD}AC\s\d[^\s(*]{{0,100}}\s{{0,50}}\({_LABEL}",
            rf"{_PLAIN_BOX}{_BOLD}\[?{_MARKED}[^\s*]",
            rf"{_PLAIN_BOX}[*_]{{0,3}}{_MARKED}[^\s(*:]{{1,100}}(?:[*_]{{0,3}}[:\uff1a]|\s[-\u2013\u2014]\s)",
        )
    ),
    re.DOTALL | re.IGNORECASE,
)
_ID = r"AC-[A-Za-z0-9][A-Za-z0-9._-]*"
_SPELLED = re.compile(rf"{_ID}\s+\(")
_ID_AS_CODE = re.compile(rf"`\s?{_ID}\s?`")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_HIDING = re.compile(r"\\[`\\<]|`+|<!--|<(pre|code|script|style|textarea)\b", re.IGNORECASE)
_HTML_ENDS = (
    (re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE), "</{}>"),
    (re.compile(r"<\?"), "?>"),
    (re.compile(r"<!\[CDATA\["), "]]>"),
    (re.compile(r"<![A-Z]", re.IGNORECASE), ">"),
)


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line in which a criterion seems to begin, and what to mend. `hidden`: by a comment meant to end earlier."""

    line: int
    why: str
    hidden: bool = False


def lost_lines(text: str, first: int, *, html: bool = False) -> Iterator[LostLine]:
    """The lines in which a criterion seems to begin; `first` is the number of the text's first line.

    `html`: the text is an HTML block, where backticks mean nothing and elements for code do.
    """
    if "AC" not in text.upper():
        return
    lines = text.split("\n")
    hidden, hidings = _hidden(text, html=html)
    shown = _INVISIBLE.sub("", hidden)
    number, position, last = 0, 0, -1
    for found in _LOST.finditer(shown):
        number += shown.count("\n", position, found.start())
        position = found.start()
        if number != last:
            hiding = next((each for each in hidings if each.first <= number <= each.again), None)
            why = _mend(lines[number], found[0]) if hiding is None else hiding.sentence(first, found[0])
            yield LostLine(first + number, why, hidden=hiding is not None)
        last = number


@dataclass(frozen=True, slots=True)
class _Hiding:
    """A comment or element that a later one of its kind ends: lines from 0 of both beginnings and of the end."""

    opener: str
    closer: str
    first: int
    again: int
    end: int

    def sentence(self, line: int, found: str) -> str:
        name = re.search(rf"{_MARKED}[^\s(*]*", found, re.IGNORECASE)
        return (
            f"what looks like {name[0] if name else 'a criterion'} is hidden by the {self.opener} in line "
            f"{line + self.first}, which ends only with the {self.closer} of a later one in line {line + self.end}: "
            f"close the first one above this line"
        )


def _mend(line: str, found: str) -> str:
    begins = "this looks like a criterion, but "
    if _INVISIBLE.search(line):
        return f"{begins}an invisible character stands in its line: delete that, and write {SHAPE}"
    if "(" in found and "AC-" in found and not _SPELLED.search(found):
        return (
            f"{begins}after AC- its id is not made of A-Z, a-z, 0-9, '.', '_' and '-', the first a letter or digit, "
            f"with a blank after it: write {SHAPE}"
        )
    if "<!--" in line or "-->" in line:
        return f"{begins}a comment stands in its line: move that to a line of its own, and write {SHAPE}"
    if "(" not in found:
        return f"{begins}has no (label) behind its id, inside the asterisks: write {SHAPE}"
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


def begins_again(text: str, opener: str) -> bool:
    """True if in an HTML block another one of its kind begins."""
    return len(re.findall(re.escape(opener.rstrip(">")) + r"(?![A-Za-z])", text, re.IGNORECASE)) > 1


def _hidden(text: str, *, html: bool) -> tuple[str, list[_Hiding]]:
    """The text with blanks for what hides a criterion, its lines as they were.

    What is hidden only because the end of an earlier comment or element is missing stays, and is told apart.
    """
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    lower = text.lower()
    gone: set[str] = set()  # end marks that do not come any more
    parts: list[str] = []
    hidings: list[_Hiding] = []
    position = 0
    while found := _HIDING.search(text, position):
        start = found.start()
        parts.append(text[position:start])
        end = _end(found, lower, runs, gone, html=html)
        if end > found.end():
            again = lower.rfind(found[0].lower(), found.end(), end) if found[0][0] == "<" else -1
            if again >= 0:
                parts.append(text[start:again])
                closer = lower[lower.rfind("<", again, end) if found[1] else end - 3 : end]
                at = (lower.count("\n", 0, each) for each in (start, again, end))
                hidings.append(_Hiding(found[0], closer, *at))
                start = again
            code = text[start:end]
            parts.append(code.replace("`", " ") if _ID_AS_CODE.fullmatch(code) else re.sub(r"[^\n]", " ", code))
        else:
            parts.append(found[0])
        position = max(end, found.end())
    return "".join([*parts, text[position:]]), hidings


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

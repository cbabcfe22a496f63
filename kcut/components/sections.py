"""Sections of Markdown files: a heading and what follows, up to the next heading of the same or a higher level."""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BOM = "\ufeff"
#: Far above any rule file; below what a Markdown reader needs seconds for.
LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, GitHub's name for it, and where its section begins and ends in the file's text."""

    title: str
    slug: str
    level: int
    line: int
    start: int
    end: int
    raw: str


def read(data: bytes) -> str:
    """The text of a file; bytes that are no UTF-8 are kept by surrogates."""
    return data.decode("utf-8", "surrogateescape")


def write(text: str) -> bytes:
    """The bytes of a text that `read` gave."""
    return text.encode("utf-8", "surrogateescape")


def sections(text: str) -> tuple[Section, ...]:
    """The sections in their order; headings in code, quotes, lists, comments and frontmatter begin none."""
    from markdown_it import MarkdownIt

    marked = text.removeprefix(_BOM)
    lines = _LINE.findall(marked)
    at = [len(text) - len(marked)]
    for line in lines:
        at.append(at[-1] + len(line))
    reader = MarkdownIt("commonmark").disable("inline")
    tokens = reader.parse("".join(_without_frontmatter(lines)))
    inline = MarkdownIt("commonmark")
    heads: list[tuple[int, int, str, str]] = []
    for token, following in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            raw = following.content.strip()
            heads.append((int(token.tag[1]), token.map[0], raw, _rendered(inline, raw)))
    found: list[Section] = []
    seen: Counter[str] = Counter()
    for number, (level, line, raw, title) in enumerate(heads):
        end = next((other for deep, other, _, _ in heads[number + 1 :] if deep <= level), len(lines))
        slug = _unique(github_slug(title), seen)
        found.append(Section(title, slug, level, line + 1, at[line], at[end], raw))
    return tuple(found)


def find(text: str, name: str) -> tuple[Section, ...]:
    """The sections that a name means: by the heading's text, else by GitHub's name for it."""
    wanted = name.strip().lstrip("#").strip() or name
    every = sections(text)
    named = tuple(each for each in every if wanted in {each.title, each.raw})
    return named or tuple(each for each in every if each.slug == wanted)


def content(text: str) -> str:
    """A section's text without the blank lines that part it from the next: they belong to its place."""
    return text.rstrip(" \t\r\n")


def without(text: str, section: Section) -> str:
    """The text without a section, every other byte as it was; a blank line stays if two texts would run together."""
    head, tail = text[: section.start], text[section.end :]
    left = [each for each in sections(text) if not section.start <= each.start < section.end]
    if _titles(sections(head + tail)) == [(each.level, each.title) for each in left]:
        return head + tail
    return head + _line_end(text) + tail


def with_section(text: str, section: str, before: Sequence[Section], level: int) -> str | None:
    """The text with a section of that level that it lacks, where it stands in the file that it comes from.

    `before` are the headings above it there, the nearest last: it goes below the nearest that the text has too, else
    to the end; to the top if it is the first. None if it cannot stand there, as in a code block that is never closed.
    """
    own = sections(text)
    at = len(text)
    if not before:
        at = next((each.start for each in own if each.level <= level), at)
    for neighbour in reversed(before):
        match = next(
            (n for n, each in enumerate(own) if (each.level, each.slug) == (neighbour.level, neighbour.slug)), -1
        )
        if match >= 0:
            at = next((each.start for each in own[match + 1 :] if each.level <= level), at)
            break
    head, tail, piece = text[:at], text[at:], _in_style(text, section)
    titles = [(each.level, each.title) for each in own]
    number = sum(each.start < at for each in own)
    titles[number:number] = _titles(sections(piece))
    line = _line_end(text + piece)
    ways = [("", ""), (line, ""), (line * 2, ""), (line, line * 2), (line * 2, line * 2)]
    for gap, end in ways if head.endswith(("\n", "\r")) else ways[2:]:
        made = head + (gap if head.strip(_BOM) else "") + (content(piece) + end if end else piece) + tail
        if _titles(sections(made)) == titles:
            return made
    return None


def _titles(found: Iterable[Section]) -> list[tuple[int, str]]:
    return [(each.level, each.title) for each in found]


def replaced(text: str, old: Section, new: str) -> str:
    """The text with another content of a section; the blank lines after it stay."""
    was = text[old.start : old.end]
    if content(_plain(was)) == content(_plain(new)):
        return text
    return text[: old.start] + content(_in_style(text, new)) + was[len(content(was)) :] + text[old.end :]


def github_slug(title: str) -> str:
    """GitHub's name for a heading, without the number that tells equal ones apart."""
    kept = (char for char in title.lower() if char in "-_ " or unicodedata.category(char)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def _unique(slug: str, seen: Counter[str]) -> str:
    name, number = slug, 0
    while name in seen:
        number = seen[slug]
        seen[slug] += 1
        name = f"{slug}-{number}"
    seen[name] = 1
    return name


def _rendered(inline: "MarkdownIt", raw: str) -> str:
    children = inline.parseInline(raw)[0].children or []
    return "".join(token.content for token in children if token.type in {"text", "code_inline"}).strip()


def _without_frontmatter(lines: list[str]) -> list[str]:
    """The lines, those of the frontmatter blank: its end would make a heading of what stands above it."""
    if not lines or lines[0].rstrip() != "---":
        return lines
    close = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), None)
    return lines if close is None else ["\n"] * (close + 1) + lines[close + 1 :]


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _in_style(text: str, piece: str) -> str:
    """A piece with the line ends of a text, if that has one kind of them."""
    plain = _plain(piece)
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        return plain.replace("\n", "\r\n")
    return plain if "\r\n" not in text and "\n" in text else piece


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"

"""Blocks of text in files: given to one cohort, withheld from the other."""

import re
from typing import TYPE_CHECKING

from kcut.components import sections
from kcut.components.cohort import Cohort
from kcut.model.errors import UsageFault

if TYPE_CHECKING:
    from kcut.model.manifest import TextBlock


def give(block: "TextBlock", with_: Cohort, without: Cohort, told: str) -> None:
    """Put the block into WITH's file, and take it from WITHOUT's if it holds it."""
    if not block.block.strip():
        raise UsageFault(f"{told}: a text block is blank", remedy="write the lines that the file is to hold")
    for cohort, act in ((with_, with_block), (without, without_block)):
        file = cohort.read(block.file)
        if file is None and act is without_block:
            continue
        text = sections.read(file.data) if file is not None else ""
        made = with_block(text, block.block, block.at) if act is with_block else without_block(text, block.block)
        if made != text:
            cohort.put_data(block.file, sections.write(made))


def with_block(text: str, block: str, at: str = "end") -> str:
    """The text with the block, put at the end or the start if it is not in it."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body, line = text.removeprefix(mark), "\r\n" if "\r\n" in text else "\n"
    piece = _piece(block, line)
    if _spot(text, piece) is not None:
        return text
    if not body:
        return f"{mark}{piece}{line}"
    if at == "start":
        return f"{mark}{piece}{line}{line}{body}"
    end = "" if body.endswith("\n") else line
    return f"{text}{end}{line}{piece}{line}"


def without_block(text: str, block: str) -> str:
    """The text without the block, if it stands in it, and without one of the blank lines that parted it."""
    line = "\r\n" if "\r\n" in text else "\n"
    piece = _piece(block, line)
    while (at := _spot(text, piece)) is not None:
        head, tail = text[:at], text[at + len(piece) :].removeprefix(line)
        if tail.startswith(line) and (not head.strip("\ufeff") or head.endswith(line * 2)):
            tail = tail.removeprefix(line)
        elif not tail and head.endswith(line * 2):
            head = head.removesuffix(line)
        text = head + tail
    return text


def _piece(block: str, line: str) -> str:
    return block.strip("\r\n").replace("\r\n", "\n").replace("\n", line)


def _spot(text: str, piece: str) -> int | None:
    """Where the lines of the piece stand in the text."""
    found = re.search(rf"(?:(?<=\n)|(?<=\A\ufeff)|(?<=\A)){re.escape(piece)}(?=\r?\n|\Z)", text)
    return found.start() if found else None

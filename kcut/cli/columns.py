"""Rows of text as aligned columns."""

from collections.abc import Callable, Collection, Sequence

from kcut.report.text import pad, width


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    style: Callable[[int, str, str], str] = lambda _column, _cell, padded: padded,
) -> str:
    """The rows as lines, two spaces between columns; those in `right` end flush.

    `style(column, cell, padded)` gives what is printed for a cell: the padded text, coloured or not.
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for index, (cell, size) in enumerate(zip(row, widths, strict=True)):
            padded = " " * (size - width(cell)) + cell if index in right else pad(cell, size)
            cells.append(style(index, cell, padded))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)

"""A figure of a report: what is drawn, in plotly's words but as plain data, its words and its numbers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from kcut.report.text import limited

#: A colour and a symbol per cohort, so that neither colour-blind readers nor grey prints lose one.
COHORTS = {
    "with": {"color": "#2f7fd6", "symbol": "circle"},
    "without": {"color": "#d9730d", "symbol": "diamond"},
    "placebo": {"color": "#8a63d2", "symbol": "square"},
}
NEUTRAL = "#7c8594"
KEEP, CUT = "#2f9e5b", "#d64545"

Trace = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers behind a figure: headings with their alignment, and cells of plain text that is not yet escaped."""

    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """`name` is unique within a benchmark; `says` tells a reader who does not see it what it shows."""

    name: str
    title: str
    says: str
    data: tuple[Trace, ...]
    layout: dict[str, Any]
    table: Table
    notes: tuple[str, ...] = field(default=())

    @property
    def height(self) -> int:
        """In CSS pixels."""
        return int(self.layout["height"])


@dataclass(frozen=True, slots=True)
class Absent:
    """A figure that has nothing to show, and the sentence that stands in its place."""

    name: str
    title: str
    why: str


def label(text: str, columns: int = 28) -> str:
    """Text from outside as plotly may draw it: one short line in which nothing is markup or a link."""
    return escape(limited(text, columns), quote=False)


def layout(height: int, *, x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What all figures share; the page's style sheet gives text and lines their colours."""
    axis = {
        "automargin": True,
        "zeroline": False,
        "fixedrange": True,
        "title": {"standoff": 8},
        "ticklabelstandoff": 4,
    }
    return {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 36, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "#1f2430", "bordercolor": "#1f2430", "font": {"color": "#ffffff"}},
        "hovermode": "closest",
        "xaxis": axis | x,
        "yaxis": axis | y,
    } | more


def titled(text: str, **more: Any) -> dict[str, Any]:
    """An axis with that title."""
    return {"title": {"text": text, "standoff": 8}} | more


def level(y: float, color: str, dash: str = "dash") -> dict[str, Any]:
    """A line across the figure."""
    line = {"color": color, "width": 1.5, "dash": dash}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def upright(x: float, color: str, dash: str = "dash") -> dict[str, Any]:
    """A line from the bottom to the top of the figure."""
    line = {"color": color, "width": 1.5, "dash": dash}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": line}


def numbered(text: str, most: int) -> dict[str, Any]:
    """An axis of whole numbers from 1 to `most`, with a little room on both sides."""
    return titled(text, range=[0.2, most + 0.5 + 0.02 * most], **whole(most))


def whole(most: int) -> dict[str, Any]:
    """Marks at whole numbers alone on an axis that ends at `most`: plotly would round what lies between."""
    return {"tickformat": "d"} | ({"dtick": 1} if most <= 10 else {"nticks": 10})

"""The golden files of the reports. `python -m tests.golden` writes what the reports are now; read the difference."""

from collections.abc import Callable
from pathlib import Path

from kcut.report import html, junit, markdown, table_csv, terminal
from kcut.report.cells import Cell
from tests import reports
from tests.test_report_render import ARTIFACTS

FOLDER = Path(__file__).parent / "data" / "golden"
#: Stands for plotly.js, which is five megabytes and not ours.
LIBRARY = "/* plotly.js */"


def several() -> list[Cell]:
    """Two benchmarks of one component and one of another."""
    other = ARTIFACTS["first-format"]().model_copy(update={"component": "other"})
    return [Cell(reports.fixed(4)), Cell(reports.sequential("cut")), Cell(other)]


CELLS: dict[str, Callable[[], list[Cell]]] = {
    "keep": lambda: [Cell(ARTIFACTS["keep"]())],
    "invalid": lambda: [Cell(ARTIFACTS["invalid"]())],
    "first-format": lambda: [Cell(ARTIFACTS["first-format"]())],
    "hostile": lambda: [Cell(ARTIFACTS["hostile"]())],
    "sequential": lambda: [Cell(reports.sequential())],
    "eprocess": lambda: [Cell(reports.eprocess())],
    "tasks": lambda: [Cell(reports.several_tasks())],
    "placebo": lambda: [Cell(reports.placebo())],
    "several": several,
}

RENDERERS: dict[str, Callable[[list[Cell]], str]] = {
    "html": lambda cells: html.render(cells, library=LIBRARY),
    "xml": junit.render,
    "csv": table_csv.render,
    "md": markdown.render_all,
    "txt": lambda cells: "\n".join(terminal.render(cell.artifact) for cell in cells),
}

FILES = [f"{name}.{suffix}" for name in CELLS for suffix in RENDERERS]


def make(file: str) -> str:
    """What the file of that name is to hold."""
    name, suffix = file.split(".")
    return RENDERERS[suffix](CELLS[name]())


def main() -> None:
    """Write all of them."""
    for name, artifact in ARTIFACTS.items():
        (FOLDER / f"{name}.txt").write_text(terminal.render(artifact()))
        (FOLDER / f"{name}.md").write_text(markdown.render(artifact()))
    for file in FILES:
        (FOLDER / file).write_bytes(make(file).encode())


if __name__ == "__main__":
    main()

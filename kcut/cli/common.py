"""What the commands share: colours, JSON output, and where the checkout is."""

import json
import os
import sys
from collections.abc import Callable
from typing import IO, Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour the output.",
)


def wants_color(choice: str, stream: IO[str] | None = None) -> bool:
    """True if text for `stream` (default: stdout) should be coloured: a terminal, and nobody said no."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def tell(show: Callable[[], None]) -> None:
    """Print a result whose exit code must stand although its reader went away."""
    try:
        show()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout: UTF-8, no NaN."""
    from kcut.model.names import visible_document

    text = json.dumps(visible_document(document), ensure_ascii=False, allow_nan=False, indent=2)
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()

"""What the commands share: colours, JSON output, and where the checkout is."""

import json
import os
import sys
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


def emit_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout: UTF-8, no NaN."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()

"""Checkpoint specs: Markdown in, acceptance criteria and their checks out. Pure: nothing is read or run here.

What is weak in a spec says `kcut.checkpoint.lint`.
"""

from kcut.checkpoint.parse import parse_spec
from kcut.checkpoint.rerun import rerun
from kcut.checkpoint.spec import DEFAULT_TIMEOUT, Check, Criterion, Note, Spec, Unclosed

__all__ = [
    "DEFAULT_TIMEOUT",
    "Check",
    "Criterion",
    "Note",
    "Spec",
    "Unclosed",
    "parse_spec",
    "rerun",
]

"""Artifacts as documents, for the tests that put them into files."""

import json
from pathlib import Path
from typing import Any

from kcut.artifacts import FOLDER
from kcut.model.names import slug

EXAMPLE = Path(__file__).parent / "data" / "artifact.example.json"


def example(**changes: Any) -> dict[str, Any]:
    """An artifact with every key."""
    document: dict[str, Any] = json.loads(EXAMPLE.read_text())
    return document | changes


def first_format(component: str = "demo", **changes: Any) -> dict[str, Any]:
    """An artifact with the keys of the first published format and no others."""

    def cohort(successes: int) -> dict[str, Any]:
        return {
            "k": 5,
            "successes": successes,
            "passAt": successes > 0,
            "passCaret": successes == 5,
            "successRate": successes / 5,
            "totalCostUsd": None,
            "meanCostPerTrial": None,
            "costPerSuccess": None,
            "tokens": None,
        }

    document = {
        "component": component,
        "k": 5,
        "task": "./run.sh",
        "score": None,
        "with": cohort(4),
        "without": cohort(2),
        "pass": True,
        "reason": "with 0.80 > without 0.40",
        "ts": "2026-03-01T09:00:00.000Z",
    }
    return document | changes


def put(root: Path, name: str, document: dict[str, Any] | str | bytes) -> Path:
    """Write what is to lie where the artifact of `name` lies."""
    path = root / FOLDER / f"{slug(name)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(document, dict):
        document = json.dumps(document)
    path.write_bytes(document if isinstance(document, bytes) else document.encode())
    return path

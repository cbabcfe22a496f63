"""The task: play back one recorded run of an agent instead of paying for a new one.

    python3 replay.py ROWS TASK           in a trial: the row for this cohort and HARNESS_TRIAL
    python3 replay.py --count ROWS TASK   the --k to use: how many pairs the recording holds, and what is left out

ROWS is a JSON file, one row or a list of rows, with `task`, `mode` (`on`, `off`; others are ignored), `run`,
`pass`, `num_turns`, `cost_usd`, `in_tokens`, `out_tokens`, `cache_read`, `cache_write`, `agent_ms`, `is_error`,
`model`. TASK is a task's name or the part before its first `-`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

Row = dict[str, Any]
#: The sidecar's name for a token count -> the row's.
TOKENS = {
    "input_tokens": "in_tokens",
    "output_tokens": "out_tokens",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}


def recorded(path: Path) -> list[Row]:
    """The rows of a file."""
    document: Row | list[Row] = json.loads(path.read_text(encoding="utf-8"))
    return document if isinstance(document, list) else [document]


def cohort(rows: list[Row], task: str, mode: str) -> list[Row]:
    """The rows of one task and mode in the order of their runs."""
    chosen = [row for row in rows if row["mode"] == mode and task in {row["task"], row["task"].split("-")[0]}]
    return sorted(chosen, key=lambda row: int(row["run"]))


def void_reason(row: Row) -> str | None:
    """Why the row is no measurement, None if it is one.

    The rule is the recording's: void if `is_error`, or at most one turn, or no cost. The reason is the truest that
    a row allows: nothing was answered (startup), an answer was cut off (interrupted), or the agent did its work and
    the recording lacks what it cost (harness).
    """
    turns, cost = row.get("num_turns"), row.get("cost_usd")
    short = turns is not None and turns <= 1
    if not row.get("is_error") and not short and cost:
        return None
    if not row.get("out_tokens") or (short and not row.get("is_error")):
        return "startup"
    return "interrupted" if row.get("is_error") else "harness"


def sidecar(row: Row) -> Row:
    """What the row says of its own economics, in the sidecar's words; what it does not say is left out."""
    told = {
        "cost_usd": row.get("cost_usd"),
        "usage": {ours: row[theirs] for ours, theirs in TOKENS.items() if row.get(theirs) is not None} or None,
        "num_turns": row.get("num_turns"),
        "duration_ms": row.get("agent_ms"),
        "is_error": row.get("is_error"),
        "model": row.get("model"),
        "void": void_reason(row),
    }
    return {name: value for name, value in told.items() if value is not None}


def count(rows: list[Row], task: str) -> int:
    """Pairs in the recording; says on stderr which rows have no partner."""
    on, off = (len(cohort(rows, task, mode)) for mode in ("on", "off"))
    if on != off:
        print(f"{on} rows on, {off} off: the last {abs(on - off)} have no partner and are left out", file=sys.stderr)
    return min(on, off)


def main(arguments: list[str]) -> None:
    """Count, or play back."""
    counting = arguments[0] == "--count"
    path, task = arguments[-2:]
    rows = recorded(Path(path))
    if counting:
        print(count(rows, task))
        return
    mode = "on" if os.environ["HARNESS_COMPONENT_ENABLED"] == "1" else "off"
    played = cohort(rows, task, mode)[int(os.environ["HARNESS_TRIAL"]) :][:1]
    out = Path(os.environ["HARNESS_TRIAL_OUT"])
    if not played:  # --k asks for more than was recorded: no row, no measurement
        out.write_text(json.dumps({"void": "harness"}), encoding="utf-8")
        return
    row = played[0]
    Path("played.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
    Path("outcome.txt").write_text("pass\n" if row["pass"] else "fail\n", encoding="utf-8")
    out.write_text(json.dumps(sidecar(row)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""`kcut decide --from maestro` on the runs that were published: every cell counted once more, by hand."""

import json
import os
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut

RECORDED = os.environ.get("KCUT_MAESTRO_RUNS")
pytestmark = pytest.mark.skipif(RECORDED is None, reason="KCUT_MAESTRO_RUNS names no recorded runs")
Row = dict[str, Any]
Key = tuple[str | None, str | None, str]


def files() -> list[Path]:
    return sorted((Path(str(RECORDED)) / "rows").glob("*.json"))


def rows_of(path: Path) -> list[Row]:
    """The rows of a file; some hold a single one, bare."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return [data] if isinstance(data, dict) else data


def is_void(row: Row) -> bool:
    """The rule that was published with the runs."""
    if row.get("is_error") or not row.get("cost_usd"):
        return True
    turns = row.get("num_turns")
    return turns is not None and turns <= 1


def expected(rows: list[Row]) -> dict[Key, dict[str, list[Row]]]:
    """The rows of each cell and cohort."""
    cells: dict[Key, dict[str, list[Row]]] = defaultdict(lambda: {"with": [], "without": []})
    for row in rows:
        if row["mode"] != "core":
            cohort = "with" if row["mode"] == "on" else "without"
            cells[row.get("cli") or None, row.get("model") or None, row["task"]][cohort].append(row)
    return cells


def decide(kcut: Kcut, paths: list[Path], *more: str) -> tuple[int, dict[str, Any], str]:
    done = kcut("decide", "--from", "maestro", *map(str, paths), *more, "--json")
    return done.returncode, json.loads(done.stdout), done.stderr


def test_every_cell_of_all_files(kcut: Kcut) -> None:
    rows = [row for path in files() for row in rows_of(path)]
    assert (len(rows), sum(map(is_void, rows))) == (377, 69)
    code, found, said = decide(kcut, files())
    assert (code, found["decision"]) == (2, "invalid")
    core = sum(row["mode"] == "core" for row in rows)
    assert found["ignored"] == {"core": core}
    assert f"left out {core} rows of other cohorts: core {core}" in said
    cells = expected(rows)
    assert len(found["cells"]) == len(cells)
    for cell in found["cells"]:
        cohorts = cells[cell["cli"], cell["model"], cell["task"]]
        for name in ("with", "without"):
            valid = [row for row in cohorts[name] if not is_void(row)]
            summary = cell[name]
            assert (summary["k"], summary["valid"]) == (len(cohorts[name]), len(valid))
            assert summary["successes"] == sum(row["pass"] for row in valid)
            assert sum(summary["voids"].values()) == len(cohorts[name]) - len(valid)
            for key, column in (
                ("medianCostUsd", "cost_usd"),
                ("medianWallMs", "wall_ms"),
                ("medianTurns", "num_turns"),
            ):
                median = statistics.median(row[column] for row in valid) if valid else None
                assert summary.get(key) == (None if median is None else pytest.approx(median))
        invalid = not cell["with"]["valid"] or not cell["without"]["valid"]
        assert (cell["decision"] == "invalid") is invalid
        if not invalid:
            assert cell["decision"] in {"cut", "inconclusive"}
            assert cell["evidence"]["difference"] <= 0
            assert cell["cost"]["ratio"] > 0
    assert {cell["cli"] for cell in found["cells"]} == {"claude", "codex", "gemini"}
    # no success gain over all tasks of a model, and a rules file that costs more
    assert {(several["cli"], several["model"]) for several in found["strata"]} == {
        ("claude", "haiku"),
        ("claude", "sonnet"),
    }
    for several in found["strata"]:
        assert several["decision"] in {"cut", "inconclusive"}
        assert several["cost"]["ratio"] > 1


def test_the_published_medians(kcut: Kcut) -> None:
    [path] = [path for path in files() if path.name.startswith("20260610-202033")]
    code, found, _ = decide(kcut, [path])
    [cell] = [cell for cell in found["cells"] if cell["task"].startswith("t12")]
    assert (code, cell["decision"]) == (3, "inconclusive")
    assert round(cell["without"]["medianCostUsd"], 4) == 0.3433
    assert round(cell["with"]["medianCostUsd"], 4) == 0.3576
    assert cell["cost"]["ratio"] > 1


def test_each_file_by_itself_ends_in_words(kcut: Kcut) -> None:
    """A table and a decision, or one sentence that says which cohort is missing."""
    for path in files()[::6]:
        modes = {row["mode"] for row in rows_of(path)}
        done = kcut("decide", "--from", "maestro", str(path))
        if {"on", "off"} <= modes:
            assert done.returncode in {1, 2, 3}
            assert "CUT" in done.stdout or "INCONCLUSIVE" in done.stdout or "INVALID" in done.stdout
        else:
            assert done.returncode == 2
            assert "no row is of the cohort" in done.stderr


def test_another_pair_of_cohorts(kcut: Kcut) -> None:
    _, found, _ = decide(kcut, files(), "--with", "core")
    modes = [row["mode"] for path in files() for row in rows_of(path)]
    assert sum(cell["with"]["k"] for cell in found["cells"]) == modes.count("core") > 0
    assert sum(cell["without"]["k"] for cell in found["cells"]) == modes.count("off")
    assert found["ignored"] == {"on": modes.count("on")}

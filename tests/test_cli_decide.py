"""`kcut decide` as a process: every shape of input, exit codes, and what a reader sees."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcut.report.text import width
from tests.conftest import Kcut, Repo

DATA = Path(__file__).parent / "data" / "rows"
SHAPES = ("plain.csv", "semicolons.csv", "tabs.tsv", "objects.json", "lines.jsonl", "wrapped.json")
MAP = (
    "task=what",
    "cohort=config",
    "pass=ok",
    "cost=price",
    "wall=ms",
    "turns=steps",
    "void=why",
    "cli=tool",
    "model=llm",
)
MAPPED = [word for pair in MAP for word in ("--map", pair)] + ["--with", "skill", "--without", "plain"]


def document(kcut: Kcut, *args: str, code: int = 3, **more: Any) -> dict[str, Any]:
    done = kcut("decide", *args, "--json", **more)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write(path: Path, rows: Sequence[tuple[str, str, int, int]]) -> str:
    """A CSV file of (task, cohort, passed, trials)."""
    lines = [f"{task},{cohort},{int(i < passed)}" for task, cohort, passed, n in rows for i in range(n)]
    path.write_text("\n".join(["task,mode,pass", *lines, ""]))
    return str(path)


def test_every_shape_says_the_same(kcut: Kcut) -> None:
    first = document(kcut, str(DATA / SHAPES[0]))
    for name in SHAPES[1:]:
        assert document(kcut, str(DATA / name)) == first
    mapped = document(kcut, str(DATA / "mapped.csv"), *MAPPED)
    assert mapped.pop("ignored") == {"other": 2}
    assert mapped == first
    assert [cell["task"] for cell in first["cells"]] == ["añadir log", "sort imports"]
    log, imports = first["cells"]
    assert (log["cli"], log["model"]) == ("claude", "sonnet")
    assert (log["with"]["k"], log["with"]["valid"], log["with"]["successes"]) == (5, 4, 3)
    assert log["with"]["voids"] == {"rate_limit": 1}
    assert (imports["with"]["successes"], imports["without"]["successes"]) == (6, 1)
    assert imports["with"]["medianCostUsd"] == pytest.approx(0.35)
    assert imports["without"]["medianWallMs"] == 16250
    assert (imports["decision"], log["decision"], first["decision"]) == ("keep", "inconclusive", "inconclusive")
    assert imports["evidence"]["pValue"] < 0.05
    assert imports["cost"]["ratio"] == pytest.approx(1.4, abs=0.01)
    assert imports["cost"]["interval"][0] < imports["cost"]["ratio"] < imports["cost"]["interval"][1]
    [several] = first["strata"]
    assert several["tasks"] == ["añadir log", "sort imports"]
    assert several["evidence"]["method"] == "cmh"


def test_standard_input_and_formats(kcut: Kcut) -> None:
    first = document(kcut, str(DATA / "plain.csv"))
    for name in ("semicolons.csv", "lines.jsonl", "wrapped.json"):
        assert document(kcut, "-", stdin=(DATA / name).read_text()) == first
    assert document(kcut, "-", "--format", "json", stdin=(DATA / "objects.json").read_text()) == first
    done = kcut("decide", "-", "--format", "jsonl", stdin=(DATA / "objects.json").read_text())
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 1: it is not JSON" in done.stderr


def test_several_files_are_one_table(kcut: Kcut, tmp_path: Path) -> None:
    one = write(tmp_path / "1.csv", [("t", "on", 6, 6), ("t", "off", 0, 3)])
    two = write(tmp_path / "2.csv", [("t", "off", 0, 3)])
    [cell] = document(kcut, one, two, code=0)["cells"]
    assert (cell["with"]["k"], cell["without"]["k"]) == (6, 6)
    again = tmp_path / "again.csv"
    again.symlink_to(one)
    done = kcut("decide", one, str(again))
    assert done.returncode == 2
    assert "would count twice" in done.stderr


@pytest.mark.parametrize(
    ("rows", "evidence", "point"),
    [
        ([("t", "on", 6, 6), ("t", "off", 0, 6)], ("keep", 0), 0),
        ([("t", "on", 0, 9), ("t", "off", 6, 9)], ("cut", 1), 1),
        ([("t", "on", 4, 6), ("t", "off", 3, 6)], ("inconclusive", 3), 0),
        ([("t", "on", 6, 6), ("t", "off", 0, 6), ("u", "on", 3, 6), ("u", "off", 3, 6)], ("inconclusive", 3), 1),
        ([("t", "on", 6, 6), ("t", "off", 0, 6), ("u", "on", 0, 9), ("u", "off", 6, 9)], ("cut", 1), 1),
        ([("t", "on", 6, 6), ("t", "off", 0, 6), ("u", "on", 6, 6)], ("invalid", 2), 2),
    ],
)
def test_the_overall_decision_and_the_exit_code(
    kcut: Kcut, tmp_path: Path, rows: list[tuple[str, str, int, int]], evidence: tuple[str, int], point: int
) -> None:
    file = write(tmp_path / "rows.csv", rows)
    decision, code = evidence
    found = document(kcut, file, code=code)
    assert found["decision"] == decision
    assert found["pass"] is (code == 0)
    assert document(kcut, file, "--rule", "point", code=point)["decision"] == decision


def test_options_change_the_decision(kcut: Kcut, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.csv", [("t", "on", 5, 5), ("t", "off", 2, 5)])
    assert document(kcut, file, code=0)["decision"] == "keep"
    assert document(kcut, file, "--alpha", ".01", code=3)["decision"] == "inconclusive"
    file = write(tmp_path / "cut.csv", [("t", "on", 10, 20), ("t", "off", 10, 20)])
    assert document(kcut, file, code=3)["decision"] == "inconclusive"
    assert document(kcut, file, "--delta", ".5", code=1)["decision"] == "cut"
    assert document(kcut, file, "--beta", ".3", code=1)["decision"] == "cut"
    done = kcut("decide", file, "--alpha", "2")
    assert (done.returncode, "--alpha must be a number between 0 and 1" in done.stderr) == (2, True)


def test_a_lower_cost_at_the_same_success(kcut: Kcut, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"t,{cohort},1,{price + i / 1000}" for cohort, price in (("on", 0.1), ("off", 0.3)) for i in range(30)]
    path.write_text("\n".join(["task,mode,pass,cost_usd", *lines]))
    found = document(kcut, str(path), "--objective", "cost", code=0)
    [cell] = found["cells"]
    assert cell["cost"]["nonInferior"] is True
    assert cell["cost"]["upper"] < 1
    assert found["strata"] == []
    assert document(kcut, str(path), "--objective", "cost", "--margin", ".05", code=3)["decision"] == "inconclusive"
    path.write_text("\n".join(["task,mode,pass", *(line.rpartition(",")[0] for line in lines)]))
    [cell] = document(kcut, str(path), "--objective", "cost", code=3)["cells"]
    assert [warn["code"] for warn in cell["evidence"]["warnings"]].count("costs-unknown") == 1


def test_the_table(kcut: Kcut) -> None:
    done = kcut("decide", str(DATA / "plain.csv"), env={"COLUMNS": "110"})
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["task", "with", "without", "void", "gain", "(95", "%)", "cost", "ratio", "evidence"]
    assert lines[1] == "claude sonnet"
    assert lines[3].split() == [
        "sort",
        "imports",
        "6/6",
        "1/6",
        "+0.83",
        "(+0.28,",
        "+0.97)",
        "1.40",
        "(1.15-1.70)",
        "KEEP",
    ]
    assert lines[4].startswith("= 2 tasks")
    assert lines[-1] == "overall: INCONCLUSIVE (2 cells: 1 keep, 1 inconclusive)"
    assert done.stderr == ""
    narrow = kcut("decide", str(DATA / "plain.csv"), "-v", env={"COLUMNS": "80"}).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    assert "median cost $0.350   time 21.2s   turns 6.5   void 0" in narrow
    painted = kcut("decide", str(DATA / "plain.csv"), "--color", "always").stdout
    assert "\x1b[32mKEEP\x1b[0m" in painted


def test_a_single_cell_gets_its_evidence_in_words(kcut: Kcut, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.csv", [("t", "on", 18, 20), ("t", "off", 9, 20)])
    text = kcut("decide", file).stdout
    assert "evidence: KEEP - 18 of 20 against 9 of 20, at least +0.16 (95 %)" in text
    assert "(Boschloo p = 0.0012)" in text


def test_names_from_the_data_do_not_act_on_the_terminal(kcut: Kcut, tmp_path: Path) -> None:
    nasty = "t\x1b]0;x\x07\u202e\u0301" + "long" * 40
    rows = [{"task": nasty, "cohort": c, "pass": c == "on", "cli": "\x1b[2J", "void": False} for c in ("on", "off")]
    rows += [{"task": nasty, "cohort": "on", "void": "\x1b[31mred\nline", "cli": "\ud800"}]
    rows += [{"task": nasty, "cohort": "\x9b31m", "pass": True}]
    file = tmp_path / "r\x1b.json"
    file.write_text(json.dumps(rows))
    for more in ((), ("--json",), ("-v", "--with", "on", "--without", "off")):
        done = kcut("decide", str(file), *more)
        assert done.returncode == 2
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(done.stdout.replace("\\u", "") + done.stderr)
    assert max(map(width, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"task,cohort,pass\nt,on,1\n", "no row is of the cohort without"),
        (b"task,cohort,pass\nt,on,maybe\n", "row 1 (line 2), column 'pass': 'maybe' is neither pass nor fail"),
        (b"a\x00b\xff", "it is not UTF-8 (byte 0xff)"),
    ],
)
def test_bad_input_is_one_clear_sentence(kcut: Kcut, tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(content)
    for more in ((), ("--json",), ("--from", "maestro")):
        done = kcut("decide", str(file), *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"kcut: {file}") or done.stderr.startswith("kcut: no row")
        assert message in done.stderr or more[:1] == ("--from",)
        assert "Traceback" not in done.stderr


def test_files_that_cannot_be_read(kcut: Kcut, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, message in (
        ("none.csv", "there is no such file"),
        ("folder", "not a regular file"),
        ("fifo", "pipe it"),
    ):
        done = kcut("decide", name, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr
    assert kcut("decide").returncode == 2


def test_an_artifact_of_a_run_is_decided_as_the_run_was(kcut: Kcut, repo: Repo) -> None:
    task = 'test "$HARNESS_COMPONENT_ENABLED" = 1 || test "$HARNESS_TRIAL" = 1'
    report = """; printf '{"cost_usd": 0.%s1, "num_turns": 3}' "$HARNESS_TRIAL" > "$HARNESS_TRIAL_OUT"; exit $code"""
    done = kcut(
        "benchmark", "--component", "c", "--task", f"{task}; code=$?{report}", "--k", "4", "-q", cwd=repo.path
    )
    assert done.returncode == 0, done.stderr
    file = repo.path / ".claude/eval/benchmarks/c.json"
    artifact = json.loads(file.read_text())
    [cell] = document(kcut, str(file), code=3 if artifact["decision"]["verdict"] == "inconclusive" else 0)["cells"]
    for key in ("verdict", "method", "pValue", "pValueCut", "difference", "interval", "neededK", "pairs"):
        assert cell["evidence"][key] == artifact["decision"][key]
    for cohort in ("with", "without"):
        for key in (
            "k",
            "valid",
            "successes",
            "passCaret",
            "rateInterval",
            "passHatK",
            "totalCostUsd",
            "medianTurns",
        ):
            assert cell[cohort][key] == artifact[cohort][key]
    assert cell["task"] == artifact["task"]
    stopped = artifact | {"maxK": 20}
    file.write_text(json.dumps(stopped))
    refused = kcut("decide", str(file))
    assert (refused.returncode, "kcut report" in refused.stderr) == (2, True)


def test_the_last_line_says_what_sets_the_exit_code(kcut: Kcut, tmp_path: Path) -> None:
    rows = [("a", "on", 2, 3), ("a", "off", 1, 3), ("b", "on", 3, 3), ("b", "off", 2, 3)]
    done = kcut("decide", write(tmp_path / "t.csv", rows), "--rule", "point")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [
        "evidence: INCONCLUSIVE (2 cells: 2 inconclusive)",
        "overall (point rule): PASS - the rate rose in 2 of 2 cells",
    ]
    rows[3] = ("b", "off", 3, 3)
    done = kcut("decide", write(tmp_path / "t.csv", rows), "--rule", "point")
    assert done.returncode == 1
    assert done.stdout.endswith("overall (point rule): FAIL - the rate rose in 1 of 2 cells\n")
    done = kcut("decide", write(tmp_path / "t.csv", rows))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "overall: INCONCLUSIVE (2 cells: 2 inconclusive)")
    assert "The joint line of several tasks stands beside it" in " ".join(kcut("decide", "-h").stdout.split())


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--task", "true", "--objective", "cost"), "was to show lower costs"),
        (("--tasks", "t.toml"), "had 2 tasks"),
        (("--task", 'test "$HARNESS_COMPONENT_ENABLED" = 1', "--anytime"), "stopped as soon as it was clear"),
    ],
)
def test_runs_that_are_decided_in_their_own_way(repo: Repo, kcut: Kcut, args: tuple[str, ...], why: str) -> None:
    repo.write("t.toml", "[[task]]\nname = 'a'\ntask = 'true'\n[[task]]\nname = 'b'\ntask = 'true'\n")
    number = () if "--anytime" in args else ("--k", "2")
    kcut("benchmark", "--component", "x", *args, *number, cwd=repo.path)
    path = ".claude/eval/benchmarks/x.json"
    done = kcut("decide", path, cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert f"its decision: kcut report {path}" in done.stderr


def test_one_run_counts_once(repo: Repo, kcut: Kcut) -> None:
    task = 'test "$HARNESS_COMPONENT_ENABLED" = 1'
    assert kcut("benchmark", "--component", "x", "--task", task, "--k", "2", cwd=repo.path).returncode == 0
    text = (repo.path / ".claude/eval/benchmarks/x.json").read_text()
    repo.write("a.json", text)
    repo.write("b.json", text)
    repo.write("c.json", text + "\n")
    for other, said in (("b.json", "b.json holds what a.json holds"), ("c.json", "are of one run")):
        done = kcut("decide", "a.json", other, cwd=repo.path)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_voids_are_weighed_where_costs_are_compared(tmp_path: Path, kcut: Kcut) -> None:
    rows: list[dict[str, Any]] = [
        {"task": "t", "cohort": "with", "pass": True, "cost": 0.5 + number / 1000} for number in range(36)
    ]
    rows += [{"task": "t", "cohort": "without", "pass": True, "cost": 1 + number / 1000} for number in range(40)]
    void = [{"task": "t", "cohort": "with", "pass": False, "void": "quota"} for _ in range(4)]
    for more, expected in (([], ("keep", 0)), (void, ("inconclusive", 3))):
        (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, *more]))
        done = kcut("decide", "r.jsonl", "--objective", "cost", "--json")
        assert (json.loads(done.stdout)["cells"][0]["decision"], done.returncode) == expected


def test_numbers_that_cannot_be_are_refused(tmp_path: Path, kcut: Kcut) -> None:
    (tmp_path / "r.csv").write_text("task,cohort,pass,cost\nt,with,true,1e308\nt,without,true,1e308\n")
    done = kcut("decide", "r.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is larger than anything that is measured here" in done.stderr

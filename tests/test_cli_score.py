"""`kcut score compliance` from the command line: streams of our own making, and those that were published."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from kcut.compliance.behaviors import NAMES
from kcut.compliance.costs import cells, joined, path_of, results
from kcut.compliance.rules import parse_rules
from kcut.model.errors import UsageFault
from kcut.rows.parse import records
from tests.conftest import Kcut, Repo

STREAMS = Path(__file__).parent / "data" / "streams"
SAMPLES = (
    "t16-feat-parse-duration-on-r1.jsonl",
    "t16-feat-parse-duration-off-r2.jsonl",
    "t90-fix-total-core-r3.jsonl",
)
ROWS = STREAMS / "rows.json"
RECORDED = os.environ.get("KCUT_MAESTRO_RUNS")


def document(kcut: Kcut, *args: str, cwd: Path = STREAMS) -> dict[str, Any]:
    done = kcut("score", "compliance", *args, "--json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_samples(kcut: Kcut) -> None:
    found = document(kcut, *SAMPLES)
    assert list(found) == ["streams"]
    first, second, third = found["streams"]
    assert [first[key] for key in ("file", "task", "mode", "run")] == [SAMPLES[0], "t16-feat-parse-duration", "on", 1]
    assert [(run["task"], run["mode"], run["run"]) for run in (second, third)] == [
        ("t16-feat-parse-duration", "off", 2),
        ("t90-fix-total", "core", 3),
    ]
    answers = [[run["behaviors"][name] for name in NAMES] for run in found["streams"]]
    assert answers == [
        [False, True, True, True, True, True, True],
        [False, True, False, False, True, True, False],  # it ran something else than what it had written
        [True, False, False, True, False, False, True],
    ]
    assert [run["trusted"] for run in found["streams"]] == [True, False, False]
    assert first["detail"]["targetSmoke"] == "node check.js"
    assert second["detail"]["claim"] == "done"
    assert third["detail"]["checker"] == "jest --ci"
    assert (third["detail"]["outside"], third["detail"]["tamper"]) == (["/tmp/bench/notes.md"], ["Read"])
    assert (third["detail"]["status"], third["detail"]["skipped"]) == ("PENDING_REVIEW", 2)


def test_text_and_costs(kcut: Kcut) -> None:
    # what a shell makes of `--rows *.json`: the others look like streams
    done = kcut("score", "compliance", *SAMPLES, "--rows", "rows.json", cwd=STREAMS)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[1] == [SAMPLES[0], "no", "yes", "yes", "VERIFIED", "yes", "yes", "yes"]
    assert lines[4] == ["yes,", "of", "3", "1", "2", "1", "2", "2", "2", "2"]
    assert ["claude", "m", "t90-fix-total", "core", "1", "0", "0", "0", "-", "-"] in lines
    found = document(kcut, *SAMPLES, "--rows", "rows.json")
    assert found["streams"][0]["row"] == {"pass": True, "costUsd": 0.2, "void": None}
    medians = {cell["mode"]: (cell["verifiedCostUsd"], cell["trustedCostUsd"]) for cell in found["cells"]}
    assert medians == {"on": (0.2, 0.2), "off": (0.1, None), "core": (None, None)}
    assert [mode["task"] for mode in found["modes"]] == [None] * 3


def test_streams_without_a_row(kcut: Kcut, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("[]")
    done = kcut("score", "compliance", SAMPLES[0], "--rows", str(tmp_path / "r.json"), cwd=STREAMS)
    assert done.returncode == 0
    assert done.stderr == "kcut: no row for 1 of 1 streams\n"


def test_a_registry_of_ones_own(kcut: Kcut, tmp_path: Path) -> None:
    printed = kcut("score", "compliance", "--print-registry")
    assert printed.returncode == 0
    (tmp_path / "all.toml").write_text(printed.stdout)
    assert document(kcut, *SAMPLES, "--registry", str(tmp_path / "all.toml")) == document(kcut, *SAMPLES)
    (tmp_path / "some.toml").write_text("oracles = []\nprotected = []\nsmoke = ['jest']\ntask = []\n")
    runs = document(kcut, *SAMPLES, "--registry", str(tmp_path / "some.toml"))["streams"]
    assert [run["behaviors"]["no_oracle_tamper"] for run in runs] == [True] * 3
    assert [run["behaviors"]["smoke_tested"] for run in runs] == [False] * 3
    (tmp_path / "wrong.toml").write_text("[[tasks]]\nname = 'x'\n")
    done = kcut("score", "compliance", SAMPLES[0], "--registry", str(tmp_path / "wrong.toml"), cwd=STREAMS)
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown key tasks" in done.stderr
    assert "did you mean task?" in done.stderr


def test_options_of_a_command_in_a_group_may_be_configured(repo: Repo, kcut: Kcut) -> None:
    stream = str(STREAMS / SAMPLES[2])
    repo.write("rules/own.toml", "oracles = []\n")
    repo.write("kcut.toml", '[score.compliance]\nregistry = "rules/own.toml"\n')
    repo.write("sub/x", "")
    [run] = document(kcut, stream, cwd=repo.path / "sub")["streams"]
    assert run["behaviors"]["no_oracle_tamper"] is True
    env = {"KCUT_SCORE_COMPLIANCE_REGISTRY": "none.toml"}
    done = kcut("score", "compliance", stream, cwd=repo.path, env=env)
    assert (done.returncode, "none.toml" in done.stderr) == (2, True)
    for text, said in (
        ('[score.compliance]\nregistri = "x"\n', "unknown key registri in [score.compliance]"),
        ('[score]\nregistry = "x"\n', "registry in [score] is no command's table"),
        ('[score.complianc]\nregistry = "x"\n', "complianc in [score] is no command's table"),
        ("score = 3\n", "score must be a table of options, not an integer"),
        ("[score.compliance]\nregistry = 3\n", "registry in [score.compliance] must be a string"),
    ):
        repo.write("kcut.toml", text)
        for args in (("score", "compliance", stream), ("doctor",)):
            done = kcut(*args, cwd=repo.path)
            assert said in done.stdout + done.stderr, (args, text)
            assert "Traceback" not in done.stderr


def test_what_is_no_stream(kcut: Kcut, tmp_path: Path) -> None:
    good = str(STREAMS / SAMPLES[0])
    os.mkfifo(tmp_path / "fifo")
    files: dict[str, bytes] = {
        "empty": b"",
        "blank": b"\n \n\r\n",
        "prose": b"hello\nworld\n",
        "binary": bytes(range(256)) * 100,
        "values": b'1\n"x"\n[{"type": "system"}]\nnull\n{"type": 5}\n{}\n',
        "deep": b'{"type":"assistant","message":' + b"[" * 100_000 + b"\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        done = kcut("score", "compliance", good, name, "--json")
        assert (done.returncode, done.stdout) == (2, ""), name
        assert done.stderr.startswith(f"kcut: {name} holds no event of an agent\n")
    for name, said in (("none", "no such file"), (".", "not a regular file"), ("fifo", "not a regular file")):
        done = kcut("score", "compliance", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    for args in ((), ("--rows", "x.json"), ("--rows", "x.json", "y.json")):
        assert "no stream is given" in kcut("score", "compliance", *args).stderr
    assert "Did you mean 'compliance'" in kcut("score", "complianc").stderr


def test_a_stream_that_is_hard_to_read(kcut: Kcut, tmp_path: Path) -> None:
    events = (STREAMS / SAMPLES[2]).read_bytes()
    huge = json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "x" * 20_000_000}]}})
    deep = '{"type":"assistant","message":' + "[" * 100_000 + "]" * 100_000 + "}"
    bell = json.dumps({"type": "result", "result": "\u001b[31m done \ud800"})
    odd = b"\n".join(
        [events, huge.encode(), deep.encode(), b'{"type":"x"}' + b"\0" * 9, b"\xff" * 999, bell.encode()]
    )
    (tmp_path / "odd\u202e\n.jsonl").write_bytes(b"\xef\xbb\xbf" + odd.replace(b"\n", b"\r\n"))
    (tmp_path / "wide.jsonl").write_bytes(events.decode("utf-8", "replace").encode("utf-16"))  # as PowerShell writes
    runs = document(kcut, "odd\u202e\n.jsonl", "wide.jsonl", cwd=tmp_path)["streams"]
    assert [(run["task"], run["mode"], run["run"]) for run in runs] == [(None, None, None)] * 2
    assert runs[0]["behaviors"] == runs[1]["behaviors"] | {"status_token": False}
    assert (runs[0]["detail"]["claim"], runs[1]["detail"]["status"]) == ("done", "PENDING_REVIEW")
    done = kcut("score", "compliance", "odd\u202e\n.jsonl", cwd=tmp_path)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "odd\\u202e\\n.jsonl" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task,pass\nx,1\n", "it holds no JSON rows"),
        ('[{"stream_file": "a/b", "pass": "maybe"}]', "neither pass nor fail"),
        ('[{"stream_file": "a/b", "pass": true, "cost_usd": -1}]', "is less than 0"),
        ('[{"stream_file": ["a"], "pass": true}]', "is no name"),
        ('[{"stream_file": "a/b", "task": {}}]', "is no name"),
    ],
)
def test_rows_that_are_none(text: str, said: str) -> None:
    with pytest.raises(UsageFault, match=said):
        results(records(text.encode(), "rows", None))


def test_rows_find_their_streams() -> None:
    def rows(*files: str) -> bytes:
        found = [{"stream_file": file, "pass": True, "cost_usd": number} for number, file in enumerate(files, 1)]
        return json.dumps(found).encode()

    read = results(records(rows("s\\a\\x.jsonl", "./b/x.jsonl", "y.jsonl"), "rows", None))
    paths = [path_of(path) for path in ("/w/s/a/x.jsonl", "C:\\w\\b\\x.jsonl", "/w/y.jsonl", "/w/c/x.jsonl")]
    costs = [row and row.cost for row in joined(paths, [*read, *read])]
    assert costs == [1.0, 2.0, 3.0, None]
    with pytest.raises(UsageFault, match="two rows that differ"):
        joined(paths, results(records(rows("a/x.jsonl", "s/a/x.jsonl"), "rows", None)))


def test_medians_are_over_passing_and_trusted_runs() -> None:
    from kcut.compliance import behaviors

    rules = parse_rules({"oracles": ["hidden"], "shells": ["Bash"]}, "r")
    call = {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "X", "input": "hidden"}]}}
    good, bad = behaviors(['{"type": "x"}'], rules), behaviors([json.dumps(call)], rules)
    given = [(good, 1.0, True), (good, 3.0, True), (bad, 7.0, True), (good, 50.0, False), (bad, 60.0, False)]
    rows = [
        {"stream_file": f"a/{number}", "pass": passed, "cost_usd": cost, "mode": "on", "task": f"t{number % 2}"}
        for number, (_, cost, passed) in enumerate(given)
    ]
    rows.append({"stream_file": "a/9", "pass": True, "cost_usd": 0.5, "is_error": True, "mode": "on", "task": "t1"})
    read = results(records(json.dumps(rows).encode(), "rows", None))
    [mode] = cells(zip([run for run, _, _ in given] + [good], read, strict=True), by_task=False)
    assert (mode.runs, mode.void, mode.passed, mode.trusted) == (6, 1, 3, 2)
    assert (mode.verified_cost, mode.trusted_cost) == (3.0, 2.0)
    by_task = cells(zip([run for run, _, _ in given] + [good], read, strict=True), by_task=True)
    assert [(cell.task, cell.verified_cost, cell.trusted_cost) for cell in by_task] == [
        ("t0", 4.0, 1.0),
        ("t1", 3.0, 3.0),
    ]


@pytest.mark.skipif(RECORDED is None, reason="KCUT_MAESTRO_RUNS names no recorded runs")
def test_the_published_streams(kcut: Kcut) -> None:
    folder = Path(str(RECORDED))
    streams = sorted(map(str, folder.glob("streams/*/*.jsonl")))
    rows = sorted(map(str, folder.glob("rows/*.json")))
    found = document(kcut, *streams, "--rows", *rows)
    counts = {name: sum(run["behaviors"][name] is True for run in found["streams"]) for name in NAMES}
    assert counts == {
        "verification_ran": 0,
        "smoke_tested": 18,
        "target_smoke_tested": 5,
        "status_token": 16,
        "surgical_scope": 32,
        "no_oracle_tamper": 32,
        "claim_consistent": 23,
    }
    assert all(run["row"]["pass"] for run in found["streams"])
    assert all(re.search(run["task"] + "-" + run["mode"], run["detail"]["folder"]) for run in found["streams"])
    modes = {(mode["model"], mode["mode"]): (mode["runs"], mode["trusted"]) for mode in found["modes"]}
    assert modes == {
        ("haiku", "off"): (6, 5),
        ("haiku", "on"): (1, 1),
        ("sonnet", "off"): (8, 4),
        ("sonnet", "on"): (17, 13),
    }

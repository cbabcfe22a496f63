"""`kcut checkpoint` as a person or a script meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Kcut, Repo

GOOD = "- [ ] **AC-1 (it is there):** x\n  ```eval\n  test -f a.txt\n  ```\n"
BAD = "* [x] **AC-2 (no duplicates left):** x\n  ```eval\n  echo noise; echo noise >&2; exit 3\n  ```\n"
OPEN = "+ [ ] **AC-3 (the diff reads well):** a person\n"


def spec(folder: Path, text: str, name: str = "s.md") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (folder / "a.txt").touch()
    return name


def test_results_and_last_line(kcut: Kcut, tmp_path: Path) -> None:
    done = kcut("checkpoint", spec(tmp_path, GOOD + BAD + OPEN))
    assert done.stdout == (
        "AC-1  PASS    it is there\n"
        "AC-2  FAIL    no duplicates left\n"
        "      exit 3 - re-run: echo noise; echo noise >&2; exit 3\n"
        "AC-3  MANUAL  the diff reads well\n"
        "checkpoint: 3 criteria - PASS=1 FAIL=1 MANUAL=1\n"
    )
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("text", "code", "counts"),
    [
        (GOOD, 0, "1 criteria - PASS=1 FAIL=0 MANUAL=0"),
        (GOOD + BAD, 1, "2 criteria - PASS=1 FAIL=1 MANUAL=0"),
        (GOOD + OPEN, 2, "2 criteria - PASS=1 FAIL=0 MANUAL=1"),
        (OPEN, 2, "1 criteria - PASS=0 FAIL=0 MANUAL=1"),
        (BAD + OPEN, 1, "2 criteria - PASS=0 FAIL=1 MANUAL=1"),
    ],
)
def test_exit_codes(kcut: Kcut, tmp_path: Path, text: str, code: int, counts: str) -> None:
    done = kcut("checkpoint", spec(tmp_path, text))
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == f"checkpoint: {counts}"


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("", []),
        ("", ["--list"]),
        ("", ["--lint"]),
        ("", ["--json"]),
        ("## Acceptance criteria\n\nprose\n", []),
        ("```\n" + GOOD.replace("```", "~~~") + "```\n", []),
    ],
)
def test_no_criteria_is_never_a_pass(kcut: Kcut, tmp_path: Path, text: str, option: list[str]) -> None:
    done = kcut("checkpoint", spec(tmp_path, text), *option)
    assert done.returncode == 2
    assert "kcut: s.md: no criteria found" in done.stderr


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (GOOD + "~~~sh\nopen\n\n" + BAD, 2, 5),
        (GOOD + "```sh\nclosed by the next block\n\n" + BAD, 2, 5),
        ("# h\n\n~~~\n" + GOOD, 2, 3),
        (GOOD + "\n# h\n\n```\n", 2, 8),
        (GOOD + "\n<!-- open\n" + BAD, 2, 6),
        (BAD + "\n# h\n\n```\n", 1, 8),
    ],
)
def test_an_unclosed_fence_is_named_and_never_a_pass(
    kcut: Kcut, tmp_path: Path, text: str, code: int, line: int
) -> None:
    done = kcut("checkpoint", spec(tmp_path, text))
    assert done.returncode == code
    assert f"s.md:{line}: the " in done.stderr
    assert "closed" in done.stderr


def test_what_a_fence_swallowed_is_named(kcut: Kcut, tmp_path: Path) -> None:
    done = kcut("checkpoint", spec(tmp_path, f"{GOOD}~~~sh\nopen\n{BAD}"))
    assert "it swallows lines 6 to 10, with what looks like AC-2" in done.stderr
    assert done.stdout.startswith("AC-1  MANUAL")


def test_list(kcut: Kcut, tmp_path: Path) -> None:
    name = spec(tmp_path, GOOD + BAD + OPEN + "- [ ] **AC-4 (tab\there \x1b[31m):** x\n")
    done = kcut("checkpoint", name, "--list")
    assert done.stdout == (
        "AC-1\tCHECK\tit is there\nAC-2\tCHECK\tno duplicates left\nAC-3\tMANUAL\tthe diff reads well\n"
        "AC-4\tMANUAL\ttab\\there \\x1b[31m\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_json(kcut: Kcut, tmp_path: Path) -> None:
    name = spec(tmp_path, GOOD + BAD + OPEN)
    done = kcut("checkpoint", name, "--json")
    assert json.loads(done.stdout) == {
        "criteria": [
            {"id": "AC-1", "label": "it is there", "kind": "CHECK", "result": "PASS", "exit": 0},
            {"id": "AC-2", "label": "no duplicates left", "kind": "CHECK", "result": "FAIL", "exit": 3},
            {"id": "AC-3", "label": "the diff reads well", "kind": "MANUAL", "result": "MANUAL", "exit": None},
        ],
        "pass": 1,
        "fail": 1,
        "manual": 1,
    }
    assert done.returncode == 1
    listed = kcut("checkpoint", name, "--json", "--list")
    assert [each["result"] for each in json.loads(listed.stdout)["criteria"]] == [None, None, None]
    assert listed.returncode == 0
    assert json.loads(kcut("checkpoint", spec(tmp_path, "", "e.md"), "--json").stdout)["criteria"] == []


def test_lint(kcut: Kcut, tmp_path: Path) -> None:
    name = spec(tmp_path, GOOD + OPEN)
    done = kcut("checkpoint", name, "--lint")
    assert done.returncode == 1
    assert "s.md:5: AC-3: testable - no check decides it\n" in done.stdout
    assert "s.md:1: the spec: failure-mode - " in done.stdout
    assert done.stdout.endswith("lint: 2 criteria - 2 findings\n")
    found = json.loads(kcut("checkpoint", name, "--lint", "--json").stdout)["findings"]
    assert [(each["kind"], each["line"], each["id"]) for each in found] == [
        ("failure-mode", 1, None),
        ("testable", 5, "AC-3"),
    ]
    clean = kcut("checkpoint", spec(tmp_path, GOOD + BAD.replace("echo noise; echo noise >&2; ", "")), "--lint")
    assert (clean.returncode, clean.stdout) == (0, "lint: 2 criteria - no findings\n")


def test_lint_runs_nothing(kcut: Kcut, tmp_path: Path) -> None:
    name = spec(tmp_path, GOOD.replace("test -f a.txt", "touch ran"))
    kcut("checkpoint", name, "--lint")
    kcut("checkpoint", name, "--list")
    assert not (tmp_path / "ran").exists()


def test_the_default_spec_is_the_last_by_name(kcut: Kcut, tmp_path: Path) -> None:
    missing = kcut("checkpoint")
    assert missing.returncode == 2
    assert missing.stderr.startswith("kcut: no spec: there is neither specs/*.md nor docs/specs/*.md here\n")
    spec(tmp_path, GOOD.replace("AC-1", "AC-docs"), "docs/specs/z.md")
    (tmp_path / "specs").mkdir()
    assert kcut("checkpoint", "--list").stdout.startswith("AC-docs\t")
    for name in ("a.md", "b.md", ".z.md", "z.txt"):
        spec(tmp_path, GOOD.replace("AC-1", f"AC-{name.strip('.')}"), f"specs/{name}")
    (tmp_path / "specs" / "y.md").mkdir()
    assert kcut("checkpoint", "--list").stdout.startswith("AC-b.md\t")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *(
            (name, [])
            for name in ("missing.md", ".", "fifo.md", "latin.md", "nul.md", "twice.md", "info.md", "x" * 5000)
        ),
        ("missing.md", ["--list"]),
        ("missing.md", ["--lint"]),
    ],
)
def test_a_spec_that_cannot_be_used(kcut: Kcut, tmp_path: Path, name: str, option: list[str]) -> None:
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "latin.md").write_bytes(b"\xff\xfe\n")
    (tmp_path / "nul.md").write_bytes(b"a\0b\n")
    (tmp_path / "twice.md").write_text(GOOD + GOOD)
    (tmp_path / "info.md").write_text(GOOD.replace("eval", "eval zsh"))
    done = kcut("checkpoint", name, *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kcut: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_list_and_lint_exclude_each_other(kcut: Kcut, tmp_path: Path) -> None:
    assert kcut("checkpoint", spec(tmp_path, GOOD), "--list", "--lint").returncode == 2


def test_nothing_of_the_spec_acts_on_the_terminal(kcut: Kcut, tmp_path: Path) -> None:
    text = "- [ ] **AC-1 (a\x1b[2J\u202eb):** x\n~~~eval\nprintf '\x1b]0;x\x07'; false\n~~~\n~~~\x1b[31m\n"
    (tmp_path / "\x1b[2J.md").write_text(text)
    done = kcut("checkpoint", "\x1b[2J.md")
    assert done.returncode == 2
    (tmp_path / "s.md").write_text(text.rsplit("~~~", 1)[0])
    failed = kcut("checkpoint", "s.md")
    assert failed.returncode == 1
    for stream in (done.stdout, done.stderr, failed.stdout, failed.stderr):
        assert all(char == "\n" or char.isprintable() for char in stream)


def test_a_failing_check_of_several_lines_can_be_run_again(kcut: Kcut, tmp_path: Path) -> None:
    check = "cat > out.txt <<'E'\nit's \\n $HOME\t!\nE\nexit 9"
    done = kcut("checkpoint", spec(tmp_path, f"- [ ] **AC-1 (a):** x\n~~~eval\n{check}\n~~~\n"))
    line = next(each for each in done.stdout.splitlines() if "re-run: " in each)
    how, command = line.strip().split(" - re-run: ", 1)
    assert how == "exit 9"
    (tmp_path / "out.txt").unlink()
    again = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, stdin=subprocess.DEVNULL, check=False)
    assert again.returncode == 9
    assert (tmp_path / "out.txt").read_text() == "it's \\n $HOME\t!\n"


def test_timeouts_and_missing_shells_are_said(kcut: Kcut, tmp_path: Path) -> None:
    slow = kcut(
        "checkpoint", spec(tmp_path, GOOD.replace("eval", "eval timeout=0.2").replace("test -f a.txt", "sleep 60"))
    )
    assert "\n      timeout after 0.2 s - re-run: sleep 60\n" in slow.stdout
    assert slow.returncode == 1
    no_bash = kcut("checkpoint", spec(tmp_path, GOOD.replace("eval", "eval bash")), env={"PATH": "/nonexistent"})
    assert "could not run: there is no bash on PATH - re-run: bash -euo pipefail -c 'test -f a.txt'" in no_bash.stdout
    assert no_bash.returncode == 1


def test_without_git_checks_run_all_the_same(kcut: Kcut, tmp_path: Path) -> None:
    assert kcut("checkpoint", spec(tmp_path, GOOD), env={"PATH": "/nonexistent"}).returncode == 0


def test_inside_a_git_hook_a_check_meets_its_own_repository(kcut: Kcut, repo: Repo, tmp_path: Path) -> None:
    before = repo.git("rev-parse", "HEAD")
    check = "mkdir new && cd new && git init -q && git commit -q --allow-empty -m trial && git rev-parse HEAD"
    repo.write("specs/s.md", f"- [ ] **AC-1 (a):** x\n~~~eval\n{check}\n~~~\n")
    repo.write(".git/hooks/pre-commit", f"#!/bin/sh\nexec '{sys.executable}' -m kcut checkpoint\n", executable=True)
    repo.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked")
    linked.write("specs/s.md", (repo.path / "specs/s.md").read_text())
    linked.git("add", "specs")
    linked.git("commit", "-q", "-m", "through the hook")
    assert linked.git("log", "--format=%s") == "through the hook\nfirst"
    assert repo.git("rev-parse", "main") == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_check_and_the_command(tmp_path: Path, number: int, code: int) -> None:
    text = GOOD + GOOD.replace("AC-1", "AC-2").replace("test -f a.txt", "echo $$ > pid; sleep 600; touch after")
    spec(tmp_path, text)
    process = subprocess.Popen(
        [sys.executable, "-m", "kcut", "checkpoint", "s.md"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # CI may ignore INT
    )
    pid = tmp_path / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=100)
    assert process.returncode == code
    assert out == "AC-1  PASS    it is there\n"
    assert err == f"kcut: stopped by {signal.Signals(number).name} after 1 of 2 criteria\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not (tmp_path / "after").exists()


def test_colour_only_where_it_is_wanted(kcut: Kcut, tmp_path: Path) -> None:
    name = spec(tmp_path, GOOD)
    assert "\x1b[" not in kcut("checkpoint", name).stdout
    assert "\x1b[32mPASS  \x1b[0m" in kcut("checkpoint", name, "--color", "always").stdout


def test_help_has_examples(kcut: Kcut) -> None:
    done = kcut("checkpoint", "-h")
    assert done.returncode == 0
    assert "Examples:\n    kcut checkpoint\n" in done.stdout


LOST = "-[ ] **AC-2 (no blank):** x\n"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (GOOD + LOST, 2, 5),
        (GOOD + LOST + "  ```eval\n  true\n  ```\n", 2, 5),
        (BAD + LOST, 1, 5),
        (GOOD + "\n<details>\n" + BAD + "</details>\n", 2, 7),
        (GOOD + "\n<pre>\n\n" + BAD, 2, 6),
        (GOOD + "\n- [ ] **AC-\u00e9 (an id of its own):** x\n", 2, 6),
        (GOOD + "- [ ] **AC-2**: no label\n", 2, 5),
        (GOOD + "\n<!-- open\n" + BAD + "\n<!-- a note -->\n", 2, 7),
    ],
)
def test_a_spec_that_lost_a_criterion_never_passes(
    kcut: Kcut, tmp_path: Path, text: str, code: int, line: int
) -> None:
    name = spec(tmp_path, text)
    done = kcut("checkpoint", name)
    assert done.returncode == code
    assert f"{name}:{line}: " in done.stderr
    assert done.stdout.splitlines()[-1].startswith("checkpoint: 1 criteria - ")
    listed = kcut("checkpoint", name, "--list")
    assert (listed.returncode, len(listed.stdout.splitlines())) == (0, 1)
    assert f"{name}:{line}: " in kcut("checkpoint", name, "--lint").stdout


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("specs/tdy.md", "specs/tidy.md"),
        ("spec/tidy.md", "specs/tidy.md"),
        ("tidy.md", "specs/tidy.md"),
        ("docs/tidy", "specs/tidy.md"),
        ("notes/plam.md", "notes/plan.md"),
        ("elsewhere/zzz.md", None),
    ],
)
def test_a_spec_that_is_missing_names_the_nearest(kcut: Kcut, repo: Repo, given: str, meant: str | None) -> None:
    for name in ("specs/tidy.md", "specs/hooks.md", "notes/plan.md"):
        repo.write(name, GOOD)
    remedy = f"did you mean: {meant}" if meant else "see: kcut checkpoint -h"
    told = f"kcut: there is no spec {given}\n      {remedy}\n"
    assert kcut("checkpoint", given, cwd=repo.path).stderr == told
    task = ("benchmark", "--component", "x", "--task", "true", "--spec", given)
    done = kcut(*task, cwd=repo.path)
    assert (done.returncode, done.stderr) == (2, told)

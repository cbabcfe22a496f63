"""`kcut gate` from the command line."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kcut.cli.gate import quote
from tests.conftest import Kcut, Repo
from tests.documents import example, first_format, put

AGAIN = "kcut benchmark --component"
ARTIFACT = ".claude/eval/benchmarks/x.json"


def ask(kcut: Kcut, repo: Repo, *names: str) -> tuple[dict[str, tuple[str, str]], int]:
    """State and advice by name, and the exit code."""
    done = kcut("gate", "--json", "--", *names, cwd=repo.path)
    components = json.loads(done.stdout)["components"]
    assert all(list(each) == ["name", "state", "advice"] for each in components)
    return {each["name"]: (each["state"], each["advice"]) for each in components}, done.returncode


@pytest.mark.parametrize(
    ("document", "state", "advice", "code"),
    [
        (first_format("x"), "pass", "", 0),
        (example(component="x"), "pass", "", 0),
        (first_format("x", **{"pass": False}), "fail", f"{AGAIN} x --task ./run.sh --k 5", 1),
        (first_format("x", **{"pass": False}, k=5.0), "fail", f"{AGAIN} x --task ./run.sh --k 5", 1),
        (
            first_format("x", k=True),
            "unreadable",
            f"mv .claude/eval/benchmarks/x.json .claude/eval/benchmarks/x.json.aside && {AGAIN} x --task CMD",
            2,
        ),
        (
            example(component="x", **{"pass": False}, score="./check.sh 'a b'"),
            "fail",
            f"{AGAIN} x --task ./run.sh --score './check.sh '\"'\"'a b'\"'\"'' --k 17",
            1,
        ),
        (
            example(component="x", **{"pass": False}, rule="evidence", score="kcut checkpoint specs/x.md"),
            "inconclusive",
            f"{AGAIN} x --task ./run.sh --spec specs/x.md --k 17 --rule evidence",
            2,
        ),
        (
            example(component="x", **{"pass": False}, decision={"verdict": "invalid"}, isolation="clone"),
            "inconclusive",
            f"{AGAIN} x --task ./run.sh --k 10 --isolation clone",
            2,
        ),
        (
            example(component="x", componentDigest="sha256:1"),
            "stale",
            "restore it, or remove .claude/eval/benchmarks/x.json",
            2,
        ),
        (None, "missing", f"{AGAIN} x --task CMD", 2),
        (
            "{",
            "unreadable",
            f"mv .claude/eval/benchmarks/x.json .claude/eval/benchmarks/x.json.aside && {AGAIN} x --task CMD",
            2,
        ),
        (
            first_format("X"),
            "unreadable",
            f"mv .claude/eval/benchmarks/x.json .claude/eval/benchmarks/x.json.aside && {AGAIN} x --task CMD",
            2,
        ),
    ],
)
def test_each_state_has_a_command_that_settles_it(
    repo: Repo, kcut: Kcut, document: dict[str, Any] | str | None, state: str, advice: str, code: int
) -> None:
    if document is not None:
        put(repo.path, "x", document)
    assert ask(kcut, repo, "x") == ({"x": (state, advice)}, code)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("good",), 0),
        (("good", "good"), 0),
        (("good", "none"), 2),
        (("none", "bad", "good"), 1),
        (("bad", "none"), 1),
        (("good", "bad"), 1),
    ],
)
def test_the_worst_state_decides_the_exit_code(repo: Repo, kcut: Kcut, names: tuple[str, ...], code: int) -> None:
    put(repo.path, "good", first_format("good"))
    put(repo.path, "bad", first_format("bad", **{"pass": False}))
    components, got = ask(kcut, repo, *names)
    assert list(components) == list(dict.fromkeys(names))
    assert got == code


def test_text(repo: Repo, kcut: Kcut) -> None:
    put(repo.path, "good", first_format("good"))
    done = kcut("gate", "good", "my skill", cwd=repo.path)
    assert done.stdout.splitlines() == [
        "good      pass          benchmark of 2026-03-01: 4/5 with, 2/5 without",
        "my skill  missing       no benchmark yet",
        "  settle it: kcut benchmark --component 'my skill' --task CMD",
    ]
    assert (done.stderr, done.returncode) == ("", 2)
    assert "\x1b[32mpass" in kcut("gate", "good", "--color", "always", cwd=repo.path).stdout


@pytest.mark.parametrize("args", [(), ("",), ("a", " "), ("--nope",)])
def test_usage_errors(repo: Repo, kcut: Kcut, args: tuple[str, ...]) -> None:
    done = kcut("gate", *args, cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kcut: ")


@pytest.mark.parametrize(
    "name", ["a'b", "-x", "$(touch pwned)", "a\nb", "\x1b[31mred", "日本 \u202e", "b\\'c\x7f", "~"]
)
def test_the_command_names_the_component_exactly_on_one_harmless_line(repo: Repo, kcut: Kcut, name: str) -> None:
    advice = ask(kcut, repo, name)[0][name][1]
    assert advice.isprintable()
    shell = ["bash", "-c", f'kcut() {{ printf "%s\\0" "$@"; }}\n{advice}']
    done = subprocess.run(shell, cwd=repo.path, capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == ["benchmark", "--component", name, "--task", "CMD"]
    assert not (repo.path / "pwned").exists()
    shown = kcut("gate", "--", name, cwd=repo.path).stdout
    assert all(line.isprintable() for line in shown.splitlines())


def test_a_name_that_is_not_utf8_is_missing(repo: Repo, kcut: Kcut) -> None:
    done = kcut("gate", "\udcff", cwd=repo.path)
    assert done.returncode == 2
    assert "$'\\377'" in done.stdout
    assert json.loads(kcut("gate", "\udcff", "--json", cwd=repo.path).stdout)["components"][0]["name"] == "\\xff"


def test_what_is_set_aside_stays_and_the_paths_hold_from_where_one_stands(repo: Repo, kcut: Kcut) -> None:
    path = put(repo.path, "x", "{")
    for name in ("x.json.aside", "x.json.aside-2"):
        path.with_name(name).write_text(name)
    below = repo.path / "a b"
    below.mkdir()
    done = kcut("gate", "x", "--json", cwd=below)
    advice = json.loads(done.stdout)["components"][0]["advice"]
    move = shlex.split(advice.split(" && ")[0])
    assert move == ["mv", "../.claude/eval/benchmarks/x.json", "../.claude/eval/benchmarks/x.json.aside-3"]
    subprocess.run(move, cwd=below, check=True)
    assert ask(kcut, repo, "x")[0]["x"][0] == "missing"


def test_a_folder_that_leads_out_is_the_thing_to_move(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    put(tmp_path / "outside", "x", first_format("x"))
    (repo.path / ".claude").symlink_to(tmp_path / "outside/.claude")
    components, code = ask(kcut, repo, "x")
    assert components["x"][0] == "unreadable"
    assert components["x"][1].startswith("mv .claude .claude.aside && ")
    assert code == 2


def test_nothing_is_written_and_no_repository_is_needed(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    kcut("gate", "x", cwd=repo.path)
    assert repo.git("status", "--porcelain", "--ignored") == ""
    put(tmp_path / "plain", "x", first_format("x"))
    assert kcut("gate", "x", cwd=tmp_path / "plain").returncode == 0


def test_outside_of_a_repository_and_without_artifacts(kcut: Kcut, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()  # a home folder has one
    done = kcut("gate", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kcut: not inside a git repository\n")
    assert len(done.stderr.splitlines()) <= 2


def test_a_name_that_is_nearly_a_components(repo: Repo, kcut: Kcut) -> None:
    put(repo.path, "tidy-imports", first_format("Tidy imports"))
    put(repo.path, "broken", "{")
    assert (
        "missing       no benchmark yet; did you mean 'Tidy imports'?\n"
        in kcut("gate", "tidy-import", cwd=repo.path).stdout
    )
    assert kcut("gate", "brokn", cwd=repo.path).stdout.splitlines()[0].endswith("no benchmark yet")
    assert kcut("gate", "other", cwd=repo.path).stdout.splitlines()[0].endswith("no benchmark yet")


def test_a_folder_that_is_gone_is_an_error_without_a_traceback(kcut: Kcut, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *kcut("--version").args[:3], "gate", "x"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "the current folder has been removed" in done.stderr


def test_help_has_examples(kcut: Kcut) -> None:
    assert "Examples:" in kcut("gate", "-h").stdout


LONE = ["\ud800", "\udbff", "\udc00", "\udc7f", "\udc80", "\udcff", "\udd00", "\udfff"]


@pytest.mark.parametrize("key", ["task", "score", "component"])
def test_half_a_character_in_an_artifact_is_shown(repo: Repo, kcut: Kcut, key: str) -> None:
    text = "".join(f"a {char} b" for char in LONE)
    put(repo.path, "x", json.dumps(first_format("x", **{"pass": False}) | {key: text}))
    done = kcut("gate", "x", cwd=repo.path)
    assert done.returncode in {1, 2}, done.stderr
    assert "settle it: kcut benchmark" in done.stdout or key == "component"
    assert kcut("gate", "x", "--json", cwd=repo.path).returncode == done.returncode


@pytest.mark.parametrize("char", LONE, ids=ascii)
def test_any_half_of_a_character_can_be_quoted(char: str) -> None:
    assert re.fullmatch(r"\$'a(\\[0-3][0-7]{2})+'", quote(f"a{char}"))

"""`kcut rubric` from the command line."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Kcut, Repo
from tests.documents import example, first_format, put

STAGED = ".claude/skills-staging/tidy-imports/SKILL.md"
DRAFT = "---\nname: tidy-imports\ndescription: >-\n  Sorts imports,\n  folded.\n---\n\n1. a\n2. b\n3. c\n"

GOOD = """\
R1  PASS    frontmatter has name and description
R2  PASS    numbered steps (3)
R3  PASS    name is not taken
R4  MANUAL  reusable? a person decides
R5  PASS    benchmark of 2026-11-30: 5/5 with, 2/5 without, evidence KEEP
rubric: 5 items - PASS=4 FAIL=0 MANUAL=1
"""


@pytest.fixture
def staged(repo: Repo) -> Repo:
    repo.write(STAGED, DRAFT)
    document = example(decision={"verdict": "keep"})
    document["without"] |= {"k": 5, "valid": 5, "successes": 2}
    put(repo.path, "tidy-imports", document)
    return repo


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_good_draft(staged: Repo, kcut: Kcut, line_end: str) -> None:
    staged.write(STAGED, DRAFT.replace("\n", line_end))
    before = (staged.path / STAGED).read_bytes()
    for args in ((), ("tidy-imports",), (STAGED,)):
        done = kcut("rubric", *args, cwd=staged.path)
        assert (done.stdout, done.stderr, done.returncode) == (GOOD, "", 2)
    assert (staged.path / STAGED).read_bytes() == before
    assert staged.git("status", "--porcelain") == "?? .claude/"


def test_json(staged: Repo, kcut: Kcut) -> None:
    done = kcut("rubric", "--json", cwd=staged.path)
    document = json.loads(done.stdout)
    assert list(document) == ["name", "items", "pass", "fail", "manual"]
    assert (document["name"], document["pass"], document["fail"], document["manual"]) == ("tidy-imports", 4, 0, 1)
    assert document["items"][3] == {"id": "R4", "result": "MANUAL", "text": "reusable? a person decides"}
    assert done.returncode == 2


def test_list_shows_the_items_and_needs_no_draft(repo: Repo, kcut: Kcut) -> None:
    done = kcut("rubric", "--list", cwd=repo.path)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [(row[0], row[1]) for row in rows] == [(f"R{n}", "MANUAL" if n == 4 else "CHECK") for n in range(1, 6)]
    assert done.returncode == 0
    document = json.loads(kcut("rubric", "--list", "--json", cwd=repo.path).stdout)
    assert [item["id"] for item in document["items"]] == ["R1", "R2", "R3", "R4", "R5"]
    assert kcut("rubric", "nope", "--list", cwd=repo.path).returncode == 2


def test_failing_items_and_the_exit_code(staged: Repo, kcut: Kcut) -> None:
    staged.write(STAGED, "---\nname: tidy-imports\n---\n1. only\n```\n2. code\n```\n")
    staged.write("skills/x/SKILL.md", "---\nname: Tidy Imports\n---\n")
    put(staged.path, "tidy-imports", first_format("tidy-imports", **{"pass": False}))
    done = kcut("rubric", cwd=staged.path)
    assert done.stdout.splitlines() == [
        "R1  FAIL    frontmatter has no description",
        "R2  FAIL    numbered steps (1), at least 2 are needed",
        "R3  FAIL    name is taken by skills/x/SKILL.md",
        "R4  MANUAL  reusable? a person decides",
        "R5  FAIL    benchmark of 2026-03-01: 4/5 with, 2/5 without",
        "rubric: 5 items - PASS=0 FAIL=4 MANUAL=1",
    ]
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (None, "no benchmark yet"),
        ("{", "demo.json: it is not JSON"),
        (first_format("Demo"), "it belongs to another component, 'Demo'"),
        (first_format("demo", **{"pass": "true"}), "its `pass` is neither true nor false"),
        (example(component="demo", componentDigest="sha256:1"), "has changed since"),
        (example(component="demo", rule="evidence"), "evidence INCONCLUSIVE"),
    ],
)
def test_r5_is_manual_with_the_reason(
    repo: Repo, kcut: Kcut, document: dict[str, object] | str | None, told: str
) -> None:
    repo.write("demo/SKILL.md", DRAFT.replace("tidy-imports", "demo"))
    if document is not None:
        put(repo.path, "demo", document)
    done = kcut("rubric", "demo", cwd=repo.path)
    line = done.stdout.splitlines()[4]
    assert line.startswith("R5  MANUAL  ")
    assert told in line
    assert "kcut gate demo" in line
    assert done.returncode == 2


def test_the_artifact_is_looked_up_by_the_frontmatters_name(repo: Repo, kcut: Kcut) -> None:
    repo.write("folder/SKILL.md", DRAFT.replace("tidy-imports", "foo-bar"))
    put(repo.path, "folder", first_format("folder"))
    put(repo.path, "foo/bar", first_format("foo/bar"))
    line = kcut("rubric", "folder", cwd=repo.path).stdout.splitlines()[4]
    assert "belongs to another component, 'foo/bar'" in line


def test_it_works_from_below_the_root_and_outside_of_a_repository(staged: Repo, kcut: Kcut, tmp_path: Path) -> None:
    (staged.path / "a/b").mkdir(parents=True)
    assert kcut("rubric", cwd=staged.path / "a/b").stdout == GOOD
    plain = tmp_path / "plain"
    (plain / STAGED).parent.mkdir(parents=True)
    (plain / STAGED).write_text(DRAFT)
    done = kcut("rubric", cwd=plain)
    assert done.stdout.splitlines()[4].startswith("R5  MANUAL  no benchmark yet")
    assert done.returncode == 2


def test_the_surroundings_of_a_git_hook_do_not_lead_it_astray(staged: Repo, kcut: Kcut, tmp_path: Path) -> None:
    env = {"GIT_DIR": str(tmp_path / "x.git"), "GIT_WORK_TREE": str(tmp_path)}
    assert kcut("rubric", cwd=staged.path, env=env).stdout == GOOD


def test_a_skipped_draft_is_said_on_stderr(staged: Repo, kcut: Kcut, tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text(DRAFT)
    (staged.path / ".claude/skills-staging/zzz").symlink_to(tmp_path)
    done = kcut("rubric", cwd=staged.path)
    assert done.stdout == GOOD
    assert ".claude/skills-staging/zzz/SKILL.md is skipped" in done.stderr


@pytest.mark.parametrize("args", [(), ("nope",), ("fifo",), ("a", "b"), ("--nope",), ("",), ("a\x1b[31m",)])
def test_errors_are_one_clear_sentence_and_exit_2(repo: Repo, kcut: Kcut, args: tuple[str, ...]) -> None:
    os.mkfifo(repo.path / "fifo")
    done = kcut("rubric", *args, cwd=repo.path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("kcut: ")
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def test_the_text_of_a_draft_is_never_executed(repo: Repo, kcut: Kcut) -> None:
    attack = "$(touch pwned) `touch pwned`; touch pwned"
    repo.write(
        "d/SKILL.md", f"---\nname: '{attack}'\ndescription: !!python/object/apply:os.system ['touch pwned']\n---\n"
    )
    kcut("rubric", "d", cwd=repo.path)
    repo.write("d/SKILL.md", f"---\nname: '{attack}'\ndescription: d\n---\n```eval\ntouch pwned\n```\n")
    kcut("rubric", "d", cwd=repo.path)
    assert not list(repo.path.rglob("pwned"))


def test_names_cannot_act_on_the_terminal(repo: Repo, kcut: Kcut) -> None:
    repo.write("d/SKILL.md", '---\nname: "a\\e[31m\\u202e\\nR4  PASS"\ndescription: d\n---\n1. a\n2. b\n')
    repo.write("skills/\x1b[2J/SKILL.md", '---\nname: "A\\e[31m\\u202e\\nR4  PASS"\n---\n')
    done = kcut("rubric", "d", cwd=repo.path)
    assert len(done.stdout.splitlines()) == 6
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert json.loads(kcut("rubric", "d", "--json", cwd=repo.path).stdout)["name"] == "a\x1b[31m\u202e\nR4  PASS"


def test_colour_is_for_results_and_on_request(staged: Repo, kcut: Kcut) -> None:
    assert "\x1b[32mPASS" in kcut("rubric", "--color", "always", cwd=staged.path).stdout
    assert kcut("rubric", cwd=staged.path).stdout == GOOD


def test_help_has_examples(kcut: Kcut) -> None:
    done = kcut("rubric", "-h")
    assert "Examples:" in done.stdout
    assert done.returncode == 0

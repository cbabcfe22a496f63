"""The rubric on the text of drafts: frontmatter, steps, names, and the five items."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.model.evidence import Evidence, State
from kcut.rubric import FRONTMATTER_LIMIT, count_steps, name_key, read_draft, read_frontmatter, score

GOOD = (
    "---\nname: demo\ndescription: >-\n  Checks input, then\n  writes a report.\n---\n\n## Steps\n1. Read\n2. Write\n"
)


def frontmatter(head: str) -> str:
    return f"---\n{head}\n---\n"


def fault(head: str) -> str:
    found = read_frontmatter(frontmatter(head).encode()).fault
    assert found is not None
    return found


# --- frontmatter -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_change_nothing(line_end: str, mark: str) -> None:
    draft = read_draft((mark + GOOD.replace("\n", line_end)).encode(), "folder")
    assert draft.frontmatter.description == "Checks input, then writes a report."
    assert (draft.name, draft.steps, draft.frontmatter.fault) == ("demo", 2, None)


@pytest.mark.parametrize(
    ("head", "name", "description"),
    [
        ("name: demo\ndescription: d", "demo", "d"),
        ("name: 'it''s'\ndescription: \"a: b\\u0021\"", "it's", "a: b!"),
        ("name: 12\ndescription: yes", "12", "yes"),
        ("name: 1_000\ndescription: 2026-01-01", "1_000", "2026-01-01"),
        ("name: null\ndescription: ~", "null", "~"),
        ("name: demo # a comment\n# another\ndescription: d # e", "demo", "d"),
        ("name:\tdemo\t# tabs separate\ndescription:\t\t>\n  d", "demo", "d"),
        ("name: |\n  demo\ndescription: |\n  a\n  --- not the end\n  b", "demo", "a\n  --- not the end\n  b"),
        ("{name: demo, description: d}", "demo", "d"),
        ("? name\n: demo\n? description\n: d", "demo", "d"),
        ("name: &n demo\ndescription: *n", "demo", "demo"),
        ("\"name\": demo\n'description': d", "demo", "d"),
        ("name: !!python/object/apply:os.abort demo\ndescription: d", "demo", "d"),
        ("name: 技能 🎯\ndescription: d\nallowed-tools: [Read, Write]\nmetadata:\n  a: {b: c}", "技能 🎯", "d"),
        ("name: demo\ndescription: d\n\n\n", "demo", "d"),
        ("<<: {name: other}\nname: demo\ndescription: d", "demo", "d"),
    ],
)
def test_frontmatter_is_yaml_whose_scalars_are_text(head: str, name: str, description: str) -> None:
    found = read_frontmatter(frontmatter(head).encode())
    assert found.fault is None
    assert (found.name, found.description) == (name, description.replace("\n  ", "\n"))


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("", "frontmatter has no name and no description"),
        ("# only a comment", "frontmatter has no name and no description"),
        ("- name\n- description", "frontmatter has no name and no description"),
        ("just text", "frontmatter has no name and no description"),
        ("name: demo", "frontmatter has no description"),
        ("Name: demo\ndescription: d", "frontmatter has no name"),
        ("name: demo\ndescription:", "frontmatter has an empty description"),
        ("name: ''\ndescription: ' '", "frontmatter has an empty name and an empty description"),
        ("name: [demo]\ndescription: {a: b}", "frontmatter has a name that is not text and a description"),
        ("name: a\ndescription: d\nname: b", "frontmatter repeats the key 'name' (lines 2 and 4)"),
        ("name: a\ndescription: d\n'name': b", "frontmatter repeats the key 'name' (lines 2 and 4)"),
        ("name: a\ndescription: d\nmeta:\n  x: 1\n  x: 2", "frontmatter repeats the key 'x' (lines 5 and 6)"),
        ("name: a\ndescription: d\nl:\n- {x: 1, x: 2}", "frontmatter repeats the key 'x'"),
        (
            "name: a\ndescription: Use when: asked",
            "line 3: mapping values are not allowed here (put the value in quotes)",
        ),
        ("name: a\ndescription: 'open", "frontmatter is not valid YAML: line"),
        ("name: a\n\tdescription: d", "frontmatter is not valid YAML: line 3"),
        ("\tname: a", "frontmatter is not valid YAML: line 2"),
        ("name: @a\ndescription: d", "frontmatter is not valid YAML: line 2"),
        ("name: a\ndescription: *b", "found undefined alias"),
        ("name: a\x1b[31m\ndescription: d", "line 2: special characters are not allowed"),
        ("name: a\ndescription: d\x00", "line 3: special characters are not allowed"),
        ("name: a\ndescription: d\n...\nmore: x", "frontmatter is not valid YAML: line 5"),
        ("%YAML 9.9\nname: a", "frontmatter is not valid YAML"),
        ("[" * 5000, "frontmatter is nested too deeply"),
        ("- " * 5000, "frontmatter is nested too deeply"),
        ("? " * 5000, "frontmatter is nested too deeply"),
        ("name: " + "a" * FRONTMATTER_LIMIT, "frontmatter is larger than 64 KiB"),
    ],
)
def test_a_fault_of_the_frontmatter_is_a_sentence(head: str, told: str) -> None:
    assert told in fault(head)
    assert "\n" not in fault(head)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no frontmatter"),
        ("# Title\n", "no frontmatter"),
        ("\n---\nname: a\ndescription: d\n---\n", "no frontmatter"),
        (" ---\nname: a\n---\n", "no frontmatter"),
        ("----\nname: a\n----\n", "no frontmatter"),
        ("---", "frontmatter is not closed"),
        ("---\nname: a\ndescription: d\n", "frontmatter is not closed"),
        ("---\nname: a\ndescription: d\n ---\n", "frontmatter is not closed"),
    ],
)
def test_frontmatter_stands_between_two_lines_of_dashes_at_the_very_start(text: str, told: str) -> None:
    found = read_frontmatter(text.encode())
    assert found.fault is not None
    assert told in found.fault


def test_a_name_that_is_given_twice_is_no_name() -> None:
    assert read_draft(frontmatter("name: a\nname: b\ndescription: d").encode(), "folder").name == "folder"
    assert read_draft(frontmatter("name: a\nx: 1\nx: 2\ndescription: d").encode(), "folder").name == "a"


def test_aliases_within_aliases_cost_nothing() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    found = read_frontmatter(frontmatter(f"a0: &a0 x\n{levels}name: demo\ndescription: d").encode())
    assert (found.name, found.fault) == ("demo", None)
    assert read_frontmatter(frontmatter("x: &x [*x]\nname: demo\ndescription: d").encode()).fault is None


def test_bytes_that_are_not_utf8_are_a_fault_with_a_line() -> None:
    draft = read_draft(GOOD.encode() + b"3. \xff\n", "folder")
    assert draft.frontmatter.fault == "frontmatter cannot be trusted: line 11 of the file is not UTF-8"
    assert (draft.name, draft.steps) == ("demo", 3)
    assert read_draft(GOOD.encode("utf-16"), "folder").frontmatter.fault is not None


# --- steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("", 0),
        ("1. a\n2. b\n", 2),
        ("1) a\n2) b\n", 2),
        ("1. a\n2) b\n", 2),
        ("1. a\n1. b\n1. c\n", 3),
        ("7. a\n8. b\n", 2),
        ("1. a\n\n   more\n\n2. b\n", 2),
        ("1. a\n   1. b\n   2. c\n2. d\n", 4),
        ("- x\n  1. a\n  2. b\n", 2),
        ("Do:\n1. a\n2. b\n", 2),
        ("First:\n1. a\n\nThen:\n2. b\n\nThen:\n3. c\n", 3),
        ("released in\n1998. And in\n2024. Twice\n", 0),
        ("- a\n* b\n+ c\n", 0),
        ("1.a\n2.b\n1 . c\na. d\n(1) e\n", 0),
        ("1.\n2.\n", 0),
        ("1.\ta\n2.\tb\n", 2),
        ("   1. a\n   2. b\n", 2),
        ("    1. a\n    2. b\n", 0),
        ("\t1. a\n\t2. b\n", 0),
        ("```\n1. a\n2. b\n```\n", 0),
        ("~~~~ text\n1. a\n~~~\n2. b\n~~~~\n3. c\n4. d\n", 2),
        ("```\n1. never closed\n2. b\n", 0),
        ("- x\n  ```\n  1. a\n  2. b\n  ```\n", 0),
        ("1. a\n   ```\n   1. code\n   ```\n2. b\n", 2),
        ("1. a\n\n       1. code in an item\n\n2. b\n", 2),
        ("`1. a`\n`2. b`\n", 0),
        ("> 1. a\n> 2. b\n", 0),
        ("> 1. a\n\n1. b\n\n> > 2. c\n\n2. d\n", 2),
        ("<!--\n1. a\n2. b\n-->\n1. c\n2. d\n", 2),
        ("<!--\n\n1. a\n\n2. b\n\n-->\n", 0),
        ("<pre>\n\n1. a\n2. b\n</pre>\n", 0),
        ("<script>\n\n1. a\n2. b\n</script>\n", 0),
        ("<details>\n\n1. a\n2. b\n\n</details>\n", 2),
        ("## 1. a\n## 2. b\n", 0),
        ("[x]: /1\n1. a\n2. b\n", 2),
        ("1. a\n2. b\n===\n", 2),
        ("999999999. a\n1000000000. b\n", 1),
        ("٣. a\n٤. b\n", 0),
    ],
)
def test_what_counts_as_a_numbered_step(body: str, count: int) -> None:
    assert count_steps(body) == count
    assert read_draft((frontmatter("name: a\nsteps: |\n  1. x\n  2. y") + body).encode(), "f").steps == count


def test_steps_of_a_text_without_frontmatter_are_counted() -> None:
    assert read_draft(b"1. a\n2. b\n", "f").steps == 2


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("tidy-imports", "Tidy Imports", True),
        ("tidy_imports", "tidyimports", True),
        ("tidy-imports", "tidy-import", False),
        ("Straße", "STRASSE", True),
        ("café", "cafe\u0301", True),
        ("café", "cafe", False),
        ("技能", "技能!", True),
        ("技能", "技", False),
        ("🎯", "🎲", False),
        ("---", "___", False),
        ("a1", "a", False),
    ],
)
def test_names_are_compared_without_case_and_punctuation(one: str, other: str, same: bool) -> None:
    assert (name_key(one) == name_key(other)) is same


@given(st.text(string.ascii_letters + string.digits, min_size=1), st.text(string.punctuation + " \t", max_size=3))
def test_punctuation_and_case_make_no_difference_to_a_name(name: str, marks: str) -> None:
    assert name_key(marks + name.swapcase() + marks) == name_key(marks.join(name)) == name_key(name)


# --- the items ---------------------------------------------------------------------------------------------------


def evidence(state: State = "pass") -> Evidence:
    return Evidence("demo", state, "benchmark of 2026-11-30: 5/5 with, 2/5 without, evidence KEEP")


def test_a_good_draft_leaves_one_item_to_a_person() -> None:
    rubric = score(read_draft(GOOD.encode(), "x"), (), evidence())
    assert [(item.id, item.result, item.text) for item in rubric.items] == [
        ("R1", "PASS", "frontmatter has name and description"),
        ("R2", "PASS", "numbered steps (2)"),
        ("R3", "PASS", "name is not taken"),
        ("R4", "MANUAL", "reusable? a person decides"),
        ("R5", "PASS", "benchmark of 2026-11-30: 5/5 with, 2/5 without, evidence KEEP"),
    ]
    assert (rubric.count("PASS"), rubric.count("FAIL"), rubric.count("MANUAL"), rubric.exit_code) == (4, 0, 1, 2)


@pytest.mark.parametrize(
    ("state", "result"),
    [
        ("pass", "PASS"),
        ("fail", "FAIL"),
        ("inconclusive", "MANUAL"),
        ("missing", "MANUAL"),
        ("stale", "MANUAL"),
        ("unreadable", "MANUAL"),
    ],
)
def test_r5_is_decided_by_a_readable_verdict_alone(state: State, result: str) -> None:
    rubric = score(read_draft(GOOD.encode(), "x"), (), evidence(state))
    assert rubric.items[4].result == result
    assert rubric.exit_code == (1 if result == "FAIL" else 2)
    assert ("kcut gate demo" in rubric.items[4].text) is (result == "MANUAL")


def test_what_is_wrong_is_named() -> None:
    rubric = score(
        read_draft(b"1. a\n", "x"), ("skills/x/SKILL.md", ".claude/skills/X/SKILL.md"), evidence("missing")
    )
    assert rubric.items[0].text == "no frontmatter: the first line is not ---"
    assert rubric.items[1].text == "numbered steps (1), at least 2 are needed"
    assert rubric.items[2].text == "name is taken by skills/x/SKILL.md, .claude/skills/X/SKILL.md"
    assert rubric.exit_code == 1


pieces = st.sampled_from(
    [
        "---\n",
        "name: a\n",
        "description: b\n",
        "1. x\n",
        "```\n",
        "> ",
        "<!--",
        "-->",
        "\r\n",
        "\t",
        "- ",
        "&a ",
        "*a",
    ]
)


@given(st.lists(pieces | st.text(max_size=4), max_size=25).map("".join))
def test_no_text_raises_and_line_ends_never_matter(text: str) -> None:
    text = text.replace("\r", "")
    one = read_draft(text.encode(), "x")
    assert one == read_draft(text.replace("\n", "\r\n").encode(), "x")
    assert one.steps >= 0
    assert "\n" not in (one.frontmatter.fault or "")


@given(st.binary(max_size=80))
def test_no_bytes_raise(data: bytes) -> None:
    assert read_draft(b"---\n" + data, "x").name

"""Components that are parts of files: hooks, MCP servers, settings, sections, and the JSON text they stand in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.components import entries, jsontext, merge, pointer, sections
from kcut.components.jsontext import NotJson
from kcut.model.errors import UsageFault
from tests.components import Cohorts, Tree, cohorts, look
from tests.conftest import Repo

SETTINGS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "echo  hi"}]}],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": "\\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/check.sh --fast"},
                    {"type": "command", "command": "other/check.sh"}
                ]
            },
            {"matcher": "Write", "hooks": [{"type": "command", "command": ".claude/hooks/check.sh"}]}
        ]
    }
}
"""
BARE = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "echo  hi"}]}],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": "other/check.sh"}
                ]
            }
        ]
    }
}
"""
SCRIPT, CLAUDE = ".claude/hooks/check.sh", ".claude/settings.json"


def text(tree: Tree, path: str) -> str:
    return tree[path][1].decode()


def both(found: Cohorts, path: str) -> tuple[Any, Any]:
    return json.loads(text(found.with_, path)), json.loads(text(found.without, path))


@pytest.mark.parametrize("name", ["check", "check.sh", "hook:check"])
def test_a_hook_is_its_script_and_the_entries_that_run_it(repo: Repo, name: str) -> None:
    repo.write(SCRIPT, "#!/bin/sh\n", executable=True)
    repo.write(CLAUDE, SETTINGS)
    repo.commit()
    found = cohorts(repo, name)
    assert dict(found.treatment.with_) == {}
    assert SCRIPT not in found.without
    assert text(found.without, CLAUDE) == BARE


def test_a_hook_that_is_not_committed_yet(repo: Repo) -> None:
    repo.write(CLAUDE, BARE)
    repo.commit()
    repo.write(SCRIPT, "#!/bin/sh\n", executable=True)
    repo.write(CLAUDE, SETTINGS.replace('"opus"', '"haiku"'))
    found = cohorts(repo, "check")
    assert dict(found.treatment.without) == {}
    assert found.with_[SCRIPT] == (0o100755, b"#!/bin/sh\n")
    with_, _ = both(found, CLAUDE)
    assert with_["model"] == "opus"  # the rest is the base's
    assert [len(group["hooks"]) for group in with_["hooks"]["PreToolUse"]] == [2, 1]
    repo.commit()
    assert cohorts(repo, "check").treatment.plan.digest == found.treatment.plan.digest


def test_a_hook_of_local_settings_that_git_ignores(repo: Repo) -> None:
    repo.write(".gitignore", "settings.local.json\n")
    repo.commit()
    repo.write(SCRIPT, "x")
    repo.write(".claude/settings.local.json", SETTINGS)
    found = cohorts(repo, "check")
    assert ".claude/settings.local.json" not in found.without
    entered = json.loads(text(found.with_, ".claude/settings.local.json"))
    assert list(entered) == ["hooks"]
    assert list(entered["hooks"]) == ["PreToolUse"]


def test_the_last_hook_leaves_an_empty_object(repo: Repo) -> None:
    repo.write(SCRIPT, "x")
    repo.write(
        CLAUDE, '\ufeff{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sh .claude/hooks/check.sh"}]}]}}\r\n'
    )
    repo.commit()
    assert text(cohorts(repo, "check").without, CLAUDE) == "\ufeff{}\r\n"


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        (".claude/hooks/check.sh", True),
        ("sh -c 'cd x && $CLAUDE_PROJECT_DIR/.claude/hooks/check.sh'", True),
        ('"$(git rev-parse --show-toplevel)/.claude/hooks/check.sh"', True),
        ("cd .claude/hooks && ./check.sh", True),
        ("check.sh", True),
        ("cd .claude && hooks/check.sh", True),
        ("cd .claude/agents && ../hooks/check.sh", True),
        (".claude/hooks//check.sh", True),
        ("sh .claude/./hooks/check.sh", True),
        (".claude/hooks/../hooks/check.sh", True),
        ('"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh', True),
        ("${CLAUDE_PROJECT_DIR}/.claude//hooks/check.sh", True),
        ("${CLAUDE_PROJECT_DIR:-.}/.claude/hooks/check.sh", True),
        ("H=$CLAUDE_PROJECT_DIR/.claude/hooks; $H/check.sh", True),
        ('D="$CLAUDE_PROJECT_DIR/.claude"; "${D}/hooks/check.sh"', True),
        ("$SOMEWHERE/check.sh", True),
        ("$SOMEWHERE/hooks/check.sh", True),
        ("`git rev-parse --show-toplevel`/.claude/hooks/check.sh", True),
        ("/home/me/project/.claude/hooks/check.sh", True),
        ("scripts/check.sh", False),
        ("hooks/check.sh", False),
        ("cd .claude && /hooks/check.sh", False),
        ("cd .claude && scripts/check.sh", False),
        (".claude/hooks/../check.sh", False),
        ("$CLAUDE_PROJECT_DIR/hooks/check.sh", False),
        ("$CLAUDE_PROJECT_DIR/sub/.claude/hooks/check.sh", False),
        ("S=$CLAUDE_PROJECT_DIR/scripts; $S/check.sh", False),
        ("$SOMEWHERE/scripts/check.sh", False),
        (".claude/hooks/check.sh.bak", False),
        (".claude/hooks/precheck.sh", False),
        (".claude/hooks/check.shx", False),
        ("other.claude/hooks/check.sh", False),
    ],
)
def test_which_commands_mention_a_script(command: str, runs: bool) -> None:
    assert entries.mentions({"type": "command", "command": command}, SCRIPT) is runs


def test_two_scripts_of_one_name_are_told_apart_by_their_files(repo: Repo) -> None:
    repo.write(SCRIPT, "x")
    repo.write(".claude/hooks/check.py", "y")
    with pytest.raises(UsageFault) as fault:
        look(repo, "check")
    assert fault.value.remedy == "say which by its file: check.py or check.sh"
    assert set(cohorts(repo, "check.py").with_) == {"a.txt", ".claude/hooks/check.py"}


MCP = """\
{
  "mcpServers": {
    "db": {"command": "db-server", "args": ["--port", "1"]},
    "web": {"command": "web"}
  }
}
"""


def test_an_mcp_server_and_what_enables_it(repo: Repo) -> None:
    repo.write(".mcp.json", MCP)
    repo.write(CLAUDE, '{"enabledMcpjsonServers": ["web", "db"], "model": "x"}\n')
    repo.write(
        ".gemini/settings.json", '{"mcp": {"allowed": ["db"]}, "mcpServers": {"db": {"command": "g"}}} // mine\n'
    )
    repo.commit()
    found = cohorts(repo, "db")
    assert dict(found.treatment.with_) == {}
    assert text(found.without, ".mcp.json") == '{\n  "mcpServers": {\n    "web": {"command": "web"}\n  }\n}\n'
    assert text(found.without, CLAUDE) == '{"enabledMcpjsonServers": ["web"], "model": "x"}\n'
    assert text(found.without, ".gemini/settings.json") == '{"mcp": {"allowed": []}, "mcpServers": {}} // mine\n'


@pytest.mark.parametrize("base", [None, "{}\n", MCP.replace('"--port"', '"--old"')])
def test_an_mcp_server_of_the_checkout(repo: Repo, base: str | None) -> None:
    if base is not None:
        repo.write(".mcp.json", base)
        repo.commit()
    repo.write(".mcp.json", MCP)
    repo.write(CLAUDE, '{"enabledMcpjsonServers": ["db"], "model": "not the component"}\n')
    found = cohorts(repo, "db")
    assert json.loads(text(found.with_, ".mcp.json"))["mcpServers"]["db"] == json.loads(MCP)["mcpServers"]["db"]
    assert json.loads(text(found.with_, CLAUDE)) == {"enabledMcpjsonServers": ["db"]}
    without = json.loads(text(found.without, ".mcp.json")) if base is not None else {}
    assert "db" not in without.get("mcpServers", {})
    if base == MCP:
        assert "web" in without["mcpServers"]
    if base is not None and base != "{}\n":  # replaced where it stood, all else untouched
        assert text(found.with_, ".mcp.json").replace("\n", "").replace(" ", "") == MCP.replace("\n", "").replace(
            " ", ""
        )


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("settings.json#/model", None),
        (".claude/settings.json#/hooks/Stop", None),
        ("setting:settings.json#/hooks/PreToolUse/1", None),
        ("settings.json#/hooks/PreToolUse/0/hooks/0/command", None),
    ],
)
def test_a_setting_is_one_entry(repo: Repo, name: str, without: None) -> None:
    repo.write(CLAUDE, SETTINGS)
    repo.commit()
    found = cohorts(repo, name)
    with_, other = both(found, CLAUDE)
    token = name.partition("#")[2]
    assert pointer.find(with_, token) is not None
    gone = pointer.find(other, token)
    assert gone is None or gone != pointer.find(with_, token)
    assert found.treatment.plan.kind == "setting"


def test_a_setting_of_a_list_is_known_by_its_value(repo: Repo) -> None:
    repo.write("tools.json", '{"allow": ["a", "b"]}')
    repo.commit()
    repo.write("tools.json", '{"allow": ["new", "a", "b"]}')
    assert both(cohorts(repo, "tools.json#/allow/0"), "tools.json") == (
        {"allow": ["new", "a", "b"]},
        {"allow": ["a", "b"]},
    )
    assert both(cohorts(repo, "tools.json#/allow/1"), "tools.json") == ({"allow": ["a", "b"]}, {"allow": ["b"]})
    repo.write("tools.json", '{"allow": ["A", "b"]}')
    assert both(cohorts(repo, "tools.json#/allow/0"), "tools.json") == ({"allow": ["A", "b"]}, {"allow": ["b"]})


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("{nope}", "settings.json#/a", "is not JSON (line 1"),
        ("{}", "settings.json#/a~2", "no JSON pointer"),
        ("{}", "../settings.json#/a", "leads out of the checkout"),
        ('{"a": 1, "a": 2}', "settings.json#/a", "twice"),
        ("[" * 5000, "settings.json#/a", "nested too deeply"),
        (b"\xff", "settings.json#/a", "not UTF-8"),
    ],
)
def test_broken_settings_are_one_sentence(repo: Repo, content: str | bytes, name: str, said: str) -> None:
    repo.write(CLAUDE, content)
    repo.commit()
    with pytest.raises(UsageFault) as fault:
        look(repo, name)
    assert said in fault.value.message
    assert "\n" not in fault.value.message
    assert look(repo, "settings.json") is None  # nothing else is troubled by it


def test_a_setting_that_is_not_there(repo: Repo) -> None:
    repo.write(CLAUDE, '{"a": {}}')
    for name in ("settings.json#/b", "settings.json#/a/b", "settings.json#/a/0", "none.json#/a", "settings.json#"):
        assert look(repo, name) is None


RULES = """\
# Project

Be kind.

## Tests

Run `pytest`.

```sh
# not a heading
```

### Slow ones

Skip.

## Style & *form*

Tabs.
"""


@pytest.mark.parametrize(
    ("heading", "gone"),
    [
        ("Tests", "## Tests\n\nRun `pytest`.\n\n```sh\n# not a heading\n```\n\n### Slow ones\n\nSkip.\n\n"),
        ("slow-ones", "### Slow ones\n\nSkip.\n\n"),
        ("Style & form", "## Style & *form*\n\nTabs.\n"),
        ("Style & *form*", "## Style & *form*\n\nTabs.\n"),
        ("style--form", "## Style & *form*\n\nTabs.\n"),
        ("## Tests", "## Tests\n\nRun `pytest`.\n\n```sh\n# not a heading\n```\n\n### Slow ones\n\nSkip.\n\n"),
    ],
)
@pytest.mark.parametrize(
    "form", [lambda t: t, lambda t: "\ufeff" + t.replace("\n", "\r\n"), lambda t: t.rstrip("\n")]
)
def test_a_section_is_withheld_and_every_other_byte_stays(repo: Repo, heading: str, gone: str, form: Any) -> None:
    repo.write("CLAUDE.md", form(RULES))
    repo.commit()
    found = cohorts(repo, f"CLAUDE.md#{heading}")
    assert dict(found.treatment.with_) == {}
    without = RULES.replace(gone, "")
    kept = (
        form(without) if gone not in RULES[-len(gone) :] else form(RULES)[: len(form(without + "x").rstrip("\n")) - 1]
    )
    assert text(found.without, "CLAUDE.md") == kept
    repo.write("CLAUDE.md", form(without))
    repo.commit()
    repo.write("CLAUDE.md", form(RULES))
    again = cohorts(repo, f"CLAUDE.md#{heading}")
    assert text(again.with_, "CLAUDE.md").rstrip("\r\n") == form(RULES).rstrip("\r\n")
    assert again.treatment.plan.digest == found.treatment.plan.digest


def test_sections_that_are_none_and_ones_that_are_two(repo: Repo) -> None:
    repo.write("CLAUDE.md", "# A\n# A\n<!--\n# C\n-->\n> # D\n\n- # E\n")
    with pytest.raises(UsageFault) as fault:
        look(repo, "CLAUDE.md#A")
    assert fault.value.remedy == "say which: CLAUDE.md#a (line 1) and CLAUDE.md#a-1 (line 2)"
    assert text(cohorts(repo, "CLAUDE.md#a-1").with_, "CLAUDE.md").startswith("# A\n")
    for heading in "CDE":
        assert look(repo, f"CLAUDE.md#{heading}") is None
    with pytest.raises(UsageFault, match="leads out"):
        look(repo, "../CLAUDE.md#A")


def test_an_edited_section_takes_the_place_of_the_bases(repo: Repo) -> None:
    repo.write("CLAUDE.md", RULES)
    repo.commit()
    repo.write("CLAUDE.md", RULES.replace("Be kind", "Be quick").replace("Run `pytest`", "Run nothing"))
    found = cohorts(repo, "CLAUDE.md#Tests")
    assert text(found.with_, "CLAUDE.md") == RULES.replace("Run `pytest`", "Run nothing")
    repo.write("CLAUDE.md", "```\nnever closed\n")
    repo.commit()
    repo.write("CLAUDE.md", RULES)
    with pytest.raises(UsageFault, match="cannot be put into"):
        look(repo, "CLAUDE.md#Tests")


# ---- properties

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab\u00e9"\\/~ ', max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab~/\u00e9", max_size=3), inner, max_size=4),
    max_leaves=12,
)
STYLES = st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {"ensure_ascii": False}])
OBJECTS = st.dictionaries(st.text("ab", max_size=2), JSON, max_size=4)


def ways(value: Any, way: jsontext.Way = ()) -> list[jsontext.Way]:
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [found for step, each in inner for found in [(*way, step), *ways(each, (*way, step))]]


def removed(value: Any, way: jsontext.Way) -> Any:
    copy = json.loads(json.dumps(value))
    at = copy
    for step in way[:-1]:
        at = at[step]
    del at[way[-1]]
    return copy


@given(JSON, STYLES)
def test_every_json_text_is_read_and_every_value_can_be_taken_out_and_put_back(
    value: Any, style: dict[str, Any]
) -> None:
    written = json.dumps(value, **style)
    assert jsontext.parse(written).value == value
    for way in ways(value):
        node = jsontext.look(written, way)
        assert node is not None
        assert jsontext.parse(written[node.start : node.end]).value == node.value
        token = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in way)
        assert pointer.find(value, token) == (way, node.value)
        bare = jsontext.remove(written, way)
        assert jsontext.parse(bare).value == removed(value, way)
        assert jsontext.parse(jsontext.put(bare, way, node.value)).value == value
        assert jsontext.parse(jsontext.replace(written, way, "new")).value != [] or value != []


@given(st.text('{}[]":,1 tn/*\n', max_size=30))
def test_json_is_what_json_says_but_for_comments(written: str) -> None:
    try:
        expected: Any = json.loads(written)
    except ValueError:
        if "/" in written:
            return
        with pytest.raises(NotJson):
            jsontext.parse(written)
    else:
        if json.dumps(expected, separators=(",", ":")).count(":") == written.count(":"):  # no name stands there twice
            assert jsontext.parse(written).value == expected


@given(OBJECTS, OBJECTS, STYLES)
def test_a_merge_taken_out_of_what_lacked_it_leaves_what_there_was(
    base: Any, value: Any, style: dict[str, Any]
) -> None:
    written = json.dumps(base, **style)
    made = merge.merged(written, value)
    assert merge.merged(made, value) == made
    bare = merge.unmerged(made, value)
    assert merge.unmerged(bare, value) == bare
    if not set(base) & set(value):
        assert jsontext.parse(bare).value == base


LINES = st.lists(
    st.sampled_from(
        [
            "# a",
            "## b",
            "### c",
            "## a",
            "text",
            "",
            "```",
            "- # x",
            "S\n===",
            "> q",
            "    # code",
            "---",
            "<!--",
            "-->",
        ]
    ),
    max_size=14,
)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
def test_sections_of_any_document(lines: list[str], end: str, bom: bool, last: bool) -> None:
    document = ("\ufeff" if bom else "") + end.join("\n".join(lines).split("\n")) + (end if last else "")
    found = sections.sections(document)
    assert sections.read(sections.write(document)) == document
    assert len({each.slug for each in found}) == len(found)
    for each in found:
        piece = document[each.start : each.end]
        bare = sections.without(document, each)
        inside = [other for other in found if each.start <= other.start < each.end]
        left = [other for other in found if other not in inside]
        # what is left is left whole, byte for byte
        assert bare.startswith(document[: each.start])
        assert bare.endswith(document[each.end :])
        assert len(bare) - len(document) + len(piece) in {0, 1, 2}
        # and the section comes back where it was
        back = sections.with_section(bare, piece, [other for other in found if other.start < each.start], each.level)
        if back is not None and [(s.level, s.title) for s in sections.sections(bare)] == [
            (s.level, s.title) for s in left
        ]:
            titles = [(s.level, s.title) for s in sections.sections(back)]
            assert sorted(titles) == sorted((s.level, s.title) for s in found)
            if len(bare) == len(document) - len(piece) and document[: each.start].endswith(("\n", "\r")):
                assert back == document

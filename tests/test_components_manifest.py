"""Manifests: what each kind gives to WITH and keeps from WITHOUT, and what is said of one that is wrong."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.cli.init import KINDS, manifest_text
from kcut.components import look_up, user_copies
from kcut.components.blocks import with_block, without_block
from kcut.components.manifest import read_manifest
from kcut.globs import covers, fixed_part, literal, may_hold
from kcut.model.component import ComponentPlan
from kcut.model.errors import UsageFault
from kcut.model.manifest_schema import manifest_schema
from tests.components import cohorts, look
from tests.conftest import Repo

MANIFEST = ".claude/kcut/components/m.toml"
BINDS_GIT = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0"),
    *("GIT_QUARANTINE_PATH", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF"),
)


def test_files_exist_with_only(repo: Repo) -> None:
    repo.write("tools/a.py", "committed")
    repo.write("tools/deep/b.py", "deleted")
    repo.write("tools/keep.txt", "x")
    repo.write(".gitignore", "*.log\n")
    repo.commit()
    repo.write("tools/a.py", "edited")
    (repo.path / "tools/deep/b.py").unlink()
    repo.write("tools/new.py", "new", executable=True)
    repo.write("tools/made.log", "ignored")
    repo.write(MANIFEST, 'files = ["tools/**/*.py", "tools/made.log"]\n')
    repo.git("add", MANIFEST)
    repo.git("commit", "-qm", "manifest")
    found = cohorts(repo, "m")
    assert {path: data for path, (_, data) in found.with_.items() if path.startswith("tools/")} == {
        "tools/a.py": b"edited",
        "tools/new.py": b"new",
        "tools/made.log": b"ignored",
        "tools/keep.txt": b"x",
    }
    assert found.with_["tools/new.py"][0] == 0o100755
    assert [path for path in found.without if path.startswith("tools/")] == ["tools/keep.txt"]
    assert MANIFEST not in {**found.with_, **found.without}  # it would tell the agent
    assert found.treatment.plan.kind == "manifest"


def test_a_manifest_comes_before_all_else_of_its_name(repo: Repo) -> None:
    repo.write(".claude/skills/m/SKILL.md", "x")
    repo.write(MANIFEST, '[env]\nFAST = "1"\n')
    treatment = look(repo, "m")
    assert treatment is not None
    assert treatment.plan.kind == "manifest"
    assert (treatment.plan.variables, dict(treatment.env)) == (("FAST",), {"FAST": "1"})
    other = look(repo, "skill:m")
    assert other is not None
    assert other.plan.kind == "skill"


def test_values_of_variables_are_told_to_nobody(repo: Repo) -> None:
    secret = "sk-ant-api03-" + "0" * 12
    repo.write(MANIFEST, f'[env]\nTOKEN = "{secret}"\n')
    treatment = look(repo, "m")
    assert treatment is not None
    assert treatment.env["TOKEN"] == secret
    assert secret not in repr(treatment)
    assert secret not in json.dumps(treatment.plan.document())
    repo.write(MANIFEST, f'[env]\nTOKEN = ["{secret}"]\n"B-" = "{secret}"\n')
    with pytest.raises(UsageFault) as fault:
        look(repo, "m")
    assert secret not in f"{fault.value.message} {fault.value.remedy}"


def test_a_block_of_text_in_a_file(repo: Repo) -> None:
    repo.write("CLAUDE.md", "# A\r\n\r\ntext\r\n")
    repo.commit()
    repo.write(MANIFEST, '[[text]]\nfile = "CLAUDE.md"\nblock = """\n## B\n\nbe kind\n"""\n')
    found = cohorts(repo, "m")
    assert dict(found.treatment.without) == {}
    written = b"# A\r\n\r\ntext\r\n\r\n## B\r\n\r\nbe kind\r\n"
    assert found.with_["CLAUDE.md"][1] == written
    repo.write("CLAUDE.md", written + b"\r\nmore\r\n")
    repo.git("add", "CLAUDE.md")
    repo.git("commit", "-qm", "has it")
    found = cohorts(repo, "m")
    assert dict(found.treatment.with_) == {}
    assert found.without["CLAUDE.md"][1] == b"# A\r\n\r\ntext\r\n\r\nmore\r\n"


def test_entries_of_a_json_file(repo: Repo) -> None:
    repo.write(".claude/settings.json", '{\n  "model": "opus",\n  "permissions": {"allow": ["a"]}\n}\n')
    repo.commit()
    repo.write(
        MANIFEST,
        '[[json]]\nfile = ".claude/settings.json"\n[json.merge]\nmodel = "haiku"\nnew = true\n'
        '[json.merge.permissions]\nallow = ["b"]\n[[json]]\nfile = ".mcp.json"\n'
        'merge = {mcpServers = {x = {command = "x"}}}\n',
    )
    found = cohorts(repo, "m")
    assert json.loads(found.with_[".claude/settings.json"][1]) == {
        "model": "haiku",
        "permissions": {"allow": ["a", "b"]},
        "new": True,
    }
    assert dict(found.treatment.without) == {}  # what stood there stays
    assert json.loads(found.with_[".mcp.json"][1]) == {"mcpServers": {"x": {"command": "x"}}}
    repo.write(".claude/settings.json", found.with_[".claude/settings.json"][1])
    repo.write(".mcp.json", found.with_[".mcp.json"][1])
    repo.commit()
    again = cohorts(repo, "m")
    assert ".claude/settings.json" not in again.treatment.with_
    assert json.loads(again.without[".claude/settings.json"][1]) == {"permissions": {"allow": ["a"]}}
    assert json.loads(again.without[".mcp.json"][1]) == {"mcpServers": {}}


def test_a_patch_names_the_paths_that_it_touches(repo: Repo) -> None:
    repo.write("old name.txt", "a\nb\nc\nd\n")
    repo.write("gone.txt", "x\n")
    repo.commit()
    repo.git("mv", "old name.txt", "n\u00e9w.txt")
    repo.write("a.txt", "b\n")
    repo.write("added.txt", "x\n")
    (repo.path / "gone.txt").unlink()
    repo.git("add", "-A")
    patch = repo.git("diff", "--cached", "-M", "--binary").encode() + b"\n"
    repo.git("reset", "-q", "--hard")
    repo.write(".claude/kcut/components/m.patch", patch)
    repo.write(MANIFEST, 'patch = ".claude/kcut/components/m.patch"\n')
    treatment = look(repo, "m")
    assert treatment is not None
    assert treatment.patch == patch
    assert sorted(treatment.plan.paths) == ["a.txt", "added.txt", "gone.txt", "n\u00e9w.txt", "old name.txt"]
    state = b"--- /dev/null\n+++ b/.claude/eval/x\n@@ -0,0 +1 @@\n+x\n"
    repo.write(".claude/kcut/components/m.patch", state)
    with pytest.raises(UsageFault, match=r"'.claude/eval/x' is kcut's own folder, which no trial has"):
        look(repo, "m")
    repo.write(".claude/kcut/components/m.patch", "no patch")
    with pytest.raises(UsageFault, match="the patch cannot be read"):
        look(repo, "m")


def test_a_command_says_what_it_may_change(repo: Repo) -> None:
    repo.write(
        MANIFEST, '[command]\napply = "make on"\nwithhold = "make off"\nfiles = ["conf/*.ini"]\n[env]\nA = ""\n'
    )
    treatment = look(repo, "m")
    assert treatment is not None
    assert (treatment.command, treatment.withhold, treatment.plan.paths) == ("make on", "make off", ("conf/*.ini",))


def test_the_digest_is_of_what_it_does(repo: Repo) -> None:
    def digest(text: str) -> str:
        repo.write(MANIFEST, text)
        return str(look_up(repo.path, "m")[0].digest)

    repo.write("x.py", "1")
    one = digest('files = ["x.py"]\n')
    assert digest('# a comment\ndescription = "d"\nfiles = ["./x.py"]\n'.replace("./", "")) == one
    repo.write("x.py", "2")
    assert digest('files = ["x.py"]\n') != one
    assert digest('[env]\nA = "1"\n') != digest('[env]\nA = "2"\n')


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("fils = ['a']\n", "unknown key 'fils'", "did you mean: files"),
        ("[[text]]\nfile='a'\nblok='b'\n", "unknown key 'text.0.blok'", "did you mean: block"),
        (
            "[command]\napply='a'\nfiles=['a']\nwithold='b'\n",
            "unknown key 'command.withold'",
            "did you mean: withhold",
        ),
        ("files = 'a'\n", "files:", None),
        ("files = [1]\n", "files.0:", None),
        ("[[text]]\nfile='a'\nblock=' '\n", "blank", None),
        ("[[text]]\nfile='a'\n", "text.0.block: field required", None),
        ("[command]\napply='a'\nfiles=[]\n", "command.files", None),
        ("description = 'd'\n", "names nothing", None),
        ("", "names nothing", None),
        ("files = ['../x']\n", "no path below the root", None),
        ("files = ['/etc/passwd']\n", "no path below the root", None),
        ("patch = '.git/config'\n", "no path below the root", None),
        ("files = ['.claude/eval/**']\n", "kcut's own folder", None),
        ("files = ['nope/**']\n", "no file matches 'nope/**'", None),
        ("patch = 'nope'\n", "there is no patch 'nope'", None),
        ("[env]\n'A-B' = '1'\n", "'A-B' is no name for a variable", None),
        ("[env]\nHARNESS_SEED = '1'\n", "HARNESS_SEED is kcut's own", None),
        *((f"[env]\n{name} = '1'\n", f"{name} would bind git to another repository", None) for name in BINDS_GIT),
        *((f"[env]\n{name} = '1'\n", f"depend on the variable {name}", None) for name in ("HOME", "TMPDIR")),
        ("[env]\nLD_PRELOAD = 'x'\n", "depend on the variable LD_PRELOAD", None),
        (
            "[env]\nPATH = 'tools'\n",
            "depend on the variable PATH",
            "change PATH in the task, or put the program where PATH leads in --setup",
        ),
        ("[env]\nA = 1\n", "env.A:", None),
        ('[env]\nA = "\\u0000"\n', "NUL", None),
        ("[[json]]\nfile='a.json'\nmerge={a=2020-01-01}\n", "which JSON has not", None),
        ("[[json]]\nfile='a.json'\nmerge={a=nan}\n", "json", None),
        ("a = \n", "not valid TOML", None),
        ("a" * 10 + " = " + "[" * 5000, "not valid TOML", None),
        (b"\xff", "not UTF-8", None),
        (b"#" * (1 << 21), "larger than", None),
    ],
)
def test_a_wrong_manifest_is_one_sentence(repo: Repo, text: str | bytes, said: str, remedy: str | None) -> None:
    repo.write(MANIFEST, text)
    with pytest.raises(UsageFault) as fault:
        look(repo, "m")
    assert said in fault.value.message
    assert MANIFEST in fault.value.message
    assert "\n" not in fault.value.message
    if remedy is not None:
        assert fault.value.remedy == remedy


@pytest.mark.parametrize("kind", KINDS)
def test_every_template_is_a_manifest_of_its_kind(kind: str) -> None:
    manifest = read_manifest("x", manifest_text("a \u00e9.b", kind).encode())
    told = manifest.model_dump(by_alias=True, exclude_defaults=True)
    assert set(told) == {"description", kind}
    jsonschema.Draft202012Validator(manifest_schema()).validate(json.loads(json.dumps(told)))


@pytest.mark.parametrize(
    ("glob", "path", "covered"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/b/c", True),
        ("a/b/", "a/b/c", True),
        ("a/b", "a/bc", False),
        ("a/*", "a/b/c", True),
        ("*.md", "a.md", True),
        ("*.md", "a/b.md", False),
        ("**/*.md", "a/b.md", True),
        ("**/*.md", "b.md", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("a/**/d", "a/d", True),
        ("a/**/d", "a/b/c/d", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].x", "b.x", True),
        ("[!ab].x", "b.x", False),
        ("[!ab]x", "/x", False),
        ("[z-a]", "b", False),
        ("[", "[", True),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("a\n*", "a\nb", True),
    ],
)
def test_globs(glob: str, path: str, covered: bool) -> None:
    assert covers([glob], path) is covered
    if covered:
        folders = path.split("/")
        assert all(may_hold(glob, "/".join(folders[:end])) for end in range(1, len(folders)))


@given(st.text("ab*?[]\\!-/ \n\u00e9", min_size=1, max_size=8))
def test_a_literal_matches_itself_and_what_lies_below(path: str) -> None:
    path = path.strip("/") or "x"
    assert covers([literal(path)], path)
    assert covers([literal(path)], f"{path}/x")
    assert not covers([literal(path)], f"{path}x")
    assert fixed_part(literal(path)) == path
    covers([path], "x")  # whatever the glob is, it can be asked


@given(
    st.lists(st.sampled_from(["a", "# b", "", "\ufeff"]), max_size=5),
    st.lists(st.sampled_from(["x", "## y", ""]), min_size=1, max_size=3).filter(lambda lines: "".join(lines) != ""),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["start", "end"]),
)
def test_a_block_comes_and_goes(lines: list[str], block: list[str], end: str, last: bool, at: Any) -> None:
    text = end.join(lines) + (end if last and lines else "")
    made = with_block(text, "\n".join(block), at)
    assert with_block(made, "\n".join(block), at) == made
    bare = without_block(made, "\n".join(block))
    assert without_block(bare, "\n".join(block)) == bare
    assert bare.strip("\ufeff\r\n") == text.strip("\ufeff\r\n")


def test_copies_at_user_level_are_named(repo: Repo, tmp_path: Path) -> None:
    home = tmp_path / "someone"
    for path in (
        ".claude/skills/tidy/SKILL.md",
        ".codex/skills/tidy/SKILL.md",
        ".agents/skills/other/SKILL.md",
        ".claude/plugins/cache/market/plug/1.0/skills/tidy/SKILL.md",
        ".claude/agents/rev.md",
        ".claude/commands/a/b.md",
        ".claude/rules/style.md",
        ".claude/CLAUDE.md",
        ".claude/hooks/check.sh",
    ):
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text("---\nname: tidy\n---\n# Tests\n" if "other" in path else "# Tests\n")
    (home / ".claude.json").write_text('{"mcpServers": {"db": {}}}')
    (home / ".codex/config.toml").write_text('[mcp_servers.db]\ncommand = "x"\n')
    (home / ".claude/settings.json").write_text('{"model": "x"}')
    (home / ".gemini").write_text("no folder")

    def plan(kind: Any, name: str, path: str, paths: tuple[str, ...] = ()) -> ComponentPlan:
        return ComponentPlan(name=name, kind=kind, path=path, digest="", paths=paths)

    found = user_copies(plan("skill", "tidy", ".claude/skills/tidy"), home)
    assert found == (
        "~/.claude/skills/tidy",
        "~/.codex/skills/tidy",
        "~/.agents/skills/other",
        "~/.claude/plugins/cache/market/plug/1.0/skills/tidy",
    )
    for told, expected in (
        (plan("agent", "rev", ".claude/agents/rev.md"), "~/.claude/agents/rev.md"),
        (plan("command", "a:b", ".claude/commands/a/b.md"), "~/.claude/commands/a/b.md"),
        (plan("rule", "style", ".claude/rules/style.md"), "~/.claude/rules/style.md"),
        (plan("rule", "CLAUDE.md", "CLAUDE.md"), "~/.claude/CLAUDE.md"),
        (plan("section", "CLAUDE.md#Tests", "CLAUDE.md"), "~/.claude/CLAUDE.md"),
        (plan("hook", "check", ".claude/hooks/check.sh"), "~/.claude/hooks/check.sh"),
        (plan("setting", "settings.json#/model", ".claude/settings.json"), "~/.claude/settings.json"),
        (plan("manifest", "m", MANIFEST, (".claude/skills/tidy/**",)), "~/.claude/skills/tidy"),
    ):
        assert user_copies(told, home) == (expected,), told
    assert user_copies(plan("mcp", "db", ".mcp.json"), home) == ("~/.claude.json", "~/.codex/config.toml")
    assert user_copies(plan("skill", "none", ".claude/skills/none"), home) == ()
    shutil.rmtree(home)
    assert user_copies(plan("skill", "tidy", ".claude/skills/tidy"), home) == ()

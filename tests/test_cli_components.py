"""`kcut components`, `kcut init component`, `kcut schema component`, and a verdict that is stale."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from kcut.components import look_up
from kcut.model.manifest_schema import text
from tests.conftest import Kcut, Repo
from tests.documents import example, first_format, put

DRAFT = "---\nname: tidy\ndescription: d\n---\n1. a\n2. b\n"
STAGED, LIVE = ".claude/skills-staging/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md"


def measured(repo: Repo, name: str, **changes: Any) -> dict[str, Any]:
    """Put an artifact of the component as it is now."""
    (found,) = look_up(repo.path, name)
    document = example(component=name, componentDigest=found.digest, **changes)
    put(repo.path, name, document)
    return document


def rows(kcut: Kcut, repo: Repo) -> dict[tuple[str | None, str], tuple[Any, ...]]:
    done = kcut("components", "--json", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert list(document) == ["components"]
    for row in document["components"]:
        assert list(row) == ["name", "kind", "path", "digest", "decision", "pass", "stale"]
    return {
        (row["kind"], row["name"]): (row["decision"], row["pass"], row["stale"]) for row in document["components"]
    }


def test_a_verdict_stays_until_the_component_changes(repo: Repo, kcut: Kcut) -> None:
    repo.write(STAGED, DRAFT)
    repo.commit()
    document = measured(repo, "tidy")
    verdict = (document["decision"]["verdict"], document["pass"])

    def said() -> tuple[str, str]:
        gate = json.loads(kcut("gate", "tidy", "--json", cwd=repo.path).stdout)["components"][0]["state"]
        items = json.loads(kcut("rubric", STAGED, "--json", cwd=repo.path).stdout)["items"]
        return gate, items[4]["result"]

    assert said() == ("pass", "PASS")
    assert rows(kcut, repo) == {("draft", "tidy"): (*verdict, False)}
    repo.write(STAGED, DRAFT + "3. c\n")
    assert said() == ("stale", "MANUAL")
    assert rows(kcut, repo) == {("draft", "tidy"): (*verdict, True)}
    done = kcut("gate", "draft:tidy", cwd=repo.path)
    assert done.returncode == 2
    assert "the component has changed since" in done.stdout
    assert "kcut benchmark --component tidy" in done.stdout
    # promoted as it was measured
    repo.write(LIVE, DRAFT)
    repo.git("rm", "-rqf", STAGED)
    repo.commit()
    assert kcut("gate", "tidy", cwd=repo.path).returncode == 0
    assert rows(kcut, repo) == {("skill", "tidy"): (*verdict, False)}
    # gone for good
    repo.git("rm", "-rq", LIVE)
    repo.commit()
    done = kcut("gate", "tidy", cwd=repo.path)
    assert (done.returncode, "the component is gone" in done.stdout) == (2, True)
    assert rows(kcut, repo) == {(None, "tidy"): (*verdict, True)}
    done = kcut("components", cwd=repo.path)
    assert done.stdout.splitlines()[1].split() == ["tidy", "gone", "-", verdict[0], "yes", "yes"]


def test_of_two_components_of_one_name_the_one_that_was_measured_has_the_verdict(repo: Repo, kcut: Kcut) -> None:
    repo.write(LIVE, DRAFT)
    document = measured(repo, "tidy")
    repo.write(".claude/agents/tidy.md", "x\n")
    assert kcut("gate", "skill:tidy", cwd=repo.path).returncode == 0
    assert kcut("gate", "agent:tidy", cwd=repo.path).returncode == 2
    assert kcut("gate", "tidy", cwd=repo.path).returncode == 2  # which of them is to be let through?
    assert rows(kcut, repo) == {
        ("skill", "tidy"): (document["decision"]["verdict"], True, False),
        ("agent", "tidy"): (None, None, False),
    }


def test_sections_and_settings_are_listed_once_they_were_measured(repo: Repo, kcut: Kcut) -> None:
    repo.write("CLAUDE.md", "# A\n\n## Tests\n\nx\n")
    repo.write(".claude/settings.json", '{"model": "x"}')
    repo.commit()
    measured(repo, "CLAUDE.md#Tests")
    measured(repo, "settings.json#/model")
    put(repo.path, "toggle", first_format("toggle"))  # a plain toggle is no component
    assert set(rows(kcut, repo)) == {
        ("rule", "CLAUDE.md"),
        ("section", "CLAUDE.md#Tests"),
        ("setting", "settings.json#/model"),
    }
    repo.write("CLAUDE.md", "# A\n\nmore\n\n## Tests\n\nx")
    assert rows(kcut, repo)["section", "CLAUDE.md#Tests"][2] is False
    repo.write("CLAUDE.md", "# A\n\n## Tests\n\ny\n")
    assert rows(kcut, repo)["section", "CLAUDE.md#Tests"][2] is True


def test_an_artifact_without_a_digest_is_as_before(repo: Repo, kcut: Kcut) -> None:
    put(repo.path, "tidy", first_format("tidy"))
    assert kcut("gate", "tidy", cwd=repo.path).returncode == 0


def test_a_component_that_cannot_be_read_is_listed_and_its_verdict_is_stale(repo: Repo, kcut: Kcut) -> None:
    repo.write(".claude/kcut/components/m.toml", '[env]\nA = "1"\n')
    measured(repo, "m")
    repo.write(".claude/kcut/components/m.toml", "fils = 1\n")
    done = kcut("components", cwd=repo.path)
    assert "unknown key 'fils'" in done.stderr
    assert done.stdout.splitlines()[1].split()[-1] == "yes"
    assert kcut("gate", "m", cwd=repo.path).returncode == 2


def test_a_checkout_without_a_commit_and_one_without_components(repo: Repo, kcut: Kcut, tmp_path: Any) -> None:
    done = kcut("components", cwd=repo.path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "kcut init component" in done.stderr
    new = Repo(tmp_path / "new")
    new.path.mkdir()
    new.git("init", "-q")
    new.write(LIVE, DRAFT)
    assert set(rows(kcut, new)) == {("skill", "tidy")}
    assert kcut("components", cwd=tmp_path).returncode == 2


def test_init_writes_a_manifest_once(repo: Repo, kcut: Kcut) -> None:
    done = kcut("init", "component", "my tool", "--kind", "env", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    assert "kcut benchmark --component 'my tool'" in done.stdout
    path = repo.path / ".claude/kcut/components/my tool.toml"
    before = path.read_bytes()
    again = kcut("init", "component", "my tool", cwd=repo.path)
    assert (again.returncode, path.read_bytes()) == (2, before)
    assert "there already" in again.stderr
    assert set(rows(kcut, repo)) == {("manifest", "my tool")}


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("component",),
        ("componet", "x"),
        ("component", "../x"),
        ("component", "a\nb"),
        ("component", "skill:x"),
    ],
)
def test_init_refuses_what_cannot_be_a_name(repo: Repo, kcut: Kcut, args: tuple[str, ...]) -> None:
    done = kcut("init", *args, cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) <= 2
    assert not (repo.path / ".claude").exists()


@pytest.mark.parametrize("way", ["file", "link"])
def test_init_where_the_folder_cannot_be_made(repo: Repo, kcut: Kcut, tmp_path: Any, way: str) -> None:
    if way == "file":
        repo.write(".claude", "x")
    else:
        (tmp_path / "out").mkdir()
        (repo.path / ".claude").symlink_to(tmp_path / "out")
    done = kcut("init", "component", "x", cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert not list(tmp_path.glob("out/*"))


def test_the_schema_is_shipped_and_printed(kcut: Kcut) -> None:
    shipped = files("kcut.model").joinpath("component.schema.json").read_text(encoding="utf-8")
    assert shipped == text(), "renew it: python -m kcut.model.manifest_schema > kcut/model/component.schema.json"
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped))
    assert kcut("schema", "component").stdout == shipped


def test_a_verdict_holds_for_the_kind_that_was_measured(repo: Repo, kcut: Kcut) -> None:
    repo.write(".claude/skills/two/SKILL.md", "---\nname: two\ndescription: live\n---\n1. x\n")
    repo.write(".claude/skills-staging/two/SKILL.md", "---\nname: two\ndescription: draft\n---\n1. x\n")
    task = "grep -q draft .claude/skills/two/SKILL.md"
    assert kcut("benchmark", "--component", "draft:two", "--task", task, "--k", "3", cwd=repo.path).returncode == 0
    done = kcut("gate", "--json", "draft:two", "skill:two", "two", cwd=repo.path)
    states = {each["name"]: each["state"] for each in json.loads(done.stdout)["components"]}
    assert (done.returncode, states) == (2, {"draft:two": "pass", "skill:two": "stale", "two": "stale"})
    told = kcut("gate", "two", cwd=repo.path).stdout
    assert "kcut gate skill:two or kcut gate draft:two" in told


@pytest.mark.parametrize("name", ["skill:nope", "CLAUDE.md#Nope", "settings.json#/nope", "draft:two"])
def test_a_name_that_says_its_kind_is_never_a_plain_toggle(repo: Repo, kcut: Kcut, name: str) -> None:
    done = kcut("benchmark", "--component", name, "--task", "true", cwd=repo.path)
    assert done.returncode == 2
    assert f"there is no component {name} for kcut to switch" in done.stderr


def test_what_is_gone_is_restored_or_its_verdict_removed(repo: Repo, kcut: Kcut) -> None:
    repo.write("CLAUDE.md", "# A\nKEEP\n")
    words = ("--component", "CLAUDE.md#A", "--task", "grep -q KEEP CLAUDE.md", "--k", "3")
    assert kcut("benchmark", *words, cwd=repo.path).returncode == 0
    repo.write("CLAUDE.md", "# B\nKEEP\n")
    assert kcut("benchmark", *words, cwd=repo.path).returncode == 2
    told = kcut("gate", "CLAUDE.md#A", cwd=repo.path)
    assert told.returncode == 2
    assert "restore it, or remove .claude/eval/benchmarks/claude-md-a.json" in told.stdout


def test_manifests_are_no_uncommitted_change(repo: Repo, kcut: Kcut) -> None:
    for name in ("one", "other"):
        repo.write(f".claude/kcut/components/{name}.toml", '[env]\nX = "1"\n')
    done = kcut("benchmark", "--component", "one", "--task", 'test "$X" = 1', "--k", "2", cwd=repo.path)
    assert (done.returncode, "dirty" in done.stdout) == (0, False), done.stdout


def test_an_oracle_needs_a_score(repo: Repo, kcut: Kcut) -> None:
    repo.write("oracle/x", "x")
    done = kcut("benchmark", "--component", "x", "--task", "true", "--oracle", "oracle", cwd=repo.path)
    assert (done.returncode, "--oracle needs a score that uses it" in done.stderr) == (2, True)


def advice(repo: Repo, kcut: Kcut, name: str, *, folder: str = "", options: tuple[str, ...] = ()) -> str:
    """The plan that is shown before any trial, in one line."""
    words = ["benchmark", "--component", name, "--task", "true", "--k", "1", "--dry-run", *options]
    done = kcut(*words, cwd=repo.path / folder)
    assert done.returncode == 0, done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_a_hook_that_nothing_runs_is_said_before_any_trial(repo: Repo, kcut: Kcut) -> None:
    repo.write(".claude/hooks/g.sh", "exit 0\n", executable=True)
    assert "nothing runs it: no settings file of an agent names .claude/hooks/g.sh" in advice(repo, kcut, "g")
    entry = {"hooks": [{"type": "command", "command": "cd .claude && hooks/g.sh"}]}
    repo.write(".claude/settings.json", json.dumps({"hooks": {"Stop": [entry]}}))
    assert "nothing runs it" not in advice(repo, kcut, "g")


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("tidy", ".claude/skills/tidy/SKILL.md", DRAFT),
        ("rev", ".claude/agents/rev.md", DRAFT),
        ("style", ".claude/rules/style.md", "x"),
        ("db", ".mcp.json", '{"mcpServers": {"db": {"command": "db"}}}'),
        ("CLAUDE.md#Tests", "CLAUDE.md", "# Tests\nx\n"),
        ("settings.json#/a", ".claude/settings.json", '{"a": 1}'),
    ],
)
def test_a_copy_in_the_folder_that_trials_run_in_is_said(
    repo: Repo, kcut: Kcut, name: str, path: str, text: str
) -> None:
    repo.write("sub/deep/a.txt", "a")
    repo.write(path, text)
    repo.commit()
    repo.write(f"sub/{path}", text)
    assert "both cohorts have" not in advice(repo, kcut, name, folder="sub/deep")  # no trial has it
    assert "both cohorts have sub/" in advice(repo, kcut, name, folder="sub/deep", options=("--dirty", "include"))
    repo.commit()
    assert "both cohorts have sub/" in advice(repo, kcut, name, folder="sub/deep")
    assert "both cohorts have" not in advice(repo, kcut, name)


def test_a_component_is_not_linked_into_the_trials(repo: Repo, kcut: Kcut) -> None:
    repo.write(".gitignore", ".claude/\n")
    repo.commit()
    repo.write(LIVE, DRAFT)
    for link in (".claude/skills", ".claude/skills/tidy"):
        words = ["benchmark", "--component", "tidy", "--task", "true", "--k", "1", "--link", link]
        done = kcut(*words, cwd=repo.path)
        assert done.returncode == 2
        assert "is the component's, and a link (--link) would show it to all cohorts" in done.stderr
        assert "--copy" in done.stderr


def test_a_component_in_a_submodule_is_one_sentence(repo: Repo, kcut: Kcut) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.git('rev-parse', 'HEAD').strip()},vendor")
    repo.write("vendor/tidy/SKILL.md", DRAFT)
    (repo.path / ".claude/skills").mkdir(parents=True)
    (repo.path / ".claude/skills/tidy").symlink_to("../../vendor/tidy")
    repo.git("add", ".claude")
    repo.git("commit", "-qm", "submodule")
    done = kcut("benchmark", "--component", "tidy", "--task", "true", "--k", "1", "--dry-run", cwd=repo.path)
    assert done.returncode == 2
    assert "the skill 'tidy' lies in the submodule 'vendor'" in done.stderr

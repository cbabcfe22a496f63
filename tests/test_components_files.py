"""Components that are files: what they are, where they are found, and what each cohort has of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kcut.components import list_components, look_up, looked_for, nearest
from kcut.isolation.checkout import inspect
from kcut.model.errors import UsageFault
from tests.components import cohorts, look
from tests.conftest import Repo

SKILL = "---\nname: {0}\ndescription: d\n---\n1. do\n"
OTHER = ".claude/skills/other/SKILL.md"


def put_skill(repo: Repo, folder: str, name: str = "tidy") -> None:
    repo.write(f"{folder}/SKILL.md", SKILL.format(name))
    repo.write(f"{folder}/scripts/run.sh", "#!/bin/sh\n", executable=True)


#: kind -> how it is made, the names that mean it, and its paths.
KINDS: dict[str, tuple[Callable[[Repo], object], tuple[str, ...], set[str]]] = {
    "skill": (
        lambda repo: put_skill(repo, ".claude/skills/tidy"),
        ("tidy", "skill:tidy"),
        {".claude/skills/tidy/SKILL.md", ".claude/skills/tidy/scripts/run.sh"},
    ),
    "skill of another agent, by its frontmatter": (
        lambda repo: put_skill(repo, ".agents/skills/x", "Tidy Imports"),
        ("Tidy Imports", "x"),
        {".agents/skills/x/SKILL.md", ".agents/skills/x/scripts/run.sh"},
    ),
    "agent": (
        lambda repo: repo.write(".claude/agents/team/rev.md", "---\nname: reviewer\n---\nx\n"),
        ("reviewer", "rev", "team/rev", "agent:rev"),
        {".claude/agents/team/rev.md"},
    ),
    "command": (
        lambda repo: repo.write(".claude/commands/a/b.md", "go\n"),
        ("a:b", "command:a:b", "a/b"),
        {".claude/commands/a/b.md"},
    ),
    "rule": (
        lambda repo: repo.write(".claude/rules/py/style.md", "x\n"),
        ("py/style",),
        {".claude/rules/py/style.md"},
    ),
    "rule file": (
        lambda repo: repo.write("sub/AGENTS.md", "x\n"),
        ("sub/AGENTS.md", "./sub//AGENTS.md"),
        {"sub/AGENTS.md"},
    ),
    "local rule file": (lambda repo: repo.write("CLAUDE.local.md", "x\n"), ("CLAUDE.local.md",), {"CLAUDE.local.md"}),
    "name with odd characters": (
        lambda repo: put_skill(repo, ".claude/skills/a *[b]\n\u00e9", "odd"),
        ("a *[b]\n\u00e9",),
        {".claude/skills/a *[b]\n\u00e9/SKILL.md", ".claude/skills/a *[b]\n\u00e9/scripts/run.sh"},
    ),
}


@pytest.mark.parametrize("state", ["committed", "uncommitted", "ignored", "deleted", "edited"])
@pytest.mark.parametrize("kind", KINDS)
def test_with_has_it_and_without_lacks_it_whatever_git_knows_of_it(repo: Repo, kind: str, state: str) -> None:
    make, names, paths = KINDS[kind]
    repo.write(OTHER, SKILL.format("other"))
    if state == "ignored":
        repo.write(".gitignore", "".join(f"/{path.split('/')[0]}/*\n" for path in paths))
        repo.git("add", "-f", OTHER)
    repo.commit()
    make(repo)
    if state in {"committed", "deleted", "edited"}:
        repo.commit()
    if state == "deleted":
        for path in paths:
            (repo.path / path).unlink()
    if state == "edited":
        for path in paths:
            repo.write(
                path, (repo.path / path).read_text() + "more\n", executable=os.access(repo.path / path, os.X_OK)
            )
    found = [cohorts(repo, name) for name in names]
    assert len({each.treatment.plan.digest for each in found}) == 1
    for each in found:
        assert set(each.with_) - set(each.without) == paths
        assert OTHER in each.without
        if state != "deleted":
            assert {each.with_[path][1] for path in paths} == {(repo.path / path).read_bytes() for path in paths}
        executable = {path for path in paths if each.with_[path][0] == 0o100755}
        assert executable == {path for path in paths if path.endswith(".sh")}
        if state in {"committed", "deleted"}:
            assert dict(each.treatment.with_) == {}


def test_files_that_the_checkout_has_deleted_are_in_neither_cohort(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    repo.write(".claude/skills/tidy/old.md", "x")
    repo.commit()
    (repo.path / ".claude/skills/tidy/old.md").unlink()
    found = cohorts(repo, "tidy")
    assert ".claude/skills/tidy/old.md" not in {**found.with_, **found.without}


def test_a_skill_that_was_renamed_is_withheld_under_its_old_folder_too(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/old")
    repo.commit()
    (repo.path / ".claude/skills/old").rename(repo.path / ".claude/skills/tidy")
    found = cohorts(repo, "tidy")
    assert not any("skills" in path for path in found.without)
    assert ".claude/skills/tidy/SKILL.md" in found.with_
    assert ".claude/skills/old/SKILL.md" not in found.with_


def test_a_draft_becomes_a_live_skill_and_its_staged_copy_is_in_neither_cohort(repo: Repo) -> None:
    put_skill(repo, ".claude/skills-staging/tidy")
    repo.commit()
    found = cohorts(repo, "tidy")
    assert found.treatment.plan.kind == "draft"
    live = {".claude/skills/tidy/SKILL.md", ".claude/skills/tidy/scripts/run.sh"}
    assert set(found.with_) - set(found.without) == live
    assert not any("staging" in path for path in {**found.with_, **found.without})
    assert found.with_[".claude/skills/tidy/scripts/run.sh"][0] == 0o100755
    # promoted: the same content, the same digest; also while the draft is still there
    shutil.copytree(repo.path / ".claude/skills-staging/tidy", repo.path / ".claude/skills/tidy")
    live_now = cohorts(repo, "tidy")
    assert live_now.treatment.plan.kind == "skill"
    assert live_now.treatment.plan.digest == found.treatment.plan.digest
    assert not any("staging" in path for path in {**live_now.with_, **live_now.without})
    assert set(live_now.with_) - set(live_now.without) == live
    shutil.rmtree(repo.path / ".claude/skills-staging")
    assert cohorts(repo, "tidy").treatment.plan.digest == found.treatment.plan.digest


def test_a_draft_replaces_the_live_skill_of_its_name(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    repo.write(".claude/skills/tidy/old.md", "x")
    put_skill(repo, ".claude/skills-staging/tidy")
    repo.commit()
    with pytest.raises(UsageFault) as fault:
        look(repo, "tidy")
    assert ".claude/skills/tidy" in fault.value.message
    assert ".claude/skills-staging/tidy" in fault.value.message
    assert fault.value.remedy == "say which: skill:tidy or draft:tidy"
    draft = cohorts(repo, "draft:tidy")
    assert draft.treatment.plan.name == "tidy"
    assert ".claude/skills/tidy/old.md" not in {**draft.with_, **draft.without}
    assert ".claude/skills/tidy/SKILL.md" in draft.with_
    assert not any("skills/tidy" in path for path in draft.without)


def test_one_skill_in_the_folders_of_two_agents_is_one_component(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    put_skill(repo, ".agents/skills/tidy")
    repo.commit()
    found = cohorts(repo, "tidy")
    assert not any("skills" in path for path in found.without)
    assert len(found.with_) == 5
    repo.write(".agents/skills/tidy/SKILL.md", SKILL.format("tidy") + "2. more\n")
    with pytest.raises(UsageFault, match=r"\.claude/skills/tidy.*\.agents/skills/tidy"):
        look(repo, "tidy")


@pytest.mark.parametrize("committed", [True, False])
def test_a_skill_that_is_a_link_to_another_agents_goes_with_what_it_leads_to(repo: Repo, committed: bool) -> None:
    put_skill(repo, ".agents/skills/tidy")
    (repo.path / ".claude/skills").mkdir(parents=True)
    (repo.path / ".claude/skills/tidy").symlink_to("../../.agents/skills/tidy")
    if committed:
        repo.commit()
    found = cohorts(repo, "tidy")
    assert not any("skills" in path for path in found.without)
    assert found.with_[".claude/skills/tidy"] == (0o120000, b"../../.agents/skills/tidy")
    assert ".agents/skills/tidy/SKILL.md" in found.with_
    put_skill(repo, ".claude/skills-staging/tidy")
    assert cohorts(repo, "tidy").treatment.plan.digest == found.treatment.plan.digest


def test_a_rule_file_that_links_to_another_goes_with_it(repo: Repo) -> None:
    repo.write("AGENTS.md", "be terse\n")
    (repo.path / "CLAUDE.md").symlink_to("AGENTS.md")
    repo.commit()
    found = cohorts(repo, "CLAUDE.md")
    assert sorted(found.without) == ["a.txt"]
    assert sorted(found.with_) == ["AGENTS.md", "CLAUDE.md", "a.txt"]
    assert "CLAUDE.md" in cohorts(repo, "AGENTS.md").without  # a link that leads nowhere: there is nothing to read


def test_links_in_a_component_are_links(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    (repo.path / ".claude/skills/tidy/data").symlink_to("../../../a.txt")
    assert cohorts(repo, "tidy").with_[".claude/skills/tidy/data"] == (0o120000, b"../../../a.txt")


@pytest.mark.parametrize("place", [".claude", ".claude/skills", ".claude/skills/tidy", ".claude/skills/tidy/data"])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_component_that_leads_out_of_the_checkout_is_refused(
    repo: Repo, tmp_path: Path, place: str, absolute: bool
) -> None:
    put_skill(repo, ".claude/skills/tidy")
    repo.write(".claude/skills/tidy/data/x", "x")
    path, outside = repo.path / place, tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside if absolute else os.path.relpath(outside, path.parent))
    with pytest.raises(UsageFault, match="leads out of the checkout"):
        look(repo, "tidy")
    assert [each.digest for each in list_components(inspect(repo.path))] == [None]


def test_a_linked_folder_of_components_inside_the_checkout(repo: Repo) -> None:
    put_skill(repo, "config/claude/skills/tidy")
    repo.write("config/claude/skills/other/SKILL.md", SKILL.format("other"))
    (repo.path / ".claude").symlink_to("config/claude")
    repo.commit()
    repo.write("config/claude/skills/tidy/new.md", "x")
    found = cohorts(repo, "tidy")
    assert "config/claude/skills/tidy/new.md" in found.with_
    assert not any("skills/tidy" in path for path in found.without)
    assert {".claude", "config/claude/skills/other/SKILL.md"} <= set(found.without)


def test_a_case_apart_is_another_component(repo: Repo) -> None:
    repo.write(".claude/skills/Tidy/SKILL.md", "x\n")
    repo.write(".claude/skills/tidy/SKILL.md", "y\n")
    repo.commit()
    found = cohorts(repo, "tidy")
    assert set(found.with_) - set(found.without) == {".claude/skills/tidy/SKILL.md"}
    assert look(repo, "TIDY") is None
    assert set(nearest(inspect(repo.path), "TIDY")) <= {"Tidy", "tidy"}


def test_two_kinds_of_one_name_are_refused_with_the_way_out(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    repo.write(".claude/agents/tidy.md", "x\n")
    with pytest.raises(UsageFault) as fault:
        look(repo, "tidy")
    assert (
        fault.value.message
        == "the name 'tidy' means the skill '.claude/skills/tidy' and the agent '.claude/agents/tidy.md'"
    )
    assert fault.value.remedy == "say which: skill:tidy or agent:tidy"
    for kind in ("skill", "agent"):
        plan = cohorts(repo, f"{kind}:tidy").treatment.plan
        assert (plan.name, plan.kind) == ("tidy", kind)
    assert {each.kind for each in look_up(repo.path, "tidy")} == {"skill", "agent"}


@pytest.mark.parametrize(
    "name", ["", " ", "nope", "..", ".", "/", "a\0b", "\udcff", "skill:", "skill:nope", "x" * 5000, "#", "a#b"]
)
def test_names_that_mean_nothing(repo: Repo, name: str) -> None:
    put_skill(repo, ".claude/skills/tidy")
    assert look(repo, name) is None
    assert isinstance(looked_for(name), tuple)
    assert nearest(inspect(repo.path), name) == ()


def test_nearest_names_and_the_places_that_were_looked_at(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy-imports")
    repo.write("packages/a/CLAUDE.md", "# Testing\n")
    repo.commit()
    checkout = inspect(repo.path)
    assert nearest(checkout, "tidy-import") == ("tidy-imports",)
    assert nearest(checkout, "./.claude/skills/tidy-imports/") == ("tidy-imports",)
    assert nearest(checkout, ".claude/skills/tidy-imports/SKILL.md") == ("tidy-imports",)
    assert nearest(checkout, "CLAUDE.md") == ("packages/a/CLAUDE.md",)
    assert nearest(checkout, "packages/a/CLAUDE.md#Tests") == ("packages/a/CLAUDE.md#Testing",)
    assert ".claude/skills/x/SKILL.md" in looked_for("x")
    assert ".claude/skills-staging/x/SKILL.md" in looked_for("x")
    assert looked_for("skill:x")[0] == ".claude/skills/x/SKILL.md"
    assert looked_for("CLAUDE.md") == ("CLAUDE.md",)


def test_started_in_a_folder_the_names_are_those_of_the_root(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    repo.write("sub/CLAUDE.md", "x\n")
    repo.commit()
    treatment = look(repo, "tidy", cwd=repo.path / "sub")
    assert treatment is not None
    assert ".claude/skills/tidy/SKILL.md" in treatment.without
    assert look(repo, "CLAUDE.md", cwd=repo.path / "sub") is None


def test_dot_claude_that_is_a_file(repo: Repo) -> None:
    repo.write(".claude", "x")
    assert look(repo, "tidy") is None


@pytest.mark.parametrize("way", ["file", "link"])
def test_a_base_with_something_else_in_the_way(repo: Repo, way: str) -> None:
    (repo.path / ".claude").mkdir()
    if way == "file":
        repo.write(".claude/skills", "x")
    else:
        (repo.path / ".claude/skills").symlink_to("/nowhere")
    repo.commit()
    (repo.path / ".claude/skills").unlink()
    put_skill(repo, ".claude/skills/tidy")
    with pytest.raises(UsageFault, match=r"'\.claude/skills' is something else"):
        look(repo, "tidy")


def test_sizes_and_unreadable_files_are_one_sentence(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    with (repo.path / ".claude/skills/tidy/big").open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(UsageFault, match=r"skills/tidy/big' cannot be read: it is larger than"):
        look(repo, "tidy")
    (repo.path / ".claude/skills/tidy/big").unlink()
    for number in range(5001):
        (repo.path / f".claude/skills/tidy/{number}").touch()
    with pytest.raises(UsageFault, match="more than 5000 files"):
        look(repo, "tidy")


def test_a_repository_in_a_skill_and_a_fifo_are_no_part_of_it(repo: Repo) -> None:
    put_skill(repo, ".claude/skills/tidy")
    repo.write(".claude/skills/tidy/.git/config", "x")
    os.mkfifo(repo.path / ".claude/skills/tidy/pipe")
    found = cohorts(repo, "tidy")
    assert {path for path in found.with_ if "tidy" in path} == {
        ".claude/skills/tidy/SKILL.md",
        ".claude/skills/tidy/scripts/run.sh",
    }


def test_line_ends_that_git_made_are_no_change(repo: Repo) -> None:
    repo.write(".gitattributes", "* text eol=crlf\n")
    repo.write(".claude/skills/tidy/SKILL.md", SKILL.format("tidy"))
    repo.commit()
    digest = cohorts(repo, "tidy").treatment.plan.digest
    repo.write(".claude/skills/tidy/SKILL.md", SKILL.format("tidy").replace("\n", "\r\n"))
    again = cohorts(repo, "tidy")
    assert (dict(again.treatment.with_), again.treatment.plan.digest) == ({}, digest)


def test_the_list_has_every_kind_once(repo: Repo) -> None:
    for make, _, _ in KINDS.values():
        make(repo)
    put_skill(repo, ".claude/skills-staging/new")
    repo.write(".claude/hooks/check.sh", "x")
    repo.write(".mcp.json", '{"mcpServers": {"db": {"command": "x"}}}')
    repo.write(".claude/kcut/components/m.toml", "[env]\nA = '1'\n")
    repo.commit()
    listed = list_components(inspect(repo.path))
    assert [(each.kind, each.name) for each in listed] == [
        ("skill", "a *[b]\n\u00e9"),
        ("skill", "tidy"),
        ("skill", "x"),
        ("agent", "rev"),
        ("command", "a:b"),
        ("rule", "CLAUDE.local.md"),
        ("rule", "py/style"),
        ("rule", "sub/AGENTS.md"),
        ("hook", "check"),
        ("mcp", "db"),
        ("draft", "new"),
        ("manifest", "m"),
    ]
    for each in listed:
        found = look(repo, f"{each.kind}:{each.name}")
        assert found is not None
        assert (found.plan.digest, found.plan.path) == (each.digest, each.path)

"""Where drafts and live skills are found."""

import os
from pathlib import Path

import pytest

from kcut.drafts import LIMIT, clashes, find, read, root_of
from kcut.model.errors import NotReady, UsageFault
from tests.conftest import Repo

STAGING = ".claude/skills-staging"


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: d\n---\n1. a\n2. b\n"


def stage(repo: Repo, *names: str) -> None:
    for name in names:
        repo.write(f"{STAGING}/{name}/SKILL.md", skill(name))


def found(repo: Repo, ref: str | None = None, cwd: Path | None = None) -> str:
    return str(find(repo.path, ref, cwd or repo.path).path.relative_to(repo.path))


def test_without_a_draft_the_last_by_name_is_taken(repo: Repo) -> None:
    stage(repo, "b", "a", "B", "10", "9", "é")
    assert found(repo) == f"{STAGING}/é/SKILL.md"
    (repo.path / STAGING / "é/SKILL.md").unlink()
    assert found(repo) == f"{STAGING}/b/SKILL.md"


def test_only_skill_files_in_visible_folders_count(repo: Repo) -> None:
    stage(repo, "a", ".trash")
    repo.write(f"{STAGING}/b/skill.md", skill("b"))
    repo.write(f"{STAGING}/c/d/SKILL.md", skill("d"))
    repo.write(f"{STAGING}/SKILL.md", skill("e"))
    (repo.path / STAGING / "f/SKILL.md").mkdir(parents=True)
    (repo.path / STAGING / "g").mkdir()
    os.mkfifo(repo.path / STAGING / "g/SKILL.md")
    assert found(repo) == f"{STAGING}/a/SKILL.md"


def test_a_draft_whose_real_location_is_elsewhere_is_skipped(repo: Repo, tmp_path: Path) -> None:
    stage(repo, "a")
    repo.write("skills/live/SKILL.md", skill("live"))
    (tmp_path / "SKILL.md").write_text(skill("out"))
    staging = repo.path / STAGING
    (staging / "x").symlink_to(tmp_path)
    (staging / "y").mkdir()
    (staging / "y/SKILL.md").symlink_to(repo.path / "skills/live/SKILL.md")
    (staging / "z").symlink_to("../../skills/live")
    (staging / "zz").symlink_to("nowhere")
    (staging / "zzz").mkdir()
    (staging / "zzz/SKILL.md").symlink_to("SKILL.md")
    result = find(repo.path, None, repo.path)
    assert result.path == staging / "a/SKILL.md"
    assert result.skipped == tuple(f"{STAGING}/{name}/SKILL.md" for name in "xyz")
    with pytest.raises(UsageFault, match="leads out of"):
        find(repo.path, "x", repo.path)
    assert find(repo.path, f"{STAGING}/x", repo.path).path == staging / "x/SKILL.md"


def test_a_link_that_stays_in_the_staging_folder_counts(repo: Repo) -> None:
    stage(repo, "a")
    (repo.path / STAGING / "b").symlink_to("a")
    assert found(repo) == f"{STAGING}/b/SKILL.md"


def test_a_staging_folder_outside_of_the_checkout_holds_no_draft(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "staging/a").mkdir(parents=True)
    (tmp_path / "staging/a/SKILL.md").write_text(skill("a"))
    (repo.path / ".claude").mkdir()
    (repo.path / STAGING).symlink_to(tmp_path / "staging")
    with pytest.raises(NotReady, match="leads out of it"):
        find(repo.path, None, repo.path)


@pytest.mark.parametrize("make", ["nothing", "empty", "a file"])
def test_no_draft_at_all_is_said(repo: Repo, make: str) -> None:
    if make == "empty":
        (repo.path / STAGING).mkdir(parents=True)
    elif make == "a file":
        repo.write(STAGING, "x")
    with pytest.raises(NotReady, match="there is no draft"):
        find(repo.path, None, repo.path)


def test_a_draft_is_a_file_a_folder_or_a_staged_name(repo: Repo) -> None:
    stage(repo, "tidy", "sub")
    repo.write("drafts/one.md", skill("one"))
    repo.write("drafts/two/SKILL.md", skill("two"))
    repo.write("sub/readme.txt", "a folder that is no draft does not hide the staged one")
    assert found(repo, "tidy") == f"{STAGING}/tidy/SKILL.md"
    assert found(repo, "sub") == f"{STAGING}/sub/SKILL.md"
    assert found(repo, "drafts/one.md") == "drafts/one.md"
    assert found(repo, "drafts/two") == found(repo, "drafts/two/") == found(repo, "drafts/two/SKILL.md")
    assert found(repo, "one.md", repo.path / "drafts") == "drafts/one.md"
    assert found(repo, ".", repo.path / "drafts/two") == "drafts/two/SKILL.md"
    assert found(repo, "..", repo.path / "drafts/two/x") == "drafts/two/SKILL.md"
    assert found(repo, "tidy", repo.path / "drafts") == f"{STAGING}/tidy/SKILL.md"
    assert found(repo, str(repo.path / "drafts/two")) == "drafts/two/SKILL.md"


def test_a_path_comes_before_a_staged_name(repo: Repo) -> None:
    stage(repo, "tidy")
    repo.write("tidy/SKILL.md", skill("other"))
    assert found(repo, "tidy") == "tidy/SKILL.md"


@pytest.mark.parametrize(
    "ref", ["", "nope", "../skills-staging/tidy", "tidy/SKILL", "x" * 5000, "\udcff", "a\nb", ".."]
)
def test_what_is_no_draft_is_a_usage_error_in_one_line(repo: Repo, ref: str) -> None:
    stage(repo, "tidy")
    with pytest.raises(UsageFault) as caught:
        find(repo.path, ref, repo.path)
    assert caught.value.message.isprintable()


def test_the_nearest_name_is_suggested(repo: Repo) -> None:
    stage(repo, "tidy-imports", "other")
    with pytest.raises(UsageFault) as caught:
        find(repo.path, "tidy-import", repo.path)
    assert caught.value.remedy == "did you mean: 'tidy-imports'"


def test_the_name_is_the_frontmatters_else_the_folders(repo: Repo) -> None:
    assert read(repo.write("drafts/one/SKILL.md", skill("demo"))).name == "demo"
    assert read(repo.write("drafts/two/SKILL.md", "no frontmatter")).name == "two"
    assert read(repo.write("drafts/three/SKILL.md", "---\nname: ''\n---\n")).name == "three"


def test_what_cannot_be_read_as_a_draft_is_a_usage_error(repo: Repo) -> None:
    os.mkfifo(repo.path / "fifo")
    with (repo.path / "huge").open("wb") as file:
        file.truncate(2 << 30)
    repo.write("large", "x" * (LIMIT + 1))
    (repo.path / "loop").symlink_to("loop")
    for name in ("fifo", "huge", "large", "loop", "nothing", "a.txt/SKILL.md"):
        with pytest.raises(UsageFault, match="cannot be read"):
            read(repo.path / name)
    assert read(repo.write("just", "x" * LIMIT)).steps == 0


# --- live skills -------------------------------------------------------------------------------------------------


def test_a_live_skill_clashes_by_its_frontmatter_or_its_folder(repo: Repo) -> None:
    draft = repo.write(f"{STAGING}/tidy/SKILL.md", skill("tidy imports"))
    repo.write("skills/whatever/SKILL.md", skill("Tidy_Imports!"))
    repo.write(".claude/skills/tidy-imports/SKILL.md", "broken")
    repo.write(".claude/skills/other/SKILL.md", skill("other"))
    repo.write("skills/tidy-imports.bak/README.md", "no skill")
    repo.write("skills/deep/tidy-imports/SKILL.md", skill("tidy-imports"))
    assert clashes(repo.path, draft, "tidy imports") == (
        "skills/whatever/SKILL.md",
        ".claude/skills/tidy-imports/SKILL.md",
    )
    assert clashes(repo.path, draft, "tidy import") == ()


def test_a_draft_does_not_clash_with_itself(repo: Repo) -> None:
    live = repo.write("skills/tidy/SKILL.md", skill("tidy"))
    (repo.path / ".claude/skills").mkdir(parents=True)
    (repo.path / ".claude/skills/tidy").symlink_to("../../skills/tidy")
    assert clashes(repo.path, live, "tidy") == ()
    (repo.path / STAGING).mkdir(parents=True)
    (repo.path / STAGING / "tidy").symlink_to("../../skills/tidy")
    assert clashes(repo.path, repo.path / STAGING / "tidy/SKILL.md", "tidy") == ()
    copy = repo.write(f"{STAGING}/copy/SKILL.md", skill("tidy"))
    assert clashes(repo.path, copy, "tidy") == ("skills/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md")


def test_live_skills_that_cannot_be_read_have_their_folders_name(repo: Repo) -> None:
    for name in ("fifo", "folder", "gone", "bytes"):
        (repo.path / "skills" / name).mkdir(parents=True)
    os.mkfifo(repo.path / "skills/fifo/SKILL.md")
    (repo.path / "skills/folder/SKILL.md").mkdir()
    (repo.path / "skills/gone/SKILL.md").symlink_to("/nowhere")
    (repo.path / "skills/bytes/SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    for name in ("fifo", "folder", "gone", "bytes"):
        assert clashes(repo.path, repo.path / "draft.md", name.upper()) == (f"skills/{name}/SKILL.md",)


# --- the root ----------------------------------------------------------------------------------------------------


def test_the_root_is_the_checkouts_else_the_folder_itself(repo: Repo, tmp_path: Path) -> None:
    (repo.path / "a/b").mkdir(parents=True)
    assert root_of(repo.path / "a/b") == repo.path
    (tmp_path / "plain").mkdir()
    assert root_of(tmp_path / "plain") == tmp_path / "plain"
    assert root_of(repo.path / ".git") == repo.path / ".git"
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert root_of(tmp_path / "linked") == tmp_path / "linked"


def test_another_users_repository_is_refused_with_gits_remedy(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(NotReady, match="another user") as caught:
        root_of(repo.path)
    assert "safe.directory" in (caught.value.remedy or "")

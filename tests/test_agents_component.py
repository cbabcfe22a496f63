"""What agents know a component by, and what their silence about one proves."""

from pathlib import Path

import pytest

from kcut.agents.component import known_as


@pytest.mark.parametrize("name", ["rev", "team/rev", "team:rev", "reviewer"])
def test_a_component_is_known_by_all_its_names(tmp_path: Path, name: str) -> None:
    folder = tmp_path / ".claude" / "agents" / "team"
    folder.mkdir(parents=True)
    (folder / "rev.md").write_text("---\nname: reviewer\n---\nx\n")
    assert {"rev", "team/rev", "team:rev", "reviewer"} <= set(known_as("agent", name, tmp_path).names)


@pytest.mark.parametrize(
    ("line", "unlisted"),
    [
        ("user-invocable: false", True),
        ("disable-model-invocation: true", True),
        ("user-invocable: true", False),
        ("", False),
    ],
)
def test_a_skill_that_need_not_be_listed(tmp_path: Path, line: str, unlisted: bool) -> None:
    folder = tmp_path / ".claude" / "skills" / "tidy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: tidy\n{line}\n---\nuser-invocable: false\n")
    assert known_as("skill", "tidy", tmp_path).unlisted is unlisted

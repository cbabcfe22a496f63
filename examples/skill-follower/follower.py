"""Stands in for a coding agent that writes release notes: it reads a skill's steps, and now and then forgets one.

Without the skill it does each thing from habit only. HARNESS_SEED decides what it forgets, so runs can be repeated.
"""

import os
import random
import re
from pathlib import Path

#: The first word of a step -> what the follower then does. A step that it does not know, it skips.
ABILITIES = ("leave", "group", "sort", "end")
FOLLOWS, HABIT = 0.95, 0.5
GROUPS = ("added", "changed", "fixed")


def steps(skill: Path) -> set[str]:
    """The abilities that the numbered steps of the skill ask for."""
    words = re.findall(r"^\d+[.)]\s+(\w+)", skill.read_text(encoding="utf-8"), re.MULTILINE)
    return {word.lower() for word in words} & set(ABILITIES)


def main() -> None:
    """Write NOTES.md."""
    asked = steps(Path("SKILL.md")) if os.environ["HARNESS_COMPONENT_ENABLED"] == "1" else set()
    seed = os.environ["HARNESS_SEED"]
    luck = {ability: random.Random(f"{seed}:{ability}").random() for ability in ABILITIES}  # noqa: S311
    done = {ability for ability in ABILITIES if luck[ability] < (FOLLOWS if ability in asked else HABIT)}
    rows = [line.split("\t") for line in Path("changes.tsv").read_text(encoding="utf-8").splitlines()]
    if "leave" in done:
        rows = [row for row in rows if row[0] != "internal"]
    parts = [("", rows)]
    if "group" in done:
        kinds = [*GROUPS, *sorted({row[0] for row in rows} - set(GROUPS))]
        parts = [(f"## {kind.title()}\n", [row for row in rows if row[0] == kind]) for kind in kinds]
    text = "# Release notes\n\n"
    for heading, members in parts:
        lines = [f"- {what} (#{issue})\n" if "end" in done else f"- {what}\n" for _, issue, what in members]
        text += heading + "".join(sorted(lines) if "sort" in done else lines)
    Path("NOTES.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

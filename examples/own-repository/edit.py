"""The task: edit a checkpoint spec of this repository as HARNESS_SEED says, and merge the edit if its lint lets it.

The lint runs only if the component is enabled. An edit that it refuses is dropped, as its author would have to.
"""

import os
import re
import subprocess
from pathlib import Path

SPEC = Path("../skill-follower/spec.md")
#: A criterion of the spec: its head, and its check between the fences.
CRITERION = re.compile(r"(- \[ \] \*\*AC-\d+ \(.*\):\*\* .*\n)  ```eval\n((?:  .*\n)+?)  ```\n")
NEW = """- [ ] **AC-9 (a title):** the file begins with one.
  ```eval
  head -n 1 NOTES.md | grep -q '^# Release'
  ```
"""
#: What is done to one criterion: harmless edits first, then weak checks of the kinds that reviews let through.
EDITS = (
    "reword the prose",
    "add a criterion",
    "|| true",
    "| cat",
    "say ok",
    "comment it out",
    "leave the fence open",
    "copy another check",
    "only look whether the file exists",
    "compare a constant",
    "delete the criterion",
)
HARMLESS = 2


def chosen(seed: int) -> str:
    """The edit of a trial, the same in both trials of a pair."""
    return EDITS[seed % len(EDITS)]


def edited(text: str, edit: str, which: int) -> str:
    """The spec after the edit of criterion number `which`."""
    criteria = list(CRITERION.finditer(text))
    place = which % len(criteria)
    criterion, other = criteria[place], criteria[place + 1 if place + 1 < len(criteria) else place - 1]
    head, check = criterion.groups()
    fenced = "{}  ```eval\n{}  ```\n"
    new = {
        "reword the prose": fenced.format(head.replace(":** ", ":** (see the skill) "), check),
        "add a criterion": criterion[0] + NEW,
        "|| true": fenced.format(head, check.rstrip("\n") + " || true\n"),
        "| cat": fenced.format(head, check.rstrip("\n") + " | cat\n"),
        "say ok": fenced.format(head, "  echo ok\n"),
        "comment it out": fenced.format(head, re.sub("^  ", "  # ", check, flags=re.MULTILINE)),
        "leave the fence open": f"{head}  ````eval\n{check}",
        "copy another check": fenced.format(head, other[2]),
        "only look whether the file exists": fenced.format(head, "  test -e NOTES.md\n"),
        "compare a constant": fenced.format(head, "  test 5 -eq 5\n"),
        "delete the criterion": "",
    }[edit]
    return text[: criterion.start()] + new + text[criterion.end() :]


def main() -> None:
    """Edit, lint, merge or drop; `attempt.txt` says how it ended."""
    seed = int(os.environ["HARNESS_SEED"])
    before = SPEC.read_text(encoding="utf-8")
    SPEC.write_text(edited(before, chosen(seed), seed // len(EDITS)), encoding="utf-8")
    merged = True
    if os.environ["HARNESS_COMPONENT_ENABLED"] == "1":
        merged = subprocess.run(["kcut", "checkpoint", "--lint", str(SPEC)], check=False).returncode == 0
    if not merged:
        SPEC.write_text(before, encoding="utf-8")
    Path("attempt.txt").write_text("merged\n" if merged else "refused\n", encoding="utf-8")


if __name__ == "__main__":
    main()

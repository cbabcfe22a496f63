"""The score, which knows nothing of kcut: does the spec still tell good work from bad?

0 if each criterion says what it must of two pieces of bad work, and a harmless edit was merged.
"""

import os
import subprocess
import sys
from pathlib import Path

from edit import CRITERION, EDITS, HARMLESS, SPEC, chosen

#: Release notes, and the criteria that they break; they keep the others.
WORKS = (
    (
        "## Fixed\n- a long name no longer breaks the table\n- an empty file no longer stops the import (#9)\n",
        {"AC-1", "AC-3", "AC-5"},
    ),
    (
        "## Added\n- every command prints JSON on request (#12)\n- a dry run prints the plan (#11)\n"
        "- the parser has a module of its own (#15)\n## Changed\n- colours follow NO_COLOR (#7)\n"
        "## Fixed\n- a long name no longer breaks the table (#14)\n- an empty file no longer stops the import (#9)\n",
        {"AC-2", "AC-4"},
    ),
)
IDS = set().union(*(broken for _, broken in WORKS))


def sees(notes: str, broken: set[str]) -> bool:
    """True if the spec's checks say of these notes what they must, for all five criteria."""
    folder = Path("work")
    folder.mkdir(exist_ok=True)
    (folder / "NOTES.md").write_text(notes, encoding="utf-8")
    failed = {}
    for head, check in CRITERION.findall(SPEC.read_text(encoding="utf-8")):
        name = head.split("**")[1].split()[0]
        failed[name] = subprocess.run(["/bin/sh", "-c", check], cwd=folder, check=False).returncode != 0
    return all(failed.get(name) == (name in broken) for name in IDS)


def main() -> int:
    """The exit code."""
    attempt = Path("attempt.txt")
    if not attempt.exists():
        return 1
    harmless = chosen(int(os.environ["HARNESS_SEED"])) in EDITS[:HARMLESS]
    if harmless and attempt.read_text(encoding="utf-8") != "merged\n":
        return 1
    return 0 if all(sees(notes, broken) for notes, broken in WORKS) else 1


if __name__ == "__main__":
    sys.exit(main())

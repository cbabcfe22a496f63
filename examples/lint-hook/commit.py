"""The task: make the change that HARNESS_SEED chooses and commit it, with the hook if it is enabled.

A change that the hook refuses is dropped, as a developer would who has to mend it first.
"""

import os
import subprocess
import sys
from pathlib import Path

from changes import chosen


def main(hooks: str) -> None:
    """Commit with the hooks of that folder or with none; `attempt.txt` says how it ended."""
    _, _, before, after = chosen(int(os.environ["HARNESS_SEED"]))
    program = Path("prices.py")
    program.write_text(program.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")
    folder = str(Path(hooks).resolve()) if os.environ["HARNESS_COMPONENT_ENABLED"] == "1" else os.devnull
    settings = (f"core.hooksPath={folder}", "user.name=Dev", "user.email=dev@example.org", "commit.gpgSign=false")
    options = [word for setting in settings for word in ("-c", setting)]
    committed = subprocess.run(["git", *options, "commit", "-q", "-m", "change", "prices.py"], check=False)
    if committed.returncode:
        subprocess.run(["git", "checkout", "-q", "HEAD", "--", "prices.py"], check=True)
    Path("attempt.txt").write_text("refused\n" if committed.returncode else "committed\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

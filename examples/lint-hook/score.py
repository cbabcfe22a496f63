"""The score, which knows nothing of the hook: 0 if what was committed works, and a harmless change is in it."""

import os
import subprocess
import sys
from pathlib import Path

from changes import chosen

TRIALS = """
import prices
assert prices.parse("12.50") == 1250 and prices.total([1000, 500], 10) == 1350
assert prices.receipt(["tea"]) == ["tea", "--"] and prices.receipt(["jam"]) == ["jam", "--"]
try:
    prices.parse("tea")
except ValueError:
    raise SystemExit(0)
raise SystemExit(1)
"""


def main() -> int:
    """The exit code."""
    if not Path("attempt.txt").exists():
        return 1
    _, harmless, _, after = chosen(int(os.environ["HARNESS_SEED"]))
    show = ["git", "show", "HEAD:./prices.py"]
    committed = subprocess.run(show, check=True, stdout=subprocess.PIPE, text=True).stdout
    Path("prices.py").write_text(committed, encoding="utf-8")
    works = (
        subprocess.run([sys.executable, "-B", "-c", TRIALS], stdin=subprocess.DEVNULL, check=False).returncode == 0
    )
    return 0 if works and (after in committed or not harmless) else 1


if __name__ == "__main__":
    sys.exit(main())

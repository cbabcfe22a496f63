"""The script that a warden process runs: `python -I warden.py DESCRIPTOR adopt|group NAME VALUE`."""

import os.path
import sys


def run() -> None:
    """Start the warden; kcut is found where this file is, whatever the interpreter's own path says."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120
    from kcut.system.proc_warden import main

    main(int(sys.argv[1]), adopts=sys.argv[2] == "adopt", owner=(sys.argv[3], sys.argv[4]))


if __name__ == "__main__":
    run()

"""Scripts that get out of hand, and how tests find what is left of them."""

import os
import subprocess
import sys
import time
from pathlib import Path

HOSTILE = Path(__file__).parent
LINUX = sys.platform == "linux"


def new_tag() -> str:
    """A number of seconds that no other process sleeps."""
    return f"7{int.from_bytes(os.urandom(4), 'big'):010d}"


def tagged(tag: str) -> list[str]:
    """The command lines of all processes that carry a tag there or in their environment; zombies have neither."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if (tag.encode() in line or tag.encode() in environment) and int(folder.name) != os.getpid():
            words = line.replace(b"\0", b" ").decode(errors="replace")
            found.append(f"{folder.name} {words}")
    return found


def gone(tag: str, seconds: float = 60) -> list[str]:
    """What still carries the tag when nothing does any more, or so long later."""
    deadline = time.monotonic() + seconds
    while (found := tagged(tag)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def start(script: str, *args: str, tag: str) -> "subprocess.Popen[str]":
    """A process that runs commands under supervision; every process of it carries the tag in its environment."""
    return subprocess.Popen(
        [sys.executable, HOSTILE / script, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TEST_TAG": tag},
        text=True,
    )


def finish(script: str, *args: str, tag: str) -> str:
    """What such a process prints until it ends by itself; it has to exit 0 and to leave nothing."""
    with start(script, *args, tag=tag) as process:
        said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert not tagged(tag)
    return said

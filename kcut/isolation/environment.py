"""What of kcut's own environment a trial's commands get, and what in it points into the user's checkout."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kcut.isolation.checkout import STATE, Checkout
from kcut.system.git import scrub

#: Markers by which an agent's CLI would take a trial for a part of the session that kcut was started from.
_SESSION = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_SESSION_ID",
        "GEMINI_CLI",
        "CURSOR_AGENT",
    }
)
_PREFIXES = ("KCUT_", "CODEX_SANDBOX")


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy without what binds git to a repository, kcut's own options, and markers of an agent's session."""
    return {
        name: value
        for name, value in scrub(environ).items()
        if name not in _SESSION and not name.startswith(_PREFIXES)
    }


def venv_inside(checkout: Checkout, environ: Mapping[str, str]) -> str | None:
    """What would make both cohorts run the checkout's code: the path of an activated virtual environment, an entry
    of PYTHONPATH, or an editable install that leads into the checkout. None if nothing does."""
    roots = (checkout.root,)
    venv = environ.get("VIRTUAL_ENV")
    candidates = [venv] if venv else []
    candidates += [
        entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry and Path(entry).is_absolute()
    ]
    for candidate in candidates:
        if any(_is_inside(candidate, root) for root in roots):
            return candidate
    if venv:
        for entry in _editable(Path(venv)):
            if any(_is_inside(entry, root) for root in roots):
                return entry
    return None


def _is_inside(path: str, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _editable(venv: Path) -> list[str]:
    """The folders that path files and finders of editable installs add to a virtual environment."""
    found: list[str] = []
    for file in sorted(venv.glob("lib*/python*/site-packages/*.pth")) + sorted(
        venv.glob("lib*/python*/site-packages/__editable__*.py")
    ):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")[:100_000]
        except OSError:
            continue
        if file.suffix == ".pth":
            found += [line for line in text.splitlines() if line.startswith("/")]
        else:
            found += re.findall(r"['\"](/[^'\"]+)['\"]", text)
    return found


def ignored_files(checkout: Checkout) -> tuple[str, ...]:
    """Files and folders in the checkout that git ignores, kcut's own left out: trials do not have them."""
    listed = checkout.git().must("ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard").fields()
    return tuple(path for path in listed if not path.startswith(STATE) and not _is_only_state(checkout.root, path))


def _is_only_state(root: Path, path: str) -> bool:
    """True for a folder in which there is nothing but kcut's own."""
    above, _, own = STATE.rpartition("/")
    try:
        return path == f"{above}/" and [entry.name for entry in (root / above).iterdir()] == [own]
    except OSError:
        return False

"""What of kcut's own environment a trial's commands get, and what in it points into the user's checkout."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from kcut.isolation.checkout import Checkout
from kcut.isolation.state import is_state
from kcut.system.files import read_regular
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
    """What would make both cohorts run the checkout's code: an entry of PYTHONPATH, or what an activated virtual
    environment has of the checkout, as an editable install or as a copy. None if nothing does.

    It does not matter where the environment lies: one in the checkout that holds other packages only is no threat.
    """
    for entry in environ.get("PYTHONPATH", "").split(os.pathsep):
        if Path(entry).is_absolute() and _is_inside(entry, checkout.root):
            return entry
    venv = environ.get("VIRTUAL_ENV")
    for source in _sources(Path(venv)) if venv else ():
        if _is_inside(source, checkout.root) and not _is_inside(source, Path(os.path.realpath(venv or ""))):
            return source
    return None


def _is_inside(path: str, root: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _sources(venv: Path) -> Iterator[str]:
    """The folders that a virtual environment's packages lie in or came from, as far as it says so."""
    for packages in sorted(venv.glob("lib*/python*/site-packages")):
        for file in sorted(packages.glob("*.pth")):
            lines = (line.strip() for line in _text(file).splitlines())
            paths = (line for line in lines if line and not line.startswith(("#", "import ", "import\t")))
            yield from (os.path.normpath(packages / path) for path in paths)
        for file in sorted(packages.glob("__editable__*.py")):
            yield from re.findall(r"['\"](/[^'\"]+)['\"]", _text(file))
        for file in sorted(packages.glob("*.dist-info/direct_url.json")):
            url = re.search(r'"url"\s*:\s*"file://([^"]+)"', _text(file))
            if url is not None:
                yield unquote(url[1])


def _text(file: Path) -> str:
    try:
        return read_regular(file, limit=1 << 22).decode("utf-8", "replace")[:100_000]
    except OSError:
        return ""


def ignored_files(checkout: Checkout) -> tuple[str, ...]:
    """Files and folders in the checkout that git ignores, kcut's own left out: trials do not have them."""
    listed = checkout.git().must("ls-files", "-z", "-o", "-i", "--directory", "--exclude-standard").fields()
    others = (path for path in listed if not is_state(path.rstrip("/"), checkout.state))
    return tuple(path for path in others if not _is_only_state(checkout, path))


def _is_only_state(checkout: Checkout, path: str) -> bool:
    """True for a folder in which there is nothing but kcut's own."""
    for above, _, own in (name.rpartition("/") for name in checkout.state):
        with contextlib.suppress(OSError):
            if path == f"{above}/" and [entry.name for entry in (checkout.root / above).iterdir()] == [own]:
                return True
    return False

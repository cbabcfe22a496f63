"""Where an agent runs: folders of its own, the environment it sees, its program and its credentials."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kcut.agents.adapter import Adapter, Launch, Place
from kcut.agents.brief import VARIABLE as BRIEF
from kcut.agents.brief import Brief
from kcut.isolation.environment import clean_environment
from kcut.model.errors import NotReady
from kcut.system.files import read_regular, remove_tree

SIDECAR = "HARNESS_TRIAL_OUT"
#: Folders of the user's that would bring settings and components of theirs along.
_USERS = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OLDPWD"),
)
_COHORT = "HARNESS_COMPONENT"
_LARGEST = 1 << 20


@contextlib.contextmanager
def open_place(environ: Mapping[str, str], *, goes_on: bool) -> Iterator[tuple[Place, Path]]:
    """The agent's folders, and the folder that they lie in.

    In a trial they lie beside the sidecar and stay for the next round; `goes_on`: this is one, so they are as they
    were left. Else they are removed when this ends. NotReady if they cannot be made.
    """
    sidecar = environ.get(SIDECAR)
    try:
        root = Path(sidecar).parent if sidecar else Path(tempfile.mkdtemp(prefix="kcut-agent-"))
        place = Place(root / "agent-home", root / "agent-config", root / "agent-tmp")
        for folder in (place.home, place.config, place.temporary):
            if not goes_on:
                remove_tree(folder)
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise NotReady(f"the agent's folders cannot be made: {error.strerror or error}") from error
    try:
        yield place, root
    finally:
        if not sidecar:
            remove_tree(root)


def environment(
    environ: Mapping[str, str], brief: Brief | None, place: Place, launch: Launch, cwd: Path
) -> dict[str, str]:
    """What the agent sees: the caller's variables, but nothing that tells of the trial, the cohort or a home."""
    env = clean_environment(environ)
    hidden = (SIDECAR, BRIEF, *_USERS)
    cohort = brief is not None and brief.name is not None
    env = {
        name: value for name, value in env.items() if name not in hidden and not (cohort and name.startswith(_COHORT))
    }
    identity = environ.get("GIT_CONFIG_GLOBAL") or _git_config(environ)
    if identity:
        env["GIT_CONFIG_GLOBAL"] = identity
    # some CLIs work where PWD says, not where they are
    return env | {"HOME": str(place.home), "TMPDIR": str(place.temporary), "PWD": str(cwd)} | dict(launch.env)


def _git_config(environ: Mapping[str, str]) -> str | None:
    """The user's own configuration of git, which an empty HOME would hide."""
    home = environ.get("HOME")
    if not home:
        return None
    folder = environ.get("XDG_CONFIG_HOME") or str(Path(home, ".config"))
    candidates = (Path(home, ".gitconfig"), Path(folder, "git", "config"))
    return next((str(path) for path in candidates if path.is_file()), None)


def find_program(adapter: Adapter, executable: str | None, environ: Mapping[str, str]) -> str:
    """The absolute path of the CLI. NotReady with how to get it if it is not there."""
    name = executable or adapter.program
    found = shutil.which(name, path=environ.get("PATH"))
    if found is not None:
        return os.path.abspath(found)  # noqa: PTH100  # links in it are the program's own business
    if executable is not None or not adapter.install:
        raise NotReady(f"{name} is not there, or cannot be run", remedy="name a program: on the PATH, or by its path")
    raise NotReady(
        f"the {adapter.name} CLI is not installed: there is no {name} on the PATH",
        remedy=f"{adapter.install}\nor name it: --executable PATH",
    )


@contextlib.contextmanager
def logged_in(adapter: Adapter, environ: Mapping[str, str], place: Place) -> Iterator[None]:
    """While entered, copies of the user's credentials lie where the CLI looks for them; none is left afterwards."""
    home = Path(environ.get("HOME") or "/")
    copies = adapter.credentials(environ, home, place)
    try:
        for copy, original in copies.items():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                write_private(copy, read_regular(original, limit=_LARGEST))
        yield
    except OSError as error:
        raise NotReady(f"the agent's credentials cannot be copied: {error.strerror or error}") from error
    finally:
        for copy in copies:
            with contextlib.suppress(OSError):
                copy.unlink()


def write_private(path: Path, data: bytes) -> None:
    """Write a file of the agent's that only its user reads; what is there is replaced. OSError if it cannot be."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)

"""Where an agent runs: folders of its own, the environment it sees, its program and its credentials."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kcut.agents.adapter import Adapter, Launch, Place
from kcut.agents.brief import VARIABLE as BRIEF
from kcut.agents.brief import Brief
from kcut.isolation.environment import clean_environment
from kcut.model.errors import NotReady, UsageFault
from kcut.system.files import read_regular, remove_tree
from kcut.system.folder import Folder
from kcut.system.lease import Lease, dead_lease

SIDECAR = "HARNESS_TRIAL_OUT"
#: How the temporary folders of runs outside of trials are called, and the file in them that says whose they are.
PREFIX, LEASE = "kcut-agent-", "lease"
#: Folders of the user's that would bring settings and components of theirs along.
_USERS = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"),
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "OLDPWD"),
)
_COHORT = "HARNESS_COMPONENT"
#: What kcut itself gives the agent, or keeps from it.
_OWN = frozenset({"HOME", "TMPDIR", "PWD", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GIT_CONFIG_GLOBAL"})
_OWN_PREFIXES = ("HARNESS_", "KCUT_", "_KCUT_")
_LARGEST = 1 << 20


@contextlib.contextmanager
def open_place(environ: Mapping[str, str], *, goes_on: bool) -> Iterator[tuple[Place, Folder]]:
    """The agent's folders, and the folder that they lie in.

    In a trial they lie beside the sidecar and stay for the next round; `goes_on`: this is one, so they are as they
    were left. Else they are removed when this ends. NotReady if they cannot be made.
    """
    sidecar = environ.get(SIDECAR)
    with contextlib.ExitStack() as stack:
        try:
            path = Path(sidecar).parent if sidecar else _made(stack)
            root = stack.enter_context(Folder(path))
            place = Place(path / "agent-home", path / "agent-config", path / "agent-tmp")
            for folder in (place.home, place.config, place.temporary):
                if not goes_on:
                    remove_tree(folder)
                root.inner(folder).close()
        except OSError as error:
            raise NotReady(f"the agent's folders cannot be made: {error.strerror or error}") from error
        yield place, root


def _made(stack: contextlib.ExitStack) -> Path:
    """A temporary folder that is removed at the end, or by a later run if this process is killed before."""
    remove_abandoned()
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    stack.callback(remove_tree, path)
    stack.callback(Lease(path / LEASE, {}).release)
    return path


def abandoned() -> tuple[Path, ...]:
    """The temporary folders of this user's `kcut agent` processes that are dead, as their leases say."""
    found = sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
    return tuple(path for path in found if _is_own(path) and dead_lease(path / LEASE) is not None)


def remove_abandoned() -> list[str]:
    """Remove them; returns the paths that are still there, with the reason."""
    return [line for path in abandoned() for line in remove_tree(path)]


def _is_own(path: Path) -> bool:
    """True for a folder of this user's that is no link."""
    try:
        info = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()


def environment(
    environ: Mapping[str, str], brief: Brief | None, place: Place, launch: Launch, cwd: Path
) -> dict[str, str]:
    """What the agent sees: the caller's variables, but nothing that tells of the trial, the cohort or a home.

    Those of the component pass as they are. UsageFault if one of them is kcut's own to set.
    """
    passed = brief.variables if brief is not None else ()
    for name in passed:
        if name in _OWN or name.startswith(_OWN_PREFIXES) or str(place.home.parent) in launch.env.get(name, ""):
            raise UsageFault(
                f"the component sets {name}, which kcut needs itself to keep agents apart",
                remedy="leave it out of the component's variables",
            )
    env = clean_environment(environ)
    hidden = (SIDECAR, BRIEF, *_USERS)
    cohort = brief is not None and brief.name is not None
    env = {
        name: value for name, value in env.items() if name not in hidden and not (cohort and name.startswith(_COHORT))
    }
    identity = environ.get("GIT_CONFIG_GLOBAL") or _git_config(environ)
    if identity:
        env["GIT_CONFIG_GLOBAL"] = identity
    given = dict(launch.env) | {name: environ[name] for name in passed if name in environ}
    # some CLIs work where PWD says, not where they are
    return env | {"HOME": str(place.home), "TMPDIR": str(place.temporary), "PWD": str(cwd)} | given


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
def logged_in(adapter: Adapter, environ: Mapping[str, str], place: Place, root: Folder) -> Iterator[None]:
    """While entered, copies of the user's credentials lie where the CLI looks for them; none is left afterwards.

    They are removed from the very folders that they were written to, whatever the agent put in their place.
    """
    home = Path(environ.get("HOME") or "/")
    with contextlib.ExitStack() as stack:
        try:
            for copy, original in adapter.credentials(environ, home, place).items():
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    data = read_regular(original, limit=_LARGEST)
                    folder = stack.enter_context(root.inner(copy.parent))
                    stack.callback(_dropped, folder, copy.name)
                    folder.write(copy.name, data)
        except OSError as error:
            raise NotReady(f"the agent's credentials cannot be copied: {error.strerror or error}") from error
        yield


def _dropped(folder: Folder, name: str) -> None:
    with contextlib.suppress(OSError):
        folder.remove(name)


def write_within(root: Folder, path: Path, data: bytes) -> None:
    """Write a file of the agent's, below `root`, that only its user reads. OSError if it cannot be."""
    with root.inner(path.parent) as folder:
        folder.write(path.name, data)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its user reads into a folder that is there; what is there is replaced.

    OSError if it cannot be, or if a link has taken the folder's place.
    """
    with Folder(path.parent) as folder:
        folder.write(path.name, data)

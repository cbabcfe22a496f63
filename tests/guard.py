"""A watch over a user's repository: byte for byte the same after whatever kcut and its trials did."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcut.system.git import scrub

State = dict[str, str]


def repository_state(root: Path, *, working_files: bool = True) -> State:
    """Everything that a repository consists of, by name: the git directories' files (refs, logs, config, stash,
    hooks, index, info, the names of all objects, worktrees' folders), what git says of it, and the working files.

    kcut's own folder `.claude/eval` and the times of files are left out. Nothing is written, no lock is taken.
    """
    state: State = {}
    for name in ("--git-dir", "--git-common-dir"):
        git_dir = Path(_git(root, "rev-parse", "--path-format=absolute", name).rstrip("\n"))
        _read(git_dir, f"{name}:", state, contents=lambda path: not path.startswith("objects/"))
    for args in (
        ("worktree", "list", "--porcelain"),
        ("for-each-ref",),
        ("stash", "list"),
        ("config", "--list", "--local"),
    ):
        state[f"git {' '.join(args)}"] = _git(root, *args)
    if working_files:
        _read(root, "file:", state, skip=(".git",))
    return state


def _git(root: Path, *args: str) -> str:
    env = scrub(os.environ) | {"GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(["git", *args], cwd=root, env=env, capture_output=True, check=False)
    return os.fsdecode(done.stdout + done.stderr)


def _read(
    folder: Path,
    prefix: str,
    state: State,
    *,
    contents: Callable[[str], bool] = bool,
    skip: tuple[str, ...] = (),
) -> None:
    for where, folders, files in os.walk(folder):
        inner = "" if where == str(folder) else Path(where).relative_to(folder).as_posix() + "/"
        own = {"eval"} if Path(where).name == ".claude" else set()
        folders[:] = sorted(name for name in folders if inner + name not in skip and name not in own)
        for name in [*folders, *files]:
            path = Path(where) / name
            if inner + name in skip or name == ".claude":  # made for kcut's own folder; what else is in it is read
                continue
            info = path.lstat()
            key = prefix + inner + name
            if stat.S_ISLNK(info.st_mode):
                state[key] = f"link {path.readlink()}"
            elif stat.S_ISREG(info.st_mode):
                digest = hashlib.sha256(path.read_bytes()).hexdigest() if contents(inner + name) else ""
                state[key] = f"file {stat.S_IMODE(info.st_mode):o} {info.st_size} {digest}"
            else:
                state[key] = f"other {info.st_mode:o}"


def changes(before: State, after: State) -> list[str]:
    """What differs, as lines for a person."""
    names = sorted({*before, *after})
    return [
        f"{name}: {before.get(name)} -> {after.get(name)}" for name in names if before.get(name) != after.get(name)
    ]


class Watch:
    """Watches repositories; `check` may be called at any moment, also while a run goes on."""

    def __init__(self) -> None:
        self._states: dict[Path, State] = {}

    def __call__(self, root: Path) -> None:
        """From now on this repository must not change."""
        self._states[root] = repository_state(root)

    def check(self, *, working_files: bool = True) -> None:
        """Fail if a watched repository is not as it was."""
        for root, before in self._states.items():
            after = repository_state(root, working_files=working_files)
            old = {name: what for name, what in before.items() if working_files or not name.startswith("file:")}
            assert changes(old, after) == []


@pytest.fixture
def guard() -> Iterator[Watch]:
    """`guard(repo.path)`: after the test, and whenever `guard.check()` is called, nothing in it has changed."""
    watch = Watch()
    yield watch
    watch.check()

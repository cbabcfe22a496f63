"""The door to git: a scrubbed environment, no prompts, no optional locks, no hooks, bytes in and out."""

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcut.model.errors import NotReady
from kcut.system.proc_table import owner
from kcut.system.signals import check, ending, held
from kcut.system.spawn import Child

#: Variables that point git at a repository or change what it does there, beyond `git rev-parse --local-env-vars`.
_EXTRA = frozenset(
    {
        "GIT_QUARANTINE_PATH",
        "GIT_NAMESPACE",
        "GIT_TEMPLATE_DIR",
        "GIT_DEFAULT_HASH",
        "GIT_EXTERNAL_DIFF",
        "GIT_REFLOG_ACTION",
    }
)
#: What `git rev-parse --local-env-vars` prints, for when git cannot be asked.
_LOCAL = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR",
    }
)
_NUMBERED = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
#: Settings of every call: no hook and no monitor of the user's runs, and an index is one whole file.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "index.sparse=false",
    "core.ignoreStat=false",  # it would hide every edit of a trial
    "core.trustctime=true",
    "core.checkStat=default",
)
#: They change what the paths mean that kcut gives to git; a trial's commands keep them.
_PATHSPECS = frozenset({"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"})
#: A partial clone must not fetch into the user's objects because kcut reads. The second name is git 2.44's; git
#: before that is kept from it by a transport that it is not allowed to use.
_NO_FETCH = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
_lock = threading.RLock()  # a signal handler may take it while its thread holds it
_running: set[Child] = set()


@contextlib.contextmanager
def _attended(start: Callable[[], Child]) -> Iterator[Child]:
    """git, started by `start` and nothing else; what of it still runs in the end is ended.

    Raises Interrupted if what runs is to end.
    """
    check()
    child: Child | None = None
    try:
        with held():  # it is known from its first moment, so that no signal leaves it behind
            child = start()
            with _lock:
                _running.add(child)
        if ending():  # told after the look and before it was known
            child.kill()
        yield child
    finally:
        if child is not None:
            child.kill()
            child.close()
            with _lock:
                _running.discard(child)


@functools.cache
def local_variables() -> frozenset[str]:
    """The names that bind git to one repository: the installed git's own list and those it leaves out."""
    # some of the names keep git from answering at all
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        with _attended(lambda: Child(["git", "rev-parse", "--local-env-vars"], env, feed=False, errors=False)) as git:
            said, _ = git.communicate()
    except OSError:
        return _LOCAL | _EXTRA
    return frozenset(said.decode("ascii", "replace").split() or _LOCAL) | _EXTRA


@functools.cache
def _mark(pid: int) -> tuple[str, str]:
    return owner(pid)


def scrub(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of `environ` without the variables that would bind git to another repository."""
    names = local_variables()
    return {name: value for name, value in environ.items() if name not in names and not name.startswith(_NUMBERED)}


@dataclass(frozen=True, slots=True)
class GitResult:
    """What a git command did. `text` is stdout without the last newline, undecodable bytes kept by surrogates.

    `code` is None if git ran into kcut's time limit and was ended.
    """

    args: tuple[str, ...]
    code: int | None
    stdout: bytes
    stderr: bytes

    @property
    def ok(self) -> bool:
        """True if git exited 0."""
        return self.code == 0

    @property
    def text(self) -> str:
        """Standard output as text, the last newline removed."""
        return os.fsdecode(self.stdout).removesuffix("\n")

    @property
    def error(self) -> str:
        """What git said on stderr, as text."""
        return self.stderr.decode("utf-8", "replace").strip()

    @property
    def complaint(self) -> str:
        """The line of git's words that says what went wrong."""
        if self.code is None:
            return "it took too long"
        lines = self.error.splitlines()
        for start in ("fatal:", "error:", ""):
            for line in lines:
                if line.startswith(start):
                    return line
        return f"exit {self.code}"

    def fields(self) -> list[str]:
        """Standard output split at NUL bytes, as `-z` prints it."""
        return [os.fsdecode(field) for field in self.stdout.split(b"\0") if field]


class GitFailed(NotReady):
    """A git command that had to succeed did not; the message is git's own."""

    def __init__(self, result: GitResult) -> None:
        name = result.args[0] if result.args else ""
        super().__init__(f"git {name} failed: {result.complaint}", remedy=result.error or None)
        self.result = result


@dataclass(frozen=True)
class Git:
    """git in one folder. `git_dir` and `work_tree` bind it to a repository explicitly; else git looks itself.

    `index` and `objects` put the index and what is written into files of the caller's. `fetches`: a partial clone
    may ask its remote for what it lacks. `translated`: git, and the filters it runs, keep the user's locale.
    """

    cwd: Path
    git_dir: Path | None = None
    work_tree: Path | None = None
    extra_env: Mapping[str, str] | None = None
    config: tuple[str, ...] = ()
    index: Path | None = None
    objects: Path | None = None
    fetches: bool = False
    translated: bool = False

    def environment(self) -> dict[str, str]:
        """The environment git runs in."""
        env = {name: value for name, value in scrub(os.environ).items() if name not in _PATHSPECS}
        env |= dict([_mark(os.getpid())])  # by which what git started is ended if kcut is killed
        env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
        if not self.translated:
            env["LC_ALL"] = "C"
        if not self.fetches:
            env |= _NO_FETCH
        places = {
            "GIT_DIR": self.git_dir,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_INDEX_FILE": self.index,
            "GIT_OBJECT_DIRECTORY": self.objects,
        }
        env |= {name: str(path) for name, path in places.items() if path is not None}
        return env | dict(self.extra_env or {})

    def run(self, *args: str, stdin: bytes | None = None, timeout: float | None = None) -> GitResult:
        """Run `git args...`; a nonzero exit is in the result, not an exception. Hooks and fsmonitor are off.

        After `timeout` seconds git and what it started are ended. Raises NotReady if git cannot be started at all,
        Interrupted if what runs is to end: the work of a git that was ended for that is not to be taken for done.
        """
        env = self.environment()
        with _attended(lambda: self._start(args, env, feed=stdin is not None, errors=True)) as child:
            try:
                stdout, stderr = child.communicate(stdin, timeout)
            except TimeoutError:
                return GitResult(args, None, b"", b"")
        if child.code != 0:
            check()
        return GitResult(args, child.code, stdout, stderr)

    def head(self, *args: str, limit: int) -> tuple[bytes, bool]:
        """The first `limit` bytes that `git args...` prints, and whether there was more (git is ended then).

        Raises as `run`.
        """
        env = self.environment()
        with _attended(lambda: self._start(args, env, feed=False, errors=False)) as child:
            data = child.head(limit + 1)
            if len(data) <= limit:
                child.close()
        if len(data) <= limit and child.code != 0:
            check()
        return data[:limit], len(data) > limit

    def _start(self, args: tuple[str, ...], env: Mapping[str, str], *, feed: bool, errors: bool) -> Child:
        settings = (*_SETTINGS, *self.config)
        where = ("-C", os.fspath(self.cwd))
        argv = ["git", *where, *(part for setting in settings for part in ("-c", setting)), *args]
        try:
            os.stat(f"{self.cwd}/.")  # noqa: PTH116  # a Path would drop the dot, which asks for the right to enter
            return Child(argv, env, feed=feed, errors=errors)
        except OSError as error:
            # what is wrong is the folder, or git
            if not os.path.isdir(self.cwd):  # noqa: PTH112  # a Path would raise where the parent is closed to us
                raise NotReady(f"the folder {self.cwd} is gone") from error
            if isinstance(error, FileNotFoundError):
                raise NotReady("git is not installed", remedy="install git 2.31 or newer") from error
            raise NotReady(f"git cannot be started in {self.cwd}: {error.strerror}") from error

    def ask(self, *args: str, stdin: bytes | None = None) -> str:
        """The text a git command prints; raises GitFailed if it fails."""
        return self.must(*args, stdin=stdin).text

    def must(self, *args: str, stdin: bytes | None = None, timeout: float | None = None) -> GitResult:
        """The result of a git command that has to succeed; raises GitFailed if it does not."""
        result = self.run(*args, stdin=stdin, timeout=timeout)
        if not result.ok:
            raise GitFailed(result)
        return result


def end_running() -> None:
    """End every git process that kcut is waiting for, such as a checkout whose filter hangs."""
    with _lock:
        for child in tuple(_running):
            child.kill()


def version() -> str:
    """The installed git's version, such as `2.39.5`."""
    text = Git(Path("/")).ask("version")
    return text.split()[2] if len(text.split()) > 2 else text


def toplevel(cwd: Path) -> Path:
    """The root of the checkout that `cwd` is in. Raises NotReady outside of one, in a bare one, a foreign one."""
    result = Git(cwd).run("rev-parse", "--show-toplevel")
    if result.ok and result.text:
        return Path(result.text)
    raise not_a_checkout(result)


def not_a_checkout(result: GitResult) -> NotReady:
    """The error for a folder where git found no checkout, by what git said."""
    said = result.error
    if "dubious ownership" in said or "unsafe repository" in said:
        remedy = "\n".join(line.strip() for line in said.splitlines()[1:] if line.strip())
        return NotReady("this repository belongs to another user, and git will not use it", remedy=remedy)
    if "must be run in a work tree" in said:
        return NotReady(
            "this is a bare repository or a git directory, which has no checkout to measure",
            remedy="run kcut in a checkout of it (git clone, or git worktree add)",
        )
    if "not a git repository" in said:
        return NotReady(
            "not inside a git repository",
            remedy="run kcut from the repository whose component you want to measure, or try: kcut demo",
        )
    return NotReady("git cannot use this repository", remedy=said or f"git exited {result.code}")


def join(paths: Iterable[str]) -> bytes:
    """Paths as NUL-terminated bytes, for git's `--stdin -z` and `--pathspec-from-file=-`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)

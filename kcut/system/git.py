"""The door to git: a scrubbed environment, no prompts, no optional locks, no hooks, bytes in and out."""

import functools
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcut.model.errors import NotReady

#: Variables that point git at a repository or change what it does there, beyond `git rev-parse --local-env-vars`.
_EXTRA = (
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_TEMPLATE_DIR",
    "GIT_DEFAULT_HASH",
    "GIT_EXTERNAL_DIFF",
    "GIT_REFLOG_ACTION",
)
#: What `git rev-parse --local-env-vars` printed for git 2.39 to 2.51; asked of the installed git as well.
_LOCAL = (
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
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
)
_NUMBERED = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")


@functools.cache
def local_variables() -> frozenset[str]:
    """The names that bind git to one repository: the installed git's own list and those it leaves out."""
    names = set(_LOCAL) | set(_EXTRA)
    asked = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    names.update(asked.stdout.decode("ascii", "replace").split())
    return frozenset(names)


def scrub(environ: Mapping[str, str]) -> dict[str, str]:
    """A copy of `environ` without the variables that would bind git to another repository."""
    names = local_variables()
    return {name: value for name, value in environ.items() if name not in names and not name.startswith(_NUMBERED)}


@dataclass(frozen=True, slots=True)
class GitResult:
    """What a git command did. `text` is stdout without the last newline, undecodable bytes kept by surrogates."""

    args: tuple[str, ...]
    code: int
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

    def fields(self) -> list[str]:
        """Standard output split at NUL bytes, as `-z` prints it."""
        return [os.fsdecode(field) for field in self.stdout.split(b"\0") if field]


class GitFailed(NotReady):
    """A git command that had to succeed did not; the message is git's own."""

    def __init__(self, result: GitResult) -> None:
        first = result.error.splitlines()[0] if result.error else f"exit {result.code}"
        super().__init__(f"git {result.args[0] if result.args else ''} failed: {first}", remedy=result.error)
        self.result = result


@dataclass(frozen=True)
class Git:
    """git in one folder. `git_dir` and `work_tree` bind it to a repository explicitly; else git looks itself."""

    cwd: Path
    git_dir: Path | None = None
    work_tree: Path | None = None
    extra_env: Mapping[str, str] | None = None
    config: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """The environment git runs in."""
        env = scrub(os.environ)
        env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_PAGER": "cat"}
        if self.git_dir is not None:
            env["GIT_DIR"] = str(self.git_dir)
        if self.work_tree is not None:
            env["GIT_WORK_TREE"] = str(self.work_tree)
        if self.extra_env:
            env |= self.extra_env
        return env

    def run(self, *args: str, stdin: bytes | None = None) -> GitResult:
        """Run `git args...`; a nonzero exit is in the result, not an exception. Hooks and fsmonitor are off.

        Raises NotReady if git cannot be started at all.
        """
        settings = ("core.hooksPath=/dev/null", "core.fsmonitor=false", *self.config)
        argv = ["git", *(part for setting in settings for part in ("-c", setting)), *args]
        try:
            done = subprocess.run(
                argv,
                cwd=self.cwd,
                env=self.environment(),
                input=stdin if stdin is not None else b"",
                capture_output=True,
                check=False,
                start_new_session=True,  # a ^C at the terminal is kcut's to handle, not git's
            )
        except FileNotFoundError as error:
            if self.cwd.is_dir():
                raise NotReady("git is not installed", remedy="install git 2.31 or newer") from error
            raise NotReady(f"the folder {self.cwd} is gone") from error
        return GitResult(args, done.returncode, done.stdout, done.stderr)

    def ask(self, *args: str, stdin: bytes | None = None) -> str:
        """The text a git command prints; raises GitFailed if it fails."""
        return self.must(*args, stdin=stdin).text

    def must(self, *args: str, stdin: bytes | None = None) -> GitResult:
        """The result of a git command that has to succeed; raises GitFailed if it does not."""
        result = self.run(*args, stdin=stdin)
        if not result.ok:
            raise GitFailed(result)
        return result


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
    if "dubious ownership" in said:
        remedy = "\n".join(line.strip() for line in said.splitlines()[1:] if line.strip())
        return NotReady("this repository belongs to another user, and git will not use it", remedy=remedy)
    if "must be run in a work tree" in said:
        return NotReady(
            "this is a bare repository, which has no checkout to measure",
            remedy="clone it, and run kcut in the clone",
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

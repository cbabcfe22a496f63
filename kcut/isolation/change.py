"""The tree that a cohort starts from: the base's, with a component applied or withheld."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kcut.globs import covers
from kcut.isolation.reads import Entries
from kcut.model.component import LINK, Edits, File, Treatment
from kcut.model.errors import NotReady
from kcut.model.outcome import Cohort
from kcut.system.files import read_regular
from kcut.system.git import Git

#: Bytes of a file that a component's command may make.
MOST = 64 << 20


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to a tree: files by path, then a patch that is put on (`applied`) or taken off, then a command."""

    edits: Edits = field(default_factory=dict)
    patch: bytes | None = None
    applied: bool = False
    command: str | None = None


def changes(treatment: Treatment) -> dict[Cohort, Change]:
    """The change of each cohort that there is."""
    found = {
        Cohort.WITH: Change(treatment.with_, treatment.patch, applied=True, command=treatment.command),
        Cohort.WITHOUT: Change(treatment.without, treatment.patch, command=treatment.withhold),
    }
    if treatment.placebo is not None:
        found[Cohort.PLACEBO] = Change(treatment.placebo)
    return found


def read(tree: Path, path: str) -> File | None:
    """The file or link at a path of a worktree; None if there is none. Raises NotReady if it is of another kind."""
    place = tree / path
    try:
        info = place.lstat()
        if stat.S_ISLNK(info.st_mode):
            return File(LINK, os.fsencode(os.readlink(place)))  # noqa: PTH115  # a Path would tidy the name
        return File(0o100755 if info.st_mode & stat.S_IXUSR else 0o100644, read_regular(place, limit=MOST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise NotReady(f"{path}, which the component's command made, cannot be read: {error.strerror}") from error


def changed_tree(git: Git, tree: str, change: Change) -> str:
    """Write `tree` with the change; returns its id. `git` has an index of its own, which is overwritten.

    Bytes go through git's filters as they would into a commit. Raises NotReady if the patch does not fit.
    """
    git.must("read-tree", tree)
    lines = [_entry(git, tree, path, change) for path in sorted(change.edits)]
    if lines:
        git.must("update-index", "-z", "--add", "--replace", "--index-info", stdin=b"".join(lines))
    if change.patch is not None:
        _patch(git, change.patch, applied=change.applied)
    return git.ask("write-tree", "--missing-ok")


def _entry(git: Git, tree: str, path: str, change: Change) -> bytes:
    """A line of `update-index --index-info`."""
    file, name = change.edits[path], path.encode("utf-8", "surrogateescape")
    if file is None:
        return b"0 %s\t%s\0" % (b"0" * len(tree), name)
    filters = ("--no-filters",) if file.mode == LINK else (f"--path={path}",)
    blob = git.must("hash-object", "-w", "--stdin", *filters, stdin=file.data).text
    return b"%o %s\t%s\0" % (file.mode, blob.encode(), name)


def _patch(git: Git, patch: bytes, *, applied: bool) -> None:
    """Put a patch on the index, or take it off, unless that is done already."""
    on = ("apply", "--cached", "--whitespace=nowarn")
    wanted, done_already = (on, (*on, "-R", "--check")) if applied else ((*on, "-R"), (*on, "--check"))
    done = git.run(*wanted, "-", stdin=patch)
    if done.ok:
        return
    if not git.run(*done_already, "-", stdin=patch).ok:
        raise NotReady(
            f"the component's patch fits the base neither way: {done.complaint}",
            remedy="make it anew against the base, with: git diff",
        )


def check_difference(treatment: Treatment, one: Entries, other: Entries) -> None:
    """Two cohorts' trees, as entries by path, must differ, and in the component's paths only.

    Raises NotReady with the paths that may not differ, or if nothing is different at all.
    """
    paths = differing(one, other)
    component = treatment.plan
    foreign = [path for path in paths if not covers(component.paths, path)]
    if foreign:
        more = f" and {len(foreign) - 10} more" if len(foreign) > 10 else ""
        raise NotReady(
            f"the cohorts' trees would differ in more than {component.name}: {', '.join(foreign[:10])}{more}",
            remedy="make the component's change touch its own files only",
        )
    if not paths and not treatment.env:
        raise NotReady(
            f"{component.name} changes nothing: both cohorts would be the same",
            remedy=f"see that {component.path} holds something",
        )


def differing(one: Entries, other: Entries) -> tuple[str, ...]:
    """The paths at which two trees' entries differ, sorted."""
    return tuple(sorted(path for path in _either(one, other) if one.get(path) != other.get(path)))


def _either(one: Iterable[str], other: Iterable[str]) -> set[str]:
    return set(one) | set(other)

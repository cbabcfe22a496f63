"""kcut's own folder in a checkout: in no trial's tree and never a change, by every name that git knows it by."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from kcut.model.errors import NotReady
from kcut.system.git import Git

#: kcut's own folder, at the root of a checkout; it, or a folder above it, may be a link to another place in there.
STATE = ".claude/eval"
_PARENT = ".claude"
#: Steps on the way that a tree's links lead: they may lead in circles.
_MOST_STEPS = 1000


def state_names(root: Path) -> tuple[str, ...]:
    """The names of kcut's own folder, relative to the root of a checkout: `STATE`, and where it really lies.

    git lists what lies behind a link by the second name alone. A link that leads out of the checkout adds none:
    nothing is kept there.
    """
    base, real = Path(os.path.realpath(root)), Path(os.path.realpath(root / STATE))
    if not real.is_relative_to(base):
        return (STATE,)
    return tuple(dict.fromkeys([STATE, real.relative_to(base).as_posix()]))


def check_state(root: Path, git: Git, names: Iterable[str]) -> None:
    """Raise NotReady if a link makes a folder of the project's kcut's own: no trial would have its files.

    A folder that has kcut's name below a linked `.claude` is kcut's, as it is where nothing is linked.
    """
    if not ((root / STATE).is_symlink() or os.path.realpath(root / _PARENT) == os.path.realpath(root)):
        return
    for name in names:
        known = (f"{name}/.gitignore", f"{name}/benchmarks/")
        tracked = git.must("--literal-pathspecs", "ls-files", "-z", "--", name).fields()
        others = [path for path in tracked if path != name and not path.startswith(known)]
        if others:
            raise NotReady(
                f"{STATE} leads to {name}, which holds files of the project such as {others[0]}: "
                "kcut leaves its own folder out of every trial",
                remedy=f"make {STATE} a folder, or a link to a folder that holds nothing else, then run again",
            )


def names_in_tree(git: Git, commit: str) -> tuple[str, ...]:
    """The names of kcut's own folder in a commit, whose `.claude` may be a link to elsewhere than the checkout's."""
    parent, _, own = STATE.rpartition("/")
    rest = [parent]
    place: list[str] = []
    for _ in range(_MOST_STEPS):
        if not rest:
            break
        part = rest.pop(0)
        if part == ".." and place:
            place.pop()
        elif part not in {"", ".", ".."}:
            target = _link(git, commit, "/".join([*place, part]))
            if target is None:
                place.append(part)
            elif target.startswith("/"):
                return (STATE,)
            else:
                rest = [*target.split("/"), *rest]
    return tuple(dict.fromkeys([STATE, "/".join([*place, own])])) if place else (STATE,)


def _link(git: Git, commit: str, path: str) -> str | None:
    """Where a link in a commit leads; None if there is none at the path."""
    listed = git.must("ls-tree", "-z", commit, "--", path).fields()
    facts = listed[0].partition("\t")[0].split(" ") if listed else []
    return os.fsdecode(git.must("cat-file", "blob", facts[2]).stdout) if facts[:1] == ["120000"] else None


def without(names: Iterable[str]) -> tuple[str, ...]:
    """Pathspecs that leave kcut's own folder out."""
    return tuple(f":(top,exclude,literal){name}" for name in names)


def without_adding(names: Iterable[str]) -> tuple[str, ...]:
    """Pathspecs that leave it out for `git add`, which takes a plain name for a wish to add it: it complains if the
    user's patterns ignore it."""
    patterns = ["\\" + name[0] + re.sub(r"([\\*?\[])", r"\\\1", name[1:]) for name in names]
    return tuple(f":(top,exclude,glob){pattern}{end}" for pattern in patterns for end in ("", "/**"))


def before_links(root: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that no link lies above: git refuses to add by the others, and lists nothing by them."""
    real = Path(os.path.realpath(root))
    return tuple(name for name in names if Path(os.path.realpath((real / name).parent)) == (real / name).parent)


def is_state(path: str, names: Iterable[str]) -> bool:
    """True for kcut's own folder, by one of its names, and for what lies below it."""
    return any(path == name or path.startswith(f"{name}/") for name in names)

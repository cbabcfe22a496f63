"""What trials must not see before they are scored: an oracle, copied into a worktree when its task has ended."""

import errno
import hashlib
import os
import stat
from pathlib import Path

from kcut.isolation.checkout import Checkout
from kcut.isolation.reads import Reader
from kcut.isolation.restore import make_folder
from kcut.model.errors import NotReady, UsageFault
from kcut.model.plan import OraclePlan
from kcut.system.files import copy_tree, remove_tree

#: An oracle is read at the start and before each score.
LARGEST = 1 << 30


def plan_oracle(checkout: Checkout, given: str, cwd: Path) -> OraclePlan:
    """Where an oracle lies, where in the tree it goes, and what it holds now.

    One that lies in the checkout goes where it lies, another one beside the task under its own name. Raises
    UsageFault for one that is missing, holds nothing, is a link, or holds the whole checkout.
    """
    source = Path(os.path.normpath(cwd / given))
    if source.is_symlink() or not (source.is_dir() or source.is_file()):
        raise UsageFault(f"oracle {given}: there is no such folder or file", remedy="check its spelling")
    resolved = source.resolve()
    if checkout.root.is_relative_to(resolved):
        raise UsageFault(f"oracle {given} holds the checkout itself", remedy="name the folder of the oracle alone")
    inside = resolved.is_relative_to(checkout.root)
    beside = f"{checkout.subdir}/{resolved.name}".strip("/")
    place = resolved.relative_to(checkout.root).as_posix() if inside else beside
    if place.split("/")[0] == ".git":
        raise UsageFault(f"oracle {given} is git's own", remedy="put the oracle into a folder of its own")
    return OraclePlan(source=str(resolved), place=place, inside=inside, digest=digest(resolved))


def seen_at_base(checkout: Checkout, places: tuple[str, ...]) -> bool:
    """True if a commit that trials reach has tracked something of these oracles, or uncommitted changes bring it.

    So it is, too, if git cannot tell.
    """
    entries = Reader(checkout.git(), checkout.git_dir).entries(checkout.base)
    if any(_below(path, places) for path in (*entries, *checkout.dirty)):
        return True
    paths = [f":(top,literal){place}" for place in places]
    found = checkout.git().run("rev-list", "--max-count=1", checkout.base, "--", *paths)
    return not found.ok or bool(found.text)


def _below(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def digest(source: Path) -> str:
    """A hash of names, kinds, modes and bytes. Raises UsageFault if it cannot be read or is too large to be one."""
    total, size = hashlib.sha256(), 0
    try:
        for path in _all(source):
            info = path.lstat()
            name = os.fsencode(path.relative_to(source))
            total.update(b"%d:%s:%o:" % (len(name), name, info.st_mode & 0o170111))
            if stat.S_ISLNK(info.st_mode):
                total.update(os.fsencode(path.readlink()) + b"\0")
            elif stat.S_ISREG(info.st_mode):
                size += info.st_size
                if size > LARGEST:
                    raise UsageFault(f"oracle {source} is larger than 1 GiB", remedy="keep what the score needs only")
                total.update(b"%d:" % info.st_size)
                with path.open("rb") as file:
                    while data := file.read(1 << 20):
                        total.update(data)
    except OSError as error:
        raise UsageFault(f"oracle {source} cannot be read: {error.strerror}", remedy="make it readable") from error
    return total.hexdigest()


def _all(source: Path) -> list[Path]:
    """The source and everything below it, sorted; links are not followed."""
    found = [source]
    if source.is_dir() and not source.is_symlink():
        for folder, folders, files in os.walk(source):
            found += [Path(folder) / name for name in (*folders, *files)]
    return sorted(found, key=os.fsencode)


def reveal(oracle: OraclePlan, tree: Path) -> None:
    """Put the oracle in its place in the tree; whatever a trial left there or above goes out of the way.

    Raises NotReady or UsageFault if the oracle is not what it was when the run began, OSError if it cannot be put
    there.
    """
    source = Path(oracle.source)
    if digest(source) != oracle.digest:
        raise NotReady("the oracle has changed since the run began", remedy="start a new run")
    place = tree
    *above, name = oracle.place.split("/")
    for part in above:
        place /= part
        make_folder(place)
    _clear(place / name)
    copy_tree(source, place / name)


def conceal(oracle: OraclePlan, tree: Path) -> None:
    """Remove what lies in the oracle's place in the tree. OSError if it cannot be removed."""
    _clear(tree / oracle.place)


def _clear(target: Path) -> None:
    left = remove_tree(target) if os.path.lexists(target) else []
    if left:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), left[0])

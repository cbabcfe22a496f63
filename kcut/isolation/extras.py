"""Files that git ignores but tasks need: copied or linked from the user's checkout into every worktree."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kcut.isolation.checkout import Checkout, CheckoutFailed
from kcut.isolation.state import is_state
from kcut.model.errors import UsageFault
from kcut.model.plan import CheckoutPlan
from kcut.system.files import copy_tree, read_regular

#: Patterns of ignored files to copy, at the root of the checkout.
INCLUDE = ".worktreeinclude"
_INCLUDE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Extras:
    """Paths relative to the root of the checkout, and of each worktree."""

    copies: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    def bring(self, root: Path, tree: Path) -> None:
        """Copy and link them from the checkout into a worktree. Raises CheckoutFailed naming what cannot be."""
        for path in (*self.copies, *self.links):
            try:
                target = _make_way(tree, path)
                if path in self.copies:
                    copy_tree(root / path, target)
                elif not os.path.lexists(target):
                    target.symlink_to(root / path)
            except OSError as error:
                raise CheckoutFailed(f"{path} could not be brought into the worktree: {error}") from error


def find_extras(checkout: Checkout, plan: CheckoutPlan) -> Extras:
    """What `--copy`, `--link` and `.worktreeinclude` name.

    Raises UsageFault for a path that is missing, tracked, git's or kcut's own, or outside of the checkout, and for a
    `.worktreeinclude` that cannot be read.
    """
    copies = [_inside(checkout, path, "--copy") for path in plan.copy_paths]
    links = [_inside(checkout, path, "--link") for path in plan.link_paths]
    for path in sorted(links):
        others = [*copies, *(link for link in links if link != path)]
        if path in copies:
            raise UsageFault(f"{path} is both to be copied and to be linked", remedy="leave out --copy or --link")
        clash = next((other for other in others if is_below(path, (other,)) or is_below(other, (path,))), None)
        if clash is not None:
            raise UsageFault(
                f"{path} is to be linked, and so {clash} cannot be brought too", remedy="name one of them"
            )
    for path in (*copies, *links):
        if any(is_below(path, (hidden,)) or is_below(hidden, (path,)) for hidden in plan.hidden):
            raise UsageFault(f"{path} is an oracle's, and no trial may have it", remedy="leave out --copy or --link")
    included = [path for path in _included(checkout) if not is_below(path, (*copies, *links, *plan.hidden))]
    return Extras(tuple(dict.fromkeys([*copies, *included])), tuple(dict.fromkeys(links)))


def _inside(checkout: Checkout, path: str, option: str) -> str:
    """The path relative to the root; as given it is relative to where kcut was started, else to the root."""
    starts = [checkout.root / checkout.subdir, checkout.root]
    wanted = next((start / path for start in starts if os.path.lexists(start / path)), starts[0] / path)
    place = Path(os.path.normpath(wanted))
    if not place.is_relative_to(checkout.root):
        # the checkout may have been named by another way to it
        place = Path(os.path.realpath(place.parent)) / place.name
    real = Path(os.path.realpath(place.parent)) / place.name
    if place == checkout.root or not (place.is_relative_to(checkout.root) and real.is_relative_to(checkout.root)):
        raise UsageFault(f"{option} {path} is not inside the checkout", remedy=f"the checkout is {checkout.root}")
    relative = place.relative_to(checkout.root).as_posix()
    parts = relative.split("/")
    if ".git" in parts or _is_own(checkout, relative) or _holds_own(checkout, relative):
        raise UsageFault(f"{option} {path} belongs to git or kcut", remedy="name a file that the task needs")
    if not os.path.lexists(place):
        raise UsageFault(f"{option} {path} does not exist", remedy="make it first, or leave the option out")
    literal = checkout.git()
    tracked = literal.must("--literal-pathspecs", "ls-files", "-z", "--", relative).fields()
    if tracked and (option == "--link" or not place.is_dir()):
        raise UsageFault(
            f"{option} {path} is tracked by git, or holds what is: every worktree has that as it is at the base",
            remedy="commit the change that trials should see, or use --dirty include",
        )
    return relative


def _included(checkout: Checkout) -> list[str]:
    """The ignored files that `.worktreeinclude` names."""
    try:
        data = read_regular(checkout.root / INCLUDE, limit=_INCLUDE_BYTES)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageFault(
            f"{INCLUDE} cannot be read: {error.strerror}", remedy="it is a text file of patterns; mend or remove it"
        ) from error
    _must_be_patterns(data)
    listing = ("ls-files", "-z", "-o", "-i")
    git = checkout.git()
    # git reads the file itself: what a line is, and what it matches, is as in its own exclude files
    named = set(git.must(*listing, f"--exclude-from={INCLUDE}").fields())
    ignored = git.must(*listing, "--exclude-standard").fields()
    paths = [path.removesuffix("/") for path in ignored if path in named]
    return [path for path in paths if not _is_own(checkout, path)]


def _must_be_patterns(data: bytes) -> None:
    """Raise UsageFault for a line that can match nothing, which git passes over without a word."""
    from pathspec import GitIgnoreSpec

    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    try:
        GitIgnoreSpec.from_lines(line.removesuffix("\r") for line in text.split("\n"))
    except ValueError as error:
        raise UsageFault(f"{INCLUDE}: {error}", remedy="it takes patterns as .gitignore has them") from error


def _is_own(checkout: Checkout, path: str) -> bool:
    """True for kcut's own folder, what lies in it, and a link that leads there."""
    end = os.path.relpath(os.path.realpath(checkout.root / path), checkout.root)
    return any(is_state(name, checkout.state) for name in (path, end))


def _holds_own(checkout: Checkout, path: str) -> bool:
    """True for a folder that kcut's own lies in."""
    return any(is_below(name, (path,)) for name in checkout.state)


def is_below(path: str, folders: Iterable[str]) -> bool:
    """True if the path is one of the folders, or lies in one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _make_way(tree: Path, path: str) -> Path:
    """The place in the worktree, its folders made; OSError if a link or a file of the base is in the way."""
    place = tree
    *parents, name = path.split("/")
    for part in parents:
        place /= part
        if place.is_symlink():
            raise FileExistsError(f"{place.relative_to(tree)} is a link in the base")
        place.mkdir(exist_ok=True)
    return place / name

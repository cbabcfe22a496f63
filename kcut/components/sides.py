"""The two places a component is read from: the user's checkout as it is now, and the tree that trials start from."""

import functools
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from kcut.isolation.reads import Entries, Reader
from kcut.model.component import EXECUTABLE, LINK, REGULAR, File
from kcut.model.errors import UsageFault
from kcut.system.files import read_regular

#: A file of a component, all files of one, and how many there may be.
LARGEST_FILE, LARGEST, MOST_FILES = 16 << 20, 64 << 20, 5_000
_MOST_STEPS = 200
_TREE = 0o040000


class Side(Protocol):
    """Files below one root. Paths are relative to it, with `/`, and never lead out."""

    @property
    def told(self) -> str:
        """What it is called in a message."""

    def kind(self, path: str) -> int | None:
        """The mode of what lies at the path, a link not followed; None if there is nothing."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none if there is no such folder. The last link is followed."""

    def inside(self, folder: str) -> list[str]:
        """As `names`, of a folder that is there. Raises UsageFault if it cannot be listed."""

    def read(self, path: str) -> File | None:
        """The file or link there, None if there is none. Raises UsageFault if it cannot be read."""

    def target(self, path: str) -> str:
        """Where the link at the path leads, as it says itself."""


class Here:
    """The checkout's files."""

    told = "the checkout"

    def __init__(self, root: Path) -> None:
        self._root = root

    def kind(self, path: str) -> int | None:
        """As `Side` says."""
        try:
            mode = (self._root / path).lstat().st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISLNK(mode):
            return LINK
        if stat.S_ISDIR(mode):
            return _TREE
        if not stat.S_ISREG(mode):
            return None
        return EXECUTABLE if mode & stat.S_IXUSR else REGULAR

    def names(self, folder: str) -> list[str]:
        """As `Side` says."""
        try:
            return self.inside(folder)
        except (UsageFault, ValueError):
            return []

    def inside(self, folder: str) -> list[str]:
        """As `Side` says."""
        try:
            return sorted(os.listdir(self._root / folder), key=os.fsencode)  # noqa: PTH208  # names, not paths
        except OSError as error:
            raise UsageFault(f"{folder!r} cannot be listed: {error.strerror or error}") from error

    def read(self, path: str) -> File | None:
        """As `Side` says."""
        mode = self.kind(path)
        if mode is None or mode == _TREE:
            return None
        try:
            if mode == LINK:
                return File(LINK, os.fsencode((self._root / path).readlink()))
            return File(mode, read_regular(self._root / path, limit=LARGEST_FILE))
        except OSError as error:
            raise UsageFault(f"{path!r} cannot be read: {error.strerror or error}") from error

    def target(self, path: str) -> str:
        """As `Side` says."""
        return os.fspath((self._root / path).readlink())


class Base:
    """The files of a tree, read when they are asked for."""

    told = "the base"

    def __init__(self, reader: Reader, load: Callable[[], Entries]) -> None:
        self._reader = reader
        self._load = load

    @functools.cached_property
    def _entries(self) -> Entries:
        return self._load()

    @functools.cached_property
    def _folders(self) -> dict[str, set[str]]:
        folders: dict[str, set[str]] = {"": set()}
        for path in self._entries:
            above, rest = "", path
            while True:
                first, slash, rest = rest.partition("/")
                folders.setdefault(above, set()).add(first)
                if not slash:
                    break
                above = f"{above}/{first}" if above else first
        return folders

    @property
    def paths(self) -> Iterator[str]:
        """Every path of the tree."""
        return iter(self._entries)

    def kind(self, path: str) -> int | None:
        """As `Side` says; a submodule is a folder."""
        if path in self._folders:
            return _TREE
        entry = self._entries.get(path)
        if entry is None:
            return None
        mode = int(entry[0], 8)
        return mode if mode in {REGULAR, EXECUTABLE, LINK} else _TREE

    def names(self, folder: str) -> list[str]:
        """As `Side` says."""
        real = resolve(self, folder)
        return sorted(self._folders.get(real.path, ()), key=os.fsencode) if real is not None else []

    def inside(self, folder: str) -> list[str]:
        """As `Side` says."""
        return self.names(folder)

    def read(self, path: str) -> File | None:
        """As `Side` says."""
        entry = self._entries.get(path)
        if entry is None or int(entry[0], 8) not in {REGULAR, EXECUTABLE, LINK}:
            return None
        return File(int(entry[0], 8), self._reader.blob(entry[1]))

    def target(self, path: str) -> str:
        """As `Side` says."""
        return os.fsdecode(self._reader.blob(self._entries[path][1]))

    def submodule(self, path: str) -> str | None:
        """The submodule that the path is or lies in, None if it is in none."""
        parts = path.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        return next((each for each in above if self._entries.get(each, ("",))[0] == "160000"), None)

    def below(self, path: str) -> list[str]:
        """The path itself, if it is a file, and every path below it."""
        if path in self._entries:
            return [path]
        return [each for each in self._entries if each.startswith(f"{path}/")] if path in self._folders else []


class Real(NamedTuple):
    """Where a path really lies, and the links that bear its name on the way there; not those of folders above."""

    path: str
    links: tuple[str, ...]


class _LeadsOut(Exception):
    """A link on the way leads out of the root; the argument is the link."""


def resolve(side: Side, path: str) -> Real | None:
    """The path with every link on the way followed. None if nothing lies there, or a link leads out of the root."""
    try:
        real = _follow(side, path)
    except _LeadsOut:
        return None
    return real if real is not None and (not real.path or side.kind(real.path) is not None) else None


def landing(side: Side, path: str) -> str:
    """Where a file of that path would really lie, whether it is there or not; the path itself if that is nowhere."""
    try:
        real = _follow(side, path)
    except _LeadsOut:
        real = None
    return path if real is None else real.path


def way_out(side: Side, path: str) -> str | None:
    """The link on the way to the path that leads out of the root; None if none does."""
    try:
        _follow(side, path)
    except _LeadsOut as error:
        return str(error)
    return None


def _follow(side: Side, path: str) -> Real | None:
    """None if links lead in circles; what is not there is a plain part of the way."""
    rest = path.split("/")
    place: list[str] = []
    links: list[str] = []
    last = path
    for _ in range(_MOST_STEPS):
        if not rest:
            return Real("/".join(place), tuple(dict.fromkeys(links)))
        part = rest.pop(0)
        if part in {"", "."}:
            continue
        at = "/".join([*place, part])
        if part == "..":
            if not place:
                raise _LeadsOut(last)
            place.pop()
        elif side.kind(at) != LINK:
            place.append(part)
        else:
            leads, last = side.target(at), at
            if not rest:
                links.append(at)
            if leads.startswith("/"):
                raise _LeadsOut(at)
            rest = [*leads.split("/"), *rest]
    return None


def files(side: Side, path: str, what: str) -> dict[str, File]:
    """The files and links at a real path, by their paths; a folder named `.git` is no part of a component.

    Raises UsageFault if it is too large to be a component, or a link in it leads out of the root. `what` names the
    component in the message.
    """
    found: dict[str, File] = {}
    waiting, size = [path], 0
    while waiting:
        at = waiting.pop()
        if side.kind(at) == _TREE:
            waiting += [f"{at}/{name}" if at else name for name in side.inside(at) if name != ".git"]
            continue
        file = side.read(at)
        if file is None:
            continue
        if file.mode == LINK:
            must_stay(side, at, what)  # taken as a link
        found[at] = file
        size += len(file.data)
        if len(found) > MOST_FILES or size > LARGEST:
            limit = f"{MOST_FILES} files" if len(found) > MOST_FILES else f"{LARGEST >> 20} MiB"
            raise UsageFault(f"{what} holds more than {limit}", remedy="keep only what belongs to it in its folder")
    return found


def must_stay(side: Side, path: str, what: str) -> None:
    """Raise UsageFault if a link on the way to the path, or at it, leads out of the root."""
    link = way_out(side, path)
    if link is not None:
        raise UsageFault(
            f"{what} leads out of the checkout: {link!r} is a link to {side.target(link)!r}",
            remedy="put what it leads to into the checkout: a trial would share it with you and all others",
        )


def as_committed(here: Mapping[str, File], base: Base) -> dict[str, File]:
    """The checkout's files; where one differs from the base's in line ends alone, as git makes them, the base's."""
    out = dict(here)
    for path, file in here.items():
        if file.mode != LINK and b"\r\n" in file.data:
            stored = base.read(path)
            if stored is not None and stored.mode != LINK and file.data.replace(b"\r\n", b"\n") == stored.data:
                out[path] = File(file.mode, stored.data)
    return out

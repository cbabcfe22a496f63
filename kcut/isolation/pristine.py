"""Protected files as they were checked out, remembered before the trial begins: nothing that it does changes them.

Nothing has to be written to see whether a trial changed one, and no git, filter or object is needed to give it back.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcut.system.files import LACKING

#: Bytes of a worktree's protected files that are kept in memory, all together; what does not fit in is copied.
IN_MEMORY = 4 << 20
_CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Pristine:
    """A file's permission bits, length and bytes, or a link's target (`mode` is None then).

    Of a large file the bytes are in `copy`, a file of kcut's own, and `digest` is their SHA-256.
    """

    mode: int | None
    size: int
    data: bytes | None
    copy: Path | None = None
    digest: bytes = b""

    def chunks(self) -> Iterator[bytes]:
        """The bytes, in parts; OSError if the copy is not what it was."""
        if self.copy is None:
            yield self.data or b""
            return
        seen = hashlib.sha256()
        with os.fdopen(os.open(self.copy, _READ), "rb", buffering=0) as file:
            while part := file.read(_CHUNK):
                seen.update(part)
                yield part
        if seen.digest() != self.digest:
            raise OSError(f"the copy that kcut keeps in {self.copy} was changed")


def remember(tree: Path, paths: Sequence[str], copies: Path) -> dict[str, Pristine]:
    """Files and links of a fresh worktree by path; what is not there, as in a sparse checkout, is left out.

    `copies` is where the folder for copies of large files is made. Raises OSError if that cannot be done.
    """
    found: dict[str, Pristine] = {}
    room = IN_MEMORY
    for path in paths:
        try:
            place, info = _look(tree, path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(info.st_mode):
            target = os.fsencode(os.readlink(place))  # noqa: PTH115  # a Path would tidy the name
            found[path] = Pristine(None, len(target), target)
        elif stat.S_ISREG(info.st_mode):
            mode = stat.S_IMODE(info.st_mode)
            with os.fdopen(os.open(place, _READ), "rb", buffering=0) as file:
                if info.st_size <= room:
                    data = file.readall()
                    room -= len(data)
                    found[path] = Pristine(mode, len(data), data)
                else:
                    copies.mkdir(exist_ok=True)
                    found[path] = _copied(file.fileno(), mode, copies / str(len(found)))
    return found


def _copied(source: int, mode: int, copy: Path) -> Pristine:
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(copy, _NEW, 0o600), "wb") as file:
        while part := os.read(source, _CHUNK):
            digest.update(part)
            size += len(part)
            file.write(part)
    return Pristine(mode, size, None, copy, digest.digest())


def is_unchanged(tree: Path, path: str, was: Pristine) -> bool:
    """True if that very file or link lies at a path of the tree; no more of it is read than the length it had.

    What is closed to us, or of a kind that cannot be read, is not as it was. OSError if the machine lacks what it
    takes to look.
    """
    try:
        place, info = _look(tree, path)
        if stat.S_ISLNK(info.st_mode):
            return was.mode is None and os.fsencode(os.readlink(place)) == was.data  # noqa: PTH115  # as above
        if not _fits(info, was):
            return False
        with os.fdopen(os.open(place, _READ), "rb", buffering=0) as file:
            return _fits(os.fstat(file.fileno()), was) and _holds(file.fileno(), was)
    except OSError as error:
        if error.errno in LACKING:
            raise
        return False


def _look(tree: Path, path: str) -> tuple[str, os.stat_result]:
    """The place of a path, and what lies there; NotADirectoryError if a folder above it is a link."""
    place = os.fspath(tree)
    *parents, name = path.split("/")
    for part in parents:
        place = f"{place}/{part}"
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            raise NotADirectoryError(place)
    place = f"{place}/{name}"
    return place, os.lstat(place)


def _fits(info: os.stat_result, was: Pristine) -> bool:
    return stat.S_ISREG(info.st_mode) and stat.S_IMODE(info.st_mode) == was.mode and info.st_size == was.size


def _holds(handle: int, was: Pristine) -> bool:
    """True if these are the file's bytes, and no more."""
    seen, left = hashlib.sha256(), was.size + 1
    parts: list[bytes] = []
    while left and (part := os.read(handle, min(left, _CHUNK))):
        left -= len(part)
        if was.data is None:
            seen.update(part)
        else:
            parts.append(part)
    return left == 1 and (seen.digest() == was.digest if was.data is None else b"".join(parts) == was.data)


def write(place: Path, was: Pristine) -> None:
    """Make the file or link anew where nothing lies; folders above it are made. OSError if that cannot be done."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if was.mode is None:
        place.symlink_to(os.fsdecode(was.data or b""))
        return
    with os.fdopen(os.open(place, _NEW, 0o600), "wb") as file:
        for part in was.chunks():
            file.write(part)
        os.fchmod(file.fileno(), was.mode)

"""One cohort's tree in the making: the base's, and the edits so far."""

import hashlib
from collections.abc import Iterable, Mapping

from kcut.components import jsontext
from kcut.components.sides import Base, landing
from kcut.model.component import REGULAR, Edits, File
from kcut.model.errors import UsageFault

_KEPT = File(0, b"")


class Cohort:
    """The files that a cohort's trials start with. Paths may pass through links of the base."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._edits: dict[str, File | None] = {}

    def real(self, path: str) -> str:
        """Where a file of that path lies in the tree."""
        return landing(self._base, path)

    def read(self, path: str) -> File | None:
        """The file at the path as the cohort has it."""
        real = self.real(path)
        return self._edits[real] if real in self._edits else self._base.read(real)

    def put(self, path: str, file: File) -> None:
        """Give the cohort a file; `path` is a real one."""
        self._edits[path] = file

    def drop(self, paths: Iterable[str]) -> None:
        """Take files, links or whole folders, by their real paths, from the cohort."""
        for path in paths:
            for known in list(self._edits):
                if known == path or known.startswith(f"{path}/"):
                    self._edits[known] = None
            for below in self._base.below(path):
                self._edits[below] = None

    def text(self, path: str) -> str | None:
        """The text of a JSON file, None if the cohort has no such file."""
        file = self.read(path)
        return None if file is None else json_text("the base", path, file.data)

    def put_data(self, path: str, data: bytes) -> None:
        """Give a file other bytes, its mode kept; a new one is an ordinary file."""
        file = self.read(path)
        if self._base.names(self.real(path)):
            raise UsageFault(f"{path!r} is a folder in the base", remedy="name a file")
        self.put(self.real(path), File(REGULAR if file is None else file.mode, data))

    def edits(self) -> Edits:
        """What sets the cohort's tree apart from the base's.

        Raises UsageFault if a file would stand where a folder stands: the base has something else there.
        """
        for path, file in self._edits.items():
            other = self._in_the_way(path) if file is not None else None
            if other is not None:
                raise UsageFault(
                    f"{path!r} cannot be put into the base, where {other!r} is something else",
                    remedy=f"commit {other!r} as the checkout has it, then run again",
                )
        return {path: file for path, file in sorted(self._edits.items()) if self._differs(path, file)}

    def _in_the_way(self, path: str) -> str | None:
        """A file or link that stays where a folder of the path has to be; the path, if a folder stays there."""
        parts = path.split("/")
        for above in ("/".join(parts[:depth]) for depth in range(1, len(parts))):
            held = self._edits[above] if above in self._edits else self._base.read(above)
            if held is not None:
                return above
        stays = (each for each in self._base.below(path) if each != path and self._edits.get(each, _KEPT) is not None)
        return path if next(stays, None) is not None else None

    def _differs(self, path: str, file: File | None) -> bool:
        if file is None:
            return self._base.below(path) == [path]
        return file != self._base.read(path)


def json_text(side: str, path: str, data: bytes) -> str:
    """The text of a JSON file of one side, called `side` in the UsageFault if it is no JSON."""
    try:
        text = jsontext.decode(data)
        jsontext.parse(text)
    except jsontext.NotJson as error:
        raise broken(side, path, error) from error
    return text


def broken(where: str, path: str, error: jsontext.NotJson) -> UsageFault:
    """The error for a settings file that is no JSON."""
    return UsageFault(f"{path!r} of {where} cannot be used: {error}", remedy="mend the file, then run again")


def digest(parts: Mapping[str, File]) -> str:
    """`sha256:` and a hash over names, kinds and bytes."""
    total = hashlib.sha256()
    for name in sorted(parts, key=lambda name: name.encode("utf-8", "surrogateescape")):
        written, file = name.encode("utf-8", "surrogateescape"), parts[name]
        total.update(b"%d:%s:%o:%d:" % (len(written), written, file.mode, len(file.data)))
        total.update(file.data)
    return f"sha256:{total.hexdigest()}"


def as_part(text: str) -> File:
    """A text as a part of what a digest is over."""
    return File(REGULAR, text.encode("utf-8", "surrogateescape"))

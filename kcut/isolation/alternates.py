"""`objects/info/alternates`: which folders an object store borrows from, as git reads and writes the file."""

import os
from collections.abc import Iterable
from pathlib import Path

from kcut.system.files import read_regular

_LIMIT = 1 << 24  # bytes, more than any has
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_NAMES = {code: letter for letter, code in _ESCAPES.items()}


def quoted(path: Path) -> bytes:
    """A line for the file: the path as it is, or C-quoted if git would read it otherwise."""
    raw = os.fsencode(path)
    if raw[:1] not in {b'"', b"#"} and b"\n" not in raw:
        return raw + b"\n"
    out = bytearray(b'"')
    for byte in raw:
        if byte in _NAMES:
            out += f"\\{_NAMES[byte]}".encode()
        elif byte < 32 or byte == 127:
            out += f"\\{byte:03o}".encode()
        else:
            out.append(byte)
    return bytes(out) + b'"\n'


def content(folders: Iterable[Path]) -> bytes:
    """The file that borrows from `folders`, in their order."""
    return b"".join(quoted(folder) for folder in folders)


def entries(text: bytes) -> list[str]:
    """The paths that a file names, unquoted; comments and empty lines left out."""
    found: list[str] = []
    for line in text.split(b"\n"):
        if not line or line.startswith(b"#"):
            continue
        plain = _unquoted(line) if line.startswith(b'"') else None
        found.append(os.fsdecode(line if plain is None else plain))
    return found


def _unquoted(line: bytes) -> bytes | None:
    """The bytes that a C-quoted string stands for; None if it is none."""
    out = bytearray()
    position = 1
    while position < len(line):
        byte = line[position]
        position += 1
        if byte == 34:
            return bytes(out)
        if byte != 92:
            out.append(byte)
            continue
        letter = chr(line[position]) if position < len(line) else ""
        if letter in _ESCAPES:
            out.append(_ESCAPES[letter])
            position += 1
        elif letter and letter in "0123" and line[position : position + 3].isdigit():
            out.append(int(line[position : position + 3], 8))
            position += 3
        else:
            return None
    return None


def object_folders(objects: Path) -> tuple[Path, ...]:
    """The object folder itself and all it borrows from, however far; absolute, each once, in git's order."""
    found: dict[Path, None] = {}

    def follow(folder: Path) -> None:
        real = Path(os.path.realpath(folder))
        if real in found:
            return
        found[real] = None
        try:
            text = read_regular(real / "info" / "alternates", limit=_LIMIT)
        except OSError:
            return
        for entry in entries(text):
            follow(real / entry)

    follow(objects)
    return tuple(found)

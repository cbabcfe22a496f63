"""The tree that an index stands for, computed here: for a small index that is much cheaper than a process.

Format: git's Documentation/gitformat-index (versions 2 and 3) and the tree object's `mode name NUL id` entries.
"""

import hashlib
import struct
from collections.abc import Iterator

_INTENT_TO_ADD = 0x2000
_EXTENDED = 0x4000
_STAGE = 0x3000
_Node = dict[bytes, "tuple[bytes, bytes] | _Node"]


def tree_of_index(data: bytes, object_format: str) -> str | None:
    """The id of the tree that `git write-tree` would write for this index file.

    None for an index that is not read here: version 4, split, sparse, with conflicts, or damaged.
    """
    try:
        root: _Node = {}
        for path, mode, blob in _entries(data, 32 if object_format == "sha256" else 20):
            *parents, name = path.split(b"/")
            node = root
            for part in parents:
                inner = node.setdefault(part, {})
                if not isinstance(inner, dict):
                    return None
                node = inner
            node[name] = (b"%o" % mode, blob)
    except (struct.error, ValueError):
        return None
    return _tree(root, object_format).hex()


def _entries(data: bytes, width: int) -> Iterator[tuple[bytes, int, bytes]]:
    """(path, mode, id) of each entry; ValueError for an index that is not read here."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in {2, 3}:
        raise ValueError(version)
    position = 12
    for _ in range(count):
        start = position
        (mode,) = struct.unpack_from(">I", data, start + 24)
        blob = data[start + 40 : start + 40 + width]
        (flags,) = struct.unpack_from(">H", data, start + 40 + width)
        position = start + 42 + width
        later = 0
        if flags & _EXTENDED:
            (later,) = struct.unpack_from(">H", data, position)
            position += 2
        end = data.index(b"\0", position)
        if flags & _STAGE or mode == 0o040000:
            raise ValueError(mode)
        if not later & _INTENT_TO_ADD:
            yield data[position:end], mode, blob
        position = start + (end - start + 8) // 8 * 8
    while position < len(data) - width:
        name, size = struct.unpack_from(">4sI", data, position)
        if name in {b"link", b"sdir"}:
            raise ValueError(name)
        position += 8 + size


def _tree(node: _Node, object_format: str) -> bytes:
    entries: list[tuple[bytes, bytes, bytes, bytes]] = []
    for name, value in node.items():
        if isinstance(value, dict):
            entries.append((name + b"/", b"40000", name, _tree(value, object_format)))
        else:
            entries.append((name, value[0], name, value[1]))
    body = b"".join(b"%b %b\0%b" % (mode, name, blob) for _, mode, name, blob in sorted(entries))
    made = hashlib.new(object_format, b"tree %d\0%b" % (len(body), body), usedforsecurity=False)
    return made.digest()

"""A component's name as a file name."""

import hashlib
import re
import unicodedata

_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 100
_CUT = 80


def slug(name: str) -> str:
    """The file name, without its suffix, that a component's name stands for: only `a-z0-9-`, at most 100 characters.

    Different names may share one slug, so a reader compares the whole name that the file holds.
    """
    text = _OTHER.sub("-", unicodedata.normalize("NFC", name).lower()).strip("-")
    if not text:
        return f"c-{_digest(name)}"
    if len(text) > _LONGEST:
        return f"{text[:_CUT].strip('-')}-{_digest(name)}"
    return text


def _digest(name: str) -> str:
    """Eight hex digits of the sha256 of the name's UTF-8; of its original bytes where these were not UTF-8."""
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        data = name.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:8]

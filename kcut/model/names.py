"""Names as file names, and names that are no text made so."""

import hashlib
import re
import unicodedata
from typing import Any

_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 100
_CUT = 80
_SURROGATE = re.compile("[\ud800-\udfff]")


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


def visible(text: str) -> str:
    """`text` in which lone surrogates are shown as escapes, so that it can be encoded.

    A byte that could not be decoded is `\\xNN`, another surrogate `\\uNNNN`.
    """
    return _SURROGATE.sub(_escape, text)


def visible_document(document: Any) -> Any:
    """The same for every string of a JSON document, keys included; lists and objects are new ones."""
    match document:
        case str():
            return visible(document)
        case dict():
            return {visible_document(key): visible_document(value) for key, value in document.items()}
        case list() | tuple():
            return [visible_document(value) for value in document]
    return document


def _escape(match: "re.Match[str]") -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"

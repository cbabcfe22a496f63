"""JSON pointers (RFC 6901): the way to a value in a document."""

import re
from typing import Any

from kcut.components.jsontext import Way

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


def find(document: Any, pointer: str) -> tuple[Way, Any] | None:
    """The way that a pointer such as `/hooks/Stop/0` leads, and the value there; None if it leads nowhere.

    Raises ValueError if it is no pointer.
    """
    if not pointer.startswith("/"):
        raise ValueError("it does not begin with /")
    if re.search(r"~(?![01])", pointer):
        raise ValueError("~ stands in it as ~0, / as ~1")
    way: list[str | int] = []
    for token in pointer[1:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            way.append(name)
            document = document[name]
        elif isinstance(document, list) and _NUMBER.fullmatch(name) and int(name) < len(document):
            way.append(int(name))
            document = document[int(name)]
        else:
            return None
    return tuple(way), document

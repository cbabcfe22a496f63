"""Globs of paths in a tree: `*` and `?` stay within a folder, `**` does not, a path stands for all below it too."""

import functools
import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"[\\*?\[\]]")
_WILD = re.compile(r"(?<!\\)[*?\[]")


def literal(path: str) -> str:
    """The glob that matches this very path, and what lies below it."""
    return _SPECIAL.sub(r"\\\g<0>", path)


def covers(globs: Iterable[str], path: str) -> bool:
    """True if one of the globs matches the path or a folder above it."""
    return any(_pattern(glob).fullmatch(path) for glob in globs)


def fixed_part(glob: str) -> str:
    """What a glob begins with and holds no wildcard, without escapes; the whole of one that is a plain path."""
    parts: list[str] = []
    for part in glob.rstrip("/").split("/"):
        if _WILD.search(part):
            break
        parts.append(re.sub(r"\\(.)", r"\1", part))
    return "/".join(parts)


def may_hold(glob: str, folder: str) -> bool:
    """False if nothing below the folder can match the glob."""
    parts, depth = glob.rstrip("/").split("/"), folder.count("/") + 1
    return "**" in parts[:depth] or covers(["/".join(parts[:depth])], folder)


@functools.lru_cache(maxsize=512)
def _pattern(glob: str) -> "re.Pattern[str]":
    out, at, glob = "", 0, glob.rstrip("/")
    while at < len(glob):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out, at = out + "(?:[^/]+/)*", at + 3
            continue
        if glob[at:] == "**" and (at == 0 or glob[at - 1] == "/"):
            out, at = out + ".+", at + 2
            continue
        char = glob[at]
        end = glob.find("]", at + 2) if char == "[" else -1
        if char == "*":
            out, at = out + "[^/]*", at + 1
        elif char == "?":
            out, at = out + "[^/]", at + 1
        elif end > 0:
            out, at = out + _class(glob[at + 1 : end]), end + 1
        else:
            at += char == "\\" and at + 1 < len(glob)
            out, at = out + re.escape(glob[at]), at + 1
    return re.compile(f"{out}(?:/.*)?", re.DOTALL)


def _class(inner: str) -> str:
    negated = inner[:1] in {"!", "^"}
    body = re.sub(r"([\\\[\]^&|~])", r"\\\1", inner[1:] if negated else inner)
    made = f"(?!/)[{'^' if negated else ''}{body}]"
    try:
        re.compile(made)
    except re.error:  # a range that runs backwards matches nothing
        return "(?!)"
    return made

"""Which of the user's filters may run on a tree that a trial has changed: those known to use none of its files."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

_SETTING = re.compile(r"^(filter\.(.+))\.(clean|smudge|process)$", re.DOTALL)
#: What the shell would do more with than pass it on, outside of single quotes.
_SHELL = re.compile(r"[;&|<>`$()\n*?\[\]{}~\\#!]")
_QUOTED = re.compile(r"'[^']*'")
#: Programs that make of their input what their options say, and look at nothing else in the folder they are started
#: in. Any other may read its settings there, load its plugins from there or run what it finds there: it is not known.
_KNOWN = frozenset(
    {
        "cat",
        "tac",
        "rev",
        "tr",
        "sed",
        "gsed",
        "expand",
        "unexpand",
        "fold",
        "dos2unix",
        "unix2dos",
        "base64",
        "gzip",
        "gunzip",
        "git-lfs",
    }
)
_WORDS = {"git-lfs": frozenset({"clean", "smudge", "filter-process"})}
_OPTION = re.compile(r"--?|-[A-Za-z0-9]+|--[a-z0-9-]+(=[0-9]+)?")
_SED = re.compile(r"^([0-9,$]*)[sy]([/|,@:]).*\2[gpiI0-9]*$", re.DOTALL)


def unsafe_drivers(settings: Iterable[tuple[str, str]], inside: Sequence[Path]) -> tuple[str, ...]:
    """The filter drivers, as `filter.NAME`, with a command that might use a file of the tree it is started in.

    `inside` are folders that no program of a filter may lie in.
    """
    found: dict[str, None] = {}
    for name, command in settings:
        setting = _SETTING.match(name)
        if setting and command and not is_outside(command, inside):
            found[setting[1]] = None
    return tuple(found)


def switched_off(drivers: Iterable[str]) -> list[tuple[str, str]]:
    """Settings that switch drivers off: git then takes the bytes as they are."""
    off = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    return [(f"{driver}.{key}", value) for driver in drivers for key, value in off]


def is_outside(command: str, inside: Sequence[Path]) -> bool:
    """True for a command of which every word shows that it reads and runs nothing in the folder it is started in."""
    if _SHELL.search(_QUOTED.sub("", command)):
        return False
    try:
        program, *words = shlex.split(command)
    except ValueError:
        return False
    if "/" in program and not _is_elsewhere(program, inside):
        return False
    name = program.rpartition("/")[2]
    return name in _KNOWN and all(_is_harmless(name, word) for word in words)


def _is_harmless(program: str, word: str) -> bool:
    """True for a word that names no file but the one that is filtered."""
    if program in {"sed", "gsed"}:
        return bool(_SED.match(word)) or word in {"-e", "-E", "-r", "-n"}
    if program == "tr" or word == "%f":
        return True
    return word in _WORDS.get(program, ()) or bool(_OPTION.fullmatch(word))


def _is_elsewhere(path: str, inside: Sequence[Path]) -> bool:
    if not path.startswith("/"):
        return False
    real = Path(os.path.realpath(path))
    named = Path(os.path.normpath(path))
    return not any(place.is_relative_to(folder) for folder in inside for place in (real, named))


def outside_path(inside: Sequence[Path]) -> str:
    """PATH without what is relative and what lies in one of these folders."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if _is_elsewhere(entry, inside)) or os.defpath

"""Which of the user's filters may run on a tree that a trial has changed: those that cannot run the trial's files."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

_SETTING = re.compile(r"^(filter\.(.+))\.(clean|smudge|process)$", re.DOTALL)
#: What the shell would do more with than pass it on, outside of single quotes.
_SHELL = re.compile(r"[;&|<>`$()\n*?\[\]{}~\\#!]")
_QUOTED = re.compile(r"'[^']*'")
#: Programs that run what they are given, or what they find in the folder they are started in.
_RUNNERS = re.compile(
    r"^(\.|a?sh|bash|dash|[ckz]sh|mksh|fish|busybox|toybox|eval|exec|source|command|builtin|time|env|nice|nohup|timeout"
    r"|setsid|stdbuf|xargs|find|sudo|doas|chroot|ssh|pypy[0-9.]*|python[0-9.]*|pythonw|ipython[0-9.]*|perl[0-9.]*"
    r"|ruby[0-9.]*|node(js)?|deno|bun|bunx|tsx|ts-node|php[0-9.]*|lua[0-9.]*|luajit|[gmn]?awk|tclsh[0-9.]*|guile"
    r"|emacs|vim?|nvim|ed|ex|make|gmake|just|task|rake|bundle|npm|npx|pnpm|yarn|uv|uvx|pipx|poetry|pdm|hatch|tox|nox"
    r"|cargo|go|mvn|gradle|java|dotnet|pre-commit|jupyter.*|prettier|eslint|rubocop|docker|podman|nix.*|direnv)$"
)
_SCRIPT = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_SED = re.compile(r"^([0-9,$]*)[sy]([/|,@:]).*\2[gpiI0-9]*$", re.DOTALL)


def unsafe_drivers(settings: Iterable[tuple[str, str]], inside: Sequence[Path]) -> tuple[str, ...]:
    """The filter drivers, as `filter.NAME`, with a command that might run a file of the tree it is started in.

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
    """True for a command of which every word shows that it runs nothing in the folder it is started in."""
    if _SHELL.search(_QUOTED.sub("", command)):
        return False
    try:
        program, *words = shlex.split(command)
    except ValueError:
        return False
    if "=" in program or not ("/" not in program or _is_elsewhere(program, inside)):
        return False
    name = program.rpartition("/")[2]
    if _RUNNERS.match(name):
        # only a script of its own, named in full, is known to be what runs
        if not words or not _is_elsewhere(words[0], inside):
            return False
        words = words[1:]
    return all(_is_harmless(name, word, inside) for word in words)


def _is_harmless(program: str, word: str, inside: Sequence[Path]) -> bool:
    if word == "%f":
        return True
    if program in {"sed", "gsed"}:
        return bool(_SED.match(word)) or word in {"-e", "-E", "-r", "-n"}
    if word.startswith("-") and "=" in word:
        word = word.partition("=")[2]
    if "/" in word:
        return _is_elsewhere(word, inside)
    return not _SCRIPT.search(word)


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

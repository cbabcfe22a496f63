"""The simple commands of a shell command line, as they would be typed: what runs others is looked through.

`cd x && FOO=1 npx jest -i` holds `cd x`, `npx jest -i` and `jest -i`. Nothing in a string, a comment or a
here-document is a command. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcut.scoreline.interpreters import (
    INTERPRETERS,
    RUNNERS,
    SHELLS,
    Interpreter,
    Options,
    Runner,
    base_name,
    options_of,
)
from kcut.scoreline.words import literal, split

#: Commands within commands (`bash -c "bash -c ..."`) are read this deep.
DEPTH = 6
#: In characters: of a longer line the beginning counts.
LONGEST = 100_000
#: What stands for a blank within a word.
BLANK = "\u2420"

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_EXTENSION = re.compile(r"\.(?:exe|cmd|bat|ps1)\Z", re.IGNORECASE)
_SPACE = re.compile(r"\s")
_REDIRECTIONS = frozenset({">", ">>", "<", "<>", ">&", "<&", "&>", "&>>", ">|", "<<", "<<-", "<<<"})
_FROM_INPUT = frozenset({"<", "<<", "<<-", "<<<"})
_RESERVED = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "coproc"})
_NO_COMMAND = frozenset({"for", "select", "case", "function", "[["})
#: Runners besides those of `kcut.scoreline`, whose subcommand may be left out (`yarn jest`) or is one of several.
_PACKAGE_RUNNERS = {
    "yarn": (frozenset({"run", "exec", "dlx"}), True),
    "pnpm": (frozenset({"exec", "dlx", "run"}), True),
    "npm": (frozenset({"exec", "x"}), False),
    "bun": (frozenset({"x"}), False),
}
_OTHER_RUNNERS = {"cross-env": Runner(assigns=True), "winpty": Runner()}
_WINDOWS_SHELLS = frozenset({"cmd", "powershell", "pwsh"})
_TO_SHELL = re.compile(r"(?:/{1,2}[ck]|-c|-command)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, the first without folder and `.exe`; `reads` if its input is redirected."""

    words: tuple[str, ...]
    reads: bool = False

    @property
    def text(self) -> str:
        """What patterns see: a blank between words, U+2420 for those within a word, `<` for a redirected input."""
        words = [_SPACE.sub(BLANK, word) for word in self.words]
        return " ".join([*words, "<"] if self.reads else words)

    @property
    def typed(self) -> str:
        """The words with blanks between them, for people."""
        return " ".join(self.words)

    @property
    def script(self) -> str | None:
        """The file that an interpreter is given to run, None if there is none or its program stands in the line."""
        interpreter = INTERPRETERS.get(base_name(self.words[0].lower()), Interpreter())
        given = options_of(self.words[1:], interpreter.options)
        if {name for name, _ in given.values} & {"code", "module", "command"}:
            return None
        return given.rest[0] if given.rest else None


def commands(line: str) -> tuple[Command, ...]:
    """The commands of a line in their order, each followed by those that it runs. Never raises."""
    return tuple(_commands(line[:LONGEST], 0))


def _commands(line: str, depth: int) -> Iterator[Command]:
    if depth > DEPTH:
        return
    parts, inner = split(literal(line))
    words: list[str] = []
    reads = skips = False
    for text, is_operator in parts:
        if not is_operator:
            if not skips:
                words.append(literal(text))
            skips = False
        elif text in _REDIRECTIONS:
            if words and words[-1].isdigit():
                words.pop()  # the 2 of `2>file`
            reads = reads or text in _FROM_INPUT
            skips = True
        else:
            yield from _simple(words, depth, reads=reads)
            words, reads, skips = [], False, False
    yield from _simple(words, depth, reads=reads)
    for command in inner:
        yield from _commands(command, depth + 1)


def _simple(words: Sequence[str], depth: int, *, reads: bool) -> Iterator[Command]:
    start = 0
    while start < len(words) and (words[start] in _RESERVED or _ASSIGNMENT.match(words[start])):
        start += 1
    if start < len(words) and words[start] not in _NO_COMMAND:
        yield from _run(words[start:], depth, reads=reads)


def _run(words: Sequence[str], depth: int, *, reads: bool = False) -> Iterator[Command]:
    """A command, and what it runs."""
    if not words or depth > DEPTH:
        return
    head = _EXTENSION.sub("", words[0].replace("\\", "/").rpartition("/")[2])
    rest = words[1:]
    yield Command((head, *rest), reads)
    name = base_name(head.lower())
    if name in SHELLS:
        yield from _commands(_given_to_shell(rest), depth + 1)
    elif name == "eval":
        yield from _commands(" ".join(rest), depth + 1)
    elif name in _WINDOWS_SHELLS:
        at = next((index for index, word in enumerate(rest) if _TO_SHELL.match(word)), len(rest))
        yield from _commands(" ".join(rest[at + 1 :]), depth + 1)
    elif name == "find":
        at = next((index for index, word in enumerate(rest) if word in {"-exec", "-execdir"}), len(rest))
        yield from _run(rest[at + 1 :], depth + 1)
    elif name in _PACKAGE_RUNNERS:
        yield from _run(_packaged(name, rest), depth + 1)
    elif (runner := _OTHER_RUNNERS.get(name) or RUNNERS.get(name)) is not None:
        yield from _runner(runner, rest, depth)
    elif name == "py" or name in INTERPRETERS:
        options = INTERPRETERS["python" if name == "py" else name].options
        skip = 1 if rest[:1] and rest[0] in INTERPRETERS.get(name, Interpreter()).subcommands else 0
        yield from _module(rest[skip:], options, depth)


def _given_to_shell(words: Sequence[str]) -> str:
    """The command of `sh -c command`, "" if there is none."""
    command = False
    for word in words:
        if word[:1] not in {"-", "+"}:
            return word if command else ""
        command |= word[:1] == "-" and word[1:2] != "-" and "c" in word
    return ""


def _packaged(name: str, words: Sequence[str]) -> Sequence[str]:
    """What a package manager runs out of a package's programs, empty if that is none of its subcommands."""
    subcommands, bare = _PACKAGE_RUNNERS[name]
    words = options_of(words, Options()).rest
    if words and words[0] in subcommands:
        return options_of(words[1:], Options()).rest
    return words if bare else ()


def _runner(runner: Runner, words: Sequence[str], depth: int) -> Iterator[Command]:
    if runner.subcommand is not None:
        if not words or words[0] != runner.subcommand:
            return
        words = words[1:]
    given = options_of(words, runner.options)
    rest = list(given.rest)
    for name, value in given.values:
        if name == "module":
            rest = [value, *rest]
        elif name == "command":
            yield from _commands(value, depth + 1)
    while rest and runner.assigns and _ASSIGNMENT.match(rest[0]):
        rest.pop(0)
    yield from _run(rest[runner.operands :], depth + 1)


def _module(words: Sequence[str], options: Options, depth: int) -> Iterator[Command]:
    """What `python -m module` runs."""
    given = options_of(words, options)
    for name, value in given.values:
        if name == "module":
            yield from _run([value, *given.rest], depth + 1)

"""The simple commands of a shell command line and the files that they run.

Read as a shell would, as far as that can be told without running it: what only a running shell knows
(variables, globs, the output of commands) is left out, and of a malformed line what can be read counts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from posixpath import join, normpath

from kcut.scoreline.interpreters import (
    INTERPRETERS,
    MODULES,
    RUNNERS,
    SHELL_LONG,
    SHELLS,
    Given,
    Interpreter,
    Runner,
    base_name,
    options_of,
)
from kcut.scoreline.words import literal, split

#: Commands within commands (`bash -c "bash -c ..."`) are read this deep.
DEPTH = 6

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_HERE = re.compile(r"\$(?:PWD|\{PWD\}|\(pwd\))/")
_REDIRECTIONS = frozenset({">", ">>", "<", "<>", ">&", "<&", "&>", "&>>", ">|", "<<", "<<-", "<<<"})
_RESERVED = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "coproc"})
_NO_COMMAND = frozenset({"for", "select", "case", "function", "[["})


def executables(score: str) -> tuple[str, ...]:
    """The files that a shell command runs, as paths relative to where it starts, in order, each once.

    They are candidates: whether there is such a file is not looked at. Names without a slash that the shell
    looks up in PATH are no files; the script of an interpreter is one. An absolute path stays absolute, a
    leading `cd DIR` is applied. Never raises.
    """
    reader = _Reader()
    reader.read(score, "", 0)
    return tuple(reader.found)


@dataclass(slots=True)
class _Frame:
    """The command that is being read, in one (sub)shell. `base` None: a folder that cannot be told."""

    base: str | None
    words: list[str] = field(default_factory=list)
    stdin: str | None = None
    closed: bool = False  # a subshell or an array was read: what follows on the line is no command
    ignored: bool = False


@dataclass(slots=True)
class _Reader:
    found: dict[str, None] = field(default_factory=dict)
    #: The entries of a PATH that the line sets.
    path: list[str] = field(default_factory=list)

    def read(self, line: str, base: str | None, depth: int) -> None:
        """Find the files of a command line that starts in `base`."""
        if depth > DEPTH:
            return
        parts, inner = split(literal(line))
        reading = _Line(self, depth, _Frame(base))
        for text, is_operator in parts:
            if is_operator:
                reading.operator(text)
            else:
                reading.word(text)
        for frame in (reading.frame, *reversed(reading.outer)):
            self.finish(frame, depth)
        for command in inner:
            self.read(command, base, depth + 1)

    def finish(self, frame: _Frame, depth: int) -> str | None:
        """Read a whole simple command; the folder that the shell is in after it."""
        if frame.ignored or not frame.words:
            return frame.base
        words = frame.words
        start = 0
        while start < len(words) and (words[start] in _RESERVED or _ASSIGNMENT.match(words[start])):
            start += 1
        assigned, words = words[:start], words[start:]
        before = self.path
        self.assign(assigned if words else [])
        if not words or words[0] == "export":  # for every command from here on
            self.assign(assigned + words)
            return frame.base
        if words[0] in _NO_COMMAND:
            return frame.base
        if words[0] in {"cd", "pushd"}:
            return _moved(frame.base, [word for word in words[1:] if word == "-" or not word.startswith("-")])
        self._command(words, frame.base, frame.stdin, depth)
        self.path = before
        return frame.base

    def assign(self, words: Sequence[str]) -> None:
        """Take the assignment of PATH if it is among the words."""
        for word in words:
            if word.startswith("PATH="):
                self.path = [entry for entry in word.removeprefix("PATH=").split(":") if entry]

    def _command(self, words: Sequence[str], base: str | None, stdin: str | None, depth: int) -> None:
        if not words or depth > DEPTH:
            return
        head, rest = words[0], words[1:]
        name = base_name(head)
        for file in (head,) if "/" in head else [f"{entry}/{head}" for entry in self.path]:
            self._file(file, base)
        if head in {".", "source"}:
            self._file(next(iter(rest), ""), base)
        elif head == "eval":
            self.read(" ".join(rest), base, depth + 1)
        elif name in SHELLS:
            self._shell(rest, base, stdin, depth)
        elif name in INTERPRETERS:
            self._interpreter(INTERPRETERS[name], rest, base, stdin, depth)
        elif name in RUNNERS:
            self._runner(RUNNERS[name], rest, base, depth)

    def _shell(self, words: Sequence[str], base: str | None, stdin: str | None, depth: int) -> None:
        """`sh [-eux] [-o option] [-c command | script]`."""
        command = from_stdin = False
        index = 0
        while index < len(words) and words[index][:1] in {"-", "+"} and words[index] not in {"-", "--"}:
            word = words[index]
            if word.startswith("--"):
                index += word in SHELL_LONG
            else:
                command |= word[0] == "-" and "c" in word
                from_stdin |= word[0] == "-" and "s" in word
                index += word[-1] in "oO"
            index += 1
        index += index < len(words) and words[index] in {"-", "--"}
        operand = words[index] if index < len(words) else None
        if command:
            self.read(operand or "", base, depth + 1)
        elif operand is not None and not from_stdin:
            self._file(operand, base)
        elif stdin is not None:
            self._file(stdin, base)

    def _interpreter(
        self, interpreter: Interpreter, words: Sequence[str], base: str | None, stdin: str | None, depth: int
    ) -> None:
        if words and words[0] in interpreter.subcommands:
            words = words[1:]
        given = options_of(words, interpreter.options)
        base = self._folder(base, given)
        for name, value in given.values:
            if name == "module":
                self._module(value, base)
                self._run_by_module(value, given.rest, base, stdin, depth)
            elif name == "file":
                self._file(value, base)
            elif name == "command":
                self.read(value, base, depth + 1)
        if {name for name, _ in given.values} & {"module", "file", "command", "code"}:
            return
        script = given.rest[0] if given.rest else stdin
        if script in {"-", "/dev/stdin"}:
            script = stdin
        if script is not None:
            self._file(script, base)
            stem = script.rpartition("/")[2]
            for variant in interpreter.variants if "." not in stem.strip(".") else ():
                self._file(script.rstrip("/") + (variant if variant[0] == "." else f"/{variant}"), base)

    def _run_by_module(
        self, module: str, words: Sequence[str], base: str | None, stdin: str | None, depth: int
    ) -> None:
        """`python -m coverage run score.py`: the script that a module of an interpreter runs."""
        interpreter = MODULES.get(module)
        if interpreter is None or depth > DEPTH:
            return
        if not interpreter.subcommands or (words and words[0] in interpreter.subcommands):
            self._interpreter(interpreter, words, base, stdin, depth + 1)

    def _runner(self, runner: Runner, words: Sequence[str], base: str | None, depth: int) -> None:
        if runner.subcommand is not None:
            if not words or words[0] != runner.subcommand:
                return
            words = words[1:]
        given = options_of(words, runner.options)
        base = self._folder(base, given)
        rest = list(given.rest)
        for name, value in given.values:
            if name == "module":
                self._module(value, base)
                return
            if name == "command" and runner.assigns:  # `env -S "a b" c` is `env a b c`
                rest = [text for text, is_operator in split(literal(value))[0] if not is_operator] + rest
            elif name == "command":
                self.read(value, base, depth + 1)
        while rest and runner.assigns and _ASSIGNMENT.match(rest[0]):
            self.assign([rest.pop(0)])
        rest = rest[runner.operands :]
        if rest and "/" not in rest[0] and rest[0].endswith((".py", ".ts", ".js")):
            self._file(rest[0], base)  # `uv run score.py`
        self._command(rest, base, None, depth + 1)

    def _folder(self, base: str | None, given: Given) -> str | None:
        for name, value in given.values:
            if name == "folder":
                base = _moved(base, [value])
        return base

    def _module(self, module: str, base: str | None) -> None:
        if _MODULE.fullmatch(module):
            path = module.replace(".", "/")
            self._file(f"{path}.py", base)
            self._file(f"{path}/__main__.py", base)

    def _file(self, word: str, base: str | None) -> None:
        path = _path(word, base)
        if path is not None and path not in {"", ".", ".."}:
            self.found.setdefault(path)


@dataclass(slots=True)
class _Line:
    """A line on its way: the command that is being read and those around it."""

    reader: _Reader
    depth: int
    frame: _Frame
    outer: list[_Frame] = field(default_factory=list)
    redirection: str | None = None

    def word(self, text: str) -> None:
        if self.redirection == "<":
            self.frame.stdin = text
        elif self.redirection is None and not self.frame.closed:
            self.frame.words.append(text)
        self.redirection = None

    def operator(self, text: str) -> None:
        frame, self.redirection = self.frame, None
        if text in _REDIRECTIONS:
            if frame.words and frame.words[-1].isdigit():
                frame.words.pop()  # the 2 of `2>file`
            self.redirection = text
        elif text == "(":
            self.outer.append(frame)
            array = bool(frame.words) and frame.words[-1].endswith("=")
            self.frame = _Frame(frame.base, ignored=frame.ignored or array)
        elif text == ")" and self.outer:
            self.reader.finish(frame, self.depth)
            self.frame = _returned(self.outer.pop(), empty=not frame.words)
        elif text == ")":
            self.frame = _Frame(frame.base)  # the pattern of a `case`
        else:
            moved = self.reader.finish(frame, self.depth)
            # the parts of a pipeline and background commands are shells of their own
            self.frame = _Frame(frame.base if text in {"|", "|&", "&"} else moved, ignored=frame.ignored)


def _returned(frame: _Frame, *, empty: bool) -> _Frame:
    """The command around a pair of brackets that has closed: go on with its words if it has any."""
    if not frame.words:
        frame.closed = True
    elif empty and not frame.words[-1].endswith(("$", "=")):
        frame.words.clear()  # the name of a function that is defined
    return frame


def _moved(base: str | None, words: Sequence[str]) -> str | None:
    """The folder after `cd words...`."""
    if len(words) != 1 or words[0] in {"-", ""}:
        return None
    return _path(words[0], base)


def _path(word: str, base: str | None) -> str | None:
    """A word as a path, None if only a running shell could tell it."""
    if here := _HERE.match(word):
        word = word[here.end() :]
    if not word or word[0] == "~" or any(char in word for char in "$`*?[\0\n"):
        return None
    if base is None and word[0] != "/":
        return None
    path = normpath(join(base or "", literal(word)))
    return "/" + path.lstrip("/") if path[0] == "/" else path

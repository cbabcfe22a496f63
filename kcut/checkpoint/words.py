"""The words and operators of a shell script, with quotes, expansions and here-documents skipped as the shell does."""

import re
from abc import ABC, abstractmethod
from typing import NoReturn

_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()\n]")
REDIRECTION = re.compile(r"[0-9]*(?:<<-|<<<|<<|<>|<&|>>|>&|>\||&>>|&>|<|>)")
_QUOTES = "'\"`$"
_PLAIN = re.compile(r"[^\s;&|()<>'\"\\$`#]+|#")


class Unreadable(Exception):
    """The script is not one that this reader can follow."""


class Words(ABC):
    """A script, read word by word from the position `at` on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        #: Here-documents whose text begins after the next line end: the last line, and whether tabs are stripped.
        self.heredocs: list[tuple[str, bool]] = []
        self._read: dict[int, int] = {}

    @abstractmethod
    def nested(self) -> None:
        """Skip the commands inside parentheses, up to the closing one."""

    # --- characters ---

    def fail(self) -> NoReturn:
        raise Unreadable

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def blanks(self) -> None:
        """Skip what separates words on a line, and a comment."""
        while True:
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.at < len(self.text) and self.text[self.at] in " \t":
                self.at += 1
            elif self.text.startswith("#", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def operator(self) -> str:
        """The operator here, not taken; empty if there is none."""
        self.blanks()
        if REDIRECTION.match(self.text, self.at):  # &> would look like &
            return ""
        found = _OPERATOR.match(self.text, self.at)
        return found[0] if found else ""

    def take(self, operator: str) -> None:
        self.at += len(operator)
        if operator == "\n":
            for delimiter, tabs in self.heredocs:
                self.skip_heredoc(delimiter, tabs)
            self.heredocs = []

    def skip_heredoc(self, delimiter: str, tabs: bool) -> None:
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line = self.text[self.at : end]
            self.at = min(end + 1, len(self.text))
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return
        self.fail()

    def newlines(self) -> None:
        while self.operator() == "\n":
            self.take("\n")

    # --- words ---

    def peek(self) -> str:
        """The word here, not taken; empty if there is none."""
        self.blanks()
        start = self.at
        word = self.word()
        self.at = start
        return word

    def word(self) -> str:
        """Take one word as it is written, quotes and expansions included."""
        self.blanks()
        start = self.at
        if start not in self._read:  # once only: a nested word would be read again at every level
            self.skip_word(start)
            self._read[start] = min(self.at, len(self.text))
        self.at = self._read[start]
        return self.text[start : self.at]

    def skip_word(self, start: int) -> None:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at += 2
            elif char in _QUOTES:
                self.quotation(char)
            elif char == "(" and self.text[start : self.at].endswith("="):  # an array
                self.at += 1
                self.parenthesised()
            elif plain := _PLAIN.match(self.text, self.at):
                self.at = plain.end()
            else:
                return

    def skip_to(self, quote: str) -> None:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            self.fail()
        self.at = end + 1

    def escaped_to(self, quote: str) -> None:
        """Skip to the next such quote that no backslash stands before."""
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != quote:
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.fail()
        self.at += 1

    def quotation(self, opener: str) -> None:
        """Skip what a quote, backtick or dollar begins."""
        match opener:
            case "'":
                self.skip_to("'")
            case '"':
                self.enclosed('"', quotes="$`")
            case "`":
                self.escaped_to("`")
            case _:
                self.dollar()

    def enclosed(self, end: str, *, quotes: str) -> None:
        """Skip to behind `end`, which counts neither after a backslash nor inside what one of `quotes` begins."""
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == end:
                self.at += 1
                return
            if char in quotes:
                self.quotation(char)
            else:
                self.at += 2 if char == "\\" else 1
        self.fail()

    def dollar(self) -> None:
        """Skip `$name`, `${...}`, `$(...)`, `$'...'`."""
        self.at += 1
        if self.text.startswith("((", self.at):
            self.skip_arithmetic()
        elif self.text.startswith("(", self.at):
            self.at += 1
            self.nested()
        elif self.text.startswith("{", self.at):
            self.enclosed("}", quotes=_QUOTES)
        elif self.text.startswith("'", self.at):
            self.escaped_to("'")

    def skip_arithmetic(self) -> None:
        """Skip `((...))`, which is not commands."""
        depth = 0
        while self.at < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1
            if depth == 0:
                return
        self.fail()

    def parenthesised(self) -> None:
        """The words of an array, up to its `)`."""
        while True:
            self.newlines()
            if self.operator() == ")":
                self.take(")")
                return
            if not self.word():
                self.fail()

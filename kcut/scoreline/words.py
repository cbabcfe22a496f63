"""A shell command line as words and operators.

`shlex` splits it; what quotes, escapes, comments and here-documents hide from the shell's own splitting is
taken out of its sight first, because it does not tell a quoted operator from a real one.
"""

import re
import shlex
from collections.abc import Iterator

_QUOTED = re.compile(
    r"'[^']*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|\\(?:.|\Z)|(?<![^\s;&|()])#[^\n]*|\"[^\"]*\Z", re.DOTALL
)
_HEREDOC = re.compile(r"(?<!<)<<-?(?!<)[ \t]*(['\"]?)(\w+)\1")
_HEREDOCS = 50
_SUBSTITUTION = re.compile(r"\$\(([^()]*)\)")
_BACKTICKS = re.compile(r"`([^`]*)`")
_ESCAPE = re.compile(r"\\([$`\"\\\n])")

#: Quoted characters that mean something unquoted, and what stands for each while the line is split.
_SPECIAL = " \t\r\n;&|()<>'\"\\#"
_HIDE = {ord(char): chr(0xE000 + index) for index, char in enumerate(_SPECIAL)}
_SHOW: dict[int, str | None] = {0xE000 + index: char for index, char in enumerate(_SPECIAL)}
_EMPTY = chr(0xE000 + len(_SPECIAL))
_SHOW[ord(_EMPTY)] = None

#: Quoted characters that an unquoted word would not stand for itself with; `literal` shows them.
_ACTIVE = "$`*?[~"
_MARK = {ord(char): chr(0xE100 + index) for index, char in enumerate(_ACTIVE)}
_MARK_GLOB = {ord(char): _MARK[ord(char)] for char in "*?[~"}
_UNMARK = {0xE100 + index: char for index, char in enumerate(_ACTIVE)}
_PWD = re.compile(r"\$\([ \t]*pwd(?:[ \t]+-[LP])?[ \t]*\)")

_OPERATORS = re.compile(r"&&|\|\||;;|\|&|&>>|&>|>>|>&|>\||<<<|<<-?|<&|<>|[;&|()<>\n]")


def literal(word: str) -> str:
    """A word of `split` with the characters that quotes made ordinary."""
    return word.translate(_UNMARK)


def split(line: str) -> tuple[list[tuple[str, bool]], list[str]]:
    """The words and operators of a line as (text, is operator), and the commands that double quotes hold.

    In a word, quoted characters that would act if they were not quoted are marked: see `literal`.
    """
    inner: list[str] = []
    text = _QUOTED.sub(lambda match: _hidden(match[0], inner), _without_heredocs(line))
    text = _PWD.sub("$PWD", _BACKTICKS.sub(r"$(\1)", text))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = lexer.quotes = lexer.escape = ""
    return list(_tokens(lexer)), inner


def _tokens(lexer: shlex.shlex) -> Iterator[tuple[str, bool]]:
    for token in lexer:
        if token[0] in ";&|()<>\n":
            for operator in _OPERATORS.findall(token):
                yield operator, True
        else:
            yield token.translate(_SHOW), False


def _hidden(quoted: str, inner: list[str]) -> str:
    """What stands for a quoted part while the line is split."""
    if quoted[0] == "#":
        return ""
    if quoted[0] == "\\":
        return quoted[1:].replace("\n", "").translate(_HIDE).translate(_MARK)
    body = quoted[1:-1] if len(quoted) > 1 and quoted[-1] == quoted[0] else quoted[1:]
    if quoted[0] == "'":
        return body.translate(_HIDE).translate(_MARK) or _EMPTY
    body = _BACKTICKS.sub(r"$(\1)", body)
    inner += [match[1] for match in _SUBSTITUTION.finditer(body)]
    body = _ESCAPE.sub(lambda match: match[1].replace("\n", "").translate(_MARK), _PWD.sub("$PWD", body))
    return body.translate(_HIDE).translate(_MARK_GLOB) or _EMPTY


def _without_heredocs(line: str) -> str:
    """The line without the bodies of its here-documents; those without an end are left."""
    position = 0
    for _ in range(_HEREDOCS):
        match = _HEREDOC.search(line, position)
        if match is None:
            break
        position = match.end()
        begin = line.find("\n", position)
        end = re.compile(rf"^\t*{match[2]}$", re.MULTILINE).search(line, begin + 1) if begin >= 0 else None
        if end is not None:
            line = line[:begin] + line[end.end() :]
    return line

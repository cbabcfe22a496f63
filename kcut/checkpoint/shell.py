"""Reads a shell script as far as one needs to see which command decides its exit code.

Not a shell: nothing is expanded, and a script that it cannot follow is None, so that nobody accuses it of anything.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kcut.checkpoint.words import REDIRECTION, Unreadable, Words


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command: its words as written, quotes included, without assignments before it."""

    words: tuple[str, ...]
    assignments: tuple[str, ...]
    #: Where its redirections lead, as written: `out.txt`, `&1`, `/dev/null`.
    targets: tuple[str, ...]
    line: int

    @property
    def name(self) -> str:
        """The command's name, empty for a mere assignment."""
        return self.words[0] if self.words else ""

    @property
    def text(self) -> str:
        """The command without its redirections."""
        return " ".join((*self.assignments, *self.words))


@dataclass(frozen=True, slots=True)
class Compound:
    """A group, subshell, if, loop, case or function: `bodies` are the lists of commands in it.

    For `if` and loops the conditions are apart; `complete` is True for an `if` that has an `else`.
    """

    kind: Literal["group", "subshell", "if", "loop", "case", "function"]
    bodies: "tuple[Script, ...]"
    conditions: "tuple[Script, ...]"
    complete: bool
    targets: tuple[str, ...]
    line: int


Command = Simple | Compound


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`, and whether `!` stands before them."""

    commands: tuple[Command, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """Pipelines joined by `&&` and `||`; `operators[i]` stands before `pipelines[i + 1]`."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...]
    background: bool
    text: str
    line: int


Script = tuple[Statement, ...]

#: Characters; a longer script is not followed.
_LONGEST = 1 << 16
_WORDS_THAT_END_A_LIST = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")


def parse_shell(text: str) -> Script | None:
    """The statements of a script, None if it cannot be followed."""
    if len(text) > _LONGEST:
        return None
    reader = _Reader(text)
    try:
        script = reader.statements(frozenset())
        if reader.at < len(text):
            return None
    except (Unreadable, RecursionError):
        return None
    return script


def walk(script: Script) -> "list[Command]":
    """Every command in a script, those in conditions, bodies and functions too."""
    found: list[Command] = []
    for statement in script:
        for pipeline in statement.pipelines:
            for command in pipeline.commands:
                found.append(command)
                if isinstance(command, Compound):
                    for part in (*command.conditions, *command.bodies):
                        found += walk(part)
    return found


class _Reader(Words):
    """Recursive descent: statements, pipelines, commands."""

    def nested(self) -> None:
        """Skip the commands inside parentheses, up to the closing one."""
        self.statements(frozenset())
        self.expect_operator(")")

    def statements(self, ends: frozenset[str]) -> Script:
        """Statements up to a word of `ends`, a closing parenthesis, `;;` or the end; the ending is not taken."""
        found: list[Statement] = []
        while True:
            self.newlines()
            operator = self.operator()
            if operator in {")", ";;", ";&", ";;&"} or (not operator and self.at >= len(self.text)):
                return tuple(found)
            word = self.peek()
            if word in ends:
                return tuple(found)
            if word in _WORDS_THAT_END_A_LIST or operator not in {"", "("}:
                self.fail()
            found.append(self.statement())

    def statement(self) -> Statement:
        line, start = self.line(), self.at
        pipelines = [self.pipeline()]
        operators: list[str] = []
        while (operator := self.operator()) in {"&&", "||"}:
            self.take(operator)
            self.newlines()
            operators.append(operator)
            pipelines.append(self.pipeline())
        text = self.text[start : self.at].strip()
        if operator in {";", "&", "\n"}:
            self.take(operator)
        elif operator not in {"", ")", ";;", ";&", ";;&"} or (not operator and self.at < len(self.text)):
            self.fail()
        return Statement(tuple(pipelines), tuple(operators), operator == "&", text, line)

    def pipeline(self) -> Pipeline:
        negated = False
        while self.peek() == "!":
            self.word()
            negated = not negated
        commands = [self.command()]
        while (operator := self.operator()) in {"|", "|&"}:
            self.take(operator)
            self.newlines()
            if self.peek() == "!":  # stands before a whole pipeline only
                self.fail()
            commands.append(self.command())
        return Pipeline(tuple(commands), negated)

    def command(self) -> Command:
        line = self.line()
        if self.operator() == "(":
            if self.text.startswith("((", self.at):
                self.skip_arithmetic()
                return Simple(("((",), (), self.redirections(), line)
            self.take("(")
            body = self.statements(frozenset())
            self.expect_operator(")")
            return Compound("subshell", (body,), (), True, self.redirections(), line)
        word = self.peek()
        if word == "{":
            self.word()
            body = self.statements(frozenset({"}"}))
            self.expect("}")
            return Compound("group", (body,), (), True, self.redirections(), line)
        if word == "if":
            return self.conditional(line)
        if word in {"while", "until", "for", "select"}:
            return self.loop(line)
        if word == "case":
            return self.case(line)
        if word == "function":
            self.word()
            self.word()
            return self.function(line)
        return self.simple(line)

    def expect(self, word: str) -> None:
        if self.peek() != word:
            self.fail()
        self.word()

    def expect_operator(self, operator: str) -> None:
        if self.operator() != operator:
            self.fail()
        self.take(operator)

    def conditional(self, line: int) -> Compound:
        conditions: list[Script] = []
        bodies: list[Script] = []
        complete = False
        self.word()
        while True:
            conditions.append(self.statements(frozenset({"then"})))
            self.expect("then")
            bodies.append(self.statements(frozenset({"elif", "else", "fi"})))
            word = self.word()
            if word == "else":
                complete = True
                bodies.append(self.statements(frozenset({"fi"})))
                word = self.word()
            if word == "fi":
                return Compound("if", tuple(bodies), tuple(conditions), complete, self.redirections(), line)
            if word != "elif":
                self.fail()

    def loop(self, line: int) -> Compound:
        conditions: tuple[Script, ...] = ()
        if self.word() in {"while", "until"}:
            conditions = (self.statements(frozenset({"do"})),)
        elif self.operator() == "(":  # for ((i = 0; ...))
            self.skip_arithmetic()
        else:
            while self.peek() not in {"", "do"}:
                self.word()
        while self.operator() in {";", "\n"}:
            self.take(self.operator())
        self.expect("do")
        body = self.statements(frozenset({"done"}))
        self.expect("done")
        return Compound("loop", (body,), conditions, True, self.redirections(), line)

    def case(self, line: int) -> Compound:
        self.word()
        self.word()
        self.newlines()
        self.expect("in")
        bodies: list[Script] = []
        while True:
            self.newlines()
            if self.peek() == "esac":
                self.word()
                return Compound("case", tuple(bodies), (), False, self.redirections(), line)
            if self.operator() == "(":
                self.take("(")
            self.word()
            while self.operator() == "|":
                self.take("|")
                self.word()
            self.expect_operator(")")
            bodies.append(self.statements(frozenset({"esac"})))
            if self.operator() in {";;", ";&", ";;&"}:
                self.take(self.operator())

    def function(self, line: int) -> Compound:
        if self.operator() == "(":
            self.take("(")
            self.expect_operator(")")
        self.newlines()
        body = self.command()
        if not isinstance(body, Compound):
            self.fail()
        return Compound("function", body.bodies, body.conditions, True, body.targets, line)

    def redirections(self) -> tuple[str, ...]:
        """Take the redirections here; where they lead."""
        targets: list[str] = []
        self.blanks()
        while found := REDIRECTION.match(self.text, self.at):
            targets.append(self.redirection(found))
            self.blanks()
        return tuple(targets)

    def redirection(self, found: "re.Match[str]") -> str:
        self.at = found.end()
        operator = found[0].lstrip("0123456789")
        if operator in {"<", ">"} and self.text.startswith("(", self.at):  # <(...): a word of bash
            self.at += 1
            self.nested()
            return ""
        if self.operator() == "" and re.match(r"[<>]\(", self.text[self.at : self.at + 2]):  # < <(...)
            self.at += 2
            self.nested()
            return ""
        word = self.word()
        if not word:
            self.fail()
        if operator in {"<<", "<<-"}:
            self.heredocs.append((re.sub(r"['\"\\]", "", word), operator == "<<-"))
            return ""
        return "&" + word if operator in {">&", "<&"} else word

    def simple(self, line: int) -> Command:
        words: list[str] = []
        assignments: list[str] = []
        targets: list[str] = []
        while True:
            self.blanks()
            if found := REDIRECTION.match(self.text, self.at):
                targets.append(self.redirection(found))
                continue
            if self.operator() == "(" and len(words) == 1 and not assignments:
                return self.function(line)
            if self.operator() or self.at >= len(self.text):
                break
            word = self.word()
            if not word:
                self.fail()
            if word == "[[" and not words:
                self.skip_to("]]")
                self.at += 1
                words.append("[[")
            elif not words and _ASSIGNMENT.match(word):
                assignments.append(word)
            else:
                words.append(word)
        if not (words or assignments or targets):
            self.fail()
        return Simple(tuple(words), tuple(assignments), tuple(t for t in targets if t), line)


def names(commands: Sequence[Command]) -> set[str]:
    """The names of the simple commands among them."""
    return {command.name for command in commands if isinstance(command, Simple)}

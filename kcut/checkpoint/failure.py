"""Which failures a script lets through: whether it can fail at all, and whose failure is lost on the way.

Both answers err on the script's side: what cannot be told apart from intent is not reported.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kcut.checkpoint.pipes import PREPARES, decides_nothing, feeds, is_kept, surely_hands_on, with_something_to_say
from kcut.checkpoint.shell import Command, Compound, Pipeline, Script, Simple, Statement, names, walk

_ALWAYS_TRUE = frozenset({"true", ":", "echo", "printf"})
_LEAVES = frozenset({"exit", "return", "exec", "kill", "source", ".", "eval", "break", "continue"})
#: Commands whose exit code is an answer rather than an accident.
_ANSWERS = frozenset({"test", "[", "[[", "grep", "egrep", "fgrep", "diff", "cmp", "((", "false"})
_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout", "&1", "&2"})
_STATUS_READ = re.compile(r"\$\?|\$\{\?\}|PIPESTATUS")


@dataclass(frozen=True, slots=True)
class Shell:
    """What the shell does of itself when a command fails."""

    errexit: bool = False
    pipefail: bool = False
    nounset: bool = False

    def after(self, statement: Statement) -> "Shell":
        """The same shell after a statement, which may be `set -e`."""
        command = statement.pipelines[0].commands[0]
        return self._set(command.words[1:]) if isinstance(command, Simple) and command.name == "set" else self

    def _set(self, arguments: tuple[str, ...]) -> "Shell":
        shell, words = self, list(arguments)
        while words:
            word = words.pop(0)
            if not re.fullmatch(r"[-+][A-Za-z]+", word):
                break
            on = word[0] == "-"
            letters = set(word[1:])
            named = words.pop(0) if "o" in letters and words else ""
            if "e" in letters or named == "errexit":
                shell = replace(shell, errexit=on)
            if "u" in letters or named == "nounset":
                shell = replace(shell, nounset=on)
            if named == "pipefail":
                shell = replace(shell, pipefail=on)
        return shell


SH = Shell()
BASH = Shell(errexit=True, pipefail=True, nounset=True)


def _switches_midway(script: Script) -> bool:
    """True if a `set` stands anywhere but on its own at the top: what holds when cannot be told."""
    own = sum(not statement.operators and names(statement.pipelines[0].commands) == {"set"} for statement in script)
    return own != sum(isinstance(command, Simple) and command.name == "set" for command in walk(script))


# --- can it fail? ---


def cannot_fail(script: Script, shell: Shell) -> str | None:
    """Why the script exits 0 whatever happens, as a clause; None if it can fail."""
    script = _reached(script)
    if not script or _switches_midway(script) or not _always_zero(script, shell):
        return None
    last = script[-1]
    if last.background:
        return f"its last command, `{_short(last.text)}`, runs in the background"
    if last.operators and last.operators[-1] == "||":
        end = last.pipelines[-1].commands[-1]
        return f"it ends in `|| {_short(end.text if isinstance(end, Simple) else '...')}`"
    if _constant(last.pipelines[0]):
        return f"`{_short(last.text)}` compares constants"
    return f"its last command, `{_short(last.text)}`, always succeeds"


def _reached(script: Script) -> Script:
    """The statements up to an unconditional `exit 0`."""
    for index, statement in enumerate(script):
        command = statement.pipelines[0].commands[0]
        if not statement.operators and isinstance(command, Simple) and command.words == ("exit", "0"):
            return script[: index + 1]
    return script


def _always_zero(script: Script, shell: Shell) -> bool:
    """True if the list of commands can only end with exit code 0, and cannot leave the script before its end."""
    if any(_leaves(command) for command in walk(script)):
        return False
    for statement in script[:-1]:
        shell = shell.after(statement)
        if shell.errexit and not _zero(statement, shell):
            return False
    return not script or _zero(script[-1], shell)


def _leaves(command: Command) -> bool:
    """True if the command can end the script with a failure of its own."""
    if not isinstance(command, Simple):
        return False
    if command.name == "trap":
        return "exit" in command.text
    return ":?" in command.text or (command.name in _LEAVES and command.words != ("exit", "0"))


def _zero(statement: Statement, shell: Shell) -> bool:
    if statement.background:
        return True
    zero = _zero_pipeline(statement.pipelines[0], shell)
    for operator, pipeline in zip(statement.operators, statement.pipelines[1:], strict=True):
        other = _zero_pipeline(pipeline, shell)
        zero = (zero or other) if operator == "||" else (zero and other)
    return zero


def _zero_pipeline(pipeline: Pipeline, shell: Shell) -> bool:
    if _constant(pipeline):
        return True
    if pipeline.negated:
        return len(pipeline.commands) == 1 and names(pipeline.commands) == {"false"}
    if len(pipeline.commands) > 1 and surely_hands_on(pipeline.commands[-1]):
        return all(surely_hands_on(command) or _zero_command(command, shell) for command in pipeline.commands)
    deciding = pipeline.commands if shell.pipefail else pipeline.commands[-1:]
    return all(_zero_command(command, shell) for command in deciding)


def _zero_command(command: Command, shell: Shell) -> bool:
    if not set(command.targets) <= _HARMLESS_TARGETS:
        return False
    if isinstance(command, Compound):
        return command.kind == "function" or all(_always_zero(body, shell) for body in command.bodies)
    if shell.nounset and "$" in command.text:
        return False
    if not command.words:
        return not any("$(" in text or "`" in text for text in command.assignments)
    return command.name in _ALWAYS_TRUE or command.words in {("exit", "0"), ("set", "-e"), ("wait",)}


def _constant(pipeline: Pipeline) -> bool:
    """True if the pipeline is a `test` of words that are what they are, and holds."""
    command = pipeline.commands[0]
    if len(pipeline.commands) > 1 or not isinstance(command, Simple) or command.name not in {"test", "["}:
        return False
    words = command.words[1:-1] if command.name == "[" else command.words[1:]
    if any(char in word for word in words for char in "$`*?[\\"):
        return False
    holds = _holds(tuple(re.sub(r"['\"]", "", word) for word in words))
    return holds is not None and holds is not pipeline.negated


def _holds(words: tuple[str, ...]) -> bool | None:
    """What `test` says of constant words, None if that depends on the world."""
    match words:
        case ("!", *rest) if rest:
            inner = _holds(tuple(rest))
            return None if inner is None else not inner
        case ():
            return False
        case (word,) | ("-n", word):
            return bool(word)
        case ("-z", word):
            return not word
        case (left, "=" | "==", right):
            return left == right
        case (left, "!=", right):
            return left != right
        case (left, "-eq" | "-ge" | "-le", right):
            return True if left == right else None
    return None


# --- what is lost? ---


@dataclass(frozen=True, slots=True)
class Lost:
    """A failure that does not reach the exit code: where, of what, and what to do. `line` counts from 1."""

    line: int
    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a list of commands stands in a script.

    `decides`: the last one's exit code is looked at. `final`: the script ends with it. `heard`: something may look at
    what the commands print.
    """

    decides: bool = True
    final: bool = True
    heard: bool = False


def lost_failures(script: Script, shell: Shell) -> tuple[Lost, ...]:
    """The failures that a script loses, one per kind of loss, in the order of the lines."""
    found: dict[str, Lost] = {}
    script = _reached(script)
    heard = any(isinstance(command, Simple) and command.name == "exec" for command in walk(script))
    for lost in () if _switches_midway(script) else _lost(script, shell, _Place(heard=heard)):
        found.setdefault(lost.advice, lost)
    return tuple(sorted(found.values(), key=lambda lost: lost.line))


def _lost(script: Script, shell: Shell, place: _Place) -> Iterator[Lost]:
    for index, statement in enumerate(script):
        shell = shell.after(statement)
        last = index == len(script) - 1
        following = script[index + 1].text if not last else ""
        if statement.background or _STATUS_READ.search(following):
            continue
        here = replace(place, decides=last and place.decides, final=last and place.final)
        told = "||" not in statement.operators and not here.decides
        if not _given_up(statement, shell):
            yield from _lost_in_pipe(statement, shell, here, told=told and not shell.errexit)
        if told:
            yield from _lost_after(statement, shell)
        final = statement.pipelines[-1].commands[-1]
        if isinstance(final, Compound) and "||" not in statement.operators and final.kind != "function":
            yield from _lost_inside(final, shell, replace(here, heard=place.heard or bool(final.targets)))


def _given_up(statement: Statement, shell: Shell) -> bool:
    """True if the script says in so many words that a failure does not matter: `|| true`."""
    return statement.operators[-1:] == ("||",) and _zero_pipeline(statement.pipelines[-1], shell)


def _lost_in_pipe(statement: Statement, shell: Shell, place: _Place, *, told: bool) -> Iterator[Lost]:
    """What is lost before a `|`. `told`: of the statement's end it is said anyway that it is lost."""
    for index, pipeline in enumerate(() if shell.pipefail else statement.pipelines):
        last = index == len(statement.pipelines) - 1
        lost = [each for each in pipeline.commands[:-1] if isinstance(each, Simple) and not feeds(each)]
        if decides_nothing(pipeline) and (
            (last and place.final) or not (place.heard or is_kept(pipeline) or (last and told))
        ):
            lost += with_something_to_say(pipeline)
        for command in lost:
            yield Lost(
                command.line,
                f"a failure of `{_short(command.text)}` is lost in the pipe",
                "write its output to a file and look at that, or mark the fence `eval bash`, which sets pipefail",
            )


def _lost_after(statement: Statement, shell: Shell) -> Iterator[Lost]:
    """What a statement that is not the last one loses."""
    pipeline = statement.pipelines[-1]
    if names(pipeline.commands[-1:]) & _LEAVES:  # `command && exit 1`
        return
    if not shell.errexit:
        if any(_matters(command) for each in statement.pipelines for command in each.commands[-1:]):
            yield Lost(
                statement.line,
                f"a failure of `{_short(statement.text)}` is lost: the script goes on, and a later command decides",
                "begin the block with `set -e`, or join the commands by `&&`",
            )
    elif pipeline.negated:
        yield Lost(
            statement.line,
            f"`{_short(statement.text)}` never stops the script: `set -e` does not look at a command after `!`",
            "write `if COMMAND; then exit 1; fi`",
        )
    elif statement.operators and names(pipeline.commands[-1:]) & _ANSWERS:
        first = statement.pipelines[0].commands[-1]
        yield Lost(
            statement.line,
            f"a failure of `{_short(first.text) if isinstance(first, Simple) else '...'}` is lost: "
            "`set -e` does not look at what stands before `&&`",
            "give each command a line of its own",
        )


def _lost_inside(compound: Compound, shell: Shell, place: _Place) -> Iterator[Lost]:
    for statement in (each for condition in compound.conditions for each in condition):
        if decides_nothing(
            statement.pipelines[-1]
        ):  # of other pipes the last command is the answer that is asked for
            yield from _lost_in_pipe(statement, shell, replace(place, final=False), told=False)
    for body in compound.bodies:
        if compound.kind != "loop":
            yield from _lost(body, shell, replace(place, decides=place.decides or not shell.errexit))
            continue
        leaves = any(isinstance(command, Simple) and command.name in _LEAVES for command in walk(body))
        if body and not shell.errexit and not leaves and _matters_in_loop(body[-1]):
            yield Lost(
                body[-1].line,
                f"a failure of `{_short(body[-1].text)}` is lost in every round but the last",
                "write `|| exit 1` after it, or begin the block with `set -e`",
            )
        yield from _lost(body, shell, replace(place, decides=not shell.errexit, final=False))


def _matters_in_loop(statement: Statement) -> bool:
    if "||" in statement.operators or statement.background:
        return False
    return any(_matters(command) for command in statement.pipelines[-1].commands[-1:])


def _matters(command: Command) -> bool:
    """True if a failure of the command says something that no later command would see."""
    if isinstance(command, Simple):
        return bool(command.words) and not PREPARES.fullmatch(command.name)
    if command.kind not in {"group", "subshell"}:
        return False
    return any(_matters(inner) for inner in walk(command.bodies[0]))


def _short(text: str, limit: int = 60) -> str:
    """The first line of a command, cut."""
    first = " ".join(text.split("\n", 1)[0].split())
    return first if len(first) <= limit and "\n" not in text else first[: limit - 3].rstrip() + "..."

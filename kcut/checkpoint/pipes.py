"""What becomes of a failure before a `|`: which commands only hand on, and which have something to say.

Where the shell does not set pipefail, the last command's exit code is that of the pipe.
"""

import re

from kcut.checkpoint.shell import Command, Compound, Pipeline, Simple

#: Commands that set the stage: what matters is seen by the commands after them.
PREPARES = re.compile(
    r"true|:|echo|printf|set|trap|export|unset|readonly|local|declare|typeset|umask|shift|mkdir|rm|rmdir|touch|sleep|"
    r"wait|kill|exit|return|break|continue|alias|shopt|ulimit|getopts|read|hash|type|eval|exec"
)
#: Commands that fail only where the command after them in the pipe sees it: their input is a file or a constant.
_FEEDS = re.compile(
    r"cat|yes|seq|ls|find|sort|head|tail|sed|awk|cut|tr|[ef]?grep|uniq|wc|tac|rev|nl|od|env|pwd|date|basename|"
    r"dirname|tee|paste|join|comm|fold|column|base64|git|diff|cmp|xargs"
)
#: Commands that hand on or count what they are given, and succeed whatever that is.
_HANDS_ON = re.compile(
    r"cat|tee|head|tail|sort|wc|tr|cut|uniq|nl|rev|tac|paste|fold|fmt|pr|column|expand|unexpand|od|xxd|hexdump|sed|"
    r"less|more"
)
#: What makes one of them look at what it is given: `sort -c`, `sed /bad/q1`.
_LOOKS = re.compile(r"sort\s(?:.*\s)?(?:-[A-Za-z]*[cC]|--check)|sed .*[qQ] *[0-9]", re.DOTALL)
#: Those of them that can fail neither for want of a file nor by a wrong option.
_SURELY_HANDS_ON = re.compile(r"cat|tee|nl|uniq|sort(?: -[nru]+)?|wc(?: -[clw]+)?|(?:head|tail)(?: -[0-9]+)?")
#: Commands before a `|` that have nothing to fail at.
_CONSTANTS = frozenset({"yes", "seq", "pwd", "date", "env"})


def feeds(command: Simple) -> bool:
    """True if the command that reads the output can tell, as far as it matters, that this one failed."""
    return not command.words or any(words.fullmatch(command.name) for words in (PREPARES, _FEEDS))


def decides_nothing(pipeline: Pipeline) -> bool:
    """True if the last of several commands in a pipe succeeds whatever the others hand it."""
    last = pipeline.commands[-1]
    if len(pipeline.commands) == 1 or not isinstance(last, Simple):
        return False
    return bool(_HANDS_ON.fullmatch(last.name)) and not _LOOKS.match(last.text)


def surely_hands_on(command: Command) -> bool:
    """True if the command, somewhere behind a `|`, can only succeed."""
    return isinstance(command, Simple) and not command.targets and bool(_SURELY_HANDS_ON.fullmatch(command.text))


def is_kept(pipeline: Pipeline) -> bool:
    """True if a pipe's output goes to a file, where a later command can look at it."""
    last = pipeline.commands[-1]
    return bool(last.targets) or (isinstance(last, Simple) and last.name == "tee" and len(last.words) > 1)


def with_something_to_say(pipeline: Pipeline) -> list[Simple]:
    """The commands before a pipe's last one whose failure is an answer, or the want of what they were to read."""
    found: list[Simple] = []
    for index, part in enumerate(pipeline.commands[:-1]):
        command = _last_of(part)
        if command is None or not command.words:
            continue
        reads_on = _HANDS_ON.fullmatch(command.name) and (index or all(word[0] == "-" for word in command.words[1:]))
        if not (reads_on or command.name in _CONSTANTS or PREPARES.fullmatch(command.name)):
            found.append(command)
    return found


def _last_of(command: Command) -> Simple | None:
    """The simple command whose exit code is the command's, None if that cannot be told."""
    if isinstance(command, Compound):
        if command.kind not in {"group", "subshell"} or "||" in command.bodies[0][-1].operators:
            return None
        command = command.bodies[0][-1].pipelines[-1].commands[-1]
    return command if isinstance(command, Simple) else None

"""The line that runs a check again by hand."""

import re

from kcut.checkpoint.spec import Check

#: What would change or end the shell that the line is pasted into, and not plainly so.
_ABOUT_ITS_SHELL = re.compile(r"(?:^|[;&|({]|\b(?:then|do|else)\s)\s*(?:set|trap|exec)\b|\$\$")


def rerun(check: Check) -> str:
    """One line for a shell prompt that runs the check as it was run: printable characters only.

    A command of one line stands as it is; else it is quoted, line ends and invisible characters escaped.
    """
    command = check.command.strip("\n")
    visible = command.isprintable()
    if check.shell == "sh" and visible and not _ABOUT_ITS_SHELL.search(command):
        return command
    shell = "sh" if check.shell == "sh" else "bash -euo pipefail"
    if visible:
        return f"{shell} -c {_quoted(command)}"
    # printf's %b is in every POSIX shell, $'...' is not
    return f"""{shell} -c "$(printf '%b' {_quoted("".join(map(_escaped, command)))})\""""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _escaped(char: str) -> str:
    """`char` as printf's `%b` reads it. `!` would be history expansion inside the double quotes around it."""
    if char in {"\n", "\t", "\\"}:
        return {"\n": "\\n", "\t": "\\t", "\\": "\\\\"}[char]
    if char.isprintable() and char != "!":
        return char
    return "".join(f"\\0{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))

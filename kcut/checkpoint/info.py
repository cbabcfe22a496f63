"""The info string of a check's fence: `eval`, `eval bash`, `eval timeout=5`."""

import re
from typing import Literal

from kcut.checkpoint.spec import DEFAULT_TIMEOUT
from kcut.model.errors import UsageFault

#: The longest a check may ask for, in seconds: a week.
MAX_TIMEOUT = 604_800
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_REMEDY = "after eval may stand: sh or bash, timeout=SECONDS"


def is_eval(info: str) -> bool:
    """True if the fence holds a check: its first word is exactly `eval`."""
    return _words(info)[:1] == ["eval"]


def is_nearly_eval(info: str) -> bool:
    """True if the fence was perhaps meant to hold a check."""
    first = "".join(_words(info)[:1]).casefold().strip("{}.:,")
    return first in {"eval", "evals", "evaluate"}


def read_info(info: str, where: str) -> tuple[Literal["sh", "bash"], float]:
    """The shell, and the timeout in seconds. Raises UsageFault on a word it does not know; `where` begins it."""
    shell: Literal["sh", "bash"] | None = None
    timeout: float | None = None
    for word in _words(info)[1:]:
        if word in {"sh", "bash"} and shell is None:
            shell = "bash" if word == "bash" else "sh"
        elif word.startswith("timeout=") and timeout is None:
            timeout = _timeout(word.removeprefix("timeout="), where)
        elif word in {"sh", "bash"} or word.startswith("timeout="):
            raise UsageFault(f"{where}: {word!r} is one too many in an eval fence", remedy=_REMEDY)
        else:
            raise UsageFault(f"{where}: an eval fence does not know {word!r}", remedy=_REMEDY)
    return shell or "sh", DEFAULT_TIMEOUT if timeout is None else timeout


def _timeout(text: str, where: str) -> float:
    if _SECONDS.fullmatch(text) and 0 < float(text) <= MAX_TIMEOUT:
        return float(text)
    raise UsageFault(
        f"{where}: timeout={text!r} is no number of seconds",
        remedy=f"write a number above 0 and at most {MAX_TIMEOUT} (a week), without a unit: timeout=90",
    )


def _words(info: str) -> list[str]:
    from markdown_it.common.utils import unescapeAll

    return str(unescapeAll(info)).split()

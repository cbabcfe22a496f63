"""The brief that a trial gives to the agent command: what the agent itself must not see."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kcut.agents.values import DECODER, count, mapping, text
from kcut.system.files import read_regular

VARIABLE = "HARNESS_TRIAL_BRIEF"
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Brief:
    """`kind` and `name` of the component, if there is one; whether it is to be present; the oracle's paths and names.

    `session`: a UUID for the agent's session. `round` 0 is the first; in later ones the prompt is feedback.
    `variables`: names of the variables that the component sets.
    """

    kind: str | None = None
    name: str | None = None
    present: bool = False
    oracle: tuple[str, ...] = ()
    session: str | None = None
    round: int = 0
    variables: tuple[str, ...] = ()


def take_brief(environ: Mapping[str, str]) -> Brief | None:
    """The brief that the environment names, which is removed at once; None without one, or if it is none."""
    name = environ.get(VARIABLE)
    if not name:
        return None
    path = Path(name)
    try:
        data = read_regular(path, limit=_LARGEST)
        path.unlink()
        document = DECODER.decode(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    component = mapping(document.get("component"))
    return Brief(
        kind=text(component.get("kind")) or None,
        name=text(component.get("name")) or None,
        present=document.get("present") is True,
        oracle=_words(document.get("oracle")),
        session=text(document.get("session")) or None,
        round=count(document.get("round")) or 0,
        variables=_words(document.get("variables")),
    )


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()

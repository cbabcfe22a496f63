"""Which column holds what: the names that trials are recorded under, and the nearest one where none fits. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from kcut.model.errors import UsageFault

#: The fields of a row, and the names of columns that hold them: those further left win.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "task": ("task", "task_id", "task_name", "instance_id", "instance", "problem", "case"),
    "cohort": ("cohort", "mode", "arm", "variant", "condition", "group", "enabled"),
    "pass": ("pass", "passed", "success", "resolved", "solved", "outcome"),
    "cost": ("cost", "cost_usd", "total_cost_usd", "total_cost", "usd"),
    "tokens": ("tokens", "total_tokens", "n_tokens"),
    "input_tokens": ("input_tokens", "in_tokens", "tokens_in", "prompt_tokens"),
    "output_tokens": ("output_tokens", "out_tokens", "tokens_out", "completion_tokens"),
    "wall": (
        "wall",
        "wall_ms",
        "duration_ms",
        "wall_s",
        "wall_seconds",
        "duration_s",
        "duration_seconds",
        "seconds",
        "duration",
    ),
    "turns": ("turns", "num_turns", "n_turns"),
    "void": ("void", "void_reason"),
    "cli": ("cli", "agent", "harness", "scaffold"),
    "model": ("model", "model_name", "model_id"),
    "pair": ("pair", "pair_id"),
}
REQUIRED = ("task", "cohort", "pass")
#: Fields of which two candidates are a question, not a preference: a wrong guess would turn the verdict round.
DECISIVE = frozenset({"cohort", "pass"})

#: So much of a text from a file is repeated in a message.
_REPEATED = 60
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")


def shown(value: object) -> str:
    """A value from a file as a message repeats it: quoted, on one line, without anything that acts on a terminal."""
    if not isinstance(value, str | bool | int | float):
        return "a nested value" if value is not None else "nothing"
    text = repr(value[:1000] if isinstance(value, str) else value)
    return text if len(text) <= _REPEATED else f"{text[: _REPEATED // 2]}...{text[-_REPEATED // 3 :]}"


def normalised(name: str) -> str:
    """A column's name as it is compared: `costUsd`, `Cost USD` and `cost-usd` are `cost_usd`."""
    return _OTHER.sub("_", _HUMP.sub("_", name).lower()).strip("_")


def columns_of(names: Collection[str], mapping: Mapping[str, str], where: str) -> dict[str, str]:
    """The column of each field that there is, by `mapping` (field to name) first, else by the built-in names.

    `where` names the file in the UsageFault for a column that is missing, doubtful, or there twice.
    """
    known: dict[str, list[str]] = {}
    for name in names:
        known.setdefault(normalised(name), []).append(name)
    found = {field: _mapped(field, name, names, where) for field, name in mapping.items()}
    taken = set(found.values())
    for field, synonyms in SYNONYMS.items():
        if field in found:
            continue
        fits = [name for synonym in synonyms for name in known.get(synonym, ()) if name not in taken]
        if len(fits) > 1 and (field in DECISIVE or normalised(fits[0]) == normalised(fits[1])):
            both = f"{shown(fits[0])} and {shown(fits[1])}"
            raise UsageFault(
                f"{where}: both {both} could be the column {field}", remedy=f"say which: --map {field}=NAME"
            )
        if fits:
            found[field] = fits[0]
            taken.add(fits[0])
    for field in REQUIRED:
        if field not in found:
            raise _missing(field, names, where)
    return found


def _mapped(field: str, name: str, names: Collection[str], where: str) -> str:
    if name in names:
        return name
    raise UsageFault(f"{where}: there is no column {shown(name)} (--map {field}={name}){_near(name, names)}")


def _missing(field: str, names: Collection[str], where: str) -> UsageFault:
    near = _nearest(SYNONYMS[field], names)
    example = near if near is not None and near.isidentifier() else "NAME"
    hint = f"; the nearest is {shown(near)}" if near else f"; there are {_listed(names)}"
    return UsageFault(f"{where}: there is no column {field}{hint}", remedy=f"name it: --map {field}={example}")


def _near(name: str, names: Collection[str]) -> str:
    near = _nearest((name,), names)
    return f"; the nearest is {shown(near)}" if near else f"; there are {_listed(names)}"


def _nearest(wanted: Iterable[str], names: Collection[str]) -> str | None:
    """The name most like one of those wanted, None if none is like any."""
    comparable = {normalised(name[:100]): name for name in sorted(names)}
    for word in wanted:
        near = get_close_matches(normalised(word), comparable, n=1, cutoff=0.6)
        if near:
            return comparable[near[0]]
    return None


def _listed(names: Collection[str]) -> str:
    """`task, mode and 3 more`."""
    quoted = [shown(name) for name in list(names)[:6]]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return (", ".join(quoted) or "none") + more

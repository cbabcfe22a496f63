"""Who does the task: one agent, or several, each of which is a benchmark of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kcut.keys import check_keys
from kcut.model.ask import Ask
from kcut.model.errors import UsageFault
from kcut.toml import read_toml

KEYS = ("agent", "model", "effort", "max_turns", "arg", "executable", "price")
EXAMPLE = 'e.g. [[performer]] with agent = "claude", model = "opus"'


@dataclass(frozen=True, slots=True)
class Performer:
    """An agent with its model; `price` is US dollars per million tokens by kind, None if it is not said."""

    agent: str
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    args: tuple[str, ...] = ()
    executable: str | None = None
    price: Mapping[str, float] | None = None


def read_performers(cwd: Path, file: str) -> tuple[Performer, ...]:
    """The performers of a TOML file, in its order: an array of tables, `[[performer]]`. Raises UsageFault."""
    document = read_toml(cwd / file, name=file, example=EXAMPLE)
    entries: Any = document.get("performer", document.get("performers"))
    if len(document) != 1 or not isinstance(entries, list) or not entries:
        raise UsageFault(f"{file}: performers are an array of tables", remedy=EXAMPLE)
    found = tuple(_performer(f"{file}: performer {number}", entry) for number, entry in enumerate(entries, 1))
    for number, each in enumerate(found):
        if any(_same(each, other) for other in found[:number]):
            raise UsageFault(f"{file}: {each.agent} {each.model or ''} stands there twice", remedy="keep one of them")
    return found


def _same(one: Performer, other: Performer) -> bool:
    return (one.agent, one.model, one.effort) == (other.agent, other.model, other.effort)


def _performer(where: str, entry: Any) -> Performer:
    if not isinstance(entry, dict):
        raise UsageFault(f"{where} is no table", remedy=EXAMPLE)
    check_keys(where, entry, KEYS)
    for key in ("agent", "model", "effort", "executable"):
        if key in entry and not (isinstance(entry[key], str) and entry[key].strip() and "\0" not in entry[key]):
            raise UsageFault(f"{where}: {key} must be a text that is not empty", remedy=EXAMPLE)
    if "agent" not in entry:
        raise UsageFault(f"{where} has no agent", remedy=EXAMPLE)
    turns, args, price = entry.get("max_turns"), entry.get("arg", []), entry.get("price")
    if turns is not None and (isinstance(turns, bool) or not isinstance(turns, int) or turns < 1):
        raise UsageFault(f"{where}: max_turns must be a whole number of at least 1 (got {turns})")
    if not isinstance(args, list) or not all(isinstance(arg, str) and "\0" not in arg for arg in args):
        raise UsageFault(f"{where}: arg must be a list of texts", remedy='e.g. arg = ["--verbose"]')
    if price is not None and entry.get("model") is None:
        raise UsageFault(f"{where}: a price needs the model that it is of", remedy='add model = "..."')
    if price is not None and not isinstance(price, dict):
        raise UsageFault(f"{where}: price must be a table", remedy="e.g. price = { input = 1.25, output = 10 }")
    return Performer(
        agent=entry["agent"],
        model=entry.get("model"),
        effort=entry.get("effort"),
        max_turns=turns,
        args=tuple(args),
        executable=entry.get("executable"),
        price=price,
    )


def performers(
    ask: Ask, agents: Sequence[str], models: Sequence[str], file: str | None, cwd: Path
) -> tuple[Ask, ...]:
    """What was asked, once for each performer; once as it is if no agent is to do the task.

    One agent takes each of the models; several agents take a model each, in their order, or all their default.
    Raises UsageFault for what does not go together.
    """
    if file is not None:
        if agents or models:
            raise UsageFault("--performers and --agent or --model both given", remedy="name all of them in the file")
        return tuple(_with(ask, each) for each in read_performers(cwd, file))
    if not agents:
        return (_without(ask, models),)
    pairs: list[tuple[str, str | None]]
    if len(agents) == 1:
        pairs = [(agents[0], model) for model in models or (None,)]
    elif len(models) in {0, len(agents)}:
        pairs = list(zip(agents, models or (None,) * len(agents), strict=True))
    else:
        raise UsageFault(
            f"{len(agents)} agents and {len(models)} models: which runs which?",
            remedy="give a model for each agent, in their order, or use --performers FILE",
        )
    if len(set(pairs)) < len(pairs):
        raise UsageFault("the same agent and model twice", remedy="a performer is run once: raise --k instead")
    return tuple(replace(ask, agent=agent, model=model) for agent, model in pairs)


def _without(ask: Ask, models: Sequence[str]) -> Ask:
    """The ask of a run without an agent. UsageFault for options that only an agent could follow."""
    given = {
        "--model": bool(models),
        "--prompt": ask.prompt is not None,
        "--prompt-file": ask.prompt_file is not None,
        "--effort": ask.effort is not None,
        "--max-turns": ask.max_turns is not None,
        "--agent-arg": bool(ask.agent_arg),
        "--agent-executable": ask.agent_executable is not None,
    }
    for option in (name for name, there in given.items() if there):
        raise UsageFault(f"{option} needs an agent", remedy="add --agent claude, or leave it out")
    return ask


def _with(ask: Ask, performer: Performer) -> Ask:
    price = None if performer.price is None or performer.model is None else {performer.model: dict(performer.price)}
    return replace(
        ask,
        agent=performer.agent,
        model=performer.model,
        effort=performer.effort or ask.effort,
        max_turns=performer.max_turns or ask.max_turns,
        agent_arg=(*ask.agent_arg, *performer.args),
        agent_executable=performer.executable or ask.agent_executable,
        price=price,
    )

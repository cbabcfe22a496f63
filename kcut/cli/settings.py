"""The configuration file of a checkout, kcut.toml or [tool.kcut] in pyproject.toml: one table per command."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kcut.model.errors import NotReady, UsageFault
from kcut.report.text import plain
from kcut.system.files import read_regular

_LIMIT = 1 << 22  # bytes
OWN_FILE, SHARED_FILE = "kcut.toml", "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """A checkout's configuration file: where it lies, and its tables, one per command."""

    path: Path
    tables: Mapping[str, Any]

    def heading(self, command: str) -> str:
        """How the table of a command is headed in this file."""
        return f"[tool.kcut.{command}]" if self.path.name == SHARED_FILE else f"[{command}]"

    def place(self, command: str, key: str) -> str:
        """A key as an error names it: file, table, key."""
        return f"{self.path.name}: {plain(key)} in {self.heading(command)}"


def find_settings(cwd: Path) -> Settings | None:
    """The configuration of the checkout that `cwd` is in; None outside of one and where there is none.

    Raises UsageFault if it cannot be read, is no TOML, stands in both files, or has a table of no command.
    """
    # most checkouts have neither file, and then git need not be asked where the root is
    if not any(os.path.lexists(folder / name) for folder in (cwd, *cwd.parents) for name in (OWN_FILE, SHARED_FILE)):
        return None
    from kcut.system.git import toplevel

    try:
        root = toplevel(cwd)
    except NotReady:
        return None
    own, shared = _read(root / OWN_FILE), _read(root / SHARED_FILE)
    tool = (shared or {}).get("tool")
    section = tool.get("kcut") if isinstance(tool, dict) else None
    if own is not None and section is not None:
        raise UsageFault(
            f"kcut is configured twice, in {OWN_FILE} and in [tool.kcut] of {SHARED_FILE}", remedy="keep one of them"
        )
    if section is not None and not isinstance(section, dict):
        raise UsageFault(f"{SHARED_FILE}: tool.kcut must be a table, not {_word(section)}")
    if own is not None:
        return _checked(Settings(root / OWN_FILE, own))
    return None if section is None else _checked(Settings(root / SHARED_FILE, section))


def defaults(settings: Settings, command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """The values that `settings` gives the parameters of `command`, by parameter name.

    Raises UsageFault for an unknown key, a key given twice, and a value of the wrong type.
    """
    name = table_name(ctx)
    known = {
        text.removeprefix("--"): param for param in options(command) for text in param.opts + param.secondary_opts
    }
    values: dict[str, Any] = {}
    for key, value in _table(settings, ctx).items():
        place = settings.place(name, key)
        param = known.get(key.replace("_", "-"))
        if param is None:
            near = nearest(key.replace("_", "-"), known)
            raise UsageFault(
                f"{settings.path.name}: unknown key {plain(key)} in {settings.heading(name)}",
                remedy=f"did you mean: {near}" if near else f"see: kcut {name.replace('.', ' ')} -h",
            )
        if param.name in values:
            raise UsageFault(f"{place} is given twice, under two spellings")
        values[param.name or ""] = _value(param, value, ctx, settings, key=key)
    return values


def table_name(ctx: click.Context) -> str:
    """What the table of a context's command is called: `benchmark`, or `score.compliance` for one of a group."""
    return ".".join(inner.command.name or "" for inner in _chain(ctx))


def _chain(ctx: click.Context) -> list[click.Context]:
    """The contexts from the first below the program's own to `ctx`."""
    chain = [ctx]
    while (parent := chain[0].parent) is not None and parent.parent is not None:
        chain.insert(0, parent)
    return chain


def _table(settings: Settings, ctx: click.Context) -> Mapping[str, Any]:
    """The table of a context's command, empty if there is none. UsageFault if a group's table holds anything else."""
    table: Mapping[str, Any] = settings.tables
    for inner in _chain(ctx):
        group = inner.parent.command if inner.parent is not None else None
        if table is not settings.tables and isinstance(group, click.Group):
            _hold_commands(settings, table, group, inner)
        table = table.get(inner.command.name or "", {})
    return table


def _hold_commands(settings: Settings, table: Mapping[str, Any], group: click.Group, inner: click.Context) -> None:
    """UsageFault if the table of a group holds anything but tables of its commands."""
    for key, value in table.items():
        if key not in group.list_commands(inner) or not isinstance(value, dict):
            raise UsageFault(
                f"{settings.path.name}: {plain(key)} in {settings.heading(group.name or '')} is no command's table",
                remedy=f"write options below {settings.heading(table_name(inner))}",
            )


def options(command: click.Command) -> list[click.Option]:
    """The options of a command that have a long name and a value to keep."""
    return [
        param
        for param in command.params
        if isinstance(param, click.Option) and param.expose_value and long_names(param)
    ]


def long_names(param: click.Option) -> list[str]:
    """The names of an option that begin with two dashes, those that switch it on first."""
    return [text for text in param.opts + param.secondary_opts if text.startswith("--")]


def switches_off(param: click.Option) -> bool:
    """True for a flag that only has a negative name, such as `--no-color`: giving it means False."""
    return param.is_flag and param.is_bool_flag and param.flag_value is False


def _read(path: Path) -> dict[str, Any] | None:
    """The tables of a TOML file, None if there is none, or if it is a broken one that says nothing of kcut."""
    import tomllib

    try:
        text = read_regular(path, limit=_LIMIT).decode("utf-8-sig")
    except OSError as error:
        absent = isinstance(error, FileNotFoundError) or os.path.isdir(path)  # noqa: PTH112  # may not be searched
        if absent and (path.name == SHARED_FILE or not os.path.lexists(path)):
            return None  # what else has kcut's own name is meant for kcut
        raise UsageFault(f"{path.name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageFault(f"{path.name} is not UTF-8 (byte {error.start + 1})") from error
    if path.name == SHARED_FILE and "kcut" not in text:
        return None
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageFault(f"{path.name} is not valid TOML: {plain(str(error))}") from error


def _checked(settings: Settings) -> Settings:
    """`settings`, if every table is of a command. Raises UsageFault with the nearest name otherwise."""
    from kcut.cli import COMMANDS

    file = settings.path.name
    for name, table in settings.tables.items():
        if name not in COMMANDS:
            near = nearest(name, COMMANDS)
            example = settings.heading("benchmark")
            if isinstance(table, dict):
                remedy = f"did you mean: {settings.heading(near)}" if near else f"one table per command: {example}"
                raise UsageFault(f"{file}: {settings.heading(plain(name))} is the table of no command", remedy=remedy)
            raise UsageFault(
                f"{file}: {plain(name)} stands outside of a command's table", remedy=f"write it below {example}"
            )
        if not isinstance(table, dict):
            raise UsageFault(f"{file}: {name} must be a table of options, not {_word(table)}")
    return settings


def _value(param: click.Option, value: Any, ctx: click.Context, settings: Settings, *, key: str) -> Any:
    """A value of the file as click takes it. Raises UsageFault, naming file and key, if the option does not."""
    place = settings.place(table_name(ctx), key)
    if param.is_flag and param.is_bool_flag:
        if not isinstance(value, bool):
            raise UsageFault(f"{place} must be true or false, not {_word(value)}")
        negative = f"--{key.replace('_', '-')}" in param.secondary_opts or switches_off(param)
        return value is not negative
    if param.multiple or param.nargs != 1:
        if not isinstance(value, list):
            raise UsageFault(f"{place} must be a list, not {_word(value)}")
        return [_single(param, item, f"{place} (each item)", ctx, settings) for item in value]
    return _single(param, value, place, ctx, settings)


def _single(param: click.Option, value: Any, place: str, ctx: click.Context, settings: Settings) -> Any:
    kinds, word = _expected(param)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise UsageFault(f"{place} must be {word}, not {_word(value)}")
    if isinstance(param.type, click.Path) and isinstance(value, str):
        # a path in the file is meant from where the file lies, whatever folder kcut was started in
        value = os.path.relpath(settings.path.parent / value)
    try:
        param.type.convert(value, param, ctx)
    except click.BadParameter as error:
        raise UsageFault(f"{place}: {sentence(error.message)}") from error
    except UsageFault as error:
        opening = f"{long_names(param)[0]} "
        text = error.message
        moved = place + text.removeprefix(opening.rstrip()) if text.startswith(opening) else f"{place}: {text}"
        raise UsageFault(moved, remedy=error.remedy) from error
    return value


def _expected(param: click.Option) -> tuple[tuple[type, ...], str]:
    """The Python types of the TOML values that an option takes, and their name."""
    if param.count or isinstance(param.type, type(click.INT)):
        return (int,), "an integer"
    if isinstance(param.type, type(click.FLOAT)):
        return (int, float), "a number"
    if isinstance(param.type, type(click.STRING) | click.Choice | click.Path | click.File):
        return (str,), "a string"
    return (str, int, float), "a string or a number"


def _word(value: object) -> str:
    words: dict[type, str] = {
        bool: "true or false",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "a table",
    }
    return words.get(type(value), "a date or time")


def sentence(text: str) -> str:
    """A message of click's without its full stop."""
    return text.rstrip(".")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, None if none is."""
    import difflib

    near = difflib.get_close_matches(name, list(names), n=1)
    return near[0] if near else None

"""Where options come from: the command line, then KCUT_<COMMAND>_<OPTION>, then kcut.toml or [tool.kcut].

A command that takes part is made with `cls=ConfiguredCommand`.
"""

import os
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kcut.cli.settings import (
    Settings,
    defaults,
    find_settings,
    long_names,
    nearest,
    options,
    sentence,
    switches_off,
    table_name,
)
from kcut.model.errors import KcutError, UsageFault
from kcut.report.text import plain


class ConfiguredCommand(click.Command):
    """A command whose options may stand in the environment and in the checkout's configuration.

    The help text and completion work whatever the configuration holds. An error about a value names where the
    value stands.
    """

    #: False for a command that has to work whatever is wrong with the configuration.
    strict = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with the configuration as the defaults below command line and environment."""
        _name_variables(ctx)
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        settings, fault = _settings(ctx)
        fault = fault if self.strict else None
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption:
            raise
        except (click.UsageError, KcutError) as error:
            better = fault or _located(error, ctx, settings)
            if better is None:
                raise
            raise better from error
        if fault:
            raise fault
        ctx.meta[_SETTINGS] = settings
        _warn_of_unknown_variables(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """As click's; an error that begins with an option's name says where its value stands."""
        try:
            return super().invoke(ctx)
        except UsageFault as error:
            better = _located(error, ctx, ctx.meta.get(_SETTINGS))
            if better is None:
                raise
            raise better from error


_SETTINGS = "kcut.cli.config.settings"


class TolerantCommand(ConfiguredCommand):
    """A configured command that does without a configuration that is wrong."""

    strict = False


def given(ctx: click.Context) -> tuple[str, ...]:
    """The options that stand on the command line itself, by their long names, such as `--k`."""
    return tuple(
        long_names(param)[0] for param in options(ctx.command) if _source(ctx, param) is ParameterSource.COMMANDLINE
    )


def _source(ctx: click.Context, param: click.Parameter) -> ParameterSource | None:
    return ctx.get_parameter_source(param.name) if param.name else None


def _settings(ctx: click.Context) -> tuple[Settings | None, KcutError | None]:
    """The settings in force, set as the context's defaults, and what is wrong with them."""
    try:
        settings = find_settings(Path.cwd())
        ctx.default_map = (defaults(settings, ctx.command, ctx) if settings else {}) | _switched_off(ctx)
    except KcutError as error:
        return None, error
    except OSError:  # the current folder is gone: the command itself will say so
        return None, None
    return settings, None


def _located(error: Exception, ctx: click.Context, settings: Settings | None) -> UsageFault | None:
    """An error about a value, with the place where the value stands; None if that is the command line."""
    if isinstance(error, click.BadParameter):
        place = _place(ctx, error.param, settings) if error.param else None
        return UsageFault(f"{place}: {sentence(error.message)}") if place else None
    if isinstance(error, UsageFault):
        first, _, rest = error.message.partition(" ")
        param = next((param for param in options(ctx.command) if first in param.opts), None)
        place = _place(ctx, param, settings) if param else None
        return UsageFault(f"{place} {rest}", remedy=error.remedy) if place else None
    return None


def _place(ctx: click.Context, param: click.Parameter, settings: Settings | None) -> str | None:
    """Where the value of a parameter stands, None if on the command line or nowhere."""
    source = _source(ctx, param)
    if source is ParameterSource.ENVIRONMENT and isinstance(param.envvar, str):
        return param.envvar
    if source is ParameterSource.DEFAULT_MAP and settings is not None and isinstance(param, click.Option):
        return settings.place(table_name(ctx), long_names(param)[0].removeprefix("--"))
    return None


def _variable(ctx: click.Context, param: click.Option) -> str:
    return f"{ctx.auto_envvar_prefix}_{long_names(param)[0].removeprefix('--').replace('-', '_').upper()}"


def _name_variables(ctx: click.Context) -> None:
    """Name each option's variable after the option; click would name it after the function's parameter."""
    for param in options(ctx.command):
        if switches_off(param):
            param.allow_from_autoenv = False
        elif ctx.auto_envvar_prefix:
            param.envvar = param.envvar or _variable(ctx, param)


def _switched_off(ctx: click.Context) -> dict[str, bool]:
    """What the variables of options such as `--no-color` say: click would take a `1` there for their opposite."""
    values = {}
    for param in options(ctx.command):
        text = os.environ.get(_variable(ctx, param), "") if switches_off(param) else ""
        if text:
            try:
                values[param.name or ""] = not click.BOOL.convert(text, param, ctx)
            except click.BadParameter as error:
                raise UsageFault(f"{_variable(ctx, param)}: {sentence(error.message)}") from error
    return values


def _warn_of_unknown_variables(ctx: click.Context) -> None:
    """Say on stderr which variables with this command's prefix are no option of it: likely a slip of the pen."""
    if not ctx.auto_envvar_prefix:
        return
    prefix = f"{ctx.auto_envvar_prefix}_"
    known = {_variable(ctx, param) for param in options(ctx.command)}
    for name in sorted(name for name in os.environ if name.startswith(prefix) and name not in known):
        near = nearest(name, known)
        hint = f"; did you mean: {near}" if near else ""
        click.echo(f"kcut: {plain(name)} is no option of {ctx.command_path} and is ignored{hint}", err=True)

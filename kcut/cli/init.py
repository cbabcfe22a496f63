"""`kcut init`: write the beginning of a file that kcut reads."""

import errno
import os
import shlex
from pathlib import Path

import click

from kcut.cli.checkout import root
from kcut.cli.config import ConfiguredCommand
from kcut.cli.settings import nearest
from kcut.model.errors import NotReady, UsageFault
from kcut.report.text import plain

HELP = """Write a manifest for a component that kcut does not find by itself, .claude/kcut/components/NAME.toml.

The manifest says what a trial WITH the component has and one WITHOUT has not: files, a patch, a block of text in a
file, entries of a JSON file, environment variables, or what a command makes. Nothing is ever overwritten.

\b
Examples:
  kcut init component tidy-imports
  kcut init component fast-mode --kind env
  kcut schema component
"""

FOLDER = Path(".claude") / "kcut" / "components"
_LONGEST = 100

_HEAD = """\
# What a trial WITH {name} has, and one WITHOUT has not. Paths are relative to the root of the checkout.
# Several kinds may stand in one manifest. All keys: kcut schema component
description = "what {name} is for"
"""

#: kind -> what it is, and its keys. NAME is the component's name.
KINDS = {
    "files": (
        "Files that exist WITH only. `*` stays within a folder, `**` does not.",
        'files = [".claude/skills/NAME/**"]\n',
    ),
    "patch": (
        "A unified diff, as `git diff` makes it: applied WITH, taken back WITHOUT where the base has it.",
        'patch = ".claude/kcut/components/NAME.patch"\n',
    ),
    "env": (
        "Environment variables that are set WITH and unset WITHOUT. Values appear in no artifact and no record.",
        '[env]\nFAST_MODE = "1"\n',
    ),
    "command": (
        "Commands, each run once in a checkout of the base. They may change these files and no others.",
        '[command]\napply = "./scripts/enable.sh"\nwithhold = "./scripts/disable.sh"  # may be left out\n'
        'files = ["config/**"]\n',
    ),
    "text": (
        'A block of lines that a file holds WITH only. It is added at the end (or `at = "start"`) if it is missing.',
        '[[text]]\nfile = "CLAUDE.md"\nblock = """\n## NAME\n\nSay here what the agent is to do.\n"""\n',
    ),
    "json": (
        "What a JSON file holds WITH only: objects are joined, items are added to lists, other values are set.",
        '[[json]]\nfile = ".claude/settings.json"\n\n[[json.merge.hooks.PostToolUse]]\nmatcher = "Edit|Write"\n'
        'hooks = [{ type = "command", command = "./scripts/format.sh" }]\n',
    ),
}


@click.command("init", cls=ConfiguredCommand, help=HELP)
@click.argument("what", required=False, metavar="component", shell_complete=lambda *_: ["component"])
@click.argument("name", required=False, metavar="NAME")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="files",
    show_default=True,
    help="What the component consists of.",
)
def command(what: str | None, name: str | None, kind: str) -> int:
    """Write the manifest and say what to do next."""
    if what != "component":
        asked = "" if what is None else f" {plain(what)!r}"
        near = nearest(what or "", ["component"])
        remedy = f"did you mean: kcut init {near}" if near else "kcut init component NAME"
        raise UsageFault(f"there is nothing to begin{asked}" if asked else "what is to be begun?", remedy=remedy)
    if name is None:
        raise UsageFault("the component has no name yet", remedy="kcut init component NAME")
    path = FOLDER / f"{_checked(name)}.toml"
    _write(root(), path, manifest_text(name, kind))
    click.echo(f"wrote  {plain(str(path))}")
    click.echo(f"next   edit it, then: kcut benchmark --component {shlex.quote(name)} --task CMD --dry-run")
    return 0


def manifest_text(name: str, kind: str) -> str:
    """The text of a new manifest: one kind is in force, the others are comments."""
    parts = [_HEAD.replace("{name}", name)]
    # tables end what stands outside of them, so the plain keys come first
    for each, (told, keys) in KINDS.items():
        written = keys.replace("NAME", name)
        lines = written if each == kind else "".join(f"# {line}".rstrip() + "\n" for line in written.splitlines())
        parts.append(f"# {told}\n{lines}")
    return "\n".join(parts)


def _checked(name: str) -> str:
    """The name, if it can be that of a file and stand in one."""
    from kcut.components import split_kind

    kind, _ = split_kind(name)
    wrong = (
        "it is empty" * (not name.strip())
        or "it holds / or \\ or a quote" * bool(set(name) & set("/\\\"'"))
        or "it begins with a dot or a dash" * name.startswith((".", "-"))
        or "it holds characters that cannot be seen" * (not name.isprintable())
        or f"it is longer than {_LONGEST} bytes" * (len(name.encode("utf-8", "replace")) > _LONGEST)
        or f"{kind}: says a kind" * (kind is not None)
        or "it holds #, which names a part of a file" * ("#" in name)
    )
    if wrong:
        raise UsageFault(f"{plain(name)!r} cannot be a manifest's name: {wrong}", remedy="for example: tidy-imports")
    return name


def _write(checkout: Path, path: Path, text: str) -> None:
    """Write a new file, never over another and never out of the checkout."""
    place = checkout / path
    if os.path.lexists(place):
        raise UsageFault(f"{plain(str(path))} is there already", remedy="edit it, or choose another name")
    try:
        folder = Path(os.path.realpath(place.parent))
        if not folder.is_relative_to(os.path.realpath(checkout)):
            raise NotReady(f"{FOLDER} leads out of the checkout", remedy="make it a folder of the checkout")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / place.name).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        why = "something that is no folder is in the way" if error.errno in {errno.ENOTDIR, errno.EEXIST} else None
        raise NotReady(
            f"cannot write {plain(str(path))}: {why or error.strerror or error}",
            remedy=f"make {FOLDER} a folder that you may write to",
        ) from error

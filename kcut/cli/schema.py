"""`kcut schema`: the JSON Schema of a file that kcut writes or reads."""

import sys

import click

from kcut.cli.config import ConfiguredCommand
from kcut.model.errors import UsageFault

HELP = """Print the JSON Schema of a file that kcut writes or reads, for those that read, write or check it.

\b
  artifact   .claude/eval/benchmarks/NAME.json
  component  .claude/kcut/components/NAME.toml, a component's manifest

\b
Examples:
  kcut schema artifact
  kcut schema artifact > artifact.schema.json
  kcut schema component
"""

#: name -> the file in kcut/model that holds the schema.
SCHEMAS = {"artifact": "artifact.schema.json", "component": "component.schema.json"}


def _names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in SCHEMAS if name.startswith(incomplete)]


@click.command("schema", cls=ConfiguredCommand, help=HELP)
@click.argument("name", required=False, metavar="NAME", shell_complete=_names)
def command(name: str | None) -> int:
    """Print the schema as it is shipped."""
    from importlib.resources import files

    known = ", ".join(SCHEMAS)
    if name is None:
        raise UsageFault("which schema?", remedy=f"kcut schema NAME, one of: {known}")
    if name not in SCHEMAS:
        raise UsageFault(f"there is no schema {name!r}", remedy=f"the schemas are: {known}")
    sys.stdout.buffer.write(files("kcut.model").joinpath(SCHEMAS[name]).read_bytes())
    sys.stdout.flush()
    return 0

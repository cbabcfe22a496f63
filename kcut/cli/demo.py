"""`kcut demo`: a whole benchmark in a small repository of its own, explained line by line."""

import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli.common import color_option, wants_color
from kcut.model.errors import Interrupted, UsageFault

if TYPE_CHECKING:
    from kcut.benchmark import Finished

COMPONENT = "tidy-imports"
SEED = 5

AGENT = """\
#!/bin/sh
# Stands in for a coding agent that was asked to tidy imports.txt. With the component it always knows that
# duplicates go; without it, it thinks of them only now and then (HARNESS_SEED decides, so that you can repeat it).
export LC_ALL=C
if [ "$HARNESS_COMPONENT_ENABLED" = 1 ] || [ $((HARNESS_SEED % 3)) -eq 0 ]; then
  sort -u -o imports.txt imports.txt
else
  sort -o imports.txt imports.txt
fi
"""

SPEC = """\
# Tidy imports

- [ ] **AC-1 (imports are sorted):** the lines stand in byte order.
  ```eval
  LC_ALL=C sort -c imports.txt
  ```
- [ ] **AC-2 (no duplicates left):** no line stands there twice.
  ```eval
  test -z "$(sort imports.txt | uniq -d)"
  ```
- [ ] **AC-3 (nothing is lost):** every module is still there.
  ```eval
  test "$(sort -u imports.txt | wc -l)" -eq 4
  ```
"""

IMPORTS = "import sys\nimport json\nimport os\nimport json\nimport re\nimport sys\n"

#: How a result line begins -> what it says.
MEANINGS = (
    (
        "cohort",
        "One row per cohort. pass@5: at least one of 5 trials passes. pass^5: all 5 pass. The rate's interval is "
        "where the true rate lies with 95 % confidence.",
    ),
    ("with ", "The trials in which HARNESS_COMPONENT_ENABLED was 1: the component was on."),
    ("without ", "The same task, the same seeds, the component off."),
    (
        "verdict (point rule)",
        "The simple rule: pass if the rate rose at all. It sets the exit code unless you ask for --rule evidence. "
        "A useless component passes it by luck in up to 38 of 100 runs of 5 trials a cohort, so read the next line.",
    ),
    (
        "evidence",
        "What the trials prove: KEEP if luck is an unlikely explanation, CUT if a gain of 20 points is ruled out, "
        "else INCONCLUSIVE, if possible with the number of trials that would probably settle it.",
    ),
    ("warning", "What limits the result, each with one thing to do next."),
)


@click.command("demo")
@click.option("--dir", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Make it here, and keep it.")
@color_option
def command(folder: Path | None, color: str) -> int:
    """Make a small repository, benchmark in it, and explain the result line by line.

    Needs no key, costs nothing, uses no network, takes a few seconds, and leaves nothing behind unless --dir is
    given.

    \b
    Examples:
      kcut demo
      kcut demo --dir ./kcut-demo && cd kcut-demo && kcut show last
    """
    with ExitStack() as stack:
        if folder is None:
            parent = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kcut-demo-")))
            place = parent / "repository"
        else:
            place = folder.absolute()
            if place.exists() and (not place.is_dir() or any(place.iterdir())):
                raise UsageFault(f"{folder} is there already and not empty", remedy="name a new folder")
        make_repository(place)
        click.echo(f"a repository of its own: {place}")
        click.echo("  imports.txt     six import lines, unsorted, two of them twice")
        click.echo("  agent.sh        the task: a stand-in for a coding agent that tidies the file")
        click.echo("  specs/tidy.md   the score: three checks")
        click.echo(f"\n$ kcut benchmark --component {COMPONENT} --task ./agent.sh \\")
        click.echo(f"    --spec specs/tidy.md --seed {SEED}")
        done = _benchmark(place)
        if done.stopped is not None:
            raise Interrupted("stopped; nothing was left behind", signum=done.stopped)
        _explain(done, color=wants_color(color))
    if folder is not None:
        click.echo(f"kept in {folder}; look around, then: cd {folder} && kcut show last")
    else:
        click.echo("next: kcut benchmark in a repository of your own; kcut demo --dir DIR keeps this one")
    return 0


def make_repository(place: Path) -> None:
    """Make the demo's repository with one commit. Raises NotReady if git cannot."""
    from kcut.system.git import Git

    for name, text in (("imports.txt", IMPORTS), ("agent.sh", AGENT), ("specs/tidy.md", SPEC)):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (place / "agent.sh").chmod(0o755)
    identity = ("user.name=kcut demo", "user.email=demo@kcut.invalid", "commit.gpgSign=false", "init.templateDir=")
    git = Git(place, config=identity)
    git.must("init", "--quiet", "--initial-branch=main")
    git.must("add", "--all")
    git.must("commit", "--quiet", "--message", "A small repository to benchmark in")


def _benchmark(place: Path) -> "Finished":
    from kcut.benchmark import benchmark
    from kcut.engine.local import LocalEngine
    from kcut.model.ask import Ask
    from kcut.report.progress import progress
    from kcut.resolve import resolve
    from kcut.store import Store
    from kcut.system.clock import SystemClock
    from kcut.system.git import end_running
    from kcut.system.signals import StopSignals

    ask = Ask(component=COMPONENT, task="./agent.sh", spec="specs/tidy.md", k=5, seed=SEED)
    clock = SystemClock()
    observer: Any = progress(clock.monotonic, live=False, quiet=False, verbose=False, color=False)
    with StopSignals(end_running) as stop:
        ready = resolve(ask, place, os.environ)
        with Store.open(place) as store, observer:
            return benchmark(ready, engine=LocalEngine(2), store=store, clock=clock, stop=stop, observer=observer)


def _explain(done: "Finished", *, color: bool) -> None:
    import textwrap

    from kcut.report.terminal import render

    sys.stderr.flush()
    click.echo("\nthe result, and what each line says:\n")
    meaning: str | None = None
    for line in [*(line for line in render(done.artifact, color=color).splitlines() if line.strip()), ""]:
        bare = click.unstyle(line)
        continues = meaning is not None and bare.startswith(" " * 6)  # a long warning goes on in the next line
        if meaning is not None and not continues:
            click.echo(textwrap.indent(textwrap.fill(meaning, 72), "      ") + "\n")
        if line:
            click.echo(line, color=color)
        if not continues:
            meaning = next((says for start, says in MEANINGS if bare.strip().startswith(start)), None)

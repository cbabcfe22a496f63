"""What completion offers for an argument. It reads the checkout, and is silent about all that is wrong there."""

import functools
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from kcut.report.text import plain

Items = list[CompletionItem[str]]
Completion = Callable[[click.Context, click.Parameter, str], Items]
#: Seconds to wait for another process's lock: somebody is waiting for an answer at the prompt.
PATIENCE = 0.2


def _silent(suggest: Completion) -> Completion:
    """`suggest`, with nothing to offer where it fails: a message would land in the line being typed."""

    @functools.wraps(suggest)
    def quietly(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
        try:
            return suggest(ctx, param, incomplete)
        except Exception:  # noqa: BLE001  # completion must never print an error
            return []

    return quietly


def _typeable(word: str) -> bool:
    """True for a word that stands on a command line without quotes."""
    return plain(word) == word and bool(word) and not set(word) & set(" \"'`$\\!*?[]{}()<>|&;~#,")


@_silent
def runs(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """`last` and the ids of the checkout's runs, the newest first, with component and state."""
    from kcut.cli.checkout import root
    from kcut.store import Store

    with Store.open(root(), create=False, wait=PATIENCE) as store:
        history = store.history()
    items = [CompletionItem("last", help="the newest run")] if history else []
    items += [
        CompletionItem(row.run_id, help=plain(f"{row.component}, {row.decision or row.state}")) for row in history
    ]
    return [item for item in items if item.value.startswith(incomplete) and _typeable(item.value)]


@_silent
def runs_and_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """The runs; where none fits, files."""
    return [CompletionItem(incomplete, type="file"), *runs(ctx, param, incomplete)]


@_silent
def drafts(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The folder names of the staged drafts."""
    from kcut.cli.checkout import root

    folders = sorted(path.parent.name for path in root().glob(".claude/skills-staging/*/SKILL.md"))
    return [CompletionItem(name) for name in folders if name.startswith(incomplete) and _typeable(name)]


@_silent
def components(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """The components that were benchmarked here, then the staged drafts that were not."""
    from kcut.cli.checkout import root
    from kcut.store import Store

    with Store.open(root(), create=False, wait=PATIENCE) as store:
        names = [row.component for row in store.history()]
    known = [CompletionItem(name) for name in sorted(set(names)) if name.startswith(incomplete) and _typeable(name)]
    return known + [item for item in drafts(ctx, param, incomplete) if item.value not in names]

"""What completion offers for an argument. It reads the checkout, and is silent about all that is wrong there."""

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from kcut.report.text import plain

if TYPE_CHECKING:
    from kcut.store import RunRow

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


def _fits(word: str, incomplete: str) -> bool:
    """True for a word that begins so, and that stands on a command line without quotes."""
    typeable = plain(word) == word and bool(word) and not set(word) & set(" \"'`$\\!*?[]{}()<>|&;~#,")
    return typeable and word.startswith(incomplete)


def _items(words: Iterable[str], incomplete: str) -> Items:
    return [CompletionItem(word) for word in sorted(words) if _fits(word, incomplete)]


def _history() -> "tuple[RunRow, ...]":
    from kcut.cli.checkout import root
    from kcut.store import Store

    with Store.open(root(), create=False, wait=PATIENCE) as store:
        return store.history()


@_silent
def runs(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """`last` and the ids of the checkout's runs, the newest first, with component and state."""
    history = _history()
    words = {"last": "the newest run"} if history else {}
    words |= {row.run_id: plain(f"{row.component}, {row.decision or row.state}") for row in history}
    return [CompletionItem(word, help=text) for word, text in words.items() if _fits(word, incomplete)]


@_silent
def benchmarks(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """The runs and the components that were benchmarked; where none fits, files."""
    items = [*runs(ctx, param, incomplete), *measured(ctx, param, incomplete)]
    return [CompletionItem(incomplete, type="file"), *items]


@_silent
def drafts(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The folder names of the staged drafts."""
    from kcut.cli.checkout import root

    return _items((path.parent.name for path in root().glob(".claude/skills-staging/*/SKILL.md")), incomplete)


@_silent
def measured(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The components that were benchmarked here."""
    return _items({row.component for row in _history()}, incomplete)


@_silent
def components(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """The components that were benchmarked here, then the staged drafts that were not."""
    known = measured(ctx, param, incomplete)
    names = {item.value for item in known}
    return known + [item for item in drafts(ctx, param, incomplete) if item.value not in names]


@_silent
def agents(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """The agents that kcut can run for a benchmark."""
    from kcut.agents.command import NAME
    from kcut.agents.registry import adapter_names

    return _items((name for name in adapter_names() if name != NAME), incomplete)

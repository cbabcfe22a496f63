"""Which files of the base are restored before scoring: what the score runs, and what the user names."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence

from kcut.isolation.checkout import Checkout
from kcut.isolation.reads import Entries, Reader
from kcut.isolation.state import is_state
from kcut.model.errors import UsageFault

_LINK, _SUBMODULE = "120000", "160000"


def protected_paths(
    checkout: Checkout,
    candidates: Iterable[str],
    protect: Sequence[str] = (),
    unprotect: Sequence[str] = (),
    *,
    dirty: bool = False,
) -> tuple[str, ...]:
    """Paths relative to the root, sorted. Only what the base tracks is among them; with `dirty`, as the uncommitted
    changes make it, which trials then start from.

    `candidates` are words of the score command, relative to where trials run; links that the base tracks are
    followed, and both ends are protected. `protect` and `unprotect` are gitignore patterns relative to the root.
    """
    words = [word for word in candidates if word and not word.startswith("/")]
    if not words and not protect:
        return ()
    reader = Reader(checkout.git(), checkout.git_dir)
    entries = {path: entry for path, entry in reader.entries(checkout.base).items() if entry[0] != _SUBMODULE}
    if dirty:
        _apply_changes(checkout, entries)
    entries = {path: entry for path, entry in entries.items() if not is_state(path, checkout.state)}

    def target(path: str) -> str:
        _, name = entries[path]
        return os.fsdecode(reader.blob(name)) if name else os.fspath((checkout.root / path).readlink())

    found: set[str] = set()
    for word in words:
        found |= _followed(entries, target, checkout.subdir, word)
    for pattern in protect:
        if not pattern.startswith(("!", "#")) and not _matching(entries, [pattern], "--protect"):
            raise UsageFault(f"--protect {pattern}: no file of the base matches", remedy="check its spelling")
    found |= _matching(entries, protect, "--protect")
    return tuple(sorted(found - _matching(entries, unprotect, "--unprotect"), key=os.fsencode))


def _apply_changes(checkout: Checkout, entries: Entries) -> None:
    """Turn the base's entries into those of the checkout's files; what is not stored yet has no object id."""
    for path in checkout.dirty:
        try:
            mode = (checkout.root / path).lstat().st_mode
        except OSError:
            entries.pop(path, None)
            continue
        if stat.S_ISLNK(mode) or stat.S_ISREG(mode):
            entries[path] = (_LINK if stat.S_ISLNK(mode) else "100644", "")


def _matching(entries: Entries, patterns: Sequence[str], option: str) -> set[str]:
    if not patterns:
        return set()
    from pathspec import GitIgnoreSpec

    try:
        return set(GitIgnoreSpec.from_lines(patterns).match_files(entries))
    except ValueError as error:
        raise UsageFault(f"{option}: {error}", remedy="it takes patterns as .gitignore has them") from error


def _followed(entries: Entries, target: Callable[[str], str], subdir: str, word: str) -> set[str]:
    """The tracked files that a word of a command leads to, through tracked links; `target` reads a link."""
    found: set[str] = set()
    rest = [*subdir.split("/"), *word.split("/")]
    place: list[str] = []
    for _ in range(1000):  # links may lead in circles
        if not rest:
            break
        part = rest.pop(0)
        if part in {"", "."}:
            continue
        if part == "..":
            if not place:
                return found
            place.pop()
            continue
        path = "/".join([*place, part])
        if entries.get(path, ("", ""))[0] != _LINK:
            place.append(part)
            continue
        found.add(path)
        leads = target(path)
        if leads.startswith("/"):
            return found
        rest = [*leads.split("/"), *rest]
    path = "/".join(place)
    return found | {path} if path in entries else found

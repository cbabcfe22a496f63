"""Git directories written by hand: no process, no template, no hook, and exactly what is meant to be in them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcut.isolation import alternates
from kcut.isolation.carried import Carried, config_text

#: How letters stand in an exclude file: git drops a CR at the end of a line, and a line break can only be said by
#: what it is not (in a class, as git takes them byte for byte; `/` matches no class).
_PATTERNS = {letter: f"\\{letter}" for letter in "\\*?[ !#"} | {"\r": "[\r]", "\n": "[!\x01-\t\x0b-\udcff]"}
_FOLDERS = ("", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "info", "hooks")


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What each repository of a run is made from: its commit, its settings, its refs, where its objects are.

    `borrowed` are object folders that it reads through alternates; `refs` are (commit or tag id, ref name).
    """

    commit: str
    object_format: str
    carried: Carried
    promisor: str | None
    borrowed: tuple[Path, ...]
    refs: tuple[tuple[str, str], ...] = ()
    excluded: tuple[str, ...] = ()  # patterns for info/exclude beyond the user's

    def write(self, git_dir: Path, *, bare: bool) -> None:
        """Write a git directory at a path whose parent exists and that does not."""
        for folder in _FOLDERS:
            (git_dir / folder).mkdir()
        files = dict(self._files())
        files["config"] = os.fsencode(config_text(self._settings(git_dir, bare=bare)))
        files["HEAD"] = f"{self.commit}\n".encode()
        if self.borrowed:
            files["objects/info/alternates"] = alternates.content(self.borrowed)
        if self.refs:
            files["packed-refs"] = os.fsencode("".join(f"{commit} {name}\n" for commit, name in self.refs))
        write_files(git_dir, files)

    def _settings(self, git_dir: Path, *, bare: bool) -> Sequence[tuple[str, str]]:
        extended = self.object_format != "sha1" or self.promisor is not None
        settings = [
            ("core.repositoryformatversion", "1" if extended else "0"),
            ("core.bare", "true" if bare else "false"),
            ("core.logallrefupdates", "true"),
        ]
        if self.carried.foreign_hooks:
            settings.append(("core.hookspath", str(git_dir / "hooks")))
        if self.object_format != "sha1":
            settings.append(("extensions.objectformat", self.object_format))
        if self.promisor is not None:
            settings.append(("extensions.partialclone", self.promisor))
        settings += [("gc.auto", "0"), ("maintenance.auto", "false")]
        return settings + sorted(self.carried.settings, key=lambda setting: setting[0])

    def _files(self) -> Mapping[str, bytes]:
        files = dict(self.carried.files)
        if self.excluded:
            own = os.fsencode("".join(f"{pattern}\n" for pattern in self.excluded))
            before = files.get("info/exclude", b"")
            files["info/exclude"] = before + (b"" if before.endswith(b"\n") or not before else b"\n") + own
        return files


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder whose sub-folders exist."""
    for name, data in files.items():
        (folder / name).write_bytes(data)


def write_admin(admin: Path, *, worktree: Path, common: str, commit: str, sparse: bytes | None) -> None:
    """Write the administrative folder of a linked worktree, as `git worktree add --detach` leaves it."""
    admin.mkdir()
    files = {
        "HEAD": f"{commit}\n".encode(),
        "commondir": os.fsencode(f"{common}\n"),
        "gitdir": os.fsencode(f"{worktree / '.git'}\n"),
    }
    if sparse is not None:
        (admin / "info").mkdir()
        files["info/sparse-checkout"] = sparse
    write_files(admin, files)


def literal_pattern(path: str) -> str:
    """A line of an exclude file that matches this path from the root of the tree and nothing else."""
    return "/" + "".join(_PATTERNS.get(letter, letter) for letter in path)

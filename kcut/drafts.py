"""Where draft skills and live skills lie, and what the files hold. Everything is read, nothing written."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from kcut.model.errors import NotReady, UsageFault
from kcut.rubric import Draft, name_key, read_draft, read_frontmatter
from kcut.system.files import read_regular
from kcut.system.git import Git, not_a_checkout

STAGING = Path(".claude") / "skills-staging"
LIVE = (Path("skills"), Path(".claude") / "skills")
SKILL = "SKILL.md"
#: Ten times a long skill; what is larger is no skill.
LIMIT = 512 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """The file of a draft. `skipped` are drafts, relative to the root, that were passed over: they lie elsewhere."""

    path: Path
    skipped: tuple[str, ...] = ()


def root_of(cwd: Path) -> Path:
    """The root of the checkout that `cwd` is in; `cwd` itself outside of one.

    Raises NotReady if git refuses the repository, as it does one of another user.
    """
    result = Git(cwd).run("rev-parse", "--show-toplevel")
    if result.ok and result.text:
        return Path(result.text)
    if "not a git repository" in result.error or "must be run in a work tree" in result.error:
        return cwd
    raise not_a_checkout(result)


def find(root: Path, ref: str | None, cwd: Path) -> Found:
    """The draft that `ref` means: a file, a folder that holds SKILL.md, or the name of a folder below the staging
    folder; without `ref` the last by name below the staging folder.

    Raises UsageFault if there is no such draft, NotReady if there is none at all.
    """
    if ref is None:
        return _last(root)
    given = Path(os.path.abspath(cwd / ref))  # noqa: PTH100  # resolve() would follow links and lose the folder's name
    folder = os.path.isdir(given)  # noqa: PTH112  # pathlib's raises for a name that is too long
    if folder and os.path.lexists(given / SKILL):
        return Found(given / SKILL)
    if os.path.lexists(given) and not folder:
        return Found(given)
    staged = root / STAGING / ref / SKILL
    if ref and "/" not in ref and ref not in {".", ".."} and os.path.lexists(staged):
        if not _stays(root, staged):
            raise UsageFault(
                f"the draft {ref!r} is a link that leads out of {STAGING}",
                remedy=f"to score it all the same, give its path: kcut rubric {STAGING}/NAME",
            )
        return Found(staged)
    if folder:
        raise UsageFault(f"there is no {SKILL} in the folder {ref!r}")
    names = [path.parent.name for path in _skills(root / STAGING)]
    near = difflib.get_close_matches(ref, names, n=1)
    hint = f"did you mean: {near[0]!r}" if near else f"give a path, or a folder below {STAGING}"
    raise UsageFault(f"there is no draft {ref!r}", remedy=hint)


def read(path: Path) -> Draft:
    """The draft in a file. Raises UsageFault if it cannot be read or is no text file of a skill's size."""
    try:
        return read_draft(read_regular(path, limit=LIMIT), path.parent.name or path.stem)
    except OSError as error:
        raise UsageFault(f"the draft {str(path)!r} cannot be read: {error.strerror or error}") from error


def clashes(root: Path, path: Path, name: str) -> tuple[str, ...]:
    """The live skills, as paths below the root, that bear the name in their frontmatter or as their folder.

    Case, spaces and punctuation make no difference. The file at `path` does not clash with itself.
    """
    key = name_key(name)
    live = [skill for folder in LIVE for skill in _skills(root / folder)]
    return tuple(
        str(skill.relative_to(root))
        for skill in live
        if key in {name_key(other) for other in _names(skill)} and not _same(skill, path)
    )


def _last(root: Path) -> Found:
    found, skipped = None, []
    for path in _skills(root / STAGING):
        if not _stays(root, path):
            skipped.append(str(path.relative_to(root)))
        elif os.path.isfile(path):  # noqa: PTH113  # as above
            found = path
    if found is None:
        why = f"{skipped[-1]!r} leads out of it" if skipped else "it holds no NAME/SKILL.md"
        raise NotReady(
            f"there is no draft in {STAGING}: {why}",
            remedy="give the path of one: kcut rubric path/to/SKILL.md",
        )
    return Found(found, tuple(skipped))


def _skills(folder: Path) -> list[Path]:
    """What `folder/*/SKILL.md` matches, by name; folders that cannot be listed hold none."""
    try:
        folders = sorted(folder.iterdir(), key=os.fsencode)
    except OSError:
        return []
    return [each / SKILL for each in folders if not each.name.startswith(".") and os.path.lexists(each / SKILL)]


def _stays(root: Path, path: Path) -> bool:
    """True if the real location of a staged draft lies below the staging folder, and that in the checkout."""
    staging = os.path.realpath(root / STAGING)
    real = Path(os.path.realpath(path))
    return real.is_relative_to(staging) and Path(staging).is_relative_to(os.path.realpath(root))


def _names(skill: Path) -> set[str]:
    """The names that a live skill bears: its folder's and, if it can be read, its frontmatter's."""
    try:
        told = read_frontmatter(read_regular(skill, limit=LIMIT)).name
    except OSError:
        told = None
    return {skill.parent.name} | ({told} if told else set())


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False

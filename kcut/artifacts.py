"""The verdict files, `.claude/eval/benchmarks/<slug>.json`: reserved before a run, written whole, read with care."""

import difflib
import errno
import fcntl
import json
import math
import os
import stat
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kcut.model.errors import KcutError, NotReady, UsageFault
from kcut.model.evidence import Evidence, miscount, weigh
from kcut.model.names import slug, visible_document
from kcut.system.clock import SystemClock
from kcut.system.faults import mend
from kcut.system.files import read_regular, write_atomic

if TYPE_CHECKING:
    from pydantic import ValidationError

    from kcut.model.artifact import Artifact

FOLDER = Path(".claude") / "eval" / "benchmarks"
#: A run of tens of thousands of trials stays below; nothing larger is read into memory.
LIMIT = 32 * 1024 * 1024
_DEEPEST = 100
#: The states of several artifacts of one component: the first that there is stands for all.
_WORST_FIRST = ("fail", "unreadable", "stale", "inconclusive", "missing", "pass")
_LOCK_WAIT_S = 2.0
_PROBE = 64 * 1024


class Malformed(ValueError):
    """A file that is no artifact; the message is one clause."""


def artifact_path(root: Path, name: str) -> Path:
    """Where the artifact of the component `name` lies, or would lie, in the checkout at `root`."""
    return root / FOLDER / f"{slug(name)}.json"


def reserve(root: Path, component: str, out: str | None) -> Path:
    """The path for a run's artifact, its folder made and known to be writable: asked before the first trial.

    UsageFault for a name that cannot stand in a file or a file name; NotReady if the folder cannot be made or
    written to, a link leads out of it, or the file there is not this component's.
    """
    from kcut.store.place import state_dir

    path = artifact_path(root, _checked_name(component, out))
    _must_lie_below(root, remedy="then run again")
    state_dir(root)
    try:
        path.parent.mkdir(exist_ok=True)
        with _locked(path.parent):
            _remove_leftovers(path)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".probe.", suffix=".tmp") as probe:
                probe.write(bytes(_PROBE))
                probe.flush()
    except OSError as error:
        raise NotReady(
            f"cannot write in {path.parent}: {error.strerror or error}",
            remedy=f"the verdict is saved there; {mend(error, path.parent)}, then run again",
        ) from error
    _must_be_ours(path, component)
    _must_be_replaceable(path)
    return path


def write(path: Path, artifact: "Artifact") -> None:
    """Put the artifact in the file at once, whole: a reader sees the old one or the new one.

    Text that is not UTF-8, such as a file's name, stands in it as escapes. Raises NotReady if it cannot be written,
    or if since it was reserved its folder has become a link that leads out, or the file another component's.
    """
    text = json.dumps(visible_document(artifact.document()), ensure_ascii=False, allow_nan=False, indent=2)
    root = path.parents[len(FOLDER.parts)] if path.parent.parts[-len(FOLDER.parts) :] == FOLDER.parts else None
    if root is not None:
        _must_lie_below(root, remedy="then, as the trials are recorded: kcut benchmark --resume last")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            _must_be_ours(path, artifact.component)
            write_atomic(path, text.encode() + b"\n")
    except OSError as error:
        raise NotReady(
            f"the artifact {path} cannot be written: {error.strerror or error}",
            remedy=f"the trials are recorded; {mend(error, path.parent)}, then: kcut benchmark --resume last",
        ) from error


def load(path: Path) -> "Artifact":
    """The artifact in a file; one that holds only the keys of the first published format is one.

    Raises UsageFault with one sentence if it cannot be read or is no artifact.
    """
    from pydantic import ValidationError

    from kcut.model.artifact import Artifact

    try:
        document = read_document(path)
        artifact = Artifact.model_validate(document)
        _must_add_up(document)
    except OSError as error:
        raise UsageFault(f"the artifact {str(path)!r} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise UsageFault(f"{str(path)!r} is not an artifact of kcut: {_first_fault(error)}") from error
    except Malformed as error:
        raise UsageFault(f"{str(path)!r} is not an artifact of kcut: {error}") from error
    return artifact


def evidence(root: Path, name: str, *, digests: Callable[[], Collection[str]] | None = None) -> Evidence:
    """What the checkout at `root` holds about the component `name`. Never raises for what it finds there.

    An artifact with a digest is stale unless that is among `digests`: those of what the name means there now, unless
    the caller knows which component it means. Where there are only those of several performers, the worst of them.
    """
    astray = _astray(root)
    if astray is not None:
        part, why = astray
        return Evidence(name, "unreadable", f"{part} {why}", blocker=str(part))
    path = artifact_path(root, name)
    performers = () if os.path.lexists(path) else _of_performers(root, name)
    if not performers:
        return _evidence(root, name, path, digests)
    found = [_evidence(root, name, each, digests) for each in performers]
    worst = min(found, key=lambda each: _WORST_FIRST.index(each.state))
    which = f"{performers[found.index(worst)].stem}, the worst of {len(found)} with a verdict"
    return replace(worst, why=f"{worst.why} ({which})")


def _of_performers(root: Path, name: str) -> tuple[Path, ...]:
    """The artifacts that a benchmark with several performers wrote, one for each; sorted."""
    found = []
    with suppress(OSError):
        for path in sorted((root / FOLDER).glob(f"{slug(name)}-*.json")):
            with suppress(OSError, Malformed):
                _must_stay_inside(path)
                document = read_document(path)
                environment = document.get("environment")
                agent = environment.get("agent") if isinstance(environment, dict) else None
                start = slug(f"{name} {agent}") if isinstance(agent, str) and agent else None
                if document.get("component") == name and start and f"{path.stem}-".startswith(f"{start}-"):
                    found.append(path)
    return tuple(found)


def _evidence(root: Path, name: str, path: Path, digests: Callable[[], Collection[str]] | None) -> Evidence:
    """What the artifact at the path says about the component."""
    where = str(path.relative_to(root))
    try:
        path.lstat()
        _must_stay_inside(path)
        document = read_document(path)
        state, why = weigh(name, document, _digests(root, name, digests) if "componentDigest" in document else ())
        if state != "unreadable":
            _must_be_well_formed(document)
    except FileNotFoundError:
        near = nearest_component(root, name)
        return Evidence(name, "missing", "no benchmark yet" + (f"; did you mean {near!r}?" if near else ""))
    except OSError as error:
        return Evidence(name, "unreadable", f"{where}: {error.strerror or error}", blocker=where)
    except Malformed as error:
        return Evidence(name, "unreadable", f"{where}: {error}", blocker=where)
    if state == "unreadable":
        return Evidence(name, state, f"{where}: {why}", blocker=where)
    return Evidence(name, state, why, document)


def _digests(root: Path, name: str, told: Callable[[], Collection[str]] | None) -> Collection[str]:
    """The digests of what a component's name means now; none if it means nothing, or cannot be read."""
    from kcut.components import look_up

    try:
        return told() if told is not None else [each.digest for each in look_up(root, name) if each.digest]
    except KcutError:
        return ()


def measured(root: Path) -> tuple[str, ...]:
    """The names of the components that have an artifact here which tells by its digest what was measured; sorted."""
    found = []
    with suppress(OSError):
        for path in sorted((root / FOLDER).glob("[!.]*.json")):
            with suppress(OSError, Malformed):
                _must_stay_inside(path)
                document = read_document(path)
                owner = _owner(document)
                if slug(owner) == path.stem and document.get("componentDigest") is not None:
                    found.append(owner)
    return tuple(found)


def nearest_component(root: Path, name: str) -> str | None:
    """The component with an artifact here whose name is most like `name`; None if none is like it."""
    try:
        slugs = [path.stem for path in (root / FOLDER).glob("[!.]*.json")]
    except OSError:
        return None
    for near in difflib.get_close_matches(slug(name), sorted(slugs), n=3):
        with suppress(OSError, Malformed):
            path = root / FOLDER / f"{near}.json"
            _must_stay_inside(path)
            owner = _owner(read_document(path))
            if slug(owner) == near and owner != name:
                return owner
    return None


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file. OSError if it cannot be read, Malformed if it is not one JSON object."""
    data = read_regular(path, limit=LIMIT)
    try:
        document = json.loads(
            data.decode("utf-8-sig"), parse_float=_finite, parse_constant=_no_number, object_pairs_hook=_unique
        )
    except Malformed:
        raise
    except UnicodeDecodeError as error:
        raise Malformed("it is not UTF-8 text") from error
    except RecursionError as error:
        raise Malformed("it is nested too deeply") from error
    except ValueError as error:
        raise Malformed(f"it is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise Malformed("it holds no JSON object")
    if _deeper_than(document, _DEEPEST):
        raise Malformed("it is nested too deeply")
    return document


def _checked_name(component: str, out: str | None) -> str:
    """The name that the file is called by; UsageFault if it or the component's cannot be used."""
    for option, value in (("--component", component), ("--out", out)):
        if value is None:
            continue
        if not value.strip():
            raise UsageFault(f"{option} is empty", remedy=f"give a name: {option} NAME")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UsageFault(f"{option} {value!r} is not UTF-8 text, which an artifact has to be") from error
    if out is not None and "/" in out:
        raise UsageFault(
            f"--out {out!r} holds a path separator; it is a name, not a path",
            remedy=f"artifacts lie in {FOLDER}; give a name such as --out {slug(out)}",
        )
    return component if out is None else out


def _astray(root: Path) -> tuple[Path, str] | None:
    """The first part of the artifacts' folder that is no folder of this checkout, and what it is instead."""
    base = root.resolve()
    for part in (FOLDER.parent.parent, FOLDER.parent, FOLDER):
        path = root / part
        if not os.path.lexists(path):
            return None
        if not os.path.isdir(path):  # noqa: PTH112  # pathlib's raises where a folder above may not be searched
            return part, "is a link that leads nowhere" if path.is_symlink() else "is not a folder"
        real = path.resolve()
        if not real.is_relative_to(base) or ".git" in real.relative_to(base).parts:
            return part, "is a link that leads out of the checkout"
    return None


def _must_lie_below(root: Path, *, remedy: str) -> None:
    """Raise NotReady if the artifacts' folder is not, or would not be, a folder of this checkout."""
    astray = _astray(root)
    if astray is not None:
        part, why = astray
        raise NotReady(f"{part} {why}, and artifacts lie below it", remedy=f"move {part} away, {remedy}")


def _must_stay_inside(path: Path) -> None:
    """Raise Malformed if the file is a link whose end lies outside its folder."""
    if path.is_symlink() and Path(os.path.realpath(path)).parent != path.parent.resolve():
        raise Malformed("it is a link that leads out of the folder")


def _must_be_ours(path: Path, component: str) -> None:
    """Raise NotReady unless the file is absent or an artifact of this very component."""
    if not os.path.lexists(path):
        return
    try:
        _must_stay_inside(path)
        if not path.exists():  # a link to an artifact that is gone
            return
        owner = _owner(read_document(path))
    except (OSError, Malformed) as error:
        why = (error.strerror or error) if isinstance(error, OSError) else error
        raise NotReady(
            f"the artifact {str(path)!r} is there already and cannot be told to be this component's: {why}",
            remedy="move it away, or choose another file with --out NAME",
        ) from error
    if owner != component:
        raise NotReady(
            f"the artifact of {component!r} would overwrite that of {owner!r}: both are {path.name} in {FOLDER}",
            remedy="give this one a file of its own with --out NAME, or rename one of the two",
        )


def _owner(document: dict[str, Any]) -> str:
    """The component that an artifact's document names."""
    owner = document.get("component")
    if not isinstance(owner, str):
        raise Malformed("it names no component")
    return owner


def _must_be_replaceable(path: Path) -> None:
    """Raise NotReady if the file can be read but will not let itself be replaced, whoever asks."""
    if not path.is_file():
        return
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except PermissionError as error:
        immutable = error.errno == errno.EPERM  # a mere lack of rights on the file (EACCES) does not stop a rename
    except OSError:
        immutable = False
    else:
        immutable = False
    folder = path.parent.stat()
    others = os.geteuid() not in {0, folder.st_uid, path.lstat().st_uid}
    if immutable or (folder.st_mode & stat.S_ISVTX and others):
        raise NotReady(
            f"the artifact {str(path)!r} cannot be replaced: it is protected or another user's",
            remedy="make it writable or move it away, then run again",
        )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder against other kcut processes; where it cannot be locked, or not soon, go on without."""
    clock = SystemClock()
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        patience = clock.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if clock.monotonic() < patience:
                    clock.sleep(0.02)
                    continue
            except OSError:
                pass
            break
        yield
    finally:
        os.close(handle)


def _remove_leftovers(path: Path) -> None:
    """Remove the unfinished files of processes that died while they wrote; their lock ended with them."""
    for pattern in (f".{path.name[:40]}.????????.tmp", ".probe.????????.tmp"):
        for left in path.parent.glob(pattern):
            with suppress(OSError):
                left.unlink()


def _must_be_well_formed(document: dict[str, Any]) -> None:
    """Raise Malformed if a value is not what the format says; keys that are absent are not held against it."""
    from pydantic import ValidationError

    from kcut.model.artifact import Artifact

    try:
        Artifact.model_validate(document)
    except ValidationError as error:
        if any(fault["type"] != "missing" for fault in error.errors(include_url=False)):
            raise Malformed(_first_fault(error)) from error


def _must_add_up(document: dict[str, Any]) -> None:
    """Raise Malformed if more trials passed than there were, and the like."""
    wrong = miscount(document)
    if wrong is not None:
        raise Malformed(f"its counts cannot be: {wrong}")


def _first_fault(error: "ValidationError") -> str:
    """The first thing wrong with a document that is not merely absent, else the first: `with.k: ...`."""
    faults = error.errors(include_url=False, include_input=False)
    fault = next((each for each in faults if each["type"] != "missing"), faults[0])
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"


def _no_number(text: str) -> NoReturn:
    raise Malformed(f"it is not JSON ({text} is no number)")


def _finite(text: str) -> float:
    """A number that a float holds: 1e400 would be infinite."""
    number = float(text)
    if math.isinf(number):
        raise Malformed(f"it holds a number beyond all measure ({text[:20]})")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Malformed(f"the key {twice!r} stands in it twice")
    return document


def _deeper_than(document: Any, depth: int) -> bool:
    """True if lists and objects are nested more than `depth` levels."""
    level = [document]
    for _ in range(depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True

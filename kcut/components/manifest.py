"""Reading a manifest, and the component that it describes."""

import difflib
import math
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kcut.components import blocks, merge
from kcut.components.cohort import Cohort, as_part, digest
from kcut.components.found import Found, Scene
from kcut.components.jsontext import canonical
from kcut.components.places import Place, tidy_path
from kcut.components.sides import LARGEST, MOST_FILES, Here, Real, Side, as_committed, must_stay, resolve
from kcut.globs import covers, fixed_part, literal, may_hold
from kcut.model.component import LINK, File
from kcut.model.errors import UsageFault
from kcut.system.git import scrub

if TYPE_CHECKING:
    from pydantic import ValidationError

    from kcut.model.manifest import Manifest
    from kcut.system.git import Git

LIMIT = 1 << 20
#: How many files of a checkout are looked at for one glob.
_MOST_SEEN = 500_000
_TREE = 0o040000
#: Variables that a trial lives by, and what to do instead of giving them to one cohort.
_TRIALS_OWN = {
    "HOME": "for a home of its own in each trial there is --isolate-home",
    "PATH": "change PATH in the task, or put the program where PATH leads in --setup",
    "TMPDIR": "leave it out, or set it in the task",
    "LD_PRELOAD": "set it in the task, for the one command that is to have it",
}


def read_manifest(path: str, data: bytes) -> "Manifest":
    """The manifest in the bytes of a file. Raises UsageFault with one sentence that names the file and the key."""
    from pydantic import ValidationError

    from kcut.model.manifest import Manifest

    if len(data) > LIMIT:
        raise UsageFault(f"the manifest {path!r} is larger than {LIMIT >> 10} KiB")
    try:
        document = tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        raise UsageFault(f"the manifest {path!r} is not UTF-8 (byte {error.start + 1})") from error
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UsageFault(f"the manifest {path!r} is not valid TOML: {ascii(str(error))[1:-1]}") from error
    try:
        manifest = Manifest.model_validate(document)
    except ValidationError as error:
        raise _fault(path, error) from error
    kinds = (manifest.files, manifest.patch, manifest.text, manifest.json_, manifest.env, manifest.command)
    if not any(kinds):
        raise UsageFault(
            f"the manifest {path!r} names nothing that the cohorts differ in",
            remedy="give it files, patch, text, json, env or command; see: kcut schema component",
        )
    _must_be_sound(path, manifest)
    return manifest


def of_manifest(scene: Scene, side: Side, place: Place, manifest: "Manifest") -> Found:
    """The component that a manifest describes. Raises UsageFault if what it names is not there."""
    told = f"the manifest {place.path!r}"
    chosen = _chosen(scene, side, manifest.files, told)
    patch = _patch(scene, side, manifest.patch, told)
    parts = {f"files/{path}": file for path, (_, file) in chosen.items()}
    parts |= {} if patch is None else {"patch": File(0, patch)}
    described = manifest.model_dump(mode="json", by_alias=True, exclude={"description", "files", "patch"})
    parts["manifest"] = as_part(canonical(described))

    def make(with_: Cohort, without: Cohort) -> tuple[str, ...]:
        gone = [path for glob in manifest.files for _, path in matching(scene.base, glob)]
        without.drop(gone)
        with_.drop(gone)
        for real, file in chosen.values():
            with_.put(real, file)
        for cohort in (with_, without):  # what describes the component would tell the agent of it
            cohort.drop(cohort.real(path) for path in (place.path, manifest.patch) if path is not None)
        touched = [_real_glob(with_, glob) for glob in manifest.files]
        for block in manifest.text:
            blocks.give(block, with_, without, told)
            touched.append(literal(with_.real(block.file)))
        for entry in manifest.json_:
            merge.give(entry, with_, without)
            touched.append(literal(with_.real(entry.file)))
        if manifest.command is not None:
            touched += [_real_glob(with_, glob) for glob in manifest.command.files]
        if patch is not None:
            patched = patched_paths(scene.git, patch)
            state = next(filter(_is_state, patched), None)
            if state is not None:
                raise _not_in_trials(place.path, state)
            touched += patched
        return tuple(dict.fromkeys(touched))

    return Found(
        "manifest",
        place.path,
        digest(parts),
        make,
        patch=patch,
        env=manifest.env,
        command=manifest.command.apply if manifest.command is not None else None,
        withhold=manifest.command.withhold if manifest.command is not None else None,
    )


def matching(side: Side, glob: str) -> Iterator[tuple[str, str]]:
    """The files and links of a side that a glob matches: as the glob names them, and their real paths."""
    start = fixed_part(glob)
    real = resolve(side, start) if start else Real("", ())
    if real is None:
        return
    waiting, seen = [(start, real.path)], 0
    while waiting:
        named, at = waiting.pop()
        seen += 1
        if seen > _MOST_SEEN:
            raise UsageFault(
                f"the glob {glob!r} looks at too many files", remedy="begin it with the folder that it is for"
            )
        if side.kind(at) == _TREE:
            if not named or may_hold(glob, named):
                inner = [name for name in side.inside(at) if name != ".git"]
                waiting += [(f"{named}/{name}".lstrip("/"), f"{at}/{name}".lstrip("/")) for name in inner]
        elif covers([glob], named) and not _is_state(at):
            yield named, at


def _is_state(path: str) -> bool:
    return path.startswith(".claude/eval/")


def _real_glob(cohort: Cohort, glob: str) -> str:
    """The glob with the links among the folders that it begins with followed."""
    start = fixed_part(glob)
    rest = glob.rstrip("/").split("/")[start.count("/") + 1 :] if start else [glob]
    return "/".join([literal(cohort.real(start)), *rest]) if start else glob


def _chosen(scene: Scene, side: Side, globs: tuple[str, ...], told: str) -> dict[str, tuple[str, File]]:
    """The files that exist WITH only, by the path that the manifest's globs name them by: real path and content."""
    chosen: dict[str, tuple[str, File]] = {}
    size = 0
    for glob in globs:
        for each in dict.fromkeys((side, scene.base)):
            found = dict(matching(each, glob))
            if not found:
                continue
            read: dict[str, File] = {}
            for real in found.values():
                file = each.read(real)
                if file is None:
                    continue
                if file.mode == LINK:
                    must_stay(each, real, told)
                read[real] = file
                size += len(file.data)
                if size > LARGEST or len(chosen) + len(read) > MOST_FILES:
                    raise UsageFault(f"{told} names more than {MOST_FILES} files or {LARGEST >> 20} MiB")
            if isinstance(each, Here):
                read = as_committed(read, scene.base)
            chosen |= {named: (real, read[real]) for named, real in found.items() if real in read}
            break
        else:
            raise UsageFault(
                f"{told}: no file matches {glob!r}", remedy="check its spelling; it is relative to the root"
            )
    return chosen


def _patch(scene: Scene, side: Side, path: str | None, told: str) -> bytes | None:
    if path is None:
        return None
    must_stay(side, path, told)
    for each in (side, scene.base):
        real = resolve(each, path)
        file = each.read(real.path) if real is not None else None
        if file is not None and file.mode != LINK:
            return file.data
    raise UsageFault(f"{told}: there is no patch {path!r}", remedy="its path is relative to the root of the checkout")


def _must_be_sound(path: str, manifest: "Manifest") -> None:
    """Raise UsageFault for what the types do not tell: paths that lead out, and values that JSON has not."""
    globs = [*manifest.files, *(manifest.command.files if manifest.command is not None else ())]
    named = [*globs, *(block.file for block in manifest.text), *(entry.file for entry in manifest.json_)]
    named += [manifest.patch] if manifest.patch is not None else []
    for each in named:
        if tidy_path(each) != each.rstrip("/"):
            raise UsageFault(
                f"the manifest {path!r}: {each!r} is no path below the root of the checkout",
                remedy="write it relative to the root, without . and ..",
            )
        if _is_state(f"{each}/"):
            raise _not_in_trials(path, each)
    for name, value in manifest.env.items():
        _must_be_free(path, name)
        if "\0" in value:
            raise UsageFault(f"the manifest {path!r}: the value of {name} holds a NUL")
    for entry in manifest.json_:
        if not _is_json(entry.merge):
            raise UsageFault(f"the manifest {path!r}: json holds a date, a time or no number, which JSON has not")


def _not_in_trials(path: str, named: str) -> UsageFault:
    return UsageFault(f"the manifest {path!r}: {named!r} is kcut's own folder, which no trial has")


def _must_be_free(path: str, name: str) -> None:
    """Raise UsageFault for a variable that a trial itself lives by, or that would lead git to another repository."""
    if name.startswith(("HARNESS_", "KCUT_")):
        raise UsageFault(f"the manifest {path!r}: the variable {name} is kcut's own", remedy="choose another one")
    if name not in scrub({name: ""}):
        raise UsageFault(
            f"the manifest {path!r}: the variable {name} would bind git to another repository than the trial's",
            remedy="leave it out: every trial has a repository of its own",
        )
    remedy = _TRIALS_OWN.get(name)
    if remedy is not None:
        raise UsageFault(f"the manifest {path!r}: both cohorts' trials depend on the variable {name}", remedy=remedy)


def _is_json(value: Any) -> bool:
    match value:
        case dict():
            return all(map(_is_json, value.values()))
        case list():
            return all(map(_is_json, value))
        case float():
            return math.isfinite(value)
    return isinstance(value, str | int | bool)


def _fault(path: str, error: "ValidationError") -> UsageFault:
    """What is wrong, in one sentence."""
    from kcut.model.manifest import Command, JsonMerge, Manifest, Table, TextBlock

    faults = error.errors(include_url=False, include_input=False)
    fault = next((each for each in faults if each["type"] == "extra_forbidden"), faults[0])  # it tells the most
    *above, key = [str(part) for part in fault["loc"]] or [""]
    where = ".".join([*above, key])
    if fault["type"] == "extra_forbidden":
        tables: dict[str, type[Table]] = {"text": TextBlock, "json": JsonMerge, "command": Command}
        model = tables.get(above[0] if above else "", Manifest)
        known = [field.alias or name for name, field in model.model_fields.items()]
        near = difflib.get_close_matches(key, known, n=1)
        remedy = f"did you mean: {near[0]}" if near else f"the keys are: {', '.join(known)}"
        return UsageFault(f"the manifest {path!r}: unknown key {where!r}", remedy=remedy)
    if above[:1] == ["env"] and key == "[key]":
        name = above[-1]
        return UsageFault(
            f"the manifest {path!r}: {name!r} is no name for a variable",
            remedy="letters, digits and _, no digit first",
        )
    said = fault["msg"]
    return UsageFault(
        f"the manifest {path!r}: {where}: {said[:1].lower()}{said[1:]}", remedy="see: kcut schema component"
    )


def patched_paths(git: "Git", patch: bytes) -> tuple[str, ...]:
    """The paths that a patch changes, as globs. Raises UsageFault if git cannot read it."""
    touched: list[str] = []
    for options in ((), ("-R",)):  # the other way round it names what it renames and removes
        read = git.run("apply", "--numstat", "-z", *options, "-", stdin=patch)
        if not read.ok:
            raise UsageFault(f"the patch cannot be read: {read.complaint}", remedy="make it with: git diff --binary")
        touched += [field.split("\t", 2)[-1] for field in read.fields()]
    return tuple(dict.fromkeys(map(literal, touched)))

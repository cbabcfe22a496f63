"""Finding components by name, and listing them."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kcut.components import jsontext, pointer, sections, settings
from kcut.components.cohort import Cohort, digest
from kcut.components.found import Found, Scene, content, of_files
from kcut.components.listed import Listed
from kcut.components.manifest import of_manifest, read_manifest
from kcut.components.places import SKILL, Place, manifests, rule_file, tidy_path
from kcut.components.section import of_section
from kcut.components.sides import Base, Here, Side, must_stay, resolve
from kcut.isolation.checkout import Checkout
from kcut.isolation.reads import Entries, Reader
from kcut.model.component import KINDS, LINK, ComponentPlan, Kind, Treatment
from kcut.model.errors import KcutError, UsageFault
from kcut.system.git import Git

_SECTION = re.compile(r"(.+?\.(?:md|mdc|markdown))#(?!/)(.+)", re.IGNORECASE | re.DOTALL)
_SETTING = re.compile(r"(.+?\.json)#(/.*)", re.IGNORECASE | re.DOTALL)
#: Files that are meant to lie in `.claude` if nothing else is said.
_SETTINGS_FILES = {"settings.json", "settings.local.json"}


def find_component(checkout: Checkout, name: str, tree: str, *, reader: Reader | None = None) -> Treatment | None:
    """How to give the component of that name to one cohort and keep it from the other; None if there is none.

    `name` may say the kind, as in `skill:tidy`. `tree` is the tree, or commit, that trials start from, read by
    `reader` if it is not in the checkout's repository; the content is that of the checkout now, else of the tree.
    Raises UsageFault if the name means two components, or if what it means cannot be read, is too large, or leads out
    of the checkout.
    """
    scene = _scene(checkout, tree, reader)
    kind, bare = split_kind(name)
    found = _found(scene, kind, bare)
    if not found:
        return None
    chosen = _only(bare, found)
    with_, without = Cohort(scene.base), Cohort(scene.base)
    paths = chosen.make(with_, without)
    plan = ComponentPlan(
        name=bare,
        kind=chosen.kind,
        path=chosen.path,
        digest=chosen.digest,
        paths=paths,
        variables=tuple(sorted(chosen.env)),
    )
    return Treatment(
        plan=plan,
        with_=with_.edits(),
        without=without.edits(),
        patch=chosen.patch,
        env=chosen.env,
        command=chosen.command,
        withhold=chosen.withhold,
    )


def list_components(checkout: Checkout) -> tuple[Listed, ...]:
    """Every component of the checkout now, and of the base what the checkout lacks, by kind and name.

    Sections and single settings are not among them: any heading and any entry is one.
    """
    return _listed(_scene(checkout, checkout.base))


def list_at(root: Path) -> tuple[Listed, ...]:
    """As `list_components`, for a checkout that has no commit yet, too."""
    return _listed(_scene_at(root))


def look_up(root: Path, name: str) -> tuple[Listed, ...]:
    """What a name means in the checkout at `root` now: usually one component; two if it is ambiguous, or none.

    Raises UsageFault if it cannot be read.
    """
    kind, bare = split_kind(name)
    return tuple(Listed(bare, each.kind, each.path, each.digest) for each in _found(_scene_at(root), kind, bare))


def draft_digest(root: Path, path: Path) -> str | None:
    """The digest of a draft whose file lies at the path, in the checkout at `root` or elsewhere; None if it cannot be
    read. The skill made of it has the same.
    """
    whole = path.name == SKILL
    folder = path.parent if whole else path
    inside = folder.is_relative_to(root)
    scene = _scene_at(root if inside else folder.parent)
    name = folder.relative_to(root).as_posix() if inside else folder.name
    try:
        held = content(scene, scene.here, Place("draft", name, frozenset({name}), name)).files
    except UsageFault:
        return None
    return digest(held if whole else {SKILL: held[""]})


def split_kind(name: str) -> tuple[Kind | None, str]:
    """The kind that a name such as `skill:tidy` says, None if it says none, and the name itself."""
    first, _, rest = name.partition(":")
    kind = next((each for each in KINDS if each == first), None)
    return (kind, rest) if kind is not None and rest else (None, name)


def must_be_component(name: str) -> bool:
    """True for a name that says what kind of component it means, and so can be nothing else."""
    return split_kind(name)[0] is not None or bool(_SECTION.fullmatch(name) or _SETTING.fullmatch(name))


def known_paths(checkout: Checkout) -> dict[str, str]:
    """The paths of all components that lie by themselves, in the checkout and in the base, with their names."""
    scene = _scene(checkout, checkout.base)
    known = [each for side in (scene.here, scene.base) for each in scene.places(side)]
    # several servers stand in one file, which then means none of them
    return {(each.path if each.kind != "mcp" else f"{each.path}#{each.name}"): each.name for each in known}


def headings(checkout: Checkout, name: str) -> tuple[str, ...]:
    """The sections of the file that a name such as `CLAUDE.md#Tests` speaks of, as such names; else none."""
    match = _SECTION.fullmatch(name)
    path = tidy_path(match[1]) if match else None
    if path is None:
        return ()
    scene = _scene(checkout, checkout.base)
    for side in (scene.here, scene.base):
        text = _markdown(side, path)
        if text is not None:
            return tuple(f"{path}#{each.title}" for each in sections.sections(text))
    return ()


def _scene(checkout: Checkout, tree: str, reader: Reader | None = None) -> Scene:
    git = checkout.git()
    opened = reader or Reader(git, checkout.git_dir)
    return Scene(Here(checkout.root), Base(opened, lambda: opened.entries(tree)), git)


def _scene_at(root: Path) -> Scene:
    """The checkout at `root` and its HEAD; where git knows of none, the folder alone."""
    git = Git(root, extra_env={"GIT_NO_REPLACE_OBJECTS": "1"})
    reader = Reader(git, root / ".git", by_git=True)

    def load() -> Entries:
        try:
            head = git.run("rev-parse", "--verify", "-q", "HEAD^{commit}")
            return reader.entries(head.text) if head.ok else {}
        except KcutError:
            return {}

    return Scene(Here(root), Base(reader, load), git)


def _found(scene: Scene, kind: Kind | None, name: str) -> list[Found]:
    """What the name means in the checkout; if nothing, in the base."""
    if not name.strip() or "\0" in name:
        return []
    for side in (scene.here, scene.base):
        found = list(_on(scene, side, kind, name))
        if found:
            return found
    return []


def _on(scene: Scene, side: Side, kind: Kind | None, name: str) -> Iterator[Found]:
    """What the name means on one side."""
    if kind in {None, "manifest"}:
        for place in manifests(side):
            if name in place.names:
                yield _manifest(scene, side, place)
                return
    if kind in {None, "section"} and (match := _SECTION.fullmatch(name)):
        yield from _section(side, match[1], match[2])
    if kind in {None, "setting"} and (match := _SETTING.fullmatch(name)):
        yield from _setting(scene, side, match[1], match[2])
    chosen = [each for each in scene.places(side) if name in each.names and kind in {None, each.kind}]
    path = rule_file(side, name) if kind in {None, "rule"} else None
    if path is not None and not any(each.path == path.path for each in chosen):
        chosen.append(path)
    yield from _grouped(scene, side, name, [each for each in chosen if each.kind != "manifest"])


def _grouped(scene: Scene, side: Side, name: str, chosen: Sequence[Place]) -> Iterator[Found]:
    """The components at some places that bear one name: those that hold the same are one."""
    alike: dict[tuple[Kind, str], list[Place]] = {}
    for place in chosen:
        if place.kind == "hook":
            exact = place.path.rpartition("/")[2] == name
            if exact or not any(each.path.rpartition("/")[2] == name for each in chosen if each.kind == "hook"):
                yield settings.of_hook(scene, side, name, [place])
        elif place.kind == "mcp":
            alike.setdefault(("mcp", ""), []).append(place)
        else:
            held = of_files(scene, side, name, [place]).digest
            alike.setdefault((place.kind, held), []).append(place)
    for (kind, held), group in alike.items():
        if kind == "mcp":
            yield settings.of_server(scene, side, name, group)
        elif kind != "draft" or ("skill", held) not in alike:  # the skill has been made of the draft
            yield of_files(scene, side, name, group)


def _manifest(scene: Scene, side: Side, place: Place) -> Found:
    must_stay(side, place.path, f"the manifest {place.name!r}")
    real = resolve(side, place.path)
    file = side.read(real.path) if real is not None else None
    if file is None:
        raise UsageFault(f"the manifest {place.path!r} is no file", remedy="move it away, or make it one")
    return of_manifest(scene, side, place, read_manifest(place.path, file.data))


def _section(side: Side, file: str, heading: str) -> Iterator[Found]:
    path = tidy_path(file)
    if path is None:
        raise UsageFault(
            f"{file!r} leads out of the checkout", remedy="name the file relative to the checkout's root"
        )
    text = _markdown(side, path)
    found = sections.find(text, heading) if text is not None else ()
    if len(found) > 1:
        told = " and ".join(f"{_shown(f'{path}#{each.slug}')} (line {each.line})" for each in found)
        raise UsageFault(f"{path!r} has {len(found)} sections {heading!r}", remedy=f"say which: {told}")
    for each in found:
        yield of_section(path, heading, text or "", each)


def _markdown(side: Side, path: str) -> str | None:
    """The text of a Markdown file, None if there is none. Raises UsageFault if it is too large or leads out."""
    must_stay(side, path, f"the file {path!r}")
    real = resolve(side, path)
    file = side.read(real.path) if real is not None else None
    if file is None or file.mode == LINK:
        return None
    if len(file.data) > sections.LIMIT:
        raise UsageFault(f"{path!r} is larger than {sections.LIMIT >> 10} KiB, more than an agent would read")
    return sections.read(file.data)


def _setting(scene: Scene, side: Side, file: str, token: str) -> Iterator[Found]:
    path = tidy_path(file)
    if path is None:
        raise UsageFault(
            f"{file!r} leads out of the checkout", remedy="name the file relative to the checkout's root"
        )
    for each in (f".claude/{path}", path) if file in _SETTINGS_FILES else (path,):
        must_stay(side, each, f"the file {each!r}")
        text = scene.text(side, each)
        if text is None:
            continue
        try:
            found = pointer.find(jsontext.parse(text).value, token)
        except ValueError as error:
            raise UsageFault(
                f"{token!r} is no JSON pointer: {error}", remedy="for example: settings.json#/hooks/Stop"
            ) from error
        if found is not None:
            yield settings.of_setting(scene, side, each, *found)
        return


def _only(name: str, found: Sequence[Found]) -> Found:
    """The only component; UsageFault if there are several."""
    if len(found) == 1:
        return found[0]
    told = " and ".join(f"the {each.kind} {each.path!r}" for each in found)
    kinds = list(dict.fromkeys(each.kind for each in found))
    if len(kinds) == len(found):
        remedy = f"say which: {' or '.join(_shown(f'{kind}:{name}') for kind in kinds)}"
    elif kinds == ["hook"]:
        remedy = f"say which by its file: {' or '.join(_shown(each.path.rpartition('/')[2]) for each in found)}"
    else:
        remedy = "make them the same, or give one of them another name"
    raise UsageFault(f"the name {name!r} means {told}", remedy=remedy)


def _shown(name: str) -> str:
    """A name as it is typed; with escapes, if it holds what would act on a terminal."""
    return name if name.isprintable() else ascii(name)


def _listed(scene: Scene) -> tuple[Listed, ...]:
    found: dict[tuple[Kind, str], Listed] = {}
    borne: set[tuple[Kind, str]] = set()
    for side in (scene.here, scene.base):
        places = scene.places(side)
        for place in places:
            key = (place.kind, place.name)
            if key in found or (side is scene.base and any((place.kind, name) in borne for name in place.names)):
                continue
            found[key] = _entry(scene, side, place)
        borne |= {(place.kind, name) for place in places for name in place.names}
    return tuple(found[key] for key in sorted(found, key=lambda key: (KINDS.index(key[0]), key[1])))


def _entry(scene: Scene, side: Side, place: Place) -> Listed:
    try:
        if place.kind == "manifest":
            found = _manifest(scene, side, place)
        else:
            found = _DIGESTED.get(place.kind, of_files)(scene, side, place.name, [place])
    except UsageFault as error:
        return Listed(place.name, place.kind, place.path, None, error.message)
    return Listed(place.name, place.kind, place.path, found.digest)


_DIGESTED: dict[Kind, Callable[[Scene, Side, str, Sequence[Place]], Found]] = {
    "hook": settings.of_hook,
    "mcp": settings.of_server,
}

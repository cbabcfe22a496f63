"""What stands in for a component in the cohort that has a placebo: irrelevant text in the same files."""

from kcut.components.manifest import read_manifest
from kcut.components.sides import Base, Here, resolve
from kcut.isolation.checkout import Checkout
from kcut.isolation.reads import Reader
from kcut.model.component import LINK, Edits, File, Kind, Treatment
from kcut.model.errors import UsageFault
from kcut.placebo import changed_lines, stand_in, words_of

#: Why there is no placebo of a component that is more than text.
_NO_TEXT: dict[Kind, str] = {
    "hook": "a hook is a program, and text in its place would be one that fails",
    "mcp": "an MCP server is a program, and text in its place would be one that fails",
    "setting": "a setting is read by the agent's program, not by its model",
}
_REMEDY = "leave --control out, or measure a skill, agent, command, rule, draft or section"


def with_placebo(checkout: Checkout, treatment: Treatment, tree: str, *, reader: Reader | None = None) -> Treatment:
    """The treatment with a third cohort, which has irrelevant text where WITH has the component's.

    `tree` is what trials start from, which `reader` can read if the checkout's repository cannot. Raises UsageFault
    if the component is more than text.
    """
    reads = Reader(checkout.git(), checkout.git_dir) if reader is None else reader
    base = Base(reads, lambda: reads.entries(tree))
    _must_be_text(checkout, treatment, base)
    pieces: dict[str, list[tuple[bool, str]]] = {}
    placebo: dict[str, File | None] = dict(treatment.with_)
    files: dict[str, File] = {}
    for path in {**treatment.with_, **treatment.without}:
        on, off = _file(treatment.with_, base, path), _file(treatment.without, base, path)
        if on is None or on == off or on.mode == LINK:
            continue
        text = _text(path, on)
        files[path] = on
        pieces[path] = [(True, text)] if off is None or off.mode == LINK else changed_lines(text, _text(path, off))
    avoid = words_of("\n".join(text for each in pieces.values() for own, text in each if own))
    changed = False
    for path, on in files.items():
        whole = len(pieces[path]) == 1
        made = "".join(
            stand_in(text, path=path, avoid=avoid, whole=whole) if own else text for own, text in pieces[path]
        )
        placebo[path] = File(on.mode, made.encode())
        changed = changed or placebo[path] != on
    if not changed:
        raise UsageFault(f"{treatment.plan.name} holds no words, so nothing can stand in for them", remedy=_REMEDY)
    return Treatment(
        plan=treatment.plan, with_=treatment.with_, without=treatment.without, placebo=dict(sorted(placebo.items()))
    )


def _file(edits: Edits, base: Base, path: str) -> File | None:
    return edits[path] if path in edits else base.read(path)


def _text(path: str, file: File) -> str:
    if b"\0" not in file.data:
        try:
            return file.data.decode()
        except UnicodeDecodeError:
            pass
    raise UsageFault(f"--control placebo: {path!r} is no text, so no text can stand in for it", remedy=_REMEDY)


def _must_be_text(checkout: Checkout, treatment: Treatment, base: Base) -> None:
    """Raise UsageFault if the component does something that no text does."""
    plan = treatment.plan
    why = _NO_TEXT.get(plan.kind)
    if plan.kind == "manifest":
        parts = {
            "a patch": treatment.patch is not None,
            "variables": bool(treatment.env),
            "a command": treatment.command is not None,
            "JSON": _merges(checkout, plan.path, base),
        }
        more = [part for part, there in parts.items() if there]
        why = f"its manifest holds {' and '.join(more)}, which is no text that an agent reads" if more else None
    if why is not None:
        raise UsageFault(f"--control placebo: {plan.name} is more than text: {why}", remedy=_REMEDY)


def _merges(checkout: Checkout, path: str, base: Base) -> bool:
    """True if the manifest at the path changes JSON files."""
    for side in (Here(checkout.root), base):
        real = resolve(side, path)
        file = side.read(real.path) if real is not None else None
        if file is not None:
            return bool(read_manifest(path, file.data).json_)
    return False

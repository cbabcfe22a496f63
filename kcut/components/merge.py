"""Merging into JSON files, and taking out again what a merge would put in."""

from typing import TYPE_CHECKING, Any

from kcut.components import entries, jsontext
from kcut.components.cohort import Cohort
from kcut.components.jsontext import Way
from kcut.components.places import SERVERS
from kcut.model.errors import UsageFault

if TYPE_CHECKING:
    from kcut.model.manifest import JsonMerge

#: Objects that have to stay, empty or not: a file without them is refused by its reader.
_STAY = {SERVERS}


def give(entry: "JsonMerge", with_: Cohort, without: Cohort) -> None:
    """Merge into WITH's file, and take from WITHOUT's what the merge would put in."""
    text = with_.text(entry.file)
    try:
        made = merged("{}\n" if text is None else text, entry.merge)
    except KeyError as error:
        raise UsageFault(
            f"{entry.file!r} of the base is not an object, or holds something else than the manifest expects",
            remedy="mend the manifest's json, or the file",
        ) from error
    if made != text:
        with_.put_data(entry.file, made.encode())
    other = without.text(entry.file)
    if other is not None:
        bare = unmerged(other, entry.merge)
        if bare != other:
            without.put_data(entry.file, bare.encode())


def merged(text: str, value: dict[str, Any], way: Way = ()) -> str:
    """The text with an object merged into the one at `way`: objects are joined, items added to lists, others set."""
    for key, each in value.items():
        at = (*way, key)
        node = jsontext.look(text, at)
        if node is not None and isinstance(each, dict) and isinstance(node.value, dict):
            text = merged(text, each, at)
        elif node is not None and isinstance(each, list) and isinstance(node.value, list):
            for item in each:
                text = entries.with_item(text, at, item)
        else:
            text = jsontext.put(text, at, each)
    return text


def unmerged(text: str, value: dict[str, Any], way: Way = ()) -> str:
    """The text without what the merge would put in; what another value stands for stays, what is emptied goes."""
    for key, each in value.items():
        at = (*way, key)
        node = jsontext.look(text, at)
        if node is None:
            continue
        if not each and jsontext.same(each, node.value):
            text = jsontext.remove(text, at)
        elif isinstance(each, dict) and isinstance(node.value, dict):
            text = unmerged(text, each, at)
        elif isinstance(each, list) and isinstance(node.value, list):
            for item in each:
                text = entries.without_item(text, at, item)
        elif jsontext.same(each, node.value):
            text = jsontext.remove(text, at)
        left = jsontext.look(text, at)
        if left is not None and node.value and left.value in ({}, []) and key not in _STAY:
            text = jsontext.remove(text, at)
    return text

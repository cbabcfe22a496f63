"""What to say where a name means no component: where it was looked for, and which names are like it."""

import difflib

from kcut.components import places
from kcut.components.find import headings, known_paths, split_kind
from kcut.isolation.checkout import Checkout
from kcut.model.errors import UsageFault


def looked_for(name: str) -> tuple[str, ...]:
    """The places where a component of that name would lie, relative to the root of the checkout."""
    kind, bare = split_kind(name)
    if "#" in bare:
        return (bare.partition("#")[0],)
    if bare.rpartition("/")[2] in places.RULE_FILES:
        return (bare,)
    spots = {
        "manifest": (f"{places.MANIFESTS}/{bare}.toml",),
        "skill": tuple(f"{folder}/{bare}/{places.SKILL}" for folder in places.SKILLS),
        "agent": (f"{places.AGENTS}/{bare}.md",),
        "command": (f"{places.COMMANDS}/{bare.replace(':', '/')}.md",),
        "rule": (f"{places.RULES}/{bare}.md",),
        "hook": (f"{places.HOOKS[0]}/{bare}",),
        "mcp": tuple(f"{path}#/{places.SERVERS}/{bare}" for path in places.MCP_FILES),
        "draft": (f"{places.STAGING}/{bare}/{places.SKILL}",),
    }
    if kind is not None:
        return spots.get(kind, (bare,))
    return tuple(spot for found in spots.values() for spot in found)


def nearest(checkout: Checkout, name: str) -> tuple[str, ...]:
    """At most three names of components of the checkout that are like `name`, the most like first."""
    _, bare = split_kind(name)
    try:
        known, paths = headings(checkout, bare), {}
        if not known:
            paths = known_paths(checkout)
            known = tuple(paths.values())
    except UsageFault:
        return ()
    meant = paths.get((places.tidy_path(bare) or "").removesuffix(f"/{places.SKILL}"))
    if meant is not None:  # its path was given
        return (meant,)
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each.casefold(), each)
    ends = {each.casefold().rpartition("/")[2]: each for each in known if "/" in each and "#" not in each}
    near = difflib.get_close_matches(bare.casefold(), list(dict.fromkeys([*folded, *ends])), n=3)
    return tuple(dict.fromkeys(folded.get(each) or ends[each] for each in near))

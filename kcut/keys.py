"""The keys that a table of a file may have. Pure."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from kcut.model.errors import UsageFault
from kcut.rows.columns import shown

_BARE = re.compile(r"[A-Za-z0-9_-]{1,60}")


def check_keys(where: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    """UsageFault for the first key that is not known, with the one that is near it."""
    for key in table:
        if key not in known:
            near = get_close_matches(key[:100], known, 1)
            raise UsageFault(
                f"{where}: unknown key {key if _BARE.fullmatch(key) else shown(key)}",
                remedy=f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}",
            )

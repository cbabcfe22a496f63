"""Components that kcut switches itself: found by name, given to one cohort, withheld from the other."""

from kcut.components.copies import other_copies, user_copies
from kcut.components.find import (
    draft_digest,
    find_component,
    list_at,
    list_components,
    look_up,
    must_be_component,
    split_kind,
)
from kcut.components.listed import Listed
from kcut.components.near import looked_for, nearest
from kcut.components.placebo import with_placebo
from kcut.components.readers import is_wired, must_be_read

__all__ = [
    "Listed",
    "draft_digest",
    "find_component",
    "is_wired",
    "list_at",
    "list_components",
    "look_up",
    "looked_for",
    "must_be_component",
    "must_be_read",
    "nearest",
    "other_copies",
    "split_kind",
    "user_copies",
    "with_placebo",
]

"""The words of a trial's end: cohorts, outcomes and the reasons of a void."""

from enum import StrEnum


class Cohort(StrEnum):
    """What a trial has: the component, nothing in its place, or irrelevant text of the same length and kind."""

    WITH = "with"
    WITHOUT = "without"
    PLACEBO = "placebo"

    @property
    def enabled(self) -> str:
        """`HARNESS_COMPONENT_ENABLED` of this cohort: `1` where there is a component of that name, else `0`."""
        return "0" if self is Cohort.WITHOUT else "1"


#: The sides of the comparison that decides, in its order. A placebo is only held beside them.
SIDES = (Cohort.WITH, Cohort.WITHOUT)


class Outcome(StrEnum):
    """How a trial ended. Only PASS and FAIL are valid trials, that is, count in a rate."""

    PASS = "pass"  # noqa: S105  # an outcome, not a password
    FAIL = "fail"
    VOID = "void"


class Void(StrEnum):
    """Why a trial never got its chance."""

    WORKTREE = "worktree"
    SETUP = "setup"
    STARTUP = "startup"
    AUTH = "auth"
    PERMISSIONS = "permissions"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    QUOTA = "quota"
    SERVER_ERROR = "server_error"
    CONNECTION = "connection"
    PROMPT_TOO_LONG = "prompt_too_long"
    MANIPULATION = "manipulation"
    INTERRUPTED = "interrupted"
    HARNESS = "harness"


#: Voids that a provider's bad moment caused: run again after a wait.
RETRY_AFTER_WAIT = frozenset({Void.RATE_LIMIT, Void.OVERLOADED, Void.SERVER_ERROR, Void.CONNECTION})
#: Voids that the next attempt would meet again: not run again.
NO_RETRY = frozenset({Void.AUTH, Void.QUOTA, Void.PERMISSIONS, Void.MANIPULATION})

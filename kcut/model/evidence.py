"""What a benchmark's artifact says about a component, to those that act on it: the rubric's R5 and the gate."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["pass", "fail", "inconclusive", "missing", "stale", "unreadable"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The state of one component's benchmark and, in one clause, why.

    `document` is the artifact as it was read, empty if there is none of this component. `blocker` is the path
    that has to go out of the way before a new benchmark can be written, relative to the root of the checkout.
    """

    name: str
    state: State
    why: str
    document: Mapping[str, Any] = field(default_factory=dict)
    blocker: str | None = None


def whole(value: object) -> int | None:
    """The whole number that a JSON value is (3 or 3.0, but neither true nor "3"), None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def miscount(document: Mapping[str, Any]) -> str | None:
    """Why an artifact's counts cannot be those of trials, as one clause; None if they can. What is absent is passed
    over."""
    planned = whole(document.get("k"))
    if planned is not None and planned < 1:
        return f"k is {planned}, and nothing is shown by no trial"
    for cohort in ("with", "without", "placebo"):
        summary = document.get(cohort)
        if not isinstance(summary, dict):
            continue
        limits = [("k", planned), *((key, whole(summary.get(key))) for key in ("k", "valid"))]
        for counted in ("valid", "successes"):
            count = whole(summary.get(counted))
            for key, limit in limits:
                if count is not None and limit is not None and count > limit:
                    return f"{cohort}.{counted} is {count}, more than the {limit} of {key}"
    return None


def weigh(name: str, document: Mapping[str, Any], digests: Collection[str] = ()) -> tuple[State, str]:
    """The state that an artifact's document gives the component `name`, and why. Never raises.

    `pass` or `fail` only if the file is this component's, its `pass` is a boolean, and nothing takes that back.
    `digests` are those of what the name means now: an artifact with another one is stale.
    """
    component, passed = document.get("component"), document.get("pass")
    if not isinstance(component, str):
        return "unreadable", "it names no component"
    if component != name:
        return "unreadable", f"it belongs to another component, {component!r}"
    if not isinstance(passed, bool):
        return "unreadable", "its `pass` is neither true nor false"
    wrong = miscount(document)
    if wrong is not None:
        return "unreadable", f"its counts cannot be: {wrong}"
    facts = _facts(document)
    measured = document.get("componentDigest")
    if measured is not None and measured not in digests:
        return "stale", f"{facts}; {'the component has changed since' if digests else 'the component is gone'}"
    verdict = _verdict(document)
    if verdict == "invalid":
        return "inconclusive", f"{facts}; an invalid run says nothing about the component"
    if document.get("rule") == "evidence":
        if verdict == "inconclusive":
            return "inconclusive", facts
        if verdict in {"keep", "cut"} and passed != (verdict == "keep"):
            return "unreadable", "its `pass` and its decision contradict each other"
    return ("pass" if passed else "fail"), facts


def _verdict(document: Mapping[str, Any]) -> str | None:
    decision = document.get("decision")
    verdict = decision.get("verdict") if isinstance(decision, dict) else None
    return verdict if isinstance(verdict, str) else None


def _facts(document: Mapping[str, Any]) -> str:
    """`benchmark of 2026-11-30: 5/5 with, 2/5 without, evidence KEEP`, as far as the file says so."""
    moment = document.get("ts")
    parts = [_rate(document, cohort) for cohort in ("with", "without")]
    verdict = _verdict(document)
    parts.append(f"evidence {verdict.upper()}" if verdict else "")
    told = ", ".join(part for part in parts if part)
    when = f"benchmark of {moment[:10]}" if isinstance(moment, str) and moment else "benchmark of an unknown day"
    return f"{when}: {told}" if told else when


def _rate(document: Mapping[str, Any], cohort: str) -> str:
    summary = document.get(cohort)
    if not isinstance(summary, dict):
        return ""
    successes = whole(summary.get("successes"))
    trials = whole(
        next((value for value in (summary.get("valid"), summary.get("k")) if value is not None), document.get("k"))
    )
    return "" if successes is None or trials is None else f"{successes}/{trials} {cohort}"

"""Which fault an API error is: tables over HTTP status, error type and the error's own message.

The message is always one that a CLI or a provider wrote as its error, never a model's answer.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from kcut.agents.outcome import PROVIDER
from kcut.agents.report import Fault
from kcut.model.outcome import RETRY_AFTER_WAIT, Void

#: An error message longer than this says nothing more that these tables look for.
MESSAGE = 4000


class Rule(NamedTuple):
    """A pattern of an error's message and the fault that it means."""

    pattern: re.Pattern[str]
    reason: Void


def rules(*pairs: tuple[str, Void]) -> tuple[Rule, ...]:
    """A rule table from pattern and reason; letter case does not matter."""
    return tuple(Rule(re.compile(pattern, re.IGNORECASE), reason) for pattern, reason in pairs)


#: 5xx that are not listed are `server_error`, other 4xx are `startup`: the request itself was wrong.
STATUSES = {
    401: Void.AUTH,
    402: Void.QUOTA,
    403: Void.AUTH,
    407: Void.CONNECTION,
    408: Void.CONNECTION,
    413: Void.PROMPT_TOO_LONG,
    429: Void.RATE_LIMIT,
    499: Void.CONNECTION,
    529: Void.OVERLOADED,
}

#: Error types and status names of the Anthropic, OpenAI and Google APIs, and the words that claude uses.
TYPES = {
    "authentication_error": Void.AUTH,
    "authentication_failed": Void.AUTH,
    "permission_error": Void.AUTH,
    "permission_denied": Void.AUTH,
    "unauthenticated": Void.AUTH,
    "invalid_api_key": Void.AUTH,
    "oauth_org_not_allowed": Void.AUTH,
    "billing_error": Void.QUOTA,
    "insufficient_quota": Void.QUOTA,
    "usage_limit_reached": Void.QUOTA,
    "rate_limit": Void.RATE_LIMIT,
    "rate_limit_error": Void.RATE_LIMIT,
    "rate_limit_exceeded": Void.RATE_LIMIT,
    "resource_exhausted": Void.RATE_LIMIT,
    "overloaded": Void.OVERLOADED,
    "overloaded_error": Void.OVERLOADED,
    "server_is_overloaded": Void.OVERLOADED,
    "unavailable": Void.OVERLOADED,
    "api_error": Void.SERVER_ERROR,
    "server_error": Void.SERVER_ERROR,
    "internal": Void.SERVER_ERROR,
    "internal_server_error": Void.SERVER_ERROR,
    "timeout_error": Void.SERVER_ERROR,
    "deadline_exceeded": Void.SERVER_ERROR,
    "connection_failed": Void.CONNECTION,
    "connection_error": Void.CONNECTION,
    "request_too_large": Void.PROMPT_TOO_LONG,
    "prompt_too_long": Void.PROMPT_TOO_LONG,
    "context_length_exceeded": Void.PROMPT_TOO_LONG,
    "invalid_request": Void.STARTUP,
    "invalid_request_error": Void.STARTUP,
    "not_found_error": Void.STARTUP,
    "model_not_found": Void.STARTUP,
    "invalid_argument": Void.STARTUP,
    "failed_precondition": Void.STARTUP,
    "not_found": Void.STARTUP,
}

#: What a 4xx means in truth: providers answer 400 for an empty account and 429 for a used-up one.
PRECISE = rules(
    # a quota that refills within the minute is a rate limit
    (r"\A(?!(?s:.*)per ?day)(?s:.*)exceeded your current quota(?s:.*)(retry in \d|retrydelay)", Void.RATE_LIMIT),
    (r"\A(?!(?s:.*)per ?day)(?s:.*)rate limit reached", Void.RATE_LIMIT),
    (r"credit balance|insufficient[_ ](quota|credits|funds|balance)|exceeded your current quota", Void.QUOTA),
    (r"quota exceeded|(daily|monthly) (quota|limit)|per ?day|billing|payment required", Void.QUOTA),
    (r"usage[ _]limit|(session|weekly|daily|monthly|hour|spend(ing)?) limit (reached|exceeded)", Void.QUOTA),
    (
        r"(hit|reached|exceeded) your (?![\w -]{0,20}rate)[\w -]{0,40}limit|out of (extra usage|usage|credits)",
        Void.QUOTA,
    ),
    (
        r"prompt is too long|prompt_too_long|context[_ ](window|length)|maximum context|request_too_large",
        Void.PROMPT_TOO_LONG,
    ),
    (r"api[_ ]key (is )?(not valid|invalid)|api_key_invalid|invalid (x-)?api[ _-]?key", Void.AUTH),
)

STATUS_IN_MESSAGE = re.compile(
    r"(?:API Error: |unexpected status |last status: |status code:? |Request rejected \(|\bHTTP )([45]\d\d)\b"
)

OVERLOADED = (r"overloaded|at capacity", Void.OVERLOADED)

PLAIN = rules(
    (r"rate.?limit|too many requests|resource_exhausted", Void.RATE_LIMIT),
    OVERLOADED,
    (r"\bunavailable\b", Void.OVERLOADED),
    (r"ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|stream disconnected", Void.CONNECTION),
    (r"not logged in|/login|authenticat|unauthorized|\bforbidden\b|permission_denied|oauth token", Void.AUTH),
    (r"missing (environment variable|api key)|(refresh|access) token|api key", Void.AUTH),
    (r"not_found|not found|invalid_argument|does not exist|not supported|bad request", Void.STARTUP),
    (r"high demand|internal|server.?(side|error)|bad gateway|empty response", Void.SERVER_ERROR),
    (r"connect|socket|network|time[d -]{0,2}out", Void.CONNECTION),
    (r"error sending request|fetch failed|terminated|transport|premature|incomplete json", Void.CONNECTION),
)

_WAITS = (
    re.compile(r"retry[-_ ]?after[\"']?\s{0,4}[:=]?\s{0,4}[\"']?(\d{1,6}(?:\.\d{1,9})?)()", re.IGNORECASE),
    re.compile(r"retry[-_]?delay[\"']?\s{0,4}[:=]\s{0,4}[\"']?(\d{1,6}(?:\.\d{1,9})?)(s)", re.IGNORECASE),
    re.compile(
        r"(?:retry|again|resets?) (?:in|after) (\d{1,6}(?:\.\d{1,9})?)\s?(ms|s\b|sec|m\b|min|h\b|hour)", re.IGNORECASE
    ),
)
_UNITS = {"ms": 0.001, "m": 60.0, "min": 60.0, "h": 3600.0, "hour": 3600.0}


def by_rules(table: Iterable[Rule], message: str) -> Void | None:
    """The reason of the first rule whose pattern occurs in the message, None if none does."""
    return next((rule.reason for rule in table if rule.pattern.search(message[:MESSAGE])), None)


def by_status(status: int | None) -> Void | None:
    """The reason that an HTTP status of 400 to 599 gives, None for others."""
    if status is None or not 400 <= status <= 599:
        return None
    return STATUSES.get(status) or (Void.SERVER_ERROR if status >= 500 else Void.STARTUP)


def by_kind(kind: str) -> Void | None:
    """The reason that an error type gives, None for an unknown one."""
    return TYPES.get(kind.lower())


def retry_after(message: str) -> float | None:
    """The wait in seconds that an error's message asks for, None if it names none."""
    for pattern in _WAITS:
        if found := pattern.search(message[:MESSAGE]):
            return float(found[1]) * _UNITS.get(found[2].lower(), 1.0)
    return None


def name_fault(*, status: int | None = None, kind: str = "", message: str = "") -> Fault | None:
    """The fault that an API error is, None if nothing in it is known.

    A message that tells an empty account or a too long prompt is more precise than a 4xx; after it the
    status decides, then the type (before the status where that is a general one), then the message.
    """
    precise = by_rules(PRECISE, message)
    named, numbered = by_kind(kind), by_status(status)
    if numbered is Void.SERVER_ERROR and by_rules(rules(OVERLOADED), message):
        return _fault(Void.OVERLOADED, f"HTTP status {status} and its message", message)
    if precise is not None and status != 401 and (status is None or status < 500):
        return _fault(precise, "its message", message)
    if named is not None and numbered in {None, Void.SERVER_ERROR, Void.STARTUP} and named in PROVIDER:
        return _fault(named, f"error type {kind.lower()}", message)
    if numbered is not None:
        return _fault(numbered, f"HTTP status {status}", message)
    if named is not None:
        return _fault(named, f"error type {kind.lower()}", message)
    if found := STATUS_IN_MESSAGE.search(message[:MESSAGE]):
        return name_fault(status=int(found[1]), message=message)
    plain = by_rules(PLAIN, message)
    return _fault(plain, "its message", message) if plain is not None else None


def _fault(reason: Void, what: str, message: str) -> Fault:
    return Fault(reason, f"{reason.value} by {what}", retry_after(message) if reason in RETRY_AFTER_WAIT else None)

"""The sidecar that a task may leave beside its worktree: numbers, booleans and a few plain names."""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcut.agents.values import DECODER, amount, count, label, mapping
from kcut.model.outcome import Void
from kcut.model.trial import Tokens, Usage
from kcut.system.files import LACKING

#: A longer file is no sidecar.
SIZE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What a sidecar says: the trial's economics, and the reason if it says that the trial is void.

    The rest is what `kcut agent` saw, None where nothing told: which CLI ran; whether the component reached it, and
    how often that was used; events that mention the oracle; retry notices; whether a provider's fault came after work
    had been done; how long the provider asked to wait, in seconds.
    """

    usage: Usage
    void: Void | None
    agent: str | None = None
    component_reached: bool | None = None
    component_used: int | None = None
    tamper: int | None = None
    retries: int | None = None
    late: bool = False
    retry_after_s: float | None = None


def read_sidecar(path: Path) -> Sidecar | None:
    """The sidecar at `path`; None if there is none, or if it is no regular file of reasonable size.

    OSError if the machine lacks what it takes to look.
    """
    try:
        # a FIFO would hold the opening up, and a link leads to a file that the task did not write
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in LACKING:
            raise
        return None
    except ValueError:
        return None
    data = bytearray()
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        while len(data) <= SIZE and (chunk := os.read(handle, SIZE + 1 - len(data))):
            data += chunk
    except OSError as error:
        if error.errno in LACKING:
            raise
        return None
    finally:
        os.close(handle)
    return parse_sidecar(bytes(data))


def parse_sidecar(data: bytes) -> Sidecar | None:
    """The sidecar in a file's bytes, None if they are no JSON object. What is not as it should be is left out."""
    if len(data) > SIZE:
        return None
    try:
        document = DECODER.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    cost, error = amount(document.get("cost_usd")), document.get("is_error")
    usage = Usage(
        cost_usd=cost if cost is not None else amount(document.get("total_cost_usd")),
        tokens=_tokens(mapping(document.get("usage"))),
        turns=count(document.get("num_turns")),
        duration_ms=amount(document.get("duration_ms")),
        is_error=error if isinstance(error, bool) else None,
        model=label(document.get("model")),
        agent_version=label(document.get("agent_version")),
    )
    reached = document.get("component_reached")
    return Sidecar(
        usage,
        _void(document.get("void")),
        agent=label(document.get("agent")),
        component_reached=reached if isinstance(reached, bool) else None,
        component_used=count(document.get("component_used")),
        tamper=count(document.get("tamper")),
        retries=count(document.get("retries")),
        late=document.get("late") is True,
        retry_after_s=amount(document.get("retry_after_s")),
    )


def sidecar_bytes(sidecar: Sidecar) -> bytes:
    """The file that reads as this sidecar; what is unknown is left out."""
    usage = sidecar.usage
    document: dict[str, object] = {
        "agent": sidecar.agent,
        "cost_usd": usage.cost_usd,
        "num_turns": usage.turns,
        "duration_ms": usage.duration_ms,
        "is_error": usage.is_error,
        "model": usage.model,
        "agent_version": usage.agent_version,
        "void": sidecar.void and sidecar.void.value,
        "late": sidecar.late or None,
        "retry_after_s": sidecar.retry_after_s,
        "component_reached": sidecar.component_reached,
        "component_used": sidecar.component_used,
        "tamper": sidecar.tamper,
        "retries": sidecar.retries,
    }
    if usage.tokens is not None:
        document["usage"] = {
            "input_tokens": usage.tokens.input,
            "output_tokens": usage.tokens.output,
            "cache_read_input_tokens": usage.tokens.cache_read,
            "cache_creation_input_tokens": usage.tokens.cache_creation,
        }
    return json.dumps({key: value for key, value in document.items() if value is not None}).encode() + b"\n"


def _tokens(usage: dict[str, Any]) -> Tokens | None:
    """Both of input and output, or None; tokens of a cache that is not spoken of are 0."""
    input_, output = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    if input_ is None or output is None:
        return None
    read_, created = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Tokens(input_, output, read_ or 0, created or 0)


def _void(reason: object) -> Void | None:
    return Void(reason) if isinstance(reason, str) and reason in {str(known) for known in Void} else None

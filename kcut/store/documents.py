"""Records as the database keeps them: JSON text that gives back exactly what went in."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcut.model.outcome import Cohort, Outcome, Void
from kcut.model.trial import Tokens, TrialKey, TrialRecord, Usage
from kcut.store.database import damaged

if TYPE_CHECKING:
    from kcut.model.run import RunRecord


def visible(text: str) -> str:
    """Text that SQLite can hold: bytes that were no UTF-8 stand as `\\udcNN`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def run_text(run: "RunRecord") -> str:
    """A run as JSON text, in ASCII so that no byte of a file name is lost."""
    return json.dumps(run.document(), allow_nan=False)


def run_of(text: str, path: Path) -> "RunRecord":
    """The run of a JSON text. Raises NotReady, naming the database at `path`, if it is none."""
    from kcut.model.run import RunRecord

    try:
        return RunRecord.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:  # pydantic's ValidationError is a ValueError
        raise damaged(path, "a run in it cannot be read") from error


def attempt_text(trial: TrialRecord) -> str:
    """An attempt as JSON text."""
    return json.dumps(dataclasses.asdict(trial), allow_nan=False)


def attempt_of(text: str, path: Path) -> TrialRecord:
    """The attempt of a JSON text. Raises NotReady, naming the database at `path`, if it is none."""
    try:
        values = _known(TrialRecord, json.loads(text))
        key = values.pop("key")
        usage = _known(Usage, values.pop("usage"))
        tokens = usage.pop("tokens")
        reason = values.pop("reason")
        outcome = Outcome(values.pop("outcome"))
        rest: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return TrialRecord(
            key=TrialKey(key["pair"], Cohort(key["cohort"])),
            outcome=outcome,
            reason=None if reason is None else Void(reason),
            usage=Usage(tokens=None if tokens is None else Tokens(**_known(Tokens, tokens)), **usage),
            **rest,
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise damaged(path, "an attempt in it cannot be read") from error


def _known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """The values that this version has fields for."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in values.items() if name in names}

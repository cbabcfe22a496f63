"""The door to time."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What kcut needs of time; commands get one as an argument."""

    def now(self) -> datetime:
        """The wall-clock time, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The wall-clock time, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait that long."""
        time.sleep(seconds)


def timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds: `2026-11-30T15:15:00.000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

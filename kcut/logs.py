"""`--logs`: what a trial printed and changed, capped, credentials redacted, readable by its owner only."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from kcut.agents.logins import login_secrets
from kcut.redact import redact_bytes, redact_known, secret_values
from kcut.system.proc import Ran, capped

#: What is kept of the beginning of a stream, in bytes, beside its end.
HEAD = 1024 * 1024


@functools.cache
def known_secrets() -> frozenset[str]:
    """What kcut's own environment and the user's logins of agent CLIs hold, as it was when first asked for."""
    return secret_values(os.environ) | login_secrets(os.environ)


@dataclass(frozen=True, slots=True)
class TrialLogs:
    """The log files of one attempt; `folder` is None if no logs are wanted."""

    folder: Path | None

    @classmethod
    def of(cls, runs: Path | None, name: str) -> "TrialLogs":
        """The logs in `runs/name`, the folder made; none if `runs` is None."""
        if runs is None:
            return cls(None)
        folder = runs / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return cls(folder)

    @property
    def wanted(self) -> bool:
        """True if logs are kept."""
        return self.folder is not None

    def streams(self, phase: str, ran: Ran) -> None:
        """Keep the beginning and the end of what a command printed."""
        self.write(f"{phase}.stdout", capped(ran.stdout_head, ran.stdout, ran.stdout_total))
        self.write(f"{phase}.stderr", capped(ran.stderr_head, ran.stderr, ran.stderr_total))

    def write(self, name: str, data: bytes) -> None:
        """Keep `data` under `name`, redacted."""
        if self.folder is None or not data:
            return
        # a new file: what lies there may be a link or a FIFO that somebody put there
        (self.folder / name).unlink(missing_ok=True)
        handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(redact_bytes(redact_known(data, known_secrets()))[0])

"""The errors a user can mend. Only `kcut.cli` prints them; each carries its remedy and its exit code."""

EXIT_PASS, EXIT_FAIL, EXIT_USAGE, EXIT_INCONCLUSIVE, EXIT_BUG = 0, 1, 2, 3, 70


class KcutError(Exception):
    """A fault with one clear sentence, an optional remedy, and the exit code that the command ends with."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageFault(KcutError):
    """The call, a file named in it, or the configuration is wrong."""


class NotReady(KcutError):
    """The repository, the machine or a folder is not in a state to run in."""


class Interrupted(KcutError):
    """A signal ended the run. `signum` is 1, 2 or 15; the exit code is 128 + signum."""

    def __init__(self, message: str, *, signum: int, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.signum = signum
        self.exit_code = 128 + signum

"""`python -m kcut` is `kcut`."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    """The entry point `kcut`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a ^C while modules load ends kcut without a traceback
    from kcut.cli import main as cli

    cli()


if __name__ == "__main__":
    main()

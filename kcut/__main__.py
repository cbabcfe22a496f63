"""`python -m kcut` is `kcut`."""

import _signal  # type: ignore[import-not-found]  # what `signal` is made of: it is there already, and does not have to be found and read


def main() -> None:
    """The entry point `kcut`. Does not return."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # a ^C while modules load ends kcut without a traceback
    from kcut.cli import main as cli

    cli()


if __name__ == "__main__":
    main()

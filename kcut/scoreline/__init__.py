"""Which files a shell command runs: the first word of each simple command, or the script given to an interpreter."""

from kcut.scoreline.commands import executables

__all__ = ["executables"]

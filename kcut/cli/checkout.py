"""Which checkout a command is about."""

from pathlib import Path

from kcut.model.errors import NotReady


def current_folder() -> Path:
    """The folder that kcut was started in. Raises NotReady if it has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise NotReady("the current folder has been removed", remedy="change to another folder") from error


def root() -> Path:
    """The root of the checkout that kcut was started in. Raises NotReady outside of one."""
    from kcut.system.git import toplevel

    return toplevel(current_folder())

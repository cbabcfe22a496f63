"""TOML that a person wrote: read whole, and what is wrong with it in one sentence."""

import tomllib
from pathlib import Path
from typing import Any

from kcut.model.errors import UsageFault
from kcut.system.files import read_regular

#: In bytes: such a file is written by hand.
LARGEST = 10_000_000


def read_toml(path: Path, *, example: str, name: str | None = None) -> dict[str, Any]:
    """The document in a file. UsageFault, with `example` as its remedy, if it cannot be read or is no TOML.

    `name` is what messages call the file; the path if None.
    """
    name = str(path) if name is None else name
    try:
        return tomllib.loads(read_regular(path, limit=LARGEST).decode("utf-8-sig"))
    except OSError as error:
        raise UsageFault(f"cannot read {name}: {error.strerror or error}", remedy=example) from error
    except UnicodeDecodeError as error:
        raise UsageFault(f"{name} is not UTF-8", remedy="save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageFault(f"{name} is no TOML: {error}", remedy=example) from error
    except RecursionError as error:
        raise UsageFault(f"{name} is nested too deeply", remedy=example) from error
    except ValueError as error:  # a number of thousands of digits, a NUL in the path
        raise UsageFault(f"cannot read {name}: {error}", remedy=example) from error

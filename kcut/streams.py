"""Recorded event streams of agents, and the rules that they are scored by, from disk."""

from importlib import resources
from pathlib import Path

from kcut.compliance import Rules, parse_rules
from kcut.compliance.rules import EXAMPLE
from kcut.model.errors import UsageFault
from kcut.system.files import read_regular
from kcut.toml import read_toml

#: The largest stream that is read, in bytes.
LARGEST = 1 << 29
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_stream(path: Path) -> list[bytes]:
    """The lines of a stream. UsageFault if it cannot be read. UTF-16, which Windows' shells write, is read, too."""
    data = read_file(path, what="events")
    if data.startswith(_UTF16):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.split(b"\n")


def read_file(path: Path, *, what: str) -> bytes:
    """The bytes of a file of JSON. UsageFault if it cannot be read; `what` it should hold is in the remedy."""
    try:
        return read_regular(path, limit=LARGEST)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or str(error)
        raise UsageFault(
            f"cannot read {path}: {why[:1].lower()}{why[1:]}", remedy=f"name a file of {what}"
        ) from error


def registry_text() -> str:
    """The registry that is built in, as TOML."""
    return resources.files("kcut.compliance").joinpath("registry.toml").read_text(encoding="utf-8")


def read_rules(path: Path | None = None) -> Rules:
    """The rules that are built in, with those of the registry at `path` in their place. UsageFault if it is wrong."""
    import tomllib

    base = parse_rules(tomllib.loads(registry_text()), "registry.toml")
    return base if path is None else parse_rules(read_toml(path, example=EXAMPLE), str(path), base)

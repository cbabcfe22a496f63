"""What of the user's configuration a trial's repository gets: what makes a checkout come out as the user's does.

Taken over are line ends, attributes, filters, sparse checkout, identity, and of a partial clone the fetch side of its
remote. Never hooks, other remotes, push addresses, credentials or request headers.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from kcut.isolation.checkout import Checkout
from kcut.system.files import read_regular
from kcut.system.git import Git

#: Settings of one value that decide how files come out of a checkout, how they compare, and who commits.
_SINGLE = frozenset(
    {
        "core.attributesfile",
        "core.autocrlf",
        "core.bigfilethreshold",
        "core.checkroundtripencoding",
        "core.eol",
        "core.excludesfile",
        "core.filemode",
        "core.ignorecase",
        "core.longpaths",
        "core.precomposeunicode",
        "core.protecthfs",
        "core.protectntfs",
        "core.safecrlf",
        "core.sparsecheckout",
        "core.sparsecheckoutcone",
        "core.symlinks",
        "i18n.commitencoding",
    }
)
_IDENTITY = re.compile(r"^(user|author|committer)\.(name|email|useconfigonly)$")
_FILTER = re.compile(r"^filter\..+\.(clean|smudge|process|required)$", re.DOTALL)
_LFS = re.compile(r"^lfs\.(?!url$|pushurl$|storage$|.*\.access$|.*\.locksverify$|extension\.)[a-z]+$")
#: What kcut's own fetch of a partial clone's missing objects needs; it goes to git by environment, never to disk.
_TRANSPORT = re.compile(r"^(http\..+|credential\..+|url\..+\.insteadof|core\.(sshcommand|gitproxy)|ssh\.variant)$")
#: Where git looks if the setting is missing, below the configuration folder of HOME.
_DEFAULTS = {"core.attributesfile": "attributes", "core.excludesfile": "ignore"}
_LIMIT = 1 << 28  # bytes; a list of sparse paths may be long
#: An address to push to that leads nowhere.
NO_PUSH = "kcut-has-switched-pushing-off"


@dataclass(frozen=True, slots=True)
class Carried:
    """Settings for a trial's repository, and what kcut's own fetches of a partial clone need besides."""

    settings: tuple[tuple[str, str], ...]
    transport: tuple[tuple[str, str], ...]
    foreign_hooks: bool  # a global or system core.hooksPath, which trials must not obey
    files: Mapping[str, bytes]  # files of the git directory by their path in it
    large_files: tuple[Path, ...]  # folders that hold LFS objects
    moved_large_files: bool  # they are not beside the objects, where git-lfs looks when it borrows


def as_environment(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Settings as variables for one git process."""
    env = {"GIT_CONFIG_COUNT": str(len(settings))} if settings else {}
    for number, (name, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def carried(checkout: Checkout) -> Carried:
    """Read the user's configuration, included files followed, and choose from it. Nothing is written."""
    git = checkout.git()
    listed = git.must("config", "--list", "-z", "--show-scope").fields()
    found: dict[str, str] = {}
    scopes: dict[str, str] = {}
    transport: list[tuple[str, str]] = []
    for scope, entry in zip(listed[::2], listed[1::2], strict=True):
        name, line_break, value = entry.partition("\n")
        found[name] = value if line_break else "true"
        scopes[name] = scope
        if checkout.partial and scope in {"local", "worktree"} and _TRANSPORT.match(name):
            transport.append((name, found[name]))
    chosen = {name: _absolute(name, value) for name, value in found.items() if _is_taken(name)}
    for name, file in _DEFAULTS.items():
        default = _config_folder() / file
        if name not in chosen and default.is_file():
            chosen[name] = str(default)
    settings = list(chosen.items())
    for remote in checkout.promisors:
        address = _address(git, remote, checkout.root)
        settings += _remote(remote, found, address)
        transport.append((f"remote.{remote}.url", address))
    hooks = scopes.get("core.hookspath") in {"global", "system"} or any(
        scope in {"global", "system"} and entry.startswith("core.hookspath\n")
        for scope, entry in zip(listed[::2], listed[1::2], strict=True)
    )
    moved = found.get("lfs.storage")
    stores = [folder.parent / "lfs" for folder in checkout.objects]
    if moved:
        stores.insert(0, checkout.common_dir / Path(moved).expanduser())
    large_files = tuple(store / "objects" for store in stores)
    return Carried(tuple(settings), tuple(transport), hooks, _files(checkout), large_files, moved is not None)


def _is_taken(name: str) -> bool:
    return name in _SINGLE or any(pattern.match(name) for pattern in (_IDENTITY, _FILTER, _LFS))


def _absolute(name: str, value: str) -> str:
    """A file's name that does not depend on HOME."""
    return os.path.expanduser(value) if name in _DEFAULTS else value  # noqa: PTH111  # keeps what is relative


def _config_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "git"


def _files(checkout: Checkout) -> dict[str, bytes]:
    places = {
        "shallow": checkout.common_dir / "shallow",
        "info/attributes": checkout.common_dir / "info" / "attributes",
        "info/exclude": checkout.common_dir / "info" / "exclude",
        "info/sparse-checkout": checkout.git_dir / "info" / "sparse-checkout",
    }
    return {name: read_regular(path, limit=_LIMIT) for name, path in places.items() if path.is_file()}


def _address(git: Git, remote: str, root: Path) -> str:
    """Where a remote is fetched from, aliases resolved; a path relative to the checkout made absolute."""
    asked = git.run("ls-remote", "--get-url", remote)
    address = asked.text if asked.ok else remote
    local = not re.match(r"^[A-Za-z][A-Za-z0-9+.-]*://|^[^/]+:", address)
    return os.path.normpath(root / address) if local else address


def _remote(remote: str, found: Mapping[str, str], address: str) -> list[tuple[str, str]]:
    """A partial clone's remote for trials: it can be fetched from without credentials, and not pushed to."""
    prefix = f"remote.{remote}"
    chosen = found.get(f"{prefix}.partialclonefilter")
    kept = [(f"{prefix}.partialclonefilter", chosen)] if chosen else []
    return [
        (f"{prefix}.url", without_credentials(address)),
        (f"{prefix}.pushurl", NO_PUSH),
        (f"{prefix}.promisor", "true"),
        *kept,
    ]


def without_credentials(address: str) -> str:
    """An address without the user and password that a URL may hold; an ssh login name stays."""
    if "://" not in address:
        return address
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return address
    if parts.scheme in {"ssh", "git+ssh", "ssh+git"}:
        user = parts.netloc.rpartition("@")[0].partition(":")[0]
        host = f"{user}@{host}" if user else host
    return urlunsplit(parts._replace(netloc=host))


def config_text(settings: Iterable[tuple[str, str]]) -> str:
    """A git configuration file with these settings, in their order."""
    lines: list[str] = []
    open_section = ""
    for name, value in settings:
        section, key = _split(name)
        if section != open_section:
            lines.append(section)
            open_section = section
        lines.append(f"\t{key} = {_quoted(value)}")
    return "".join(line + "\n" for line in lines)


def _split(name: str) -> tuple[str, str]:
    first, _, rest = name.partition(".")
    middle, _, key = rest.rpartition(".")
    if not middle:
        return f"[{first}]", key
    escaped = middle.replace("\\", "\\\\").replace('"', '\\"')
    return f'[{first} "{escaped}"]', key


def _quoted(value: str) -> str:
    for plain, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("\b", "\\b")):
        value = value.replace(plain, escape)
    return f'"{value}"'

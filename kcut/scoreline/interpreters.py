"""Commands that run another file or another command, and the options that stand before it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Options:
    """Which options take a value, by letter (`-W ignore`, `-Wignore`) and by long name (`--name v`, `--name=v`).

    `code`: the value is a program. `module`: it names a Python module. `file`: it is the script itself.
    `folder`: it is where the command runs. `value`: anything else. `command`: it is a shell command.
    """

    value: str = ""
    code: str = ""
    module: str = ""
    file: str = ""
    folder: str = ""
    command: str = ""
    long: dict[str, str] = field(default_factory=dict)

    def letter(self, letter: str) -> str | None:
        """What the value of a one-letter option is, None if it takes none."""
        for name in ("value", "code", "module", "file", "folder", "command"):
            if letter in getattr(self, name):
                return name
        return None


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`name [subcommand] [options] script`. `variants` are the files that `script` may stand for besides itself."""

    options: Options = Options()
    subcommands: frozenset[str] = frozenset()
    variants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runner:
    """`name [subcommand] [options] [operands] command ...`; `assigns`: assignments may stand before the command."""

    options: Options = Options()
    subcommand: str | None = None
    operands: int = 0
    assigns: bool = False


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"})
SHELL_LONG = frozenset({"--rcfile", "--init-file"})

_NODE = Options(
    value="rC",
    code="ep",
    long=dict.fromkeys(
        ("--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file"), "value"
    )
    | {"--eval": "code", "--print": "code"},
)
_SCRIPTS = Options(value="rI", code="e", folder="C")

#: By name without its version: `python3.12` is found as `python`.
INTERPRETERS = {
    "python": Interpreter(Options(value="WX", code="c", module="m"), variants=("__main__.py",)),
    "pypy": Interpreter(Options(value="WX", code="c", module="m"), variants=("__main__.py",)),
    "coverage": Interpreter(
        Options(
            module="m",
            long=dict.fromkeys(
                ("--source", "--rcfile", "--omit", "--include", "--data-file", "--context", "--concurrency"), "value"
            ),
        ),
        subcommands=frozenset({"run"}),
    ),
    "node": Interpreter(_NODE, variants=(".js",)),
    "nodejs": Interpreter(_NODE, variants=(".js",)),
    "tsx": Interpreter(_NODE),
    "ts-node": Interpreter(Options(value="rPO", code="ep", long={"--project": "value"})),
    "bun": Interpreter(
        Options(value="rc", code="ep", folder="", long={"--cwd": "folder"}), subcommands=frozenset({"run"})
    ),
    "deno": Interpreter(Options(value="cL", long={"--config": "value"}), subcommands=frozenset({"run"})),
    "ruby": Interpreter(_SCRIPTS),
    "perl": Interpreter(Options(value="IMm", code="eE")),
    "php": Interpreter(Options(value="dcz", code="rBRE", file="fF", long={"--file": "file", "--run": "code"})),
    "lua": Interpreter(Options(value="l", code="e")),
    "julia": Interpreter(Options(value="LJtp", code="eE")),
    "Rscript": Interpreter(Options(code="e")),
    "tclsh": Interpreter(),
    "fish": Interpreter(Options(value="C", command="c")),
    "pwsh": Interpreter(Options(long={"-File": "file", "-Command": "code"})),
    "awk": Interpreter(Options(value="vF", file="f")),
    "gawk": Interpreter(Options(value="vF", file="f")),
    "java": Interpreter(Options(long={"-jar": "file", "-cp": "value", "--class-path": "value"})),
}

#: Python modules that run the script given to them.
MODULES = {
    "coverage": INTERPRETERS["coverage"],
    "pdb": Interpreter(Options(value="c", module="m")),
    "cProfile": Interpreter(Options(value="os", module="m")),
    "profile": Interpreter(Options(value="os", module="m")),
}

_UV = Options(
    value="p",
    module="m",
    long=dict.fromkeys(
        ("--with", "--with-editable", "--with-requirements", "--python", "--extra", "--group", "--only-group"),
        "value",
    )
    | dict.fromkeys(("--no-group", "--package", "--project", "--env-file", "--index-url", "--index"), "value")
    | {"--directory": "folder", "--module": "module"},
)

RUNNERS = {
    "env": Runner(
        Options(
            value="u",
            folder="C",
            command="S",
            long={"--unset": "value", "--chdir": "folder", "--split-string": "command"},
        ),
        assigns=True,
    ),
    "time": Runner(Options(value="fo")),
    "command": Runner(Options()),
    "builtin": Runner(),
    "exec": Runner(Options(value="a")),
    "nohup": Runner(),
    "setsid": Runner(),
    "nice": Runner(Options(value="n")),
    "ionice": Runner(Options(value="cn")),
    "timeout": Runner(Options(value="sk", long={"--signal": "value", "--kill-after": "value"}), operands=1),
    "gtimeout": Runner(Options(value="sk"), operands=1),
    "stdbuf": Runner(Options(value="ioe")),
    "sudo": Runner(Options(value="ugUCghpT"), assigns=True),
    "xargs": Runner(Options(value="nLPIEsda")),
    "npx": Runner(Options(value="p", command="c", long={"--package": "value"})),
    "bunx": Runner(),
    "pnpm": Runner(subcommand="exec"),
    "uv": Runner(_UV, subcommand="run"),
    "uvx": Runner(Options(value="p", long={"--from": "value", "--with": "value"})),
    "poetry": Runner(subcommand="run"),
    "pipenv": Runner(subcommand="run"),
    "pdm": Runner(subcommand="run"),
    "rye": Runner(subcommand="run"),
    "hatch": Runner(subcommand="run"),
    "bundle": Runner(subcommand="exec"),
}

_VERSION = re.compile(r"([A-Za-z][A-Za-z-]*?)-?[0-9]+(?:\.[0-9]+)*t?")


def base_name(word: str) -> str:
    """The command's name without its folder and version."""
    name = word.rpartition("/")[2]
    match = _VERSION.fullmatch(name)
    return match[1] if match else name


@dataclass(frozen=True, slots=True)
class Given:
    """The options of a command that mean something, and the words after them."""

    values: tuple[tuple[str, str], ...]
    rest: tuple[str, ...]


def options_of(words: Sequence[str], options: Options) -> Given:
    """The options before the first other word, as (what the value is, value)."""
    values: list[tuple[str, str]] = []
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] != "-":
        word = words[index]
        index += 1
        if word == "--":
            break
        long, equals, attached = word.partition("=")
        name = options.long.get(long)
        if name is None and not word.startswith("--"):
            for position, letter in enumerate(word[1:], start=2):
                if (name := options.letter(letter)) is not None:
                    equals, attached = word[position : position + 1], word[position:]
                    break
        if name is None:
            continue
        if not equals:
            attached = words[index] if index < len(words) else ""
            index += 1
        values.append((name, attached))
        if name in {"code", "module"}:
            break
    return Given(tuple(values), tuple(words[index:]))

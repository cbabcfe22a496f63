"""Imports go down only, the pure layers stay pure, and starting up stays light."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "kcut"

#: Each layer may import from those below it (and from itself).
LAYERS = (
    ("cli", "__main__"),
    ("report",),
    ("benchmark", "aftermath", "rescore"),
    ("resolve", "precautions", "ready", "suite", "performers"),
    ("trial", "steps", "bench"),
    ("engine",),
    (
        *("isolation", "agents", "components", "store", "artifacts", "evaluate", "drafts", "logs", "prices"),
        *("streams", "toml"),
    ),
    ("system",),
    (
        "checkpoint",
        "rubric",
        "stats",
        "verdict",
        "soundness",
        "flips",
        "globs",
        "keys",
        "cautions",
        "commandline",
        "compliance",
        "decision",
        "course",
        "rates",
        "rows",
        "sizing",
        "summary",
        "placebo",
        "treatment",
        "plan",
        "prose",
        "schedule",
        "scoreline",
        "redact",
        "rework",
    ),
    ("model",),
)
PURE = LAYERS[-2] + LAYERS[-1]
IMPURE = {"os", "subprocess", "time", "random", "pathlib", "tempfile", "shutil", "socket", "signal", "sys"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer(part: str) -> int:
    """The index of a layer, 0 at the top."""
    for index, names in enumerate(LAYERS):
        if part in names:
            return index
    raise AssertionError(f"{part} is in no layer")


def imports(path: Path) -> list[str]:
    """Every module that a file imports, anywhere in it."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part == "__init__":
        assert not [name for name in imports(path) if name.startswith("kcut")]
        return
    for name in imports(path):
        if name.startswith("kcut."):
            assert layer(name.split(".")[1]) >= layer(part), f"{path} imports {name}, which lies above it"
    if part in PURE:
        impure = {name.split(".")[0] for name in imports(path)} & IMPURE
        assert not impure, f"{path} is in a pure layer and imports {impure}"
    if part != "system":
        assert "subprocess" not in imports(path), f"{path}: processes are started by kcut.system alone"


def test_help_loads_click_and_nothing_heavy() -> None:
    code = (
        "import sys, kcut.cli as cli\n"
        "assert cli.run(['--help']) == 0\n"
        "heavy = {'pydantic', 'rich', 'pygit2', 'markdown_it', 'yaml', 'tabulate', 'plotly', 'sqlite3', 'asyncio'}\n"
        "print('\\nHEAVY', sorted(heavy & set(sys.modules)))\n"
    )
    # measuring coverage would load modules of its own
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines()[-1] == "HEAVY []", done.stdout

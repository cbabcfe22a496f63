"""`kcut demo`: a stranger's first minute."""

import json
import os
from pathlib import Path

from tests.conftest import Kcut


def test_the_demo_explains_a_whole_benchmark_and_leaves_nothing(kcut: Kcut, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    env = {"TMPDIR": str(place), "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "/dev/null"}  # no git identity at all
    done = kcut("demo", env=env)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    verdict = next(index for index, line in enumerate(lines) if line.startswith("verdict (point rule): PASS"))
    assert lines[verdict + 1].startswith("      ")
    for start in ("cohort", "with ", "without ", "evidence: KEEP", "  warning"):
        index = next(number for number, line in enumerate(lines) if line.startswith(start))
        assert any(line.startswith("      ") for line in lines[index + 1 : index + 4]), start
    assert list(place.iterdir()) == []


def test_the_demo_can_be_kept(kcut: Kcut, tmp_path: Path) -> None:
    done = kcut("demo", "--dir", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(kcut("show", "last", "--json", cwd=tmp_path / "here").stdout)
    assert len(shown["trials"]) == 10
    again = kcut("demo", "--dir", "here", cwd=tmp_path)
    assert again.returncode == 2
    assert "here is there already" in again.stderr


def test_the_demo_runs_where_agents_and_hooks_abound(kcut: Kcut, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-checkout"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    config = tmp_path / "config"
    config.write_text(f"[core]\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n[init]\n\ttemplateDir = {hooks}\n")
    env = {"GIT_CONFIG_GLOBAL": str(config), "CLAUDECODE": "1", "GIT_DIR": os.devnull}
    done = kcut("demo", env=env)
    assert done.returncode == 0, done.stderr

"""The figures that the README states, computed once more."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kcut.stats.fixed import boschloo_rate, point_rule_rate
from kcut.stats.operating import operating
from kcut.stats.sequential import design

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
RULES: dict[str, Callable[[float], float]] = {
    "point rule, k = 5": lambda p: point_rule_rate(5, p, p),
    "evidence, k = 5": lambda p: boschloo_rate(5, p, p),
    "evidence, k = 20": lambda p: boschloo_rate(20, p, p),
    "evidence, `--until-decided`": lambda p: operating(design(), p, p).keep,
}


@pytest.mark.parametrize("rule", RULES)
def test_false_keeps(rule: str) -> None:
    row = next(line for line in README.splitlines() if line.startswith(f"| {rule} |"))
    stated = [float(cell) for cell in row.split("|")[2:-1]]
    computed = [RULES[rule](p) for p in RATES]
    assert stated == pytest.approx(computed, abs=0.0005)
    assert rule.startswith("point") or max(computed) <= 0.05


def test_the_levels_of_the_sequential_design() -> None:
    found = re.search(
        r"kept in at most (\d+) of 100 runs.*?cut in at most (\d+).*?in at most (\d+) pairs", README, re.DOTALL
    )
    assert found is not None
    plan = design()
    assert [int(text) for text in found.groups()] == [100 * plan.alpha, 100 * plan.beta, plan.most]
    worst = max(operating(plan, p / 20, p / 20 + 0.2).cut for p in range(17))
    assert 0.09 < worst <= plan.beta


def test_the_point_rule_is_no_evidence() -> None:
    said = re.search(r"passes it by luck in up to (\d+) of 100 runs at k 5", README)
    assert said is not None
    worst = max(point_rule_rate(5, p / 50, p / 50) for p in range(1, 50))
    assert int(said[1]) == round(100 * worst)
    assert max(point_rule_rate(20, p / 50, p / 50) for p in range(1, 50)) > worst

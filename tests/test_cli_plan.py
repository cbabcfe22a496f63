"""`kcut plan`: what it promises is what the exact tests and designs do."""

import json
from typing import Any

import pytest

from kcut.stats.fixed import boschloo_rate
from tests.conftest import Kcut


def plan(kcut: Kcut, *args: str, code: int = 0) -> dict[str, Any]:
    done = kcut("plan", "--json", *args)
    assert (done.returncode, done.stderr) == (code, "")
    document: dict[str, Any] = json.loads(done.stdout)
    assert list(document) == ["fixedK", "fixedPower", "maxPairs", "meanPairs", "costUsd"]
    return document


@pytest.mark.parametrize(
    ("baseline", "effect", "fixed", "pairs", "mean"),
    [("0.5", "0.2", 75, 85, 54.5), (".5", ".4", 17, 19, 12.9)],
)
def test_published_figures(kcut: Kcut, baseline: str, effect: str, fixed: int, pairs: int, mean: float) -> None:
    found = plan(kcut, "--baseline", baseline, "--effect", effect, "--power", "0.8")
    assert (found["fixedK"], found["maxPairs"], round(found["meanPairs"], 1)) == (fixed, pairs, mean)
    target = float(baseline) + float(effect)
    assert found["fixedPower"] == pytest.approx(boschloo_rate(fixed, float(baseline), target))
    assert found["fixedPower"] >= 0.8 > boschloo_rate(fixed - 1, float(baseline), target)
    assert found["costUsd"] is None


def test_money(kcut: Kcut) -> None:
    options = ("--baseline", "0.1", "--effect", "0.8")
    found = plan(kcut, *options, "--cost-per-trial", ".25")
    assert found["costUsd"] == pytest.approx(2 * found["fixedK"] * 0.25)
    text = kcut("plan", *options, "--cost-per-trial", ".25").stdout
    assert f"--k {found['fixedK']}" in text
    assert f"${found['costUsd']:.2f}" in text
    assert f"--max-k {found['maxPairs']}" in text


def test_an_effect_out_of_reach_is_named_so(kcut: Kcut) -> None:
    found = plan(kcut, "--baseline", "0.5", "--effect", "0.05")
    assert (found["fixedK"], found["fixedPower"], found["maxPairs"], found["meanPairs"]) == (None, None, None, None)
    text = kcut("plan", "--baseline", "0.5", "--effect", "0.05", "--cost-per-trial", "1").stdout
    assert "out of reach: more than 500 trials per cohort" in text
    assert "out of reach: more than 130 pairs" in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "--baseline"),
        (("--baseline", "0.5"), "--effect"),
        (("--baseline", "0.9", "--effect", "0.2"), "leaves 0.1 to gain, less than 0.2"),
        (("--baseline", "1.1", "--effect", "0.2"), "--baseline must be a rate from 0 to 1"),
        (("--baseline", "nan", "--effect", "0.2"), "--baseline must be a rate from 0 to 1"),
        (("--baseline", "0.5", "--effect", "0"), "--effect must be a number between 0 and 1"),
        (("--baseline", "0.5", "--effect", "-0.2"), "--effect must be a number between 0 and 1"),
        (("--baseline", "0.5", "--effect", "0.2", "--power", "1"), "--power must be a number between 0 and 1"),
        (("--baseline", "0.5", "--effect", "0.2", "--cost-per-trial", "-1"), "--cost-per-trial must be an amount"),
    ],
)
def test_what_cannot_be_planned(kcut: Kcut, args: tuple[str, ...], said: str) -> None:
    done = kcut("plan", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr

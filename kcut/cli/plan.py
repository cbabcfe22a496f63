"""`kcut plan`: how many trials it takes to see an effect, before any is paid for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from kcut.cli.common import emit_json, json_option
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import MONEY, RATE, SHARE
from kcut.model.errors import EXIT_PASS, UsageFault

if TYPE_CHECKING:
    from kcut.stats.sequential_plan import SequentialPlan

HELP = """Say how many trials it takes to show an effect: a fixed number, or pairs that stop as soon as it is clear.

The effect is the gain in the success rate over the baseline, the rate without the component. Effects that no
affordable number of trials can show are named so: then choose a task on which the component matters more.

\b
Examples:
  kcut plan --baseline .5 --effect .2
  kcut plan --baseline .4 --effect .4 --power .9 --cost-per-trial 0.35
  kcut plan --baseline .5 --effect .2 --json
"""


@click.command("plan", cls=ConfiguredCommand, help=HELP)
@click.option("--baseline", type=RATE, required=True, help="The success rate without the component.")
@click.option("--effect", type=SHARE, required=True, help="The gain to be shown, such as 0.2.")
@click.option("--power", type=SHARE, default=0.8, show_default=True, help="The chance to show it, if it is there.")
@click.option("--alpha", type=SHARE, default=0.05, show_default=True, help="The chance of a KEEP that is none.")
@click.option("--cost-per-trial", type=MONEY, metavar="USD", help="Also say what it costs.")
@json_option
def command(
    *, baseline: float, effect: float, power: float, alpha: float, cost_per_trial: float | None, as_json: bool
) -> int:
    """Print the plan; see HELP."""
    target = round(baseline + effect, 12)
    if target > 1:
        raise UsageFault(
            f"a baseline of {baseline:g} leaves {1 - baseline:.3g} to gain, less than {effect:g}",
            remedy="plan for a smaller effect, or measure on a harder task",
        )
    found = _sizes(baseline, target, power, alpha)
    fixed, running = found.fixed_k, found.running
    if as_json:
        emit_json(
            {
                "fixedK": fixed,
                "fixedPower": found.fixed_power,
                "maxPairs": running.max_pairs if running else None,
                "meanPairs": running.mean_pairs if running else None,
                "costUsd": None if fixed is None or cost_per_trial is None else 2 * fixed * cost_per_trial,
            }
        )
        return EXIT_PASS
    click.echo(f"to show a rise from {baseline:g} to {target:g} in {power:.0%} of runs (alpha {alpha:g}):")
    for line in (_fixed_line(found, cost_per_trial), _running_line(found, cost_per_trial)):
        click.echo(f"  {line}")
    if running is None:
        click.echo(
            f"an effect of {effect:g} takes more trials than most can pay for: choose a task on which the component "
            "matters more, or ask for a larger effect"
        )
    return EXIT_PASS


@dataclass(frozen=True, slots=True)
class _Sizes:
    fixed_k: int | None
    fixed_power: float | None
    running: "SequentialPlan | None"
    most_fixed: int
    most_running: int


def _sizes(baseline: float, target: float, power: float, alpha: float) -> _Sizes:
    from kcut.stats.fixed import boschloo_rate
    from kcut.stats.planning import MOST, needed_k
    from kcut.stats.sequential_plan import MOST_PLANNED, sequential_plan

    fixed = needed_k(baseline, target, alpha=alpha, power=power)
    reached = None if fixed is None else boschloo_rate(fixed, baseline, target, alpha=alpha)
    running = None if fixed is None else sequential_plan(baseline, target, alpha=alpha, power=power)
    return _Sizes(fixed, reached, running, MOST, MOST_PLANNED)


def _fixed_line(found: _Sizes, price: float | None) -> str:
    if found.fixed_k is None or found.fixed_power is None:
        return f"a fixed number   out of reach: more than {found.most_fixed} trials per cohort"
    line = f"a fixed number   --k {found.fixed_k}   {2 * found.fixed_k} trials, power {found.fixed_power:.3f}"
    return line + _cost(2 * found.fixed_k, price)


def _running_line(found: _Sizes, price: float | None) -> str:
    if found.running is None:
        return f"until decided    out of reach: more than {found.most_running} pairs"
    cap, mean = found.running.max_pairs, found.running.mean_pairs
    line = f"until decided    --max-k {cap}   {mean:.1f} pairs on average"
    return line + _cost(2 * mean, price, about="on average ")


def _cost(trials: float, price: float | None, about: str = "") -> str:
    from kcut.report.text import money

    return "" if price is None else f", {about}{money(trials * price)}"

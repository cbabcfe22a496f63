"""What only the whole of a run shows, however often it was resumed: warnings at its end."""

import os
from collections.abc import Iterator, Sequence

from kcut.isolation import ignored_files
from kcut.model.artifact import Warn
from kcut.model.run import RunRecord
from kcut.model.trial import TrialRecord
from kcut.ready import Ready
from kcut.schedule import TrialSchedule
from kcut.store import Store

#: The event that holds what the score said of the untouched base.
PROBED = "probed"


def at_the_end(
    run: RunRecord, ready: Ready, schedule: TrialSchedule, left: list[str], store: Store
) -> Iterator[Warn]:
    """Warnings from the whole run, however often it was resumed."""
    for event in store.events(run.run_id):
        if event.kind == PROBED and event.detail.get("passes"):
            task = event.detail.get("task")
            yield Warn(
                code="baseline-passes",
                evidence={"exit": event.detail.get("exit")} | ({"task": task} if task else {}),
                advice=f"the score{f' of {task}' if task else ''} passes before any work was done: "
                "make it check what the task is to achieve",
            )
    if store.lost is not None:
        yield Warn(
            code="record-lost",
            evidence={"path": os.path.relpath(store.path, ready.checkout.root), "file": store.lost},
            advice="keep trials out of your checkout's .claude/eval: something took the record away meanwhile, and "
            "history, show and --resume may not know this run",
        )
    if schedule.budget_stop:
        yield _budget_warning(run, schedule)
    hints = _hints(ready, schedule.attempts)
    yield from hints
    if left and not any(hint.code == "leftover" for hint in hints):
        yield Warn(
            code="leftover",
            evidence={"paths": left[:10]},
            advice=f"could not remove {left[0]}: remove it by hand, or try: kcut clean",
        )


def _budget_warning(run: RunRecord, schedule: TrialSchedule) -> Warn:
    spent = sum(record.usage.cost_usd or 0.0 for record in schedule.attempts)
    pairs = sum(schedule.pair_done(pair) for pair in range(min(run.plan.pairs, len(schedule.final))))
    return Warn(
        code="budget-stop",
        evidence={"spentUsd": round(spent, 6), "maxCostUsd": run.plan.max_cost, "pairs": pairs},
        advice="the next pair would not have fitted: raise --max-cost to run all pairs",
    )


def _hints(ready: Ready, attempts: tuple[TrialRecord, ...]) -> list[Warn]:
    """What only the whole run shows: notes of trials, and files that the trials did not have."""
    warnings = [
        Warn(
            code=code,
            evidence={"trials": trials[:10], "count": len(trials)},
            advice=f"{trials[0]}{f' (and {len(trials) - 1} more trials)' * (len(trials) > 1)}; {advice}",
        )
        for code, advice, trials in (
            (
                "checkout-changed",
                "the trials used the base as it was at the start: run again if the change matters",
                _noted(attempts, "your checkout changed"),
            ),
            (
                "leftover",
                "remove it by hand, or try: kcut clean",
                _noted(attempts, "could not remove"),
            ),
            (
                "processes-left",
                "end them by hand: kcut cannot end what runs as another user",
                _noted(attempts, "could not end"),
            ),
        )
        if trials
    ]
    ended = sum(record.ended for record in attempts)
    if ended:
        warnings.append(
            Warn(
                code="processes-ended",
                evidence={"processes": ended},
                advice="what a phase starts is ended with it: start a server that the score needs in the score",
            )
        )
    if attempts and not any(record.outcome.value == "pass" for record in attempts):
        exits = {(record.task_exit, record.score_exit, record.timed_out) for record in attempts}
        ignored = ignored_files(ready.checkout) if len(exits) == 1 else ()
        oracles = ready.plan.checkout.hidden
        ignored = tuple(path for path in ignored if not any(f"{oracle}/".startswith(path) for oracle in oracles))
        if ignored:
            warnings.append(
                Warn(
                    code="ignored-files",
                    evidence={"paths": list(ignored[:10])},
                    advice=f"all trials failed alike, and git ignores {_some(ignored)}, which they may need: "
                    "try --copy or --setup",
                )
            )
    return warnings


def _some(paths: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def _noted(attempts: tuple[TrialRecord, ...], start: str) -> list[str]:
    return [f"{record.key}: {note}" for record in attempts for note in record.notes if note.startswith(start)]

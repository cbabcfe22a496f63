"""What can be seen before any trial, and what a person should do about it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kcut.components import is_wired, other_copies, user_copies
from kcut.isolation import Checkout, protected_paths, seen_at_base, venv_inside
from kcut.model.artifact import Warn
from kcut.model.plan import Plan
from kcut.ready import Ready
from kcut.redact import redact
from kcut.scoreline import executables


def warnings(ready: Ready, environ: Mapping[str, str]) -> tuple[Warn, ...]:
    """What can be seen before any trial."""
    plan, checkout = ready.plan, ready.checkout
    warnings: list[Warn] = []
    scripts = () if plan.agent is not None else (work.plan.task for work in ready.works)
    missing = dict.fromkeys(_missing_script(plan, script, checkout) for script in scripts)
    for path in missing:
        if path is None:
            continue
        warnings.append(
            Warn(
                code="task-missing",
                evidence={"path": path},
                advice=f"the base has no {path}: commit it, or use --dirty include, unless the task makes it",
            )
        )
    for spec in ready.specs:
        if not spec.notes:
            continue
        warnings.append(
            Warn(
                code="spec",
                evidence={"notes": [f"line {note.line}: {note.text}" for note in spec.notes[:10]]},
                advice=f"line {spec.notes[0].line} of the spec is not what it seems: see kcut checkpoint --lint",
            )
        )
    texts = [text for work in plan.works for text in (work.task, work.score, plan.setup) if text is not None]
    texts += [work.prompt.text for work in plan.works if work.prompt is not None]
    if any(redact(text)[1] for text in texts):
        warnings.append(
            Warn(
                code="credential",
                advice="pass it in an environment variable: the record keeps *** and the run cannot be resumed",
            )
        )
    if ready.uncommitted and plan.checkout.dirty_mode == "ignore":
        warnings.append(
            Warn(
                code="dirty",
                evidence={"paths": list(ready.uncommitted[:10]), "count": len(ready.uncommitted)},
                advice="the trials have none of these changes: commit them, or use --dirty include",
            )
        )
    inside = venv_inside(checkout, environ)
    if inside is not None:
        warnings.append(
            Warn(
                code="shared-install",
                evidence={"path": inside},
                advice="both cohorts may run the code of your checkout: install it with --setup in each worktree",
            )
        )
    return tuple(warnings)


def of_component(ready: Ready, environ: Mapping[str, str]) -> Iterator[Warn]:
    """Ways in which a component that kcut withholds could be seen all the same."""
    plan, treatment = ready.plan, ready.treatment
    if treatment is None:
        return
    home = environ.get("HOME")
    isolated = plan.isolate_home or plan.agent is not None
    copies = user_copies(treatment.plan, Path(home)) if home and not isolated else ()
    if copies:
        yield Warn(
            code="user-copy",
            evidence={"paths": list(copies[:10])},
            advice=f"an agent would find {copies[0]} in both cohorts: add --isolate-home, or move it away meanwhile",
        )
    nearer = other_copies(treatment.plan, ready.checkout, dirty=plan.checkout.snapshot is not None)
    if nearer:
        yield Warn(
            code="other-copy",
            evidence={"paths": list(nearer[:10])},
            advice=f"both cohorts have {nearer[0]}, which an agent in {ready.checkout.subdir} reads as well: "
            "remove it, or start kcut in the root",
        )
    if treatment.plan.kind == "hook" and not is_wired(treatment.plan):
        yield Warn(
            code="hook-unwired",
            evidence={"path": treatment.plan.path},
            advice=f"nothing runs it: no settings file of an agent names {treatment.plan.path}",
        )
    withheld = tuple(path for path, file in treatment.without.items() if file is None)
    if plan.checkout.history == "full" and withheld and seen_at_base(ready.checkout, withheld):
        yield Warn(
            code="component-in-history",
            evidence={"paths": list(withheld[:10])},
            advice=f"git's history shows {treatment.plan.name} to both cohorts: if an agent may look there, add "
            "--history none",
        )


def altered(paths: tuple[str, ...]) -> Warn:
    """Files that git's filters change on their way into a trial, as they would on the way into a commit and out."""
    some = f"{paths[0]}{f' and {len(paths) - 1} more' * (len(paths) > 1)}"
    return Warn(
        code="dirty-filtered",
        evidence={"paths": list(paths[:10]), "count": len(paths)},
        advice=f"git's filters give the trials other bytes of {some} than your checkout has, as a commit would: "
        "if the task needs yours, let git ignore the file and bring it with --copy",
    )


def _missing_script(plan: Plan, task: str, checkout: Checkout) -> str | None:
    """The first file that the task runs, if no trial has it: it was not committed, or is misspelt."""
    first = next(iter(executables(task)), None)
    if first is None or plan.setup is not None or plan.checkout.copy_paths or plan.checkout.link_paths:
        return None
    path = os.path.normpath(os.path.join(checkout.subdir, first))  # noqa: PTH118  # `..` has to be folded by name
    if path.startswith(("/", "..")):
        return None
    dirty = plan.checkout.snapshot is not None
    return None if protected_paths(checkout, (first,), dirty=dirty) else path

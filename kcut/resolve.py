"""From what a person asked to a plan that can run: every usage error comes from here, before any trial."""

import contextlib
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path

from kcut.artifacts import reserve
from kcut.checkpoint import Spec, parse_spec
from kcut.evaluate import read_spec
from kcut.isolation import Checkout, check_plan, inspect, protected_paths, snapshot, take_snapshot, venv_inside
from kcut.isolation.extras import find_extras
from kcut.isolation.place import find_place
from kcut.model.artifact import Warn
from kcut.model.ask import Ask
from kcut.model.errors import UsageFault
from kcut.model.plan import CheckoutPlan, Plan, SpecText
from kcut.model.run import RunRecord
from kcut.plan import SEED_LIMIT
from kcut.redact import redact
from kcut.scoreline import executables

#: No exponents: `1e999999999` would be computed to the last digit.
_GAIN = re.compile(r"\s*[-+]?(\d{1,9}(\.\d{0,18})?|\.\d{1,18}|\d{1,9}/\d{1,9})\s*", re.ASCII)


@dataclass(frozen=True)
class Ready:
    """A plan and what it was made of. `artifact` is where the verdict will be written.

    `uncommitted` are the uncommitted paths that concern the trials: all but the spec, which is read as it is now.
    """

    plan: Plan
    checkout: Checkout
    spec: Spec | None
    artifact: Path
    protected: tuple[str, ...]
    warnings: tuple[Warn, ...] = ()

    @property
    def uncommitted(self) -> tuple[str, ...]:
        """The uncommitted paths but the spec's."""
        return tuple(path for path in self.checkout.dirty if path != self._spec_path)

    @property
    def spec_note(self) -> str | None:
        """That the spec is read with its uncommitted changes, if it has any."""
        if self._spec_path not in self.checkout.dirty:
            return None
        return f"{self._spec_path} scores as it is now, with its uncommitted changes"

    @property
    def _spec_path(self) -> str | None:
        if self.plan.spec is None:
            return None
        root = self.checkout.root
        return os.path.relpath(root / self.checkout.subdir / self.plan.spec.path, root)


def resolve(ask: Ask, cwd: Path, environ: Mapping[str, str]) -> Ready:
    """Check everything that can be wrong before a trial, and return the plan. Raises UsageFault or NotReady."""
    _check_words(ask)
    checkout = inspect(cwd, base=ask.base)
    if ask.dirty == "include":
        _no_nested_repositories(checkout)
    spec_text, spec = _spec(ask.spec, cwd)
    taken = take_snapshot(checkout, workdir=ask.workdir) if ask.dirty == "include" and checkout.dirty else None
    given = {field.name: getattr(ask, field.name) for field in fields(ask) if field.name in Plan.model_fields}
    given |= {
        "spec": spec_text,
        "seed": secrets.randbelow(SEED_LIMIT) if ask.seed is None else ask.seed,
        "checkout": CheckoutPlan(
            base=checkout.base,
            base_rev=ask.base,
            dirty=bool(checkout.dirty),
            dirty_mode=ask.dirty,
            snapshot=None if taken is None else taken.tree,
            subdir=checkout.subdir,
            isolation=ask.isolation,
            refs=ask.refs,
            history=ask.history,
            copy_paths=ask.copy,
            link_paths=ask.link,
            workdir=ask.workdir,
        ),
    }
    plan = Plan(**given)
    check_plan(plan.checkout)
    find_place(checkout, ask.workdir)
    find_extras(checkout, plan.checkout)
    artifact = reserve(checkout.root, ask.component, ask.out)
    ready = Ready(plan, checkout, spec, artifact, protected(plan, checkout))
    warnings = _warnings(ready, environ)
    if taken is not None and taken.altered:
        warnings += (_altered(taken.altered),)
    return replace(ready, warnings=warnings)


def again(run: RunRecord, cwd: Path) -> Ready:
    """What a recorded run needs to go on. Raises NotReady or UsageFault if the checkout has changed since."""
    plan = run.plan
    checkout = inspect(cwd, base=plan.checkout.base_rev)
    if checkout.base != plan.checkout.base:
        raise UsageFault(
            f"the base has changed since the run began: {plan.checkout.base[:12]} then, {checkout.base[:12]} now",
            remedy=f"go on from that commit (git checkout {plan.checkout.base[:12]}), or start a new run",
        )
    if checkout.subdir != plan.checkout.subdir:
        raise UsageFault(
            f"the run was started in {plan.checkout.subdir or 'the root'} of the checkout",
            remedy="change to that folder, then resume",
        )
    if plan.checkout.dirty_mode == "include":
        now = snapshot(checkout, workdir=plan.checkout.workdir) if checkout.dirty else None
        if now != plan.checkout.snapshot:
            raise UsageFault(
                "the uncommitted changes are not those that the run began with (--dirty include)",
                remedy="restore them, or start a new run",
            )
    if any(warning.code == "credential" for warning in run.warnings):
        raise UsageFault(
            "the run's commands held a credential, which kcut does not keep, so they cannot be run again",
            remedy="put the credential into an environment variable, and start a new run",
        )
    spec = parse_spec(plan.spec.text) if plan.spec is not None else None
    artifact = reserve(checkout.root, plan.component, plan.out)
    return Ready(plan, checkout, spec, artifact, protected(plan, checkout))


def protected(plan: Plan, checkout: Checkout) -> tuple[str, ...]:
    """The base's files that are restored before scoring: what the score runs, and what --protect names."""
    scripts = executables(plan.score) if plan.score is not None else ()
    dirty = plan.checkout.snapshot is not None
    return protected_paths(checkout, scripts, plan.protect, plan.unprotect, dirty=dirty)


def safe_plan(plan: Plan) -> Plan:
    """The plan as it is recorded: credentials in its commands replaced by `***`."""
    return plan.model_copy(
        update={
            name: redact(text)[0] for name in ("task", "score", "setup") if (text := getattr(plan, name)) is not None
        }
    )


def _check_words(ask: Ask) -> None:
    if not ask.component.strip():
        raise UsageFault("--component needs a name", remedy="name what you measure, e.g. --component tidy-imports")
    if not ask.task.strip():
        raise UsageFault("--task needs a command", remedy="e.g. --task ./run.sh")
    for option in ("component", "task", "score", "setup", "out", "base", "workdir"):
        text = getattr(ask, option) or ""
        if "\0" in text:
            raise UsageFault(f"--{option} holds a NUL byte", remedy="remove it")
        if option not in {"base", "workdir"} and any("\ud800" <= char <= "\udfff" for char in text):
            raise UsageFault(f"--{option} is not valid UTF-8", remedy="put such bytes into a script, and run that")
    if ask.score is not None and ask.spec is not None:
        raise UsageFault("--score and --spec both given", remedy="use one of them: a trial has one score")
    if ask.score is not None and not ask.score.strip():
        raise UsageFault("--score needs a command", remedy="leave it out to score by the task's own exit code")
    if ask.min_gain is not None:
        gain(ask.min_gain)


def gain(text: str) -> Fraction:
    """`--min-gain` as an exact fraction between -1 and 1; raises UsageFault."""
    value = None
    if _GAIN.fullmatch(text):
        with contextlib.suppress(ZeroDivisionError):
            value = Fraction(text.strip())
    if value is None or not -1 <= value <= 1:
        raise UsageFault(
            f"--min-gain must be a number from -1 to 1, such as 0.1 or 1/3 (got {text})",
        )
    return value


def _spec(given: str | None, cwd: Path) -> tuple[SpecText | None, Spec | None]:
    if given is None:
        return None, None
    path = Path(given)
    text = read_spec(path, cwd)
    spec = parse_spec(text, source=str(path))
    if spec.unclosed:
        raise UsageFault(f"{path}: {spec.unclosed[0].sentence}", remedy="close it: what it swallowed is not checked")
    if spec.lost:
        raise UsageFault(
            f"{path}: line {spec.lost[0].line}: {spec.lost[0].text}",
            remedy=f"mend it, or its check would not count; see: kcut checkpoint --lint {path}",
        )
    if not spec.criteria:
        first = f" (line {spec.notes[0].line}: {spec.notes[0].text})" if spec.notes else ""
        raise UsageFault(
            f"{path}: no criteria found{first}",
            remedy="a criterion is a list item such as: - [ ] **AC-1 (label):** prose",
        )
    if not spec.checks:
        raise UsageFault(
            f"{path}: no criterion has a check, so no trial could pass",
            remedy="give a criterion an eval block, or score with --score CMD",
        )
    return SpecText(path=str(path), text=text), spec


def _no_nested_repositories(checkout: Checkout) -> None:
    """A repository inside the checkout is one entry to git: its files would be in no trial."""
    for path in checkout.dirty:
        if path.endswith("/") and os.path.lexists(checkout.root / path / ".git"):
            raise UsageFault(
                f"--dirty include: {path} is a repository of its own, and its files would be in no trial",
                remedy="let git ignore it and bring it with --copy, or leave --dirty include out",
            )


def _warnings(ready: Ready, environ: Mapping[str, str]) -> tuple[Warn, ...]:
    """What can be seen before any trial."""
    plan, checkout, spec = ready.plan, ready.checkout, ready.spec
    warnings: list[Warn] = []
    missing = _missing_script(plan, checkout)
    if missing is not None:
        warnings.append(
            Warn(
                code="task-missing",
                evidence={"path": missing},
                advice=f"the base has no {missing}: commit it, or use --dirty include, unless the task makes it",
            )
        )
    if spec is not None and spec.notes:
        warnings.append(
            Warn(
                code="spec",
                evidence={"notes": [f"line {note.line}: {note.text}" for note in spec.notes[:10]]},
                advice=f"line {spec.notes[0].line} of the spec is not what it seems: see kcut checkpoint --lint",
            )
        )
    if any(redact(text)[1] for text in (plan.task, plan.score or "", plan.setup or "")):
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


def _altered(paths: tuple[str, ...]) -> Warn:
    """Files that git's filters change on their way into a trial, as they would on the way into a commit and out."""
    some = f"{paths[0]}{f' and {len(paths) - 1} more' * (len(paths) > 1)}"
    return Warn(
        code="dirty-filtered",
        evidence={"paths": list(paths[:10]), "count": len(paths)},
        advice=f"git's filters give the trials other bytes of {some} than your checkout has, as a commit would: "
        "if the task needs yours, let git ignore the file and bring it with --copy",
    )


def _missing_script(plan: Plan, checkout: Checkout) -> str | None:
    """The first file that the task runs, if no trial has it: it was not committed, or is misspelt."""
    first = next(iter(executables(plan.task)), None)
    if first is None or plan.setup is not None or plan.checkout.copy_paths or plan.checkout.link_paths:
        return None
    path = os.path.normpath(os.path.join(checkout.subdir, first))  # noqa: PTH118  # `..` has to be folded by name
    if path.startswith(("/", "..")):
        return None
    dirty = plan.checkout.snapshot is not None
    return None if protected_paths(checkout, (first,), dirty=dirty) else path

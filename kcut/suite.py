"""The tasks of a run: read once, before the first trial, from a TOML file and from specs."""

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcut.agents.errand import task_line
from kcut.checkpoint import parse_spec
from kcut.evaluate import read_spec
from kcut.isolation import Checkout, plan_oracle
from kcut.keys import check_keys
from kcut.model.errors import UsageFault
from kcut.model.plan import AgentPlan, SpecText, TaskPlan, TextFile
from kcut.system.files import read_regular
from kcut.toml import read_toml

#: The keys of a task.
KEYS = ("name", "task", "prompt", "prompt_file", "score", "spec", "oracle", "weight")
#: A prompt is written by hand, or made of files that are.
LARGEST_PROMPT = 16 << 20
EXAMPLE = 'e.g. [[task]] with name = "t1", task = "./run.sh t1", score = "./check.sh t1"'


def read_tasks(
    checkout: Checkout,
    cwd: Path,
    path: Path,
    *,
    score: str | None = None,
    spec: str | None = None,
    agent: AgentPlan | None = None,
) -> tuple[TaskPlan, ...]:
    """The tasks of a file, in its order: an array of tables, `[[task]]`.

    Each has a name, a task (the command) and, if it is not to be scored by `score` or `spec`, a score or a spec of
    its own; its weight in the means is 1 unless it says more. An oracle is a folder or file that trials get when the
    task has ended. Specs and oracles lie relative to `cwd`, like the file. With an agent a task has no command but a
    prompt, or a file that holds it. Raises UsageFault with what is wrong and where.
    """
    entries = _entries(cwd, path)
    tasks: list[TaskPlan] = []
    for number, entry in enumerate(entries, 1):
        where = f"{path}: task {number}"
        fields = _fields(where, entry)
        _prompt(where, fields, cwd, agent)
        own = fields.get("spec")
        if fields.get("score") is None and own is None:
            fields["score"], own = score, spec
        fields["name"] = unicodedata.normalize("NFC", fields["name"].strip())
        fields["spec"] = None if own is None else read_spec_text(cwd, Path(own))
        oracle = fields.get("oracle")
        fields["oracle"] = None if oracle is None else plan_oracle(checkout, oracle, cwd)
        if any(task.name == fields["name"] for task in tasks):
            raise UsageFault(f"{where}: two tasks are named {fields['name']}", remedy="give each a name of its own")
        tasks.append(TaskPlan(**fields))
    return tuple(tasks)


def _entries(cwd: Path, path: Path) -> Sequence[Mapping[str, Any]]:
    document = read_toml(cwd / path, name=str(path), example=EXAMPLE)
    unknown = [key for key in document if key not in {"task", "tasks"}]
    if unknown:
        raise UsageFault(f"{path}: unknown key {unknown[0]}", remedy=EXAMPLE)
    if len(document) > 1:
        raise UsageFault(f"{path} holds both [[task]] and [[tasks]]", remedy="use one of them")
    entries: Any = next(iter(document.values()), [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageFault(f"{path}: tasks are an array of tables", remedy=EXAMPLE)
    if not entries:
        raise UsageFault(f"{path} holds no task", remedy=EXAMPLE)
    return list(entries)


def _fields(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The values of one task, checked one by one."""
    check_keys(where, entry, KEYS)
    if "name" not in entry:
        raise UsageFault(f"{where} has no name", remedy=EXAMPLE)
    fields = dict(entry)
    for key, value in entry.items():
        if key == "weight":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-6 <= value <= 1e6:
                raise UsageFault(f"{where}: weight must be a number from 0.000001 to 1000000 (got {value})")
            fields[key] = float(value)
        elif not isinstance(value, str) or not value.strip() or "\0" in value:
            raise UsageFault(f"{where}: {key} must be a text that is not empty")
    if "score" in entry and "spec" in entry:
        raise UsageFault(f"{where}: score and spec both given", remedy="use one of them: a trial has one score")
    return fields


def _prompt(where: str, fields: dict[str, Any], cwd: Path, agent: AgentPlan | None) -> None:
    """What the task runs: its command, or, with an agent, the prompt and the command line that stands for it."""
    prompt, file = fields.pop("prompt", None), fields.pop("prompt_file", None)
    if agent is None:
        if prompt is not None or file is not None:
            raise UsageFault(f"{where}: a prompt needs an agent", remedy="add --agent claude, or give a task")
        if "task" not in fields:
            raise UsageFault(f"{where} has no task", remedy=EXAMPLE)
        return
    if "task" in fields:
        raise UsageFault(f"{where}: the agent does the task", remedy="give a prompt or a prompt_file instead of task")
    fields["prompt"] = read_prompt(cwd, prompt, file, where=where)
    fields["task"] = task_line(agent, fields["prompt"])


def read_prompt(cwd: Path, text: str | None, file: str | None, *, where: str) -> TextFile:
    """A prompt as it is now: its text, or that of a file whose path is meant from `cwd`. Raises UsageFault."""
    if (text is None) == (file is None):
        raise UsageFault(
            f"{where}: {'no prompt' if text is None else 'two prompts'}",
            remedy="say what the agent is to do: a prompt, or a file that holds it",
        )
    if file is not None:
        try:
            text = read_regular(cwd / file, limit=LARGEST_PROMPT).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageFault(f"the prompt {file} is not UTF-8", remedy="save it as UTF-8") from error
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UsageFault(f"cannot read the prompt {file}: {why}", remedy="check its spelling") from error
    prompt = text or ""
    if not prompt.strip() or "\0" in prompt:
        raise UsageFault(f"{where}: the prompt is {'not text' if prompt.strip() else 'empty'}", remedy="write one")
    return TextFile(path=file, text=prompt)


def read_spec_text(cwd: Path, path: Path) -> SpecText:
    """A spec that trials can be scored with. Raises UsageFault for one that cannot."""
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
    return SpecText(path=str(path), text=text)

"""The extract rubric: what a draft skill has to be before a person promotes it. Text in, five items out."""

import itertools
import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import yaml
from markdown_it import MarkdownIt

from kcut.model.errors import EXIT_FAIL, EXIT_PASS, EXIT_USAGE
from kcut.model.evidence import Evidence

Result = Literal["PASS", "FAIL", "MANUAL"]

#: The items as `--list` shows them: id, who settles it, what it asks.
ITEMS = (
    ("R1", "CHECK", "frontmatter has name and description"),
    ("R2", "CHECK", "numbered steps, at least 2"),
    ("R3", "CHECK", "name is not taken"),
    ("R4", "MANUAL", "reusable? a person decides"),
    ("R5", "CHECK", "a benchmark shows that it earns its keep"),
)
#: Far above any real frontmatter; below what a YAML reader needs seconds for.
FRONTMATTER_LIMIT = 64 * 1024
_FEWEST_STEPS = 2
_FENCE = "---"
_STEP = re.compile(r"[ \t]*(\d{1,9})[.)][ \t]+\S")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What a skill file says of itself. `fault` is why it is no valid frontmatter, None if it is valid.

    `name` and `description` are None if absent, empty, or not to be told for certain.
    """

    name: str | None = None
    description: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A skill file as it was read; `name` is the frontmatter's, else its folder's."""

    name: str
    frontmatter: Frontmatter
    steps: int


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the rubric."""

    id: str
    result: Result
    text: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """A draft's five items."""

    name: str
    items: tuple[Item, ...]

    def count(self, result: Result) -> int:
        """How many items have that result."""
        return sum(item.result == result for item in self.items)

    @property
    def exit_code(self) -> int:
        """0 if all passed, 1 if any failed, 2 if some are a person's to decide."""
        if self.count("FAIL"):
            return EXIT_FAIL
        return EXIT_USAGE if self.count("MANUAL") else EXIT_PASS


def read_draft(data: bytes, folder: str) -> Draft:
    """The draft in the bytes of a skill file that lies in the folder of that name. Never raises."""
    frontmatter, body = _read(data)
    return Draft(frontmatter.name or folder, frontmatter, count_steps(body))


def read_frontmatter(data: bytes) -> Frontmatter:
    """The frontmatter in the bytes of a skill file. Never raises."""
    return _read(data)[0]


def score(draft: Draft, clashes: Sequence[str], evidence: Evidence) -> Rubric:
    """The five items of a draft. `clashes` are the live skills, as paths, that bear its name already."""
    return Rubric(
        draft.name,
        (_r1(draft.frontmatter), _r2(draft.steps), _r3(clashes), Item("R4", "MANUAL", ITEMS[3][2]), _r5(evidence)),
    )


def name_key(name: str) -> str:
    """What two names have in common if they differ in case, spaces and punctuation only."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    key = "".join(char for char in folded if unicodedata.category(char)[0] in "LNM")
    return key or folded


def count_steps(body: str) -> int:
    """How many numbered steps (`1.` or `1)`) a Markdown text has outside code, quotes and HTML.

    Nested ones count. A line of a paragraph counts if it carries on the numbers: Markdown reads it as prose, but
    who reads the text as it stands sees a step.
    """
    count = last = 0
    for number, starts in _numbers(body):
        if starts or number == last + 1:
            count, last = count + 1, number
    return count


def _numbers(body: str) -> Iterator[tuple[int, bool]]:
    """The numbers that may be steps, in order, with True for those that are items of a list."""
    reader = MarkdownIt("commonmark").disable("inline")  # blocks are enough, and inline rules are the slow ones
    tokens = reader.parse(body)
    quoted = 0
    for token, following in itertools.pairwise(tokens):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quoted += token.nesting
        elif quoted:
            continue
        elif token.type == "list_item_open" and token.info and following.type != "list_item_close":
            yield int(token.info), True
        elif token.type == "paragraph_open":
            for line in following.content.split("\n")[1:]:
                step = _STEP.match(line)
                if step:
                    yield int(step[1]), False


def _read(data: bytes) -> tuple[Frontmatter, str]:
    """The frontmatter and the text below it."""
    text, fault = _decode(data)
    head, body = _split(text)
    frontmatter = _frontmatter(head)
    return (replace(frontmatter, fault=fault) if fault else frontmatter), body


def _decode(data: bytes) -> tuple[str, str | None]:
    """The text with plain line ends and without a byte order mark, and what is wrong with its bytes."""
    fault = None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fault = f"frontmatter cannot be trusted: line {line} of the file is not UTF-8"
        text = data.decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n"), fault


def _split(text: str) -> tuple[str | Frontmatter, str]:
    """The frontmatter's text (or why there is none) and the text below it."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return Frontmatter(fault="no frontmatter: the first line is not ---"), text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:number]) + "\n", "\n".join(lines[number + 1 :])
    return Frontmatter(fault="frontmatter is not closed: no second line ---"), text


def _frontmatter(head: str | Frontmatter) -> Frontmatter:
    """The frontmatter in YAML text; every fault of the text is a value."""
    if isinstance(head, Frontmatter):
        return head
    if len(head) > FRONTMATTER_LIMIT:
        return Frontmatter(fault=f"frontmatter is larger than {FRONTMATTER_LIMIT // 1024} KiB")
    try:
        node = yaml.compose(head, Loader=_TextLoader)
    except RecursionError:
        return Frontmatter(fault="frontmatter is nested too deeply")
    except yaml.YAMLError as error:
        return Frontmatter(fault=f"frontmatter is not valid YAML: {_where(error, head)}")
    if not isinstance(node, yaml.MappingNode):
        return Frontmatter(fault="frontmatter has no name and no description")
    pairs = [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    keys = [key for key, _ in pairs]
    found = {
        key: value.value.strip()
        for key, value in pairs
        if key in {"name", "description"} and keys.count(key) == 1 and isinstance(value, yaml.ScalarNode)
    }
    fault = _repeated(node) or _lacking(keys, found)
    return Frontmatter(found.get("name") or None, found.get("description") or None, fault)


def _lacking(keys: list[str], found: dict[str, str]) -> str | None:
    """What the frontmatter lacks, None if it has a name and a description."""
    faults = []
    for key in ("name", "description"):
        if key not in keys:
            faults.append(f"no {key}")
        elif key not in found:
            faults.append(f"a {key} that is not text")
        elif not found[key]:
            faults.append(f"an empty {key}")
    return f"frontmatter has {' and '.join(faults)}" if faults else None


def _repeated(root: yaml.Node) -> str | None:
    """The sentence that names a key that stands twice in one mapping, at any depth."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                waiting += [key, value]
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = key.start_mark.line + 2
                if key.value in lines:
                    return f"frontmatter repeats the key {key.value!r} (lines {lines[key.value]} and {line})"
                lines[key.value] = line
    return None


def _where(error: yaml.YAMLError, head: str) -> str:
    """The line of the file and the reason, from a YAML error."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is not None and problem:
        hint = " (put the value in quotes)" if problem.startswith("mapping values") else ""
        return f"line {mark.line + 2}: {problem}{hint}"
    if isinstance(error, yaml.reader.ReaderError):
        return f"line {head.count(chr(10), 0, error.position) + 2}: {error.reason}"
    return str(problem or error).replace("\n", " ")


class _TextLoader(yaml.BaseLoader):
    """Scalars stay text, and a tab may separate as a space does, as in YAML 1.2."""

    def scan_to_next_token(self) -> None:
        """Skip what separates tokens; a tab too, unless it would indent."""
        super().scan_to_next_token()
        while self.peek() == "\t" and self._line_has_begun():
            self.forward()
            super().scan_to_next_token()

    def _line_has_begun(self) -> bool:
        return bool(self.buffer[self.pointer - self.column : self.pointer].strip())


def _r1(frontmatter: Frontmatter) -> Item:
    if frontmatter.fault is not None:
        return Item("R1", "FAIL", frontmatter.fault)
    return Item("R1", "PASS", ITEMS[0][2])


def _r2(steps: int) -> Item:
    if steps >= _FEWEST_STEPS:
        return Item("R2", "PASS", f"numbered steps ({steps})")
    return Item("R2", "FAIL", f"numbered steps ({steps}), at least {_FEWEST_STEPS} are needed")


def _r3(clashes: Sequence[str]) -> Item:
    if clashes:
        return Item("R3", "FAIL", f"name is taken by {', '.join(clashes)}")
    return Item("R3", "PASS", ITEMS[2][2])


def _r5(evidence: Evidence) -> Item:
    if evidence.state == "pass":
        return Item("R5", "PASS", evidence.why)
    if evidence.state == "fail":
        return Item("R5", "FAIL", evidence.why)
    words = ["kcut", "gate", *(["--"] if evidence.name.startswith("-") else []), evidence.name]
    return Item("R5", "MANUAL", f"{evidence.why} (what to do: {shlex.join(words)})")

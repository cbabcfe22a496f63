"""A placebo has the length, the lines and the structure of a component's text, and none of its words."""

import ast
import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kcut.placebo import changed_lines, stand_in, words_of
from kcut.prose import Prose

WORDS = st.sampled_from(
    (
        *("imports", "sort", "tidy", "Run", "the", "tests", "before", "a", "commit"),
        *("of", "npm", "pytest", "-x", "src/main.py", "naïve", "日本語", "step2", "quiet", "heron"),
    )
)
PHRASES = st.lists(WORDS, min_size=1, max_size=14).map(" ".join)
INLINE = st.one_of(
    PHRASES,
    st.tuples(PHRASES, PHRASES).map(lambda two: f"{two[0]} `{two[1]}` **{two[0]}** now."),
)
#: Blocks of Markdown, each with its blank line.
BLOCKS = st.one_of(
    st.tuples(st.integers(1, 4), PHRASES).map(lambda each: f"{'#' * each[0]} {each[1]}\n\n"),
    st.lists(INLINE, min_size=1, max_size=3).map(lambda lines: "\n".join(lines) + "\n\n"),
    st.lists(INLINE, min_size=1, max_size=4).map(lambda items: "".join(f"- {item}\n" for item in items) + "\n"),
    st.lists(INLINE, min_size=1, max_size=4).map(
        lambda items: "".join(f"{number}. {item}\n   - [ ] {item}\n" for number, item in enumerate(items, 1)) + "\n"
    ),
    st.lists(PHRASES, max_size=4).map(
        lambda lines: "```bash\n" + "".join(f"  {line} | x\n" for line in lines) + "```\n\n"
    ),
    st.tuples(PHRASES, PHRASES).map(lambda two: f"| {two[0]} | {two[1]} |\n|---|:--|\n| {two[1]} | b |\n\n"),
    PHRASES.map(lambda line: f"> {line}\n> {line}\n\n"),
    PHRASES.map(lambda line: f"{line}\n===\n\n---\n\n"),
)
DOCUMENTS = st.lists(BLOCKS, max_size=8).map("".join)
DESCRIPTIONS = st.one_of(
    PHRASES.map(lambda text: f"description: {text}"),
    PHRASES.map(lambda text: f'description: "{text}: when it matters"'),
    PHRASES.map(lambda text: f"description: '{text}'"),
    st.tuples(st.sampled_from(["|", ">-"]), PHRASES).map(
        lambda each: f"description: {each[0]}\n  {each[1]}\n  {each[1]}"
    ),
    PHRASES.map(lambda text: f"description:\n  {text}\n  {text}"),
)


def words_shared(text: str, made: str) -> set[str]:
    """The words of both, but for those that every text uses."""
    return {word for word in words_of(text) & words_of(made) if len(word) > 3}


def shape(text: str) -> list[tuple[str, str, int]]:
    """What a reader of Markdown sees in a text, but for the words."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [(token.type, token.tag, token.level) for token in tokens]


def made_of(text: str, path: str = "SKILL.md") -> str:
    return stand_in(text, path=path, avoid=words_of(text))


@given(DOCUMENTS)
def test_markdown_keeps_its_structure_and_no_word(text: str) -> None:
    made = made_of(text)
    assert [len(line) for line in made.split("\n")] == [len(line) for line in text.split("\n")]
    assert shape(made) == shape(text)
    assert not words_shared(text, made)
    assert made == made_of(text)


@given(st.text(), st.sampled_from(["a.md", "a.py", "a.js", "a.json", "NAME", "a.toml"]))
def test_any_text_keeps_length_lines_and_blanks(text: str, path: str) -> None:
    made = made_of(text, path)
    assert len(made) == len(text)
    assert [len(line) for line in made.split("\n")] == [len(line) for line in text.split("\n")]
    if path != "a.json" and not text.startswith("#!"):  # numbers, and what runs a script, stay
        assert not words_shared(text, made)


@given(st.lists(WORDS, min_size=1, max_size=3).map("-".join), DESCRIPTIONS, DOCUMENTS)
def test_frontmatter_stays_valid_with_its_name(name: str, description: str, body: str) -> None:
    text = f"---\nname: {name}\n{description}\nallowed-tools: Read, Bash(npm test:*)\nmodel: opus\n---\n{body}"
    made = made_of(text)
    _, head, _ = made.split("---\n", 2)
    before, after = yaml.safe_load(text.split("---\n", 2)[1]), yaml.safe_load(head)
    assert {**before, "description": ""} == {**after, "description": ""}
    assert len(after["description"]) == len(before["description"])
    assert not words_shared(before["description"], after["description"])


@given(st.lists(st.tuples(WORDS, PHRASES), min_size=1, max_size=4))
def test_texts_under_other_keys_change_too(pairs: list[tuple[str, str]]) -> None:
    entries = "".join(f"  note{number}: {text} imports sort tidy tests\n" for number, (_, text) in enumerate(pairs))
    made = made_of(f"---\nname: tidy\nmetadata:\n{entries}---\n")
    assert len(made) == len(f"---\nname: tidy\nmetadata:\n{entries}---\n")
    assert yaml.safe_load(made.split("---\n")[1])["name"] == "tidy"
    assert not words_shared(entries, made.replace("name: tidy", ""))


@pytest.mark.parametrize("value", ["on", "no", "yes", "a", "to", "null", "12", "[a, b]", "{a: b}", "*x", "!!str y"])
def test_a_short_description_is_text(value: str) -> None:
    made = made_of(f"---\nname: x\ndescription: {value}\n---\n")
    assert isinstance(yaml.safe_load(made.split("---\n")[1])["description"], str)


def test_code_becomes_comments_and_still_runs() -> None:
    text = '#!/usr/bin/env python3\n"""Sort imports."""\nimport sys\n\ndef main():\n    x\n    return 0\n'
    made = made_of(text, "scripts/sort.py")
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(""))
    assert made.startswith("#!/usr/bin/env python3\n# ")


def test_json_keeps_its_shape() -> None:
    made = json.loads(made_of('{"step": ["sort imports", 3, true, "a\\"b"], "n": null}', "x.json"))
    (key, items), (other, last) = made.items()
    assert (len(key), [len(item) for item in (items[0], items[3])], items[1:3], last) == (4, [12, 4], [3, True], None)
    assert key != "step"
    assert len(other) == 1


def test_it_reads_as_sentences() -> None:
    made = made_of("Tidy all of the imports whenever a file was changed, and never ask before you do so. " * 20)
    assert len(re.findall(r"The [a-z]+ [a-z]+ [a-z]+ the [a-z ]+\. ", made)) > 15


@given(st.integers(0, 200), st.integers(0, 2**31))
def test_prose_is_as_long_as_asked(room: int, start: int) -> None:
    text = Prose((), start=start).fill(room)
    assert (len(text), text) == (room, text.strip())


def test_a_text_that_holds_all_known_words_gets_made_up_ones() -> None:
    source = Prose((), start=1).fill(400_000)
    made = stand_in(source, path="a.md", avoid=words_of(source))
    assert len(made) == len(source)
    assert not words_shared(source, made)


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_only_the_lines_of_a_section_change(before: str, section: str, after: str) -> None:
    text = before + section + after
    pieces = changed_lines(text, before + after)
    assert "".join(piece for _, piece in pieces) == text
    assert "".join(piece for own, piece in pieces if not own) == before + after

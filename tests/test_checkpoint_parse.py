"""Which criteria and which checks a spec has: CommonMark's structure, the criterion's own syntax."""

import time
from textwrap import dedent

import pytest

from kcut.checkpoint import Criterion, Spec, parse_spec
from kcut.checkpoint.lint import lint
from kcut.model.errors import UsageFault


def ids(spec: Spec) -> list[str]:
    return [criterion.id for criterion in spec.criteria]


def only(text: str) -> Criterion:
    (criterion,) = parse_spec(dedent(text)).criteria
    return criterion


def command(text: str) -> str | None:
    check = only(text).check
    return None if check is None else check.command


# --- what is a criterion ---


def test_criteria_and_fences_in_code_examples_do_not_count() -> None:
    spec = parse_spec(
        dedent("""\
        - [ ] **AC-1 (real):** file exists
        ~~~eval
        test -f a.txt
        # ``` not a fence end
        ~~~
        Example of the format:
        ```markdown
        - [ ] **AC-9 (sample):** do not run me
        ~~~eval
        false
        ~~~
        ```
        """)
    )
    assert ids(spec) == ["AC-1"]
    assert [check.command for check in spec.checks] == ["test -f a.txt\n# ``` not a fence end"]
    assert not spec.unclosed
    assert not spec.notes


@pytest.mark.parametrize("marker", ["-", "*", "+", "1.", "7)", "0.", "123456789."])
@pytest.mark.parametrize("box", ["[ ]", "[x]", "[X]"])
def test_any_list_and_any_box(marker: str, box: str) -> None:
    pad = " " * (len(marker) + 1)
    criterion = only(f"{marker} {box} **AC-1 (a):** x\n{pad}```eval\n{pad}false\n{pad}```\n")
    assert (criterion.id, criterion.label, criterion.prose) == ("AC-1", "a", "x")
    assert criterion.check is not None
    assert criterion.check.command == "false"


@pytest.mark.parametrize(
    ("text", "label", "prose"),
    [
        ("**AC-1 (plain):** prose", "plain", "prose"),
        ("**AC-1 (f(x) is (really) pure):** y", "f(x) is (really) pure", "y"),
        ("**AC-1 (ends so ):** ):** y", "ends so", "):** y"),
        ("**AC-1 (a):** see **note (b):** c", "a", "see **note (b):** c"),
        ("**AC-1 (a) and (b):** c", "a) and (b", "c"),
        ("**AC-1 (a:** b):** c", "a:** b", "c"),
        ("**AC-1 (`[x](y)` & <b>):**no space", "`[x](y)` & <b>", "no space"),
        ("**AC-1 ():**", "", ""),
        ("**AC-1 (wrapped\n  over lines):** and\n  so on", "wrapped over lines", "and so on"),
        ("  \t**AC-1 (wide):** y", "wide", "y"),
    ],
)
def test_the_label_runs_to_the_last_parenthesis(text: str, label: str, prose: str) -> None:
    criterion = only(f"- [ ] {text}\n")
    assert (criterion.label, criterion.prose) == (label, prose)


@pytest.mark.parametrize("name", ["AC-1", "AC-1.2", "AC-a_b-c", "AC-01", "AC-x..--__"])
def test_ids_are_kept_as_written(name: str) -> None:
    assert only(f"- [ ] **{name} (a):** x\n").id == name


@pytest.mark.parametrize(
    "text",
    [
        "- [ ] **AC-1 (a):** x\n- [ ] **AC-1 (b):** y\n",
        "- [ ] **AC-1 (a):** x\n\n# h\n\n1. [x] **AC-1 (a):** x\n",
        "- [ ] **AC-1 (a):** x\n  - [ ] **AC-1 (b):** y\n",
    ],
)
def test_an_id_stands_once(text: str) -> None:
    with pytest.raises(UsageFault, match=r"^s\.md: AC-1 stands twice, in lines 1 and \d$"):
        parse_spec(text, source="s.md")


def test_ids_compare_exactly() -> None:
    text = "".join(f"- [ ] **{name} (a):** x\n" for name in ("AC-1", "AC-01", "AC-1.", "AC-a", "AC-A"))
    assert ids(parse_spec(text)) == ["AC-1", "AC-01", "AC-1.", "AC-a", "AC-A"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "## Acceptance criteria\n\nprose only\n",
        "> - [ ] **AC-1 (quoted):** x\n",
        "> lazy\n- > [ ] **AC-1 (quoted):** x\n",
        "<!-- - [ ] **AC-1 (a):** x -->\n",
        "<!--\n\n- [ ] **AC-1 (a):** x\n\n-->\n",
        "<!-- a\n- [ ] **AC-1 (a):** x\n--> - [ ] AC-2\n",
        "text <!-- - [ ] **AC-1 (a):** x --> and\n`` `- [ ] **AC-1 (a):** x` ``\n",
        "- text <!--\n  **AC-1 (a):** x -->\n",
        "<pre>**AC-1 (a):** x</pre>\n",
        "    - [ ] **AC-1 (indented code):** x\n",
        "\t- [ ] **AC-1 (indented code):** x\n",
        "``````\n```\n- [ ] **AC-1 (a):** x\n```\n``````\n",
        "- ```\n  - [ ] **AC-1 (a):** x\n  ```\n",
        "`- [ ] **AC-1 (a):** x`\n",
    ],
)
def test_what_is_no_criterion_and_meant_so(text: str) -> None:
    assert parse_spec(text) == Spec(())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- [ ] **AC-1**: x\n", 1),
        ("- [] **AC-1 (a):** x\n", 1),
        ("- [-] **AC-1 (a):** x\n", 1),
        ("- [ ] AC-1 (a): x\n", 1),
        ("- [ ] **ac-1 (a):** x\n", 1),
        ("- [ ] **AC-1 (a)**: x\n", 1),
        ("- [ ] **AC-1(a):** x\n", 1),
        ("- [ ] __AC-1 (a):__ x\n", 1),
        ("\n- **AC-1 (a):** no box\n", 2),
        ("**AC-1 (a):** a paragraph\n", 1),
        ("### **AC-1 (a):** a heading\n", 1),
        ("text\n2. [ ] **AC-1 (a):** cannot interrupt a paragraph\n", 2),
        ("- text\n      - [ ] **AC-1 (a):** indented too far\n", 2),
        ("<div>\n- [ ] **AC-1 (a):** in HTML\n</div>\n", 2),
        ("-\t  [ ] **AC-1 (a):** a tab and two blanks\n", 1),
    ],
)
def test_what_was_meant_as_a_criterion_is_not_passed_over_in_silence(text: str, line: int) -> None:
    spec = parse_spec(text)
    assert not spec.criteria
    assert [note.line for note in spec.notes] == [line]


SECOND = "[ ] **AC-2 (x):** y"


@pytest.mark.parametrize(
    "line",
    [
        f"-{SECOND}",
        f"\u2022 {SECOND}",
        f"\u2013 {SECOND}",
        f"- <!-- n --> {SECOND}",
        "- [ ] <!-- n --> **AC-2 (x):** y",
        f"<!-- n --> - {SECOND}",
        f"- <!-- n -->{SECOND}",
        f"\ufeff- {SECOND}",
        f"\u200b- {SECOND}",
        f"- \u200b{SECOND}",
        "- [ ] **AC-\u200b2 (x):** y",
        "- [ ]\u200b**AC-2 (x):** y",
        "- [ ] **AC-\u00e9 (x):** y",
        "- [ ] **AC-_x (x):** y",
        "- [ ] **AC-.5 (x):** y",
        "- [ ] **AC- (x):** y",
        "- [ ] **AC\u20112 (x):** y",
        "- [ ] **AC2 (x):** y",
        "- [ ] **AC-2(x):** y",
        "- [ ] **AC-2 (x)**: y",
        "- [ ] **AC-2 (x) y",
        "- [ ] __AC-2 (x):__ y",
        "- [ ] ***AC-2 (x):*** y",
        "- [ ] AC-2 (x): y",
        "- **AC-2 (x):** y",
        "### **AC-2 (x):** y",
        "| **AC-2 (x):** y |",
        "<b>- [ ] **AC-2 (x):** y</b>",
        "- [ ] *x* **AC-2 (x):** y",
        "- [ ] **AC-2**: no label",
        "- [ ] **AC-2:** no label",
        "- [ ] **AC-2**",
        "- [ ] **AC-2** (x): y",
        "- [x] **AC-2 no parentheses:** y",
        "- [ ] **AC-2 - x:** y",
        "- [ ] **AC-2 [x]:** y",
        "- [ ] **[AC-2](#x) (x):** y",
        "- [ ] **`AC-2` (x):** y",
        "- [ ] `AC-2` (x): y",
        "- [ ] <b>AC-2 (x):</b> y",
        "- [ ] **AC_2**: y",
        "- [ ] **AC2:** y",
        "- [ ] **AC 2 (x):** y",
        "- [ ] AC-2: y",
        "- [ ] AC-2 - y",
        "- [ ] AC-2 \u2013 y",
        "- **[ ] AC-2:** y",
        "- \u2610 **AC-2**: y",
        "-[ ] **AC-2**: y",
        "1.[ ] **AC-2**: y",
    ],
)
@pytest.mark.parametrize("before", ["", "- [ ] **AC-1 (a):** x\n", "- [ ] **AC-1 (a):** x\n\n"])
def test_a_criterion_that_is_written_slightly_wrong_is_lost(line: str, before: str) -> None:
    number = before.count("\n") + 1
    text = f"{before}{line}\n```eval\nfalse\n```\n"
    # the first of all byte order marks is none
    spec = parse_spec(f"\ufeff{text}")
    assert ids(spec) == ["AC-1"] * bool(before)
    assert [note.line for note in spec.lost] == [number]
    assert spec.lost[0] in spec.notes


@pytest.mark.parametrize(
    "text",
    [
        "<details>\n- [ ] **AC-1 (x):** y\n</details>\n",
        "<details><summary>s</summary>\n- [ ] **AC-1 (x):** y\n```eval\nfalse\n```\n</details>\n",
        "<!-- a\n--> - [ ] **AC-1 (x):** y\n",
        "text\n**AC-1 (a label that\nis wrapped):** y\n",
        "<pre>\n</pre> - [ ] **AC-1 (x):** y\n",
    ],
)
def test_a_criterion_in_or_behind_html_is_lost(text: str) -> None:
    spec = parse_spec(text)
    assert not spec.criteria
    assert [note.line for note in spec.lost] == [2]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("<!-- open\n- [ ] **AC-2 (x):** y\n\n<!-- a note -->\n", {2: "AC-2"}),
        ("<!-- open\n\n- [ ] **AC-2 (x):** y\n\n- [ ] **AC-3**: y\n<!-- n -->\n", {3: "AC-2", 5: "AC-3"}),
        ("- text\n\n  <!-- open\n  - [ ] **AC-2 (x):** y\n  <!-- n\n  -->\n", {4: "AC-2"}),
        ("text <!-- open\n[ ] **AC-2 (x):** y\nx <!-- n --> more\n", {2: "AC-2"}),
        ("<div><!-- open\n- [ ] **AC-2 (x):** y\n<!-- n --></div>\n", {2: "AC-2"}),
        ("<pre>\n- [ ] **AC-2 (x):** y\n\n<PRE>an example</pre>\n", {2: "AC-2"}),
    ],
)
def test_a_criterion_that_only_a_later_comment_ends_the_hiding_of_is_lost(text: str, hidden: dict[int, str]) -> None:
    spec = parse_spec(f"- [ ] **AC-1 (a):** x\n~~~eval\ntest -f a\n~~~\n\n{text}")
    assert ids(spec) == ["AC-1"]
    assert spec.criteria[0].check is not None
    assert {note.line - 5: name for note in spec.lost for name in hidden.values() if name in note.text} == hidden
    opener = 5 + next(number for number, line in enumerate(text.split("\n"), 1) if "<!--" in line or "<pre>" in line)
    assert all(f"line {opener}" in note.text for note in spec.lost)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- a <!-- b\n- [ ] **AC-2 (x):** y\n-->\n",
        "<!--\n- [ ] **AC-2 (x):** y\n-->\n<!-- b -->\n",
        "<!-- - [ ] **AC-2 (x):** y -->\n\n<!-- b -->\n",
        "<!-- open\nno criterion, only AC-2 named\n<!-- n -->\n",
    ],
)
def test_a_comment_that_hides_what_it_was_meant_to_hide_loses_none(text: str) -> None:
    assert parse_spec(text) == Spec(())


def test_a_near_miss_without_a_box_is_named_unless_it_speaks_of_a_criterion() -> None:
    spec = parse_spec("- [ ] **AC-1 (a):** x\n- **AC-2**: y\n- **AC-3:** z\n- **AC-1**: see there\n")
    assert [(note.line, note.lost) for note in spec.notes] == [(2, False), (3, False)]


@pytest.mark.parametrize(
    "prose",
    [
        "**AC-1** is met by **AC-2**: see there",
        "see **AC-1 (the first)** and (b): c",
        "- [ ] see **AC-1** and **AC-2:** both",
        "- [ ] AC-1 (the first) is met",
        "- [ ] AC-1 is met: at last",
        "- [1] **AC-1** is met",
        "- [x] **ACME** is told",
        "- [x] `- [ ] **AC-1**: x` is refused",
        "- **AC-1**: see there",
        "**AC power (230 V):** yes",
        "**Accept (x):** y",
        "`**AC-1 (x):** y`",
        "AC-1 (x): y",
        "> **AC-1 (x):** y",
        "<div><!--\n- [x] **AC-1 (a):** x --></div>",
        "<div><pre>\n- [x] **AC-1 (a):** x</pre></div>",
    ],
)
def test_who_mentions_a_criterion_loses_none(prose: str) -> None:
    assert parse_spec(f"{prose}\n").lost == ()
    assert parse_spec(f"- [ ] **AC-9 (a):** x\n\n{prose}\n").lost == ()


@pytest.mark.parametrize(
    "unit", ["*", "_", "[", "[ ]", "`", "<!--", "**AC-1 (", "AC-", "**AC-", "<pre ", "` ``", " "]
)
def test_a_long_paragraph_is_read_in_linear_time(unit: str) -> None:
    begin = time.process_time()
    parse_spec("AC" + unit * (200_000 // len(unit)))
    assert time.process_time() - begin < 20


@pytest.mark.parametrize("text", ["- [ ] accept the invitation\n", "- [x] done: AC-1 is met\n", "AC-1 and AC-2\n"])
def test_ordinary_lists_are_not_nagged_about(text: str) -> None:
    assert parse_spec(text).notes == ()


# --- spans and checks ---


def test_a_span_ends_at_the_next_criterion_nested_ones_too() -> None:
    spec = parse_spec(
        dedent("""\
        - [ ] **AC-1 (outer):** x
          - [ ] **AC-2 (inner):** y
            ```eval
            inner
            ```

          ```eval
          after
          ```
        """)
    )
    assert [(each.id, each.check and each.check.command) for each in spec.criteria] == [
        ("AC-1", None),
        ("AC-2", "after"),
    ]
    assert spec.criteria[1].passed_over == (3,)


@pytest.mark.parametrize("heading", ["# h\n", "###### h\n", "h\n---\n", "h\n===\n", "- # h\n"])
def test_a_span_ends_at_a_heading(heading: str) -> None:
    spec = parse_spec(f"- [ ] **AC-1 (a):** x\n\n{heading}\n```eval\nfalse\n```\n")
    assert spec.criteria[0].check is None
    assert len(spec.orphans) == 1


@pytest.mark.parametrize("other", ["> # quoted\n", "---\n", "#no heading\n", "<h1>x</h1>\n", "```\n# code\n```\n"])
def test_a_span_does_not_end_elsewhere(other: str) -> None:
    assert command(f"- [ ] **AC-1 (a):** x\n\n{other}\n```eval\nok\n```\n") == "ok"


def test_a_criterion_over_a_line_of_dashes_is_still_one() -> None:
    assert command("- [ ] **AC-1 (a):** x\n  ---\n  ```eval\n  ok\n  ```\n") == "ok"


def test_the_check_is_the_last_closed_eval_fence() -> None:
    criterion = only("- [ ] **AC-1 (a):** x\n\n```eval\none\n```\n```sh\ntwo\n```\n~~~ eval\nthree\n~~~\n")
    assert criterion.check is not None
    assert (criterion.check.command, criterion.check.line) == ("three", 9)
    assert criterion.passed_over == (3,)


@pytest.mark.parametrize("word", ["Eval", "EVAL", "evaluate", "evals", "{eval}", "eval,"])
def test_other_words_than_eval_are_no_check_but_named(word: str) -> None:
    spec = parse_spec(f"- [ ] **AC-1 (a):** x\n  ```{word}\n  false\n  ```\n")
    assert spec.criteria[0].check is None
    assert [note.line for note in spec.notes] == [2]


@pytest.mark.parametrize("body", ["", "\n\n", "# c\n", "  # c\n\n\t# d\n", " \n"])
def test_a_check_of_nothing_is_manual_whatever_came_before(body: str) -> None:
    spec = parse_spec(f"- [ ] **AC-1 (a):** x\n\n```eval\ntrue\n```\n```eval\n{body}```\n")
    assert spec.criteria[0].check is None
    assert not spec.unclosed


@pytest.mark.parametrize(
    "text",
    [
        "> ```eval\n> false\n> ```\n",
        "<!--\n```eval\nfalse\n```\n-->\n",
        "````md\n```eval\nfalse\n```\n````\n",
        "      ```eval\n      false\n      ```\n",
    ],
)
def test_fences_in_quotes_comments_and_code_are_no_checks(text: str) -> None:
    assert command(f"- [ ] **AC-1 (a):** x\n\n{text}") is None


def test_a_fence_indented_too_far_is_named_if_there_is_no_other_check() -> None:
    text = "- [ ] **AC-1 (a):** x\n\n      ```eval\n      false\n      ```\n"
    assert [note.line for note in parse_spec(text).notes] == [3]
    assert parse_spec(text + "\n  ```eval\n  true\n  ```\n").notes == ()


# --- as CommonMark reads it ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```eval\n``\n~~~\n``` x\n````\n", "``\n~~~\n``` x"),
        ("~~~~eval\n~~~\n~~~~~~\n", "~~~"),
        (" ```eval\n   a\n  b\nc\n ```\n", "  a\n b\nc"),
        ("```eval\na\n   ```\n", "a"),
        ("```eval\na\n    ```\n```\n", "a\n    ```"),
        ("- item\n\n\t~~~eval\n\tx\n\t\ty\n\t~~~\n", "x\n\ty"),
        ("1. ```eval\n   x\n   ```\n", "x"),
        ("```eval\nx\n```  \t\n", "x"),
        ("```  eval  \nx\n```\n", "x"),
        ("```ev\\al\nx\n```\n", None),
    ],
)
def test_fences_as_commonmark_reads_them(text: str, expected: str | None) -> None:
    assert command(f"- [ ] **AC-1 (a):** x\n\n{text}") == expected


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_change_nothing(end: str, bom: str) -> None:
    text = "- [ ] **AC-1 (a):** x\n  ```eval\n  test -f a.txt\n  true\n  ```\n- [ ] **AC-2 (b):** y\n"
    assert parse_spec(bom + text.replace("\n", end)) == parse_spec(text)


@pytest.mark.parametrize("char", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_line_ends_end_lines(char: str) -> None:
    assert command(f"- [ ] **AC-1 (a):** x\n\n```eval\necho {char} ```\n```\n") == f"echo {char} ```"


def test_a_nul_character_is_no_text() -> None:
    with pytest.raises(UsageFault, match="line 2 holds a NUL"):
        parse_spec("a\nb\0\n")


@pytest.mark.parametrize("text", ["- " * 5000 + "x", ">" * 5000])
def test_nesting_beyond_reason_is_an_error_and_no_silence(text: str) -> None:
    with pytest.raises(UsageFault, match="nested too deeply"):
        parse_spec(text)


def test_a_criterion_deep_in_lists_is_found() -> None:
    text = "".join(f"{'  ' * depth}- level\n" for depth in range(60)) + "  " * 60 + "- [ ] **AC-1 (deep):** x\n"
    assert ids(parse_spec(text)) == ["AC-1"]


# --- the info string ---


@pytest.mark.parametrize(
    ("info", "shell", "timeout"),
    [
        ("eval", "sh", 60.0),
        ("eval sh", "sh", 60.0),
        ("eval bash", "bash", 60.0),
        ("eval timeout=5", "sh", 5.0),
        ("eval bash timeout=0.25", "bash", 0.25),
        ("eval \t timeout=90   bash ", "bash", 90.0),
    ],
)
def test_info_strings(info: str, shell: str, timeout: float) -> None:
    check = only(f"- [ ] **AC-1 (a):** x\n  ```{info}\n  true\n  ```\n").check
    assert check is not None
    assert (check.shell, check.timeout) == (shell, timeout)


@pytest.mark.parametrize(
    "info",
    [
        "eval zsh",
        "eval Bash",
        "eval bash bash",
        "eval sh bash",
        "eval timeout",
        "eval timeout=",
        "eval timeout=0",
        "eval timeout=-1",
        "eval timeout=5s",
        "eval timeout=1e3",
        "eval timeout=inf",
        "eval timeout=nan",
        "eval timeout=٣",
        "eval timeout=1 timeout=2",
        "eval timeout=99999999999",
    ],
)
def test_an_info_string_that_is_not_understood_is_an_error(info: str) -> None:
    with pytest.raises(UsageFault, match=r"^line 2: "):
        parse_spec(f"- [ ] **AC-1 (a):** x\n  ```{info}\n  true\n  ```\n")


# --- what is never closed ---


def test_an_unclosed_fence_at_the_end_of_a_list_item() -> None:
    spec = parse_spec("- [ ] **AC-1 (a):** x\n  ```eval\n  true\n\n- [ ] **AC-2 (b):** y\n  ```eval\n  ok\n  ```\n")
    first, second = spec.criteria
    assert (first.check, first.unclosed) == (None, (2, 3))
    assert second.check is not None
    assert [each.sentence for each in spec.unclosed] == [
        "the fence ```eval in AC-1 is never closed: it swallows line 3"
    ]


def test_an_unclosed_fence_swallows_criteria_and_says_so() -> None:
    spec = parse_spec(
        "- [ ] **AC-1 (a):** x\n```eval\ntrue\n```\n```sh\nx\n- [ ] **AC-2 (b):** y\n  1. [x] **AC-3 (c):** z\n\n\n"
    )
    (criterion,) = spec.criteria
    assert criterion.check is None  # whatever came before
    assert criterion.unclosed == (5, 8)
    (unclosed,) = spec.unclosed
    assert unclosed.swallowed == ("AC-2", "AC-3")
    assert unclosed.sentence.endswith("it swallows lines 6 to 8, with what looks like AC-2, AC-3")


@pytest.mark.parametrize(
    ("text", "owner", "lines"),
    [
        ("```\n", None, (1, 1)),
        ("# h\n~~~\nx\ny", None, (2, 4)),
        ("- note\n  ```\n  x\n", None, (2, 3)),
        ("- [ ] **AC-1 (a):** x\n\n> ```\n> y\n\n```eval\ntrue\n```\n", "AC-1", (3, 4)),
        ("- [ ] **AC-1 (a):** x\n\n~~~eval\ntrue\n```\n", "AC-1", (3, 5)),
        ("- [ ] **AC-1 (a):** x\n\n````eval\ntrue\n```\n", "AC-1", (3, 5)),
        ("- [ ] **AC-1 (a):** x\n  ```eval\ntrue\n  ```\n", "AC-1", (2, 2)),
        ("- [ ] **AC-1 (a):** x\n\n# h\n```\n", None, (4, 4)),
    ],
)
def test_every_unclosed_fence_is_known(text: str, owner: str | None, lines: tuple[int, int]) -> None:
    spec = parse_spec(text)
    first = spec.unclosed[0]
    assert (first.criterion, first.start, first.end) == (owner, *lines)
    if owner:
        assert spec.criteria[0].check is None
        assert spec.criteria[0].unclosed == lines


def test_a_comment_that_is_never_closed_counts_like_a_fence() -> None:
    spec = parse_spec("- [ ] **AC-1 (a):** x\n\n<!-- later\n\n- [ ] **AC-2 (b):** y\n")
    assert ids(spec) == ["AC-1"]
    assert spec.criteria[0].unclosed == (3, 5)
    assert spec.unclosed[0].kind == "comment"
    assert spec.unclosed[0].swallowed == ("AC-2",)


HTML = {
    "<pre>": "</pre>",
    "<style>": "</style>",
    "<script>": "</script>",
    "<textarea>": "</textarea>",
    "<?": "?>",
    "<![CDATA[": "]]>",
    "<!X": ">",
}


@pytest.mark.parametrize("opener", HTML)
def test_an_html_block_that_is_never_closed_counts_like_a_fence(opener: str) -> None:
    spec = parse_spec(f"- [ ] **AC-1 (a):** x\n\n{opener}\n\n- [ ] **AC-2 (b):** y\n\n~~~eval\nfalse\n~~~\n")
    assert ids(spec) == ["AC-1"]
    assert spec.criteria[0].unclosed == (3, 9)
    (unclosed,) = spec.unclosed
    assert (unclosed.kind, unclosed.swallowed) == ("html", ("AC-2",))
    assert unclosed.sentence == (
        f"the HTML block {opener} in AC-1 is never closed: it swallows lines 4 to 9, with what looks like AC-2"
    )
    assert [finding.advice for finding in lint(spec) if finding.line == 3] == [f"close it with {HTML[opener]}"]


@pytest.mark.parametrize("opener", HTML)
def test_a_closed_html_block_and_one_that_swallows_nothing_are_none_of_that(opener: str) -> None:
    closed = parse_spec(f"{opener}\n\n- [ ] **AC-2 (b):** y\n\n{HTML[opener]}\n- [ ] **AC-1 (a):** x\n")
    assert (ids(closed), closed.unclosed, closed.lost) == (["AC-1"], (), ())
    assert not parse_spec(f"- [ ] **AC-1 (a):** x\n\n{opener}\n\ntext\n").unclosed


@pytest.mark.parametrize("info", ["eval", "sh", ""])
@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_fence_that_only_the_next_criterion_closes_is_not_closed(info: str, fence: str) -> None:
    spec = parse_spec(
        f"- [ ] **AC-1 (a):** x\n{fence}{info}\nexit 0\n"
        f"- [ ] **AC-2 (b):** y\n  {fence}eval\n  test -f b\n  {fence}\n"
        f"- [ ] **AC-3 (c):** z\n  {fence}eval\n  test -f c\n  {fence}\n"
    )
    assert [(each.id, each.check is not None) for each in spec.criteria] == [("AC-1", False), ("AC-3", True)]
    assert [each.sentence for each in spec.unclosed] == [
        f"the fence {fence}{info} in AC-1 is closed only by the end of another block in line 7: "
        "it swallows lines 3 to 6, with what looks like AC-2"
    ]


def test_a_check_with_a_criterion_in_it_is_named() -> None:
    spec = parse_spec("- [ ] **AC-1 (a):** x\n~~~eval\ntest -f a\n- [ ] **AC-2 (b):** y\n\n~~~\n")
    assert ids(spec) == ["AC-1"]
    assert [(note.line, "AC-2" in note.text) for note in spec.notes] == [(2, True)]


@pytest.mark.parametrize(
    "script",
    ["cat > s.md <<'E'\n- [ ] **AC-2 (b):** y\n~~~eval\nopen\nE", "printf '%s\\n' '\n- [ ] **AC-2 (b):** y\n'"],
)
def test_a_check_that_writes_a_spec_is_not_nagged_about(script: str) -> None:
    spec = parse_spec(f"- [ ] **AC-1 (a):** x\n~~~eval\n{script}\n~~~\n")
    assert [each.check and each.check.command for each in spec.criteria] == [script]
    assert not spec.notes

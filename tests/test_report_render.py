"""The table and the comment, compared with golden files, and in hostile hands."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from kcut.model.artifact import Artifact, Warn
from kcut.model.trial import Usage
from kcut.report import markdown, terminal
from kcut.report.text import width
from kcut.verdict import assemble
from tests.documents import example, first_format
from tests.records import a_run
from tests.test_verdict import counted, trial, trials

GOLDEN = Path(__file__).parent / "data" / "golden"
HOSTILE = "x`|<img src=x>@root #12 [a](http://e.vil) \x1b[31m\u202e日本\n# h\udcff``"


def kept() -> Artifact:
    usage = Usage(cost_usd=0.104, model="m-1", agent_version="2.0")
    attempts = counted(5, 5, 2, usage=usage, agent="claude", wall_ms=18692.0)
    return assemble(a_run(k=5, state="finished"), attempts)


def cut_for_evidence() -> Artifact:
    own = Warn(
        code="baseline-passes", evidence={"exit": 0}, advice="make the score check what the task is to achieve"
    )
    return assemble(a_run(k=120, state="finished", rule="evidence", warnings=(own,)), counted(61, 120, 60))


def inconclusive() -> Artifact:
    attempts = [
        *trials(
            ["pass", "pass", "overloaded", "pass", "fail"], ["fail", "fail", "pass", "fail", "fail"], usage=Usage()
        ),
        trial(0, "with", "overloaded", attempt=0),
    ]
    return assemble(a_run(k=5, state="finished", score=None), attempts)


def invalid() -> Artifact:
    return assemble(a_run(k=3, state="finished"), trials(["startup"] * 3, ["pass", "fail", "pass"]))


def hostile() -> Artifact:
    own = Warn(code="odd`code", evidence={}, advice=f"look at {HOSTILE}")
    run = a_run(k=3, state="finished", component=HOSTILE, task=HOSTILE * 20, score=HOSTILE, warnings=(own,))
    return assemble(run, counted(3, 3, 0))


ARTIFACTS: dict[str, Callable[[], Artifact]] = {
    "keep": kept,
    "cut": cut_for_evidence,
    "inconclusive": inconclusive,
    "invalid": invalid,
    "hostile": hostile,
    "first-format": lambda: Artifact.model_validate(first_format()),
    "every-key": lambda: Artifact.model_validate(example()),
}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_terminal_golden(name: str) -> None:
    assert terminal.render(ARTIFACTS[name]()) == (GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", ARTIFACTS)
def test_markdown_golden(name: str) -> None:
    assert markdown.render(ARTIFACTS[name]()) == (GOLDEN / f"{name}.md").read_text()


@pytest.mark.parametrize("name", sorted(ARTIFACTS.keys() - {"hostile", "every-key"}))
def test_only_the_evidence_line_is_wide(name: str) -> None:
    for line in terminal.render(ARTIFACTS[name]()).splitlines():
        assert len(line) <= 80 or line.startswith("evidence: "), line


@pytest.mark.parametrize("k", [1, 12, 120, 1200])
def test_the_table_fits_whatever_k_is(k: int) -> None:
    artifact = kept().model_copy(update={"k": k})
    narrow, wide = terminal.table(artifact), terminal.table(artifact, width=200)
    assert max(map(len, narrow.splitlines())) <= 80
    assert len(narrow.splitlines()) == 4
    assert wide.splitlines()[0].split("  ")[0] == "cohort"
    assert len(wide.splitlines()) == 3
    assert f"pass@{k}" in wide


def test_a_title_says_what_was_measured() -> None:
    first, blank, *rest = terminal.render(kept(), title=True).splitlines()
    assert first == "tidy-imports   2026-11-30 15:15   task ./run.sh"
    assert blank == ""
    assert "\n".join(rest) + "\n" == terminal.render(kept())
    assert width(terminal.render(hostile(), title=True).splitlines()[0]) <= 80


def test_colour_is_all_that_colour_adds() -> None:
    for make in ARTIFACTS.values():
        painted = terminal.render(make(), color=True)
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[\d+m", "", painted) == terminal.render(make())


def test_names_from_outside_reach_no_terminal() -> None:
    shown = terminal.render(hostile()) + markdown.render(hostile())
    assert not set(shown) & set("\x1b\u202e\udcff")
    shown.encode()


def test_names_from_outside_are_no_markup() -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown.render(hostile()))
    assert "<img" not in html
    assert "<a " not in html
    assert html.count("<h") == 1
    assert "<table>" in html
    prose = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
    assert not re.search(r"(?<!\w)@\w|#\d", prose)
    assert len(markdown.render(hostile())) < 4000


@pytest.mark.parametrize("raw", ["", " ", "`", "``a`", "a", " a ", "a|b", "\n"])
def test_code_spans_hold_what_they_are_given(raw: str) -> None:
    html = MarkdownIt("commonmark").renderInline(markdown.code(raw))
    if raw.strip():
        assert f"<code>{raw}</code>" == html
    else:
        assert html in {"(empty)", "<code>\\n</code>"}


@pytest.mark.parametrize("raw", ["*a* _b_ ~~c~~ `d` <e> &amp; [f](g) \\h !i |j| $k$", "1. one", "- two"])
def test_prose_is_prose(raw: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).renderInline(markdown.escape(raw))
    text = html.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert text == raw


def test_many_warnings_are_counted() -> None:
    many = tuple(Warn(code=f"w{number}", advice="a") for number in range(25))
    artifact = kept()
    assert artifact.decision is not None
    decision = artifact.decision.model_copy(update={"warnings": many})
    assert "- and 5 more" in markdown.render(artifact.model_copy(update={"decision": decision}))

"""The page, JUnit XML, CSV and comments: golden files, hostile text, and what each format promises."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.model.artifact import Artifact, TaskResult, Warn
from kcut.report import charts, figure, html, junit, markdown, path, spread, table_csv, terminal
from kcut.report.cells import Cell
from kcut.report.text import width
from tests import golden, reports
from tests.test_report_render import ARTIFACTS

ANY = st.text(st.characters(codec=None), max_size=60)  # lone surrogates too
ELEMENTS = {
    *("html", "head", "meta", "title", "link", "style", "body", "main", "section", "h1", "h2", "h3", "p", "b", "a"),
    *("div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "figure", "figcaption", "details", "summary"),
    *("dl", "dt", "dd", "code", "noscript", "script"),
}
VOID_TAGS = {"meta", "link"}
#: Where HTML lets the end be left out.
OPEN_TAGS = {"td", "th", "tr"}


def page(*artifacts: Artifact) -> str:
    return html.render([Cell(artifact) for artifact in artifacts], library=golden.LIBRARY)


@pytest.mark.parametrize("file", golden.FILES)
def test_golden(file: str) -> None:
    """`python -m tests.golden` writes these files anew."""
    assert golden.make(file).encode() == (golden.FOLDER / file).read_bytes()


class Reader(HTMLParser):
    """Elements, text and attributes; every element that has to be closed is."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.scripts: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert [tag for tag in self.open if tag not in OPEN_TAGS] == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag:
            assert self.open.pop() in OPEN_TAGS, f"{tag} ends within another element"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts[self.tags[-1][1].get("id") or f"script {len(self.scripts)}"] = data
        elif self.open[-1:] != ["style"]:
            self.text.append(data)


def names(reader: Reader) -> set[str]:
    return {name for _, attributes in reader.tags for name in attributes}


# -- the page


@pytest.mark.parametrize("make", [*ARTIFACTS.values(), reports.hostile, reports.several_tasks, reports.eprocess])
def test_a_page_holds_no_element_from_outside_and_asks_for_nothing(make: Callable[[], Artifact]) -> None:
    reader = Reader(page(make()))
    assert {tag for tag, _ in reader.tags} <= ELEMENTS
    assert not {name for name in names(reader) if name.startswith("on")} | ({"src", "srcset"} & names(reader))
    assert [attributes["href"] for _, attributes in reader.tags if "href" in attributes] == ["data:,"]
    policy = next(a["content"] for _, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy
    assert not set(page(make())) & set("\x1b\u202e\u2028\udcff")


def test_hostile_text_is_shown_as_text() -> None:
    artifact = reports.hostile()
    reader = Reader(page(artifact, artifact))
    text = "".join(reader.text)
    assert text.count("<script>alert(1)</script>") > 20
    assert "onload=x" in text
    figures = [json.loads(data) for name, data in reader.scripts.items() if name.endswith("-data")]
    assert len(figures) >= 12
    drawn = json.dumps(figures)
    assert "<script" not in drawn
    assert "<b>" not in drawn
    assert "&lt;script&gt;" in drawn
    assert max(map(len, re.findall(r'"([^"]*)"', drawn))) < 300


@settings(deadline=None, max_examples=50)
@given(ANY)
def test_no_text_leaves_its_place_in_a_page(raw: str) -> None:
    artifact = reports.fixed(2).model_copy(update={"component": raw, "task": raw, "reason": raw})
    quiet = reports.fixed(2).model_copy(update={"component": "a", "task": "a", "reason": "a"})
    text = page(artifact)
    text.encode()
    assert [tag for tag, _ in Reader(text).tags] == [tag for tag, _ in Reader(page(quiet)).tags]


def test_what_comes_first_on_a_page() -> None:
    text = page(reports.several_tasks())
    order = [
        "verdict (point rule)",
        "evidence:",
        "<table>",
        ">Tasks<",
        ">Warning<",
        "<figure>",
        ">Trials<",
        ">Where this",
    ]
    places = [text.index(word) for word in order]
    assert places == sorted(places)


def test_several_benchmarks_have_contents_and_one_decision() -> None:
    text = page(reports.fixed(12), reports.sequential("cut"))
    reader = Reader(text)
    links = [attributes["href"] for tag, attributes in reader.tags if tag == "a"]
    assert links == ["#b1", "#b2"]
    assert {"b1", "b2"} <= {attributes.get("id") for tag, attributes in reader.tags if tag == "section"}
    assert "overall: CUT" in text
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_figure_has_words_and_numbers() -> None:
    for make in (reports.fixed, reports.sequential, reports.eprocess, reports.several_tasks):
        for drawn in charts.figures(make()):
            if isinstance(drawn, figure.Absent):
                assert drawn.why.endswith(".")
                continue
            assert drawn.says.endswith(".")
            assert drawn.table.rows
            assert all(len(row) == len(drawn.table.columns) for row in drawn.table.rows)
            json.dumps([drawn.data, drawn.layout], allow_nan=False)


def test_a_figure_with_nothing_to_show_is_a_sentence() -> None:
    text = page(reports.fixed(3, cost=False))
    assert "No trial reported what it cost." in text
    assert "No trial stayed void." in text
    assert "does not say whether trials stayed void" in page(ARTIFACTS["first-format"]())
    nothing = reports.fixed(2).model_copy(update={"trials": ()})
    assert "The artifact holds no trials" in page(nothing)
    empty = ARTIFACTS["invalid"]().with_.model_copy(update={"success_rate": None, "valid": 0, "rate_interval": None})
    assert "there is no success rate" in page(nothing.model_copy(update={"with_": empty, "without": empty}))


def test_many_trials_are_thinned_and_that_is_said() -> None:
    artifact = reports.huge(2_100)
    for drawn in (spread.costs(artifact), spread.times(artifact)):
        assert isinstance(drawn, figure.Figure)
        assert len(drawn.data) == 10
        assert max(len(trace["x"]) for trace in drawn.data) <= spread.PARTS
        assert "more than 2000 trials" in drawn.notes[0]
        assert len(drawn.table.rows) == 2 + 2 * spread.PARTS
    text = page(artifact)
    assert text.count("<tr><td class=r>") == 4_200
    assert "all 4200 trials" in text
    assert "<details data-long>" in text
    assert "printed only where their table was opened" in text
    whole = spread.costs(reports.huge(2_000))
    assert isinstance(whole, figure.Figure)
    assert [len(trace["x"]) for trace in whole.data] == [2_000, 2_000]


def test_the_quantiles() -> None:
    assert spread.quantiles([3.0]) == [3.0] * 5
    assert spread.quantiles([float(n) for n in range(101)]) == [5, 25, 50, 75, 95]
    assert spread.quantiles([2.0, 1.0]) == pytest.approx([1.05, 1.25, 1.5, 1.75, 1.95])


# -- the path


def test_the_path_of_a_sequential_run_ends_on_its_boundary() -> None:
    for verdict, line, bound, sign in (("keep", 0, 2, 1), ("cut", 1, 3, -1)):
        drawn = path.path(reports.sequential(verdict))  # type: ignore[arg-type]
        assert isinstance(drawn, figure.Figure)
        steps = len(drawn.data[line]["y"])
        reached = [sign * y >= sign * b for y, b in zip(drawn.data[line]["y"], drawn.data[bound]["y"], strict=False)]
        assert reached == [False] * (steps - 1) + [True]
        assert len(drawn.data[bound]["x"]) == 20
        assert "2 trials ended after the decision" in " ".join(drawn.notes)
    keep = path.path(reports.sequential())
    assert isinstance(keep, figure.Figure)
    assert keep.data[2]["y"][-1] == 1.8974
    assert keep.data[3]["y"][-1] == -1.6839
    long = path.path(reports.sequential().model_copy(update={"max_k": 300}))
    assert isinstance(long, figure.Figure)
    assert len(long.data) == 2
    assert "not drawn" in long.notes[0]


def test_what_ended_after_the_decision_is_not_on_the_path() -> None:
    artifact = reports.sequential()
    assert artifact.decision is not None
    early = artifact.model_copy(update={"decision": artifact.decision.model_copy(update={"pairs": 4})})
    drawn = path.path(early)
    assert isinstance(drawn, figure.Figure)
    assert drawn.data[0]["x"] == [1, 2, 3, 4]


def test_the_path_of_an_e_process_is_logarithmic() -> None:
    drawn = path.path(reports.eprocess())
    assert isinstance(drawn, figure.Figure)
    assert drawn.layout["yaxis"]["type"] == "log"
    assert drawn.layout["shapes"][0]["y0"] == 20
    assert drawn.data[0]["y"][0] == 1.5
    artifact = reports.huge(3_000)  # far beyond the range of floats
    assert artifact.decision is not None
    changes = {"method": "eprocess", "pairs": None}
    ended = artifact.model_copy(update={"decision": artifact.decision.model_copy(update=changes)})
    rows = tuple(
        row.model_copy(update={"outcome": "pass" if row.cohort == "with" else "fail"}) for row in ended.trials
    )
    far = path.path(ended.model_copy(update={"trials": rows}))
    assert isinstance(far, figure.Figure)
    assert far.data[0]["y"][-1] == 1e300
    assert len(far.data[0]["x"]) == path.MOST_ROWS
    assert "Drawn at every 15th of 3000 pairs" in " ".join(far.notes)


def test_a_path_of_fixed_length_leaves_out_pairs_with_a_void() -> None:
    artifact = reports.several_tasks()
    found, skipped = path.steps(artifact.trials)
    assert len(found) + skipped == 30
    assert skipped == len({row.pair for row in artifact.trials if row.outcome == "void"})
    drawn = path.path(artifact)
    assert isinstance(drawn, figure.Figure)
    assert f"{skipped} pairs left out" in drawn.notes[0]
    assert "no look along the way could end the run" in drawn.notes[1]


def test_pairs_of_tasks_numbered_alike_are_told_apart() -> None:
    rows = reports.several_tasks(("a", "b")).trials
    alike = [row.model_copy(update={"pair": row.pair % 6}) for row in rows]
    assert sum(map(bool, path.steps(alike)[0])) == sum(map(bool, path.steps(rows)[0]))
    assert path.steps(alike)[1] == path.steps(rows)[1]


# -- JUnit XML: the elements and attributes that the schema junit-10 knows

SHAPE = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
        {"properties", "testcase"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname", "time"}, {"skipped", "failure", "error"}),
    "skipped": ({"type", "message"}, set()),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
}


def checked(text: str) -> ET.Element:
    """The document, of the right shape, its counts true, its test cases' names unique."""
    tree = ET.fromstring(text.encode())  # noqa: S314  # our own
    for element in tree.iter():
        attributes, children = SHAPE[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children
        assert not (element.text or "").strip()
        if "time" in element.attrib:
            assert re.fullmatch(r"\d+\.\d{3}", element.attrib["time"])
    for holder in [tree, *tree.iter("testsuite")]:
        cases = list(holder.iter("testcase"))
        assert int(holder.attrib["tests"]) == len(cases)
        for end, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if end in holder.attrib:
                assert int(holder.attrib[end]) == sum(case.find(tag) is not None for case in cases)
    named = [(case.attrib["classname"], case.attrib["name"]) for case in tree.iter("testcase")]
    assert len(named) == len(set(named))
    return tree


@pytest.mark.parametrize("name", golden.CELLS)
def test_junit_is_of_the_known_shape(name: str) -> None:
    checked(junit.render(golden.CELLS[name]()))


def test_junit_shows_the_verdict_and_every_trial() -> None:
    artifact = reports.several_tasks()
    tree = checked(junit.render([Cell(artifact)]))
    cases = list(tree.iter("testcase"))
    assert [case.attrib["name"] for case in cases[:2]] == ["verdict (point rule)", "evidence"]
    ends = [next((child.tag for child in case), "passed") for case in cases[2:]]
    outcomes = [row.outcome for row in artifact.trials]
    assert sorted(ends) == sorted({"pass": "passed", "fail": "failure", "void": "skipped"}[end] for end in outcomes)
    void = next(case for case in cases[2:] if case.find("skipped") is not None)
    message = void.find("skipped")
    assert message is not None
    assert message.attrib["message"].startswith(f"void: {message.attrib['type']}")
    known = {each.attrib["name"]: each.attrib["value"] for each in tree.iter("property")}
    assert known["kcut.pass"] == "true"
    assert known["kcut.decision"] == artifact.decision.verdict if artifact.decision else False


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("keep", [None, None]),
        ("cut", ["failure"] * 2),
        ("inconclusive", [None, "skipped"]),
        ("invalid", ["failure", "error"]),
    ],
)
def test_how_a_verdict_ends_in_junit(name: str, ends: list[str | None]) -> None:
    artifact = ARTIFACTS[name]()
    cases = list(checked(junit.render([Cell(artifact)])).iter("testcase"))[:2]
    found = [case[0].tag if len(case) else None for case in cases]
    assert found[1] == ends[1]
    assert (found[0] is None) == artifact.pass_ or artifact.rule == "evidence"


def test_junit_of_one_component_twice_keeps_the_cases_apart() -> None:
    one = Cell(reports.fixed(2))
    tree = checked(junit.render([one, one, Cell(reports.fixed(2, component="other"))]))
    assert len({suite.attrib["name"] for suite in tree}) == 3


def test_junit_holds_hostile_text_as_text() -> None:
    artifact = reports.hostile()
    text = junit.render([Cell(artifact)])
    tree = checked(text)
    assert tree[0].attrib["name"].startswith("<script>alert(1)</script> ]]> \"onload=x'")
    assert "\\x1b[31m\\u202e\\u2028\\ufffe\\xff" in tree[0].attrib["name"]
    assert not set(text) & set("\x1b\u202e\u2028\ufffe\udcff")


@settings(deadline=None, max_examples=50)
@given(ANY)
def test_any_text_is_xml(raw: str) -> None:
    checked(junit.render([Cell(reports.fixed(1).model_copy(update={"component": raw, "reason": raw, "ts": raw}))]))


# -- CSV


def rows_of(text: str) -> list[dict[str, str]]:
    assert text.count("\n") == text.count("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_csv_has_a_row_per_trial() -> None:
    artifact = reports.several_tasks()
    rows = rows_of(table_csv.render([Cell(artifact), Cell(reports.fixed(2, cost=False))]))
    assert len(rows) == len(artifact.trials) + 4
    assert tuple(rows[0]) == table_csv.COLUMNS
    assert all(re.fullmatch("[a-z_]+", name) for name in table_csv.COLUMNS)
    first = spread.in_order(artifact.trials)[0]
    assert rows[0]["task"] == "parse-config"
    assert (rows[0]["cost_usd"], rows[0]["late"], rows[0]["outcome"]) == (str(first.cost_usd), "false", first.outcome)
    assert (rows[-1]["cost_usd"], rows[-1]["input_tokens"], rows[-1]["task"]) == ("", "", "./run.sh")
    assert {row["reason"] for row in rows if row["outcome"] != "void"} == {""}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t=", "\r=", "＝"])
def test_no_cell_is_a_formula(start: str) -> None:
    raw = f'{start}HYPERLINK("http://e.vil";"x")'
    artifact = reports.fixed(2, component=raw, task=raw).model_copy(update={"run_id": raw, "ts": raw})
    for row in rows_of(table_csv.render([Cell(artifact)])):
        for name in ("component", "run_id", "ts", "task"):
            assert row[name].strip()[0] not in set("=+-@\t\r＝"), row[name]


@settings(deadline=None, max_examples=50)
@given(ANY)
def test_any_text_is_one_cell(raw: str) -> None:
    text = table_csv.render([Cell(reports.fixed(1).model_copy(update={"component": raw}))])
    text.encode()
    rows = rows_of(text)
    assert [row["cohort"] for row in rows] == ["with", "without"]
    assert rows[0]["component"] == table_csv.text(raw)


# -- comments


def long_artifact(text: str) -> Artifact:
    """Everything that a comment shows, as long as it can be."""
    artifact = reports.hostile()
    assert artifact.decision is not None
    warnings = tuple(Warn(code=text, advice=text) for _ in range(30))
    tasks: tuple[TaskResult, ...] = tuple(artifact.tasks[0].model_copy(update={"name": text}) for _ in range(80))
    decision = artifact.decision.model_copy(update={"warnings": warnings})
    return artifact.model_copy(
        update={"decision": decision, "tasks": tasks, "component": text, "task": text, "score": text, "reason": text}
    )


@pytest.mark.parametrize("char", ["@", "|", "`", "<", "x", "\u0301", "日", "\U000e0041", "`|"])
def test_a_comment_fits(char: str) -> None:
    artifact = long_artifact(char * 10_000)
    assert len(markdown.render_all([Cell(artifact)])) <= markdown.MOST
    many = markdown.render_all([Cell(artifact)] * 300)
    assert len(many) <= markdown.MOST
    assert "details of 30" in many or "details of 29" in many
    assert many.startswith("**Overall: ")


def test_many_benchmarks_begin_with_a_row_for_each() -> None:
    cells = [Cell(reports.fixed(3, component=f"c{number}")) for number in range(90)]
    text = markdown.render_all(cells)
    assert len(text) <= markdown.MOST
    assert all(f"| `c{number}` |" in text for number in range(90))
    left = re.search(r"The details of (\d+) benchmarks do not fit in a comment", text)
    assert left is not None
    assert int(left[1]) + text.count("### kcut") == 90
    few = markdown.render_all(cells[:3])
    assert few.endswith("**Overall: INCONCLUSIVE** (3 benchmarks)\n")


# -- tasks on a terminal


def test_a_row_per_task_fits_the_terminal() -> None:
    text = terminal.render(reports.several_tasks(("a", "日本語" * 20, "x" * 300)))
    table = text.split("\n\n")[1].splitlines()
    assert table[0].split() == ["task", "with", "without", "gain", "(95", "%)", "void"]
    assert len(table) == 4
    assert max(map(width, table)) <= 80
    places = {width(line[: line.rindex("/")]) for line in table[1:]}
    assert len(places) == 1

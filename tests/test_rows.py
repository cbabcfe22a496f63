"""Rows of a file as cells: what columns and values mean, what is refused and how, and what never matters."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.decision import decide as decide_run
from kcut.model.errors import UsageFault
from kcut.model.outcome import SIDES, Cohort
from kcut.model.trial import Usage
from kcut.rows import sources
from kcut.rows.cells import Cell, cells_of
from kcut.rows.columns import SYNONYMS, columns_of
from kcut.rows.parse import records
from kcut.rows.ruling import Levels, Rulings, pooled, rule
from kcut.rows.table import CohortNames, mapped, table
from kcut.stats.exact import boschloo
from kcut.summary import of_cohort, summarise
from tests.records import a_run, an_attempt

Row = dict[str, Any]
HEAD = "task,cohort,pass,cost,wall,turns,void,cli,model,pair\n"


def cells(data: str | bytes | Sequence[Row], *, names: CohortNames | None = None, **mapping: str) -> list[Cell]:
    """The cells of one file of that content."""
    if not isinstance(data, str | bytes):
        data = json.dumps(data)
    content = data if isinstance(data, bytes) else data.encode()
    cohorts = names or CohortNames()
    return cells_of([table(records(content, "rows", None), mapping, cohorts)], cohorts)


def rulings(rows: Sequence[Row], **levels: Any) -> Rulings:
    return rule(cells(rows), Levels(**levels))


def fault(data: str | bytes, **mapping: Any) -> str:
    with pytest.raises(UsageFault) as caught:
        cells(data, **mapping)
    assert "\n" not in caught.value.message
    assert caught.value.message.isprintable()
    return caught.value.message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "rows: it is empty"),
        (b"\xef\xbb\xbf \n", "rows: it is empty"),
        (b"task,cohort,pass\n", "rows: there are no rows"),
        (b"[]", "rows: there are no rows"),
        (b'{"rows": []}', "rows: there are no rows"),
        (b"task,cohort,pass\nt\xe9,on,1\n", "rows, line 2: it is not UTF-8 (byte 0xe9)"),
        ("task,cohort,pass\n".encode("utf-16"), "rows: it is UTF-16, not UTF-8"),
        (b"task,cohort,pass\nt,on\n", "rows, row 1 (line 2): 2 values for 3 columns"),
        (b'task,cohort,pass\n"t\nu",on,1\n\nv,off,1,9\n', "rows, row 2 (line 5): 4 values for 3 columns"),
        (b"task,task,cohort,pass\nt,u,on,1\n", "rows: there are two columns 'task'"),
        (b"Task,task,cohort,pass\nt,u,on,1\n", "rows: both 'Task' and 'task' could be the column task"),
        (b"task,mode,arm,pass\nt,on,on,1\n", "rows: both 'mode' and 'arm' could be the column cohort"),
        (b"task,cohort,passs\nt,on,1\n", "rows: there is no column pass; the nearest is 'passs'"),
        (b"x,y,z\n1,2,3\n", "rows: there is no column task; there are 'x', 'y', 'z'"),
        (b"task,cohort,pass\nt,on,maybe\n", "rows, row 1 (line 2), column 'pass': 'maybe' is neither pass nor fail"),
        (b"task,cohort,pass\nt,on,\n", "rows, row 1 (line 2), column 'pass': there is nothing"),
        (b"task,cohort,pass\n,on,1\n", "rows, row 1 (line 2), column 'task': there is nothing"),
        (b"task,cohort,pass\nt,on,1\nt,core,1\n", "rows, row 2 (line 3), column 'cohort': 'core' is neither cohort"),
        (b"task,cohort,pass,cost\nt,on,1,-1\n", "column 'cost': '-1' is less than 0"),
        (b"task,cohort,pass,cost\nt,on,1,NaN\n", "column 'cost': 'NaN' is no finite number"),
        (b"task,cohort,pass,cost\nt,on,1,1e999\n", "column 'cost': '1e999' is no finite number"),
        (b"task,cohort,pass,cost\nt,on,1,1_0\n", "column 'cost': '1_0' is no number"),
        (b"task,cohort,pass,cost\nt,on,1,$2\n", "column 'cost': '$2' is no number"),
        (b'[{"task":"t","cohort":"on","pass":true,"cost":NaN}]', "rows, row 1, column 'cost': 'NaN' is no finite"),
        (b'[{"task":"t","cohort":"on","pass":true,"cost":true}]', "column 'cost': True is no number"),
        (b'[{"task":"t","cohort":"on","pass":true,"cost":[1]}]', "column 'cost': a nested value is no number"),
        (b'[{"task":{"a":1},"cohort":"on","pass":true}]', "row 1, column 'task': a nested value is no name"),
        (b'[{"task":"t","cohort":"on","pass":2}]', "column 'pass': 2 is neither pass nor fail"),
        (b'[{"task":"t","cohort":"on"}, {"task":"t","pass":1}]', "row 2, column 'cohort': there is nothing"),
        (b'[{"task":"t","task":"u"}]', "rows: an object has the key 'task' twice"),
        (b'[{"task":"t"}, 3]', "rows, row 2: it is a number, not an object"),
        (b'{"task":"t"}\n{"task":"u","task":"u"}', "rows, line 2: an object has the key 'task' twice"),
        (b'{"task":"t"}\n{"task":', "rows, line 2: it is not JSON"),
        (b'{"task":"t"}\n[1]', "rows, row 2 (line 2): it is a list, not an object"),
        (b'{"task":', "rows, line 1: it is not JSON"),
        (b"[" * 100_000, "rows: it is nested too deeply"),
        (b'[{"cost":' + b"9" * 5000 + b"}]", "rows: a number is too long to be read"),
        (b"task,cohort,pass\n" + b"x" * 140_000 + b",on,1\n", "rows, line 2: a field is longer than 131,072"),
        (b"task,cohort,pass\n" + b"x" * 1001 + b",on,1\n", "a text of 1,001 characters is no name"),
        (b'task,cohort,pass\nt,on,"1\n', "rows, line 2: unexpected end of data"),
        (b'task\tcohort\tpass\n"t" u\ton\t1\n', "rows, line 2: 'TAB' expected after '\"'"),
        (b"task,cohort,pass\nt\x1b[31m,on,\x1b[31m\n", "column 'pass': '\\x1b[31m' is neither"),
        (b"task,cohort,pass\nt,on,1\n", "no row is of the cohort without (without/off/0/false/disabled/control)"),
        (b"task,cohort,pass,pair\nt,on,1,7\nt,on,0,7\nt,off,1,7\n", "that trial of pair '7' is there already (row 1"),
    ],
)  # fmt: skip
def test_what_means_nothing_gets_one_sentence_with_its_place(data: bytes, message: str) -> None:
    assert message in fault(data)


def test_names_of_columns() -> None:
    found = columns_of(
        ["Instance ID", "Mode", "wasResolved", "costUsd", "wall_ms", "agent_ms"], {"pass": "wasResolved"}, "f"
    )
    assert found == {
        "task": "Instance ID",
        "cohort": "Mode",
        "pass": "wasResolved",
        "cost": "costUsd",
        "wall": "wall_ms",
    }
    assert "'costUsd'" in fault("costUsd\n1\n", cost="cost_usd")
    # each name stands for one field
    names = [name for synonyms in SYNONYMS.values() for name in synonyms]
    assert len(names) == len(set(names))


def test_maps() -> None:
    assert mapped(["cohort=mode", "pass=a=b"]) == {"cohort": "mode", "pass": "a=b"}
    for wrong in (["cohort"], ["cohort="], ["colour=x"], ["pass=a", "pass=b"]):
        with pytest.raises(UsageFault, match="--map"):
            mapped(wrong)


def test_cohorts_by_name() -> None:
    rows = [{"task": "t", "cohort": name, "pass": 1} for name in ("Skill", "plain", "plain ", "core")]
    [cell] = cells(rows, names=CohortNames("skill", "PLAIN"))
    assert (cell.on.valid, cell.off.valid) == (1, 2)
    with pytest.raises(UsageFault, match="both 'a'"):
        CohortNames("a", "A").known()
    # one name alone leaves the other cohort's usual names, and nothing out
    rows = [{"task": "t", "cohort": name, "pass": 1} for name in ("skill", "off", "control")]
    assert cells(rows, names=CohortNames("skill"))[0].off.valid == 2
    with pytest.raises(UsageFault, match="'on' is neither cohort"):
        cells([*rows, {"task": "t", "cohort": "on", "pass": 1}], names=CohortNames("skill"))


@pytest.mark.parametrize("pair", [("with", "without"), ("on", "off"), (1, 0), (True, False), ("Enabled", "DISABLED")])
def test_usual_cohorts(pair: tuple[Any, Any]) -> None:
    [cell] = cells([{"task": "t", "cohort": name, "pass": 1} for name in pair])
    assert (cell.on.valid, cell.off.valid) == (1, 1)


def test_equal_values_of_other_kinds_are_other_words() -> None:
    rows = [{"task": task, "cohort": cohort, "pass": 1} for task in (1, True, 1.0, "1") for cohort in (1, False)]
    assert [(cell.key[2], cell.on.valid) for cell in cells(rows)] == [("1", 3), ("true", 1)]


def test_outcomes_and_voids() -> None:
    values = [True, False, 1, 0, 1.0, "PASS", "failed", "Yes", "no", "1.0"]
    rows: list[Row] = [{"task": "t", "cohort": 1, "pass": value, "void": False} for value in values]
    rows += [{"task": "t", "cohort": 1, "pass": None, "void": why} for why in (True, "quota", "quota", 1)]
    rows += [{"task": "t", "cohort": 1, "pass": "void"}, {"task": "t", "cohort": 0, "pass": 0, "void": "None"}]
    [cell] = cells(rows)
    assert (cell.on.valid, cell.on.passed, cell.off.valid) == (10, 6, 1)
    assert cell.on.voids == {"void": 3, "quota": 2}
    assert cell.on.hit == cell.on.attempts == 5


def test_units_and_tokens() -> None:
    rows = [{"task": "t", "cohort": c, "pass": 1, "seconds": 2.5, "in_tokens": 10, "out_tokens": "5"} for c in (0, 1)]
    ruling = rulings(rows).cells[0]
    assert (ruling.with_.median_wall_ms, ruling.with_.median_tokens) == (2500, 15)
    assert ruling.with_.median_cost_usd is None
    assert "medianCostUsd" not in ruling.with_.document()


def test_a_pair_with_a_void_attempt_is_one_trial() -> None:
    text = "t,on,,,,,quota,,,1\nt,on,1,0.5,,,,,,1\nt,off,0,0.25,,,,,,1\nt,on,,0.1,,,quota,,,2\nt,on,,,,,auth,,,2\n"
    [cell] = cells(HEAD + text)
    assert (cell.on.valid, cell.on.void, cell.on.hit, cell.on.attempts) == (1, 1, 2, 3)
    assert cell.on.voids == {"auth": 1}
    assert len(cell.on.pairs & cell.off.pairs) == 1


OUTCOMES = ("pass", "fail", "void")
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "task": st.sampled_from(["a", "b"]),
            "cohort": st.sampled_from(["with", "without"]),
            "outcome": st.sampled_from(OUTCOMES),
            "cost": st.sampled_from([None, 0.1, 0.2, 0.4]),
            "model": st.sampled_from([None, "m", "n"]),
            "cli": st.sampled_from([None, "c"]),
        }
    ),
    max_size=60,
).map(lambda rows: [{"task": "z", "cohort": name, "outcome": "pass"} for name in ("with", "without")] + rows)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_never_matters(rows: list[Row], shuffler: Any) -> None:
    mixed = list(rows)
    shuffler.shuffle(mixed)
    assert rulings(mixed) == rulings(rows)


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_swapping_the_cohorts_mirrors(rows: list[Row]) -> None:
    other = {"with": "without", "without": "with"}
    found, swapped = rulings(rows), rulings([row | {"cohort": other[row["cohort"]]} for row in rows])
    for one, two in zip((*found.cells, *found.strata), (*swapped.cells, *swapped.strata), strict=True):
        assert (one.with_, one.without) == (two.without, two.with_)
        assert (one.verdict == "invalid") is (two.verdict == "invalid")
        assert not (one.verdict == "keep" and two.verdict == "keep")
        if one.decision.difference is not None:
            assert one.decision.difference == pytest.approx(-(two.decision.difference or 0))
        if one.cost is not None and two.cost is not None:
            assert (one.cost.ratio or 0) * (two.cost.ratio or 0) == pytest.approx(1)


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_cells_are_never_pooled_across_models_or_agents(rows: list[Row]) -> None:
    """Each cell is what its rows say by themselves; a set of tasks holds those of one agent and model."""
    found = rulings(rows)
    keys = [ruling.key for ruling in found.cells]
    assert len(set(keys)) == len(keys)
    for ruling in found.cells:
        cli, model, task = ruling.key
        mine = [r for r in rows if (r.get("cli"), r.get("model"), r["task"]) == (cli, model, task)]
        for name, summary in (("with", ruling.with_), ("without", ruling.without)):
            outcomes = [row["outcome"] for row in mine if row["cohort"] == name]
            valid = [outcome for outcome in outcomes if outcome != "void"]
            assert (summary.k, summary.valid) == (len(outcomes), len(valid))
            assert summary.successes == valid.count("pass")
        assert (ruling.verdict == "invalid") is (not ruling.with_.valid or not ruling.without.valid)
    for several in found.strata:
        tasks = [r for r in found.cells if r.key[:2] == several.key[:2] and r.verdict != "invalid"]
        assert several.tasks == tuple(ruling.key[2] for ruling in tasks)
        assert several.with_.successes == sum(ruling.with_.successes for ruling in tasks)


@settings(max_examples=60, deadline=None)
@given(
    *[st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=9) for _ in range(2)],
    st.sampled_from(["success", "cost"]),
)
def test_a_cell_is_decided_as_a_run_is(withs: list[str], withouts: list[str], objective: str) -> None:
    """The same trials, recorded by a run of kcut."""
    plan = a_run(k=max(len(withs), len(withouts))).plan.model_copy(update={"objective": objective})
    attempts, rows = [], []
    for cohort, outcomes in ((Cohort.WITH, withs), (Cohort.WITHOUT, withouts)):
        for pair, outcome in enumerate(outcomes):
            cost = 0.1 + 0.01 * pair + (0.5 if cohort is Cohort.WITH else 0)
            more: dict[str, Any] = {"reason": "quota"} if outcome == "void" else {}
            attempts.append(an_attempt(pair, cohort.value, outcome=outcome, usage=Usage(cost_usd=cost), **more))
            rows.append({"task": "t", "cohort": cohort.value, "pass": outcome, "cost": cost, "pair": pair})
    ruling = rulings(rows, objective=objective).cells[0]
    if ruling.verdict == "invalid":
        assert "void" in {*withs, *withouts}
        return
    on, off = (summarise(plan.k, of_cohort(attempts, cohort)) for cohort in SIDES)
    expected = decide_run(plan, attempts, on, off)
    assert ruling.decision.model_copy(update={"warnings": ()}) == expected.model_copy(update={"warnings": ()})


def test_many_voids_warn_and_take_back_only_a_keep_that_rests_on_them() -> None:
    """A void in three is no invalid cell here: how many trials were planned is not known."""
    rows: list[Row] = [{"task": "t", "cohort": "on", "pass": 1}] * 12 + [
        {"task": "t", "cohort": "off", "pass": 0}
    ] * 12
    void: list[Row] = [{"task": "t", "cohort": cohort, "void": "quota"} for cohort in ("on", "off")]
    clear = rulings(rows + void * 5).cells[0]
    assert clear.verdict == "keep"
    assert [warn.code for warn in clear.decision.warnings] == ["voids"]
    assert "5 of 17 WITH and 5 of 17 WITHOUT" in clear.decision.warnings[0].advice
    doubtful = rulings(rows + void * 12).cells[0]
    assert doubtful.verdict == "inconclusive"
    assert {"voids", "void-imbalance"} <= {warn.code for warn in doubtful.decision.warnings}
    uneven = rulings(rows + void[:1] * 6).cells[0]
    assert uneven.verdict == "inconclusive"


def test_a_cell_without_a_valid_trial_says_why() -> None:
    rows: list[Row] = [{"task": "t", "cohort": "on", "pass": 1}, {"task": "t", "cohort": "off", "void": "quota"}]
    rows += [{"task": "u", "cohort": "on", "pass": 1}]
    found = rulings(rows).cells
    assert [ruling.verdict for ruling in found] == ["invalid", "invalid"]
    assert found[0].reason == "no trial WITHOUT is valid (void: quota 1)"
    assert found[1].reason == "there is no trial WITHOUT"
    assert [warn.code for ruling in found for warn in ruling.decision.warnings] == ["invalid", "invalid"]


COUNTS = st.tuples(st.integers(0, 6), st.integers(1, 6), st.integers(0, 6), st.integers(1, 6)).map(
    lambda c: (min(c[0], c[1]), c[1], min(c[2], c[3]), c[3])
)


@given(st.lists(COUNTS, min_size=1, max_size=5))
def test_what_is_pooled_for_a_cut_counts_each_task_alike_and_flatters_with(tables: list[tuple[int, ...]]) -> None:
    """Whatever trials above the smaller number are left out, WITH does no better than in the pooled table."""
    four = [(x1, n1, x2, n2) for x1, n1, x2, n2 in tables]
    x1, n1, x2, n2 = pooled(four)
    assert n1 == n2 == sum(min(a, b) for _, a, _, b in four)
    assert 0 <= x1 <= n1
    assert 0 <= x2 <= n2
    mean = sum(min(a, b) * (Fraction(x, a) - Fraction(y, b)) for x, a, y, b in four)
    assert x1 - x2 >= mean
    if all(a == b for _, a, _, b in four):
        assert (x1, x2) == (sum(t[0] for t in four), sum(t[2] for t in four))


def test_many_cells_are_decided_as_each_by_itself() -> None:
    """Where p is only compared with its level, the verdicts are those of the exact p."""
    shapes = [
        (x, 20 + n % 2, y, 20) for n, (x, y) in enumerate((x, y) for x in range(0, 20, 2) for y in range(0, 21, 2))
    ]
    rows = []
    for number, (x1, n1, x2, n2) in enumerate(shapes):
        for cohort, passed, n in (("on", x1, n1), ("off", x2, n2)):
            rows += [{"task": f"t{number:03}", "cohort": cohort, "pass": i < passed} for i in range(n)]
    found = rulings(rows)
    assert {ruling.decision.p_value for ruling in found.cells} == {None}
    for shape, ruling in zip(shapes, found.cells, strict=True):
        assert (ruling.verdict == "keep") is (boschloo(*shape) <= 0.05)
    for number in (0, 17, 55, 109):
        alone = rulings([row for row in rows if row["task"] == f"t{number:03}"]).cells[0]
        assert alone.verdict == found.cells[number].verdict
        assert alone.decision.p_value is not None


@pytest.mark.parametrize("hooks", [[], {}, ["a"], {"a": [1]}, 1.5, "", None, False, True])
def test_a_setting_of_published_rows_may_be_anything(hooks: Any) -> None:
    rows = [{"task": "t", "mode": "on", "pass": True, "cost_usd": 1, "num_turns": 2, "hooks": hooks}]
    found = sources.maestro(records(json.dumps(rows).encode(), "rows", None), sources.MAESTRO_COHORTS)
    plain = hooks is None or hooks is False
    assert [(setting == "plain") for setting in found.setting] == [plain]

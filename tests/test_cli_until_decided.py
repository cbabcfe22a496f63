"""`kcut benchmark --until-decided` and `--tasks`: the real command on real repositories."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcut.course import Course, Pair, cost_level, cost_looks
from kcut.stats.sequential import design
from tests.conftest import Kcut, Repo
from tests.records import a_run

TOGGLE = 'test "$HARNESS_COMPONENT_ENABLED" = 1'
#: Passes or fails by the seed alone, so alike in both trials of a pair.
USELESS = "echo $HARNESS_TRIAL$HARNESS_COMPONENT_ENABLED > own; test $((HARNESS_SEED % 2)) = 0"
#: The first look of the default plan at which pairs that all speak for WITH are a KEEP.
FIRST = next(n for n in range(1, 21) if design(20).look(n, n, 0) == "keep")


def run(kcut: Kcut, repo: Repo, *args: str, code: int = 0, **more: Any) -> dict[str, Any]:
    done = kcut("benchmark", "--component", "x", "--json", "-q", *args, cwd=repo.path, **more)
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def stopped_after(argv: list[str], repo: Repo, line: str, signum: signal.Signals) -> tuple[int, str]:
    """Start kcut, signal it once it prints a line that begins so; its exit code and what it printed after that."""
    with subprocess.Popen(argv, cwd=repo.path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for said in process.stderr:
            if said.startswith(line):
                break
        process.send_signal(signum)
        rest = process.stderr.read()
        return process.wait(60), rest


def test_it_stops_as_soon_as_it_is_clear(repo: Repo, kcut: Kcut) -> None:
    artifact = run(kcut, repo, "--task", TOGGLE, "--until-decided", "--rule", "evidence")
    assert (artifact["k"], artifact["maxK"], artifact["pass"]) == (FIRST, 20, True)
    assert artifact["decision"]["verdict"] == "keep"
    assert artifact["decision"]["method"] == "sequential"
    assert (artifact["decision"]["beta"], "after" in artifact["decision"]) == (0.1, False)
    assert len(artifact["trials"]) == 2 * FIRST


def test_a_useless_component_is_cut_before_the_last_pair(repo: Repo, kcut: Kcut) -> None:
    artifact = run(kcut, repo, "--task", USELESS, "--until-decided", "--rule", "evidence", "--seed", "3", code=1)
    assert artifact["decision"]["verdict"] == "cut"
    assert artifact["k"] < 20


def test_what_runs_on_is_recorded_and_does_not_count(repo: Repo, kcut: Kcut) -> None:
    slow = f'test "$HARNESS_TRIAL" -lt {FIRST} || sleep 1; {TOGGLE}'
    artifact = run(kcut, repo, "--task", slow, "--until-decided", "--jobs", "6", "--seed", "1")
    alone = run(kcut, repo, "--task", slow, "--until-decided", "--jobs", "1", "--seed", "1", "--out", "y")
    for key in ("k", "pass", "reason"):
        assert artifact[key] == alone[key]
    for cohort in ("with", "without"):
        assert artifact[cohort]["successes"] == alone[cohort]["successes"]
    after = artifact["decision"].get("after", 0)
    assert after == len(artifact["trials"]) - 2 * FIRST > 0
    shown = kcut("report", ".claude/eval/benchmarks/x.json", cwd=repo.path)
    assert f"{after} trials that ran on do not count" in shown.stdout


def test_an_interrupted_run_goes_on_and_decides_as_an_uninterrupted_one(repo: Repo, kcut: Kcut) -> None:
    task = f"sleep 0.2; {TOGGLE}"
    argv = [sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--task", task, "--until-decided"]
    code, rest = stopped_after([*argv, "--seed", "5"], repo, "pair 3 of at most 20", signal.SIGINT)
    assert code == 130, rest
    assert "of at most 40 trials" in rest
    done = kcut("benchmark", "--resume", "last", "--json", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    artifact = json.loads(done.stdout)
    assert (artifact["k"], artifact["decision"]["verdict"]) == (FIRST, "keep")
    assert len({(row["pair"], row["cohort"]) for row in artifact["trials"]}) == len(artifact["trials"]) == 2 * FIRST


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--until-decided", "--k", "5"), "--k fixes the number of pairs"),
        (("--max-k", "9"), "--max-k is the cap of --until-decided"),
        (("--confirm-harm",), "--confirm-harm needs the looks of --until-decided"),
        (("--anytime", "--stop", "keep-unreachable"), "--stop keep-unreachable needs the looks"),
        (("--anytime", "--objective", "cost"), "--anytime cannot go with --objective cost"),
        (("--until-decided", "--max-k", "501"), "--max-k is at most 500"),
        (("--until-decided", "--alpha", "1"), "--alpha must be a number between 0 and 1"),
        (("--delta", "nan"), "--delta must be a number between 0 and 1"),
        (("--tasks", "none.toml"), "--task and --tasks both given"),
    ],
)
def test_options_that_contradict_each_other(repo: Repo, kcut: Kcut, args: tuple[str, ...], said: str) -> None:
    done = kcut("benchmark", "--component", "x", "--task", "true", *args, cwd=repo.path)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (repo.path / ".claude").exists()


def test_a_cap_in_the_configuration_harms_no_fixed_run(repo: Repo, kcut: Kcut) -> None:
    repo.write("kcut.toml", "[benchmark]\nmax-k = 30\nk = 2\n")
    assert run(kcut, repo, "--task", TOGGLE)["k"] == 2
    assert run(kcut, repo, "--task", TOGGLE, "--until-decided")["maxK"] == 30


def test_an_e_process_needs_no_cap(repo: Repo, kcut: Kcut) -> None:
    artifact = run(kcut, repo, "--task", TOGGLE, "--anytime")
    assert (artifact["decision"]["method"], artifact["decision"]["verdict"]) == ("eprocess", "keep")
    assert artifact["maxK"] is None
    assert artifact["decision"]["statistic"] >= 20
    capped = run(kcut, repo, "--task", USELESS, "--anytime", "--max-k", "3", "--rule", "evidence", code=3)
    assert (capped["maxK"], capped["decision"]["verdict"]) == (3, "inconclusive")


def test_a_run_without_a_cap_ends_when_nothing_can_start(repo: Repo, kcut: Kcut) -> None:
    quota = 'echo "{\\"void\\": \\"quota\\"}" > "$HARNESS_TRIAL_OUT"; false'
    done = kcut("benchmark", "--component", "x", "--task", quota, "--anytime", "-q", cwd=repo.path)
    assert done.returncode == 2
    assert "stayed void" in done.stdout


def test_a_cheaper_component_with_the_same_success_is_kept(repo: Repo, kcut: Kcut) -> None:
    spend = (
        'c=1; test "$HARNESS_COMPONENT_ENABLED" = 1 && c=0; '
        'echo "{\\"cost_usd\\": $c.5$HARNESS_TRIAL}" > "$HARNESS_TRIAL_OUT"; true'
    )
    options = ("--objective", "cost", "--margin", "0.3", "--rule", "evidence")
    fixed = run(kcut, repo, "--task", spend, *options, "--k", "12")
    assert (fixed["pass"], fixed["decision"]["verdict"]) == (True, "keep")
    cost = fixed["decision"]["cost"]
    assert cost["ratio"] < cost["upper"] < 1
    assert cost["nonInferior"] is True
    running = run(kcut, repo, "--task", spend, *options, "--until-decided")
    assert running["decision"]["verdict"] == "keep"
    assert running["k"] < 20
    dearer = spend.replace("c=1", "c=x").replace("c=0", "c=1").replace("c=x", "c=0")
    cut = run(kcut, repo, "--task", dearer, *options, "--k", "12", code=1)
    assert (cut["pass"], cut["decision"]["verdict"]) == (False, "cut")


def test_costs_that_are_not_known_keep_nothing(repo: Repo, kcut: Kcut) -> None:
    artifact = run(kcut, repo, "--task", TOGGLE, "--objective", "cost", "--rule", "evidence", code=3)
    assert artifact["decision"]["verdict"] == "inconclusive"
    assert "costs-unknown" in [warn["code"] for warn in artifact["decision"]["warnings"]]


def test_a_cost_that_is_not_known_ends_the_run(repo: Repo, kcut: Kcut) -> None:
    options = ("--objective", "cost", "--until-decided", "--rule", "evidence")
    artifact = run(kcut, repo, "--task", TOGGLE, *options, code=3)
    assert (artifact["k"], artifact["decision"]["verdict"]) == (1, "inconclusive")


def test_a_budget_holds_while_it_is_undecided(repo: Repo, kcut: Kcut) -> None:
    spend = 'echo "{\\"cost_usd\\": 1}" > "$HARNESS_TRIAL_OUT"; ' + USELESS
    artifact = run(kcut, repo, "--task", spend, "--until-decided", "--max-cost", "6", "--rule", "evidence", code=3)
    assert len(artifact["trials"]) == 6
    assert "budget-stop" in [warn["code"] for warn in artifact["decision"]["warnings"]]


def test_the_history_counts_the_pairs_that_it_took(repo: Repo, kcut: Kcut) -> None:
    run(kcut, repo, "--task", TOGGLE, "--until-decided")
    history = json.loads(kcut("history", "--json", cwd=repo.path).stdout)
    assert history["runs"][0]["k"] == FIRST


# -- several tasks

TASKS = """
[[task]]
name = "easy"
task = "echo done > out; true"
score = "test -f out"

[[task]]
name = "hard"
task = 'test "$HARNESS_COMPONENT_ENABLED" = 1 && echo done > out; true'
score = "test -f out"
weight = 3
"""


def test_several_tasks_take_turns_and_are_averaged(repo: Repo, kcut: Kcut) -> None:
    repo.write("tasks.toml", TASKS)
    repo.commit()
    artifact = run(kcut, repo, "--tasks", "tasks.toml", "--k", "4", "--rule", "evidence")
    assert (artifact["task"], artifact["score"], artifact["k"]) == ("tasks.toml (2 tasks)", None, 8)
    assert [row["task"] for row in artifact["trials"][:4]] == ["easy", "easy", "hard", "hard"]
    easy, hard = artifact["tasks"]
    assert [task["name"] for task in (easy, hard)] == ["easy", "hard"]
    assert (easy["difference"], hard["difference"]) == (0, 1)
    assert (artifact["with"]["successRate"], artifact["without"]["successRate"]) == (1, 0.25)
    decision = artifact["decision"]
    assert (decision["method"], decision["difference"], decision["verdict"]) == ("cmh", 0.75, "keep")
    assert decision["pValue"] == pytest.approx(1 / 70), "4 of 4 against 0 of 4 in the only task that says something"
    text = kcut("report", "last", cwd=repo.path).stdout
    assert "a mean rate of 1.00 against 0.25 over 2 tasks" in text


HEAVY = """
[[task]]
name = "fallen"
task = 'test $HARNESS_COMPONENT_ENABLED = 0 || test $((HARNESS_TRIAL % 2)) = 0'
weight = 10
[[task]]
name = "risen"
task = 'test $HARNESS_COMPONENT_ENABLED = 1'
[[task]]
name = "risen too"
task = 'test $HARNESS_COMPONENT_ENABLED = 1'
"""


def test_weights_and_tests_have_to_agree(repo: Repo, kcut: Kcut) -> None:
    repo.write("heavy.toml", HEAVY)
    artifact = run(kcut, repo, "--tasks", "heavy.toml", "--k", "6", "--rule", "evidence", code=3)
    decision = artifact["decision"]
    assert decision["pValue"] <= 0.05
    assert decision["difference"] < 0
    assert (decision["verdict"], artifact["pass"]) == ("inconclusive", False)
    assert "weights-decide" in [warn["code"] for warn in decision["warnings"]]
    repo.write("alike.toml", HEAVY.replace("weight = 10", "weight = 1"))
    assert run(kcut, repo, "--tasks", "alike.toml", "--k", "6")["decision"]["verdict"] == "keep"


def test_a_task_has_its_name_in_its_environment(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    repo.write("t.toml", f'[[task]]\nname = "one"\ntask = "echo $HARNESS_TASK >> {seen}"\n')
    run(kcut, repo, "--tasks", "t.toml", "--k", "1", code=1)
    assert seen.read_text() == "one\none\n"
    run(kcut, repo, "--task", f'echo "${{HARNESS_TASK-none}}" >> {seen}', "--k", "1", code=1)
    assert seen.read_text().endswith("none\nnone\n")


def test_tasks_until_decided_share_the_cap(repo: Repo, kcut: Kcut) -> None:
    repo.write("tasks.toml", TASKS.replace("[[task]]", "[[tasks]]"))
    artifact = run(kcut, repo, "--tasks", "tasks.toml", "--until-decided", "--max-k", "30")
    assert artifact["decision"]["verdict"] == "keep"
    assert artifact["k"] <= 30
    assert sum(task["with"]["k"] for task in artifact["tasks"]) == artifact["k"]


def test_a_run_of_several_tasks_goes_on_though_the_file_has_changed(repo: Repo, kcut: Kcut) -> None:
    repo.write("tasks.toml", TASKS)
    argv = [sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--tasks", "tasks.toml", "--k", "3"]
    code, rest = stopped_after([*argv, "--setup", "sleep 0.3"], repo, "pair 1 of 6 (easy)", signal.SIGTERM)
    assert code == 143, rest
    repo.write("tasks.toml", "")
    done = kcut("benchmark", "--resume", "last", "--json", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    assert [task["name"] for task in json.loads(done.stdout)["tasks"]] == ["easy", "hard"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no task"),
        ("task = 3", "tasks are an array of tables"),
        ("[[task]]\nname = 'a'", "task 1 has no task"),
        ("[[task]]\ntask = 'a'", "task 1 has no name"),
        ("[[task]]\nname = 'a'\ntask = 'a'\nscroe = 'x'", "unknown key scroe"),
        ("[[task]]\nname = 'a'\ntask = 'a'\nscore = 'x'\nspec = 'y'", "score and spec both given"),
        ("[[task]]\nname = 'a'\ntask = 'a'\n[[task]]\nname = 'a'\ntask = 'b'", "two tasks are named a"),
        ("[[task]]\nname = 'a'\ntask = 'a'\nweight = 0", "weight must be a number from"),
        ("[[task]]\nname = 'a'\ntask = 'a'\nweight = true", "weight must be a number from"),
        ("[[task]]\nname = ' '\ntask = 'a'", "name must be a text"),
        ("[[task]]\nname = 'a'\ntask = 'a'\nweight = 1e-200", "weight must be a number from"),
        ("[[task]]\nname = 'e\u0301'\ntask = 'a'\n[[task]]\nname = ' \u00e9'\ntask = 'b'", "two tasks are named"),
        ("[[task]]\nname = 'a'\ntask = 'a'\nspec = 'no.md'", "no.md"),
        ("[[task]\n", "is no TOML"),
        ("task = " + "[" * 100_000, "is nested too deeply"),
        ("[[task]]\nname = 'a'\ntask = 'a'\n[[tasks]]\nname = 'b'\ntask = 'a'", "holds both"),
        ("other = 1", "unknown key other"),
    ],
)
def test_a_file_of_tasks_that_cannot_be_used(repo: Repo, kcut: Kcut, text: str, said: str) -> None:
    repo.write("t.toml", text)
    done = kcut("benchmark", "--component", "x", "--tasks", "t.toml", cwd=repo.path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


# -- a component against itself


def test_aa_gives_no_keep_where_nothing_differs(repo: Repo, kcut: Kcut) -> None:
    off = 'test "$HARNESS_COMPONENT_ENABLED" = 0 && test $((HARNESS_SEED % 3)) -ne 0'
    done = kcut("aa", "--component", "x", "--task", off, "--runs", "4", "--k", "3", "--json", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"runs": 4, "keeps": 0, "bound": 1, "accept": True}
    assert list((repo.path / ".claude/eval/benchmarks").glob("*.json")) == []
    history = json.loads(kcut("history", "--json", cwd=repo.path).stdout)["runs"]
    assert [(run["decision"], run["pass"], run["state"]) for run in history] == [(None, None, "finished")]
    again = kcut("aa", "--resume", "last", "--json", cwd=repo.path)
    assert (again.returncode, json.loads(again.stdout)["runs"]) == (0, 4)
    assert "kcut check last" in kcut("aa", "--resume", "last", cwd=repo.path).stdout
    for command in (("benchmark", "--resume", "last"), ("report", "last")):
        refused = kcut(*command, cwd=repo.path)
        assert (refused.returncode, "kcut aa --resume" in refused.stderr) == (2, True)


def test_aa_says_when_it_says_nothing(repo: Repo, kcut: Kcut) -> None:
    done = kcut("aa", "--component", "x", "--task", TOGGLE, "--runs", "2", "--k", "3", cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "all trials failed, so no run could have ended in KEEP" in done.stderr
    few = kcut("aa", "--component", "x", "--task", "true", "--k", "2", cwd=repo.path)
    assert (few.returncode, "--k 2 can end in no KEEP at all" in few.stderr) == (2, True)


def test_aa_finds_a_harness_that_tells_the_cohorts_apart(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    # the trial that a pair starts first warms a cache that the second one needs
    cache = tmp_path / "cache"
    task = (
        f"if [ -e {cache}/$HARNESS_SEED ]; then true; else mkdir -p {cache}; touch {cache}/$HARNESS_SEED; false; fi"
    )
    seed = next(seed for seed in range(500) if _one_sided(seed, runs=3, k=4))
    options = ("--runs", "3", "--k", "4", "--seed", str(seed), "--alpha", "0.04")
    done = kcut("aa", "--component", "x", "--task", task, *options, cwd=repo.path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 of 3 runs ended in KEEP" in done.stdout


def _one_sided(seed: int, runs: int, k: int) -> bool:
    """True if in exactly two of the runs every pair starts WITHOUT first."""
    from kcut.model.outcome import Cohort
    from kcut.plan import pair_order

    first = [pair_order(seed, pair)[0] for pair in range(runs * k)]
    whole = [set(first[run * k : run * k + k]) == {Cohort.WITHOUT} for run in range(runs)]
    return sum(whole) == 2


def page(kcut: Kcut, repo: Repo) -> str:
    kcut("report", "last", "-o", str(repo.path.parent / "page.html"), cwd=repo.path)
    return (repo.path.parent / "page.html").read_text()


def test_the_page_says_what_ran_on_after_the_decision(repo: Repo, kcut: Kcut) -> None:
    slow = f'test "$HARNESS_TRIAL" -lt {FIRST} || sleep 1; {TOGGLE}'
    after = run(kcut, repo, "--task", slow, "--until-decided", "--jobs", "5")["decision"]["after"]
    told = page(kcut, repo)
    assert f"{after} trial{'s end' if after > 1 else ' end'}ed after the decision and do" in told
    assert "is void." not in told


def test_the_page_of_a_run_without_a_verdict_counts_what_there_was(repo: Repo, kcut: Kcut) -> None:
    argv = [sys.executable, "-m", "kcut", "benchmark", "--component", "x", "--task", f"sleep 0.2; {USELESS}"]
    code, rest = stopped_after([*argv, "--until-decided", "--max-k", "30"], repo, "pair 2 of", signal.SIGINT)
    assert code == 130, rest
    told = page(kcut, repo)
    begun = len({row["pair"] for row in json.loads(kcut("show", "--json", cwd=repo.path).stdout)["trials"]})
    assert f"{begun} pairs of at most 30" in told
    assert "The run was to end as soon as it was clear, after at most 30 pairs." in told
    assert "fixed beforehand" not in told


def test_weights_that_differ_are_shown(repo: Repo, kcut: Kcut) -> None:
    repo.write(
        "t.toml", f"[[task]]\nname = 'a'\ntask = '{TOGGLE}'\nweight = 3\n[[task]]\nname = 'b'\ntask = 'true'\n"
    )
    assert run(kcut, repo, "--tasks", "t.toml", "--k", "2")["decision"]["difference"] == 0.75
    told = page(kcut, repo)
    assert ">weight" in told
    assert "where the tasks count by their weights" in told
    assert "| weight |" in kcut("report", "last", "-f", "markdown", cwd=repo.path).stdout
    repo.write("t.toml", "[[task]]\nname = 'a'\ntask = 'true'\n[[task]]\nname = 'b'\ntask = 'true'\n")
    run(kcut, repo, "--tasks", "t.toml", "--k", "1", code=1)
    assert "weight" not in kcut("report", "last", "-f", "markdown", cwd=repo.path).stdout


# -- what must not change a verdict


def test_costs_are_looked_at_no_more_than_three_times() -> None:
    """With every look a component that costs the same would pass as cheaper in more than alpha of the runs."""
    plan = a_run(k=40, until_decided=True, objective="cost", margin=0.2).plan
    assert cost_looks(plan) == (20, 30, 40)
    assert cost_level(plan) == pytest.approx(1 - 0.05 / 3)
    draw = random.Random(3)
    kept = 0
    for _ in range(300):
        course = Course(plan)
        while not course.over:
            course.add(Pair(True, True, draw.lognormvariate(0, 1), draw.lognormvariate(0, 1)))
        assert course.end is None or course.n in cost_looks(plan)
        kept += course.end == "keep"
    assert kept <= 25, "alpha of 300 are 15; more than 25 of them have a chance of 1 in 150"


def test_trials_ahead_of_the_course_spoil_nothing(repo: Repo, kcut: Kcut) -> None:
    void = 'echo "{\\"void\\": \\"manipulation\\"}" > "$HARNESS_TRIAL_OUT"'
    task = (
        f'if [ "$HARNESS_TRIAL" -ge {FIRST} ]; then {void}; fi; '
        f'test "$HARNESS_TRIAL" -ne {FIRST - 1} || sleep 2; {TOGGLE}'
    )
    options = ("--until-decided", "--rule", "evidence", "--no-probe", "--seed", "4")
    alone = run(kcut, repo, "--task", task, *options)
    ahead = run(kcut, repo, "--task", task, *options, "--jobs", "4", "--out", "y")
    assert alone["decision"]["verdict"] == ahead["decision"]["verdict"] == "keep"
    assert (alone["k"], ahead["k"]) == (FIRST, FIRST)


@pytest.mark.parametrize("output", ["9223372036854775807", "9007199254740990"])
def test_counts_that_no_artifact_can_hold_are_not_known(repo: Repo, kcut: Kcut, output: str) -> None:
    usage = f'{{\\"usage\\":{{\\"input_tokens\\":1,\\"output_tokens\\":{output}}}}}'
    artifact = run(kcut, repo, "--task", f'echo "{usage}" > "$HARNESS_TRIAL_OUT"; {TOGGLE}', "--k", "2")
    assert artifact["with"]["tokens"] is None
    assert kcut("show", "last", cwd=repo.path).returncode == 0


def test_a_budget_that_ends_before_every_task_had_its_turn(repo: Repo, kcut: Kcut) -> None:
    spend = 'echo "{\\"cost_usd\\": 1}" > "$HARNESS_TRIAL_OUT"; ' + TOGGLE
    repo.write("five.toml", "".join(f"[[task]]\nname = '{name}'\ntask = '''{spend}'''\n" for name in "abcde"))
    artifact = run(kcut, repo, "--tasks", "five.toml", "--k", "3", "--max-cost", "7")
    assert [task["name"] for task in artifact["tasks"]] == ["a", "b", "c"]
    assert "budget-stop" in [warn["code"] for warn in artifact["decision"]["warnings"]]

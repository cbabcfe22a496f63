"""Faults that people met in comparable tools, as small inputs, each with kin that no report names."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo

SLOW = 300.0


def bench(kcut: Kcut, repo: Repo, *args: str, code: int, name: str = "demo", **more: Any) -> dict[str, Any]:
    """Run a benchmark with --json, assert its exit code, and return the document."""
    done = kcut("benchmark", "--component", name, "--json", *args, cwd=more.pop("cwd", repo.path), **more)
    assert done.returncode == code, f"{done.returncode}: {done.stderr}\n{done.stdout}"
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def rates(document: dict[str, Any]) -> tuple[tuple[int, int], tuple[int, int]]:
    """((successes, valid) with, the same without)."""
    with_, without = document["with"], document["without"]
    return (with_["successes"], with_["valid"]), (without["successes"], without["valid"])


def codes(document: dict[str, Any]) -> set[str]:
    """The codes of its warnings."""
    return {warning["code"] for warning in document["decision"]["warnings"]}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the repository, for marks that trials leave."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


# A01 - a provider's rate limit is not a failure


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (429, "rate_limit_error", "rate_limit"),
        (529, "overloaded_error", "overloaded"),
        (500, "api_error", "server_error"),
    ],
)
def test_a01_a_providers_bad_moment_is_void_and_run_again(
    repo: Repo, kcut: Kcut, outside: Path, status: int, kind: str, reason: str
) -> None:
    counter = outside / "count"
    task = (
        f'if [ "$HARNESS_COMPONENT_ENABLED" = 1 ]; then i=$(( $(cat {counter} 2>/dev/null || echo 0) + 1 ));'
        f" echo $i > {counter}; if [ $i -le 2 ]; then"
        f' echo "API Error: {status} {{\\"type\\":\\"error\\",\\"error\\":{{\\"type\\":\\"{kind}\\"}}}}" >&2; exit 1;'
        " fi; fi; echo ok > out.txt"
    )
    options = ("--k", "4", "--task", task, "--score", "test -f out.txt", "--retry-wait", "0")
    document = bench(kcut, repo, *options, code=1)
    assert rates(document) == ((4, 4), (4, 4))
    assert document["with"]["voidAttempts"] == 2
    assert document["with"]["successRate"] == 1
    assert document["decision"]["verdict"] == "inconclusive"
    shown = json.loads(kcut("show", "last", "--json", cwd=repo.path).stdout)
    assert sum(trial["attempts"] for trial in shown["trials"]) == 10

    counter.unlink()
    document = bench(kcut, repo, *options, "--void-retries", "0", code=2)  # 2 of 4 stayed void: more than a quarter
    assert document["decision"]["verdict"] == "invalid"
    assert document["with"]["voids"] == {reason: 2}


def test_a01_words_of_a_task_are_not_a_providers(repo: Repo, kcut: Kcut) -> None:
    task = 'echo \'note: API Error: 429 is retried by our client\'; echo \'{"type":"result","ok":true}\'; exit 1'
    document = bench(kcut, repo, "--k", "2", "--task", task, code=1)
    assert rates(document) == ((0, 2), (0, 2))


# A02 - an agent's error behind exit code 0


@pytest.mark.parametrize("printed", ["as it is", "pretty", "array"])
def test_a02_a_do_nothing_agent_does_not_win(repo: Repo, kcut: Kcut, outside: Path, printed: str) -> None:
    event = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "duration_api_ms": 0,
        "result": "API Error: Rate limit reached",
        "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    text = json.dumps([event] if printed == "array" else event, indent=2 if printed == "pretty" else None)
    (outside / "event.json").write_text(text)
    options = ("--k", "2", "--task", f"cat {outside}/event.json", "--score", "test ! -e bug.txt", "--retry-wait", "0")
    document = bench(kcut, repo, *options, code=2)
    assert rates(document) == ((0, 0), (0, 0))
    assert document["with"]["successRate"] is None
    assert document["without"]["successRate"] is None
    assert document["decision"]["verdict"] == "invalid"
    assert document["pass"] is False
    assert not (repo.path / ".claude/eval/benchmarks/demo.json").exists()


# A03 - stdin is empty


def test_a03_stdin_never_blocks(repo: Repo, tmp_path: Path) -> None:
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "kcut", "benchmark", "--component", "demo", "--k", "2", "--json"),
                *("--task", "cat > got.txt; (cat; read x < /dev/stdin); echo ok > out.txt"),
                *("--score", "cat; test -f out.txt && test ! -s got.txt", "--setup", "cat", "--timeout", "60"),
            ],
            cwd=repo.path,
            stdin=read,
            capture_output=True,
            timeout=SLOW,
            check=False,
        )
    finally:
        os.close(read)
        os.close(write)
    document = json.loads(done.stdout)
    assert rates(document) == ((2, 2), (2, 2))
    assert not any(trial["timedOut"] for trial in document["trials"])


# A04 - what a timed-out task started is dead before the score


@pytest.mark.parametrize(
    "start", ["", "setsid ", "env -i PATH=$PATH nohup "], ids=["plain", "setsid", "env -i nohup"]
)
def test_a04_no_late_write(repo: Repo, kcut: Kcut, outside: Path, start: str) -> None:
    late = outside / "late"
    body = f"sleep 2; echo late > out.txt; touch {late}"
    task = f"{start}sh -c '{body}' > /dev/null 2>&1 & sleep 60"
    document = bench(
        kcut, repo, "--k", "1", "--task", task, "--score", "sleep 3; test -f out.txt", "--timeout", "0.5", code=1
    )
    assert rates(document) == ((0, 1), (0, 1))
    assert all(trial["timedOut"] for trial in document["trials"])
    assert not late.exists()


# A05 - loud tasks


def test_a05_output_never_blocks(repo: Repo, kcut: Kcut) -> None:
    task = (
        "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' '\\377' >&2; echo ok > out.txt"
    )
    document = bench(
        kcut, repo, "--k", "1", "--task", task, "--score", "yes | head -c 9000000; test -f out.txt", code=1
    )
    assert rates(document) == ((1, 1), (1, 1))
    assert (repo.path / ".claude/eval/benchmarks/demo.json").stat().st_size < 100_000


# A06 - run from a hook: git's bindings do not reach the trial


@pytest.mark.parametrize("hook", ["pre-push", "post-commit"])
def test_a06_from_a_hook_in_a_linked_worktree(repo: Repo, tmp_path: Path, hook: str) -> None:
    repo.git("init", "-q", "--bare", str(tmp_path / "o.git"))
    repo.git("remote", "add", "o", str(tmp_path / "o.git"))
    repo.git("worktree", "add", "-q", "-b", "l", str(tmp_path / "l"))
    linked = Repo(tmp_path / "l")
    dirs = tmp_path / "dirs"
    task = f"echo x > new.txt; git add new.txt; git commit -qm trial; git rev-parse --absolute-git-dir >> {dirs}"
    script = (
        f"#!/bin/sh\ntest -e {dirs} && exit 0\n"
        f"exec '{sys.executable}' -m kcut benchmark --component demo --k 1 -q --task '{task}'\n"
    )
    repo.write(f".git/hooks/{hook}", script, executable=True)
    before = linked.git("rev-parse", "HEAD")
    if hook == "post-commit":
        linked.git("commit", "-q", "--allow-empty", "-m", "mine")
        assert linked.git("rev-parse", "HEAD~1") == before
    else:
        subprocess.run(
            ["git", "push", "-q", "o", "l"], cwd=linked.path, capture_output=True, check=False, timeout=SLOW
        )
        assert linked.git("rev-parse", "HEAD") == before
    assert len(dirs.read_text().splitlines()) == 2
    assert not any(str(repo.path) in line for line in dirs.read_text().splitlines())
    assert linked.git("status", "--porcelain").splitlines() == ["?? .claude/"]
    assert "trial" not in linked.git("log", "--all", "--format=%s")


# A07 - many worktrees at once


@pytest.mark.parametrize("isolation", ["sealed", "worktree", "clone"])
def test_a07_all_trials_start(repo: Repo, kcut: Kcut, isolation: str) -> None:
    options = ("--k", "8", "--jobs", "8", "--isolation", isolation)
    document = bench(kcut, repo, *options, "--task", "echo ok > out.txt", "--score", "test -f out.txt", code=1)
    assert rates(document) == ((8, 8), (8, 8))
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_a07_several_runs_at_once(repo: Repo) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "kcut", "benchmark", "--component", name, "--k", "2", "--task", "true", "-q"],
            cwd=repo.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for name in ("a", "b", "a", "c")
    ]
    for process in running:
        _, error = process.communicate(timeout=SLOW)
        assert process.returncode == 1, error.decode()
    assert sorted(path.name for path in (repo.path / ".claude/eval/benchmarks").iterdir()) == [
        "a.json",
        "b.json",
        "c.json",
    ]


# A08 - hooks of the user's


@pytest.mark.parametrize("where", ["repository", "global"])
@pytest.mark.parametrize("isolation", ["sealed", "worktree", "clone"])
def test_a08_hooks_do_not_run_at_checkout(repo: Repo, kcut: Kcut, outside: Path, where: str, isolation: str) -> None:
    hook = "#!/bin/sh\necho hooked > hook_ran.txt\ngit diff --quiet $1 $2 || exit 3\n"
    env: dict[str, str] = {}
    if where == "global":
        hooks = outside / "hooks"
        hooks.mkdir()
        (hooks / "post-checkout").write_text(hook)
        (hooks / "post-checkout").chmod(0o755)
        (outside / "config").write_text(
            f"[core]\n\thooksPath = {hooks}\n[user]\n\tname = T\n\temail = t@example.org\n"
        )
        env["GIT_CONFIG_GLOBAL"] = str(outside / "config")
    else:
        repo.write(".git/hooks/post-checkout", hook, executable=True)
    task = 'git checkout -q -b "other-$HARNESS_COMPONENT_ENABLED" && echo ok > out.txt'
    score = "test -f out.txt && test ! -e hook_ran.txt"
    options = ("--k", "1", "--task", task, "--score", score, "--isolation", isolation)
    document = bench(kcut, repo, *options, code=1, env=env)
    assert rates(document) == ((1, 1), (1, 1))


# A09 - what is not committed


def test_a09_uncommitted_changes_are_named(repo: Repo, kcut: Kcut) -> None:
    repo.write(".claude/skills/demo/SKILL.md", "---\nname: demo\ndescription: d\n---\n")
    repo.write("a.txt", "edited\n")
    task = "test -f .claude/skills/demo/SKILL.md && grep -q edited a.txt && echo ok > out.txt"
    done = kcut(
        "benchmark",
        "--component",
        "plain-name",
        "--k",
        "2",
        "--task",
        task,
        "--score",
        "test -f out.txt",
        cwd=repo.path,
    )
    assert done.returncode == 1
    assert "a.txt" in done.stderr
    assert ".claude/skills/demo/SKILL.md" in done.stderr
    document = json.loads((repo.path / ".claude/eval/benchmarks/plain-name.json").read_text())
    assert document["base"] == {"commit": repo.git("rev-parse", "HEAD"), "dirty": True}
    assert "dirty" in codes(document)

    options = ("--k", "2", "--task", task, "--score", "test -f out.txt", "--dirty", "include")
    document = bench(kcut, repo, *options, code=1, name="plain-name")
    assert rates(document) == ((2, 2), (2, 2))
    assert (repo.path / "a.txt").read_text() == "edited\n"


# A10 - a sub-directory


def test_a10_trials_run_where_kcut_was_started(repo: Repo, kcut: Kcut) -> None:
    repo.write("services/api/marker", "1\n")
    repo.commit()
    here = repo.path / "services/api"
    task = "test -f marker && echo ok > out.txt"
    document = bench(kcut, repo, "--k", "1", "--task", task, "--score", "test -f out.txt", code=1, cwd=here)
    assert rates(document) == ((1, 1), (1, 1))
    assert (repo.path / ".claude/eval/benchmarks/demo.json").is_file()
    assert not (here / ".claude").exists()

    new = repo.path / "services/new"
    new.mkdir()
    done = kcut("benchmark", "--component", "demo", "--task", "true", cwd=new)
    assert done.returncode == 2
    assert "services/new" in done.stderr
    assert "Traceback" not in done.stderr


# A11 - signals


@pytest.mark.parametrize(
    ("signals", "code"),
    [([signal.SIGTERM], 143), ([signal.SIGINT], 130), ([signal.SIGHUP], 129), ([signal.SIGINT, signal.SIGINT], 130)],
)
def test_a11_a_signal_leaves_nothing_behind(
    repo: Repo, outside: Path, signals: list[signal.Signals], code: int
) -> None:
    before = repo.path / ".claude/eval/benchmarks/demo.json"
    pids = outside / "pids"
    place = outside / "place"
    place.mkdir()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "kcut", "benchmark", "--component", "demo", "--k", "3", "--jobs", "2"),
            *("--task", f"echo $$ >> {pids}; setsid sleep 300 & sleep 300", "--score", "true", "--no-probe"),
        ],
        cwd=repo.path,
        env={**os.environ, "TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + SLOW
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    for signum in signals:
        process.send_signal(signum)
        time.sleep(0.2)
    out, error = process.communicate(timeout=SLOW)
    assert process.returncode == code, error
    assert out == ""
    assert "kcut benchmark --resume" in error
    assert "Traceback" not in error
    assert not before.exists()
    assert list(place.iterdir()) == []
    assert len(repo.git("worktree", "list").splitlines()) == 1
    for pid in pids.read_text().split():
        assert not Path(f"/proc/{pid}").exists()


# A12 - nothing above the worktree


def test_a12_no_instruction_file_above_the_trial(repo: Repo, kcut: Kcut, outside: Path) -> None:
    repo.write("CLAUDE.md", "RULE-MAIN\n")
    seen = outside / "seen"
    names = "CLAUDE.md AGENTS.md GEMINI.md .claude .git"
    task = (
        f'd=$PWD; git -C {repo.path} status --porcelain >> {outside}/status; d=$(dirname "$d");'
        f' while [ "$d" != / ]; do for n in {names}; do [ -e "$d/$n" ] && echo "$d/$n" >> {seen}; done;'
        ' d=$(dirname "$d"); done; true'
    )
    bench(kcut, repo, "--k", "1", "--task", task, code=1)
    assert not seen.exists()
    assert set((outside / "status").read_text().splitlines()) == {"?? CLAUDE.md"}


def test_a12_an_unclean_workdir_is_refused(repo: Repo, kcut: Kcut, outside: Path) -> None:
    (outside / "AGENTS.md").write_text("x")
    (outside / "deep").mkdir()
    for place in (outside / "deep", repo.path):
        done = kcut("benchmark", "--component", "d", "--task", "true", "--workdir", str(place), cwd=repo.path)
        assert done.returncode == 2
        assert str(place) in done.stderr
        assert "Traceback" not in done.stderr
    assert (
        "AGENTS.md"
        in kcut(
            "benchmark", "--component", "d", "--task", "true", "--workdir", str(outside / "deep"), cwd=repo.path
        ).stderr
    )


# A13 - a toggle that does nothing


def test_a13_identical_arms_are_said(repo: Repo, kcut: Kcut, outside: Path) -> None:
    task = '[ "${HARNESS_COMPONENT_ENABLED}" != off ] && echo used > marker.txt; echo ok > out.txt'
    document = bench(kcut, repo, "--k", "3", "--task", task, "--score", "test -f out.txt", code=1)
    assert rates(document) == ((3, 3), (3, 3))
    assert "arms-identical" in codes(document)
    assert document["decision"]["verdict"] != "cut"


def test_a13_bytecode_does_not_make_arms_differ(repo: Repo, kcut: Kcut) -> None:
    repo.write("mod.py", "x = 1\n")
    repo.commit()
    python = f'env -u PYTHONDONTWRITEBYTECODE "{sys.executable}"'
    task = f'sleep 0.0$HARNESS_COMPONENT_ENABLED; touch mod.py; {python} -c "import mod"; ls __pycache__'
    document = bench(kcut, repo, "--k", "3", "--task", task, code=1)
    assert rates(document) == ((3, 3), (3, 3))
    assert "arms-identical" in codes(document)


def test_a13_inherited_values_are_overridden(repo: Repo, kcut: Kcut, outside: Path) -> None:
    names = ("COMPONENT", "COMPONENT_ENABLED", "TRIAL", "TRIAL_OUT", "SEED")
    env = {f"HARNESS_{name}": "99" for name in names}
    task = f"env | grep ^HARNESS_ | grep -v OUT | sort | tr '\\n' ' ' >> {outside}/env; echo >> {outside}/env"
    bench(kcut, repo, "--k", "2", "--task", task, code=1, env=env)
    lines = [dict(pair.split("=", 1) for pair in line.split()) for line in (outside / "env").read_text().splitlines()]
    assert {line["HARNESS_COMPONENT"] for line in lines} == {"demo"}
    assert sorted((line["HARNESS_TRIAL"], line["HARNESS_COMPONENT_ENABLED"]) for line in lines) == [
        ("0", "0"),
        ("0", "1"),
        ("1", "0"),
        ("1", "1"),
    ]
    seeds = {trial: {line["HARNESS_SEED"] for line in lines if line["HARNESS_TRIAL"] == trial} for trial in "01"}
    assert all(len(seed) == 1 for seed in seeds.values())
    assert seeds["0"] != seeds["1"]


# A14 - too few valid trials for pass@k


def test_a14_pass_at_k_is_unknown_not_one(repo: Repo, kcut: Kcut) -> None:
    task = '[ "$HARNESS_TRIAL" = 0 ] && exit 1; echo "{\\"void\\": \\"harness\\"}" > "$HARNESS_TRIAL_OUT"'
    document = bench(kcut, repo, "--k", "3", "--task", task, "--void-retries", "0", code=2)
    for cohort in ("with", "without"):
        assert document[cohort]["passAtK"] is None
        assert document[cohort]["passHatK"] is None
        assert document[cohort]["passCaret"] is False


# A15 - a gain that is exactly the threshold


@pytest.mark.parametrize(("on", "off"), [(7, 6), (3, 2), (8, 7)])
def test_a15_the_threshold_is_exact(repo: Repo, kcut: Kcut, on: int, off: int) -> None:
    task = f'[ "$HARNESS_COMPONENT_ENABLED" = 1 ] && n={on} || n={off}; [ "$HARNESS_TRIAL" -lt $n ]'
    options = ("--k", "10", "--jobs", "2", "--task", task)
    document = bench(kcut, repo, *options, "--min-gain", "0.1", code=0)
    assert document["pass"] is True
    assert document["decision"]["difference"] == pytest.approx(0.1, abs=1e-12)
    assert bench(kcut, repo, *options, "--min-gain", "0.1000001", code=1)["pass"] is False


# A19 - two names, one slug


def test_a19_the_second_name_is_refused(repo: Repo, kcut: Kcut) -> None:
    bench(kcut, repo, "--k", "1", "--task", "true", code=1, name="foo/bar")
    path = repo.path / ".claude/eval/benchmarks/foo-bar.json"
    before = path.read_bytes()
    for name in ("foo-bar", "Foo Bar", "FOO__BAR"):
        done = kcut("benchmark", "--component", name, "--k", "1", "--task", f"touch {repo.path}/ran", cwd=repo.path)
        assert done.returncode == 2
        assert "foo/bar" in done.stderr
        assert name in done.stderr
        assert path.read_bytes() == before
    assert not (repo.path / "ran").exists()
    bench(kcut, repo, "--k", "1", "--task", "true", code=1, name="foo/bar")
    assert path.read_bytes() != before
    bench(kcut, repo, "--k", "1", "--task", "true", "--out", "foo-bar-2", code=1, name="Foo Bar")


# A20 - a task that edits what scores it

SCORE = "#!/bin/sh\ntest -f solved.txt\n"
FAKE = 'printf "#!/bin/sh\\nexit 0\\n" > score.sh; chmod +x score.sh; sed -i "s/test -f solved.txt/true/" spec.md'


@pytest.mark.parametrize(
    "fake",
    [
        FAKE,
        f"{FAKE}; git commit -qam faked",
        "rm score.sh spec.md; mkdir score.sh",
        "ln -sf /bin/true score.sh; ln -sf /dev/null spec.md",
        "printf 'exit 0' > lib.sh",
        "chmod 000 score.sh; echo '{}' > spec.md",
    ],
)
@pytest.mark.parametrize(
    "score", [("--score", "./score.sh"), ("--score", "FOO=1 sh -e score.sh"), ("--spec", "spec.md")]
)
def test_a20_the_score_is_the_bases(repo: Repo, kcut: Kcut, fake: str, score: tuple[str, str]) -> None:
    repo.write("score.sh", SCORE, executable=True)
    repo.write("spec.md", "- [ ] **AC-1 (solved):** it is\n  ```eval\n  test -f solved.txt\n  ```\n")
    repo.commit()
    document = bench(kcut, repo, "--k", "2", "--task", fake, *score, code=1)
    assert rates(document) == ((0, 2), (0, 2))
    assert (repo.path / "score.sh").read_text() == SCORE
    assert repo.git("status", "--porcelain").splitlines() == ["?? .claude/"]


def test_a20_protected_and_unprotected(repo: Repo, kcut: Kcut) -> None:
    repo.write("score.sh", "sh tests/one.sh\n")
    repo.write("tests/one.sh", "test -f solved.txt\n")
    repo.commit()
    options = ("--k", "2", "--task", "echo true > tests/one.sh", "--score", "sh score.sh")
    document = bench(kcut, repo, *options, "--protect", "tests/**", code=1)
    assert rates(document) == ((0, 2), (0, 2))
    assert "score-edited" in codes(document)
    assert rates(bench(kcut, repo, *options, code=1)) == ((2, 2), (2, 2))
    options = ("--k", "2", "--task", "echo true > score.sh", "--score", "sh score.sh")
    assert rates(bench(kcut, repo, *options, code=1)) == ((0, 2), (0, 2))
    assert rates(bench(kcut, repo, *options, "--unprotect", "score.sh", code=1)) == ((2, 2), (2, 2))

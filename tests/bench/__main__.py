"""Measure kcut against named baselines: `python -m tests.bench [--rounds 7] [NAME...]`.

Every figure is a median of ratios, the two sides of a ratio measured right after one another in the same round.
Nothing here passes or fails: machines differ, and a shared one is noisy. Trees lie on a tmpfs where there is one.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TMPFS = Path("/dev/shm")
PYTHON = sys.executable
KCUT = (PYTHON, "-m", "kcut")


@contextmanager
def bench_folder() -> Iterator[Path]:
    """A temporary folder, on a tmpfs if this machine has one; kcut's trials go below it, too."""
    parent = TMPFS if TMPFS.is_dir() and os.access(TMPFS, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=parent) as name:
        (Path(name) / "tmp").mkdir()
        yield Path(name)


def environment(place: Path) -> dict[str, str]:
    """A quiet environment: no user configuration, temporary files below that folder."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KCUT_", "GIT_"))}
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    return env | dict.fromkeys(names, "bench") | {"HOME": str(place), "TMPDIR": str(place / "tmp")}


def seconds(argv: tuple[str, ...], cwd: Path, env: dict[str, str]) -> float:
    """Wall time of a command that has to succeed (exit 0 or, for a verdict, 1)."""
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)
    spent = time.perf_counter() - start
    assert done.returncode in {0, 1}, f"{argv}: {done.stderr.decode(errors='replace')}"
    return spent


def repository(path: Path, files: int, env: dict[str, str]) -> None:
    """A repository of `files` files of about 2 KB in folders of 50, packed."""
    for number in range(files):
        folder = path / f"d{number // 50:04d}"
        if number % 50 == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number % 50:02d}.txt").write_text(f"line {number}\n" * (2000 // len(f"line {number}\n")))
    for argv in (("init", "-q"), ("config", "gc.auto", "0"), ("add", "-A"), ("commit", "-qm", "base"), ("gc", "-q")):
        subprocess.run(["git", *argv], cwd=path, env=env, check=True, capture_output=True)


def summary(name: str, ratios: list[float], detail: str) -> None:
    """Print one figure: the median ratio, its quartiles, and what stands behind it."""
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    print(f"{name:<28} {middle:6.2f}  (quartiles {low:.2f} - {high:.2f}, n={len(ratios)})  {detail}", flush=True)


def trial_cost(rounds: int, files: int) -> None:
    """Marginal cost of a trial (task `true`, a long run less a short one) against git worktree add + remove."""
    short, long, repeats = (10, 40, 20) if files < 20_000 else (2, 8, 5)
    with bench_folder() as place:
        env = environment(place)
        repo = place / "repo"
        repository(repo, files, env)
        ratios, ours, theirs = [], [], []
        for number in range(rounds + 1):
            times = {}
            for k in (short, long):
                argv = (*KCUT, "benchmark", "--component", f"c{k}", "--task", "true", "--k", str(k), "-q")
                times[k] = seconds(argv, repo, env)
            trial = (times[long] - times[short]) / (2 * (long - short))
            start = time.perf_counter()
            for _ in range(repeats):
                tree = str(place / "tree")
                seconds(("git", "worktree", "add", "--detach", tree, "HEAD"), repo, env)
                seconds(("git", "worktree", "remove", "--force", tree), repo, env)
            base = (time.perf_counter() - start) / repeats
            if number:  # the first round warms up
                ratios.append(trial / base)
                ours.append(trial * 1000)
                theirs.append(base * 1000)
    detail = f"{statistics.median(ours):.1f} ms a trial, {statistics.median(theirs):.1f} ms git worktree add+remove"
    summary(f"trial, {files} files", ratios, detail)


def concurrency(rounds: int) -> None:
    """2 x 20 trials of `sleep 1` at --jobs 8: first start to last end against the ideal 5 s."""
    with bench_folder() as place:
        env = environment(place)
        repo = place / "repo"
        repository(repo, 50, env)
        ratios = []
        stamps = place / "stamps"
        task = f"date +%s.%N >> {stamps}; sleep 1; date +%s.%N >> {stamps}"
        argv = (*KCUT, "benchmark", "--component", "c", "--task", task, "--k", "20", "--jobs", "8", "-q")
        for _ in range(rounds):
            stamps.unlink(missing_ok=True)
            seconds(argv, repo, env)
            times = [float(line) for line in stamps.read_text().split()]
            ratios.append((max(times) - min(times)) / 5)
    summary("40 x sleep 1, 8 jobs", ratios, "first start to last end over the ideal 5 s")


def start_up(rounds: int) -> None:
    """`kcut --help` against `python -c 'import click'`."""
    kcut = str(Path(PYTHON).with_name("kcut"))
    with bench_folder() as place:
        env = environment(place)
        ratios = []
        for _ in range(max(rounds, 7) * 3):
            base = seconds((PYTHON, "-c", "import click"), place, env)
            ratios.append(seconds((kcut, "--help"), place, env) / base)
    summary("kcut --help", ratios, "over python -c 'import click'")


def memory(rounds: int) -> None:
    """How much half a gigabyte of a task's output adds to the memory of kcut and its supervisors."""
    with bench_folder() as place:
        env = environment(place)
        repo = place / "repo"
        repository(repo, 50, env)
        grown, peaks = [], []
        for _ in range(rounds):
            quiet = peak_rss(repo, env, "true")
            loud = peak_rss(repo, env, "yes | head -c 524288000")
            grown.append((loud - quiet) / 1024)
            peaks.append(loud / 1024)
    print(
        f"{'half a gigabyte of output':<28} +{statistics.median(grown):.1f} MB"
        f"  (n={rounds})  peak {statistics.median(peaks):.1f} MB, kcut with all its supervisors' largest",
        flush=True,
    )


def peak_rss(repo: Path, env: dict[str, str], task: str) -> int:
    """The largest resident set in KB among a kcut run and the processes that it waited for."""
    code = (
        "import json, resource, subprocess, sys\n"
        "subprocess.run(json.loads(sys.argv[1]), check=False, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    argv = [*KCUT, "benchmark", "--component", "m", "--task", task, "--k", "1", "-q"]
    done = subprocess.run(
        [PYTHON, "-c", code, json.dumps(argv)], cwd=repo, env=env, check=True, capture_output=True, text=True
    )
    return int(done.stdout) // (1024 if sys.platform == "darwin" else 1)


def report(rounds: int) -> None:
    """`kcut report -f html` on an artifact of 10,000 trials: seconds, and the size of the page."""
    from tests.reports import huge

    with bench_folder() as place:
        env = environment(place)
        artifact, page = place / "huge.json", place / "huge.html"
        artifact.write_text(json.dumps(huge().document()))
        times = [seconds((*KCUT, "report", str(artifact), "-o", str(page)), place, env) for _ in range(rounds)]
        size = page.stat().st_size / 1e6
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    spread = f"(quartiles {low:.2f} - {high:.2f}, n={rounds})"
    print(f"{'page of 10,000 trials':<28} {middle:6.2f} s  {spread}  {size:.1f} MB", flush=True)


def decide(rounds: int) -> None:
    """`kcut decide` on 100,000 rows of one, two and a thousand cells against reading them with Python's csv."""
    with bench_folder() as place:
        env = environment(place)
        for cells in (1, 2, 1000):
            file = place / f"{cells}.csv"
            recorded(file, 100_000, cells)
            reading = (PYTHON, "-c", f"import csv; list(csv.reader(open({str(file)!r}, newline='')))")
            ratios, ours = [], []
            for _ in range(rounds):
                base = seconds(reading, place, env)
                ours.append(seconds((*KCUT, "decide", str(file)), place, env))
                ratios.append(ours[-1] / base)
            summary(f"decide, {cells} cells", ratios, f"{statistics.median(ours):.2f} s, over reading the file")


def recorded(path: Path, rows: int, cells: int) -> None:
    """Trials of which as many pass with as without, but for luck, and which cost more with."""
    draw = random.Random(1)
    lines = ["task,cohort,pass,cost_usd,duration_ms,num_turns,cli,model"]
    for row in range(rows):
        on = row // cells % 2
        cost = draw.lognormvariate(-1, 0.5) * (1.2 if on else 1)
        facts = f"{cost:.4f},{draw.randrange(10_000, 90_000)},{draw.randrange(2, 40)},claude,sonnet"
        lines.append(f"task-{row % cells:04},{'with' if on else 'without'},{int(draw.random() < 0.5)},{facts}")
    path.write_text("\n".join(lines))


BENCHES: dict[str, Callable[[int], None]] = {
    "trial-50": lambda rounds: trial_cost(rounds, 50),
    "trial-5000": lambda rounds: trial_cost(rounds, 5_000),
    "trial-50000": lambda rounds: trial_cost(rounds, 50_000),
    "concurrency": concurrency,
    "start-up": start_up,
    "memory": memory,
    "report": report,
    "decide": decide,
}


def main() -> None:
    """Run the named benches, all by default."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--rounds", type=int, default=7, help="measurements a figure is the median of")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHES)
    if unknown:
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")
    git = shutil.which("git")
    print(f"python {sys.version.split()[0]}, {git}, {os.cpu_count()} cores, trees on {TMPFS}", flush=True)
    for name in options.names or BENCHES:
        BENCHES[name](options.rounds)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()

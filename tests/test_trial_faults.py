"""Whose fault it was: kcut's own stop and the machine's faults are no results, and no trial can make its own one."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcut.isolation import CheckoutFailed
from kcut.isolation.pristine import IN_MEMORY
from kcut.store import Store
from kcut.system.mounts import detach
from tests.conftest import Kcut, Repo
from tests.test_hostile_runs import LIMIT, bench, until
from tests.test_mounts import may_mount, mount
from tests.worktrees import opened, places, sh

__all__ = ["places"]
SCORE = "test -f done\n"
needs_mounts = pytest.mark.skipif(not may_mount(), reason="needs the right to mount file systems")


@pytest.fixture
def scored(repo: Repo) -> Repo:
    """A repository with a score that passes once `done` is there."""
    repo.write("score.sh", SCORE)
    repo.commit()
    return repo


def trials(repo: Repo, kcut: Kcut) -> list[dict[str, Any]]:
    """The final trials of the last run."""
    shown: list[dict[str, Any]] = json.loads(kcut("show", "last", "--json", cwd=repo.path).stdout)["trials"]
    return shown


# kcut was told to stop


@pytest.mark.parametrize("driver", ["clean", "smudge"])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("score", [(), ("--score", "sh score.sh")])
def test_what_kcuts_own_stop_ended_is_no_result(
    scored: Repo, kcut: Kcut, tmp_path: Path, driver: str, times: int, score: tuple[str, ...]
) -> None:
    """`clean` runs in the freeze; a `smudge` would run if files were checked out again before the score."""
    ran, busy = tmp_path / "ran", tmp_path / "busy"
    scored.write(".gitattributes", "score.sh filter=slow\n*.up filter=slow\n")
    scored.commit()
    program = Repo(tmp_path).write(  # of a name whose filters are known to use nothing of the tree
        "bin/git-lfs", f"#!/bin/sh\ntest ! -e {ran} || {{ touch {busy}; sleep 100; }}\ncat\n", executable=True
    )
    scored.git("config", f"filter.slow.{driver}", str(program))
    task = f"touch done {ran}; echo true > score.sh; echo x > new.up"
    process = bench(scored, "--k", "1", "--no-probe", "--task", task, *score)
    until(lambda: busy.exists() or process.poll() is not None)
    for _ in range(times):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
    _, error = process.communicate(timeout=LIMIT)
    assert "Traceback" not in error
    assert [trial for trial in trials(scored, kcut) if trial["outcome"] not in {None, "pass"}] == []
    program.write_text("#!/bin/sh\ncat\n")
    kcut("benchmark", "--resume", "last", cwd=scored.path)
    with Store.open(scored.path, create=False) as store:
        attempts = store.attempts(store.find("last").run_id)
    assert [attempt.outcome.value for attempt in attempts] == ["pass", "pass"]
    assert all(attempt.tree is not None for attempt in attempts)


# the machine's faults


def test_no_descriptors_are_no_failure(scored: Repo) -> None:
    """Whatever the limit on open files, a trial that did its work is never said to have failed."""
    wrong = {}
    for limit in range(11, 18):
        done = subprocess.run(
            [
                *("sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", sys.executable, "-m", "kcut", "benchmark"),
                *("--component", f"c{limit}", "--k", "1", "--no-probe"),
                *("--json", "--task", "touch done; echo x > score.sh", "--score", "sh score.sh"),
            ],
            cwd=scored.path,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        try:
            document = json.loads(done.stdout)
        except ValueError:
            continue  # too few to begin a run
        outcomes = [trial["outcome"] for trial in document["trials"]]
        if "fail" in outcomes:
            wrong[limit] = (outcomes, document["trials"][0].get("notes"))
    assert wrong == {}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=3m", "none", folder)
    yield folder
    detach(folder)


def run(repo: Repo, kcut: Kcut, small: Path, task: str, *args: str) -> list[dict[str, Any]]:
    options = ("--workdir", str(small), "--score", "sh score.sh", "--k", "1", "--no-probe")
    done = kcut("benchmark", "--component", "x", "--task", task, *options, *args, cwd=repo.path)
    assert "Traceback" not in done.stderr, done.stderr
    return trials(repo, kcut)


FILL = "dd if=/dev/zero of={} bs=64k count=99 2>/dev/null; dd if=/dev/zero of={}.more bs=1k count=99 2>/dev/null"


@needs_mounts
@pytest.mark.parametrize("place", ["big", "../scratch/big", ".git-big"])
@pytest.mark.parametrize("keep", ["failed", "all"])
def test_a_trial_that_fills_its_own_disk_has_its_score(
    scored: Repo, kcut: Kcut, small: Path, place: str, keep: str
) -> None:
    """Nothing is written to see that the score is as it was."""
    done = run(scored, kcut, small, f"touch done; {FILL.format(place, place)}; true", "--keep", keep)
    assert {trial["outcome"] for trial in done} <= {"pass", "void"}
    assert done[0]["outcome"] == "pass"
    assert done[0]["attempts"] == 1


@needs_mounts
def test_a_trial_cannot_void_itself_by_filling_its_disk(scored: Repo, kcut: Kcut, small: Path) -> None:
    scored.write("score.sh", SCORE + "# long\n" * 20_000)
    scored.commit()
    task = f"touch done; : > score.sh; {FILL.format('big', 'big')}; true"
    assert {trial["outcome"] for trial in run(scored, kcut, small, task)} == {"fail"}


@needs_mounts
def test_a_disk_that_others_filled_is_no_failure(scored: Repo, kcut: Kcut, small: Path) -> None:
    scored.write("score.sh", SCORE + "# long\n" * 20_000)
    scored.commit()
    task = f"touch done; : > score.sh; {FILL.format(small / 'other', small / 'other')}; true"
    ended = run(scored, kcut, small, task, "--void-retries", "0")
    assert (ended[0]["outcome"], ended[0]["reason"]) == ("void", "harness")


@needs_mounts
def test_a_full_disk_that_is_emptied_again_costs_no_trial(scored: Repo, kcut: Kcut, small: Path) -> None:
    other = small / "other"
    task = f"touch done; echo x > score.sh; {FILL.format(other, other)}; (sleep 0.3; rm -f {other}*) & true"
    # the job is ended with the task: only the wait of this process frees the disk
    process = bench(
        scored, "--workdir", str(small), "--score", "sh score.sh", "--k", "1", "--no-probe", "--task", task
    )
    while process.poll() is None:
        time.sleep(0.2)
        for path in small.glob("other*"):
            path.unlink()
    process.communicate()
    assert [trial["outcome"] for trial in trials(scored, kcut)] == ["pass", "pass"]


@pytest.fixture
def mutable(tmp_path: Path) -> Iterator[Path]:
    """A folder where files can be made immutable; in the end none is."""
    folder = tmp_path / "mutable"
    folder.mkdir()
    if subprocess.run(["chattr", "+i", folder], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file can be made immutable here")
    subprocess.run(["chattr", "-i", folder], check=True)
    yield folder
    subprocess.run(["chattr", "-R", "-f", "-i", folder], capture_output=True, check=False)


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("chattr") is None, reason="needs the right to make it immutable")
@pytest.mark.parametrize(
    "way", ["echo false > score.sh; chattr +i score.sh", "rm -rf $PWD; touch $PWD; chattr +i $PWD"]
)
def test_what_a_trial_leaves_in_the_way_is_its_failure(repo: Repo, kcut: Kcut, mutable: Path, way: str) -> None:
    repo.write("sub/score.sh", "true\n")
    repo.commit()
    options = ("--workdir", str(mutable), "--k", "1", "--no-probe", "--json", "--score", "sh score.sh")
    out = kcut("benchmark", "--component", "x", *options, "--task", way, cwd=repo.path / "sub")
    assert [trial["outcome"] for trial in json.loads(out.stdout)["trials"]] == ["fail", "fail"], out.stderr


@needs_mounts
def test_a_mount_over_the_folder_of_the_score(repo: Repo, kcut: Kcut) -> None:
    repo.write("p/sub/score.sh", "true\n")
    repo.commit()
    task = "cd ../..; mount -t tmpfs none p"
    out = kcut(
        *("benchmark", "--component", "x", "--k", "1", "--no-probe", "--json", "--score", "true", "--task", task),
        cwd=repo.path / "p/sub",
    )
    assert [trial["outcome"] for trial in json.loads(out.stdout)["trials"]] == ["pass", "pass"], out.stderr


# what is read of what a trial left


def test_a_huge_file_in_the_place_of_the_score(scored: Repo, kcut: Kcut) -> None:
    task = '[ "$HARNESS_COMPONENT_ENABLED" = 1 ] && touch done; truncate -s 900G score.sh'
    options = ("--k", "1", "--no-probe", "--json", "--logs", "--score", "sh score.sh", "--task", task)
    done = kcut("benchmark", "--component", "x", *options, cwd=scored.path)
    assert done.returncode == 0, done.stderr
    assert {trial["outcome"] for trial in json.loads(done.stdout)["trials"]} == {"pass", "fail"}


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform == "linux" else 1)


@pytest.mark.usefixtures("places")
def test_large_protected_files_are_not_held_in_memory(repo: Repo) -> None:
    size = 96 << 20
    data = os.urandom(1 << 20)
    with (repo.path / "large").open("wb") as file:
        for _ in range(size >> 20):
            file.write(data)
    repo.write("small", "s")
    repo.git("config", "core.bigFileThreshold", "1m")
    repo.git("config", "core.compression", "0")
    repo.commit()
    before = peak()
    with opened(repo.path, ("large", "small")) as worktree:
        assert worktree.restore() == ()
        sh(worktree, "printf x | dd of=large bs=1 seek=99999 conv=notrunc 2>/dev/null; truncate -s 900G small")
        assert worktree.restore() == ("large", "small")
        assert worktree.restore() == ()
        assert (worktree.path / "large").stat().st_size == size
        assert (worktree.path / "small").read_text() == "s"
    assert peak() - before < 48 << 20


@pytest.mark.usefixtures("places")
def test_large_files_byte_by_byte(repo: Repo) -> None:
    content = os.urandom(IN_MEMORY + 17)
    repo.write("large", content, executable=True)
    repo.commit()
    for change in (
        "printf x >> large",
        "truncate -s -1 large",
        "chmod -x large",
        "rm large",
        "rm large; mkdir large",
    ):
        with opened(repo.path, ("large",)) as worktree:
            sh(worktree, change)
            assert worktree.restore() == ("large",)
            assert (worktree.path / "large").read_bytes() == content
            assert os.access(worktree.path / "large", os.X_OK)


@pytest.mark.usefixtures("places")
def test_a_copy_that_the_trial_changed_is_not_believed(repo: Repo) -> None:
    repo.write("large", os.urandom(IN_MEMORY + 17))
    repo.commit()
    with opened(repo.path, ("large",)) as worktree:
        sh(worktree, "for copy in ../../own/*.copies/*; do echo x >> $copy; done; echo y > large")
        with pytest.raises(CheckoutFailed, match="was changed"):
            worktree.restore()


# kcut is killed


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
def test_git_and_its_filters_end_with_a_kcut_that_is_killed(repo: Repo, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    repo.write(".gitattributes", "*.slow filter=slow\n")
    repo.write("a.slow", "x\n")
    repo.git("config", "filter.slow.clean", "cat")
    repo.commit()
    repo.git("config", "filter.slow.smudge", f"setsid sleep 500 & echo $$ $! $PPID >> {pids}; sleep 500; cat")
    process = bench(repo, "--task", "true")
    until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    process.kill()
    process.communicate()
    until(lambda: not any(lives(int(pid)) for pid in pids.read_text().split()))


def lives(pid: int) -> bool:
    """True for a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False

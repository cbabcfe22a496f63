"""Worktrees always go, what dead processes left is swept, and nothing else is touched."""

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from kcut.isolation import CheckoutFailed, inspect, isolate, snapshot, sweep
from kcut.model.errors import NotReady
from kcut.system.files import remove_tree
from kcut.system.lease import Lease, dead_lease
from tests.conftest import Kcut, Repo, make_repo
from tests.guard import Watch, guard
from tests.worktrees import opened, places, plan_of, running, sh, state_of

__all__ = ["guard", "places"]


def state_root(repo: Repo) -> Path:
    """The state folder that `sweep` looks in."""
    return repo.path / ".claude" / "eval"


def test_nothing_stops_removal(repo: Repo, places: Path, tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "sub")
    repo.commit("submodule")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_text("x")
    for kind in ("sealed", "clone", "worktree"):
        with opened(repo.path, isolation=kind) as worktree:
            sh(worktree, "git -c protocol.file.allow=always submodule update -q --init")
            sh(
                worktree,
                f"mkdir -p a/b/c; touch a/b/c/d; ln -s {tmp_path}/precious out; chmod 0 a/b/c; chmod 500 a/b a",
            )
            sh(
                worktree,
                "mkdir d; cd d; for i in $(seq 100); do mkdir dddddddddddddddd; cd -P dddddddddddddddd; done",
            )
            sh(worktree, "git worktree lock . ; printf x > \"$(printf 'odd\\nname')\"; mkfifo pipe")
        assert list(places.iterdir()) == []
        assert (tmp_path / "precious/file").exists()
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1


def test_an_exception_and_a_failed_checkout(repo: Repo, places: Path, guard: Watch) -> None:
    guard(repo.path)
    with pytest.raises(RuntimeError, match="boom"), running(repo.path) as isolation, isolation.open():
        raise RuntimeError("boom")
    repo.write(".gitattributes", "a.txt filter=no\n")
    repo.commit()
    repo.git("config", "filter.no.required", "true")
    repo.git("config", "filter.no.clean", "cat")
    repo.git("config", "filter.no.smudge", "false")
    guard(repo.path)
    for kind in ("sealed", "worktree", "clone"):
        with running(repo.path, isolation=kind) as isolation:
            with pytest.raises(CheckoutFailed), isolation.open():
                pass
            assert sorted(path.name for path in isolation.place.iterdir()) == ["own"]
            guard.check()
    assert list(places.iterdir()) == []
    assert list(state_root(repo).glob("runs/*/*")) == []


def test_what_cannot_be_removed_is_said(repo: Repo, places: Path) -> None:
    if os.getuid() != 0 or shutil.which("chattr") is None:
        pytest.skip("needs root and chattr")
    checkout = inspect(repo.path)
    with isolate(checkout, plan_of(checkout), run_id="run", state=state_of(checkout)) as isolation:
        with isolation.open() as worktree:
            stuck = worktree.path / "stuck"
            stuck.touch()
            if subprocess.run(["chattr", "+i", str(stuck)], capture_output=True, check=False).returncode != 0:
                pytest.skip("this file system has no immutable files")
        assert str(stuck) in worktree.leftover[0]
    assert any(str(stuck) in line for line in isolation.left)
    assert list(state_root(repo).glob("runs/*/lease-*"))
    subprocess.run(["chattr", "-i", str(stuck)], check=True)
    assert sweep(state_root(repo)) == []  # this process lives
    shutil.rmtree(isolation.place)


def test_keeping(repo: Repo, places: Path) -> None:
    repo.write("b.txt", "uncommitted\n")
    from kcut.isolation import snapshot

    tree = snapshot(inspect(repo.path))
    for options in ({}, {"history": "none"}, {"dirty_mode": "include", "snapshot": tree}, {"isolation": "clone"}):
        with running(repo.path, **options) as isolation:
            with isolation.open() as gone:
                pass
            with isolation.open() as worktree:
                sh(worktree, "echo x > x; git add x; git commit -qm x")
                kept = worktree.keep()
        assert not gone.path.exists()
        sweep(state_root(repo))
        assert (kept / "x").exists()
        assert Repo(kept).git("status", "--porcelain") == ""
        assert Repo(kept).git("fsck", "--no-dangling") == ""
        shutil.rmtree(isolation.place)


def test_keeping_a_linked_worktree(repo: Repo, places: Path, guard: Watch) -> None:
    guard(repo.path)
    with running(repo.path, isolation="worktree") as isolation:
        with isolation.open() as worktree:
            kept = worktree.keep()
        with isolation.open():
            pass
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 2
    assert Repo(kept).git("status", "--porcelain") == ""
    repo.git("worktree", "remove", "--force", str(kept))
    shutil.rmtree(isolation.place)


RUN = """
import os, sys, time, threading
from pathlib import Path
from tests.worktrees import running, sh
def trial(isolation):
    while True:
        with isolation.open() as worktree:
            commit = "git add x; git commit -qm x;" if sys.argv[1] != "worktree" else ""
            sh(worktree, f"echo x > x; {commit} mkdir -p d/e; chmod 0 d/e")
with running(Path.cwd(), isolation=sys.argv[1]) as isolation:
    for _ in range(3):
        threading.Thread(target=trial, args=(isolation,), daemon=True).start()
    print("ready", flush=True)
    time.sleep(600)
"""


def start(repo: Repo, kind: str) -> "subprocess.Popen[str]":
    """A process that opens and closes worktrees until it is killed."""
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, kind], cwd=repo.path, env=env, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process: "subprocess.Popen[Any]") -> None:
    """End it without a chance to tidy up."""
    process.send_signal(signal.SIGKILL)
    with process:
        process.wait()


@pytest.mark.parametrize("kind", ["sealed", "worktree", "clone"])
def test_sweeping_after_kill(repo: Repo, places: Path, kind: str, guard: Watch) -> None:
    guard(repo.path)
    lists = repo.git("worktree", "list", "--porcelain")
    moments = random.Random(7)
    for attempt in range(3):
        process = start(repo, kind)
        time.sleep(moments.uniform(0, 0.3))
        assert sweep(state_root(repo)) == []  # it lives
        assert list(places.iterdir())
        kill(process)
        if attempt == 1:
            for folder in places.iterdir():
                assert remove_tree(folder) == []  # the user has tidied up already
        told = sweep(state_root(repo))
        assert len(told) == 1, told
        assert told[0].startswith("removed ")
        assert list(places.iterdir()) == []
        assert list(state_root(repo).glob("runs/*/*")) == []
        assert repo.git("worktree", "list", "--porcelain") == lists
        assert not (repo.path / ".git/worktrees").exists()
        assert not list((repo.path / ".git").glob("w-*"))
        assert sweep(state_root(repo)) == []


@pytest.mark.parametrize("by", ["clean", "the next run"])
def test_a_kill_while_uncommitted_changes_are_read(
    repo: Repo, places: Path, tmp_path: Path, kcut: Kcut, by: str
) -> None:
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    gate.touch()
    waits = f"case $GIT_DIR in */places/*) touch {begun}; while test -e {gate}; do sleep 0.05; done;; esac; cat"
    repo.git("config", "filter.slow.clean", waits)
    repo.write(".gitattributes", "*.slow filter=slow\n")
    repo.write("a.slow", "a\n")
    repo.commit()
    repo.write("a.slow", "edited\n")
    options = ("--component", "x", "--task", "true", "--k", "1")
    process = subprocess.Popen(
        [sys.executable, "-m", "kcut", "benchmark", *options, "--dirty", "include"],
        cwd=repo.path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.02)
    assert sweep(state_root(repo)) == []  # it lives
    assert len(list(places.iterdir())) == 1
    kill(process)
    if by == "clean":
        assert "removed " in kcut("clean", cwd=repo.path).stdout
        gate.unlink()
    else:
        gate.unlink()
        assert kcut("benchmark", *options, cwd=repo.path).returncode == 1
    assert list(places.iterdir()) == []
    assert list(state_root(repo).glob("runs/*")) == []
    assert kcut("clean", cwd=repo.path).stdout == "nothing to remove\n"


def test_reading_uncommitted_changes_leaves_nothing(repo: Repo, places: Path) -> None:
    repo.write("b.txt", "x\n")
    assert snapshot(inspect(repo.path)) == snapshot(inspect(repo.path))
    assert list(places.iterdir()) == list(state_root(repo).glob("runs/*")) == []


def test_the_users_own_worktrees_are_never_touched(repo: Repo, places: Path, tmp_path: Path, guard: Watch) -> None:
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "w-0123456789abcdef-mine"))
    repo.git("worktree", "lock", str(tmp_path / "w-0123456789abcdef-mine"))
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")  # registered still: the user's to prune
    (tmp_path / "w-0123456789abcdef-mine/dirty").write_text("x")
    guard(repo.path)
    process = start(repo, "worktree")
    kill(process)
    lease = next(state_root(repo).glob("runs/*/lease-*"))
    document = json.loads(lease.read_text())
    assert len(sweep(state_root(repo))) == 1
    # a lease that claims a name the user has: where the worktree leads decides
    document["claim"]["folder"] = str(tmp_path / "other/w-0123456789abcdef")
    lease.write_text(json.dumps(document))
    sweep(state_root(repo))
    assert (tmp_path / "w-0123456789abcdef-mine/dirty").exists()


def test_leases(tmp_path: Path) -> None:
    path = tmp_path / "lease-x.json"
    lease = Lease(path, {"folder": "/x"})
    assert dead_lease(path) is None  # held by this process
    with pytest.raises(FileExistsError):
        Lease(path, {})
    code = "import sys, pathlib, kcut.system.lease as it; print(it.dead_lease(pathlib.Path(sys.argv[1])))"
    asked = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert asked.stdout == "None\n"
    lease.release()
    assert not path.exists()
    # the number of a living process, but another start: a number that was used again
    path.write_text(
        json.dumps({"pid": os.getpid(), "identity": "other", "uid": os.getuid(), "claim": {"folder": "/y"}})
    )
    dead = dead_lease(path)
    assert dead is not None
    assert dead.claim == {"folder": "/y"}
    # half written: left alone while it is fresh
    path.write_text('{"pid": 1')
    assert dead_lease(path) is None
    os.utime(path, (1, 1))
    dead = dead_lease(path)
    assert dead is not None
    assert dead.claim == {}
    assert dead_lease(tmp_path / "missing") is None
    (tmp_path / "link").symlink_to(path)
    assert dead_lease(tmp_path / "link") is None
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)
        assert dead_lease(path) is None


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give folders away")
def test_another_users_folder_is_not_swept(repo: Repo, places: Path) -> None:
    folder = places / "w-0000000000000000"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    state = state_of(inspect(repo.path))
    document = {"pid": 1 << 22, "identity": "x", "uid": 0, "claim": {"folder": str(folder)}}
    (state / "lease-w-0000000000000000.json").write_text(json.dumps(document))
    sweep(state_root(repo))
    assert folder.exists()
    folder.rmdir()


@pytest.mark.parametrize("name", ["important", "w-0123", "w-0123456789abcdef", "../w-0123456789abcdef"])
def test_a_lease_that_came_with_the_repository(repo: Repo, places: Path, name: str) -> None:
    precious = places / name.removeprefix("../")
    (precious / "file").mkdir(parents=True)
    claim = {"folder": f"{places}/{name}" if name != "w-0123456789abcdef" else f"{places}/./{name}/../{name}"}
    document = {"pid": 1 << 22, "identity": "x", "uid": os.getuid(), "claim": claim}
    lease = state_of(inspect(repo.path)) / "lease-important.json"
    lease.write_text(json.dumps(document))
    sweep(state_root(repo))
    assert precious.exists()
    shutil.rmtree(precious)


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system")
def test_linked_worktrees_with_the_state_on_another_file_system(repo: Repo, places: Path, guard: Watch) -> None:
    guard(repo.path)
    checkout = inspect(repo.path)
    state = Path(tempfile.mkdtemp(dir="/dev/shm"))
    plan = plan_of(checkout, isolation="worktree")
    with isolate(checkout, plan, run_id="run", state=state) as isolation, isolation.open() as worktree:
        assert sh(worktree, "git status --porcelain; git rev-parse HEAD") == checkout.head
        assert repo.git("worktree", "list").count("\n") == 1
    assert list(state.iterdir()) == []
    state.rmdir()


def test_the_state_folder_is_not_writable(repo: Repo, places: Path) -> None:
    checkout = inspect(repo.path)
    with (
        pytest.raises(NotReady, match="cannot write"),
        isolate(checkout, plan_of(checkout), run_id="run", state=repo.path / "missing"),
    ):
        pass


def test_linked_worktrees_at_once(repo: Repo, places: Path, guard: Watch) -> None:
    from concurrent.futures import ThreadPoolExecutor

    repo.write("link target/x", "x\n")
    repo.commit()
    guard(repo.path)
    with running(repo.path, isolation="worktree") as isolation:

        def trial(number: int) -> None:
            with isolation.open() as worktree:
                assert sh(worktree, "git status --porcelain") == ""
                assert str(worktree.path) in sh(worktree, "git worktree list")
                repo.git("worktree", "list")
                (worktree.path / "new").write_text(str(number))
                assert worktree.freeze().changed == ("new",)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(trial, range(24)))
        guard.check()
    assert not (repo.path / ".git/worktrees").exists()


def test_linked_worktrees_beside_the_users(repo: Repo, places: Path, tmp_path: Path, guard: Watch) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    guard(repo.path)
    guard(tmp_path / "side")
    for cwd in (repo.path, tmp_path / "side"):
        with opened(cwd, isolation="worktree") as worktree:
            assert repo.git("worktree", "list").count("\n") == 2
            sh(worktree, "git worktree prune; git gc -q --auto; git worktree lock .; git status")
        guard.check()


def test_a_trial_that_replaces_its_folder_by_a_link(repo: Repo, places: Path, tmp_path: Path, guard: Watch) -> None:
    mine = make_repo(tmp_path / "mine")
    mine.path.chmod(0o755)
    guard(mine.path)
    before = sorted(mine.path.iterdir())
    for replaced in ("link", "folder", "file", "nothing"):
        with opened(repo.path, ("a.txt",)) as worktree:
            folder = worktree.path.parent
            folder.rename(folder.with_name("away"))
            if replaced == "link":
                folder.symlink_to(mine.path)
            elif replaced == "folder":
                (folder / "tree").mkdir(parents=True)
            elif replaced == "file":
                folder.touch()
            assert worktree.freeze().tree is None
            worktree.mend()
            assert worktree.cwd.is_dir()
            assert worktree.diff() is not None
            assert worktree.restore() == ("a.txt",)
            assert (worktree.path / "a.txt").read_text() == "a\n"
        assert list(places.iterdir()) == []
        assert stat.S_IMODE(mine.path.stat().st_mode) == 0o755
        assert sorted(mine.path.iterdir()) == before


def test_a_trial_that_replaces_the_runs_folder_by_a_link(
    repo: Repo, places: Path, tmp_path: Path, guard: Watch
) -> None:
    mine = make_repo(tmp_path / "mine")
    mine.write("CLAUDE.md", "mine")
    mine.write("own/x.kept", "mine")
    mine.commit()
    mine.path.chmod(0o755)
    guard(mine.path)
    before = sorted(mine.path.rglob("*"))
    checkout = inspect(repo.path)
    with isolate(checkout, plan_of(checkout), run_id="run", state=state_of(checkout)) as isolation:
        with isolation.open(("a.txt",)) as worktree:
            isolation.place.rename(places / "away")
            isolation.place.symlink_to(mine.path)
            assert worktree.freeze().tree is None
            assert worktree.diff() == b""
            for make_ready in (worktree.mend, worktree.restore):
                with pytest.raises(CheckoutFailed, match="replaced"):
                    make_ready()
        with pytest.raises(CheckoutFailed, match="removed or replaced"), isolation.open():
            pass
    assert any(str(isolation.place) in line for line in isolation.left)
    assert sorted(path.name for path in places.iterdir()) == ["away"]
    assert remove_tree(places / "away") == []
    assert stat.S_IMODE(mine.path.stat().st_mode) == 0o755
    assert sorted(mine.path.rglob("*")) == before


STARVED = """
import os, resource, sys
from pathlib import Path
from kcut.isolation import inspect, isolate
from kcut.model.errors import NotReady
from tests.worktrees import plan_of, state_of
checkout = inspect(Path.cwd())
plan, state = plan_of(checkout), state_of(checkout)
import kcut.isolation.run
free = int(sys.argv[1])
run = isolate(checkout, plan, run_id="run", state=state)
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
held = []
if free < 20:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    while True:
        try:
            held.append(os.open("/", os.O_RDONLY))
        except OSError:
            break
    for handle in held[:free]:
        os.close(handle)
try:
    with run:
        pass
except NotReady as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_too_few_open_files_at_the_start(repo: Repo, places: Path) -> None:
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    said = []
    for free in (0, 1, 2, 3, 4, 6, 20):
        command = [sys.executable, "-c", STARVED, str(free)]
        done = subprocess.run(command, cwd=repo.path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        sweep(state_root(repo))
        assert list(places.iterdir()) == []
    assert all(line.count("\n") == 1 for line in said[:3])
    assert said[-1] == ""

"""Commands under supervision: what they get, what comes of them, and that nothing outlives them."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.system.proc import Ran, Supervisors, capped, is_alive, process_identity
from kcut.system.proc_call import make_request
from kcut.system.proc_supervisor import Request
from kcut.system.proc_table import marked, table, table_by_ps
from tests.hostile import HOSTILE, LINUX, new_tag, tagged

Run = Callable[..., Ran]


@pytest.fixture
def tag() -> str:
    return new_tag()


@pytest.fixture(scope="module")
def supervisors() -> Iterator[Supervisors]:
    with Supervisors() as made:
        yield made


@pytest.fixture
def run(supervisors: Supervisors, tmp_path: Path) -> Run:
    """Run a shell command under supervision."""

    def perform(command: str, **options: object) -> Ran:
        options = {"cwd": tmp_path, "env": dict(os.environ), "keep": 1 << 16, **options}
        return supervisors.run(["/bin/sh", "-c", command], **options)  # type: ignore[arg-type]

    return perform


# --- what a command gets ---


def test_stdin_is_empty(run: Run) -> None:
    ran = run("cat; readlink /proc/self/fd/0")
    assert (ran.code, ran.stdout, ran.error) == (0, b"/dev/null\n", None)


def test_environment_is_passed_exactly(supervisors: Supervisors, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "EMPTY": "", "A": "b=c\nd", "BYTES": "\udcff\udc80", "ä": "ö"}
    ran = supervisors.run(["env", "-0"], cwd=tmp_path, env=env, keep=1 << 16)
    got = dict(os.fsdecode(item).split("=", 1) for item in ran.stdout.split(b"\0") if item)
    marker = [name for name in got if name.startswith("_KCUT_")]
    assert len(marker) == 1
    assert {name: value for name, value in got.items() if name != marker[0]} == env


def test_every_call_has_its_own_marker(run: Run) -> None:
    names = {run("env | grep ^_KCUT_").stdout for _ in range(3)}
    assert len(names) == 3


def test_large_environment(run: Run) -> None:
    env = {"PATH": os.environ["PATH"]} | {f"V{number}": "x" * 60_000 for number in range(15)}
    assert run("test ${#V14} = 60000", env=env).code == 0


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_descriptors_signals_session(run: Run, tmp_path: Path) -> None:
    inherited = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        assert run("exec ls /proc/self/fd").stdout.split() == [
            b"0",
            b"1",
            b"2",
            b"3",
        ]  # 3 is the folder that ls reads
    finally:
        os.close(inherited)
    status = run("exec cat /proc/self/status").stdout.decode()
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    assert int(fields["SigBlk"], 16) == 0
    assert int(fields["SigIgn"], 16) & ~(3 << 31) == 0  # the C library keeps two signals to itself
    pid, _, _, _, group, session, terminal, *_ = run("exec cat /proc/self/stat").stdout.split()
    assert group == session == pid
    assert terminal == b"0"
    assert run("pwd").stdout == os.fsencode(tmp_path) + b"\n"


def test_pipes_break_as_in_a_shell(run: Run) -> None:
    assert run("yes | head -n 1", timeout=60).stdout == b"y\n"


def test_umask_is_the_users(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with Supervisors() as supervised:
            ran = supervised.run(["sh", "-c", "umask"], cwd=tmp_path, env={"PATH": os.environ["PATH"]}, keep=100)
    finally:
        os.umask(before)
    assert ran.stdout == b"0027\n"


def test_words_are_bytes(supervisors: Supervisors, tmp_path: Path) -> None:
    ran = supervisors.run(["printf", "%s|", "\udcfe", "", "ä", "a b"], cwd=tmp_path, env=dict(os.environ), keep=99)
    assert ran.stdout == b"\xfe||\xc3\xa4|a b|"


def test_the_given_path_is_searched(supervisors: Supervisors, tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    assert supervisors.run(["only-here"], cwd=tmp_path, env={"PATH": str(tmp_path)}).code == 9
    assert supervisors.run(["only-here"], cwd=tmp_path, env={"PATH": "/bin:/usr/bin"}).code is None
    assert supervisors.run(["only-here"], cwd=tmp_path, env={}).code is None
    assert supervisors.run(["./only-here"], cwd=tmp_path, env={}).code == 9


# --- what comes of it ---


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -9 $$", -9),
        ("kill -TERM $$", -15),
        ("exec nonesuch", 127),
    ],
)
def test_exit_codes(run: Run, command: str, code: int) -> None:
    ran = run(command)
    assert ran == Ran(ran.argv, code, ran.seconds, stderr=ran.stderr, stderr_total=ran.stderr_total)
    assert 0 <= ran.seconds < 60


def test_output_is_thrown_away_unless_asked_for(run: Run) -> None:
    ran = run('echo out; echo err >&2; test "$(readlink /proc/self/fd/1)" = x; readlink /proc/$$/fd/1 >&2', keep=0)
    assert (ran.code, ran.stdout, ran.stderr, ran.stdout_total) == (0, b"", b"", 0)


def test_first_and_last_bytes(run: Run) -> None:
    ran = run("printf 0123456789; printf '\\377\\000\\200' >&2", keep=3, head=2)
    assert (ran.stdout_head, ran.stdout, ran.stdout_total) == (b"01", b"789", 10)
    assert (ran.stderr_head, ran.stderr, ran.stderr_total) == (b"\xff\x00", b"\xff\x00\x80", 3)
    assert run("printf abc", keep=0, head=2).stdout_head == b"ab"


@given(st.binary(max_size=40), st.integers(0, 12), st.integers(0, 12))
def test_capped_keeps_order_and_says_what_is_missing(data: bytes, head: int, keep: int) -> None:
    joined = capped(data[:head], data[max(0, len(data) - keep) :], len(data))
    missing = len(data) - head - keep
    if missing <= 0:
        assert joined == data
    else:
        assert joined == data[:head] + b"\n[... %d bytes left out ...]\n" % missing + data[len(data) - keep :]


@pytest.mark.parametrize(
    ("argv", "env", "folder", "said"),
    [
        (["nonesuch-program"], {}, "", "No such file"),
        (["/etc/passwd"], {}, "", "Permission denied"),
        (["/"], {}, "", "Permission denied"),
        (["true"], {}, "gone", "cannot enter the folder"),
        ([], {}, "", "it is empty"),
        ([""], {}, "", "it is empty"),
        (["true", "a\0b"], {}, "", "NUL"),
        (["true"], {"A": "b\0c"}, "", "NUL"),
        (["true"], {"A=B": "c"}, "", "no valid name"),
        (["true"], {"": "c"}, "", "no valid name"),
        (["true", "\ud800"], {}, "", "no bytes"),
        (["true", "x" * 300_000], {}, "", "too long"),
        (["true"], {f"V{number}": "x" * 100_000 for number in range(100)}, "", "too long"),
    ],
)
def test_what_cannot_be_started(
    supervisors: Supervisors, tmp_path: Path, argv: list[str], env: dict[str, str], folder: str, said: str
) -> None:
    ran = supervisors.run(argv, cwd=tmp_path / folder, env={"PATH": os.environ["PATH"], **env}, timeout=60, keep=10)
    assert ran.code is None
    assert said in str(ran.error)
    assert "\n" not in str(ran.error)
    assert (ran.timed_out, ran.interrupted) == (False, False)
    assert supervisors.run(["true"], cwd=tmp_path, env={}).code == 0


def test_not_a_program(run: Run, tmp_path: Path, supervisors: Supervisors) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x00\x01\x02")
    program.chmod(0o755)
    ran = supervisors.run([str(program)], cwd=tmp_path, env={})
    assert ran.code is None
    assert "Exec format error" in str(ran.error)


@given(
    st.lists(st.binary(min_size=1).filter(lambda part: b"\0" not in part), min_size=1),
    st.dictionaries(
        st.from_regex(rb"[A-Za-z_]{1,9}", fullmatch=True), st.binary().map(lambda b: b.replace(b"\0", b"="))
    ),
    st.none() | st.floats(0, 1e9),
)
def test_a_request_arrives_as_it_was(words: list[bytes], env: dict[bytes, bytes], timeout: float | None) -> None:
    request = make_request(
        [os.fsdecode(word) for word in words],
        cwd="/x",
        env={os.fsdecode(name): os.fsdecode(value) for name, value in env.items()},
        timeout=timeout,
        grace=0.5,
    )
    assert request.argv == words
    assert request.env == env | {request.marker.encode(): b"1"}
    assert Request.unpack(request.pack()[8:]) == request


# --- limits ---


def test_timeout_ends_the_group(run: Run, tmp_path: Path, tag: str) -> None:
    ran = run(f"(sleep 1; echo late > late; echo {tag}) & sleep {tag}", timeout=0.3)
    assert (ran.timed_out, ran.code) == (True, -signal.SIGTERM)
    assert not tagged(tag)
    time.sleep(1)
    assert not (tmp_path / "late").exists()


def test_term_leaves_time_to_tidy_up(run: Run, tag: str) -> None:
    script = f"sh -c 'trap \"sleep 0.2; echo tidied; exit\" TERM; echo {tag}; while :; do sleep 0.05; done' & wait"
    ran = run(script, timeout=1, grace=30)
    assert ran.timed_out
    assert b"tidied" in ran.stdout  # the shell itself went at once; its child had its time
    assert ran.seconds < 20
    assert not tagged(tag)


def test_kill_follows_term(run: Run, tag: str) -> None:
    ran = run(f"trap '' TERM; (sleep {tag}; sleep {tag}) & sleep {tag}; sleep {tag}", timeout=1, grace=0.3)
    assert (ran.timed_out, ran.code) == (True, -signal.SIGKILL)
    assert ran.seconds >= 1.3
    assert not tagged(tag)


def test_a_stopped_command_sees_term(run: Run) -> None:
    ran = run("trap 'exit 33' TERM; kill -STOP $$; sleep 600 & wait", timeout=1, grace=60)
    assert (ran.timed_out, ran.code) == (True, 33)


def test_no_timeout_before_its_time(run: Run) -> None:
    ran = run("sleep 0.3", timeout=1e9)
    assert (ran.code, ran.timed_out) == (0, False)
    assert 0.3 <= ran.seconds < 60


# --- nothing outlives it ---

ESCAPES = {
    "background": "sleep {tag} &",
    "nohup": "nohup sleep {tag} >/dev/null 2>&1 &",
    "setsid": "setsid sleep {tag} &",
    "double fork": "(setsid sh -c '(sleep {tag}; :) & (sleep {tag}; :) &' &);",
    "empty environment": "env -i setsid sh -c 'sleep {tag}; :' &",
    "ignores TERM": "setsid sh -c \"trap '' TERM HUP INT; sleep {tag}; sleep {tag}\" &",
    "stopped": "setsid sh -c 'kill -STOP $$; echo {tag}' &",
    "daemon": "{python} {hostile}/daemon.py {tag} &",
    "holds the pipe": "setsid sh -c 'while :; do echo {tag}; sleep 0.1; done' &",
}


@pytest.mark.skipif(not LINUX, reason="orphans are adopted on Linux")
@pytest.mark.parametrize("name", ESCAPES)
def test_what_a_command_leaves_behind_is_ended(run: Run, name: str, tag: str) -> None:
    script = ESCAPES[name].format(tag=tag, python=sys.executable, hostile=HOSTILE)
    ran = run(f"{script} sleep 0.15; exit 3", timeout=60)
    assert (ran.code, ran.timed_out, ran.error, ran.left) == (3, False, None, 0)
    assert ran.ended >= 1
    assert not tagged(tag)


@pytest.mark.skipif(not LINUX, reason="orphans are adopted on Linux")
def test_a_server_is_counted_once(run: Run, tag: str) -> None:
    assert run(f"setsid sleep {tag} & sleep 0.1").ended == 1
    assert run("sleep 0.05 & exit 0").ended <= 1
    assert run("true").ended == 0


@pytest.mark.skipif(not LINUX, reason="orphans are adopted on Linux")
def test_a_process_whose_first_thread_has_ended(run: Run) -> None:
    code = (
        "import ctypes, os, threading, time\n"
        "os.setsid()\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    script = f"{sys.executable} -I -S -c '{code}' & until grep -q 'State:.Z' /proc/$!/status; do sleep 0.02; done"
    ran = run(script, timeout=60)
    assert (ran.code, ran.ended, ran.left) == (0, 1, 0)


@pytest.mark.skipif(not LINUX, reason="orphans are adopted on Linux")
@pytest.mark.parametrize("script", ["chain.py", "pair.py"])
def test_what_multiplies_is_ended(run: Run, tag: str, script: str) -> None:
    chains = f"for i in 1 2 3; do {sys.executable} -I -S {HOSTILE}/{script} 20 {tag} & done; sleep 0.5"
    ran = run(chains, timeout=120)
    assert (ran.code, ran.error, ran.left) == (0, None, 0)
    assert ran.ended >= 1
    assert not tagged(tag)


def test_group_and_marker_where_orphans_are_not_adopted(tmp_path: Path, tag: str) -> None:
    with Supervisors(adopt=False) as supervised:
        script = f"sleep {tag} & setsid sleep {tag} & (setsid sh -c 'sleep {tag}; :' &) ; sleep 0.15; exit 4"
        ran = supervised.run(["sh", "-c", script], cwd=tmp_path, env=dict(os.environ), keep=10)
        assert (ran.code, ran.error) == (4, None)
        assert ran.ended >= 3
        assert not tagged(tag)
        ran = supervised.run(["sleep", tag], cwd=tmp_path, env=dict(os.environ), timeout=0.2)
        assert (ran.code, ran.timed_out, ran.ended) == (-15, True, 0)
        assert supervised.run(["true"], cwd=tmp_path, env=dict(os.environ)).ended == 0


# --- a command that turns on those who watch it ---

WARDEN = "$(sed -n 's/^PPid:\\t//p' /proc/$PPID/status)"
ESCAPE = "sleep {tag} & setsid sleep {tag} & (env -i setsid sh -c 'sleep {tag}; :' &) ; sleep 0.1;"


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_a_killed_supervisor(run: Run, tag: str) -> None:
    ran = run(ESCAPE.format(tag=tag) + f"kill -9 $PPID; sleep {tag}; :")
    assert ran.code is None
    assert "supervised" in str(ran.error)
    assert not tagged(tag)
    assert run("exit 5").code == 5


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_a_killed_warden(run: Run, tag: str) -> None:
    for _ in range(2):
        ran = run(ESCAPE.format(tag=tag) + f"kill -9 {WARDEN}; exit 6")
        assert (ran.code, ran.error) == (6, None)
        assert ran.ended >= 3
        assert not tagged(tag)
    assert run("exit 5").code == 5


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_killed_warden_and_supervisor(run: Run, tag: str) -> None:
    ran = run(
        f"setsid sleep {tag} & (setsid sh -c 'sleep {tag}; :' &); sleep 0.1; kill -9 {WARDEN} $PPID; sleep {tag}"
    )
    assert ran.code is None
    assert "supervised" in str(ran.error)
    assert ran.ended >= 1
    assert not tagged(tag)
    assert run("exit 5").code == 5


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_stopped_supervisor_and_warden(run: Run) -> None:
    assert run("kill -STOP $PPID; exit 4", timeout=60).code == 4
    assert run(f"kill -STOP {WARDEN}; exit 4", timeout=60).code == 4
    assert run("exit 5", timeout=60).code == 5
    assert run(f"kill -STOP {WARDEN} $PPID; exit 4").code == 4
    assert run("while :; do kill -STOP $PPID; done", timeout=0.2, grace=0.2).timed_out


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_signals_do_not_reach_those_who_watch(run: Run) -> None:
    ran = run(
        f"kill -INT -TERM $PPID; for s in INT TERM HUP QUIT PIPE ALRM USR1; do kill -$s $PPID {WARDEN}; done; exit 8"
    )
    assert (ran.code, ran.error) == (8, None)


# --- many at once, stopping, leaving ---


def test_many_at_once(supervisors: Supervisors, tmp_path: Path) -> None:
    def work(number: int) -> list[Ran]:
        script = f"echo {number}; exit {number}"
        return [
            supervisors.run(["sh", "-c", script], cwd=tmp_path, env=dict(os.environ), keep=99, timeout=120)
            for _ in range(10)
        ]

    with ThreadPoolExecutor(16) as pool:
        for number, results in enumerate(pool.map(work, range(16))):
            assert {(ran.code, ran.stdout, ran.ended) for ran in results} == {(number, b"%d\n" % number, 0)}


def test_stop_and_after(tmp_path: Path, tag: str) -> None:
    with Supervisors() as supervised:
        results: list[Ran] = []
        env = dict(os.environ)

        def work() -> None:
            script = f"trap 'exit 44' TERM; touch there; sleep {tag} & wait"
            results.append(supervised.run(["sh", "-c", script], cwd=tmp_path, env=env, timeout=600))

        thread = threading.Thread(target=work)
        thread.start()
        while not (tmp_path / "there").exists():
            time.sleep(0.01)
        supervised.stop()
        thread.join(60)
        assert [(ran.code, ran.interrupted, ran.timed_out, ran.error) for ran in results] == [(44, True, False, None)]
        after = supervised.run(["true"], cwd=tmp_path, env=env)
        assert after == Ran(("true",), None, 0.0, interrupted=True)
        assert not tagged(tag)


def descriptors_now() -> list[Path]:
    """The open descriptors, and what the listing itself needs."""
    return sorted(Path("/dev/fd").iterdir())


def test_leaving_ends_and_closes_everything(tmp_path: Path, tag: str) -> None:
    descriptors = descriptors_now()
    children = {pid for pid, one in table().items() if one.parent == os.getpid()}
    results: list[Ran] = []
    with Supervisors() as supervised:

        def work() -> None:
            script = f"touch there; trap '' TERM; sleep {tag}; sleep {tag}"
            results.append(
                supervised.run(["sh", "-c", script], cwd=tmp_path, env=dict(os.environ), keep=10, grace=600)
            )

        thread = threading.Thread(target=work)
        thread.start()
        while not (tmp_path / "there").exists():
            time.sleep(0.01)
    thread.join(60)
    assert [(ran.code, ran.interrupted) for ran in results] == [(-9, True)]
    assert not tagged(tag)
    assert descriptors_now() == descriptors
    assert {pid for pid, one in table().items() if one.parent == os.getpid()} == children
    assert supervised.run(["true"], cwd=tmp_path, env={}).interrupted


# --- which process it is ---


def test_identity_tells_processes_apart(run: Run) -> None:
    own = process_identity(os.getpid())
    assert own is not None
    assert is_alive(os.getpid(), own)
    assert not is_alive(os.getpid(), own + "0")
    parent = process_identity(os.getppid())
    assert parent is None or parent == process_identity(os.getppid())
    gone = int(run("echo $$").stdout)
    assert process_identity(gone) is None
    assert not is_alive(gone, own)
    assert process_identity(0) is None
    assert process_identity(-1) is None


def test_a_zombie_is_not_alive() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        assert process_identity(pid) is None
        assert table()[pid].dead
    finally:
        os.waitpid(pid, 0)


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="no ps")
def test_ps_tells_the_same() -> None:
    asked, own = table_by_ps(), table()
    for pid in (os.getpid(), os.getppid()):
        assert replace(asked[pid], dead=False) == replace(own[pid], dead=False)


def test_marked_finds_by_the_whole_name(run: Run, tag: str) -> None:
    pid = os.posix_spawn("/bin/sleep", ["sleep", tag], {f"_M{tag}": "1"})
    try:
        deadline = time.monotonic() + 60
        while not (found := marked(f"_M{tag}")) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert list(found) == [pid]
        assert not marked(f"M{tag}")
        assert not marked(f"_M{tag[:-1]}")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

"""Artifacts on disk: reserved before a run, written whole, read with care, never another's."""

import fcntl
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcut import artifacts
from kcut.artifacts import FOLDER, artifact_path, evidence, load, reserve, write
from kcut.model.artifact import Artifact
from kcut.model.errors import KcutError, NotReady, UsageFault
from tests.conftest import Repo
from tests.documents import example, first_format, put


def make(component: str = "demo", **changes: Any) -> Artifact:
    return Artifact.model_validate(example(component=component, **changes))


def files(repo: Repo) -> list[str]:
    return sorted(path.name for path in (repo.path / FOLDER).iterdir())


# --- reserve -----------------------------------------------------------------------------------------------------


def test_reserve_makes_the_folder_and_leaves_nothing_in_it(repo: Repo) -> None:
    path = reserve(repo.path, "Tidy Imports", None)
    assert path == repo.path / ".claude/eval/benchmarks/tidy-imports.json"
    assert files(repo) == []
    assert repo.git("status", "--porcelain", "--untracked-files=all") == ""


def test_out_replaces_the_name_in_the_file_name_only(repo: Repo) -> None:
    path = reserve(repo.path, "demo", "Other One")
    assert path.name == "other-one.json"
    write(path, make("demo"))
    assert load(path).component == "demo"
    assert evidence(repo.path, "demo").state == "missing"
    assert evidence(repo.path, "Other One").state == "unreadable"


@pytest.mark.parametrize("out", ["a/b", "/abs", "../x", "x/", "/"])
def test_out_with_a_path_separator_is_a_usage_error(repo: Repo, out: str) -> None:
    with pytest.raises(UsageFault, match="path separator"):
        reserve(repo.path, "demo", out)
    assert not (repo.path / ".claude").exists()


@pytest.mark.parametrize(
    ("component", "out"), [("", None), (" \t", None), ("x", ""), ("\udcff", None), ("x", "\udcff")]
)
def test_a_name_that_cannot_stand_in_a_file_is_a_usage_error(repo: Repo, component: str, out: str | None) -> None:
    with pytest.raises(UsageFault):
        reserve(repo.path, component, out)


@pytest.mark.parametrize("out", ["..", ".", "a.json", "a\\b", "日本", "CON", "x" * 5000])
def test_odd_names_for_out_stay_in_the_folder(repo: Repo, out: str) -> None:
    path = reserve(repo.path, "demo", out)
    assert path.parent == repo.path / FOLDER
    write(path, make())


@pytest.mark.parametrize("part", [".claude", ".claude/eval", ".claude/eval/benchmarks"])
def test_a_file_in_the_way_of_the_folder_is_refused(repo: Repo, part: str) -> None:
    repo.write(part, "a file")
    with pytest.raises(NotReady, match="is not a folder"):
        reserve(repo.path, "demo", None)
    assert (repo.path / part).read_text() == "a file"


@pytest.mark.parametrize("part", [".claude", ".claude/eval", ".claude/eval/benchmarks"])
@pytest.mark.parametrize("target", ["outside", "missing", ".git", "loop"])
def test_a_folder_that_is_a_link_out_of_the_checkout_is_refused(
    repo: Repo, tmp_path: Path, part: str, target: str
) -> None:
    (tmp_path / "outside").mkdir()
    link = repo.path / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(
        {"outside": tmp_path / "outside", ".git": repo.path / ".git", "loop": link}.get(target, "/nowhere")
    )
    with pytest.raises(NotReady, match="is a link that leads"):
        reserve(repo.path, "demo", None)
    assert list((tmp_path / "outside").iterdir()) == []
    found = evidence(repo.path, "demo")
    assert (found.state, found.blocker) == ("unreadable", part)


def test_a_folder_that_is_a_link_within_the_checkout_is_used(repo: Repo) -> None:
    (repo.path / "dot-claude").mkdir()
    (repo.path / ".claude").symlink_to("dot-claude")
    write(reserve(repo.path, "demo", None), make())
    assert (repo.path / "dot-claude/eval/benchmarks/demo.json").is_file()
    assert evidence(repo.path, "demo").state == "pass"


@pytest.mark.parametrize("target", ["{out}", "../../../a.txt", "../x.json", "/dev/zero", "/proc/self/mem"])
def test_a_file_that_is_a_link_out_of_the_folder_is_refused_and_not_read(
    repo: Repo, tmp_path: Path, target: str
) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(first_format("demo")))
    path = artifact_path(repo.path, "demo")
    path.parent.mkdir(parents=True)
    path.symlink_to(target.format(out=outside))
    with pytest.raises(NotReady, match="leads out of the folder"):
        reserve(repo.path, "demo", None)
    assert evidence(repo.path, "demo").state == "unreadable"
    assert json.loads(outside.read_text())["component"] == "demo"


def test_a_link_to_another_artifact_of_the_folder_is_told_by_its_component(repo: Repo) -> None:
    put(repo.path, "real", first_format("demo"))
    artifact_path(repo.path, "demo").symlink_to("real.json")
    assert evidence(repo.path, "demo").state == "pass"
    write(reserve(repo.path, "demo", None), make())
    assert not artifact_path(repo.path, "demo").is_symlink()
    assert load(artifact_path(repo.path, "real")).task == "./run.sh"


@pytest.mark.parametrize(
    ("first", "second"), [("foo/bar", "foo-bar"), ("Foo Bar", "foo bar"), ("café", "cafe\u0301")]
)
def test_two_names_with_one_slug_never_overwrite_each_other(repo: Repo, first: str, second: str) -> None:
    write(reserve(repo.path, first, None), make(first))
    before = artifact_path(repo.path, first).read_bytes()
    with pytest.raises(NotReady) as caught:
        reserve(repo.path, second, None)
    assert repr(first) in caught.value.message
    assert repr(second) in caught.value.message
    assert "--out" in (caught.value.remedy or "")
    with pytest.raises(NotReady, match="would overwrite"):
        write(artifact_path(repo.path, second), make(second))
    assert artifact_path(repo.path, second).read_bytes() == before
    assert evidence(repo.path, second).state == "unreadable"
    assert evidence(repo.path, first).state == "pass"
    write(reserve(repo.path, second, "second one"), make(second))
    assert files(repo) == sorted([artifact_path(repo.path, first).name, "second-one.json"])


NOT_ARTIFACTS: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("text", b"not json"),
    ("cut off", json.dumps(first_format()).encode()[:-20]),
    ("a conflict", b'<<<<<<< HEAD\n{"component": "demo"}\n=======\n{}\n>>>>>>> x\n'),
    ("two documents", b'{"component": "demo", "pass": true}{"component": "demo"}'),
    ("a list", b'[{"component": "demo"}]'),
    ("null", b"null"),
    ("a string", b'"demo"'),
    ("no component", b'{"pass": true}'),
    ("a component of another type", b'{"component": ["demo"], "pass": true}'),
    ("Latin-1", '{"component": "demo", "pass": true, "reason": "é"}'.encode("latin-1")),
    ("UTF-16", '{"component": "demo", "pass": true}'.encode("utf-16")),
    ("NaN", b'{"component": "demo", "pass": true, "k": NaN}'),
    ("Infinity", b'{"component": "demo", "pass": true, "k": -Infinity}'),
    ("a number without end", b'{"component": "demo", "pass": true, "k": ' + b"9" * 100_000 + b"}"),
    ("a key twice", b'{"component": "demo", "pass": false, "pass": true}'),
    ("deep lists", b'{"component": "demo", "pass": true, "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    ("deep objects", b'{"component": "demo", "pass": true, "x": ' + b'{"a":' * 300 + b"1" + b"}" * 301),
    ("NUL bytes", bytes(4096)),
]


@pytest.mark.parametrize("data", [data for _, data in NOT_ARTIFACTS], ids=[name for name, _ in NOT_ARTIFACTS])
def test_what_is_no_artifact_is_refused_by_name_and_never_overwritten(repo: Repo, data: bytes) -> None:
    path = put(repo.path, "demo", data)
    with pytest.raises(NotReady) as caught:
        reserve(repo.path, "demo", None)
    assert str(path) in caught.value.message
    assert "--out" in (caught.value.remedy or "")
    with pytest.raises(NotReady):
        write(path, make())
    assert path.read_bytes() == data
    with pytest.raises(UsageFault) as read:
        load(path)
    assert "\n" not in read.value.message
    found = evidence(repo.path, "demo")
    assert (found.state, found.blocker) == ("unreadable", str(FOLDER / "demo.json"))
    assert "\n" not in found.why


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


@pytest.mark.parametrize("place", [fifo, listening, sparse, Path.mkdir])
def test_what_is_no_small_regular_file_is_refused_without_waiting(repo: Repo, place: Callable[[Path], None]) -> None:
    path = artifact_path(repo.path, "demo")
    path.parent.mkdir(parents=True)
    place(path)
    with pytest.raises(NotReady):
        reserve(repo.path, "demo", None)
    with pytest.raises(UsageFault):
        load(path)
    with pytest.raises(NotReady):
        write(path, make())
    assert evidence(repo.path, "demo").state == "unreadable"


def test_an_artifact_of_the_same_component_is_reserved_again_even_if_it_is_old_or_partly_broken(repo: Repo) -> None:
    for document in (first_format("demo"), {"component": "demo"}, {"component": "demo", "pass": "yes", "with": 3}):
        put(repo.path, "demo", document)
        write(reserve(repo.path, "demo", None), make())
        assert load(artifact_path(repo.path, "demo")).schema_version == 1


def test_a_folder_on_a_read_only_file_system_is_refused(repo: Repo) -> None:
    folder = repo.path / FOLDER
    folder.mkdir(parents=True)
    repo.write(".claude/eval/.gitignore", "")
    code = (
        "import sys; from pathlib import Path; from kcut.artifacts import reserve\n"
        "from kcut.model.errors import NotReady\n"
        "try: reserve(Path(sys.argv[1]), 'demo', None)\n"
        "except NotReady as error: print(error.message); sys.exit(2)\n"
    )
    script = 'mount -t tmpfs -o ro none "$1" || exit 77; exec "$2" -c "$3" "$4"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", folder, sys.executable, code, repo.path],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in {0, 2}:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
    assert done.returncode == 2, done.stdout
    assert "cannot write in" in done.stdout


def without_rights(code: str, root: Path) -> str:
    """What Python code prints that runs as a user whom permission bits stop."""
    argv: list[str] = []
    if os.geteuid() == 0:
        argv = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
        if shutil.which("setpriv") is None or subprocess.run([*argv, "true"], check=False).returncode:
            pytest.skip("permission bits do not stop root, and its rights cannot be taken away here")
    done = subprocess.run(
        [*argv, sys.executable, "-c", code, root], cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


RESERVE = """
import sys; from pathlib import Path; from kcut.artifacts import reserve
from kcut.model.errors import NotReady
try: print(reserve(Path(sys.argv[1]), 'demo', None))
except NotReady as error: print(error.message)
"""

READ = """
import sys; from pathlib import Path; from kcut.artifacts import evidence
print(evidence(Path(sys.argv[1]), 'demo'))
"""


@pytest.mark.parametrize("part", ["", ".claude", ".claude/eval", ".claude/eval/benchmarks"])
def test_a_folder_without_write_permission_is_refused(repo: Repo, part: str) -> None:
    folder = repo.path / part
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o555)
    try:
        assert "cannot write in" in without_rights(RESERVE, repo.path)
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("part", [".claude", ".claude/eval/benchmarks", ".claude/eval/benchmarks/demo.json"])
def test_what_may_not_be_read_is_unreadable_and_not_missing(repo: Repo, part: str) -> None:
    put(repo.path, "demo", first_format("demo"))
    (repo.path / part).chmod(0)
    try:
        told = without_rights(READ, repo.path)
    finally:
        (repo.path / part).chmod(0o755)
    assert "state='unreadable'" in told
    assert "Permission denied" in told


def test_a_file_that_the_file_system_protects_is_refused_before_the_run(repo: Repo) -> None:
    path = put(repo.path, "demo", first_format())
    done = subprocess.run(["chattr", "+i", path], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no immutable files here")
    try:
        with pytest.raises(NotReady, match="cannot be replaced"):
            reserve(repo.path, "demo", None)
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


def test_a_read_only_file_is_replaced(repo: Repo) -> None:
    path = put(repo.path, "demo", first_format())
    path.chmod(0o444)
    write(reserve(repo.path, "demo", None), make())
    assert load(path).schema_version == 1


def test_leftovers_of_dead_writers_go_and_others_stay(repo: Repo) -> None:
    path = reserve(repo.path, "demo", None)
    for name in (".demo.json.abcd1234.tmp", ".probe.abcd1234.tmp", ".other.json.abcd1234.tmp", "notes.tmp"):
        (path.parent / name).write_text("x")
    reserve(repo.path, "demo", None)
    assert files(repo) == [".other.json.abcd1234.tmp", "notes.tmp"]


def test_a_folder_that_somebody_keeps_locked_delays_but_does_not_stop(repo: Repo) -> None:
    path = reserve(repo.path, "demo", None)
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        write(path, make())
    finally:
        os.close(handle)
    assert load(path).component == "demo"


# --- write and load ----------------------------------------------------------------------------------------------


def test_what_is_written_is_read_again(repo: Repo) -> None:
    artifact = make("Grüße \u202e\x1b", task="printf '\x00…\n'", reason="é")
    path = reserve(repo.path, artifact.component, None)
    write(path, artifact)
    assert load(path) == artifact
    text = path.read_bytes().decode("utf-8")
    assert "é" in text
    assert text.endswith("}\n")
    assert list(json.loads(text)) == list(example())
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_the_example_keeps_every_key_and_value(repo: Repo) -> None:
    path = reserve(repo.path, "tidy-imports", None)
    write(path, Artifact.model_validate(example()))
    assert json.loads(path.read_text()) == example()


def test_a_reader_sees_one_whole_artifact_or_the_other(repo: Repo) -> None:
    path = reserve(repo.path, "demo", None)
    write(path, make(reason="first"))
    seen, done = set(), threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(load(path).reason)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(30):
        write(path, make(reason=f"{number}" * 1000))
    done.set()
    reader.join()
    assert seen
    assert files(repo) == ["demo.json"]


def test_writers_of_two_names_with_one_slug_leave_one_artifact_whole(repo: Repo) -> None:
    names = [f"a{sign}b" for sign in "-+*/!?"]
    path = reserve(repo.path, names[0], None)
    wrote: list[str] = []

    def attempt(name: str) -> None:
        try:
            write(path, make(name))
        except KcutError:
            return
        wrote.append(name)

    threads = [threading.Thread(target=attempt, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrote) == 1
    assert load(path).component == wrote[0]


def test_a_failed_write_leaves_the_old_artifact_and_says_how_to_go_on(repo: Repo) -> None:
    path = repo.path / FOLDER / "demo.json"
    path.parent.mkdir(parents=True)
    path.parent.rmdir()
    path.parent.write_text("in the way")
    with pytest.raises(NotReady) as caught:
        write(path, make())
    assert "--resume" in (caught.value.remedy or "")


def test_the_first_published_format_is_read(repo: Repo) -> None:
    artifact = load(put(repo.path, "demo", first_format("demo", score="./check.sh", **{"pass": False})))
    assert (artifact.component, artifact.pass_, artifact.with_.successes, artifact.decision) == (
        "demo",
        False,
        4,
        None,
    )


def test_a_file_of_a_later_version_and_one_with_a_byte_order_mark_are_read(repo: Repo) -> None:
    newer = example(schemaVersion=7, novelty={"a": [1]})
    path = put(repo.path, "demo", b"\xef\xbb\xbf" + json.dumps(newer).encode())
    assert load(path).schema_version == 7


@pytest.mark.parametrize("value", [1, 0, "true", "yes", None, [], "missing"])
def test_pass_has_to_be_a_boolean(repo: Repo, value: object) -> None:
    document = first_format("demo")
    if value == "missing":
        del document["pass"]
    else:
        document["pass"] = value
    path = put(repo.path, "demo", document)
    with pytest.raises(UsageFault, match="pass"):
        load(path)
    assert evidence(repo.path, "demo").state == "unreadable"


def test_load_names_the_place_of_a_fault(repo: Repo) -> None:
    document = first_format("demo")
    document["with"]["successRate"] = 1.5
    with pytest.raises(UsageFault, match=r"with\.successRate: input should be less"):
        load(put(repo.path, "demo", document))
    assert "with.successRate" in evidence(repo.path, "demo").why


def test_load_of_no_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="cannot be read: No such file"):
        load(tmp_path / "nothing.json")


# --- evidence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "pass"),
        ({"pass": False}, "fail"),
        ({"rule": None, "decision": None}, "pass"),
        ({"componentDigest": "sha256:00"}, "stale"),
        ({"componentDigest": ""}, "stale"),
        ({"rule": "evidence", "pass": False}, "inconclusive"),
        ({"rule": "evidence", "pass": True}, "inconclusive"),
        ({"rule": "evidence", "pass": False, "decision": {"verdict": "cut"}}, "fail"),
        ({"rule": "evidence", "pass": True, "decision": {"verdict": "keep"}}, "pass"),
        ({"rule": "evidence", "pass": True, "decision": {"verdict": "cut"}}, "unreadable"),
        ({"rule": "evidence", "pass": False, "decision": {"verdict": "keep"}}, "unreadable"),
        ({"rule": "point", "pass": True, "decision": {"verdict": "cut"}}, "pass"),
        ({"pass": False, "decision": {"verdict": "invalid"}}, "inconclusive"),
        ({"pass": True, "decision": {"verdict": "invalid"}}, "inconclusive"),
        ({"decision": {"verdict": "sure"}}, "unreadable"),
        ({"component": "Demo"}, "unreadable"),
        ({"component": "demo "}, "unreadable"),
    ],
)
def test_the_state_of_an_artifact(repo: Repo, changes: dict[str, Any], state: str) -> None:
    put(repo.path, "demo", example(component="demo") | changes)
    assert evidence(repo.path, "demo").state == state


def test_only_what_decides_has_to_be_there(repo: Repo) -> None:
    put(repo.path, "demo", {"component": "demo", "pass": False})
    found = evidence(repo.path, "demo")
    assert (found.state, found.why) == ("fail", "benchmark of an unknown day")


def test_evidence_tells_what_was_measured(repo: Repo) -> None:
    put(repo.path, "demo", first_format("demo"))
    assert evidence(repo.path, "demo").why == "benchmark of 2026-03-01: 4/5 with, 2/5 without"
    put(repo.path, "demo", example(component="demo"))
    told = "benchmark of 2026-11-30: 5/5 with, 2/4 without, evidence INCONCLUSIVE"
    assert evidence(repo.path, "demo").why == told


def test_reading_evidence_writes_nothing(repo: Repo) -> None:
    assert evidence(repo.path, "demo").state == "missing"
    assert not (repo.path / ".claude").exists()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(example())), json_values)
def test_whatever_a_key_holds_nothing_is_raised(repo: Repo, key: str, value: object) -> None:
    put(repo.path, "tidy-imports", example(**{key: value}))
    found = evidence(repo.path, "tidy-imports")
    assert found.state in {"pass", "fail", "inconclusive", "stale", "unreadable"}
    if key == "pass" and not isinstance(value, bool):
        assert found.state == "unreadable"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_whatever_bytes_a_file_holds_nothing_but_a_fault_is_raised(repo: Repo, data: bytes) -> None:
    path = put(repo.path, "demo", data)
    assert evidence(repo.path, "demo").state == "unreadable"
    with pytest.raises(UsageFault):
        artifacts.load(path)


# --- what a run may have changed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [".claude", ".claude/eval", ".claude/eval/benchmarks"])
def test_a_folder_that_became_a_link_out_is_not_written_to(repo: Repo, tmp_path: Path, part: str) -> None:
    path = reserve(repo.path, "demo", None)
    (repo.path / part).rename(tmp_path / "outside")
    (repo.path / part).symlink_to(tmp_path / "outside")
    before = sorted((tmp_path / "outside").rglob("*"))
    with pytest.raises(NotReady, match="is a link that leads out of the checkout") as caught:
        write(path, make("demo"))
    assert "--resume last" in str(caught.value.remedy)
    assert sorted((tmp_path / "outside").rglob("*")) == before


def test_a_name_that_is_not_utf8_stands_in_the_file_as_an_escape(repo: Repo) -> None:
    path = reserve(repo.path, "demo", None)
    warning = {"code": "few-trials", "evidence": {"paths": ["caf\udce9", "\ud800"]}, "advice": "see to it"}
    write(path, make("demo", decision=example()["decision"] | {"warnings": [warning]}))
    assert json.loads(path.read_bytes())["decision"]["warnings"][0]["evidence"] == {"paths": ["caf\\xe9", "\\ud800"]}
    assert load(path).component == "demo"


def _cohort(successes: Any, **changes: Any) -> dict[str, Any]:
    return {**first_format()["with"], "successes": successes} | changes


ILL_COUNTED: list[dict[str, Any]] = [
    {"k": "5"},
    {"k": True},
    {"k": 2.5},
    {"k": -1},
    {"k": 0},
    {"k": 10**30},
    {"k": 1e300},
    {"k": None},
    {"k": 3},
    {"with": _cohort("4")},
    {"with": _cohort(True)},
    {"with": _cohort(-1)},
    {"with": _cohort(6)},
    {"with": _cohort(4, k="5")},
    {"with": _cohort(4, k=True)},
    {"with": _cohort(4, k=3)},
    {"with": _cohort(4, valid=3)},
    {"with": _cohort(4, valid=6)},
    {"with": _cohort(4, valid=True)},
    {"with": {"k": 3, "successes": 4}},
    {"with": {"successes": 6}},
    {"with": _cohort(4, passAt=1)},
    {"with": _cohort(4, passCaret="false")},
    {"with": _cohort(4, successRate="0.8")},
    {"with": _cohort(4, successRate=True)},
    {"with": _cohort(4, successRate=1.2)},
    {"with": _cohort(4, totalCostUsd="1")},
    {"with": _cohort(4, totalCostUsd=-1)},
    {"with": _cohort(4, tokens={"input": "1", "output": 1, "cacheRead": 0, "cacheCreation": 0})},
    {"with": _cohort(4, voids={"auth": True})},
    {"without": _cohort(9)},
    {"with": [], "without": "x"},
]


@pytest.mark.parametrize("changes", ILL_COUNTED)
def test_wrong_types_and_impossible_counts_are_no_evidence(repo: Repo, changes: dict[str, Any]) -> None:
    path = put(repo.path, "demo", first_format(**changes))
    found = evidence(repo.path, "demo")
    assert (found.state, found.blocker) == ("unreadable", str(FOLDER / "demo.json"))
    assert "\n" not in found.why
    with pytest.raises(UsageFault) as caught:
        load(path)
    assert "demo.json" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "1" * 5000])
@pytest.mark.parametrize("key", ["k", "successes", "successRate", "anything"])
def test_numbers_that_are_none_make_no_artifact(repo: Repo, number: str, key: str) -> None:
    text = json.dumps(first_format() | {"with": _cohort(4) | {key: "HERE"}}).replace('"HERE"', number)
    path = put(repo.path, "demo", text)
    assert evidence(repo.path, "demo").state == "unreadable"
    with pytest.raises(UsageFault):
        load(path)


def test_whole_numbers_may_be_written_as_other_programs_do(repo: Repo) -> None:
    document = first_format(k=5.0) | {"with": _cohort(4.0, k=5.0, successRate=1), "without": _cohort(2.0)}
    path = put(repo.path, "demo", document)
    found = evidence(repo.path, "demo")
    assert (found.state, found.why) == ("pass", "benchmark of 2026-03-01: 4/5 with, 2/5 without")
    assert (load(path).k, load(path).with_.successes) == (5, 4)

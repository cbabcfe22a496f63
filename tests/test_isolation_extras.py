"""Ignored files that are brought along, protected files, the environment, and watching the user's checkout."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kcut.isolation import (
    CheckoutFailed,
    clean_environment,
    fingerprint,
    ignored_files,
    inspect,
    protected_paths,
    snapshot,
    venv_inside,
)
from kcut.isolation.extras import Extras, find_extras
from kcut.isolation.repository import literal_pattern
from kcut.model.errors import UsageFault
from tests.conftest import Repo
from tests.guard import Watch, guard
from tests.worktrees import opened, places, plan_of, sh

__all__ = ["guard", "places"]
pytestmark = pytest.mark.usefixtures("places")


@pytest.fixture
def ignoring(repo: Repo) -> Repo:
    """A repository with ignored files."""
    repo.write(".gitignore", ".env\nnode_modules/\n*.log\n/local\n")
    repo.write("packages/app/x", "x\n")
    repo.write("mixed/tracked.txt", "tracked\n")
    repo.commit()
    repo.write(".env", "TOKEN=1\n").chmod(0o600)
    repo.write("node_modules/pkg/index.js", "js\n")
    repo.write("node_modules/.bin/tool", "#!/bin/sh\n", executable=True)
    (repo.path / "node_modules/.bin/alias").symlink_to("tool")
    os.mkfifo(repo.path / "node_modules/pipe")
    repo.write("packages/app/.env", "APP=1\n")
    repo.write("mixed/a.log", "log\n")
    repo.write("local/with space", "x\n")
    repo.write("loose.txt", "neither tracked nor ignored\n")
    return repo


def test_copies_and_links(ignoring: Repo, guard: Watch) -> None:
    guard(ignoring.path)
    for kind in ("sealed", "clone", "worktree"):
        copies = (".env", "node_modules", "mixed", *(() if kind == "worktree" else ("loose.txt",)))
        with opened(ignoring.path, isolation=kind, copy_paths=copies, link_paths=("local",)) as worktree:
            assert (worktree.path / ".env").read_text() == "TOKEN=1\n"
            assert (worktree.path / ".env").stat().st_mode & 0o777 == 0o600
            assert os.access(worktree.path / "node_modules/.bin/tool", os.X_OK)
            assert (worktree.path / "node_modules/.bin/alias").is_symlink()
            assert not (worktree.path / "node_modules/pipe").exists()
            assert (worktree.path / "mixed/a.log").exists()
            assert (worktree.path / "local").is_symlink()
            assert (worktree.path / "local/with space").read_text() == "x\n"
            assert worktree.freeze().changed == ()
            if kind != "worktree":
                assert sh(worktree, "git status --porcelain") == ""
            sh(worktree, "echo mine > .env; rm -r node_modules; echo edited > mixed/tracked.txt")
            assert worktree.freeze().changed == ("mixed/tracked.txt",)


def test_from_a_sub_directory(ignoring: Repo) -> None:
    with opened(ignoring.path / "packages/app", copy_paths=(".env", "../../local")) as worktree:
        assert (worktree.cwd / ".env").read_text() == "APP=1\n"
        assert (worktree.path / "local/with space").exists()
        assert not (worktree.path / ".env").exists()
    with opened(ignoring.path / "packages/app", copy_paths=("node_modules", str(ignoring.path / ".env"))) as worktree:
        assert (worktree.path / "node_modules/pkg").is_dir()
        assert (worktree.path / ".env").exists()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../outside", "not inside"),
        ("/etc/passwd", "not inside"),
        ("out/x", "not inside"),
        (".", "not inside"),
        ("missing", "does not exist"),
        (".git", "git or kcut"),
        (".git/config", "git or kcut"),
        (".claude/eval", "git or kcut"),
        (".claude", "git or kcut"),
        ("a.txt", "tracked"),
    ],
)
def test_what_is_not_brought(ignoring: Repo, path: str, why: str) -> None:
    (ignoring.path / "out").symlink_to("/etc")
    checkout = inspect(ignoring.path)
    for option in ("copy_paths", "link_paths"):
        with pytest.raises(UsageFault, match=why):
            find_extras(checkout, plan_of(checkout, **{option: (path,)}))
    with pytest.raises(UsageFault, match="both"):
        find_extras(checkout, plan_of(checkout, copy_paths=("local",), link_paths=("local",)))


def test_worktreeinclude(ignoring: Repo) -> None:
    ignoring.write(
        ".worktreeinclude", "# what tasks need\n.env\n!packages/app/.env\nnode_modules/\nloose.txt\na.txt\n"
    )
    checkout = inspect(ignoring.path)
    found = find_extras(checkout, plan_of(checkout))
    assert ".env" in found.copies
    assert not {"packages/app/.env", "loose.txt", "a.txt"} & {*found.copies}
    with opened(ignoring.path) as worktree:
        assert (worktree.path / ".env").exists()
        assert (worktree.path / "node_modules/.bin/tool").exists()
        assert sh(worktree, "git status --porcelain") == ""


#: Names that mean something else in an exclude file, each with a name that a pattern for it must not match.
ODD_NAMES = (
    ("new\nline", "new\rline"),
    ("new\nline", "new\n\nline"),
    ("\nfirst", "first"),
    ("last\n", "last"),
    ("sub/a\nb/c", "sub/axb/c"),
    ("cr\r", "cr"),
    ("cr\rin", "crin"),
    ("crlf\r\n", "crlf"),
    ("crlf\r\nx", "crlf"),
    ("#comment", "comment"),
    ("!not", "not"),
    ("space ", "space"),
    ("spaces   ", "spaces"),
    (" space", "space"),
    ("tab\t", "tab"),
    ("back\\slash", "backslash"),
    ("end\\", "end"),
    ("end\\ ", "end "),
    ("st*r", "stor"),
    ("wh?t", "what"),
    ("[ab]", "a"),
    ("[!a]", "b"),
    ("open[", "open"),
    ("**", "anything"),
    ("{a,b}", "a"),
    ("a]", "a"),
    ("\x01\x7f", "\x01"),
    ("\u2028\x85", "\u2028"),
    ("ünï", "üni"),
    (os.fsdecode(b"byte-\xff\n"), os.fsdecode(b"byte-\xfe\n")),
)


@pytest.mark.parametrize(("name", "other"), ODD_NAMES)
def test_odd_names_are_brought_and_show_nowhere(repo: Repo, name: str, other: str) -> None:
    # ignored by a pattern of the user's that trials do not get from the base: only what is brought is hidden there
    repo.write(name, "brought\n")
    repo.write(f"linked/{name}", "linked\n")
    for kind in ("sealed", "clone"):
        with opened(repo.path, isolation=kind, copy_paths=(name,), link_paths=(f"linked/{name}",)) as worktree:
            assert (worktree.path / name).read_text() == "brought\n"
            assert (worktree.path / "linked" / name).is_symlink()
            assert sh(worktree, "git status --porcelain -uall") == ""
            assert worktree.freeze().changed == ()
            Repo(worktree.path).write(other, "another\n")
            Repo(worktree.path).write(f"deeper/{name}", "another\n")
            assert worktree.freeze().changed == tuple(sorted((other, f"deeper/{name}"), key=os.fsencode))


@given(st.text(st.characters(exclude_categories=(), exclude_characters="\0/"), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pattern_matches_the_one_name(repo: Repo, name: str) -> None:
    names = {name, f"x{name}", f"{name}x", name.replace("\n", "?"), name.replace("\r", "")} - {"", ".", "..", ".git"}
    try:
        raw = {each: os.fsencode(each) for each in names}
    except UnicodeEncodeError:
        assume(False)
    assume(name in names)
    repo.write(".git/info/exclude", os.fsencode(literal_pattern(name)) + b"\n")
    # with `./` in front no name is a pathspec with magic
    asked = b"".join(b"./" + each + b"\0" for each in raw.values())
    done = subprocess.run(
        ["git", "check-ignore", "-z", "--stdin", "--no-index"],
        cwd=repo.path,
        input=asked,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"./" + raw[name] + b"\0"


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf.env\n",
        b"\xef\xbb\xbf\n.env",
        b".env\r\n",
        b".env\r",
        b".env   \n",
        b"#\x0cnode_modules\n.env\n",
        "#\u2028local\n.env\n".encode(),
        b"#\x85local\n.env\n",
        b"#\rlocal\n.env\n",
        b"packages/../.env\n.env\n",
    ],
)
def test_a_worktreeinclude_is_read_as_git_reads_it(ignoring: Repo, text: bytes) -> None:
    ignoring.write(".worktreeinclude", text)
    at = inspect(ignoring.path)
    assert find_extras(at, plan_of(at)).copies == (".env", "packages/app/.env")


def test_a_link_of_the_base_in_the_way(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (repo.path / "data").symlink_to(tmp_path / "precious")
    repo.commit()
    source = tmp_path / "source"
    (source / "data").mkdir(parents=True)
    (source / "data/x").write_text("x")
    with opened(repo.path) as worktree, pytest.raises(CheckoutFailed, match="data"):
        Extras(copies=("data/x",)).bring(source, worktree.path)
    assert list((tmp_path / "precious").iterdir()) == []


def test_ignored_files(ignoring: Repo, guard: Watch) -> None:
    guard(ignoring.path)
    ignoring.write(".claude/eval/kcut.db", "")
    (ignoring.path / ".claude/eval/.gitignore").write_text("/*\n")
    found = ignored_files(inspect(ignoring.path))
    assert set(found) == {".env", "node_modules/", "packages/app/.env", "mixed/a.log", "local/"}


def test_protected_files(repo: Repo) -> None:
    repo.write("score.sh", "#!/bin/sh\n", executable=True)
    repo.write("tools/real.sh", "x")
    repo.write("tests/test_a.py", "a")
    repo.write("tests/data/x", "a")
    repo.write("sub/score.sh", "x")
    repo.write(".claude/eval/benchmarks/x.json", "{}")
    (repo.path / "run").symlink_to("tools/real.sh")
    (repo.path / "bin").symlink_to("tools")
    (repo.path / "loop").symlink_to("loop")
    (repo.path / "absolute").symlink_to("/bin/sh")
    (repo.path / "up").symlink_to("../../../etc/passwd")
    repo.commit()
    repo.write("untracked.sh", "x")
    at = inspect(repo.path)
    assert protected_paths(at, ("./score.sh", "pytest", "untracked.sh", "/bin/sh", "", "tests")) == ("score.sh",)
    assert protected_paths(at, ("run",)) == ("run", "tools/real.sh")
    assert protected_paths(at, ("bin/../bin/./real.sh",)) == ("bin", "tools/real.sh")
    assert protected_paths(at, ("loop", "absolute", "up", "../../x")) == ("absolute", "loop", "up")
    assert protected_paths(at, (), ("tests", "*.sh"), ("/sub/",)) == (
        "score.sh",
        "tests/data/x",
        "tests/test_a.py",
        "tools/real.sh",
    )
    assert protected_paths(at, ("score.sh",), (), ("score.sh",)) == ()
    assert protected_paths(at, ()) == protected_paths(at, ("/bin/sh", "")) == ()
    assert protected_paths(at, (), ("*",)).count(".claude/eval/benchmarks/x.json") == 0
    within = inspect(repo.path / "sub")
    assert protected_paths(within, ("score.sh", "../run")) == ("run", "sub/score.sh", "tools/real.sh")


def test_protected_files_among_uncommitted_changes(repo: Repo) -> None:
    repo.write("old.sh", "x")
    repo.commit()
    repo.write("fresh.sh", "x")
    (repo.path / "run").symlink_to("fresh.sh")
    (repo.path / "old.sh").unlink()
    at = inspect(repo.path)
    assert protected_paths(at, ("run", "old.sh")) == ("old.sh",)
    assert protected_paths(at, ("run", "old.sh"), dirty=True) == ("fresh.sh", "run")
    with opened(repo.path, ("fresh.sh", "run"), dirty_mode="include", snapshot=snapshot(at)) as worktree:
        sh(worktree, "echo evil > fresh.sh; rm run; echo evil > run")
        assert worktree.restore() == ("fresh.sh", "run")
        assert (worktree.path / "run").is_symlink()


def test_patterns_that_are_none(repo: Repo) -> None:
    at = inspect(repo.path)
    with pytest.raises(UsageFault, match="--protect"):
        protected_paths(at, (), ("!",))
    repo.write(".worktreeinclude", "!\n")
    with pytest.raises(UsageFault, match="worktreeinclude"):
        find_extras(at, plan_of(at))


def test_the_environment_of_trials() -> None:
    asked = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True)
    cleared = [
        *asked.stdout.split(),
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_12",
        "GIT_QUARANTINE_PATH",
        "GIT_NAMESPACE",
    ]
    cleared += ["GIT_TEMPLATE_DIR", "GIT_DEFAULT_HASH", "GIT_EXTERNAL_DIFF", "GIT_REFLOG_ACTION", "KCUT_COLOR"]
    cleared += ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID"]
    cleared += ["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "CURSOR_AGENT"]
    kept = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH", "GIT_SSH_COMMAND", "PATH"]
    kept += [
        "GIT_AUTHOR_NAME",
        "GIT_COMMITTER_DATE",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_USE_BEDROCK",
        "GEMINI_API_KEY",
    ]
    kept += ["CODEX_HOME", "HARNESS_COMPONENT", "GIT_TRACE", "GIT_PAGER", "GIT_EDITOR"]
    assert sorted(clean_environment(dict.fromkeys([*cleared, *kept], "1"))) == sorted(kept)


def test_what_points_into_the_checkout(repo: Repo, tmp_path: Path) -> None:
    at = inspect(repo.path)
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    assert venv_inside(at, {}) is None
    assert venv_inside(at, {"VIRTUAL_ENV": str(repo.path / ".venv")}) is None
    assert venv_inside(at, {"VIRTUAL_ENV": str(tmp_path / "venv"), "PYTHONPATH": "src:/nowhere"}) is None
    assert venv_inside(at, {"PYTHONPATH": f"/x{os.pathsep}{repo.path}/src"}) == f"{repo.path}/src"
    (packages / "x.pth").write_text(f"import os\n{repo.path}/src\n")
    assert venv_inside(at, {"VIRTUAL_ENV": str(tmp_path / "venv")}) == f"{repo.path}/src"
    (packages / "x.pth").unlink()
    (packages / "__editable___x_finder.py").write_text(f"MAPPING = {{'x': '{repo.path}/x'}}\n")
    assert venv_inside(at, {"VIRTUAL_ENV": str(tmp_path / "venv")}) == f"{repo.path}/x"


def test_watching_the_checkout(ignoring: Repo, guard: Watch) -> None:
    at = inspect(ignoring.path)
    guard(ignoring.path)
    first = fingerprint(at, ("local",))
    assert first.differences(fingerprint(at, ("local",))) == ()
    guard.check()
    ignoring.write(".claude/eval/kcut.db", "")
    ignoring.write("some.log", "ignored")
    assert first.differences(fingerprint(at, ("local",))) == ()
    ignoring.write("a.txt", "edited\n")
    ignoring.write("loose.txt", "edited again, untracked before and after\n")
    ignoring.write("new\nfile", "")
    ignoring.write("local/with space", "written through a link")
    (ignoring.path / "packages/app/x").unlink()
    second = fingerprint(at, ("local",))
    changed = {"a.txt", "loose.txt", "new\nfile", "local/with space", "packages/app/x"}
    assert set(first.differences(second)) == changed
    ignoring.git("checkout", "-q", "-b", "other")
    assert second.differences(fingerprint(at, ("local",))) == ("HEAD",)
    ignoring.git("commit", "-q", "--allow-empty", "-m", "x")
    assert second.differences(fingerprint(at, ("local",))) == ("HEAD",)
    guard(ignoring.path)


def test_a_checkout_that_cannot_be_read_has_not_changed(repo: Repo, tmp_path: Path) -> None:
    at = inspect(repo.path)
    first = fingerprint(at)
    (repo.path / ".git").rename(tmp_path / "away")
    unknown = fingerprint(at)
    assert first.differences(unknown) == unknown.differences(first) == ()
    repo.path.rename(tmp_path / "moved")
    assert not fingerprint(at).known


@pytest.mark.parametrize("kind", ["pipe", "folder", "large"])
def test_a_worktreeinclude_that_is_no_text_file(repo: Repo, kind: str) -> None:
    include = repo.path / ".worktreeinclude"
    if kind == "pipe":
        os.mkfifo(include)
    elif kind == "folder":
        include.mkdir()
    else:
        include.write_bytes(b"#" * (1 << 21))
    with pytest.raises(UsageFault, match=r"\.worktreeinclude cannot be read: it is (not a regular file|larger than)"):
        find_extras(inspect(repo.path), plan_of(inspect(repo.path)))


@pytest.mark.parametrize("where", ["repo/.venv", "venv"])
@pytest.mark.parametrize(
    ("file", "text", "threat"),
    [
        ("requests/__init__.py", "", None),
        ("distutils-precedence.pth", "import os; var = '/'\n# {root}/src\n\n", None),
        ("own.pth", "{venv}/share/extra\nplugins\n", None),
        ("_x.pth", "{root}/src\n", "{root}/src"),
        ("_x.pth", "../../../../{up}repo/src\n", "{root}/src"),
        ("__editable___x_finder.py", "MAPPING = {{'x': '{root}/src/x'}}", "{root}/src/x"),
        ("x-1.dist-info/direct_url.json", '{{"dir_info": {{}}, "url": "file://{root}/a%20b"}}', "{root}/a b"),
        ("x-1.dist-info/direct_url.json", '{{"url": "https://example.org/x.tar.gz", "archive_info": {{}}}}', None),
        ("x-1.dist-info/direct_url.json", '{{"url": "file:///elsewhere/x", "dir_info": {{}}}}', None),
    ],
)
def test_only_an_environment_with_code_of_the_checkout_is_a_threat(
    repo: Repo, tmp_path: Path, where: str, file: str, text: str, threat: str | None
) -> None:
    venv = tmp_path / where
    path = venv / "lib/python3.11/site-packages" / file
    path.parent.mkdir(parents=True)
    names = {"root": repo.path, "venv": venv, "up": "../" if where == "repo/.venv" else ""}
    path.write_text(text.format(**names))
    found = venv_inside(inspect(repo.path), {"VIRTUAL_ENV": str(venv)})
    assert (None if found is None else os.path.realpath(found)) == (threat and threat.format(**names))

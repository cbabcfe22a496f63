"""What the lint finds, and above all what it leaves alone."""

import pytest

from kcut.checkpoint import parse_spec
from kcut.checkpoint.lint import Finding, lint
from kcut.checkpoint.shell import parse_shell


def of_script(script: str, info: str = "eval") -> list[Finding]:
    """The findings about one check; the label keeps the spec aware of failures."""
    return list(lint(parse_spec(f"- [ ] **AC-1 (refuses x):** y\n~~~~~{info}\n{script}\n~~~~~\n")))


def kinds(text: str) -> list[tuple[str, int, str | None]]:
    return [(finding.kind, finding.line, finding.id) for finding in lint(parse_spec(text))]


CANNOT_FAIL = [
    "true",
    ":",
    "exit 0",
    "echo ok",
    "run || true",
    "run || :",
    "run || echo failed",
    "run; true",
    "run; exit 0",
    "run\necho done",
    "run\nexit 0\ntest -f never",
    "run &",
    "run & wait",
    "run | true",
    "echo ok | cat",
    "printf x | tee | sort",
    "test 1 = 1",
    "[ -n word ]",
    "! false",
    "{ run || true; }",
    "if run; then echo good; else echo bad; fi",
    "for f in *.py; do echo $f; done",
    "set -e\necho a\necho b",
    "printf '%s' \"it's\" >/dev/null 2>&1",
]


@pytest.mark.parametrize("script", CANNOT_FAIL)
def test_a_check_that_cannot_fail(script: str) -> None:
    assert [(finding.kind, finding.line, finding.id) for finding in of_script(script)] == [("falsifiable", 2, "AC-1")]


def test_bash_can_fail_where_sh_cannot() -> None:
    assert [finding.kind for finding in of_script("run; true")] == ["falsifiable"]
    assert of_script("run; true", "eval bash") == []
    assert [finding.kind for finding in of_script("echo ok", "eval bash")] == ["falsifiable"]


MASKED = [
    ("cd sub\nmake", 3, "cd sub"),
    ("run\ntest -f out", 3, "run"),
    ("run; test -f out", 3, "run"),
    ("set -e\nset +e\nrun\ntest -f out", 5, "run"),
    ("test -f a && test -f b\ntest -f c", 3, "test -f a && test -f b"),
    ("set -e\ntest -f a && test -f b\ntest -f c", 4, "test -f a"),
    ("set -e\n! grep -q x f\ntest -f c", 4, "! grep -q x f"),
    ("set -e\nfor f in a b; do\n  ! grep -q x $f\ndone", 5, "! grep -q x $f"),
    ("pytest | tee log", 3, "pytest"),
    ("run | grep -q ok || exit 1", 3, "run"),
    ("set -e\nrun --all | grep -q ok", 4, "run --all"),
    ("for f in *.py; do\n  check $f\ndone", 4, "check $f"),
    ("(cd sub; make)", 3, "cd sub"),
    ("{ run; check; } && test -f a\ntest -f b", 3, "{ run; check; } && test -f a"),
    ("set -e\nif test -f a; then\n  ! run\n  test -f b\nfi", 5, "! run"),
    ("python3 - <<'E' | sort\nE", 3, "python3 -"),
    (
        "run --with-a-very-long-list-of-arguments --that-goes-on --and-on --and-on\ntest -f a",
        3,
        "run --with-a-very-long-list-of-arguments --that-goes-on -...",
    ),
    ("run; rm -rf out", 3, "run"),
    ("awk '/bad/ { exit 1 }' f | cat", 3, "awk '/bad/ { exit 1 }' f"),
    ("grep x f | tee log", 3, "grep x f"),
    ("diff a b | head -3", 3, "diff a b"),
    ("cat f | sort | uniq", 3, "cat f"),
    ("git diff --exit-code | tail -1 >out", 3, "git diff --exit-code"),
    ("test -f a && ls b | wc -l", 3, "ls b"),
    ("set -e\ndiff a b | cat\ntest -f c", 4, "diff a b"),
    ("diff a b | cat && test -f c", 3, "diff a b"),
    ("diff a b | cat || exit 1", 3, "diff a b"),
    ("if diff a b | cat; then exit 0; else exit 1; fi", 3, "diff a b"),
    ("set -e\nfor f in *; do\n  cmp $f old/$f | sed s/a/b/\ndone", 5, "cmp $f old/$f"),
    ("(diff a b | cat)", 3, "diff a b"),
    ("{ diff a b; } | cat", 3, "diff a b"),
]


@pytest.mark.parametrize(("script", "line", "command"), MASKED)
def test_a_block_that_loses_a_failure(script: str, line: int, command: str) -> None:
    (finding,) = of_script(script)
    assert (finding.kind, finding.line, finding.id) == ("masked", line, "AC-1")
    assert f"`{command}`" in finding.problem


SOUND = [
    "test -f a",
    "cd sub && make",
    "set -e\ncd sub\nmake",
    'set -eu\nd=$(mktemp -d)\ntrap \'rm -rf "$d"\' EXIT\ncd "$d"\nrun',
    "set -o errexit\nrun\ntest -f out",
    "set -e\ntest -f a\n! grep -q x f",
    "set -e\nif grep -q x f; then exit 1; fi\ntest -f c",
    "run && exit 1\ntest $? -eq 2",
    "run; test $? -eq 3",
    "run >out; code=$?\ntest $code -eq 3",
    'out=$(run)\ntest "$out" = ok',
    "run || exit 1\ntest -f out",
    "run || { echo bad; exit 1; }\necho good",
    "if ! run; then exit 1; fi\necho good",
    "grep -q bad f && exit 1\ntest -f g",
    "run || true\ntest -f out",
    "mkdir -p out\nrun",
    "cat f | sort | grep -q x",
    "echo input | run",
    "awk '{ print $1 }' f | grep -q x",
    "ls | sort | grep -qx a",
    "set -e\nls | sort > got\ndiff got want",
    "set -e\ngrep x f | sort > got\ndiff got want",
    "set -e\ngrep x f | tee got\ndiff got want",
    "{ grep x f | sort; } | diff - want",
    "set -e\n(cut -f1 f | sort) > got\ndiff got want",
    "sort f | sort -c",
    "sed -n p f | sed '/bad/q1'",
    'test "$(ls | wc -l)" -eq 3',
    "set -o pipefail\ndiff a b | cat",
    "awk '/bad/ { exit 1 }' f | cat || true\ntest -f a",
    "exec > log\nset -e\nls | sort\ntest -s log",
    "set -e\nf() { cut -f1 $1 | sort; }\nf a > a1\nf b > b1\ncmp a1 b1",
    "seq 3 | sort | run",
    'set -e\n[ -z "$x" ] || exit 1\nrun',
    "set -e\nfor f in *.py; do\n  check $f\ndone",
    "for f in *.py; do\n  check $f || exit 1\ndone",
    "set -e\nserver &\ntrap 'kill $!' EXIT\nrun",
    "f() { run; test -f out; }\nf",
    "echo ${missing:?}",
    "test -f out # ; true",
    "echo '|| true' >/dev/null; test -f x",
    "set -e\ncat > f <<'E'\nrun; true\nit's | (\nE\nrun f",
    "trap 'exit 1' TERM\nrun",
    ". ./lib.sh\ntrue",
    'test "$x" = 1',
    "[ a = b ]",
    "case $x in\n  a) run ;;\n  *) exit 1 ;;\nesac\necho ok",
]


@pytest.mark.parametrize("script", SOUND)
def test_what_is_sound_is_left_alone(script: str) -> None:
    assert of_script(script) == []


@pytest.mark.parametrize(
    "script",
    [
        "(",
        "if true",
        "a;;b",
        "echo 'open",
        'echo "$(',
        "cat <<E\nno end",
        "fi",
        "a | | b",
        "x=(",
        "${",
        "| a",
        "a | ! b",
    ],
)
def test_what_cannot_be_followed_is_left_alone(script: str) -> None:
    assert parse_shell(script) is None
    assert of_script(script) == []


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        ("# only a comment", []),
        ("a && b || c; d & e", ["a && b || c", "d", "e"]),
        ("a \\\n  b", ["a \\\n  b"]),
        ("a | b |\n c && \\\n d", ["a | b |\n c && \\\n d"]),
        ('x=1 y=$(z "$(w)") cmd \'a b\' "c \\" `d` ${e:-\'}\'}"', None),
        ("echo a#b '#' ${x#y} $# # comment", None),
        ("cat <<E >out; cat <<-'F'\n$(\nE\n\tit's\n\tF\nb", ["cat <<E >out", "cat <<-'F'", "b"]),
        ("x=$(cat <<'E'\nit's (\nE\n)\ntest $x", ["x=$(cat <<'E'\nit's (\nE\n)", "test $x"]),
        ("a >out 2>&1 <in 3<>f >|g", None),
        ("a &>all; b >& all", ["a &>all", "b >& all"]),
        ("diff <(a | b) <(c)", None),
        ("while read -r l; do echo $l; done < <(ls)", None),
        ("a=(1 2\n 3)\na+=(4)", ["a=(1 2\n 3)", "a+=(4)"]),
        ("[[ $a == b* && -f c ]] && d", None),
        ("((x++)); echo $((1 + (2))) $'it\\'s'", ["((x++))", "echo $((1 + (2))) $'it\\'s'"]),
        ("for ((i = 0; i < 3; i++)); do a; done", None),
        ("for i; do a; done", None),
        ("until a; do b; done | c", None),
        ("case $x in a | b) c ;; (d) e ;; *) ;; esac", None),
        ("case $x in a) b ;& c) d ;;& *) e\nesac", None),
        (
            "f() {\n a\n}\nfunction g { b; }\nfunction h() ( c )",
            ["f() {\n a\n}", "function g { b; }", "function h() ( c )"],
        ),
        ("! { a; } 2>/dev/null", None),
        ("echo } fi done", None),
    ],
)
def test_the_statements_of_a_script(script: str, statements: list[str] | None) -> None:
    found = parse_shell(script)
    assert found is not None
    assert [each.text for each in found] == ([script] if statements is None else statements)


def test_deep_nesting_takes_no_time_and_no_stack() -> None:
    assert parse_shell("$(" * 40 + "x" + ")" * 40) is not None
    assert parse_shell("(" * 20_000) is None
    assert parse_shell("x\n" * 100_000) is None


def test_criteria_that_nothing_tests() -> None:
    assert kinds("- [ ] **AC-1 (no a):** x\n- [ ] **AC-2 (b):** y\n~~~eval\n# nothing\n~~~\n") == [
        ("testable", 1, "AC-1"),
        ("testable", 2, "AC-2"),
    ]


def test_criteria_that_are_not_disjoint() -> None:
    text = (
        "- [ ] **AC-1 (refuses  a):** x\n```eval\n# one\ntest   -f a\n```\n"
        "- [ ] **AC-2 (Refuses a):** y\n```eval\n\ntest -f a\n```\n"
        "- [ ] **AC-3 (b):** y\n```eval bash\ntest -f a\n```\n"
    )
    assert kinds(text) == [("disjoint", 6, "AC-2"), ("disjoint", 6, "AC-2")]


@pytest.mark.parametrize(
    "criterion",
    [
        "(file exists):** a.txt\n```eval\ntest -f a.txt\n```\n",
        "(sorted):** imports are sorted\n```eval\npython3 -m tidy --check src\n```\n",
        "(notes):** the noted nodes\n```eval\ntest -f notes\n```\n",
    ],
)
def test_a_spec_that_looks_at_the_good_side_only(criterion: str) -> None:
    assert kinds(f"# spec\n\n- [ ] **AC-1 {criterion}") == [("failure-mode", 3, None)]


@pytest.mark.parametrize(
    "criterion",
    [
        "(refuses a bad file):** x\n```eval\ntest -f a\n```\n",
        "(a):** a missing file is an error\n```eval\ntest -f a\n```\n",
        "(a):** exits 2 on k = 0\n```eval\ntest -f a\n```\n",
        "(a):** x\n```eval\n! grep -q x a\n```\n",
        "(a):** x\n```eval\ntest ! -e a\n```\n",
        "(a):** x\n```eval\nrun; test $? -eq 2\n```\n",
        "(a):** x\n```eval\nif run; then exit 1; fi\n```\n",
    ],
)
def test_a_spec_that_looks_at_the_bad_side_too(criterion: str) -> None:
    assert kinds(f"- [ ] **AC-1 {criterion}") == []


def test_what_is_not_read_as_meant() -> None:
    text = (
        "```eval\ntrue # belongs to nobody\n```\n"
        "- [ ] **AC-1 (no x):** y\n```eval\ntest -f a\n```\n```eval\ntest -f b\n```\n"
        "- [ ] **AC-2**: not a criterion\n\n~~~\nopen\n"
    )
    found = lint(parse_spec(text))
    assert [(each.kind, each.line, each.id) for each in found] == [
        ("structure", 1, None),
        ("structure", 5, "AC-1"),
        ("structure", 11, None),
        ("structure", 13, "AC-1"),
    ]
    assert all(each.problem and each.advice for each in found)

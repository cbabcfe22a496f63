"""Properties of the reader and of the lint: round trips, arbitrary text, and claims that a real shell confirms."""

import itertools
import os
import subprocess
from textwrap import indent

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kcut.checkpoint import Check, Criterion, Spec, parse_spec, rerun
from kcut.checkpoint.failure import BASH, SH, cannot_fail, lost_failures
from kcut.checkpoint.lint import lint
from kcut.checkpoint.shell import parse_shell
from kcut.model.errors import UsageFault

#: A slow machine is no failure.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,8}", fullmatch=True)
PRINTABLE = st.characters(codec="utf-8", exclude_categories=["C", "Z"])
WORDS = st.lists(st.text(PRINTABLE | st.sampled_from("()*`:[]#>-\\<&~"), min_size=1, max_size=8), max_size=5).map(
    " ".join
)
LABELS = WORDS.filter(lambda text: "):**" not in text + ")")
LINES = st.text(PRINTABLE | st.sampled_from(" \t`~#>-*"), max_size=20)
COMMANDS = st.lists(LINES, min_size=1, max_size=5).map("\n".join)


def is_empty(command: str) -> bool:
    return all(not line.strip() or line.lstrip().startswith("#") for line in command.split("\n"))


@st.composite
def printed(draw: st.DrawFn) -> tuple[str, list[tuple[str, str, str, tuple[str, str, float] | None]]]:
    """A spec as somebody might write it, and the criteria that it has."""
    text, expected = "", []
    for name in draw(st.lists(NAMES, max_size=5, unique=True)):
        label, prose = draw(LABELS), draw(WORDS)
        marker = draw(st.sampled_from(["-", "*", "+", "1.", "12)"]))
        pad = " " * (len(marker) + 1)
        text += f"{marker} [{draw(st.sampled_from(' xX'))}] **AC-{name} ({label}):** {prose}\n"
        if draw(st.booleans()):
            text += "\n" + indent("some prose\n\n> a quote\n", pad)
        check = None
        if draw(st.booleans()):
            command, shell, limit = draw(COMMANDS), draw(st.sampled_from(["sh", "bash"])), draw(st.integers(1, 600))
            char = draw(st.sampled_from("`~"))
            fence = char * (
                max([2, *(len(list(run)) for each, run in itertools.groupby(command) if each == char)]) + 1
            )
            inside = draw(st.booleans())
            block = f"{fence}eval {shell} timeout={limit}\n{command}\n{fence}\n"
            text += "\n" + (indent(block, pad, lambda _: True) if inside else block)
            check = None if is_empty(command) else (command, shell, float(limit))
        text += draw(st.sampled_from(["", "\n", "\n<!--\n- [ ] **AC-no (no):** no\n-->\n\n", "\n# heading\n\n"]))
        expected.append((f"AC-{name}", label, prose, check))
    return text, expected


@settings(PATIENT)
@given(printed(), st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]))
def test_what_is_printed_is_read_back(
    spec: tuple[str, list[tuple[str, str, str, tuple[str, str, float] | None]]], end: str, bom: str
) -> None:
    text, expected = spec
    read = parse_spec(bom + text.replace("\n", end))
    assert [
        (each.id, each.label, each.prose, each.check and (each.check.command, each.check.shell, each.check.timeout))
        for each in read.criteria
    ] == expected
    assert not read.unclosed


PIECES = st.sampled_from(
    [
        "- ",
        "* ",
        "1. ",
        "    ",
        "  ",
        "\t",
        "\n",
        "\n\n",
        "> ",
        "# ",
        "---\n",
        "===\n",
        "[ ] ",
        "[x]",
        "**AC-1 (a):** x",
        "**AC-2 (b (c):** y\n",
        "- [ ] **AC-3 (c):** z\n",
        "```",
        "~~~",
        "````",
        "```eval\n",
        "~~~eval bash\n",
        "false\n",
        "<!--",
        "-->",
        "<div>\n",
        "</div>",
        "<pre>",
        "[a]: b\n",
        "`",
        "\r",
        "\r\n",
        "\x0b",
        "\ufeff",
        "\u2028",
        "\\",
        "&amp;",
        "timeout=1",
        "<?",
        "<![CDATA[",
        "é",
        "\x1b[2J",
    ]
)
MESS = st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join)


@settings(PATIENT, max_examples=300)
@given(MESS)
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        spec = parse_spec(text)
    except UsageFault:
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    for criterion in spec.criteria:
        assert 1 <= criterion.line <= lines
        assert criterion.check is None or criterion.unclosed is None
    for unclosed in spec.unclosed:
        assert 1 <= unclosed.start <= unclosed.end <= lines
    assert all(1 <= finding.line <= lines + 1 for finding in lint(spec))


@settings(PATIENT)
@given(MESS, st.sampled_from(["quote", "tilde", "comment", "indented", "item"]))
def test_nothing_inside_an_example_a_quote_or_a_comment_is_a_check(mess: str, where: str) -> None:
    inside = mess.replace("\r", "").replace("\0", "") + "\n- [ ] **AC-in (x):** y\n```eval\nfalse\n```\n"
    assume("-->" not in inside)
    if where == "quote":
        text = indent(inside, "> ", lambda _: True)
    elif where == "tilde":
        text = "~" * 60 + "\n" + inside + "~" * 60 + "\n"
    elif where == "comment":
        text = f"<!--\n{inside}-->\n"
    elif where == "indented":
        text = indent(inside, "    ", lambda _: True)
    else:
        text = "- note\n\n" + indent("~" * 60 + "\n" + inside + "~" * 60 + "\n", "  ", lambda _: True)
    spec = parse_spec(f"- [ ] **AC-out (x):** y\n\n# end\n\n{text}\n# after\n")
    assert [each.id for each in spec.criteria] == ["AC-out"]
    assert spec.checks == ()
    assert spec.orphans == ()


# --- the lint's claims, against a real shell ---

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "true",
        "false",
        ":",
        "echo x",
        "exit 0",
        "exit 1",
        "exit",
        "! a",
        "! false",
        "x=$(a)",
        "x=1",
        "wait",
        "test 1 = 1",
        "[ a = b ]",
        "[ ! -n '' ]",
        "a >/dev/null",
        "echo x >/nonexistent/f",
        "set -e",
        "set +e",
        "set -eu",
        "echo $?",
        "test $? -eq 0",
        "trap 'exit 1' EXIT",
        "return 1",
        "f() { exit 1; }",
    ]
)


def join(parts: tuple[str, ...], form: str) -> str:
    return form.format(*parts, *parts)


FORMS = st.sampled_from(
    [
        "{0} && {1}",
        "{0} || {1}",
        "{0}; {1}",
        "{0}\n{1}\n{2}",
        "{{ {0}; }}",
        "( {0} )",
        "{0} | {{ {1}; }}",
        "if {0}; then {1}; fi",
        "if {0}; then {1}; else {2}; fi",
        "if {0}; then {1}; elif {2}; then {0}; fi",
        "for i in 1 2; do {0}; done",
        "while {0}; do {1}; break; done",
        "case x in y) {0};; x) {1};; esac",
        "{{ {0}; }} || true",
        "{0} || exit 1\n{1}",
        "cat >/dev/null <<E\n)(\nE\n{0}",
        "{0} # it's\n{1}",
        "f() {{ {0}; }}\n{1}",
    ]
)
SCRIPTS = st.recursive(ATOMS, lambda inner: st.builds(join, st.tuples(inner, inner, inner), FORMS), max_leaves=8)


def exits(script: str, shell: tuple[str, ...], a: int, b: int) -> int:
    stubs = f"a() {{ return {a}; }}\nb() {{ return {b}; }}\n"
    done = subprocess.run(
        [*shell, "-c", stubs + script], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    return done.returncode


@settings(PATIENT, max_examples=150)
@given(SCRIPTS, st.booleans())
def test_a_check_that_is_said_not_to_fail_never_does(text: str, bash: bool) -> None:
    script = parse_shell(text)
    assert script is not None
    lost_failures(script, BASH if bash else SH)
    if cannot_fail(script, BASH if bash else SH) is None:
        return
    shell = ("bash", "-euo", "pipefail") if bash else ("/bin/sh",)
    assert [exits(text, shell, a, b) for a in (0, 1) for b in (0, 1)] == [0, 0, 0, 0]


@settings(PATIENT)
@given(st.text(st.characters(codec="utf-8"), max_size=60) | MESS)
def test_any_script_is_followed_or_left_alone(text: str) -> None:
    script = parse_shell(text)
    if script is not None:
        cannot_fail(script, SH)
        lost_failures(script, BASH)


@settings(PATIENT, max_examples=60)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=30),
    st.sampled_from(["sh", "bash"]),
    st.sampled_from(["/bin/sh", "bash"]),
)
def test_the_line_to_run_again_runs_the_same(argument: str, shell: str, prompt: str) -> None:
    quoted = argument.replace("'", "'\\''")
    script = f"# first\nprintf '%s' '{quoted}'\nexit 7\n"
    line = rerun(Check(script, "bash" if shell == "bash" else "sh", 60.0, 1))
    assert line.isprintable()
    done = subprocess.run(
        [prompt, "-c", line], stdin=subprocess.DEVNULL, capture_output=True, env=os.environ, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (7, argument.encode())


def test_a_spec_is_a_value() -> None:
    check = Check("true", "sh", 60.0, 2)
    assert Spec((Criterion("AC-1", "a", "b", 1, check),)).checks == (check,)

"""Which files a score command runs."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.scoreline import executables

CASES: dict[str, tuple[str, ...]] = {
    # the first word of a simple command
    "./score.sh": ("score.sh",),
    "tests/run.sh -v": ("tests/run.sh",),
    "../up/y.sh": ("../up/y.sh",),
    "/abs/./x": ("/abs/x",),
    "a/../b/./c": ("b/c",),
    "test -f out.txt": (),
    "make test": (),
    "pytest tests/test_a.py": (),
    "": (),
    "./a; ./b && ./c || ./d | ./e & ./f\n./g": ("a", "b", "c", "d", "e", "f", "g"),
    "./a && ./a": ("a",),
    "! ./x": ("x",),
    "if ./c1; then ./c2; else ./c3; fi": ("c1", "c2", "c3"),
    "while ./w; do ./v; done": ("w", "v"),
    "{ ./x; }": ("x",),
    "for i in ./no; do ./y $i; done": ("y",),
    "case $x in a) ./m;; *) ./n;; esac": ("m", "n"),
    "f() { ./inner; }; f": ("inner",),
    "./x && \\\n  ./y": ("x", "y"),
    # what stands before it
    "FOO=1 BAR='a b' ./run": ("run",),
    "env ./x": ("x",),
    "env -i A=b -u C ./run": (),
    "env -i -u C A=b ./run": ("run",),
    "env -C d ./x": ("d/x",),
    "env --chdir=d ./x": ("d/x",),
    "env -S 'python x.py'": ("x.py",),
    "time ./t": ("t",),
    "time -p ./t": ("t",),
    "timeout -k 5 60 ./slow": ("slow",),
    "nice -n 5 nohup ./x": ("x",),
    "exec ./e": ("e",),
    # folders
    "cd sub && ./x.sh": ("sub/x.sh",),
    "cd sub; sh x.sh": ("sub/x.sh",),
    "cd -- sub && cd b && ./x.sh": ("sub/b/x.sh",),
    "cd a && ./x; cd ..; ./y": ("a/x", "y"),
    "(cd a && ./b); ./c": ("a/b", "c"),
    "cd a & ./b": ("b",),
    "cd $X && ./y": (),
    "cd && ./y": (),
    "cd - && ./y": (),
    "cd /abs && ./y": ("/abs/y",),
    "$PWD/score.sh; ${PWD}/b": ("score.sh", "b"),
    '"$PWD"/score.sh': ("score.sh",),
    '"$(pwd)"/score.sh': ("score.sh",),
    "$(pwd)/score.sh; `pwd`/b; sh $(pwd -P)/c": ("score.sh", "b", "c"),
    '"`pwd`/score.sh"': ("score.sh",),
    "cd sub && $(pwd)/x": ("sub/x",),
    # a PATH of its own
    "PATH=$PWD/bin:$PATH score": ("bin/score",),
    'PATH="$(pwd)/bin:$PATH" time score; other': ("bin/time", "bin/score"),
    "env PATH=bin:/x score": ("bin/score", "/x/score"),
    'export PATH="$PWD/a:$PATH"; b && c/d': ("a/b", "c/d"),
    "PATH=a:$PATH; b": ("a/b",),
    # interpreters
    "sh score.sh": ("score.sh",),
    "sh -eu score.sh arg": ("score.sh",),
    "bash -o pipefail -x score.sh": ("score.sh",),
    "/bin/bash --norc --rcfile no score.sh": ("/bin/bash", "score.sh"),
    "bash -c './a && b/c' ./no": ("a", "b/c"),
    "bash -euo pipefail -c 'cd x; ./y'": ("x/y",),
    "bash -c \"bash -c './deep'\"": ("deep",),
    "sh -s < score.sh": ("score.sh",),
    "sh < score.sh": ("score.sh",),
    ". ./lib.sh": ("lib.sh",),
    "source env/activate && pytest": ("env/activate",),
    "eval './e 1'": ("e",),
    "python score.py": ("score.py",),
    "python3.12 -u -W ignore -Xdev score.py a.py": ("score.py",),
    ".venv/bin/python -I t/score.py": (".venv/bin/python", "t/score.py"),
    "python -c 'import x'": (),
    "python -m pkg.mod x": ("pkg/mod.py", "pkg/mod/__main__.py"),
    "python -m pytest tests/test_a.py": ("pytest.py", "pytest/__main__.py"),
    "cd lib && python -m check": ("lib/check.py", "lib/check/__main__.py"),
    "python score": ("score", "score/__main__.py"),
    "node --test tests/a.js": ("tests/a.js",),
    "node -r ./no.js score": ("score", "score.js"),
    "node -e 'x'": (),
    "ruby -Ilib t.rb": ("t.rb",),
    "perl -Ilib -ne 'print' no": (),
    "perl t/x.pl": ("t/x.pl",),
    "php -d a=b -f x.php": ("x.php",),
    "deno run -A x.ts": ("x.ts",),
    "bun run x.ts": ("x.ts",),
    "bun x.ts": ("x.ts",),
    "awk -f p.awk data": ("p.awk",),
    "uv run score.py": ("score.py",),
    "uv run --with x python s/t.py": ("s/t.py",),
    "uv run --directory d ./x": ("d/x",),
    "poetry run ./x": ("x",),
    "npx -y tsx a/b.ts": ("a/b.ts",),
    "coverage run -m pkg": ("pkg.py", "pkg/__main__.py"),
    "python3 -m coverage run --source s score.py a": ("coverage.py", "coverage/__main__.py", "score.py"),
    "python3 -m coverage run -m pkg": ("coverage.py", "coverage/__main__.py", "pkg.py", "pkg/__main__.py"),
    "python3 -m coverage report no.py": ("coverage.py", "coverage/__main__.py"),
    "python3 - < score.py": ("score.py",),
    "python3 - a < score.py": ("score.py",),
    "/usr/bin/env -S sh s.sh": ("/usr/bin/env", "s.sh"),
    "env -S 'A=1 sh -e' s.sh": ("s.sh",),
    "env --split-string='sh -e s.sh'": ("s.sh",),
    # quotes, redirections, comments, here-documents
    "'my dir/run.sh' x": ("my dir/run.sh",),
    "./a\\ b.sh": ("a b.sh",),
    './"q".sh': ("q.sh",),
    "'./a*b.sh'; sh './$x.sh'": ("a*b.sh", "$x.sh"),
    './a\\$b \\*; "./\\$c[1].sh"': ("a$b", "$c[1].sh"),
    "cd 'a?' && ./b": ("a?/b",),
    "'$PWD/x'; \"$X/y\"; sh -c './*'": ("$PWD/x",),
    "echo './no; ./no2' \"; ./no3\"": (),
    "./x 2>err >out <in": ("x",),
    "2>./err ./x >./no": ("x",),
    "./x >/dev/null 2>&1 && ./y": ("x", "y"),
    "# ./no\n./yes # ./no2": ("yes",),
    "./a#b": ("a#b",),
    "cat <<EOF\n./no.sh\nEOF\n./yes.sh": ("yes.sh",),
    "cat <<-'E'\n\t./no\n\tE\n./yes": ("yes",),
    # substitutions
    "x=$(./gen.sh) ./run": ("gen.sh", "run"),
    'test "$(./gen.sh a)" = 3': ("gen.sh",),
    "test `./gen.sh` = 3": ("gen.sh",),
    "diff <(./a) <(sh b.sh) && ./c": ("a", "b.sh", "c"),
    "a=(./no ./no2); ./z": ("z",),
    # what only a running shell knows
    "$X/score.sh; ./*.sh; ~/x; ./$Y": (),
    "sh $SCRIPT": (),
    # malformed
    "'unclosed ./x": ("unclosed ./x",),
    "./ok 'unclosed": ("ok",),
    './ok "un $(': ("ok",),
    "))) ./x": ("x",),
    "./x ((": ("x",),
    "./x \\": ("x",),
    "echo $(": (),
    "&& || ;; | ./x": ("x",),
}


@pytest.mark.parametrize("command", CASES)
def test_executables(command: str) -> None:
    assert executables(command) == CASES[command]


PARTS = st.sampled_from(
    ["./a", "cd b", "sh", "bash -c", "python -m", "env", "time", "'", '"', "`", "$(", ")", "(", "&&", ";", "\n", "#",
     "\\", "<<EOF", "<", ">", "if", "do", "{", "=", "x=", "-", "--", " ", "uv run", "é", "\0", "\ue003"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(PARTS, max_size=15).map(" ".join) | st.text(max_size=60))
def test_any_text_is_read(command: str) -> None:
    for path in executables(command):
        assert path
        assert path == path.strip("\n")
        assert "//" not in path


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[a-z0-9_.-]{1,8}", fullmatch=True), min_size=1, max_size=3))
def test_a_path_is_found_however_it_is_quoted(parts: list[str]) -> None:
    path = "/".join(part.strip(".") or "x" for part in parts)
    for command in (
        f"./{path}",
        f"'./{path}'",
        f'"./{path}" a',
        f"true && ./{path}",
        f"sh ./{path}",
        f"sh -c './{path}'",
    ):
        assert executables(command) == (path,)


UNITS = ["(", "'", '"', "`", "$(", "<<E\n", "<<a\n<<b\n", "./a;", "bash -c '", "x=", "a "]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_line_is_read_in_linear_time(unit: str) -> None:
    begin = time.process_time()
    executables(unit * (60_000 // len(unit)))
    assert time.process_time() - begin < 12

"""Command line over environment over configuration; errors that say where the value stands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from kcut.cli.config import ConfiguredCommand, TolerantCommand, given
from kcut.cli.options import COUNT, DURATION
from kcut.cli.settings import find_settings
from kcut.model.errors import UsageFault
from tests.conftest import Kcut, Repo

Values = dict[str, Any]


@click.command("benchmark", cls=ConfiguredCommand)
@click.option("-k", "--k", type=COUNT, default=5)
@click.option("--component")
@click.option("--task", required=True)
@click.option("--timeout", type=DURATION, default="30m")
@click.option("--copy", multiple=True)
@click.option("--spec", type=click.Path(path_type=Path))
@click.option("--rule", type=click.Choice(["point", "evidence"]), default="point")
@click.option("--ratio", type=float)
@click.option("--size", type=int)
@click.option("--dry-run", is_flag=True)
@click.option("--live/--plain", default=True)
@click.option("--no-probe", "probe", flag_value=False, default=True)
@click.option("--json", "as_json", is_flag=True)
@click.option("-v", "--verbose", count=True)
@click.pass_context
def sample(ctx: click.Context, /, **values: Any) -> Values:
    """A command with every kind of option."""
    if values["size"] == 13:
        raise UsageFault("--size must not be 13", remedy="take 12")
    return values | {"given": given(ctx)}


Run = Callable[..., Values]


@pytest.fixture
def run(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `sample` as `kcut benchmark` would run, in a checkout with a configuration."""

    def call(
        *args: str, config: str | None = None, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> Values:
        if config is not None:
            repo.write("kcut.toml", config)
        monkeypatch.chdir(cwd or repo.path)
        for name, value in (env or {}).items():
            monkeypatch.setenv(f"KCUT_BENCHMARK_{name}", value)
        values: Values = sample.main(
            list(args), "kcut benchmark", standalone_mode=False, auto_envvar_prefix="KCUT_BENCHMARK"
        )
        return values

    return call


def test_the_command_line_wins_over_the_environment_over_the_file(run: Run) -> None:
    config = '[benchmark]\ntask = "file"\nk = 7\ncomponent = "file"\n'
    env = {"K": "8", "COMPONENT": "env"}
    values = run("--component", "line", config=config, env=env)
    assert (values["task"], values["k"], values["component"]) == ("file", 8, "line")
    assert values["given"] == ("--component",)


def test_every_kind_of_value(run: Run) -> None:
    values = run(
        config="""
        [benchmark]
        task = "t"
        timeout = "10m"
        copy = [".env", "a b"]
        rule = "evidence"
        ratio = 1
        size = 3
        dry-run = true
        plain = true
        no_probe = true
        json = true
        verbose = 2
        [gate]
        json = true
        """
    )
    assert values["timeout"] == 600
    assert values["copy"] == (".env", "a b")
    assert (values["rule"], values["ratio"], values["size"]) == ("evidence", 1.0, 3)
    assert (values["dry_run"], values["live"], values["probe"], values["as_json"]) == (True, False, False, True)
    assert values["verbose"] == 2
    values = run("--live", config='[benchmark]\ntask = "t"\ntimeout = 90\nplain = true\nno-probe = false\n')
    assert (values["timeout"], values["live"], values["probe"]) == (90, True, True)


def test_variables_are_named_after_options(run: Run) -> None:
    env = {
        "TASK": "t",
        "JSON": "1",
        "NO_PROBE": "1",
        "COPY": "a b",
        "DRY_RUN": "true",
        "TIMEOUT": "2h",
        "COMPONENT": "",
    }
    values = run(env=env)
    assert (values["as_json"], values["probe"], values["copy"]) == (True, False, ("a", "b"))
    assert (values["dry_run"], values["timeout"], values["component"]) == (True, 7200, None)


def test_an_unknown_variable_of_the_command_is_named(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("--task", "t", env={"COMPONNET": "x"})
    assert capsys.readouterr().err == (
        "kcut: KCUT_BENCHMARK_COMPONNET is no option of kcut benchmark and is ignored;"
        " did you mean: KCUT_BENCHMARK_COMPONENT\n"
    )


def test_pyproject_serves_as_well(run: Run, repo: Repo) -> None:
    repo.write("pyproject.toml", '[project]\nname = "x"\n[tool.kcut.benchmark]\ntask = "shared"\nk = 9\n')
    assert run()["k"] == 9
    repo.write("pyproject.toml", '\ufeff[tool.kcut.benchmark]\r\ntask = "shared"\r\nkk = 9\r\n')
    with pytest.raises(UsageFault, match=r"^pyproject.toml: unknown key kk in \[tool.kcut.benchmark\]$") as fault:
        run()
    assert fault.value.remedy == "did you mean: k"


def test_both_files_are_refused(run: Run, repo: Repo) -> None:
    repo.write("pyproject.toml", "[tool.other]\n")
    assert run("--task", "t", config="")["k"] == 5
    repo.write("pyproject.toml", "[tool.kcut]\n")
    with pytest.raises(UsageFault, match=r"configured twice, in kcut\.toml and in"):
        run("--task", "t", config="")


def test_a_path_is_meant_from_the_file(run: Run, repo: Repo) -> None:
    (repo.path / "deep" / "er").mkdir(parents=True)
    config = '[benchmark]\ntask = "t"\nspec = "specs/a.md"\n'
    assert run(config=config)["spec"] == Path("specs/a.md")
    assert run(config=config, cwd=repo.path / "deep" / "er")["spec"] == Path("../../specs/a.md")
    assert run("--spec", "x.md", config=config)["spec"] == Path("x.md")


@pytest.mark.parametrize(
    ("config", "message", "remedy"),
    [
        ("k = 5", "kcut.toml: k stands outside of a command's table", "write it below [benchmark]"),
        ("[bench]", "kcut.toml: [bench] is the table of no command", None),
        ("[benchmrk]", "kcut.toml: [benchmrk] is the table of no command", "did you mean: [benchmark]"),
        ("benchmark = 1", "kcut.toml: benchmark must be a table of options, not an integer", None),
        ("[benchmark]\nkomponent = 1", "kcut.toml: unknown key komponent in [benchmark]", "did you mean: component"),
        ("[benchmark]\nhelp = true", "kcut.toml: unknown key help in [benchmark]", "see: kcut benchmark -h"),
        ('[benchmark]\n"\\u001b[1m" = 1', "kcut.toml: unknown key \\x1b[1m in [benchmark]", "see: kcut benchmark -h"),
        (
            "[benchmark]\ndry-run = true\ndry_run = true",
            "kcut.toml: dry_run in [benchmark] is given twice, under two spellings",
            None,
        ),
        ("[benchmark]\ncopy = 'a'", "kcut.toml: copy in [benchmark] must be a list, not a string", None),
        (
            "[benchmark]\ncopy = ['a', 1]",
            "kcut.toml: copy in [benchmark] (each item) must be a string, not an integer",
            None,
        ),
        (
            "[benchmark]\ndry-run = 'yes'",
            "kcut.toml: dry-run in [benchmark] must be true or false, not a string",
            None,
        ),
        ("[benchmark]\ntask = true", "kcut.toml: task in [benchmark] must be a string, not true or false", None),
        ("[benchmark]\ntask = {}", "kcut.toml: task in [benchmark] must be a string, not a table", None),
        (
            "[benchmark]\nk = 1979-05-27",
            "kcut.toml: k in [benchmark] must be a string or a number, not a date or time",
            None,
        ),
        ("[benchmark]\nk = 0", "kcut.toml: k in [benchmark] must be a whole number of at least 1 (got 0)", None),
        ("[benchmark]\nsize = 1.5", "kcut.toml: size in [benchmark] must be an integer, not a number", None),
        (
            "[benchmark]\nrule = 'all'",
            "kcut.toml: rule in [benchmark]: 'all' is not one of 'point', 'evidence'",
            None,
        ),
        ("[benchmark]\nsize = 13\ntask = 't'", "kcut.toml: size in [benchmark] must not be 13", "take 12"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_file_and_key(
    run: Run, config: str, message: str, remedy: str | None
) -> None:
    with pytest.raises(UsageFault) as fault:
        run(config=config)
    assert fault.value.message == message
    if remedy:
        assert fault.value.remedy == remedy


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"K": "many"}, "KCUT_BENCHMARK_K must be a whole number of at least 1 (got many)"),
        ({"RULE": "all"}, "KCUT_BENCHMARK_RULE: 'all' is not one of 'point', 'evidence'"),
        ({"SIZE": "13"}, "KCUT_BENCHMARK_SIZE must not be 13"),
        ({"NO_PROBE": "perhaps"}, "KCUT_BENCHMARK_NO_PROBE: 'perhaps' is not a valid boolean"),
    ],
)
def test_a_wrong_variable_is_named(run: Run, env: dict[str, str], message: str) -> None:
    with pytest.raises(UsageFault) as fault:
        run("--task", "t", env=env)
    assert fault.value.message.startswith(message)


def test_what_was_typed_wrong_is_not_blamed_on_the_file(run: Run) -> None:
    config = '[benchmark]\ntask = "t"\n'
    with pytest.raises(click.NoSuchOption):
        run("--komponent", "x", config="[nonsense]")
    with pytest.raises(UsageFault, match=r"^--k must be"):
        run("--k", "0", config=config)
    with pytest.raises(UsageFault, match=r"^--size must not be 13$"):
        run("--size", "13", config=config)
    with pytest.raises(click.BadParameter, match="not one of"):
        run("--rule", "x", config=config)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[benchmark", "kcut.toml is not valid TOML: "),
        (b"a = '\xff'", "kcut.toml is not UTF-8 (byte 6)"),
        (b"a = " + b"[" * 100_000, "kcut.toml is not valid TOML: "),
    ],
)
def test_a_broken_file(repo: Repo, data: bytes, message: str) -> None:
    repo.write("kcut.toml", data)
    with pytest.raises(UsageFault) as fault:
        find_settings(repo.path)
    assert fault.value.message.startswith(message)


def test_what_has_the_name_and_is_no_file_is_not_ignored(repo: Repo) -> None:
    path = repo.path / "kcut.toml"
    path.symlink_to("nowhere")
    with pytest.raises(UsageFault, match=r"kcut.toml cannot be read: No such file"):
        find_settings(repo.path)
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageFault, match=r"kcut.toml cannot be read: it is not a regular file"):
        find_settings(repo.path)
    path.rmdir()
    (repo.path / "pyproject.toml").mkdir()
    assert find_settings(repo.path) is None


def test_a_broken_pyproject_matters_only_if_it_speaks_of_kcut(repo: Repo) -> None:
    repo.write("pyproject.toml", "[project\n")
    assert find_settings(repo.path) is None
    repo.write("pyproject.toml", "[tool.kcut\n")
    with pytest.raises(UsageFault, match=r"pyproject.toml is not valid TOML"):
        find_settings(repo.path)


def test_help_completion_and_tolerant_commands_do_without(repo: Repo, kcut: Kcut) -> None:
    repo.write("kcut.toml", "[history]\nnonsense = 1\n")
    failed = kcut("history", cwd=repo.path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "kcut: kcut.toml: unknown key nonsense in [history]\n      see: kcut history -h\n"
    helped = kcut("history", "--json", "-h", cwd=repo.path)
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "Examples:" in helped.stdout
    assert kcut("history", "--nonsense", cwd=repo.path).stderr.startswith("kcut: No such option")
    asked = {"_KCUT_COMPLETE": "bash_complete", "COMP_WORDS": "kcut history --j", "COMP_CWORD": "2"}
    completed = kcut(cwd=repo.path, env=asked)
    assert (completed.stdout, completed.stderr) == ("plain,--json\n", "")
    assert issubclass(TolerantCommand, ConfiguredCommand)
    assert kcut("completion", "bash", cwd=repo.path).returncode == 0


def test_the_file_of_the_checkout_and_no_other(tmp_path: Path, repo: Repo, kcut: Kcut) -> None:
    (tmp_path / "kcut.toml").write_text("[nonsense]\n")
    assert kcut("history", cwd=repo.path).returncode == 0
    (repo.path / "sub").mkdir()
    repo.write("sub/kcut.toml", "[nonsense]\n")
    assert kcut("history", cwd=repo.path / "sub").returncode == 0
    repo.write("kcut.toml", "[history]\njson = true\n")
    assert kcut("history", cwd=repo.path / "sub").stdout == '{\n  "runs": []\n}\n'
    outside = kcut("history", cwd=tmp_path)
    assert outside.stderr.startswith("kcut: not inside a git repository\n")

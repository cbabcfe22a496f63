"""An agent that replaces its folders by links: nothing of the user's is read, written or removed through them."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Kcut, Repo
from tests.test_cli_agent import INIT, RESULT, SAID, SESSION, Trial

LINKS = {
    "config": "import shutil; c = os.environ['CLAUDE_CONFIG_DIR']; os.rename(c, c + '-moved'); os.symlink(%r, c)",
    "scratch": "s = os.path.dirname(os.environ['CLAUDE_CONFIG_DIR']); os.rename(s, s + '-moved'); os.symlink(%r, s)",
    "sealed": "os.chmod(os.environ['CLAUDE_CONFIG_DIR'], 0o500)  # %r",
}


@pytest.fixture
def trial(repo: Repo, tmp_path: Path, kcut: Kcut) -> Trial:
    return Trial(repo, tmp_path, kcut)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("which", LINKS)
def test_nothing_happens_behind_a_link(trial: Trial, tmp_path: Path, which: str) -> None:
    users = tmp_path / "users"
    users.mkdir()
    (users / ".credentials.json").write_text('{"secret": "S3CRET"}')
    (users / "out.json").write_text("mine")
    before = contents(users)
    env = {"CLAUDE_CONFIG_DIR": str(users)}
    for number in (0, 1):
        scratch = next(path for path in (tmp_path / "scratch", tmp_path / "scratch-moved") if not path.is_symlink())
        if number == 0:
            trial.brief(session=SESSION, round=0)
        elif which == "scratch":
            trial.env.pop("HARNESS_TRIAL_BRIEF", None)
        else:
            trial.brief(session=SESSION, round=1)
        trial.stand_in(INIT, SAID, RESULT, code=LINKS[which] % str(users) if number == 0 else "")
        done: Any = trial.run(env=env)
        assert "Traceback" not in done.stderr
        assert contents(users) == before
        left = [path for path in tmp_path.rglob("*") if path.is_file() and b"S3CRET" in path.read_bytes()]
        assert left == [users / ".credentials.json"], scratch


def test_the_last_word_of_an_agent_that_ends_its_supervisor_counts(trial: Trial) -> None:
    kill = "import atexit, signal\natexit.register(lambda: (time.sleep(0.5), os.kill(os.getppid(), signal.SIGKILL)))"
    trial.stand_in(INIT, SAID, RESULT, code=kill)
    done = trial.run()
    assert done.returncode in {0, 1}, done.stderr
    assert trial.sidecar()["cost_usd"] == 0.25
    trial.stand_in(INIT, SAID, code=kill)
    assert trial.run().returncode == 2
    assert trial.sidecar()["void"] == "startup"

"""With --logs: secrets that kcut knows of are in no log, whatever they look like."""

import json
from pathlib import Path

from tests.conftest import Kcut, Repo

VALUE, LOGIN, SHORT = 'correct horse "battery"', "plainwordsofalogin", "abc"


def test_known_secrets_are_in_no_log(repo: Repo, kcut: Kcut, tmp_path: Path) -> None:
    login = tmp_path / "login"
    login.mkdir()
    (login / ".credentials.json").write_text(json.dumps({"o": {"accessToken": LOGIN, "scopes": ["a b"]}}))
    repo.write("tidy.md", "x\n")
    repo.commit()
    said = tmp_path / "said"
    said.write_text(f"{VALUE}\n{json.dumps(VALUE)}\n{LOGIN}\n{SHORT} is plain\n")
    env = {"MY_SERVICE_TOKEN": VALUE, "DB_PASSWORD": SHORT, "CLAUDE_CONFIG_DIR": str(login)}
    task = f"cat {said}; cat {said} >&2; cp {said} kept.txt"
    words = ("--component", "tidy", "--task", task, "--score", "true", "--k", "1", "--no-probe", "--logs")
    done = kcut("benchmark", *words, cwd=repo.path, env=env)
    logs = [path for path in repo.path.rglob("*") if path.name in {"task.stdout", "task.stderr", "task.diff"}]
    assert len(logs) == 6, done.stdout + done.stderr
    for path in logs:
        text = path.read_text()
        assert "horse" not in text
        assert LOGIN not in text
        assert f"{SHORT} is plain" in text

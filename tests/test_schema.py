"""The JSON Schema of the artifact: what the model says, and what both published formats meet."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kcut.model.artifact import Artifact
from kcut.model.schema import text
from tests.conftest import Kcut
from tests.documents import example, first_format

SCHEMA: dict[str, Any] = json.loads(files("kcut.model").joinpath("artifact.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_shipped_schema_is_the_models() -> None:
    shipped = files("kcut.model").joinpath("artifact.schema.json").read_text(encoding="utf-8")
    assert shipped == text(), "renew it: python -m kcut.model.schema > kcut/model/artifact.schema.json"
    generated = Artifact.model_json_schema(by_alias=True, mode="validation")
    assert SCHEMA["properties"] == generated["properties"]
    assert SCHEMA["required"] == generated["required"]


def test_the_schema_is_one_and_speaks_of_the_keys_of_the_file() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == {*example(), "placebo", "tasks", "treatment"}
    assert set(SCHEMA["required"]) <= set(first_format())
    assert "pass_" not in text()


@pytest.mark.parametrize("document", [example(), first_format(), Artifact.model_validate(first_format()).document()])
def test_both_published_formats_and_what_is_written_meet_it(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)
    assert Artifact.model_validate(document).document()["component"] == document["component"]


def test_written_keys_are_those_of_the_example_in_their_order() -> None:
    assert list(Artifact.model_validate(example()).document()) == list(example())
    assert Artifact.model_validate(example()).document() == example()


@pytest.mark.parametrize("key", ["component", "k", "task", "with", "without", "pass", "reason", "ts"])
def test_a_key_of_the_first_format_may_not_be_absent(key: str) -> None:
    document = first_format()
    del document[key]
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(ValidationError):
        Artifact.model_validate(document)


@given(st.sampled_from(sorted(example())), st.none() | st.booleans() | st.integers(-3, 3) | st.lists(st.none()))
def test_what_meets_the_schema_is_read(key: str, value: object) -> None:
    document = example(**{key: value})
    if VALIDATOR.is_valid(document):
        assert Artifact.model_validate(document).component == document["component"]


def test_the_command_prints_the_file(kcut: Kcut) -> None:
    done = kcut("schema", "artifact")
    assert (done.stdout, done.stderr, done.returncode) == (text(), "", 0)


@pytest.mark.parametrize("args", [(), ("nope",), ("artifact", "x"), ("../artifact",)])
def test_another_name_is_an_error_that_names_those_there_are(kcut: Kcut, args: tuple[str, ...]) -> None:
    done = kcut("schema", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(args) == 2 or "artifact" in done.stderr.splitlines()[1]

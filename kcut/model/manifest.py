"""A component's manifest, `.claude/kcut/components/NAME.toml`: what WITH has and WITHOUT has not."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

Text = Annotated[str, Strict(), Field(min_length=1)]
#: A path, or a glob of paths, relative to the root of the checkout.
Glob = Annotated[Text, Field(description="Relative to the root; * stays within a folder, ** does not.")]
Variable = Annotated[str, Strict(), Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Table(BaseModel):
    """Base: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


class TextBlock(Table):
    """A block of text that stands in a file WITH only. The file may hold it already."""

    file: Text = Field(description="The file, relative to the root; made if it is missing.")
    block: Text = Field(description="Whole lines.")
    at: Literal["start", "end"] = Field("end", description="Where it is put if the file lacks it.")


class JsonMerge(Table):
    """What a JSON file holds WITH only: objects are joined, items are added to lists, other values are set."""

    file: Text = Field(description="The file, relative to the root; made if it is missing.")
    merge: dict[str, Any] = Field(min_length=1, description="What is merged into the file's object.")


class Command(Table):
    """Commands that make WITH's files out of the base's, and WITHOUT's, each run once in a checkout of the base."""

    apply: Text
    withhold: Text | None = None
    files: tuple[Glob, ...] = Field(min_length=1, description="The files that the commands may change.")


class Manifest(Table):
    """What WITH has and WITHOUT has not. Several kinds may stand in one manifest."""

    description: Annotated[str, Strict()] | None = Field(None, description="For people; it changes nothing.")
    files: tuple[Glob, ...] = Field((), description="Files that exist WITH only.")
    patch: Text | None = Field(None, description="The path of a unified diff, relative to the root.")
    text: tuple[TextBlock, ...] = ()
    json_: tuple[JsonMerge, ...] = Field((), alias="json")
    env: dict[Variable, Annotated[str, Strict()]] = Field(
        default_factory=dict, description="Environment variables that are set WITH and unset WITHOUT."
    )
    command: Command | None = None

"""The JSON Schema of the artifact, as its model has it.

`python -m kcut.model.schema > kcut/model/artifact.schema.json` renews the file that is shipped.
"""

import json
import re
from typing import Any

from pydantic.alias_generators import to_camel

from kcut.model.artifact import Artifact

_QUOTED = re.compile(r"`([a-z_]+)`")


def artifact_schema() -> dict[str, Any]:
    """The schema that every artifact meets, those of the first published format too.

    It is the one of validation: that of serialization would require the keys that older files lack.
    """
    schema = Artifact.model_json_schema(by_alias=True, mode="validation")
    for part in (schema, *schema["$defs"].values()):
        told = _QUOTED.sub(lambda match: f"`{to_camel(match[1])}`", part["description"])
        part["description"] = " ".join(told.replace("None", "null").split())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def text() -> str:
    """The content of the file."""
    return json.dumps(artifact_schema(), ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")

"""The JSON Schema of a component's manifest, as its model has it.

`python -m kcut.model.manifest_schema > kcut/model/component.schema.json` renews the file that is shipped.
"""

import json
from typing import Any

from kcut.model.manifest import Manifest


def manifest_schema() -> dict[str, Any]:
    """The schema of a manifest's keys."""
    schema = Manifest.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def text() -> str:
    """The content of the file."""
    return json.dumps(manifest_schema(), ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")

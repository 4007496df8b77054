"""Print the OpenAPI document of Studio that the types of its page are made of.

Run: python tools/write_openapi.py > web/openapi/openapi.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

from corporeal.studio.server import describe_api


def main() -> None:
    """Print the document; what an answer holds is always sent, also where a default fills it."""
    document = describe_api()
    schemas = document["components"]["schemas"]
    for name in _answered(document):
        properties = schemas[name].get("properties")
        if properties:
            schemas[name]["required"] = list(properties)
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _answered(document: dict[str, Any]) -> set[str]:
    """The names of all schemas that answers are made of."""
    names: set[str] = set()
    new = [
        name
        for methods in document["paths"].values()
        for route in methods.values()
        for name in _references(route["responses"])
    ]
    while new:
        name = new.pop()
        if name not in names:
            names.add(name)
            new.extend(_references(document["components"]["schemas"][name]))
    return names


def _references(part: object) -> list[str]:
    if isinstance(part, dict):
        inside = [name for value in part.values() for name in _references(value)]
        reference = part.get("$ref")
        return [*inside, reference.rpartition("/")[2]] if isinstance(reference, str) else inside
    if isinstance(part, list):
        return [name for value in part for name in _references(value)]
    return []


if __name__ == "__main__":
    main()

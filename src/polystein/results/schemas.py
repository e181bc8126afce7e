"""The JSON schema of everything that `to_dict` gives: one file, with a part for each kind."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal


def schema_of(
    kind: Literal["result", "checks", "refinement", "comparison", "samplers"],
) -> dict[str, Any]:
    """The schema (draft 2020-12) of one kind of result: a test, many checks, and so on."""
    text = files("polystein.results").joinpath("schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    version = found["$defs"][kind]["properties"]["schema_version"]["const"]
    # A validator that knows several schemas tells them by their names.
    name = f"urn:polystein:schema:{kind}:{version}"
    return {"$id": name, **found, "$ref": f"#/$defs/{kind}"}

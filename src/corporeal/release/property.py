"""A property of episodes that splits look at: a column of the catalogue, or a field of metadata."""

from __future__ import annotations

import re

from sqlalchemy import ColumnElement

from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import EPISODE

COLUMNS = (
    "task", "instruction", "robot", "operator", "station", "session", "batch", "protocol",
    "calibration", "environment", "mode", "software", "failure", "verdict", "policy",
)  # fmt: skip
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def property_column(name: str) -> ColumnElement[str]:
    """The SQL of a property: `operator` is a column, `object` or `metadata.object` a field."""
    if name in COLUMNS:
        return EPISODE.c[name]
    key = name.removeprefix("metadata.")
    if not _KEY.fullmatch(key) or key in EPISODE.c:
        raise CatalogError(
            f"property to split by, got {name[:80]!r}; expected one of {', '.join(COLUMNS)}, or a "
            "field of the metadata such as object."
        )
    column: ColumnElement[str] = EPISODE.c.metadata[key].as_string()
    return column

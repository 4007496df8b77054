"""What both databases keep alike: text without zero bytes, names of a length, finite numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from corporeal.catalog.database import CatalogError

LONGEST_NAME = 500
"""Letters of a name that is searched for; PostgreSQL has no index for longer ones."""
_LARGEST = (1 << 63) - 1


def fitting(row: Mapping[str, Any], names: frozenset[str], *, of: str) -> dict[str, Any]:
    """The row as a database can keep it; what is no number is missing.

    Raises CatalogError for text, names (the columns `names`) and numbers that do not fit.
    """
    fit = dict(row)
    for column, value in row.items():
        kind = type(value)
        if kind is str:
            if not value.isascii() or "\0" in value:
                check_text(value, f"{of}: {column}")
            if len(value) > LONGEST_NAME and column in names:
                raise CatalogError(
                    f"{of}: {column}, got {len(value)} letters; expected {LONGEST_NAME} at most."
                )
        elif value is None or kind is bool:
            continue
        elif isinstance(value, float):
            fit[column] = None if math.isnan(value) else float(value)
        elif isinstance(value, int):
            if abs(value) > _LARGEST:
                raise CatalogError(f"{of}: {column}, got {value}; expected 64 bits.")
        else:
            fit[column] = plain(value, f"{of}: {column}")
    return fit


def plain(value: Any, where: str) -> Any:
    """A value as JSON gives it back: lists, text as keys, and nothing for what is not finite."""
    if isinstance(value, str):
        return check_text(value, where)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {check_text(str(key), where): plain(each, where) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each, where) for each in value]
    raise CatalogError(f"{where}, got {type(value).__name__}; expected what JSON can hold.")


def check_text(value: str, where: str) -> str:
    """The text itself; raises CatalogError for what is not Unicode or has a zero byte."""
    if "\0" in value or not (value.isascii() or _is_unicode(value)):
        raise CatalogError(f"{where}, got {value[:80]!r}; expected text without zero bytes.")
    return value


def _is_unicode(value: str) -> bool:
    """Whether every letter is one; half of a pair is none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True

"""Episodes laid out along axes: for each of them, where it lies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from corporeal.catalog.query import MetadataField
from corporeal.catalog.tables import EPISODE
from corporeal.operations.coverage.axis import NOTED, CoverageAxis
from corporeal.operations.coverage.metadata_cache import find_cache
from corporeal.operations.outcome import is_outcome
from corporeal.operations.scope import Scope

Place = tuple[Any, ...]
"""What one episode has along one axis: a value for each of its fields."""
# A number this close below a step was meant to be on it: 0.6 / 0.2 falls short of 3.
_CLOSE = 1e-9


def lay_out(
    connection: Connection, scope: Scope, used: Sequence[CoverageAxis]
) -> Counter[tuple[bool, tuple[Place, ...]]]:
    """How many episodes, accepted or not, lie at each combination of places."""
    fields = dict.fromkeys(name for axis in used for name in axis.fields)
    plain = [name for name in fields if not name.startswith(NOTED)]
    good = is_outcome("accepted").label("good")
    rows = connection.execute(
        select(EPISODE.c.id, good, *(EPISODE.c[name] for name in plain)).where(scope.where)
    ).all()
    if not rows:
        return Counter()
    ids, goods, *columns = zip(*rows, strict=True)
    values: dict[str, Sequence[Any]] = dict(zip(plain, columns, strict=True))
    steps = {name: axis.step for axis in used for name in axis.fields}
    noted = [name for name in fields if name not in values]
    wanted = [
        MetadataField(name.removeprefix(NOTED), "text" if steps[name] is None else "number")
        for name in noted
    ]
    found = find_cache(connection).of(connection, ids, wanted) if noted else []
    for name, column in zip(noted, found, strict=True):
        step = steps[name]
        values[name] = column if step is None else [_band(value, step) for value in column]
    return Counter(zip(map(bool, goods), zip(*(_places(a, values) for a in used), strict=True),
                       strict=True))  # fmt: skip


def _band(value: float | None, step: float) -> int | None:
    if value is None or not math.isfinite(value):
        return None
    return math.floor(value / step + _CLOSE)


def _places(axis: CoverageAxis, values: dict[str, Sequence[Any]]) -> list[Place]:
    columns = [values[name] for name in axis.fields]
    if axis.either:
        return [
            (next((value for value in each if value is not None), None),)
            for each in zip(*columns, strict=True)
        ]
    return list(zip(*columns, strict=True))

"""Statistics that a dataset states beside those of its rows, reckoned anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corporeal.episode.recording import Dataset
from corporeal.exchange.comparison.evidence import Evidence, Tally
from corporeal.exchange.comparison.likeness import difference
from corporeal.exchange.conversion import Exported, table_at
from corporeal.exchange.format import writer_of
from corporeal.exchange.statistics import Moments

# Sums of many floats of 32 bits.
_STATISTIC = 1e-4


def compare_statistics(
    exported: Exported, source: Dataset, stated: Mapping[str, Any], by: str
) -> Evidence:
    """Mean, spread and range of every column, reckoned anew from the episodes."""
    tally = Tally()
    columns = exported.head.layout.columns
    label = writer_of(exported.order.format).label
    moments: dict[str, Moments] = {}
    for number in range(len(exported.pieces)):
        for block in table_at(exported, source, number).blocks():
            for key, values in block.items():
                part = Moments.of(values)
                moments[key] = moments[key] + part if key in moments else part
    for key in columns:
        claims = stated.get(label(key) or "", {})
        for name in ("mean", "std", "min", "max"):
            if name in claims:
                value = np.asarray(getattr(moments[key], name))
                tally.compared += value.size
                error = difference(value, np.asarray(claims[name]).reshape(value.shape))
                if error > _STATISTIC:
                    tally.wrong.append(f"{name} of {key} is off by {error:.3g}")
    return tally.evidence("statistics", by, "figure")

"""The two clocks of a scene: capture time in seconds, and the row of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import MissingExtraError


def rerun() -> Any:
    """The library; MissingExtraError says how to install it."""
    try:
        import rerun as library
        import rerun.blueprint
    except ImportError:
        raise MissingExtraError("rerun-sdk", "viz") from None
    return library


TIME, ROW = "time", "row"


@dataclass(frozen=True, eq=False)
class RerunScene:
    """A recording that is being written, and the time of every row of its table."""

    stream: Any
    rows_ns: NDArray[np.int64]

    def add(self, entity: str, time_ns: NDArray[np.int64], columns: Any) -> None:
        """Samples with these stamps."""
        rr = rerun()
        rows = np.searchsorted(self.rows_ns, time_ns, side="right") - 1
        clocks = [
            rr.TimeColumn(TIME, duration=time_ns.astype("timedelta64[ns]")),
            rr.TimeColumn(ROW, sequence=np.maximum(rows, 0)),
        ]
        self.stream.send_columns(entity, clocks, columns)

    def fix(self, entity: str, *values: Any) -> None:
        """What is true at all times."""
        self.stream.log(entity, *values, static=True)

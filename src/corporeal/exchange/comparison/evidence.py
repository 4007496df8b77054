"""What a comparison has found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

EPISODES, ROWS = 4, 3
"""Single pictures and rows are looked at in so many episodes, and so many of each."""


@dataclass(frozen=True)
class Evidence:
    """One thing that was compared. `by` names who read the dataset."""

    what: str
    by: str
    result: str
    holds: bool


@dataclass
class Tally:
    """Differences of one kind, counted over all episodes."""

    compared: int = 0
    worst: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def evidence(self, what: str, by: str, unit: str) -> Evidence:
        """All of them in one line: the first that differs, or how many agree."""
        if self.wrong:
            more = f" and {len(self.wrong) - 1} more" if len(self.wrong) > 1 else ""
            return Evidence(what, by, f"{self.wrong[0]}{more}", holds=False)
        agree = f"1 {unit} agrees" if self.compared == 1 else f"{self.compared:,} {unit}s agree"
        return Evidence(what, by, agree, holds=self.compared > 0)


def spread(count: int, wanted: int) -> list[int]:
    """Numbers from the first to the last, evenly."""
    return sorted({round(float(place)) for place in np.linspace(0, count - 1, min(count, wanted))})

"""What became of a clip: its episodes, what was measured, what is to be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corporeal.retargeting.job.clip_outputs import Finished
from corporeal.retargeting.settings import InfeasiblePolicy


@dataclass(frozen=True)
class ClipOutcome:
    """What became of a clip: episodes that were written, or were there already."""

    clip: Path
    episodes: tuple[Path, ...]
    policy: InfeasiblePolicy
    was_there: bool = False
    frames: int = 0
    infeasible: int = 0
    converged: bool = True
    cpu_s: float = 0.0
    metrics: Mapping[str, Any] | None = None
    table: tuple[tuple[str, str], ...] = ()
    tracked: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether there is an episode, and nothing to be said against how it came to be."""
        return bool(self.episodes) and self.converged

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        told = asdict(self)
        told.pop("table")
        told["good"] = self.good
        told["clip"] = str(self.clip)
        told["episodes"] = [str(path) for path in self.episodes]
        return told


def read_outcome(clip: Path, policy: InfeasiblePolicy, finished: Finished) -> ClipOutcome:
    """The outcome of an earlier run, as its episodes tell it."""
    told = [metadata["retargeting"] for metadata in finished.metadata]
    measured = [each.get("metrics") or {} for each in told]
    return ClipOutcome(
        clip,
        finished.episodes,
        policy,
        was_there=True,
        frames=sum(int(each.get("frames", 0)) for each in measured),
        infeasible=sum(stop - first for each in told for first, stop in each["infeasible"]),
        converged=all(each["converged"] for each in told),
        metrics=measured[0] if len(measured) == 1 else None,
        tracked=finished.metadata[0].get("trackability"),
        notes=tuple(told[0].get("notes", ())) if len(told) == 1 else (),
    )

"""What a reader met in a dataset's own bookkeeping, as findings of the check it is meant for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from corporeal.episode.defect import Defect
from corporeal.quality.finding import Finding


def reported(defects: Iterable[Defect], check: str) -> Iterator[Finding]:
    """The defects that this check reports; `check` may be a module's dotted name."""
    wanted = check.rpartition(".")[2]
    return (finding_of(defect) for defect in defects if defect.check == wanted)


def finding_of(defect: Defect) -> Finding:
    """One defect as a finding."""
    alone = () if defect.episode is None else (defect.episode,)
    return Finding(
        defect.message,
        stream=defect.stream,
        value=defect.value,
        limit=defect.limit,
        episodes=defect.episodes or alone,
    )

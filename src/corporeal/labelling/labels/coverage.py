"""Which episodes have labels that hold and say all they must, and what the others lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.episodes import EpisodeRow
from corporeal.catalog.query import Condition, every_episode
from corporeal.labelling.completeness import complaints
from corporeal.labelling.labels.versions import Labels, labels_in_force
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy

_BLOCK = 500
_NO_STAMPS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class LabelCoverage:
    """`annotated` have all they need, `missing` do not, with the reason.

    `machine` are those of the annotated in which something is a proposal that a lead let count
    unseen.
    """

    annotated: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    machine: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """How much of all is annotated; of nothing, all is."""
        total = len(self.annotated) + len(self.missing)
        return len(self.annotated) / total if total else 1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "share": self.share,
            "annotated": list(self.annotated),
            "machine": list(self.machine),
            "missing": [{"episode": name, "reason": why} for name, why in self.missing],
        }


def coverage(
    connection: Connection,
    query: str | Condition | None = None,
    *,
    taxonomy: Taxonomy | None = None,
    people_only: bool = False,
) -> LabelCoverage:
    """The annotation coverage of the episodes that a query finds.

    With a taxonomy, labels under another one do not count; with `people_only`, neither do those
    that no person has confirmed.
    """
    return _covered(connection, every_episode(connection, query), taxonomy, people_only=people_only)


def coverage_of(
    connection: Connection,
    rows: Sequence[EpisodeRow],
    *,
    taxonomy: Taxonomy | None = None,
    people_only: bool = False,
) -> LabelCoverage:
    """The same for rows of episodes that were chosen already."""
    return _covered(connection, iter(rows), taxonomy, people_only=people_only)


def _covered(
    connection: Connection, rows: Iterator[EpisodeRow], taxonomy: Taxonomy | None, *,
    people_only: bool,
) -> LabelCoverage:  # fmt: skip
    annotated: list[str] = []
    machine: list[str] = []
    missing: list[tuple[str, str]] = []
    for block in _blocks(rows):
        held = labels_in_force(connection, [row.id for row in block])
        for row in block:
            name = row.id
            labels = held.get(name)
            why = lacking(connection, row, labels, taxonomy, people_only=people_only)
            if why is not None:
                missing.append((name, why))
                continue
            annotated.append(name)
            if labels is not None and labels.is_machine:
                machine.append(name)
    return LabelCoverage(tuple(annotated), tuple(missing), tuple(machine))


def lacking(
    connection: Connection, row: EpisodeRow, held: Labels | None, taxonomy: Taxonomy | None,
    *, people_only: bool = False,
) -> str | None:  # fmt: skip
    """Why an episode does not count as annotated, in one sentence; None when it does."""
    if held is None:
        return "nobody has annotated it."
    if held.stale is not None:
        return f"its labels do not hold any more: {held.stale}."
    made_under = kept_taxonomy(connection, held.taxonomy)
    if taxonomy is not None and held.taxonomy != taxonomy.hash:
        return f"it is labelled under {made_under.reference}; expected {taxonomy.reference}."
    said = held.annotation
    if not people_only:
        seen = tuple(each.model_copy(update={"confirmed": True}) for each in said.segments)
        said = said.model_copy(update={"segments": seen})
    told = complaints(said, made_under, task=row.task, stamps=_NO_STAMPS)
    if not told:
        return None
    return told[0] if len(told) == 1 else f"{told[0]} ({len(told) - 1} more)"


def _blocks(rows: Iterator[EpisodeRow]) -> Iterator[list[EpisodeRow]]:
    block: list[EpisodeRow] = []
    for row in rows:
        block.append(row)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block

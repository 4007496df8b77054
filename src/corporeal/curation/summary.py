"""A choice in figures: beside every baseline, by group, and how diverse what is kept is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.curation.chance import draw_alike
from corporeal.curation.choice import Choice, curate
from corporeal.curation.kernel import path_kernel, vendi
from corporeal.curation.method import find_methods
from corporeal.curation.pool import DemonstrationPool
from corporeal.errors import CorporealError

_ORDERS = (0.5, 1.0, 2.0)
_MOST = 2000
_TRAITS = ("operator", "object", "station", "environment", "mode", "dataset")


@dataclass(frozen=True)
class SetFigures:
    """A part of the pool in numbers; None where nobody says, or there is nothing to count."""

    name: str
    episodes: int
    minutes: float
    median_s: float | None
    success: float | None
    score: float | None
    overlap: float
    """The share of it that the choice keeps, too."""
    vendi: dict[str, float]


@dataclass(frozen=True)
class GroupShare:
    """How much of one operator, object or the like was kept."""

    trait: str
    value: str
    episodes: int
    kept: int


@dataclass(frozen=True)
class CurationSummary:
    """What a report says of a choice."""

    sets: tuple[SetFigures, ...]
    groups: tuple[GroupShare, ...]
    reasons: tuple[tuple[str, int], ...]
    kernel: str
    cells: int
    cells_kept: int
    unseen: float | None
    """The share of the next demonstration's chance to be of a cell that nobody has seen."""

    def to_json(self) -> dict[str, Any]:
        """The summary as `corporeal curate --json` prints it."""
        return asdict(self)


def summarise(choice: Choice, *, hidden: Collection[str] = ()) -> CurationSummary:
    """The choice beside the whole pool and beside the baselines, kept to the same size.

    Nothing is counted by the traits that are `hidden`.
    """
    pool = choice.pool
    thinned = np.arange(0, len(pool), max(1, -(-len(pool) // _MOST)))
    likeness, width = path_kernel(pool.paths[thinned])
    parts: dict[str, NDArray[np.bool_]] = {"all": np.ones(len(pool), bool), "chosen": choice.kept}
    for name, method in find_methods().items():
        if method.is_baseline:
            try:
                parts[name] = curate(pool, [name], keep=choice.keep, seed=choice.seed).kept
            except CorporealError:
                continue
    parts["random, as long as the chosen"] = draw_alike(pool, choice.kept, choice.seed)
    sets = tuple(
        _figures(name, pool, mask, choice.kept, likeness[np.ix_(mask[thinned], mask[thinned])])
        for name, mask in parts.items()
    )
    cells = [_cell(pool, n) for n in range(len(pool))]
    counts = Counter(cells)
    return CurationSummary(
        sets,
        _groups(choice, hidden),
        tuple(Counter(map(_kind, np.array(choice.reasons)[~choice.kept])).most_common(12)),
        f"Gaussian of whole paths, bandwidth {width:.3g} (median distance)",
        len(counts),
        len({cell for cell, kept in zip(cells, choice.kept, strict=True) if kept}),
        _unseen(counts) if len(counts) > 1 else None,
    )


def _figures(
    name: str,
    pool: DemonstrationPool,
    mask: NDArray[np.bool_],
    kept: NDArray[np.bool_],
    likeness: Any,
) -> SetFigures:
    episodes = [pool.episodes[n] for n in np.flatnonzero(mask)]
    known = [each.success for each in episodes if each.success is not None]
    totals = [each.total for each in episodes if each.total is not None]
    seconds = [each.duration_s for each in episodes]
    return SetFigures(
        name, len(episodes), sum(seconds) / 60,
        float(np.median(seconds)) if seconds else None,
        sum(known) / len(known) if known else None,
        math.fsum(totals) / len(totals) if totals else None,
        float((mask & kept).sum() / max(1, mask.sum())),
        {f"{order:g}": round(vendi(likeness, order), 2) for order in _ORDERS},
    )  # fmt: skip


def _groups(choice: Choice, hidden: Collection[str]) -> tuple[GroupShare, ...]:
    rows = []
    for trait in ("task", *(name for name in _TRAITS if name not in hidden)):
        values = [
            str(each.task) if trait == "task" else each.traits.get(trait, "")
            for each in choice.pool.episodes
        ]
        for value, count in sorted(Counter(values).items()):
            if value:
                kept = sum(bool(choice.kept[n]) for n, each in enumerate(values) if each == value)
                rows.append(GroupShare(trait, value, count, kept))
    return tuple(rows)


def _cell(pool: DemonstrationPool, number: int) -> tuple[str, ...]:
    each = pool.episodes[number]
    names = ("object", "environment", "operator")
    return (str(each.task), *(each.traits.get(name, "") for name in names))


def _unseen(counts: Counter[tuple[str, ...]]) -> float:
    """Good and Turing: as likely as what was seen just once."""
    return sum(count == 1 for count in counts.values()) / counts.total()


def _kind(reason: str) -> str:
    """A reason without what is different in each."""
    plain = reason.removeprefix("left out: ").split(";")[0].split(":")[0]
    return plain.split(" of ")[0] if " copy of " in plain else plain

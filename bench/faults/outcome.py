"""What every subject of the fault campaign says of one fault, and how the campaign runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """One fault: its kind in words, whether the promise held, and what shows it.

    `loss_ms` is the time of which nothing was recovered; None where that has no meaning.
    `detail` is one sentence, empty where there is nothing to say.
    """

    kind: str
    held: bool
    loss_ms: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class Subject:
    """A part of the house that faults are made in, one module of this package each.

    `run(count, seed, folder)` makes at least `count` faults, the same for the same `seed`, in a
    folder of its own that it leaves behind empty, and yields an outcome as soon as it is known.
    """

    name: str
    run: Callable[[int, int, Path], Iterator[Outcome]]

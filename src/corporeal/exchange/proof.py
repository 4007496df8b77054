"""Proves an export: reads the dataset back, with our reader and with its users' own library."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from corporeal.episode.recording import Dataset
from corporeal.exchange.comparison.evidence import Evidence, Tally
from corporeal.exchange.comparison.library import by_its_library
from corporeal.exchange.comparison.recordings import differences
from corporeal.exchange.comparison.tables import by_our_reader
from corporeal.exchange.consumer import UnsuitedError, find_python
from corporeal.exchange.conversion import Exported
from corporeal.exchange.format import Loss, formats, open_dataset, writer_of


@dataclass(frozen=True)
class Proof:
    """Everything that was compared, and what the format loses by its own word."""

    evidence: tuple[Evidence, ...]
    loses: tuple[Loss, ...]
    missing: str | None = None
    """Which library was not there to read the dataset, and how to get it; None when it was."""

    @property
    def holds(self) -> bool:
        """Whether something was compared, and nothing differs but what the format says it loses.

        Nothing can be compared where only a library that is not there reads the format.
        """
        return all(each.holds for each in self.evidence) and (
            bool(self.evidence) or self.missing is not None
        )

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {"holds": self.holds, **asdict(self)}


def prove(exported: Exported, *, python: str | None = None) -> Proof:
    """Compare the dataset with the episodes it was made of; raises only when it cannot be read.

    `python` is the interpreter that has the format's own library, if it is not this one.
    """
    writer = writer_of(exported.order.format)
    source = exported.order.opener()
    evidence: list[Evidence] = []
    if not writer.many_rates:
        result = open_dataset(exported.out, restore=False)
        evidence.extend(by_our_reader(exported, source, result, writer))
    elif formats()[exported.order.format].read is not None:
        evidence.append(_streams(exported, source, open_dataset(exported.out)))
    consumer = writer.consumer
    missing = None
    if consumer is not None:
        found = find_python(consumer, python=python)
        if found is None:
            missing = f"{consumer.module} is not installed ({consumer.install})"
        else:
            try:
                evidence.extend(by_its_library(exported, source, writer, found))
            except UnsuitedError as error:
                missing = f"{error} ({consumer.install})"
    # What is lost of labels is said only where there are some.
    said = exported.head.layout.lanes
    loses = tuple(loss for loss in writer.loses if said or loss != "labels")
    return Proof(tuple(evidence), loses, missing)


def _streams(exported: Exported, source: Dataset, result: Dataset) -> Evidence:
    """Every stream of every episode as it was recorded."""
    tally = Tally()
    if len(result.episodes) != len(exported.pieces):
        tally.wrong.append(f"{len(result.episodes)} episodes instead of {len(exported.pieces)}")
    for index, number in zip(exported.order.episodes, result.episodes, strict=False):
        wanted = source.open(index)
        tally.compared += len(wanted.signals)
        tally.wrong.extend(differences(wanted, result.open(number)))
    return tally.evidence("streams", "corporeal", "stream")

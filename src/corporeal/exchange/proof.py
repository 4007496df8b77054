"""Proves an export: reads the dataset back, with our reader and with its users' own library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from corporeal.episode.label_track import NOTHING
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError
from corporeal.exchange.comparison import (
    EPISODES,
    ROWS,
    DifferenceTally,
    Evidence,
    compare_shown,
    difference,
    differences,
    spread,
)
from corporeal.exchange.conversion import ExportResult, table_at
from corporeal.exchange.format import Consumer, Loss, TableWriter, Writer, formats, writer_of
from corporeal.exchange.library import UnsuitedError, ask, find_python
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.statistics import merge_moments
from corporeal.exchange.table import EpisodeTable

# Sums of many floats of 32 bits.
_STATISTIC = 1e-4


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


def prove(exported: ExportResult, *, python: str | None = None) -> Proof:
    """Compare the dataset with the episodes it was made of; raises only when it cannot be read.

    `python` is the interpreter that has the format's own library, if it is not this one.
    """
    writer = writer_of(exported.job.format)
    source = exported.job.opener()
    evidence: list[Evidence] = []
    if isinstance(writer, TableWriter):
        result = open_dataset(exported.out, restore=False)
        evidence.extend(_read_rows_back(exported, source, result, writer))
    elif formats()[exported.job.format].read is not None:
        evidence.append(_read_streams_back(exported, source, open_dataset(exported.out)))
    consumer = writer.consumer
    missing = None
    if consumer is not None:
        interpreter = find_python(consumer, python=python)
        if interpreter is None:
            missing = f"{consumer.module} is not installed ({consumer.install})"
        else:
            try:
                evidence.extend(_ask_library(exported, source, writer, consumer, interpreter))
            except UnsuitedError as error:
                missing = f"{error} ({consumer.install})"
    # What is lost of labels is said only where there are some.
    has_labels = exported.layout is not None and bool(exported.layout.lanes)
    loses = tuple(loss for loss in writer.loses if has_labels or loss != "labels")
    return Proof(tuple(evidence), loses, missing)


def add_objects(proof: Proof, count: int) -> Proof:
    """The proof, beginning with the stored objects that the dataset was compared with."""
    agree = "object matches" if count == 1 else "objects match"
    checked = Evidence("objects", "sha256", f"{count} {agree} the manifest", holds=True)
    return replace(proof, evidence=(checked, *proof.evidence))


def _ask_library(
    exported: ExportResult, source: Dataset, writer: Writer, consumer: Consumer, python: str
) -> Iterator[Evidence]:
    """What the library says of episodes, rows, pictures, instructions and statistics.

    Raises UnsuitedError when the release that is there is not one for this format.
    """
    count = len(exported.episodes)
    rows = [(number, row) for number in spread(count, EPISODES)
            for row in spread(exported.episodes[number].rows, ROWS)]  # fmt: skip
    keys, cameras = _labels_by_key(exported, writer)
    try:
        answer = ask(consumer, exported.out, rows, list(keys.values()), list(cameras.values()),
                     python=python)  # fmt: skip
    except UnsuitedError:
        raise
    except CorporealError as error:
        yield Evidence("loads", consumer.module, str(error), holds=False)
        return
    by = f"{answer.library} {answer.version}"
    if not isinstance(writer, TableWriter):
        yield Evidence("episodes", by, f"{len(answer.episodes)} of {count}",
                       holds=len(answer.episodes) == count)  # fmt: skip
        return
    texts = [episode.instructions for episode in answer.episodes]
    has_texts = "instructions" not in writer.loses and all(texts)
    kept = {"episode boundaries": True, "values": True, "pictures": bool(cameras),
            "instructions": has_texts}  # fmt: skip
    tallies = _tallies(kept)
    _compare_counts(tallies, count, len(answer.episodes))
    for written, got in zip(exported.episodes, answer.episodes, strict=False):
        _compare_length(tallies, written.number, written.rows, {got.length})
        if has_texts:
            said = got.instructions or ()
            tallies["instructions"].check(
                written.instructions[0] in said, f"episode {written.number} says {said!r}"
            )
    for number in dict.fromkeys(number for number, _ in rows):
        table = table_at(exported, source, number)
        asked = {row: n for n, (episode, row) in enumerate(rows) if episode == number}
        for row, n in asked.items():
            block, where = table.block(row, row + 1), f"episode {number}, row {row}"
            for key, label in keys.items():
                tallies["values"].compare(where, label, block[key], answer.samples.get((n, label)))
        for key, label in cameras.items():
            shown = {row: answer.samples[n, label] for row, n in asked.items()
                     if (n, label) in answer.samples}  # fmt: skip
            if len(shown) < len(asked):
                tallies["pictures"].wrong.append(f"episode {number} lacks pictures of {label}")
            compare_shown(table, key, shown, tallies["pictures"])
    if answer.statistics:
        tallies["statistics"] = _compare_statistics(exported, source, answer.statistics, writer)
    yield from _evidence(tallies, by)


Tallies = dict[str, DifferenceTally]


def _tallies(kept: Mapping[str, bool]) -> Tallies:
    """One for everything that the format keeps."""
    return {what: DifferenceTally() for what, is_kept in kept.items() if is_kept}


def _evidence(tallies: Tallies, by: str) -> Iterator[Evidence]:
    """What was compared; nothing of outcomes where none is known."""
    for what, tally in tallies.items():
        if what != "outcomes" or tally.compared:
            yield tally.evidence(what, by)


def _labels_by_key(exported: ExportResult, writer: Writer) -> tuple[dict[str, str], dict[str, str]]:
    """What the library calls the columns and the cameras that the format has."""
    layout = exported.layout
    if layout is None or not isinstance(writer, TableWriter):
        return {}, {}
    columns = {key: label for key in layout.columns if (label := writer.label(key))}
    return columns, {key: label for key in layout.cameras if (label := writer.label(key))}


def _compare_counts(tallies: Tallies, wanted: int, got: int) -> None:
    if got != wanted:
        wrong = f"{got} episodes instead of {wanted}"
        tallies["episode boundaries"].wrong.append(wrong)


def _compare_length(tallies: Tallies, number: int, wanted: int, got: set[int]) -> bool:
    counts = " or ".join(map(str, sorted(got))) or "no"
    wrong = f"episode {number} has {counts} rows instead of {wanted}"
    return tallies["episode boundaries"].check(got == {wanted}, wrong)


def _read_rows_back(
    exported: ExportResult, source: Dataset, result: Dataset, writer: TableWriter
) -> Iterator[Evidence]:
    """All episodes and all numbers; pictures of some rows of some episodes."""
    layout = exported.layout
    assert layout is not None
    kept = {
        "episode boundaries": True,
        "values": True,
        "instructions": "instructions" not in writer.loses,
        "outcomes": "outcome" not in writer.loses,
        "labels": bool(layout.lanes),
        "pictures": bool(layout.cameras) and "cameras" not in writer.loses,
    }
    tallies = _tallies(kept)
    count = len(exported.episodes)
    _compare_counts(tallies, count, len(result.episodes))
    looked_at = set(spread(count, EPISODES))
    for number in range(min(count, len(result.episodes))):
        table = table_at(exported, source, number)
        got = result.open(result.episodes[number])
        _compare_texts(table, got, tallies)
        lengths = {len(signal) for signal in got.signals.values() if signal.spec.kind != "text"}
        if not _compare_length(tallies, number, len(table), lengths):
            continue
        _compare_rows(table, got, writer, tallies["values"])
        if "labels" in tallies:
            _compare_labels(table, got, tallies["labels"])
        if "pictures" in tallies and number in looked_at:
            _compare_pictures(table, got, writer, tallies["pictures"])
    if result.statistics:
        tallies["statistics"] = _compare_statistics(exported, source, result.statistics, writer)
    yield from _evidence(tallies, "corporeal")


def _compare_texts(table: EpisodeTable, got: Recording, tallies: Tallies) -> None:
    if "instructions" in tallies:
        said = got.facts.instruction or ""
        wrong = f"episode {table.number} says {said!r} instead of {table.text!r}"
        tallies["instructions"].check(said == table.text, wrong)
    if "outcomes" in tallies and table.success is not None:
        success = got.facts.outcome.success
        wrong = f"episode {table.number} has success {success}"
        tallies["outcomes"].check(success is table.success, wrong)


def _compare_rows(
    table: EpisodeTable, got: Recording, writer: TableWriter, values: DifferenceTally
) -> None:
    where = f"episode {table.number}"
    labels = {key: label for key in table.layout.columns
              if (label := writer.label(key)) is not None}  # fmt: skip
    for key in [key for key, label in labels.items() if label not in got.signals]:
        values.wrong.append(f"{where} has no {labels.pop(key)}")
    first = 0
    for block in table.blocks():
        stop = first + len(next(iter(block.values()))) if block else len(table)
        for key, label in labels.items():
            values.compare(where, label, block[key], np.asarray(got.signals[label][first:stop]))
        first = stop


def _compare_labels(table: EpisodeTable, got: Recording, labels: DifferenceTally) -> None:
    """The labels themselves where the format keeps them whole, else those of its rows."""
    wanted, there = table.recording.labels, got.labels
    stamps = next(signal.time_ns for signal in got.signals.values() if signal.spec.kind != "text")
    for lane in table.layout.lanes:
        labels.compared += len(table)
        if wanted is not None and there is not None and wanted.spans == there.spans:
            continue
        rows = there.rows(lane, stamps) if there is not None else np.full(len(stamps), NOTHING)
        if not np.array_equal(rows, table.labels[lane.name]):
            labels.wrong.append(f"episode {table.number} has other labels in {lane.name}")


def _compare_pictures(
    table: EpisodeTable, got: Recording, writer: TableWriter, pictures: DifferenceTally
) -> None:
    rows = spread(len(table), ROWS)
    for key in table.cameras:
        label = writer.label(key)
        if label is None or label not in got.signals:
            pictures.wrong.append(f"episode {table.number} has no {label or key}")
            continue
        shown = np.asarray(got.signals[label][rows])
        compare_shown(table, key, dict(zip(rows, shown, strict=True)), pictures)


def _compare_statistics(
    exported: ExportResult, source: Dataset, stated: Mapping[str, Any], writer: TableWriter
) -> DifferenceTally:
    """Mean, spread and range of every column, reckoned anew from the episodes."""
    tally = DifferenceTally()
    tables = (table_at(exported, source, number) for number in range(len(exported.episodes)))
    moments = merge_moments(block for table in tables for block in table.blocks())
    for key in moments:
        claims = stated.get(writer.label(key) or "", {})
        for name in ("mean", "std", "min", "max"):
            if name in claims:
                value = np.asarray(getattr(moments[key], name))
                tally.compared += value.size
                error = difference(value, np.asarray(claims[name]).reshape(value.shape))
                if error > _STATISTIC:
                    tally.wrong.append(f"{name} of {key} is off by {error:.3g}")
    return tally


def _read_streams_back(exported: ExportResult, source: Dataset, result: Dataset) -> Evidence:
    """Every stream of every episode as it was recorded."""
    tally = DifferenceTally()
    if len(result.episodes) != len(exported.episodes):
        tally.wrong.append(f"{len(result.episodes)} episodes instead of {len(exported.episodes)}")
    for index, number in zip(exported.job.episodes, result.episodes, strict=False):
        wanted = source.open(index)
        tally.compared += len(wanted.signals)
        tally.wrong.extend(differences(wanted, result.open(number)))
    return tally.evidence("streams", "corporeal")

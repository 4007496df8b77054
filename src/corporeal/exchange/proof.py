"""Proves an export: reads the dataset back, with our reader and with its users' own library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.label_track import NOTHING
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError
from corporeal.exchange.comparison import (
    EPISODES,
    MAX_DIFFERENCE,
    ROWS,
    DifferenceTally,
    Evidence,
    compare_shown,
    difference,
    differences,
    spread,
)
from corporeal.exchange.conformance.library import LibraryAnswer, UnsuitedError, ask, find_python
from corporeal.exchange.conversion import ExportResult, table_at
from corporeal.exchange.format import Consumer, Loss, TableWriter, Writer, formats, writer_of
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


def _ask_library(
    exported: ExportResult, source: Dataset, writer: Writer, consumer: Consumer, python: str
) -> Iterator[Evidence]:
    """What the library says of episodes, rows, pictures, instructions and statistics.

    Raises UnsuitedError when the release that is there is not one for this format.
    """
    count = len(exported.episodes)
    lengths = [episode.rows for episode in exported.episodes]
    rows = [(number, row) for number in spread(count, EPISODES)
            for row in spread(lengths[number], ROWS)]  # fmt: skip
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
    yield _boundaries(answer, lengths, by)
    values, pictures = DifferenceTally(), DifferenceTally()
    for number in dict.fromkeys(number for number, _ in rows):
        table = table_at(exported, source, number)
        asked = {row: n for n, (episode, row) in enumerate(rows) if episode == number}
        _compare_samples(table, asked, answer, keys, values)
        for key, label in cameras.items():
            shown = {row: answer.samples[n, label] for row, n in asked.items()
                     if (n, label) in answer.samples}  # fmt: skip
            if len(shown) < len(asked):
                pictures.wrong.append(f"episode {number} lacks pictures of {label}")
            compare_shown(table, key, shown, pictures)
    yield values.evidence("values", by, "number")
    if cameras:
        yield pictures.evidence("pictures", by, "picture")
    yield from _compare_instructions(exported, answer, writer, by)
    if answer.statistics:
        yield _compare_statistics(exported, source, answer.statistics, writer, by)


def _labels_by_key(exported: ExportResult, writer: Writer) -> tuple[dict[str, str], dict[str, str]]:
    """What the library calls the columns and the cameras that the format has."""
    layout = exported.layout
    if layout is None or not isinstance(writer, TableWriter):
        return {}, {}
    columns = {key: label for key in layout.columns if (label := writer.label(key))}
    return columns, {key: label for key in layout.cameras if (label := writer.label(key))}


def _compare_samples(
    table: EpisodeTable,
    asked: Mapping[int, int],
    answer: LibraryAnswer,
    keys: Mapping[str, str],
    values: DifferenceTally,
) -> None:
    for row, n in asked.items():
        block = table.block(row, row + 1)
        for key, label in keys.items():
            got = answer.samples.get((n, label))
            _compare_value(values, f"episode {table.number}, row {row}", label, block[key][0], got)


def _compare_value(
    values: DifferenceTally, where: str, label: str, wanted: NDArray[Any], got: NDArray[Any] | None
) -> None:
    values.compared += wanted.size
    if got is None or got.size != wanted.size:
        values.wrong.append(f"{where} has no {label} of {wanted.size} entries")
        return
    error = difference(wanted.reshape(-1), got.reshape(-1))
    if error > MAX_DIFFERENCE:
        values.wrong.append(f"{where} differs in {label} by {error:.3g}")


def _boundaries(answer: LibraryAnswer, lengths: Sequence[int], by: str) -> Evidence:
    got = [episode.length for episode in answer.episodes]
    wrong = [n for n, (a, b) in enumerate(zip(got, lengths, strict=False)) if a != b]
    holds = got == list(lengths)
    agree = "1 episode agrees" if len(lengths) == 1 else f"{len(lengths):,} episodes agree"
    result = agree if holds else (
        f"{len(got)} episodes instead of {len(lengths)}" if len(got) != len(lengths)
        else f"episode {wrong[0]} has {got[wrong[0]]} rows instead of {lengths[wrong[0]]}"
    )  # fmt: skip
    return Evidence("episode boundaries", by, result, holds)


def _compare_instructions(
    exported: ExportResult, answer: LibraryAnswer, writer: TableWriter, by: str
) -> Iterator[Evidence]:
    """The instructions, where the library hands them out."""
    texts_of = [episode.instructions for episode in answer.episodes]
    if "instructions" in writer.loses or not all(texts_of):
        return
    tally = DifferenceTally()
    for number, (episode, texts) in enumerate(zip(exported.episodes, texts_of, strict=False)):
        tally.compared += 1
        if episode.instructions[0] not in (texts or ()):
            tally.wrong.append(f"episode {number} says {texts!r}")
    yield tally.evidence("instructions", by, "episode")


def _read_rows_back(
    exported: ExportResult, source: Dataset, result: Dataset, writer: TableWriter
) -> Iterator[Evidence]:
    """All episodes and all numbers; pictures of some rows of some episodes."""
    by = "corporeal"
    bounds, values, texts, outcomes, pictures, labels = (DifferenceTally() for _ in range(6))
    count = len(exported.episodes)
    if len(result.episodes) != count:
        bounds.wrong.append(f"{len(result.episodes)} episodes instead of {count}")
    looked_at = set(spread(count, EPISODES))
    for number in range(min(count, len(result.episodes))):
        table = table_at(exported, source, number)
        got = result.open(result.episodes[number])
        _compare_texts(table, got, writer, texts, outcomes)
        if not _compare_lengths(table, got, bounds):
            continue
        _compare_rows(table, got, writer, values)
        _compare_labels(table, got, labels)
        if number in looked_at:
            _compare_pictures(table, got, writer, pictures)
    yield bounds.evidence("episode boundaries", by, "episode")
    yield values.evidence("values", by, "number")
    if "instructions" not in writer.loses:
        yield texts.evidence("instructions", by, "episode")
    if "outcome" not in writer.loses and outcomes.compared:
        yield outcomes.evidence("outcomes", by, "episode")
    layout = exported.layout
    if layout is not None and layout.lanes:
        yield labels.evidence("labels", by, "row")
    if layout is not None and layout.cameras and "cameras" not in writer.loses:
        yield pictures.evidence("pictures", by, "picture")
    if result.statistics:
        yield _compare_statistics(exported, source, result.statistics, writer, by)


def _compare_lengths(table: EpisodeTable, got: Recording, bounds: DifferenceTally) -> bool:
    bounds.compared += 1
    lengths = {len(signal) for signal in got.signals.values() if signal.spec.kind != "text"}
    if lengths == {len(table)}:
        return True
    counts = " or ".join(map(str, sorted(lengths))) or "no"
    bounds.wrong.append(f"episode {table.number} has {counts} rows instead of {len(table)}")
    return False


def _compare_rows(
    table: EpisodeTable, got: Recording, writer: TableWriter, values: DifferenceTally
) -> None:
    where = f"episode {table.number}"
    for key in table.layout.columns:
        label = writer.label(key)
        if label is not None and label not in got.signals:
            values.wrong.append(f"{where} has no {label}")
    labels = {key: label for key in table.layout.columns
            if (label := writer.label(key)) is not None and label in got.signals}  # fmt: skip
    first = 0
    for block in table.blocks():
        stop = first + len(next(iter(block.values()))) if block else len(table)
        for key, label in labels.items():
            wanted, there = block[key], np.asarray(got.signals[label][first:stop])
            values.compared += wanted.size
            error = difference(wanted, there.reshape(wanted.shape))
            if error > MAX_DIFFERENCE:
                values.wrong.append(f"{where} differs in {label} by {error:.3g}")
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


def _compare_texts(
    table: EpisodeTable,
    got: Recording,
    writer: TableWriter,
    texts: DifferenceTally,
    outcomes: DifferenceTally,
) -> None:
    texts.compared += 1
    instruction = got.facts.instruction or ""
    if "instructions" not in writer.loses and instruction != table.text:
        texts.wrong.append(f"episode {table.number} says {instruction!r} instead of {table.text!r}")
    if table.success is None:
        return
    outcomes.compared += 1
    success = got.facts.outcome.success
    if "outcome" not in writer.loses and success is not table.success:
        outcomes.wrong.append(f"episode {table.number} has success {success}")


def _compare_pictures(
    table: EpisodeTable, got: Recording, writer: TableWriter, pictures: DifferenceTally
) -> None:
    rows = spread(len(table), ROWS)
    for key in table.cameras:
        label = writer.label(key)
        if label is None or label not in got.signals:
            if "cameras" not in writer.loses:
                pictures.wrong.append(f"episode {table.number} has no {label or key}")
            continue
        shown = np.asarray(got.signals[label][rows])
        compare_shown(table, key, dict(zip(rows, shown, strict=True)), pictures)


def _compare_statistics(
    exported: ExportResult,
    source: Dataset,
    stated: Mapping[str, Any],
    writer: TableWriter,
    by: str,
) -> Evidence:
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
    return tally.evidence("statistics", by, "figure")


def _read_streams_back(exported: ExportResult, source: Dataset, result: Dataset) -> Evidence:
    """Every stream of every episode as it was recorded."""
    tally = DifferenceTally()
    if len(result.episodes) != len(exported.episodes):
        tally.wrong.append(f"{len(result.episodes)} episodes instead of {len(exported.episodes)}")
    for index, number in zip(exported.job.episodes, result.episodes, strict=False):
        wanted = source.open(index)
        tally.compared += len(wanted.signals)
        tally.wrong.extend(differences(wanted, result.open(number)))
    return tally.evidence("streams", "corporeal", "stream")

"""A dataset as our own reader gives it beside the rows it was made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.label_track import NOTHING
from corporeal.episode.recording import Dataset, Recording
from corporeal.exchange.comparison.evidence import EPISODES, ROWS, Evidence, Tally, spread
from corporeal.exchange.comparison.likeness import MAX_DIFFERENCE, difference
from corporeal.exchange.comparison.pictures import compare_shown
from corporeal.exchange.comparison.statistics import compare_statistics
from corporeal.exchange.conversion import Exported, table_at
from corporeal.exchange.format import Writer
from corporeal.exchange.table import Table


def by_our_reader(
    exported: Exported, source: Dataset, result: Dataset, writer: Writer
) -> Iterator[Evidence]:
    """All episodes and all numbers; pictures of some rows of some episodes."""
    by = "corporeal"
    bounds, values, texts, outcomes, pictures, labels = (Tally() for _ in range(6))
    count = len(exported.pieces)
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
    if exported.head.layout.lanes:
        yield labels.evidence("labels", by, "row")
    if exported.head.layout.cameras and "cameras" not in writer.loses:
        yield pictures.evidence("pictures", by, "picture")
    if result.statistics:
        yield compare_statistics(exported, source, result.statistics, by)


def _compare_lengths(table: Table, got: Recording, bounds: Tally) -> bool:
    bounds.compared += 1
    lengths = {len(signal) for signal in got.signals.values() if signal.spec.kind != "text"}
    if lengths == {len(table)}:
        return True
    said = " or ".join(map(str, sorted(lengths))) or "no"
    bounds.wrong.append(f"episode {table.number} has {said} rows instead of {len(table)}")
    return False


def _compare_rows(table: Table, got: Recording, writer: Writer, values: Tally) -> None:
    where = f"episode {table.number}"
    for key in table.layout.columns:
        label = writer.label(key)
        if label is not None and label not in got.signals:
            values.wrong.append(f"{where} has no {label}")
    held = {key: label for key in table.layout.columns
            if (label := writer.label(key)) is not None and label in got.signals}  # fmt: skip
    first = 0
    for block in table.blocks():
        stop = first + len(next(iter(block.values()))) if block else len(table)
        for key, label in held.items():
            wanted, there = block[key], np.asarray(got.signals[label][first:stop])
            values.compared += wanted.size
            error = difference(wanted, there.reshape(wanted.shape))
            if error > MAX_DIFFERENCE:
                values.wrong.append(f"{where} differs in {label} by {error:.3g}")
        first = stop


def _compare_labels(table: Table, got: Recording, labels: Tally) -> None:
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
    table: Table, got: Recording, writer: Writer, texts: Tally, outcomes: Tally
) -> None:
    texts.compared += 1
    said = got.facts.instruction or ""
    if "instructions" not in writer.loses and said != table.text:
        texts.wrong.append(f"episode {table.number} says {said!r} instead of {table.text!r}")
    if table.success is None:
        return
    outcomes.compared += 1
    success = got.facts.outcome.success
    if "outcome" not in writer.loses and success is not table.success:
        outcomes.wrong.append(f"episode {table.number} has success {success}")


def _compare_pictures(table: Table, got: Recording, writer: Writer, pictures: Tally) -> None:
    rows = spread(len(table), ROWS)
    for key in table.cameras:
        label = writer.label(key)
        if label is None or label not in got.signals:
            if "cameras" not in writer.loses:
                pictures.wrong.append(f"episode {table.number} has no {label or key}")
            continue
        shown = np.asarray(got.signals[label][rows])
        compare_shown(table, key, dict(zip(rows, shown, strict=True)), pictures)

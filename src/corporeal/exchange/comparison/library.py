"""A dataset as its users' own library gives it beside the rows it was made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange.comparison.evidence import EPISODES, ROWS, Evidence, Tally, spread
from corporeal.exchange.comparison.likeness import MAX_DIFFERENCE, difference
from corporeal.exchange.comparison.pictures import compare_shown
from corporeal.exchange.comparison.statistics import compare_statistics
from corporeal.exchange.consumer import Answer, UnsuitedError, ask
from corporeal.exchange.conversion import Exported, table_at
from corporeal.exchange.format import Writer


def by_its_library(
    exported: Exported, source: Dataset, writer: Writer, python: str
) -> Iterator[Evidence]:
    """What the library says of episodes, rows, pictures, instructions and statistics.

    Raises UnsuitedError when the release that is there is not one for this format.
    """
    consumer = writer.consumer
    assert consumer is not None
    count = len(exported.pieces)
    lengths = [int(piece.facts["length"]) for piece in exported.pieces]
    rows = [(number, row) for number in spread(count, EPISODES)
            for row in spread(lengths[number], ROWS)]  # fmt: skip
    keys = {key: label for key in exported.head.layout.columns if (label := writer.label(key))}
    cameras = {key: label for key in exported.head.layout.cameras if (label := writer.label(key))}
    try:
        answer = ask(consumer, exported.out, rows, list(keys.values()), list(cameras.values()),
                     python=python)  # fmt: skip
    except UnsuitedError:
        raise
    except CorporealError as error:
        yield Evidence("loads", consumer.module, str(error), holds=False)
        return
    by = f"{answer.library} {answer.version}"
    if writer.many_rates:
        yield Evidence("episodes", by, f"{len(answer.episodes)} of {count}",
                       holds=len(answer.episodes) == count)  # fmt: skip
        return
    yield _boundaries(answer, lengths, by)
    values, pictures = Tally(), Tally()
    for number in dict.fromkeys(number for number, _ in rows):
        table = table_at(exported, source, number)
        places = {row: place for place, (each, row) in enumerate(rows) if each == number}
        for row, place in places.items():
            block = table.block(row, row + 1)
            for key, label in keys.items():
                got = answer.samples.get((place, label))
                _compare_value(values, f"episode {number}, row {row}", label, block[key][0], got)
        for key, label in cameras.items():
            shown = {row: answer.samples[place, label] for row, place in places.items()
                     if (place, label) in answer.samples}  # fmt: skip
            if len(shown) < len(places):
                pictures.wrong.append(f"episode {number} lacks pictures of {label}")
            compare_shown(table, key, shown, pictures)
    yield values.evidence("values", by, "number")
    if cameras:
        yield pictures.evidence("pictures", by, "picture")
    yield from _said(exported, answer, writer, by)
    if answer.statistics:
        yield compare_statistics(exported, source, answer.statistics, by)


def _compare_value(
    values: Tally, where: str, label: str, wanted: NDArray[Any], got: NDArray[Any] | None
) -> None:
    values.compared += wanted.size
    if got is None or got.size != wanted.size:
        values.wrong.append(f"{where} has no {label} of {wanted.size} entries")
        return
    error = difference(wanted.reshape(-1), got.reshape(-1))
    if error > MAX_DIFFERENCE:
        values.wrong.append(f"{where} differs in {label} by {error:.3g}")


def _boundaries(answer: Answer, lengths: Sequence[int], by: str) -> Evidence:
    got = [int(episode.get("length", -1)) for episode in answer.episodes]
    wrong = [n for n, (a, b) in enumerate(zip(got, lengths, strict=False)) if a != b]
    holds = got == list(lengths)
    agree = "1 episode agrees" if len(lengths) == 1 else f"{len(lengths):,} episodes agree"
    result = agree if holds else (
        f"{len(got)} episodes instead of {len(lengths)}" if len(got) != len(lengths)
        else f"episode {wrong[0]} has {got[wrong[0]]} rows instead of {lengths[wrong[0]]}"
    )  # fmt: skip
    return Evidence("episode boundaries", by, result, holds)


def _said(exported: Exported, answer: Answer, writer: Writer, by: str) -> Iterator[Evidence]:
    """The instructions, where the library hands them out."""
    told = [episode.get("instructions") for episode in answer.episodes]
    if "instructions" in writer.loses or not all(told):
        return
    tally = Tally()
    for number, (piece, texts) in enumerate(zip(exported.pieces, told, strict=False)):
        tally.compared += 1
        if piece.facts["instructions"][0] not in (texts or ()):
            tally.wrong.append(f"episode {number} says {texts!r}")
    yield tally.evidence("instructions", by, "episode")

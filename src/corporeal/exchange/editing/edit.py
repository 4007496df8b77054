"""Merge, split, delete, select: a new dataset of the same format, the old ones untouched."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange.format import TableWriter, formats, writer_of
from corporeal.exchange.layout import ACTION, STATE, layout_of
from corporeal.exchange.opening import open_rows
from corporeal.exchange.options import NO_ACTION, ExportOptions
from corporeal.exchange.sidecar import Sidecar, read_sidecar
from corporeal.exchange.training.normalisation import Normalisation


def rows_opener(paths: Sequence[Path]) -> Callable[[], Dataset]:
    """A function that opens datasets one after the other, row by row; other processes call it."""
    return partial(open_rows, tuple(paths))


def episode_numbers(path: Path) -> tuple[int, ...]:
    """The numbers of a dataset's episodes."""
    return open_rows(path).episodes


def format_of(path: Path) -> str:
    """The name under which a dataset like this one is written."""
    dataset = open_rows(path)
    name = dataset.format
    if name == "lerobot" and str(dataset.facts.get("codebase_version", "")).lstrip("v") < "3":
        name = "groot" if (path / "meta" / "modality.json").is_file() else "lerobot_v21"
    writable = [each for each, known in formats().items() if known.writer is not None]
    if name not in writable:
        raise CorporealError(
            f"{path}: {name} is read but not written; expected one of: {', '.join(writable)}. "
            "Convert it first: corporeal convert."
        )
    return name


def options_of(paths: Sequence[Path]) -> tuple[ExportOptions, Normalisation | None]:
    """How the rows of these datasets are written again, and how their values are normalised.

    Raises CorporealError when they do not belong into one dataset.
    """
    sidecars = [read_sidecar(path) for path in paths]
    scales = [sidecar.normalisation if sidecar else None for sidecar in sidecars]
    if len({scale.hash if scale else None for scale in scales}) > 1:
        raise CorporealError(
            "the datasets are normalised in different ways, so their values cannot stand side by "
            "side. Export them again with --normalise none, or import them first."
        )
    hierarchical = any(sidecar.description.modes for sidecar in sidecars if sidecar)
    options = ExportOptions(
        view="hierarchical" if hierarchical else "flat",
        state=_streams_of(STATE, paths[0], sidecars[0]),
        action=_streams_of(ACTION, paths[0], sidecars[0]) or NO_ACTION,
    )
    _check_rates(paths, options)
    return options, scales[0]


def _streams_of(key: str, path: Path, sidecar: Sidecar | None) -> tuple[str, ...]:
    """The streams that make up a column of a dataset as it stands, so that an edit changes none."""
    if sidecar is not None:
        column = sidecar.description.columns.get(key)
        streams = () if column is None else column.recorded or (column.stream,)
        return tuple(stream.path for stream in streams)
    dataset, writer = open_rows(path), writer_of(format_of(path))
    label = writer.label(key) if isinstance(writer, TableWriter) else None
    if label is None or not dataset.episodes:
        return ()
    signal = dataset.open(dataset.episodes[0]).signals.get(label)
    return (signal.spec.path,) if signal is not None and len(signal) else ()


def _check_rates(paths: Sequence[Path], options: ExportOptions) -> None:
    rates: dict[float, Path] = {}
    for path in paths:
        dataset = open_rows(path)
        if not dataset.episodes:
            raise CorporealError(f"{path} has no episode; expected at least one. Leave it out.")
        rates.setdefault(layout_of(dataset.open(dataset.episodes[0]), options).rate_hz, path)
    if len(rates) > 1:
        (a, first), (b, second) = list(rates.items())[:2]
        raise CorporealError(
            f"{first} has {a:g} rows per second and {second} has {b:g}; expected one rate. "
            f"Convert one of them first: corporeal convert {second} NEW --rate {a:g}."
        )


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def parse_shares(text: str) -> dict[str, float]:
    """`train=0.9,validation=0.1` as shares by name."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if not _NAME.fullmatch(name) or name in shares or not re.fullmatch(r"[0-9.]+", share):
            raise CorporealError(
                f"parts, got {text!r}; expected names with shares, such as "
                "train=0.9,validation=0.1."
            )
        try:
            shares[name] = float(share)
        except ValueError:
            raise CorporealError(f"parts, got {part!r}; expected a number as its share.") from None
    if len(shares) < 2 or abs(sum(shares.values()) - 1) > 1e-6 or min(shares.values()) <= 0:
        raise CorporealError(
            f"parts, got {text!r}; expected two or more shares above 0 that add up to 1."
        )
    return shares


def draw_split(
    numbers: Sequence[int], shares: Mapping[str, float], *, seed: int
) -> dict[str, list[int]]:
    """Every number in exactly one part, each part in order, by chance but always the same.

    No part is empty; the shares are met as closely as whole episodes allow.
    """
    if len(numbers) < len(shares):
        raise CorporealError(
            f"{len(numbers)} episodes for {len(shares)} parts; expected at least one each."
        )
    shuffled = np.random.default_rng(seed).permutation(np.asarray(numbers))
    counts = np.maximum(1, np.floor(np.array(list(shares.values())) * len(numbers))).astype(int)
    while counts.sum() > len(numbers):
        counts[np.argmax(counts)] -= 1
    wanted = np.array(list(shares.values())) * len(numbers)
    while counts.sum() < len(numbers):
        counts[np.argmax(wanted - counts)] += 1
    ends = np.cumsum(counts)
    return {
        name: sorted(int(number) for number in shuffled[end - count : end])
        for name, count, end in zip(shares, counts.tolist(), ends.tolist(), strict=True)
    }

"""The datasets of a demonstration in an HDF5 file as signals, whatever its layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import (
    INDEX_WRONG,
    ArraySignal,
    Defect,
    ImageSequence,
    Recording,
    Signal,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import TIMES, DatasetDescription, EpisodeDescription
from corporeal.exchange.foreign_stream import array_signal, picture_stream, to_storable
from corporeal.exchange.hdf5.file import Hdf5Pictures, holds_pictures, read_numbers
from corporeal.signal.grid import even_stamps

# As robosuite and most of its kin order a quaternion.
_QUATERNION = ("qx", "qy", "qz", "qw")
MAX_ROWS = 1 << 24
_OBSERVATIONS = ("obs/", "observations/")
MEASURED = "measured"
"""The attribute of a dataset that is there for the format alone, and false for it."""


def signals_of(
    path: Path,
    found: Mapping[str, Any],
    *,
    rate_hz: float,
    names: Mapping[str, Sequence[str]] | None = None,
    robot: Embodiment | None = None,
) -> dict[str, Signal]:
    """Signals by label from datasets by label; what is neither number nor picture is left out."""
    signals: dict[str, Signal] = {}
    for label, dataset in found.items():
        if holds_pictures(dataset):
            signals[label] = _stills(path, label, dataset, rate_hz)
            continue
        values = read_numbers(dataset)
        if values is None or values.ndim > 3:
            continue
        columns = (names or {}).get(label)
        if columns is None and label.endswith("quat") and values.shape[1:] == (4,):
            columns = _QUATERNION
        stamps = even_stamps(len(values), rate_hz)
        signals[label] = array_signal(
            label, values, stamps, rate_hz=rate_hz, names=columns, robot=robot
        )
    return signals


def described_signals(
    path: Path, found: Mapping[str, Any], description: DatasetDescription
) -> dict[str, Signal]:
    """Signals of a file that Corporeal wrote, as what they were when it was written.

    Observations that somebody added since, and columns of another shape, are read as any other's.
    """
    stamps = row_times(found)
    signals: dict[str, Signal] = {}
    for label, dataset in found.items():
        if label in description.camera_streams and holds_pictures(dataset):
            stills = _stills(path, label, dataset, description.rate_hz)
            spec = description.camera(label, stills.spec)
            signals[label] = ImageSequence(spec, _stamped(stamps, stills.time_ns), stills.pictures)
        elif label in description.streams:
            values = read_numbers(dataset)
            if values is None:
                continue
            values = to_storable(values)
            stream = description.column(label, values.shape[1:], values.dtype)
            if stream is not None:
                times = _stamped(stamps, even_stamps(len(values), description.rate_hz))
                signals[label] = ArraySignal(stream, times, values)
    changed = {
        label: each
        for label, each in found.items()
        if label not in signals
        and (label in description.streams or label.startswith(_OBSERVATIONS))
        and each.attrs.get(MEASURED, True)
    }
    return signals | signals_of(path, changed, rate_hz=description.rate_hz, robot=description.robot)


def described_recording(
    path: Path,
    found: Mapping[str, Any],
    description: DatasetDescription,
    described: EpisodeDescription,
    *,
    index: int,
    robot: Embodiment | None,
    metadata: Mapping[str, Any],
) -> Recording:
    """An episode that Corporeal wrote; `metadata` is what the file says besides."""
    signals = described_signals(path, found, description)
    defects = length_defects(signals, index)
    times = row_times(found)
    if times is not None:
        signals |= described.instruction_signal(times)
    return Recording(
        id=described.id,
        source=path,
        index=index,
        signals=signals,
        embodiment=robot or description.robot,
        metadata={"fps": description.rate_hz, **metadata, **described.to_metadata()},
        defects=tuple(defects),
        epoch_ns=described.epoch_ns,
        regridded=times is None,
        labels=described.labels,
    )


def row_times(found: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """The capture times of the rows, where they are kept and go forward."""
    dataset = found.get(TIMES)
    if dataset is None or dataset.dtype != np.int64 or dataset.ndim != 1:
        return None
    times = read_numbers(dataset)
    return None if times is None or (np.diff(times) < 0).any() else times


def _stamped(stamps: NDArray[np.int64] | None, even: NDArray[np.int64]) -> NDArray[np.int64]:
    return even if stamps is None or len(stamps) != len(even) else stamps


def length_defects(signals: Mapping[str, Signal], index: int) -> list[Defect]:
    """Streams of one demonstration that do not have the same number of samples."""
    lengths = {label: len(signal) for label, signal in signals.items()}
    if not lengths:
        return []
    counts = list(lengths.values())
    usual = max(set(counts), key=counts.count)
    return [
        Defect(INDEX_WRONG, f"{label} has {count} samples, the other streams {usual}", index,
               label, float(count), float(usual))
        for label, count in lengths.items()
        if count != usual
    ]  # fmt: skip


def _stills(path: Path, label: str, dataset: Any, rate_hz: float) -> ImageSequence:
    count = int(dataset.shape[0])
    if count > MAX_ROWS:
        # A dataset of nothing but its fill value takes no room in a file, however long it is.
        raise EpisodeError(f"{dataset.name} has {count} pictures; expected at most {MAX_ROWS}.")
    pictures = Hdf5Pictures(path, dataset.name, count)
    height, width = dataset.shape[1:3] if dataset.ndim == 4 else (0, 0)
    spec = picture_stream(label, height=int(height), width=int(width), rate_hz=rate_hz)
    stills = ImageSequence(spec, even_stamps(count, rate_hz), pictures)
    if dataset.ndim != 4 and count:
        height, width = stills[0].shape[:2]
        spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
        return ImageSequence(spec, stills.time_ns, pictures)
    return stills

"""The datasets of a demonstration in an HDF5 file as signals, whatever its layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corporeal.embodiment.embodiment import Embodiment
from corporeal.episode.recording import Defect, Signal, Stills
from corporeal.exchange.foreign_stream import array_signal, even_stamps, picture_stream
from corporeal.exchange.hdf5 import StoredPictures, holds_pictures, read_numbers

# As robosuite and most of its kin order a quaternion.
_QUATERNION = ("qx", "qy", "qz", "qw")


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


def length_defects(signals: Mapping[str, Signal], index: int) -> list[Defect]:
    """Streams of one demonstration that do not have the same number of samples."""
    lengths = {label: len(signal) for label, signal in signals.items()}
    if not lengths:
        return []
    counts = list(lengths.values())
    usual = max(set(counts), key=counts.count)
    return [
        Defect("index_map", f"{label} has {count} samples, the other streams {usual}", index,
               label, float(count), float(usual))
        for label, count in lengths.items()
        if count != usual
    ]  # fmt: skip


def _stills(path: Path, label: str, dataset: Any, rate_hz: float) -> Stills:
    count = int(dataset.shape[0])
    pictures = StoredPictures(path, dataset.name, count)
    height, width = dataset.shape[1:3] if dataset.ndim == 4 else (0, 0)
    spec = picture_stream(label, height=int(height), width=int(width), rate_hz=rate_hz)
    stills = Stills(spec, even_stamps(count, rate_hz), pictures)
    if dataset.ndim != 4 and count:
        height, width = stills[0].shape[:2]
        spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
        return Stills(spec, stills.time_ns, pictures)
    return stills

"""Puts episodes together again from a dataset that Corporeal wrote and what lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.episode.recording import (
    ArraySignal,
    Dataset,
    Footage,
    Recording,
    Signal,
    Stills,
    recording_of,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.beside.names import (
    FOLDER,
    NORMALISATION,
    ROBOT,
    ROW,
    SCHEMA,
    VIEW,
    shown,
    side_name,
)
from corporeal.exchange.json_text import read_json
from corporeal.exchange.normalisation import Normalisation
from corporeal.schema import Part, Stream


class ColumnView(Part):
    """What view.json says of a column."""

    label: str | None
    shape: tuple[int, ...]
    dtype: str
    names: tuple[str, ...] | None
    units: tuple[str, ...]
    streams: tuple[Stream, ...]


class CameraView(Part):
    """What view.json says of a camera."""

    label: str | None
    size: tuple[int, int]
    stream: dict[str, Any]


_COLUMNS = TypeAdapter(dict[str, ColumnView])
_CAMERAS = TypeAdapter(dict[str, CameraView])


@dataclass(frozen=True)
class View:
    """How the columns of a dataset were made."""

    root: Path
    columns: Mapping[str, ColumnView]
    cameras: Mapping[str, CameraView]
    normalisation: Normalisation | None
    robot: Embodiment | None
    modes: bool = False


def restored(dataset: Dataset, path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset with its episodes as they were recorded; itself when nothing lies beside it."""
    root = (path if path.is_dir() else path.parent) / FOLDER
    if not (root / VIEW).is_file():
        return dataset
    view = read_view(root, robot)
    return replace(dataset, open=partial(_open, dataset, view))


def as_rows(dataset: Dataset, path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset row by row as it stands, nothing put together: what editing works on.

    Columns get the descriptions that lie beside them, and episodes know their side files.
    """
    root = (path if path.is_dir() else path.parent) / FOLDER
    if not (root / VIEW).is_file():
        return dataset
    view = replace(read_view(root, robot), normalisation=None)
    return replace(dataset, open=partial(_open_rows, dataset, view))


def _open_rows(dataset: Dataset, view: View, index: int) -> Recording:
    rows = dataset.open(index)
    signals = _signals(rows, view, None)
    labels = {each.label for each in view.columns.values()}
    labels |= {each.label for each in view.cameras.values()}
    signals |= {label: each for label, each in rows.signals.items() if label not in labels}
    side = view.root / side_name(index)
    return replace(rows, signals=signals, embodiment=view.robot or rows.embodiment,
                   side=side if side.is_file() else None)  # fmt: skip


def read_view(root: Path, robot: Embodiment | None = None) -> View:
    """What lies beside a dataset, checked."""
    raw = read_json(root / VIEW)
    try:
        columns = _COLUMNS.validate_python(raw["columns"])
        cameras = _CAMERAS.validate_python(raw["cameras"])
    except (ValidationError, KeyError, TypeError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise EpisodeError(
            f"{root / VIEW}: does not describe a dataset ({first}). Remove the folder {root} to "
            "read the dataset without it."
        ) from None
    known = robot
    if known is None and (root / ROBOT).is_file():
        known = Embodiment.load(root / ROBOT)
    scale = root / NORMALISATION
    return View(
        root=root,
        columns=columns,
        cameras=cameras,
        normalisation=Normalisation.load(scale) if scale.is_file() else None,
        robot=known,
        modes=bool(raw.get("modes")),
    )


def _open(dataset: Dataset, view: View, index: int) -> Recording:
    rows = dataset.open(index)
    path = view.root / side_name(index)
    if not path.is_file():
        signals = _signals(rows, view, None)
        return replace(rows, signals=signals, embodiment=view.robot or rows.embodiment)
    side = recording_of(Episode.open(path), index=index, robot=view.robot)
    signals = _signals(rows, view, side)
    metadata = dict(side.metadata)
    documents = {kind: text for kind, text in side.documents.items() if kind != "schema"}
    schema = metadata.pop(SCHEMA, None)
    if isinstance(schema, str):
        documents["schema"] = schema
    return replace(
        rows,
        id=side.id,
        signals=signals,
        embodiment=side.embodiment or rows.embodiment,
        metadata=metadata,
        documents=documents,
        epoch_ns=side.epoch_ns,
        recovered=side.recovered,
        regridded=False,
        labels=side.labels or rows.labels,
    )


def _signals(rows: Recording, view: View, side: Recording | None) -> dict[str, Signal]:
    """Streams by path: from beside where they are there as recorded, else from the rows."""
    beside = dict(side.signals) if side is not None else {}
    marks = {f"debug/{ROW}"}
    row = beside.get(f"debug/{ROW}")
    found: dict[str, Signal] = {}
    for key, column in view.columns.items():
        signal = rows.signals.get(column.label or "")
        if len(column.streams) != 1 or signal is None:
            continue
        (stream,) = column.streams
        if stream.path not in beside:
            found[stream.path] = _column(signal, stream, key, view, row)
    for camera in view.cameras.values():
        footage = rows.signals.get(camera.label or "")
        name = f"debug/{shown(str(camera.stream.get('name')))}"
        marks.add(name)
        if isinstance(footage, Footage | Stills):
            found.update(_camera(footage, camera, beside.get(name), row))
    found.update((path, each) for path, each in beside.items() if path not in marks)
    return found


def _column(
    signal: Signal, stream: Stream, key: str, view: View, row: Signal | None
) -> ArraySignal:
    values = np.asarray(signal[:])
    if view.normalisation is not None:
        values = view.normalisation.invert(key, values)
    shape = (len(values), *(int(size) for size in stream.shape))
    if values.size != int(np.prod(shape, dtype=np.int64)):
        raise EpisodeError(
            f"{view.root / VIEW}: {key} has rows of shape {shape[1:]}, but the dataset has "
            f"{values.shape[1:]}. The folder belongs to another dataset: remove it."
        )
    with np.errstate(invalid="ignore"):
        values = values.reshape(shape).astype(stream.dtype, copy=False)
    return ArraySignal(stream, _stamps(signal, row), values)


def _stamps(signal: Signal, row: Signal | None) -> NDArray[np.int64]:
    """The capture times of the rows, where they are known."""
    return row.time_ns if row is not None and len(row) == len(signal) else signal.time_ns


def _camera(
    signal: Footage | Stills, camera: CameraView, times: Signal | None, row: Signal | None
) -> dict[str, Signal]:
    stamps = _stamps(signal, row)
    if times is not None and len(times) == len(signal):
        captured = np.asarray(times[:]).reshape(-1)
        # A picture shown twice keeps the times of its rows: a clock does not stand still.
        stamps = captured if (np.diff(captured) > 0).all() else stamps
    own = signal.spec
    wanted = {**camera.stream, "shape": own.shape, "rate_hz": own.rate_hz}
    spec = Stream.model_construct(**{**own.model_dump(), **wanted})
    return {spec.path: replace(signal, spec=spec, time_ns=stamps)}

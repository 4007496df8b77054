"""What a dataset of another format cannot carry, kept beside it in a folder `corporeal`.

`description.json` says how columns were made, `episodes.jsonl` what every episode is,
`embodiment.json` is the robot, `joint_order.json` the order of its joints, `normalisation.json` and
`weights.json` are there when asked for. `sides/side_000000.hdf5` is an episode file with every
stream that the rows do not hold as it was recorded, and with the capture time of every row and
picture. Episodes are put together again from the dataset and all this.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.episode.recording import (
    ArraySignal,
    Dataset,
    ImageSequence,
    Recording,
    Signal,
    VideoFile,
    recording_of,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.description import DatasetDescription, describe_dataset, read_description
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.format import ExportContext, TableWriter, WrittenEpisode
from corporeal.exchange.json_text import read_json, write_json
from corporeal.exchange.layout import ColumnSpec, TableLayout
from corporeal.exchange.table import EpisodeTable
from corporeal.exchange.training.joint_order import joint_order
from corporeal.exchange.training.normalisation import Normalisation
from corporeal.files import link_or_copy
from corporeal.schema import Stream

FOLDER = "corporeal"
EPISODES, ROBOT = "episodes.jsonl", "embodiment.json"
ROW = "table_row"
"""The stream that has the number of every row on its capture time."""
_DESCRIPTION, _VIEW = "description.json", "view.json"
_JOINT_ORDER, _NORMALISATION, _WEIGHTS = "joint_order.json", "normalisation.json", "weights.json"
# The field of a side file's metadata that has the schema of the recording.
_SCHEMA = "recorded_schema"

_README = """\
# Beside the dataset

This folder was written by Corporeal. Programs that read the dataset do not need it.

- `description.json`: what the columns are, and the recorded streams they were made from
- `episodes.jsonl`: which episode each one was, and what is known of it
- `embodiment.json`, `joint_order.json`: the robot, and the order of joints in state and action
- `normalisation.json`: how to get physical units back, if values are normalised
- `weights.json`: how often to draw each episode in training, if scores were given
- `sides/`: episode files (HDF5) with every stream at its own rate that the rows do not hold as it
  was recorded: `time_ns` and `data` of each stream; `debug/table_row` has the capture time of
  every row, `debug/<camera>_shown` the capture time of the picture that it shows

`corporeal import` puts the episodes together again from both.
"""


def side_name(number: int) -> str:
    """The side file of an episode."""
    return f"sides/side_{number:06d}.hdf5"


def shown_name(camera: str) -> str:
    """The stream that holds the capture times of a camera's pictures."""
    return f"{camera[:58]}_shown"


@dataclass(frozen=True)
class Sidecar:
    """What lies beside a dataset: its description, and how its values were normalised."""

    root: Path
    description: DatasetDescription
    normalisation: Normalisation | None
    robot: Embodiment | None


def find_sidecar(dataset: Path) -> Path | None:
    """The description that lies beside the dataset at a path; None when there is none."""
    root = (dataset if dataset.is_dir() else dataset.parent) / FOLDER
    # Version 1 called the file view.json.
    paths = (root / _DESCRIPTION, root / _VIEW)
    return next((path for path in paths if path.is_file()), None)


def read_sidecar(dataset: Path, robot: Embodiment | None = None) -> Sidecar | None:
    """What lies beside the dataset at a path, checked; None when nothing does."""
    path = find_sidecar(dataset)
    if path is None:
        return None
    root = path.parent
    description = read_description(read_json(path), str(path), part=f"the folder {root}")
    if description is None:
        raise EpisodeError(f"{path}: does not describe a dataset. Remove the folder {root}.")
    if robot is None and (root / ROBOT).is_file():
        robot = Embodiment.load(root / ROBOT)
    scale = root / _NORMALISATION
    return Sidecar(
        root=root,
        description=description,
        normalisation=Normalisation.load(scale) if scale.is_file() else None,
        robot=robot,
    )


def restore_episodes(dataset: Dataset, path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset with its episodes as they were recorded; itself when nothing lies beside it."""
    sidecar = read_sidecar(path, robot)
    return dataset if sidecar is None else replace(dataset, open=partial(_open, dataset, sidecar))


def describe_rows(dataset: Dataset, path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset row by row as it stands, nothing put together: what editing works on.

    Columns get the descriptions that lie beside them, and episodes know their side files.
    """
    sidecar = read_sidecar(path, robot)
    if sidecar is None:
        return dataset
    as_stored = replace(sidecar, normalisation=None)
    return replace(dataset, open=partial(_open_rows, dataset, as_stored))


def _open_rows(dataset: Dataset, sidecar: Sidecar, index: int) -> Recording:
    rows = dataset.open(index)
    signals = _signals(rows, sidecar, None)
    described = {*sidecar.description.streams, *sidecar.description.camera_streams}
    signals |= {label: each for label, each in rows.signals.items() if label not in described}
    side = sidecar.root / side_name(index)
    return replace(rows, signals=signals, embodiment=sidecar.robot or rows.embodiment,
                   side=side if side.is_file() else None)  # fmt: skip


def _open(dataset: Dataset, sidecar: Sidecar, index: int) -> Recording:
    rows = dataset.open(index)
    path = sidecar.root / side_name(index)
    if not path.is_file():
        signals = _signals(rows, sidecar, None)
        return replace(rows, signals=signals, embodiment=sidecar.robot or rows.embodiment)
    side = recording_of(Episode.open(path), index=index, robot=sidecar.robot)
    signals = _signals(rows, sidecar, side)
    metadata = dict(side.metadata)
    documents = {kind: text for kind, text in side.documents.items() if kind != "schema"}
    schema = metadata.pop(_SCHEMA, None)
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
        ledger=rows.ledger + side.ledger,
    )


def _signals(rows: Recording, sidecar: Sidecar, side: Recording | None) -> dict[str, Signal]:
    """Streams by path: from the side file where they are there as recorded, else from the rows."""
    recorded = dict(side.signals) if side is not None else {}
    marks = {f"debug/{ROW}"}
    row = recorded.get(f"debug/{ROW}")
    signals: dict[str, Signal] = {}
    for key, column in sidecar.description.columns.items():
        values = rows.signals.get(column.label or "")
        if values is None:
            continue
        for stream, place in zip(
            column.recorded, ColumnSpec(key, column.recorded).places, strict=True
        ):
            if stream.path not in recorded:
                signals[stream.path] = _column(values, stream, place, key, sidecar, row)
    for camera in sidecar.description.cameras.values():
        pictures = rows.signals.get(camera.label or "")
        name = f"debug/{shown_name(camera.stream.name)}"
        marks.add(name)
        if isinstance(pictures, VideoFile | ImageSequence):
            shown = _camera(pictures, camera.stream, recorded.get(name), row)
            signals[shown.spec.path] = shown
    signals.update((path, each) for path, each in recorded.items() if path not in marks)
    return signals


def _column(
    signal: Signal, stream: Stream, place: slice, key: str, sidecar: Sidecar, row: Signal | None
) -> ArraySignal:
    """A recorded stream out of the entries of a column that are its own."""
    values = np.asarray(signal[:])
    if sidecar.normalisation is not None:
        values = sidecar.normalisation.invert(key, values)
    shape = (len(values), *stream.sizes)
    own = values.reshape(len(values), -1)[:, place]
    if own.size != math.prod(shape):
        raise EpisodeError(
            f"{find_sidecar(sidecar.root.parent)}: {key} has rows of shape {shape[1:]}, but the "
            f"dataset has {values.shape[1:]}. The folder belongs to another dataset: remove it."
        )
    with np.errstate(invalid="ignore"):
        own = own.reshape(shape).astype(stream.dtype, copy=False)
    return ArraySignal(stream, _stamps(signal, row), own)


def _stamps(signal: Signal, row: Signal | None) -> NDArray[np.int64]:
    """The capture times of the rows, where they are known."""
    return row.time_ns if row is not None and len(row) == len(signal) else signal.time_ns


def _camera(
    signal: VideoFile | ImageSequence, stream: Stream, times: Signal | None, row: Signal | None
) -> VideoFile | ImageSequence:
    stamps = _stamps(signal, row)
    if times is not None and len(times) == len(signal):
        captured = np.asarray(times[:]).reshape(-1)
        # A picture shown twice keeps the times of its rows: a clock does not stand still.
        stamps = captured if (np.diff(captured) > 0).all() else stamps
    own = signal.spec
    stated = stream.model_dump(exclude_none=True, warnings=False)
    stated |= {"shape": own.shape, "rate_hz": own.rate_hz}
    return replace(signal, spec=own.model_copy(update=stated), time_ns=stamps)


def held_streams(layout: TableLayout, writer: TableWriter) -> frozenset[str]:
    """The streams that columns of a format hold digit by digit."""
    rounds = "precision" in writer.loses
    return frozenset(
        stream.path
        for key, column in layout.columns.items()
        for stream in column.streams
        if writer.label(key) is not None
        and np.can_cast(stream.dtype, column.dtype)
        and not (rounds and column.dtype in ("float64", "int64", "uint64"))
    )


def write_side(table: EpisodeTable, path: Path, *, held: Collection[str]) -> bool:
    """Write what the rows do not hold as it was recorded; False when there is nothing.

    `held` are the streams for which the format has a place. Cameras that no row shows are copied;
    of the others only the times are written, since their pictures are in the dataset.
    """
    recording = table.recording
    if recording.span_ns is not None:
        return False  # A piece: the episode that it was cut from has the rest.
    if recording.side is not None:
        link_or_copy(recording.side, path)
        return True
    in_rows = {camera.spec.stream.path for camera in table.cameras.values()}
    kept: dict[str, Signal] = {
        signal.spec.path: signal
        for signal in recording.signals.values()
        if len(signal) and signal.spec.path not in in_rows and not _is_held(signal, table, held)
    }
    if not kept and recording.regridded and recording.labels is None:
        return False
    kept |= {mark.spec.path: mark for mark in _marks(table)}
    metadata = dict(recording.metadata)
    if "schema" in recording.documents:
        metadata[_SCHEMA] = recording.documents["schema"]
    write_recording(replace(recording, signals=kept, metadata=metadata, defects=()), path)
    return True


def _is_held(signal: Signal, table: EpisodeTable, held: Collection[str]) -> bool:
    """Whether the rows are this signal, sample by sample."""
    return (
        signal.spec.path in held
        and signal.spec.kind == "array"
        and np.array_equal(signal.time_ns, table.time_ns)
    )


def _marks(table: EpisodeTable) -> list[ArraySignal]:
    """The number of each row on its capture time, and the capture time of the pictures it shows."""

    def mark(name: str, values: NDArray[np.int64]) -> ArraySignal:
        spec = Stream(name=name, group="debug", dtype="int64", shape=(1,),
                      rate_hz=table.rate_hz, interpolation="nearest")  # fmt: skip
        return ArraySignal(spec, table.time_ns, values.reshape(-1, 1))

    shown = (
        mark(shown_name(camera.spec.stream.name), camera.signal.time_ns[camera.numbers])
        for camera in table.cameras.values()
    )
    return [mark(ROW, np.arange(len(table))), *shown]


def write_sidecar(
    episodes: Sequence[WrittenEpisode],
    out: Path,
    context: ExportContext,
    normalisation: Normalisation | None,
    writer: TableWriter,
) -> None:
    """Write the folder; the side files are moved out of the episodes."""
    folder = out / FOLDER
    folder.mkdir()
    (folder / "README.md").write_text(_README, "utf-8")
    precise = "precision" not in writer.loses
    description = describe_dataset(context, writer.label, precise=precise)
    write_json(folder / _DESCRIPTION, description.to_json())
    lines = [json.dumps(episode.to_json(), ensure_ascii=False) for episode in episodes]
    (folder / EPISODES).write_text("\n".join(lines) + "\n", "utf-8")
    if context.robot is not None:
        (folder / ROBOT).write_text(context.robot.canonical() + "\n", "utf-8")
        write_json(folder / _JOINT_ORDER, joint_order(context.layout, context.robot))
    if normalisation is not None:
        (folder / _NORMALISATION).write_text(normalisation.canonical() + "\n", "utf-8")
    if weights := context.options.weights:
        # What the scores give; nothing for a failed demonstration, and 1 for one without a score.
        ours = {episode.id: 0.0 if episode.success is False else weights.get(episode.origin, 1.0)
                for episode in episodes}  # fmt: skip
        listed = [ours[episode.id] for episode in episodes]
        write_json(folder / _WEIGHTS, {"episodes": listed, "by_id": ours})
    for episode in episodes:
        if episode.side:
            target = folder / side_name(episode.number)
            target.parent.mkdir(exist_ok=True)
            link_or_copy(episode.folder.parent / "side.h5", target)

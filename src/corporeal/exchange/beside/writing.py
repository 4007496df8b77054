"""What a dataset of another format cannot carry, kept beside it in a folder `corporeal`.

`view.json` says how columns were made, `episodes.jsonl` what every episode is, `embodiment.json`
is the robot, `joint_order.json` the order of its joints, `normalisation.json` and `weights.json`
are there when asked for. `sides/side_000000.hdf5` is an episode file with every stream that the
rows do not hold as it was recorded, and with the capture time of every row and picture.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal import __version__
from corporeal.episode.recording import ArraySignal, Signal
from corporeal.exchange.beside.names import (
    EPISODES,
    FOLDER,
    JOINT_ORDER,
    NORMALISATION,
    ROBOT,
    ROW,
    SCHEMA,
    VIEW,
    WEIGHTS,
    shown,
    side_name,
)
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.format import ExportContext, TableWriter, WrittenEpisode
from corporeal.exchange.joint_order import joint_order
from corporeal.exchange.layout import TableLayout
from corporeal.exchange.mode import MODES
from corporeal.exchange.normalisation import Normalisation
from corporeal.exchange.table import EpisodeTable
from corporeal.files import link_or_copy
from corporeal.schema import Stream

_README = """\
# Beside the dataset

This folder was written by Corporeal. Programs that read the dataset do not need it.

- `view.json`: how rows and columns were made from the recorded streams
- `episodes.jsonl`: which episode each one was, and what is known of it
- `embodiment.json`, `joint_order.json`: the robot, and the order of joints in state and action
- `normalisation.json`: how to get physical units back, if values are normalised
- `weights.json`: how often to draw each episode in training, if scores were given
- `sides/`: episode files (HDF5) with every stream at its own rate that the rows do not hold as it
  was recorded: `time_ns` and `data` of each stream; `debug/table_row` has the capture time of
  every row, `debug/<camera>_shown` the capture time of the picture that it shows

`corporeal import` puts the episodes together again from both.
"""


def held(layout: TableLayout, writer: TableWriter) -> frozenset[str]:
    """The streams that a format has a column of their own for, digit by digit."""
    rounds = "precision" in writer.loses
    return frozenset(
        column.streams[0].path
        for key, column in layout.columns.items()
        if len(column.streams) == 1
        and writer.label(key) is not None
        and not (rounds and column.dtype in ("float64", "int64", "uint64"))
    )


def write_side(table: EpisodeTable, path: Path, *, held: Collection[str]) -> bool:
    """Write what the rows do not hold as it was recorded; False when there is nothing.

    `held` are the streams for which the format has a place. Cameras that no row shows are copied;
    of the others only the times are written, since their pictures are in the dataset.
    """
    recording = table.recording
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
        metadata[SCHEMA] = recording.documents["schema"]
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

    marks = [mark(ROW, np.arange(len(table)))]
    for camera in table.cameras.values():
        stamps = camera.signal.time_ns[camera.numbers]
        marks.append(mark(shown(camera.spec.stream.name), stamps))
    return marks


def write_companion(
    episodes: Sequence[WrittenEpisode],
    out: Path,
    context: ExportContext,
    normalisation: Normalisation | None,
    label: Callable[[str], str | None],
) -> None:
    """Write the folder; the side files are moved out of the episodes."""
    folder = out / FOLDER
    folder.mkdir()
    (folder / "README.md").write_text(_README, "utf-8")
    _write_json(folder / VIEW, _view(context, label))
    lines = [json.dumps(episode.to_json(), ensure_ascii=False) for episode in episodes]
    (folder / EPISODES).write_text("\n".join(lines) + "\n", "utf-8")
    if context.robot is not None:
        (folder / ROBOT).write_text(context.robot.canonical() + "\n", "utf-8")
        _write_json(folder / JOINT_ORDER, joint_order(context.layout, context.robot))
    if normalisation is not None:
        (folder / NORMALISATION).write_text(normalisation.canonical() + "\n", "utf-8")
    if weights := context.options.weights:
        ours = {episode.id: _weight(episode, weights) for episode in episodes}
        listed = [ours[episode.id] for episode in episodes]
        _write_json(folder / WEIGHTS, {"episodes": listed, "by_id": ours})
    for episode in episodes:
        if episode.side:
            target = folder / side_name(episode.number)
            target.parent.mkdir(exist_ok=True)
            link_or_copy(episode.folder.parent / "side.h5", target)


def _weight(episode: WrittenEpisode, weights: Mapping[str, float]) -> float:
    """What the scores give; nothing for a failed demonstration, and 1 for one without a score."""
    failed = episode.success is False
    return 0.0 if failed else weights.get(episode.id, 1.0)


def _view(context: ExportContext, label: Callable[[str], str | None]) -> dict[str, Any]:
    layout = context.layout
    return {
        "written_by": f"corporeal {__version__}",
        "version": 1,
        "plan": context.options.to_json(),
        "rate_hz": layout.rate_hz,
        "robot": context.robot.name if context.robot is not None else None,
        "columns": {
            key: {
                "label": label(key),
                "shape": list(column.shape),
                "dtype": column.dtype,
                "names": list(column.names) if column.names else None,
                "units": list(column.units),
                "streams": [_stream(stream) for stream in column.streams],
            }
            for key, column in layout.columns.items()
        },
        "cameras": {
            key: {"label": label(key), "size": list(camera.size), "stream": _stream(camera.stream)}
            for key, camera in layout.cameras.items()
        },
        "modes": list(MODES) if layout.mode else None,
    }


def _stream(stream: Stream) -> dict[str, Any]:
    values: dict[str, Any] = stream.model_dump(mode="json", exclude_none=True)
    return values


def _write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", "utf-8")

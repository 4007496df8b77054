"""What a dataset that Corporeal wrote says of itself: one JSON document for every format.

`docs/spec/dataset.md` says what its fields mean. A format only decides where the document lies;
`read_description` reads it from there, also as version 1 spelt it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, ValidationError

from corporeal import __version__
from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import LabelTrack, Lane
from corporeal.episode.recording import ArraySignal, Signal
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.layout import ColumnSpec, TableLayout, lane_key
from corporeal.exchange.mode import MODES
from corporeal.exchange.table import EpisodeTable
from corporeal.schema import Stream
from corporeal.schema.document import first_problem

NAME, MODE, TIMES = "corporeal", "observation.mode", "time_ns"
"""What the description, the column of modes and the capture times of rows are called."""
VERSION = 2
_SOME_SIZE = (2, 2, 3)

Label = Callable[[str], str | None]


def read_stream(values: Any) -> Stream:
    """A stream from JSON. Pictures of others may have an odd size, which ours never have."""
    if isinstance(values, Stream):
        return values
    shape = values.get("shape", _SOME_SIZE) if isinstance(values, Mapping) else ()
    if isinstance(values, Mapping) and values.get("kind") == "video" and len(shape) == 3:
        stream = Stream.model_validate({**values, "shape": _SOME_SIZE})
        return stream.model_copy(update={"shape": tuple(int(size) for size in shape)})
    return Stream.model_validate(values)


def _dump_stream(stream: Stream) -> dict[str, Any]:
    values: dict[str, Any] = stream.model_dump(mode="json", exclude_none=True, warnings=False)
    return values


StatedStream = Annotated[Stream, PlainValidator(read_stream), PlainSerializer(_dump_stream)]


class Stated(BaseModel):
    """A part of a description; fields of a later version are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """All of it that is said, as JSON."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude_none=True)
        return values


class EpisodeDescription(Stated):
    """One episode; `changes` are (row, place in `instructions`) where another comes in force."""

    id: str = Field(min_length=1, max_length=256)
    epoch_ns: int = Field(default=0, ge=0, lt=1 << 62)
    success: bool | None = None
    instructions: tuple[str, ...] = ()
    changes: tuple[tuple[int, int], ...] = ()
    labels: LabelTrack | None = None

    def to_metadata(self) -> dict[str, Any]:
        """What a recording says of itself."""
        metadata: dict[str, Any] = {}
        if self.instructions and self.instructions[0]:
            metadata["instruction"] = self.instructions[0]
        if self.success is not None:
            metadata["outcome"] = {"success": self.success}
        return metadata

    def instruction_signal(self, time_ns: NDArray[np.int64]) -> dict[str, Signal]:
        """The instructions at their times; nothing where one is in force throughout."""
        changes = [(row, text) for row, text in self.changes
                   if 0 <= row < len(time_ns) and 0 <= text < len(self.instructions)]  # fmt: skip
        if len(changes) < 2:
            return {}
        spec = Stream(name="instruction", group="observations", kind="text")
        stamps = time_ns[[row for row, _ in changes]]
        return {
            "instruction": ArraySignal(spec, stamps, [self.instructions[n] for _, n in changes])
        }


class ColumnDescription(Stated):
    """A column: what the format calls it, what its rows hold, and the recorded streams in it."""

    label: str | None = None
    stream: StatedStream
    recorded: tuple[StatedStream, ...] = ()


class CameraDescription(Stated):
    """A camera: what the format calls it, and its stream as recorded."""

    label: str | None = None
    stream: StatedStream


class DatasetDescription(Stated):
    """A dataset: its rate, its robot, and what its columns and cameras are, by key."""

    version: Literal[2] = 2
    written_by: str = ""
    rate_hz: float = Field(gt=0, le=1e4)
    options: dict[str, Any] = Field(default_factory=dict)
    robot: Embodiment | None = None
    columns: dict[str, ColumnDescription] = Field(default_factory=dict)
    cameras: dict[str, CameraDescription] = Field(default_factory=dict)
    modes: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = Field(default=(), max_length=256)
    episodes: tuple[EpisodeDescription, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it that is said, as JSON: nothing of modes, labels and episodes without any."""
        values = super().to_json()
        return {name: value for name, value in values.items() if value not in ([], {})}

    @cached_property
    def streams(self) -> Mapping[str, Stream]:
        """The columns as streams, by the format's labels."""
        columns = self.columns.values()
        return {each.label: each.stream for each in columns if each.label is not None}

    @cached_property
    def camera_streams(self) -> Mapping[str, Stream]:
        """The cameras as streams, by the format's labels."""
        cameras = self.cameras.values()
        return {each.label: each.stream for each in cameras if each.label is not None}

    def column(self, label: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Stream | None:
        """What is said of a column, if its rows are of this shape and type."""
        stream = self.streams.get(label)
        fits = stream is not None and (tuple(stream.shape), stream.dtype) == (shape, dtype.name)
        return stream if fits else None

    def camera(self, label: str, plain: Stream) -> Stream:
        """What is said of a camera; `plain` gives the size of its pictures."""
        stream = self.camera_streams.get(label)
        if stream is None:
            return plain
        return stream.model_copy(update={"shape": plain.shape, "rate_hz": plain.rate_hz})

    def episode(self, number: int) -> EpisodeDescription | None:
        """What is said of an episode."""
        return self.episodes[number] if 0 <= number < len(self.episodes) else None


def read_description(raw: Any, where: str, *, part: str) -> DatasetDescription | None:
    """A description from JSON; None when there is none, EpisodeError when it makes no sense.

    `part` is what to remove to read the dataset without it, such as "the note".
    """
    if raw is None:
        return None
    try:
        return DatasetDescription.model_validate(_upgrade(raw))
    except ValidationError as error:
        reason = first_problem(error)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
    raise EpisodeError(
        f"{where}: does not describe a dataset ({reason}). Remove {part} to read the dataset "
        "without it."
    )


def _upgrade(raw: Any) -> Any:
    """Version 1, which spelt the same in three ways, as version 2 spells it.

    Zarr and HDF5 had a stream for each label, RLDS the same with less of cameras, and the file
    `view.json` beside a dataset had columns by key with their recorded streams.
    """
    if not isinstance(raw, Mapping) or raw.get("version", 1) != 1:
        return raw
    columns, cameras = raw.get("columns"), raw.get("cameras")
    if isinstance(columns, Mapping):
        columns = {key: _upgrade_column(key, each) for key, each in columns.items()}
    if isinstance(cameras, Mapping):
        cameras = {key: _upgrade_camera(key, each) for key, each in cameras.items()}
    robot = raw.get("robot")
    changed = {
        "version": VERSION,
        "columns": columns,
        "cameras": cameras,
        "options": raw.get("plan") or {},
        # The file beside a dataset had its robot in another one, and only named it here.
        "robot": None if isinstance(robot, str) else robot,
        "modes": raw.get("modes") or (),
        "lanes": raw.get("lanes") or (),
    }
    return {**raw, **changed}


def _upgrade_column(key: str, column: Mapping[str, Any]) -> dict[str, Any]:
    if "streams" not in column:
        return {"label": key, "stream": column}
    recorded = [Stream.model_validate(stream) for stream in column["streams"]]
    units = set(column["units"])
    stream = {
        "name": key.rsplit(".", 1)[-1],
        "group": recorded[0].group,
        "dtype": column["dtype"],
        "shape": column["shape"],
        "unit": units.pop() if len(units) == 1 else column["units"],
        "components": column["names"],
    }
    alone = recorded[0] if len(recorded) == 1 else stream
    return {"label": column["label"], "stream": alone, "recorded": recorded}


def _upgrade_camera(key: str, camera: Mapping[str, Any]) -> dict[str, Any]:
    stream = camera.get("stream", camera)
    label = camera["label"] if "stream" in camera else key
    return {"label": label, "stream": {"kind": "video", **stream}}


def describe_dataset(
    context: ExportContext,
    label: Label,
    episodes: Iterable[WrittenEpisode] = (),
    *,
    mode_label: str | None = None,
    precise: bool = True,
) -> DatasetDescription:
    """The description of a dataset that is being written.

    `label` says what the format calls a column, `mode_label` what it calls that of the modes.
    A format that is not `precise` stores numbers as 32-bit floats.
    """
    layout = context.layout
    columns = {
        key: ColumnDescription(
            label=label(key),
            stream=column_stream(column, context, precise=precise),
            recorded=column.streams,
        )
        for key, column in layout.columns.items()
    }
    if layout.mode and mode_label is not None:
        columns[MODE] = ColumnDescription(label=mode_label, stream=mode_stream(layout))
    cameras = {
        key: CameraDescription(
            label=label(key),
            stream=spec.stream.model_copy(
                update={"shape": (*spec.size, 3), "rate_hz": layout.rate_hz}
            ),
        )
        for key, spec in layout.cameras.items()
    }
    return DatasetDescription(
        written_by=f"corporeal {__version__}",
        rate_hz=layout.rate_hz,
        options=context.options.to_json(),
        robot=context.robot,
        columns=columns,
        cameras=cameras,
        modes=MODES if layout.mode else (),
        lanes=layout.lanes,
        episodes=tuple(EpisodeDescription.model_validate(each.to_json()) for each in episodes),
    )


def describe_episode(table: EpisodeTable) -> EpisodeDescription:
    """The description of an episode that is being written."""
    edges = [0, *(np.flatnonzero(np.diff(table.instruction)) + 1).tolist()]
    return EpisodeDescription(
        id=table.recording.id,
        epoch_ns=table.recording.epoch_ns,
        success=table.success,
        instructions=table.instructions,
        changes=tuple((row, int(table.instruction[row])) for row in edges),
        labels=table.recording.labels,
    )


def column_stream(column: ColumnSpec, context: ExportContext, *, precise: bool = True) -> Stream:
    """A column as one stream of the dataset's rate."""
    units = set(column.units)
    normalised = context.options.normalise != "none" and column.dtype.startswith("float")
    alone = column.streams[0].model_dump() if len(column.streams) == 1 else {
        "name": column.key.rsplit(".", 1)[-1], "group": column.streams[0].group,
    }  # fmt: skip
    return Stream.model_validate({
        **alone,
        "dtype": column.dtype if precise or column.dtype != "float64" else "float32",
        "shape": column.shape,
        "rate_hz": context.layout.rate_hz,
        "unit": "1" if normalised else units.pop() if len(units) == 1 else column.units,
        "components": column.names,
    })  # fmt: skip


def mode_stream(layout: TableLayout) -> Stream:
    """The column that says which mode the robot is in."""
    meaning = ", ".join(f"{number} {mode}" for number, mode in enumerate(MODES))
    return Stream(name="mode", group="observations", dtype="int64", shape=(1,),
                  rate_hz=layout.rate_hz, interpolation="nearest", description=meaning)  # fmt: skip


def check_labels(layout: TableLayout, label: Label, taken: Sequence[str] = ()) -> None:
    """Refuse a layout in which two columns or cameras would have one name in the format."""
    keys = [*layout.columns, *layout.cameras, *([MODE] if layout.mode else [])]
    keys += map(lane_key, layout.lanes)
    owners: dict[str, str] = dict.fromkeys(taken, "what every dataset of this format has")
    for key in keys:
        name = label(key)
        if name is None:
            continue
        for other, owner in owners.items():
            if f"{name}/".startswith(f"{other}/") or f"{other}/".startswith(f"{name}/"):
                raise WriteError(
                    f"{key} and {owner} would both be {name!r} in this format. Leave one out "
                    "with --exclude."
                )
        owners[name] = key

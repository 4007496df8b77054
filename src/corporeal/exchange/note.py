"""What a dataset that Corporeal wrote says of itself, where its format leaves room for more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corporeal import __version__
from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import LabelTrack, Lane
from corporeal.episode.recording import ArraySignal, Signal
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.format import ExportContext
from corporeal.exchange.label_columns import lane_key
from corporeal.exchange.layout import ColumnSpec, TableLayout
from corporeal.exchange.mode import MODES
from corporeal.exchange.table import EpisodeTable
from corporeal.schema import Stream

NAME, MODE, TIMES = "corporeal", "observation.mode", "time_ns"
"""What the note, the column of modes and the capture times of rows are called."""

Label = Callable[[str], str | None]


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class EpisodeNote(_Said):
    """One episode; `changes` are (row, place in `instructions`) where another comes in force."""

    id: str = Field(min_length=1, max_length=256)
    epoch_ns: int = Field(default=0, ge=0, lt=1 << 62)
    success: bool | None = None
    instructions: tuple[str, ...] = ()
    changes: tuple[tuple[int, int], ...] = ()
    labels: LabelTrack | None = None

    def metadata(self) -> dict[str, Any]:
        """What a recording says of itself."""
        said: dict[str, Any] = {}
        if self.instructions and self.instructions[0]:
            said["instruction"] = self.instructions[0]
        if self.success is not None:
            said["outcome"] = {"success": self.success}
        return said

    def instruction_signal(self, time_ns: NDArray[np.int64]) -> dict[str, Signal]:
        """The instructions at their times; nothing where one is in force throughout."""
        changes = [(row, place) for row, place in self.changes
                   if 0 <= row < len(time_ns) and 0 <= place < len(self.instructions)]  # fmt: skip
        if len(changes) < 2:
            return {}
        spec = Stream(name="instruction", group="observations", kind="text")
        stamps = time_ns[[row for row, _ in changes]]
        texts = [self.instructions[place] for _, place in changes]
        return {"instruction": ArraySignal(spec, stamps, texts)}


class Note(_Said):
    """A dataset: its rate, its robot, and what its columns and cameras are, by their labels."""

    version: Literal[1]
    written_by: str = ""
    rate_hz: float = Field(gt=0, le=1e4)
    robot: Embodiment | None = None
    columns: dict[str, Stream]
    cameras: dict[str, dict[str, Any]]
    episodes: tuple[EpisodeNote, ...]
    lanes: tuple[Lane, ...] = Field(default=(), max_length=256)

    def column(self, label: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Stream | None:
        """What is noted of a column, if its rows are of this shape and type."""
        stream = self.columns.get(label)
        fits = stream is not None and (tuple(stream.shape), stream.dtype) == (shape, dtype.name)
        return stream if fits else None

    def camera(self, label: str, plain: Stream) -> Stream:
        """What is noted of a camera; `plain` gives the size of its pictures."""
        noted = self.cameras.get(label, {})
        try:
            # The size is that of the pictures, which may be odd; ours never are.
            stream = Stream.model_validate({**noted, "kind": "video", "shape": (2, 2, 3)})
        except ValidationError:
            return plain
        return stream.model_copy(update={"shape": plain.shape, "rate_hz": plain.rate_hz})

    def episode(self, number: int) -> EpisodeNote | None:
        """What is noted of an episode."""
        return self.episodes[number] if 0 <= number < len(self.episodes) else None


def read_note(raw: Any, where: str) -> Note | None:
    """A note from JSON; None when there is none, EpisodeError when it makes no sense."""
    if raw is None:
        return None
    try:
        return Note.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise EpisodeError(
            f"{where}: its note {NAME!r} makes no sense ({field}: {first['msg']}). Remove the note "
            "to read the dataset without it."
        ) from None


def note_of(
    context: ExportContext, episodes: Iterable[Mapping[str, Any]], label: Label
) -> dict[str, Any]:
    """The note as JSON; `episodes` are the facts of the pieces, with those of `episode_facts`."""
    layout = context.layout
    named = {key: place for key in (*layout.columns, *layout.cameras)
             if (place := label(key)) is not None}  # fmt: skip
    columns = {named[key]: _stream(column_stream(column, context))
               for key, column in layout.columns.items() if key in named}  # fmt: skip
    if layout.mode and (place := label(MODE)) is not None:
        columns[place] = _stream(mode_stream(layout))
    cameras = {
        named[key]: {**_stream(spec.stream), "shape": [*spec.size, 3], "rate_hz": layout.rate_hz}
        for key, spec in layout.cameras.items()
        if key in named
    }
    robot = context.robot
    lanes = {"lanes": [lane.model_dump(mode="json") for lane in layout.lanes]}
    return {
        "version": 1,
        "written_by": f"corporeal {__version__}",
        "rate_hz": layout.rate_hz,
        "robot": None if robot is None else robot.model_dump(mode="json", exclude_none=True),
        "columns": columns,
        "cameras": cameras,
        "episodes": [{key: facts[key] for key in EpisodeNote.model_fields if key in facts}
                     for facts in episodes],
        **(lanes if layout.lanes else {}),
    }  # fmt: skip


def episode_facts(table: EpisodeTable) -> dict[str, Any]:
    """What `EpisodeNote` says of a table, as JSON."""
    labels = table.recording.labels
    edges = [0, *(np.flatnonzero(np.diff(table.instruction)) + 1).tolist()]
    return {
        "id": table.recording.id,
        "epoch_ns": table.recording.epoch_ns,
        "success": table.success,
        "instructions": list(table.instructions),
        "changes": [[row, int(table.instruction[row])] for row in edges],
        **({"labels": labels.to_json()} if labels is not None else {}),
    }


def column_stream(column: ColumnSpec, context: ExportContext) -> Stream:
    """A column as one stream of the dataset's rate."""
    units = set(column.units)
    normalised = context.options.normalise != "none" and column.dtype.startswith("float")
    single = column.streams[0].model_dump() if len(column.streams) == 1 else {
        "name": column.key.rsplit(".", 1)[-1], "group": column.streams[0].group,
    }  # fmt: skip
    return Stream.model_validate({
        **single,
        "dtype": column.dtype,
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
    """Refuse a layout in which two columns or cameras would have one place in the format."""
    keys = [*layout.columns, *layout.cameras, *([MODE] if layout.mode else [])]
    keys += map(lane_key, layout.lanes)
    places: dict[str, str] = dict.fromkeys(taken, "what every dataset of this format has")
    for key in keys:
        place = label(key)
        if place is None:
            continue
        for other, owner in places.items():
            if f"{place}/".startswith(f"{other}/") or f"{other}/".startswith(f"{place}/"):
                raise WriteError(
                    f"{key} and {owner} would both be {place!r} in this format. Leave one out "
                    "with --exclude."
                )
        places[place] = key


def _stream(stream: Stream) -> dict[str, Any]:
    # Not validated again: pictures of others may have an odd size.
    values: dict[str, Any] = stream.model_dump(mode="json", exclude_none=True, warnings=False)
    return values

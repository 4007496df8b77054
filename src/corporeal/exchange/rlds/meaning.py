"""metadata.json: names, units, rate and robot of a dataset that Corporeal wrote.

TensorFlow Datasets has this file for whatever a dataset wants to add: people find it in
`builder.info.metadata["corporeal"]`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import Lane
from corporeal.errors import EpisodeError
from corporeal.exchange.format import ExportContext
from corporeal.exchange.json_text import read_json
from corporeal.exchange.layout import CameraSpec, ColumnSpec, TableLayout
from corporeal.exchange.mode import MODES
from corporeal.exchange.rlds.features import label
from corporeal.schema import Part, Stream
from corporeal.schema.document import Name
from corporeal.schema.stream import Group

FILE = "metadata.json"
_KEY = "corporeal"


class CameraMeaning(Part):
    """What is known of a camera beside the size of its pictures."""

    name: Name
    group: Group = "observations"
    frame: str | None = None
    placement: Literal["robot", "external"] = "robot"
    description: str | None = None


class Meaning(Part):
    """What the columns and cameras are, by label; values are as they stand in the records."""

    version: Literal[1] = 1
    rate_hz: float = Field(gt=0, le=1e4)
    columns: dict[str, Stream]
    cameras: dict[str, CameraMeaning]
    modes: tuple[str, ...] = ()
    robot: Embodiment | None = None
    lanes: tuple[Lane, ...] | None = None


def meaning_of(context: ExportContext) -> Meaning:
    """What the columns of a dataset that is being written are."""
    layout = context.layout
    is_scaled = context.options.normalise != "none"
    return Meaning(
        rate_hz=layout.rate_hz,
        columns={
            label(key): _stream(column, layout, is_scaled=is_scaled)
            for key, column in layout.columns.items()
        },
        cameras={label(key): _camera(camera) for key, camera in layout.cameras.items()},
        modes=MODES if layout.mode else (),
        robot=context.robot,
        lanes=layout.lanes or None,
    )


def stored_dtype(column: ColumnSpec) -> str:
    """The type of a column in a record: floats have 32 bits there."""
    return "float32" if column.dtype == "float64" else column.dtype


def _stream(column: ColumnSpec, layout: TableLayout, *, is_scaled: bool) -> Stream:
    dtype = stored_dtype(column)
    values = {"dtype": dtype, "shape": column.shape, "rate_hz": layout.rate_hz}
    if is_scaled and dtype == "float32":
        values["unit"] = "1"
    if len(column.streams) == 1:
        return column.streams[0].model_copy(update=values)
    made = {
        "name": column.key.rsplit(".", 1)[-1],
        "group": "observations",
        "unit": column.units,
        "components": column.names,
    }
    return Stream.model_validate(made | values)


def _camera(camera: CameraSpec) -> CameraMeaning:
    stream = camera.stream
    return CameraMeaning(
        name=stream.name,
        group=stream.group,
        frame=stream.frame,
        placement=stream.placement,
        description=stream.description,
    )


def write_meaning(home: Path, meaning: Meaning) -> None:
    """Write metadata.json."""
    values = {_KEY: meaning.model_dump(mode="json", exclude_none=True)}
    text = json.dumps(values, ensure_ascii=False, indent=1)
    (home / FILE).write_text(text + "\n", "utf-8")


def read_meaning(home: Path) -> Meaning | None:
    """What Corporeal has said of a dataset; None when another program wrote it."""
    path = home / FILE
    stated = read_json(path) if path.is_file() else None
    if not isinstance(stated, dict) or _KEY not in stated:
        return None
    try:
        return Meaning.model_validate(stated[_KEY])
    except ValidationError as error:
        first = error.errors()[0]
        wrong = f"{'.'.join(map(str, first['loc']))} is not right ({first['msg']})"
    except OverflowError:  # A number that is larger than any measure of a robot.
        wrong = "a number is out of range"
    raise EpisodeError(
        f"{path}: {wrong}. Replace the file, or remove it to read the dataset without names and "
        "units."
    )

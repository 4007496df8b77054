"""What a written dataset says of itself is read back, whatever format it stands in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.small_sets import table_writer, tables_of, write_episode, write_tables

from corporeal.errors import EpisodeError
from corporeal.exchange.description import describe_dataset, read_description
from corporeal.exchange.format import WrittenEpisode
from corporeal.exchange.layout import CameraSpec
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import table_of

FORMATS = ("aloha", "robomimic", "zarr")


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episode(tmp_path_factory.mktemp("note") / "e.h5", seconds=0.5)


@pytest.mark.parametrize("name", FORMATS)
def test_an_instruction_that_changes_comes_back_at_its_time(
    name: str, episode: Path, tmp_path: Path
) -> None:
    context, (table,) = tables_of(episode)
    in_force = np.repeat([0, 1, 0], [4, 5, len(table) - 9])
    table = replace(table, instructions=(" Reach. ", "Gräife es 🤖"), instruction=in_force)
    writer = table_writer(name)
    (written,) = write_tables(writer, context, [table], tmp_path)
    written = WrittenEpisode.from_json(written.folder, json.loads(json.dumps(written.to_json())))
    out = tmp_path / "out"
    out.mkdir()
    writer.assemble([written], out, context)
    recording = open_dataset(out).open(0)
    again = table_of(recording, context.layout, number=0)
    assert again.instructions == table.instructions
    np.testing.assert_array_equal(again.instruction, in_force)
    assert recording.metadata["instruction"] == " Reach. "


@pytest.mark.parametrize("name", FORMATS)
def test_normalised_columns_say_that_they_have_no_unit(name: str, episode: Path) -> None:
    options = ExportOptions(normalise="limits")
    context, _ = tables_of(episode, options)
    writer = table_writer(name)
    note = read_description(
        json.loads(json.dumps(describe_dataset(context, writer.label).to_json())),
        "here",
        part="the note",
    )
    assert note is not None
    assert note.streams[str(writer.label("observation.state"))].unit == "1"
    assert (
        note.streams[str(writer.label("action"))].components
        == context.layout.columns["action"].names
    )


def test_a_camera_of_an_odd_size_keeps_its_name(episode: Path) -> None:
    context, _ = tables_of(episode)
    key, camera = next(iter(context.layout.cameras.items()))
    stream = camera.stream.model_copy(update={"shape": (7, 9, 3)})
    layout = replace(context.layout, cameras={key: CameraSpec(key, stream, (7, 9))})
    described = describe_dataset(replace(context, layout=layout), lambda key: key)
    note = read_description(described.to_json(), "here", part="the note")
    assert note is not None
    restored = note.camera(key, stream.model_copy(update={"name": "other"}))
    assert (restored.name, restored.shape) == (stream.name, (7, 9, 3))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": 3}, "version"),
        ({"rate_hz": float("nan")}, "rate_hz"),
        ({"columns": {"state": {"name": "X"}}}, "columns"),
        ({"robot": {"document": "embodiment"}}, "robot"),
        ({"episodes": [{"id": ""}]}, "episodes"),
    ],
)
def test_a_note_that_makes_no_sense_is_named(episode: Path, change: Any, field: str) -> None:
    context, _ = tables_of(episode)
    with pytest.raises(EpisodeError, match=f"{field}.*Remove the note"):
        read_description(
            {**describe_dataset(context, lambda key: key).to_json(), **change},
            "here",
            part="the note",
        )


def test_no_note_is_none() -> None:
    assert read_description(None, "here", part="the note") is None

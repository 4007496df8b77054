"""Writes RLDS datasets that `tfds.builder_from_directory` reads, without TensorFlow.

The folder of the dataset is the builder's own. An episode is one record; rewards, ends and texts
of steps are as in Open X-Embodiment.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from corporeal.episode.recording import ImageSequence
from corporeal.errors import WriteError
from corporeal.exchange.description import NAME, DatasetDescription, describe_dataset
from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.json_text import write_json
from corporeal.exchange.layout import label_words, lane_key
from corporeal.exchange.mode import MODES
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.rlds.features import (
    EPISODE,
    FILE,
    ID,
    INFO,
    INSTRUCTION,
    IS_JUDGED,
    METADATA,
    MODE,
    STEPS,
    SUCCESS,
    TIME,
    TRACK,
    VARIANTS,
    Leaf,
    features_json,
    label,
)
from corporeal.exchange.table import EpisodeTable, TableCamera
from corporeal.exchange.tfrecord import ExampleWriter
from corporeal.schema import Stream

SHARD_BYTES = 200_000_000
"""A file ends before the episode that would make it larger."""
QUALITY = 95
_VERSION, _SPLIT = "1.0.0", "train"
_RECORD = "episode.tfrecord"
_COPY = 1 << 22
_JPEG = b"\xff\xd8"
# Names and units of wider columns stand only in metadata.json.
_NAMED = 64


def write_episode(table: EpisodeTable, folder: Path, context: ExportContext) -> dict[str, Any]:
    """Write one episode as a record."""
    step_leaves(context)  # Refuses two columns of one name before anything is written.
    with ExampleWriter(folder) as example:
        for block in table.blocks():
            for key, values in block.items():
                example.numbers(f"{STEPS}{label(key)}", values)
        for key, camera in table.cameras.items():
            example.blobs(f"{STEPS}{label(key)}", _encoded(camera))
        _write_marks(example, table)
        _write_facts(example, table, context)
        return {"record_bytes": example.write(folder / _RECORD)}


def _encoded(camera: TableCamera) -> Iterator[bytes]:
    """A JPEG picture for each row; one that is stored as such in this size is not touched."""
    last, data = -1, b""
    for number, picture in zip(camera.numbers.tolist(), pictures_of(camera), strict=True):
        if number != last:
            last, data = number, _stored(camera, number)
            if not data:
                stream = io.BytesIO()
                Image.fromarray(picture).save(stream, "JPEG", quality=QUALITY)
                data = stream.getvalue()
        yield data


def _stored(camera: TableCamera, number: int) -> bytes:
    """The picture as its source holds it; empty when that is no JPEG of the wanted size."""
    stored = camera.signal.pictures[number] if isinstance(camera.signal, ImageSequence) else None
    if not isinstance(stored, bytes) or not stored.startswith(_JPEG):
        return b""
    with Image.open(io.BytesIO(stored), formats=("JPEG",)) as image:
        fits = (image.height, image.width) == camera.spec.size and image.mode == "RGB"
    return stored if fits else b""


def _write_marks(example: ExampleWriter, table: EpisodeTable) -> None:
    count = len(table)
    first, last = np.zeros(count, bool), np.zeros(count, bool)
    first[0] = last[-1] = True
    reward = np.zeros(count, np.float32)
    reward[-1] = 1.0 if table.success else 0.0
    example.numbers(f"{STEPS}is_first", first)
    example.numbers(f"{STEPS}is_last", last)
    example.numbers(f"{STEPS}is_terminal", last)
    example.numbers(f"{STEPS}reward", reward)
    example.numbers(f"{STEPS}discount", np.ones(count, np.float32))
    example.numbers(f"{STEPS}{TIME}", table.time_ns)
    texts = [text.encode() for text in table.instructions]
    example.blobs(f"{STEPS}{INSTRUCTION}", (texts[place] for place in table.instruction.tolist()))
    if table.mode is not None:
        example.numbers(f"{STEPS}{MODE}", table.mode)
    for lane in table.layout.lanes:
        texts = [text.encode() for text in label_words(lane, table.labels[lane.name])]
        example.blobs(f"{STEPS}{label(lane_key(lane))}", texts)


def _write_facts(example: ExampleWriter, table: EpisodeTable, context: ExportContext) -> None:
    recording = table.recording
    texts = {
        ID: recording.id,
        "file_path": recording.source.name,
        "robot": context.robot.name if context.robot is not None else "",
    }
    if table.layout.lanes:
        labels = recording.labels.to_json() if recording.labels is not None else {}
        texts |= {VARIANTS: json.dumps(table.instructions), TRACK: json.dumps(labels)}
    for name, text in texts.items():
        example.blobs(f"{EPISODE}{name}", [text.encode()])
    flags = {SUCCESS: bool(table.success), IS_JUDGED: table.success is not None}
    for name, flag in flags.items():
        example.numbers(f"{EPISODE}{name}", np.array([flag]))
    example.numbers(f"{EPISODE}rate_hz", np.array([table.rate_hz], np.float32))


def step_leaves(context: ExportContext) -> dict[str, Leaf]:
    """The features of a step by path; raises WriteError when two would have one name."""
    layout = context.layout
    leaves: dict[str, Leaf] = {}
    streams = _describe(context).streams
    named = [(key, _column_leaf(streams[label(key)])) for key in layout.columns]
    for key, camera in layout.cameras.items():
        leaf = Leaf("image", (*camera.size, 3), "uint8", "jpeg", f"Camera {camera.stream.name}.")
        named.append((key, leaf))
    for key, leaf in named:
        if label(key) in leaves:
            raise WriteError(f"two columns would be {label(key)}, got {key}. Leave one out.")
        leaves[label(key)] = leaf
    flag = Leaf("tensor", (), "bool")
    share = Leaf("tensor", (), "float32")
    leaves |= {
        INSTRUCTION: Leaf("text", description="The instruction that holds in this step."),
        "is_first": flag,
        "is_last": flag,
        "is_terminal": flag,
        "reward": Leaf("tensor", (), "float32", description="1 at the end of a success, else 0."),
        "discount": share,
        TIME: Leaf("tensor", (), "int64", description="Capture time in ns."),
    }
    if layout.mode:
        text = ", ".join(f"{number}: {mode}" for number, mode in enumerate(MODES))
        leaves[MODE] = Leaf("tensor", (), "int64", description=f"What the robot does. {text}.")
    for lane in layout.lanes:
        text = f"One of: {', '.join(lane.labels[:_NAMED])}; empty where nothing is said."
        leaves[label(lane_key(lane))] = Leaf("text", description=text)
    return leaves


def _describe(context: ExportContext) -> DatasetDescription:
    return describe_dataset(context, label, mode_label=MODE, precise=False)


def _column_leaf(stream: Stream) -> Leaf:
    names, unit = stream.components, stream.unit
    shape = tuple(int(size) for size in stream.shape)
    if not isinstance(names, tuple) or len(names) > _NAMED:
        text = f"In {unit}." if isinstance(unit, str) and unit != "1" else ""
    elif isinstance(unit, str):
        text = f"{', '.join(names)} in {unit}."
    else:
        text = ", ".join(f"{name} ({each})" for name, each in zip(names, unit, strict=True)) + "."
    return Leaf("tensor", shape, stream.dtype, description=text)


def _episode_leaves(context: ExportContext) -> dict[str, Leaf]:
    flag = Leaf("tensor", (), "bool")
    leaves = {
        ID: Leaf("text"),
        "file_path": Leaf("text", description="What the episode was made of."),
        "robot": Leaf("text"),
        SUCCESS: flag,
        IS_JUDGED: Leaf("tensor", (), "bool", description="Whether anybody judged the success."),
        "rate_hz": Leaf("tensor", (), "float32"),
    }
    if context.layout.lanes:
        leaves[VARIANTS] = Leaf("text", description="All wordings of the instruction, as JSON.")
        leaves[TRACK] = Leaf("text", description="Segments with times and attributes, as JSON.")
    return {f"{EPISODE}{name}": leaf for name, leaf in leaves.items()}


def assemble(episodes: Sequence[WrittenEpisode], out: Path, context: ExportContext) -> None:
    """Put the records into files of bounded size and describe them."""
    name = dataset_name(context.name)
    groups = _groups([(episode.folder / _RECORD).stat().st_size for episode in episodes])
    for number, group in enumerate(groups):
        target = out / f"{name}-{_SPLIT}.tfrecord-{number:05d}-of-{len(groups):05d}"
        with target.open("wb") as shard:
            for place in group:
                with (episodes[place].folder / _RECORD).open("rb") as record:
                    shutil.copyfileobj(record, shard, _COPY)
    total = sum(int(episode.details["record_bytes"]) for episode in episodes)
    write_json(out / INFO, _info(name, [len(group) for group in groups], total, context))
    write_json(out / FILE, features_json(step_leaves(context), _episode_leaves(context)))
    write_json(out / METADATA, {NAME: _describe(context).to_json()})


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    """Which episodes a file holds, for each file."""
    groups: list[list[int]] = []
    filled = 0
    for place, size in enumerate(sizes):
        if not groups or filled + size > SHARD_BYTES:
            groups.append([])
            filled = 0
        groups[-1].append(place)
        filled += size
    return groups


def _info(name: str, lengths: Sequence[int], total: int, context: ExportContext) -> dict[str, Any]:
    robot = f" of {context.robot.name}" if context.robot is not None else ""
    split = {
        "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
        "name": _SPLIT,
        "numBytes": str(total),
        "shardLengths": [str(length) for length in lengths],
    }
    return {
        "description": f"Episodes{robot} at {context.layout.rate_hz:g} Hz, written by Corporeal.",
        "fileFormat": "tfrecord",
        "name": name,
        "releaseNotes": {_VERSION: "Written by Corporeal."},
        "splits": [split],
        "version": _VERSION,
    }


def dataset_name(name: str) -> str:
    """A name that TensorFlow Datasets takes: lower case, digits and underscores."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return plain if re.match(r"[a-z]", plain) else f"dataset_{plain}".rstrip("_")

"""ALOHA HDF5: one file for every episode, with observations/qpos, pictures and action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from corporeal import hdf5_file
from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode.facts import RATE, ROBOT
from corporeal.episode.recording import ArraySignal, Dataset, Recording
from corporeal.errors import WriteError
from corporeal.exchange import hdf5
from corporeal.exchange.description import (
    MODE,
    NAME,
    TIMES,
    check_labels,
    describe_dataset,
    describe_episode,
)
from corporeal.exchange.foreign_stream import EpisodeReading, described_reading
from corporeal.exchange.format import (
    Consumer,
    ExportContext,
    Format,
    TableWriter,
    WrittenEpisode,
    dataset_of,
    files_of,
)
from corporeal.exchange.layout import ACTION, IMAGES, LABELS, STATE
from corporeal.exchange.table import EpisodeTable
from corporeal.files import link_or_copy

RATE_HZ = 50.0
SUFFIXES = (".hdf5", ".h5")
_JOINTED = ("observations/qpos", "observations/qvel", "observations/effort", "action")
_FILE = "episode.hdf5"
_SIZES = "compress_len"
_BASE = "base_action"
"""What Mobile ALOHA tells its wheels."""
_LABELS = {
    STATE: "observations/qpos",
    "observation.joint_velocity": "observations/qvel",
    "observation.joint_torque": "observations/effort",
    ACTION: "action",
}


def recognises(path: Path) -> bool:
    """Whether the file has observations/qpos and action, or the folder holds such files."""
    return any(hdf5.is_hdf5_with(file, _is_episode) for file in _files(path)[:1])


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The episodes in order of the numbers in their names; files of others state no rate."""
    opener = partial(_open, robot, rate_hz)
    return dataset_of(path, "aloha", _files(path), opener, labelled=True)


def _files(path: Path) -> list[Path]:
    return files_of(path, *SUFFIXES) if path.is_dir() else [path]


def _is_episode(file: h5py.File) -> bool:
    observations = hdf5_file.members(file).get("observations")
    plain = isinstance(observations, h5py.Group) and "qpos" in hdf5_file.members(observations)
    return plain and isinstance(hdf5_file.members(file).get("action"), h5py.Dataset)


def _open(robot: Embodiment | None, rate_hz: float | None, path: Path, index: int) -> Recording:
    with hdf5_file.open_hdf5(path) as file:
        description = hdf5.read_note(file, path)
        metadata = _metadata(file)
        if description is not None and description.episodes:
            reading = described_reading(description, index, robot)
            times = hdf5.take_described(reading, path, hdf5.datasets(file), description)
            metadata = {"fps": reading.rate_hz, **metadata}
            return reading.to_recording(path.stem, path, metadata, time_ns=times,
                                        described=description.episodes[0],
                                        regridded=times is None)  # fmt: skip
        everything = hdf5.datasets(file)
        found = {
            label: each
            for label, each in everything.items()
            if label in ("action", _BASE) or label.startswith("observations/")
        }
        widths = {label: found[label].shape[-1:] for label in _JOINTED if label in found}
        model = robot
        # Two ViperX arms with a gripper each have fourteen motors; other builds are not known.
        if model is None and widths.get("observations/qpos") == (14,):
            model = open_robot("aloha")
        motors = widths.get("observations/qpos", (0,))[0]
        names = tuple(f"joint_{number}" for number in range(motors))
        if model is not None and len(model.joint_names) == motors:
            names = model.joint_names
        named = {label: names for label, width in widths.items() if width == (len(names),)}
        reading = EpisodeReading(index, rate_hz or RATE_HZ, model)
        if rate_hz is None:
            reading.assumed[RATE] = f"{RATE_HZ:g} Hz, as ALOHA has by default: it states none"
        if model is not None and robot is None:
            reading.assumed[ROBOT] = f"{model.name}: its positions have fourteen entries"
        hdf5.take_datasets(reading, path, found, names=named)
        for name, dataset in everything.items():
            if name == _SIZES:
                hdf5.leave_out(reading, name, dataset, "how many bytes each picture has")
            elif name not in found:
                reason = "neither an observation nor an action of ALOHA"
                hdf5.leave_out(reading, name, dataset, reason, lost=True)
        hdf5.leave_out_links(reading, file)
    if isinstance(base := reading.signals.get(_BASE), ArraySignal):
        commanded = base.spec.model_copy(update={"group": "actions"})
        reading.signals[_BASE] = replace(base, spec=commanded)
    metadata = {"fps": reading.rate_hz, **metadata}
    return reading.to_recording(path.stem, path, metadata, regridded=True)


def _metadata(file: h5py.File) -> dict[str, Any]:
    texts = {name: hdf5.text_attribute(file, name) for name in ("task", "instruction", "language")}
    stated: dict[str, Any] = {name: text for name, text in texts.items() if text}
    if "sim" in file.attrs:
        stated["sim"] = bool(file.attrs["sim"])
    return stated


def label(key: str) -> str | None:
    """`action`, `observations/qpos`, `qvel` and `effort`, `observations/images/CAMERA`."""
    if key in _LABELS:
        return _LABELS[key]
    if key.startswith(IMAGES):
        return f"observations/images/{key.removeprefix(IMAGES)}"
    group, _, name = key.partition(".")
    if key.startswith(LABELS):
        return f"labels/{name}"
    return f"observations/{name}" if group == "observation" else f"{group}_{name}"


def write_episode(table: EpisodeTable, folder: Path, context: ExportContext) -> Mapping[str, Any]:
    """One episode. Pictures are stored as they are, so `compress` is False."""
    columns = table.layout.columns
    absent = [key for key in (STATE, ACTION) if key not in columns]
    if absent:
        raise WriteError(
            f"ALOHA files have a state and an action, got no {' and no '.join(absent)}. Name the "
            "streams of the state with --state, or choose another format."
        )
    check_labels(table.layout, label, (TIMES, NAME))
    described = describe_episode(table)
    with h5py.File(folder / _FILE, "w") as file:
        file.attrs["sim"] = _is_simulated(table)
        file.attrs["compress"] = False
        if 0 < len(table.text) <= hdf5.MAX_LANGUAGE:
            file.attrs["instruction"] = table.text
        hdf5.write_table(file, table, label)
        file.require_group("observations/images")
        if "observations/qvel" not in file:
            # Every loader reads it and none uses it. Zeros would claim that nothing moves.
            shape = file["observations/qpos"].shape
            unknown = file.create_dataset("observations/qvel", shape, np.float32, fillvalue=np.nan)
            unknown.attrs[hdf5.MEASURED] = False
        description = describe_dataset(context, label, mode_label=label(MODE))
        hdf5.write_description(file, description.model_copy(update={"episodes": (described,)}))
    return described.to_json()


def assemble(episodes: Sequence[WrittenEpisode], out: Path, _: ExportContext) -> None:
    """The files under the names that loaders count through: episode_0.hdf5 and so on."""
    for episode in episodes:
        link_or_copy(episode.folder / _FILE, out / f"episode_{episode.number}.hdf5")


def _is_simulated(table: EpisodeTable) -> bool:
    metadata = table.recording.metadata
    return metadata.get("sim") is True or str(metadata.get("environment", "")).startswith(
        "simulated"
    )


FORMAT = Format(
    read=read,
    recognises=recognises,
    takes_rate=True,
    title="ALOHA HDF5",
    writer=TableWriter(
        write=write_episode,
        assemble=assemble,
        loses=("rates",),
        label=label,
        consumer=Consumer("aloha.py", "h5py", "pip install h5py"),
    ),
)

"""robomimic HDF5, and robosuite's older layout: demonstrations in one file below `data`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from corporeal import hdf5_file
from corporeal.embodiment import Embodiment
from corporeal.episode.facts import RATE
from corporeal.episode.recording import INDEX_WRONG, Dataset, Ledger, Recording, left_out
from corporeal.errors import EpisodeError
from corporeal.exchange import hdf5
from corporeal.exchange.description import (
    MODE,
    NAME,
    TIMES,
    DatasetDescription,
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
    in_order,
)
from corporeal.exchange.layout import ACTION, IMAGES, LABELS
from corporeal.exchange.table import EpisodeTable

FILE = "dataset.hdf5"
RATE_HZ = 20.0
_FILE, _DEMO = "demo.hdf5", "demo"
# The simulator's own state and the marks of a step are not measurements of the robot.
_LEFT_OUT = ("states", "rewards", "dones", "next_obs/", "initial_state", "interventions", TIMES,
             "labels/")  # fmt: skip
# What robomimic takes for a gym environment: nothing is made of it before somebody asks for one.
_GYM = 2


def recognises(path: Path) -> bool:
    """Whether the file, or dataset.hdf5 in the folder, has groups data/demo... ."""
    return hdf5.is_hdf5_with(_file(path), lambda file: bool(_demonstrations(file)))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The demonstrations by the numbers in their names; `rate_hz` takes the place of theirs."""
    path = _file(path)
    with hdf5_file.open_hdf5(path) as file:
        names = _demonstrations(file)
        attributes = hdf5_file.members(file)["data"]
        facts = {
            name: value
            for name in ("env", "env_args", "date", "repository_version")
            if (value := hdf5.text_attribute(attributes, name)) is not None
        }
        description = hdf5.read_note(file, path)
        beside = _beside(file, names)
    by_number = {number: name for name in names if (number := _last_number(name)) is not None}
    if len(by_number) < len(names):
        by_number = dict(enumerate(names))
    return Dataset(
        source=path,
        format="robomimic",
        episodes=tuple(by_number),
        open=partial(_open, path, by_number, robot, rate_hz, facts, description),
        facts=facts,
        ledger=beside,
        lanes=lambda: description.lanes if description is not None else (),
    )


def _open(
    path: Path,
    names: dict[int, str],
    robot: Embodiment | None,
    rate_hz: float | None,
    facts: dict[str, str],
    description: DatasetDescription | None,
    index: int,
) -> Recording:
    if index not in names:
        raise EpisodeError(f"{path}: no demonstration {index}; expected one of {list(names)}.")
    with hdf5_file.open_hdf5(path) as file:
        group = hdf5_file.members(hdf5_file.members(file)["data"])[names[index]]
        found = hdf5.datasets(group)
        described = description.episode(index) if description is not None else None
        if description is not None and described is not None:
            reading = described_reading(description, index, robot)
            times = hdf5.take_described(reading, path, found, description)
            _check_count(reading, group)
            metadata = {"demonstration": names[index], "fps": reading.rate_hz}
            return reading.to_recording(described.id, path, metadata, described=described,
                                        time_ns=times, regridded=times is None)  # fmt: skip
        kept = {label: each for label, each in found.items() if not label.startswith(_LEFT_OUT)}
        given = {}
        if "actions" not in found:
            # The older layout stores what was commanded, and nothing observed but the states.
            given = {f"actions/{label}": label for label in kept}
            kept = {f"actions/{label}": each for label, each in kept.items()}
        if "states" in found and not any(label.startswith("obs/") for label in kept):
            kept["states"] = found["states"]
        stated_hz = rate_hz or _stated_rate(facts, found)
        reading = EpisodeReading(index, stated_hz or RATE_HZ, robot)
        if stated_hz is None:
            reading.assumed[RATE] = f"{RATE_HZ:g} Hz, as robosuite has by default: it states none"
        hdf5.take_datasets(reading, path, kept)
        reading.items = [replace(item, name=given.get(item.name, item.name))
                         for item in reading.items]  # fmt: skip
        for renamed, label in given.items():
            if (signal := reading.signals.get(renamed)) is not None:
                reading.account(label, signal.spec.path, samples=len(signal))
        others = found.keys() - kept.keys() - set(given.values())
        _account_rest(reading, group, {label: found[label] for label in found if label in others})
        _check_count(reading, group)
        rewards = hdf5.read_numbers(found["rewards"]) if "rewards" in found else None
        stated = {
            "demonstration": names[index],
            "fps": reading.rate_hz,
            "task": _task(facts),
            "instruction": _language(group),
            "reward": None if rewards is None else float(np.nansum(rewards)),
        }
    metadata = {name: value for name, value in stated.items() if value is not None}
    return reading.to_recording(f"{path.stem}_{names[index]}", path, metadata, regridded=True)


_REASONS = {
    "states": "the state of the whole simulator; what is observed of it is in obs",
    "next_obs/": "obs, one step later",
    "dones": "a mark of the step, not a measurement",
    "rewards": "",
}


def _account_rest(reading: EpisodeReading, group: Any, rest: Mapping[str, Any]) -> None:
    """Account for datasets that are not measurements of the robot, and for what else is said."""
    for name, dataset in rest.items():
        prefix = next((each for each in _LEFT_OUT if name.startswith(each)), "")
        if prefix == "rewards" and hdf5.read_numbers(dataset) is not None:
            reading.account(name, "metadata reward", samples=len(dataset))
        else:
            reason = _REASONS.get(prefix) or "a mark of the step, not a measurement"
            hdf5.leave_out(reading, name, dataset, reason)
    hdf5.leave_out_links(reading, group)
    if "model_file" in group.attrs:
        reason = "the model that the simulator ran, not the robot's own description"
        reading.leave_out("model_file", reason, kind="document", samples=1)


def _beside(file: h5py.File, names: Sequence[str]) -> Ledger:
    """What the file has beside its demonstrations."""
    data = hdf5_file.members(hdf5_file.members(file)["data"])
    strays = [f"data/{name}" for name in data if name not in names]
    lists = [label for label in hdf5.datasets(file) if not label.startswith("data/")]
    return Ledger(
        (
            *(left_out(name, "array", "no demonstration", lost=True) for name in strays),
            *(left_out(name, "array", "of the set, not of a demonstration") for name in lists
              if name != NAME),
        )
    )  # fmt: skip


def label(key: str) -> str | None:
    """`actions`, `obs/NAME`, and `obs/NAME_image` for a camera, as robomimic names them."""
    if key.startswith(IMAGES):
        name = key.removeprefix(IMAGES)
        return f"obs/{name}" if name.endswith("image") else f"obs/{name}_image"
    if key == ACTION:
        return "actions"
    group, _, name = key.partition(".")
    if key.startswith(LABELS):
        return f"labels/{name}"
    return f"obs/{name}" if group == "observation" else f"{group}_{name}"


def write_episode(table: EpisodeTable, folder: Path, _: ExportContext) -> Mapping[str, Any]:
    """One demonstration in a file of its own; a success is a reward of 1 at the end."""
    check_labels(table.layout, label, ("rewards", "dones", "states", "next_obs", TIMES))
    with h5py.File(folder / _FILE, "w") as file:
        demo = file.create_group(_DEMO)
        demo.attrs["num_samples"] = len(table)
        if 0 < len(table.text) <= hdf5.MAX_LANGUAGE:
            demo.attrs["ep_meta"] = json.dumps({"lang": table.text})
        hdf5.write_table(demo, table, label)
        last = np.zeros(len(table))
        last[-1] = 1.0
        demo.create_dataset("rewards", data=last * float(table.success is True))
        demo.create_dataset("dones", data=last.astype(np.int64))
    return describe_episode(table).to_json()


def assemble(episodes: Sequence[WrittenEpisode], out: Path, context: ExportContext) -> None:
    """All demonstrations in one file; every tenth is for validation, or the last of fewer."""
    names = [f"demo_{episode.number}" for episode in episodes]
    with h5py.File(out / FILE, "w") as file:
        data = file.create_group("data")
        for name, episode in zip(names, episodes, strict=True):
            with h5py.File(episode.folder / _FILE, "r") as source:
                source.copy(_DEMO, data, name=name)
        data.attrs["total"] = sum(episode.rows for episode in episodes)
        data.attrs["env_args"] = json.dumps(_environment(context))
        valid = names[9::10] or names[1:][-1:]
        kind = f"S{max(map(len, names))}"
        file["mask/train"] = np.array([name for name in names if name not in valid], kind)
        file["mask/valid"] = np.array(valid, kind)
        hdf5.write_description(
            file, describe_dataset(context, label, episodes, mode_label=label(MODE))
        )


def _environment(context: ExportContext) -> dict[str, Any]:
    robots = [context.robot.name] if context.robot is not None else []
    kwargs = {"control_freq": context.layout.rate_hz, "robots": robots}
    return {"env_name": context.name, "type": _GYM, "env_kwargs": kwargs}


def _file(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def _last_number(name: str) -> int | None:
    digits = re.search(r"(\d{1,9})$", name)
    return int(digits[1]) if digits else None


def _language(group: Any) -> str | None:
    """The instruction where robomimic keeps it: `lang` in the attribute ep_meta."""
    text = _parse(hdf5.text_attribute(group, "ep_meta")).get("lang")
    return text if isinstance(text, str) and text else None


def _demonstrations(file: h5py.File) -> list[str]:
    data = hdf5_file.members(file).get("data")
    if not isinstance(data, h5py.Group):
        return []
    names = in_order([name for name in data if name.startswith("demo")])
    groups = hdf5_file.members(data)
    return [
        name
        for name in names
        if isinstance(groups.get(name), h5py.Group)
        and {"actions", "states", "obs"} & set(groups[name])
    ]


def _check_count(reading: EpisodeReading, group: Any) -> None:
    stated = group.attrs.get("num_samples")
    counts = {len(signal) for signal in reading.signals.values()}
    if isinstance(stated, int | np.integer) and counts and int(stated) not in counts:
        message = f"num_samples says {stated}, but the streams have {max(counts)}"
        reading.complain(INDEX_WRONG, message, None, float(max(counts)), float(stated))


def _parse(text: str | None) -> dict[str, Any]:
    """The object in a text of JSON; empty when it is none."""
    try:
        stated = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return stated if isinstance(stated, dict) else {}


def _stated_rate(facts: dict[str, str], found: dict[str, Any]) -> float | None:
    """Control rate: as stated, or from the simulator's clock, which begins every state."""
    kwargs = _parse(facts.get("env_args")).get("env_kwargs")
    rate = kwargs.get("control_freq") if isinstance(kwargs, dict) else None
    if isinstance(rate, int | float) and 0 < rate <= 1e5:
        return float(rate)
    states = hdf5.read_numbers(found["states"]) if "states" in found else None
    if states is not None and states.ndim == 2 and len(states) > 2:
        steps = np.diff(states[:, 0])
        middle = float(np.median(steps))
        if 1e-4 < middle < 1.0 and np.abs(steps - middle).max() < 0.01 * middle:
            return round(1.0 / middle, 3)
    return None


def _task(facts: dict[str, str]) -> str | None:
    name = _parse(facts.get("env_args")).get("env_name") or facts.get("env")
    return str(name) if name else None


FORMAT = Format(
    read=read,
    recognises=recognises,
    takes_rate=True,
    title="robomimic or robosuite HDF5",
    writer=TableWriter(
        write=write_episode,
        assemble=assemble,
        loses=("rates",),
        label=label,
        consumer=Consumer("robomimic.py", "robomimic", "pip install robomimic==0.3.0"),
    ),
)

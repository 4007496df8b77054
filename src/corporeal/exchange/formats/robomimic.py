"""robomimic HDF5, and robosuite's older layout: demonstrations in one file below `data`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from corporeal.embodiment.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Defect, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.format import Format
from corporeal.exchange.hdf5 import (
    datasets,
    in_order,
    is_hdf5,
    last_number,
    members,
    open_hdf5,
    read_numbers,
    text_attribute,
)
from corporeal.exchange.hdf5_signals import length_defects, signals_of

RATE_HZ = 20.0
# The simulator's own state and the marks of a step are not measurements of the robot.
_LEFT_OUT = ("states", "rewards", "dones", "next_obs/", "initial_state", "interventions")


def recognises(path: Path) -> bool:
    """Whether the file has groups data/demo..., one for every demonstration."""
    if not path.is_file() or not is_hdf5(path):
        return False
    try:
        with open_hdf5(path) as file:
            return bool(_demonstrations(file))
    except CorporealError:
        return False


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The demonstrations by the numbers in their names."""
    with open_hdf5(path) as file:
        names = _demonstrations(file)
        head = members(file)["data"]
        facts = {
            name: value
            for name in ("env", "env_args", "date", "repository_version")
            if (value := text_attribute(head, name)) is not None
        }
    numbers = [last_number(name) for name in names]
    unique = None not in numbers and len(set(numbers)) == len(numbers)
    places = {number if unique else place: name
              for place, (number, name) in enumerate(zip(numbers, names, strict=True))}  # fmt: skip
    by_number = {int(number): name for number, name in places.items() if number is not None}
    return Dataset(
        source=path,
        format="robomimic",
        episodes=tuple(by_number),
        open=partial(_open, path, by_number, robot, facts),
        facts=facts,
    )


def _open(
    path: Path,
    names: dict[int, str],
    robot: Embodiment | None,
    facts: dict[str, str],
    index: int,
) -> Recording:
    if index not in names:
        raise EpisodeError(f"{path}: no demonstration {index}; expected one of {list(names)}.")
    with open_hdf5(path) as file:
        group = members(members(file)["data"])[names[index]]
        found = datasets(group)
        rate = _rate(facts, found)
        kept = {label: each for label, each in found.items() if not label.startswith(_LEFT_OUT)}
        if not kept:
            kept = {"states": found["states"]} if "states" in found else {}
        elif "actions" not in found:
            # The older layout stores what was commanded, and nothing observed but the states.
            kept = {f"actions/{label}": each for label, each in kept.items()}
        signals = signals_of(path, kept, rate_hz=rate, robot=robot)
        defects = [*length_defects(signals, index), *_count_defects(group, signals, index)]
        rewards = read_numbers(found["rewards"]) if "rewards" in found else None
    metadata: dict[str, Any] = {"demonstration": names[index], "fps": rate}
    task = _task(facts)
    if task is not None:
        metadata["task"] = task
    if rewards is not None:
        metadata["reward"] = float(np.nansum(rewards))
    return Recording(
        id=f"{path.stem}_{names[index]}",
        source=path,
        index=index,
        signals=signals,
        embodiment=robot,
        metadata=metadata,
        defects=tuple(defects),
        regridded=True,
    )


def _demonstrations(file: h5py.File) -> list[str]:
    data = members(file).get("data")
    if not isinstance(data, h5py.Group):
        return []
    names = in_order([name for name in data if name.startswith("demo")])
    groups = members(data)
    return [
        name
        for name in names
        if isinstance(groups.get(name), h5py.Group)
        and {"actions", "states", "obs"} & set(groups[name])
    ]


def _count_defects(group: Any, signals: Any, index: int) -> list[Defect]:
    stated = group.attrs.get("num_samples")
    counts = {len(signal) for signal in signals.values()}
    if not np.isscalar(stated) or not isinstance(stated, int | np.integer) or not counts:
        return []
    if int(stated) in counts:
        return []
    most = max(counts)
    message = f"num_samples says {stated}, but the streams have {most}"
    return [Defect("index_map", message, index, None, float(most), float(stated))]


def _arguments(facts: dict[str, str]) -> dict[str, Any]:
    try:
        stated = json.loads(facts.get("env_args", "{}"))
    except (ValueError, RecursionError):
        return {}
    return stated if isinstance(stated, dict) else {}


def _rate(facts: dict[str, str], found: dict[str, Any]) -> float:
    """Control rate: as stated, or from the simulator's clock, which begins every state."""
    kwargs = _arguments(facts).get("env_kwargs")
    rate = kwargs.get("control_freq") if isinstance(kwargs, dict) else None
    if isinstance(rate, int | float) and 0 < rate <= 1e5:
        return float(rate)
    states = read_numbers(found["states"]) if "states" in found else None
    if states is not None and states.ndim == 2 and len(states) > 2:
        steps = np.diff(states[:, 0])
        middle = float(np.median(steps))
        if 1e-4 < middle < 1.0 and np.abs(steps - middle).max() < 0.01 * middle:
            return round(1.0 / middle, 3)
    return RATE_HZ


def _task(facts: dict[str, str]) -> str | None:
    name = _arguments(facts).get("env_name") or facts.get("env")
    return str(name) if name else None


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="robomimic or robosuite HDF5",
    loses=("clocks of single streams", "units", "documents"),
)

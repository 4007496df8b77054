"""ALOHA HDF5: one file for every episode, with observations/qpos, pictures and action."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import h5py

from corporeal.embodiment.embodiment import Embodiment
from corporeal.embodiment.library import open_robot
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.format import Format
from corporeal.exchange.hdf5 import datasets, in_order, is_hdf5, members, open_hdf5, text_attribute
from corporeal.exchange.hdf5_signals import length_defects, signals_of

RATE_HZ = 50.0
SUFFIXES = (".hdf5", ".h5")
_JOINTED = ("observations/qpos", "observations/qvel", "observations/effort", "action")


def recognises(path: Path) -> bool:
    """Whether the file has observations/qpos and action, or the folder holds such files."""
    return any(map(_is_episode, _files(path)[:1] if path.is_dir() else [path]))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float = RATE_HZ) -> Dataset:
    """The episodes in order of the numbers in their names; the rate is not in the files."""
    files = _files(path) if path.is_dir() else [path]
    return Dataset(
        source=path,
        format="aloha",
        episodes=tuple(range(len(files))),
        open=partial(_open, files, robot, rate_hz),
    )


def _open(files: list[Path], robot: Embodiment | None, rate_hz: float, index: int) -> Recording:
    if not 0 <= index < len(files):
        raise EpisodeError(f"episode {index} is not here; expected 0 to {len(files) - 1}.")
    path = files[index]
    with open_hdf5(path) as file:
        found = {
            label: each
            for label, each in datasets(file).items()
            if label == "action" or label.startswith("observations/")
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
        signals = signals_of(path, found, rate_hz=rate_hz, names=named, robot=model)
        metadata = _metadata(file)
    return Recording(
        id=path.stem,
        source=path,
        index=index,
        signals=signals,
        embodiment=model,
        metadata={"fps": rate_hz, **metadata},
        defects=tuple(length_defects(signals, index)),
        regridded=True,
    )


def _metadata(file: h5py.File) -> dict[str, Any]:
    texts = {name: text_attribute(file, name) for name in ("task", "instruction", "language")}
    stated: dict[str, Any] = {name: text for name, text in texts.items() if text}
    if "sim" in file.attrs:
        stated["sim"] = bool(file.attrs["sim"])
    return stated


def _files(folder: Path) -> list[Path]:
    found = {path.name: path for path in folder.iterdir() if path.suffix in SUFFIXES}
    return [found[name] for name in in_order(list(found))]


def _is_episode(path: Path) -> bool:
    if not path.is_file() or not is_hdf5(path):
        return False
    try:
        with open_hdf5(path) as file:
            observations = members(file).get("observations")
            plain = isinstance(observations, h5py.Group) and "qpos" in members(observations)
            return plain and isinstance(members(file).get("action"), h5py.Dataset)
    except CorporealError:
        return False


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="ALOHA HDF5",
    loses=("clocks of single streams", "units", "documents"),
)

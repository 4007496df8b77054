"""An HDF5 file of a few kilobytes takes neither all memory nor all time."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.errors import EpisodeError
from corporeal.exchange import hdf5
from corporeal.exchange.opening import open_dataset


def _aloha(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        file["action"] = file["observations/qpos"] = np.zeros((10, 14))
    return path


def test_groups_that_contain_themselves_are_walked_once(tmp_path: Path) -> None:
    path = _aloha(tmp_path / "episode_0.hdf5")
    with h5py.File(path, "a") as file:
        for number in range(30):
            file[f"again{number}"] = file["/"]
            file[f"observations/again{number}"] = file["/"]
    assert set(open_dataset(path).open(0).signals) == {"action", "observations/qpos"}


def test_a_group_with_two_names_is_read_under_both(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["obs/qpos"] = np.zeros(3)
        file["next_obs"] = file["obs"]
        assert set(hdf5.datasets(file)) == {"obs/qpos", "next_obs/qpos"}


def test_links_from_level_to_level_are_refused(tmp_path: Path) -> None:
    path = _aloha(tmp_path / "episode_0.hdf5")
    with h5py.File(path, "a") as file:
        for level in range(7):
            upper = file.require_group(f"level{level}")
            lower = file.create_group(f"level{level + 1}")
            for number in range(20):
                upper[f"link{number}"] = lower
    with pytest.raises(EpisodeError, match="more than one name"):
        open_dataset(path).open(0)


def test_a_size_that_is_not_in_the_file_is_not_taken(tmp_path: Path) -> None:
    path = _aloha(tmp_path / "episode_0.hdf5")
    with h5py.File(path, "a") as file:
        file.create_dataset("observations/qvel", (1 << 25,), np.float64, chunks=(1 << 16,))
    with pytest.raises(EpisodeError, match="qvel claims 256 MiB, which are not in the file"):
        open_dataset(path).open(0)


def test_the_arrays_of_an_episode_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _aloha(tmp_path / "episode_0.hdf5")
    monkeypatch.setattr(hdf5, "MAX_BYTES", 1 << 20)
    with h5py.File(path, "a") as file:
        for number in range(3):
            file[f"observations/force{number}"] = np.zeros((10, 6000))
    with pytest.raises(EpisodeError, match="1 MiB of numbers; expected at most 1 MiB"):
        open_dataset(path).open(0)

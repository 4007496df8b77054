"""D4RL: steps of many episodes in one table, read as h5py reads them, cut where they end."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.episode.recording import ArraySignal
from corporeal.errors import EpisodeError
from corporeal.exchange.opening import open_dataset


def write_steps(path: Path, *, timeouts: bool = True) -> Path:
    """Three episodes of 30, 20 and 10 steps; the last is cut off."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        file["observations"] = rng.normal(size=(60, 11)).astype(np.float32)
        file["next_observations"] = np.roll(file["observations"][()], -1, axis=0)
        file["actions"] = rng.normal(size=(60, 3)).astype(np.float32)
        file["rewards"] = np.arange(60, dtype=np.float32)
        file["terminals"] = np.isin(np.arange(60), [29])
        if timeouts:
            file["timeouts"] = np.isin(np.arange(60), [49])
        file["infos/qpos"] = rng.normal(size=(60, 6))
        file["metadata/policy/fc0/weight"] = rng.normal(size=(4, 4))
    return path


def test_episodes_are_cut_at_terminals_and_timeouts_and_hold_what_h5py_reads(
    tmp_path: Path,
) -> None:
    path = write_steps(tmp_path / "hopper.hdf5")
    dataset = open_dataset(path)
    assert (dataset.format, len(dataset.episodes)) == ("d4rl", 3)
    with h5py.File(path, "r", locking=False) as file:
        for number, (first, stop) in enumerate(((0, 30), (30, 50), (50, 60))):
            recording = dataset.open(number)
            for label in ("observations", "actions", "infos/qpos"):
                signal = recording.signals[label]
                assert isinstance(signal, ArraySignal)
                np.testing.assert_array_equal(signal.values, file[label][first:stop])
            assert recording.metadata["reward"] == sum(range(first, stop))
            assert recording.metadata["terminal"] == (number == 0)
            assert recording.metadata["timeout"] == (number == 1)
            assert recording.signals["actions"].spec.group == "actions"
            assert recording.signals["observations"].spec.group == "observations"
            assert set(recording.signals) == {"observations", "actions", "infos/qpos"}


def test_without_timeouts_only_terminals_cut(tmp_path: Path) -> None:
    dataset = open_dataset(write_steps(tmp_path / "a.hdf5", timeouts=False))
    assert [len(dataset.open(number).signals["actions"]) for number in dataset.episodes] == [30, 30]


def test_marks_for_another_number_of_steps_are_refused(tmp_path: Path) -> None:
    path = write_steps(tmp_path / "a.hdf5")
    with h5py.File(path, "a") as file:
        del file["terminals"]
        file["terminals"] = np.zeros(10, bool)
    with pytest.raises(EpisodeError, match="terminals has 10 rows for 60 actions"):
        open_dataset(path)

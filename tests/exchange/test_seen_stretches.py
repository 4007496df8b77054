"""What nobody saw is left out of datasets: each stretch in between becomes an episode."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.small_sets import write_episode

from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import lay_out
from corporeal.exchange.training.torch_dataset import EpisodeDataset


def _segment(start_s: float, end_s: float, *not_seen: str) -> dict[str, Any]:
    lost = {"not_seen": list(not_seen)} if not_seen else {}
    return {"start_ns": round(start_s * 1e9), "end_ns": round(end_s * 1e9),
            "mode": "egocentric demonstration", **lost}  # fmt: skip


SEGMENTS = [
    _segment(0.0, 0.78),
    _segment(0.80, 1.18, "left_hand"),
    _segment(1.20, 1.40),
    _segment(1.42, 1.50, "left_hand", "right_hand"),
    _segment(1.52, 1.60, "right_hand"),
    _segment(1.62, 1.9),
    _segment(1.92, 2.4),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode with gaps, and one of which all was seen."""
    place = tmp_path_factory.mktemp("seen")
    write_episode(place / "e0.h5", seconds=2.4, size=(32, 48), facts={"segments": SEGMENTS})
    write_episode(place / "e1.h5", seconds=0.6, size=(32, 48), seed=1)
    return place


@pytest.mark.slow
def test_an_export_leaves_out_what_was_not_seen(folder: Path, tmp_path: Path) -> None:
    whole = lay_out(open_dataset(folder).open(0))
    exported = export(folder, tmp_path / "out", "zarr", ExportOptions(seen_only=True))
    lengths = [episode.rows for episode in exported.episodes]
    seconds = whole.time_ns / 1e9
    # Of the short stretch between both gaps nothing is left; a change of mode alone cuts nothing.
    expected = [int((seconds <= 0.78).sum()), int(((seconds >= 1.62) & (seconds <= 2.4)).sum())]
    assert lengths == [*expected, lay_out(open_dataset(folder).open(1)).time_ns.size]
    assert {episode.origin for episode in exported.episodes[:2]} == {whole.recording.id}


def test_training_leaves_it_out_as_an_export_does(folder: Path) -> None:
    everything = EpisodeDataset(folder, chunk=2, cameras=())
    dataset = pickle.loads(pickle.dumps(EpisodeDataset(folder, chunk=2, cameras=(),
                                                       seen_only=True)))  # fmt: skip
    assert len(dataset.episodes) == 3
    second = dataset.episodes[1]
    recording = open_dataset(folder).open(0)
    films = tuple(camera.spec.stream.name for camera in lay_out(recording).cameras.values())
    times = lay_out(recording, ExportOptions(exclude=films)).time_ns
    begin = int(np.searchsorted(times, 1_620_000_000))
    last = dataset.sample(second.first + second.length - 1)
    assert last["action_is_pad"].tolist() == [False, True]
    np.testing.assert_array_equal(
        dataset.sample(second.first)["observation.state"],
        everything.sample(begin)["observation.state"],
    )


def test_an_episode_in_which_nothing_was_seen_for_long_is_refused(tmp_path: Path) -> None:
    segments = [_segment(0.0, 0.3), _segment(0.32, 0.6, "left_hand")]
    path = write_episode(tmp_path / "e.h5", seconds=0.6, size=(32, 48),
                         facts={"segments": segments})  # fmt: skip
    with pytest.raises(EpisodeError, match=r"no stretch of 0\.5 s"):
        EpisodeDataset(path, seen_only=True)


def test_a_format_without_rows_keeps_everything_and_says_so(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match="expected a format with rows"):
        export(folder, tmp_path / "out", "episodes", ExportOptions(seen_only=True))

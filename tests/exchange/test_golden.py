"""Datasets that an earlier version wrote still open, and give the same episodes.

`tests/golden/datasets` has two episodes of a nodding robot in every format, written by version
0.1.0 before a dataset described itself in one way for all formats; `episodes.json` is what that
version read from them: restored with the folder beside it, alone, and row by row.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.episode.recording import Dataset, Recording, Signal
from corporeal.exchange.opening import open_dataset, open_rows

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "datasets"
EPISODES = json.loads((GOLDEN / "episodes.json").read_text("utf-8"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def digest_json(values: Any) -> str:
    return digest(json.dumps(values, sort_keys=True, default=str).encode())


def summarise_signal(signal: Signal) -> str:
    """Samples, stamps, values and the stream as the schema has it; pictures are counted."""
    kind = signal.spec.kind
    data = b""
    if kind == "text":
        data = json.dumps(list(signal[:])).encode()
    elif kind != "video":
        data = np.ascontiguousarray(signal[:]).tobytes()
    stamps = np.ascontiguousarray(signal.time_ns, np.int64).tobytes()
    spec = signal.spec.model_dump(mode="json", exclude_none=True, warnings=False)
    return f"{len(signal)} {digest(stamps)} {digest(data)} {digest_json(spec)}"


def summarise(recording: Recording) -> dict[str, Any]:
    return {
        "id": recording.id,
        "robot": recording.embodiment.hash[7:19] if recording.embodiment else None,
        "epoch_ns": recording.epoch_ns,
        "regridded": recording.regridded,
        "metadata": digest_json(dict(recording.metadata)),
        "labels": digest_json(recording.labels.to_json()) if recording.labels else None,
        "streams": {each.spec.path: summarise_signal(each) for each in recording.signals.values()},
    }


def open_as(way: str, folder: Path) -> Dataset:
    if way == "rows":
        return open_rows(folder)
    return open_dataset(folder, restore=way == "restored")


@pytest.mark.parametrize("way", ["restored", "alone", "rows"])
@pytest.mark.parametrize("name", sorted(EPISODES))
def test_a_dataset_of_an_earlier_version_gives_the_same_episodes(
    name: str, way: str, tmp_path: Path
) -> None:
    folder = tmp_path / name
    with tarfile.open(GOLDEN / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    dataset = open_as(way, folder)
    assert [summarise(dataset.open(number)) for number in dataset.episodes] == EPISODES[name][way]

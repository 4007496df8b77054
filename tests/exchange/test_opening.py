"""Several paths as one dataset."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.exchange.lerobot_sets import write_v3

import corporeal
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.episode.file import list_episode_files
from corporeal.episode.recording import Dataset, Defect, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.formats import episodes
from corporeal.exchange.movie.packets import coding_at
from corporeal.exchange.opening import join_datasets, open_dataset
from corporeal.retargeting.reader import read_motion
from corporeal.schema import open_schema


def _dataset(name: str, numbers: tuple[int, ...], defects: tuple[Defect, ...] = ()) -> Dataset:
    def open_one(number: int) -> Recording:
        return Recording(f"{name}{number}", Path(name), number, {})

    return Dataset(Path(name), name, numbers, open_one, defects=defects)


def test_episodes_are_numbered_through_and_open_as_before() -> None:
    whole = join_datasets([_dataset("a", (0, 1)), _dataset("b", (5, 9))])
    assert whole.episodes == (0, 1, 2, 3)
    opened = [whole.open(number) for number in whole.episodes]
    assert [each.id for each in opened] == ["a0", "a1", "b5", "b9"]
    assert [each.index for each in opened] == [0, 1, 2, 3]
    assert whole.format == "mixed"


def test_defects_keep_pointing_at_their_episodes() -> None:
    defects = (
        Defect("index_wrong", "one", episode=9),
        Defect("index_wrong", "two", episodes=(5, 9, 77)),
        Defect("metadata_wrong", "all"),
    )
    whole = join_datasets([_dataset("a", (0, 1)), _dataset("b", (5, 9), defects)])
    assert [(each.episode, each.episodes) for each in whole.defects] == [
        (3, ()),
        (None, (2, 3)),
        (None, ()),
    ]


def test_a_folder_of_several_datasets_is_refused_with_what_is_in_it(tmp_path: Path) -> None:
    for name in ("walk", "pick"):
        write_v3(tmp_path / "sets" / name)
    with pytest.raises(EpisodeError) as caught:
        open_dataset(tmp_path / "sets")
    assert str(caught.value) == (
        f"{tmp_path / 'sets'}: is no dataset itself, but holds 2: pick (lerobot) and walk "
        f"(lerobot). Name one, such as {tmp_path / 'sets' / 'pick'}, or several of them one after "
        "the other."
    )
    with pytest.raises(EpisodeError, match=r"holds 2: sets/pick \(lerobot\)"):
        open_dataset(tmp_path)
    both = open_dataset([tmp_path / "sets" / "pick", tmp_path / "sets" / "walk"])
    assert len(both.episodes) == 6


def test_records_without_their_features_are_named(tmp_path: Path) -> None:
    records = tmp_path / "set" / "data-train.tfrecord-00000-of-00001"
    records.parent.mkdir()
    records.write_bytes(b"\0" * 64)
    for path in (records, records.parent):
        with pytest.raises(EpisodeError, match=r"holds TFRecords without features\.json.* Copy"):
            open_dataset(path)


POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n"
)


def _read_lerobot(path: Path) -> None:
    root = write_v3(path.parent / "set")
    (root / "data/chunk-000/file-000.parquet").write_text(POINTER)
    open_dataset(root).open(0)


def _read_info(path: Path) -> None:
    root = write_v3(path.parent / "set")
    (root / "meta/info.json").write_text(POINTER)
    open_dataset(root)


def _read_folder(path: Path) -> None:
    open_dataset(path.parent)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "episode": ("a.h5", Episode.open),
    "dataset": ("a.hdf5", open_dataset),
    "folder": ("a.hdf5", _read_folder),
    "parquet": ("unused.h5", _read_lerobot),
    "json": ("unused.h5", _read_info),
    "movie": ("a.mp4", coding_at),
    "bag": ("a.bag", lambda path: corporeal.open_dataset(path)),
    "mcap": ("a.mcap", lambda path: corporeal.open_dataset(path)),
    "urdf": ("a.urdf", open_robot),
    "mjcf": ("a.xml", open_robot),
    "document": ("a.yaml", lambda path: open_schema(str(path))),
    "bvh": ("a.bvh", read_motion),
    "c3d": ("a.c3d", read_motion),
    "npz": ("a.npz", read_motion),
    "motion": ("a.npz", open_dataset),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_file_that_git_lfs_has_not_fetched_is_named_as_such(tmp_path: Path, kind: str) -> None:
    name, read = READERS[kind]
    path = tmp_path / name
    if not name.startswith("unused"):
        path.write_text(POINTER)
    with pytest.raises(CorporealError) as caught:
        read(path)
    assert "this file is a Git LFS pointer to 12345 bytes" in str(caught.value)
    assert str(caught.value).endswith("Fetch it: git lfs pull.")


def test_a_file_of_no_format_has_nothing_else_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[Path] = []

    def list_files(folder: Path) -> list[Path]:
        walked.append(folder)
        return []

    monkeypatch.setattr(episodes, "list_episode_files", list_files)
    (tmp_path / "odd.pkl").write_bytes(b"\x80\x04N.")
    with pytest.raises(EpisodeError, match="not a dataset of a known format"):
        open_dataset(tmp_path / "odd.pkl")
    assert not walked


def test_a_folder_that_is_removed_meanwhile_costs_no_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.h5").touch()
    scan = os.scandir

    def scandir(path: str | Path) -> object:
        if Path(path).name == "gone":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert list_episode_files(tmp_path) == [tmp_path / "there" / "a.h5"]

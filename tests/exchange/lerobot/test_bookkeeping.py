"""Every way in which a LeRobot dataset can contradict itself is named, and where."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.exchange.lerobot_sets import (
    CAMERA,
    Recipe,
    arrow,
    read_json,
    read_rows,
    table_of,
    write_json,
    write_lines,
    write_movie,
    write_rows,
    write_table,
    write_v2,
    write_v3,
)

from corporeal.episode.recording import Dataset, Defect
from corporeal.errors import EpisodeError
from corporeal.exchange.opening import open_dataset

RECIPE = Recipe()
FILMED = Recipe(camera=True)


def by_episode(dataset: Dataset) -> dict[int, list[Defect]]:
    """Defects of the episodes that have some."""
    found = {number: list(dataset.open(number).defects) for number in dataset.episodes}
    return {number: defects for number, defects in found.items() if defects}


def checks(defects: list[Defect] | tuple[Defect, ...]) -> list[str]:
    return [defect.check for defect in defects]


def change_info(root: Path, **changes: Any) -> None:
    path = root / "meta" / "info.json"
    write_json(path, read_json(path) | changes)


def change_row(root: Path, episode: int, **changes: Any) -> None:
    rows = read_rows(root)
    rows[episode].update(changes)
    write_rows(root, rows)


@pytest.mark.parametrize("column", ["episode_index", "frame_index", "index"])
def test_a_wrong_number_in_a_row_is_found(tmp_path: Path, column: str) -> None:
    root = write_v2(tmp_path / "set")
    columns = table_of(RECIPE, 1)
    columns[column][7] += 3
    write_table(root, 1, columns)
    found = by_episode(open_dataset(root))
    assert list(found) == [1]
    assert checks(found[1]) == ["index_wrong"]
    assert found[1][0].stream == column
    assert "row 7" in found[1][0].message


def test_a_wrong_length_is_found_in_its_own_episode_alone(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    lines = [{"episode_index": n, "tasks": [RECIPE.tasks[n % 2]], "length": length}
             for n, length in enumerate((30, 41, 25))]  # fmt: skip
    write_lines(root / "meta" / "episodes.jsonl", lines)
    dataset = open_dataset(root)
    assert dataset.defects == ()
    found = by_episode(dataset)
    assert {number: checks(each) for number, each in found.items()} == {1: ["index_wrong"]}
    assert "41 frames, the table has 40" in found[1][0].message


def test_a_task_that_does_not_exist_is_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    columns = table_of(RECIPE, 2)
    columns["task_index"][:] = 5
    write_table(root, 2, columns)
    found = by_episode(open_dataset(root))
    assert {number: checks(each) for number, each in found.items()} == {2: ["index_wrong"]}
    assert "not one of the 2 listed tasks" in found[2][0].message


def test_a_task_of_another_episode_is_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    columns = table_of(RECIPE, 0)
    columns["task_index"][:] = 1
    write_table(root, 0, columns)
    found = by_episode(open_dataset(root))
    assert {number: checks(each) for number, each in found.items()} == {0: ["index_wrong"]}


def test_missing_data_is_summed_up_once(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(lengths=(10,) * 6))
    for episode in (1, 2, 4):
        (root / "data" / "chunk-000" / f"episode_{episode:06d}.parquet").unlink()
    dataset = open_dataset(root)
    assert dataset.episodes == (0, 3, 5)
    assert checks(dataset.defects) == ["index_wrong"]
    assert "3 of 6 listed episodes is not here: 1-2, 4" in dataset.defects[0].message
    assert dataset.defects[0].episodes == (1, 2, 4)
    assert not by_episode(dataset)


def test_holes_and_repetitions_in_the_list_are_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    task = RECIPE.tasks[0]
    lines = [{"episode_index": n, "tasks": [task], "length": RECIPE.lengths[n]} for n in (0, 2, 2)]
    write_lines(root / "meta" / "episodes.jsonl", lines)
    dataset = open_dataset(root)
    assert dataset.episodes == (0, 2)
    messages = " / ".join(defect.message for defect in dataset.defects)
    assert "episode 2 is listed more than once" in messages
    assert "episodes 1 are not listed" in messages
    assert "1 data files belong to no listed episode: episode_000001.parquet" in messages


@pytest.mark.parametrize("name", ["total_episodes", "total_frames", "total_tasks"])
@pytest.mark.parametrize("write", [write_v2, write_v3])
def test_a_wrong_total_is_found(tmp_path: Path, name: str, write) -> None:  # type: ignore[no-untyped-def]
    root = write(tmp_path / "set")
    change_info(root, **{name: 77})
    dataset = open_dataset(root)
    assert checks(dataset.defects) == ["metadata_wrong"]
    assert f"{name} 77" in dataset.defects[0].message
    assert not by_episode(dataset)


def test_a_wrong_rate_is_said_once_of_the_whole_set(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", FILMED)
    change_info(root, fps=30)
    dataset = open_dataset(root)
    assert checks(dataset.defects) == ["metadata_wrong"] * 2
    assert {defect.stream for defect in dataset.defects} == {"timestamp", CAMERA}
    assert dataset.defects[0].episodes == (0, 1, 2)
    assert not by_episode(dataset)


def test_a_wrong_rate_of_one_episode_is_found_there(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(lengths=(20,) * 5))
    columns = table_of(Recipe(lengths=(20,) * 5), 1)
    columns["timestamp"] *= 2
    write_table(root, 1, columns)
    dataset = open_dataset(root)
    assert dataset.defects == ()
    assert {n: checks(each) for n, each in by_episode(dataset).items()} == {1: ["metadata_wrong"]}


def test_a_name_that_two_columns_of_the_state_have_is_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    info = read_json(root / "meta" / "info.json")
    names = info["features"]["observation.state"]["names"]
    names[0] = names[1]
    write_json(root / "meta" / "info.json", info)
    (defect,) = open_dataset(root).defects
    assert (defect.check, defect.stream) == ("metadata_wrong", "observation.state")


def test_a_feature_without_data_or_of_another_width_is_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    info = read_json(root / "meta" / "info.json")
    info["features"]["observation.force"] = {"dtype": "float32", "shape": [6], "names": None}
    info["features"]["action"] = {"dtype": "float32", "shape": [5], "names": list("abcde")}
    write_json(root / "meta" / "info.json", info)
    dataset = open_dataset(root)
    assert {(each.check, each.stream) for each in dataset.defects} == {
        ("metadata_wrong", "observation.force"),
        ("metadata_wrong", "action"),
    }
    assert not by_episode(dataset)


def test_a_column_that_one_table_lacks_is_found_there(tmp_path: Path) -> None:
    recipe = Recipe(lengths=(20,) * 5)
    root = write_v2(tmp_path / "set", recipe)
    columns = table_of(recipe, 3)
    del columns["action"]
    write_table(root, 3, columns)
    dataset = open_dataset(root)
    assert dataset.defects == ()
    found = by_episode(dataset)
    assert {n: checks(each) for n, each in found.items()} == {3: ["metadata_wrong"]}
    assert found[3][0].stream == "action"


def test_names_for_another_number_of_columns_are_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(names=["left_elbow", "right_elbow"]))
    dataset = open_dataset(root)
    assert checks(dataset.defects) == ["metadata_wrong"] * 2
    assert dataset.open(0).signals["observation.state"].spec.name == "state"


def test_a_camera_without_any_movie_is_said_once(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    info = read_json(root / "meta" / "info.json")
    info["features"]["observation.images.left"] = {"dtype": "video", "shape": [8, 8, 3]}
    write_json(root / "meta" / "info.json", info)
    dataset = open_dataset(root)
    assert [(each.check, each.stream) for each in dataset.defects] == [
        ("stream_missing", "observation.images.left")
    ]
    assert not by_episode(dataset)


def test_a_missing_movie_is_found_in_its_episode(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", FILMED)
    (root / "videos" / "chunk-000" / CAMERA / "episode_000001.mp4").unlink()
    dataset = open_dataset(root)
    found = by_episode(dataset)
    assert {n: checks(each) for n, each in found.items()} == {1: ["footage_incomplete"]}
    assert CAMERA not in dataset.open(1).signals


@pytest.mark.parametrize("frames", [36, 44])
def test_a_movie_with_too_few_or_too_many_pictures_is_found(tmp_path: Path, frames: int) -> None:
    root = write_v2(tmp_path / "set", FILMED)
    write_movie(root / "videos" / "chunk-000" / CAMERA / "episode_000001.mp4", frames, 20)
    found = by_episode(open_dataset(root))
    assert {n: checks(each) for n, each in found.items()} == {1: ["footage_incomplete"]}
    assert f"{frames} pictures for 40 rows" in found[1][0].message
    assert (found[1][0].value, found[1][0].limit) == (float(frames), 40.0)


def test_a_movie_that_was_cut_short_is_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", FILMED)
    path = root / "videos" / "chunk-000" / CAMERA / "episode_000002.mp4"
    path.write_bytes(path.read_bytes()[:-300])
    found = by_episode(open_dataset(root))
    assert {n: checks(each) for n, each in found.items()} == {2: ["footage_incomplete"]}


def test_pictures_of_another_size_or_rate_are_found(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(camera=True, lengths=(20,) * 5))
    folder = root / "videos" / "chunk-000" / CAMERA
    write_movie(folder / "episode_000001.mp4", 20, 20, size=(32, 32))
    write_movie(folder / "episode_000003.mp4", 20, 10)
    dataset = open_dataset(root)
    assert dataset.defects == ()
    found = {n: checks(each) for n, each in by_episode(dataset).items()}
    assert found == {1: ["footage_incomplete"], 3: ["metadata_wrong"]}


def test_a_size_that_no_movie_has_is_said_once(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", FILMED)
    info = read_json(root / "meta" / "info.json")
    info["features"][CAMERA]["shape"] = [96, 128, 3]
    write_json(root / "meta" / "info.json", info)
    dataset = open_dataset(root)
    assert [(each.check, each.stream) for each in dataset.defects] == [
        ("footage_incomplete", CAMERA)
    ]
    assert not by_episode(dataset)


@pytest.mark.parametrize("shift", [-4, 3])
def test_a_list_that_points_at_the_wrong_rows_is_found(tmp_path: Path, shift: int) -> None:
    root = write_v3(tmp_path / "set")
    row = read_rows(root)[1]
    moved = {f"dataset_{end}_index": row[f"dataset_{end}_index"] + shift for end in ("from", "to")}
    change_row(root, 1, **moved)
    dataset = open_dataset(root)
    found = by_episode(dataset)
    assert {n: checks(each) for n, each in found.items()} == {1: ["index_wrong"]}
    assert len(dataset.open(1).signals["action"]) == 40
    assert np.array_equal(dataset.open(1).signals["action"][:], table_of(RECIPE, 1)["action"])


def test_rows_that_say_they_are_of_another_episode_are_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set")
    path = root / "data" / "chunk-000" / "file-000.parquet"
    both = [table_of(RECIPE, episode) for episode in (0, 1)]
    both[1]["episode_index"][:5] = 0
    pq.write_table(pa.concat_tables(arrow(each) for each in both), path)
    dataset = open_dataset(root)
    found = by_episode(dataset)
    assert set(found) == {0, 1}
    assert {check for each in found.values() for check in checks(each)} == {"index_wrong"}
    assert [len(dataset.open(n).signals["action"]) for n in (0, 1, 2)] == [30, 40, 25]


def test_a_list_that_names_the_wrong_file_is_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(lengths=(10,) * 6))
    change_row(root, 3, **{"data/file_index": 0})
    dataset = open_dataset(root)
    assert dataset.episodes == (0, 1, 2, 3, 4, 5)
    found = by_episode(dataset)
    assert {n: checks(each) for n, each in found.items()} == {3: ["index_wrong"]}
    assert "in file-000.parquet, but it is in file-001.parquet" in found[3][0].message
    assert len(dataset.open(3).signals["action"]) == 10


def test_two_entries_that_are_exchanged_are_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(lengths=(10, 12, 10, 12)))
    rows = read_rows(root)
    first, second = ({key: row[key] for key in row if key.startswith("dataset_")}
                     for row in (rows[0], rows[2]))  # fmt: skip
    rows[0].update(second)
    rows[2].update(first)
    write_rows(root, rows)
    found = by_episode(open_dataset(root))
    assert set(found) == {0, 2}
    assert {check for each in found.values() for check in checks(each)} == {"index_wrong"}


def test_rows_that_no_episode_has_are_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set")
    write_rows(root, read_rows(root)[:1] + read_rows(root)[2:])
    dataset = open_dataset(root)
    assert dataset.episodes == (0, 2)
    assert {defect.check for defect in dataset.defects} == {"index_wrong", "metadata_wrong"}
    assert any("file-000.parquet has 70 rows" in each.message for each in dataset.defects)


def test_a_missing_file_takes_its_episodes_with_it(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(lengths=(10,) * 6))
    (root / "data" / "chunk-000" / "file-001.parquet").unlink()
    dataset = open_dataset(root)
    assert dataset.episodes == (0, 1, 4, 5)
    assert checks(dataset.defects) == ["index_wrong"]
    assert not by_episode(dataset)


def test_a_stretch_of_a_movie_that_is_another_episodes_is_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(camera=True, lengths=(20,) * 4, per_file=4))
    prefix = f"videos/{CAMERA}"
    change_row(root, 2, **{f"{prefix}/from_timestamp": 1.8, f"{prefix}/to_timestamp": 2.8})
    found = by_episode(open_dataset(root))
    assert {n: checks(each) for n, each in found.items()} == {2: ["index_wrong"]}
    assert "picture 36" in found[2][0].message


def test_a_stretch_of_another_length_is_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(camera=True, lengths=(20,) * 4, per_file=4))
    change_row(root, 1, **{f"videos/{CAMERA}/to_timestamp": 1.9})
    found = by_episode(open_dataset(root))
    assert {n: checks(each) for n, each in found.items()} == {1: ["footage_incomplete"]}
    assert "18 pictures for 20 rows" in found[1][0].message


def test_a_shared_movie_that_is_too_short_or_too_long_is_found(tmp_path: Path) -> None:
    root = write_v3(tmp_path / "set", Recipe(camera=True, lengths=(20,) * 4))
    folder = root / "videos" / CAMERA / "chunk-000"
    write_movie(folder / "file-000.mp4", 35, 20)
    write_movie(folder / "file-001.mp4", 50, 20)
    dataset = open_dataset(root)
    found = by_episode(dataset)
    assert {n: checks(each) for n, each in found.items()} == {1: ["footage_incomplete"]}
    assert checks(dataset.defects) == ["footage_incomplete"]
    assert "50 pictures" in dataset.defects[0].message


@pytest.mark.parametrize("write", [write_v2, write_v3])
def test_meta_without_any_data_is_refused_in_one_sentence(
    tmp_path: Path, write: Callable[[Path, Recipe], Path]
) -> None:
    root = write(tmp_path / "set", FILMED)
    shutil.rmtree(root / "data")
    shutil.rmtree(root / "videos")
    with pytest.raises(EpisodeError) as caught:
        open_dataset(root)
    assert "meta lists 3 episodes, but the data of none is here; expected data/" in str(
        caught.value
    )
    assert "Fetch the data as well as meta." in str(caught.value)

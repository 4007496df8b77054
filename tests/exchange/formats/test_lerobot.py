"""LeRobot datasets of every version become recordings that say the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from tests.exchange.lerobot_sets import (
    CAMERA,
    Recipe,
    motion,
    read_json,
    table_of,
    write_json,
    write_lines,
    write_table,
    write_v2,
    write_v3,
)

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ImageSequence, VideoFile
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.opening import open_dataset


@pytest.mark.parametrize("version", ["v2.0", "v2.1", "v3.0"])
def test_a_good_dataset_is_read_without_complaint(tmp_path: Path, version: str) -> None:
    recipe = Recipe(camera=True)
    root = tmp_path / "set"
    write_v3(root, recipe) if version == "v3.0" else write_v2(root, recipe, version=version)
    dataset = open_dataset(root)
    assert dataset.format == "lerobot"
    assert dataset.episodes == (0, 1, 2)
    assert dataset.defects == ()
    for number, length in enumerate(recipe.lengths):
        recording = dataset.open(number)
        assert recording.defects == ()
        assert recording.regridded
        state = recording.signals["observation.state"]
        assert np.array_equal(state[:], motion(number, length, recipe.width))
        assert np.allclose(state.time_ns, np.arange(length) * 5e7, atol=500)
        assert len(recording.signals[CAMERA]) == length
        assert recording.metadata["instruction"] == recipe.tasks[number % 2]
        assert recording.metadata["instructions"] == (recipe.tasks[number % 2],)


@pytest.mark.parametrize("write", [write_v2, write_v3])
def test_columns_are_the_joints_of_the_robot_that_the_dataset_names(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    recording = open_dataset(write(tmp_path / "set")).open(0)
    assert recording.embodiment is not None
    assert recording.embodiment.name == "g1"
    state = recording.signals["observation.state"].spec
    assert state.name == "joint_position"
    assert state.components == (
        "left_shoulder_pitch_joint",
        "left_elbow_joint",
        "right_shoulder_pitch_joint",
        "right_elbow_joint",
    )
    assert set(state.unit) == {"rad"}
    assert recording.signals["action"].spec.name == "joint_position_target"


@pytest.mark.parametrize(
    ("names", "robot_type", "role", "components"),
    [
        (list("abcd"), None, "state", tuple("abcd")),
        (None, None, "state", None),
        ([["motor_0", "motor_1", "motor_2", "motor_3"]], None, "joint_position", None),
        ({"motors": ["j0", "j1", "j2", "j3"]}, "x", "joint_position", ("j0", "j1", "j2", "j3")),
        (["x", "y", "z", "gripper"], "unitree_g1", "state", ("x", "y", "z", "gripper")),
    ],
)
def test_columns_of_an_unknown_robot_claim_no_unit(
    tmp_path: Path, names: object, robot_type: str | None, role: str, components: object
) -> None:
    root = write_v2(tmp_path / "set", Recipe(names=names, robot_type=robot_type))
    recording = open_dataset(root).open(0)
    spec = recording.signals["observation.state"].spec
    assert recording.embodiment is None
    assert spec.name == role
    assert spec.unit == "1"
    assert components is None or spec.components == components


def test_a_robot_given_by_the_user_takes_the_place_of_a_guess(tmp_path: Path) -> None:
    robot = open_robot("g1_23dof")
    root = write_v2(tmp_path / "set", Recipe(names=None, width=23, robot_type=None))
    recording = open_dataset(root, robot=robot).open(0)
    assert recording.signals["observation.state"].spec.components == robot.joint_names


def test_a_modality_file_tells_what_numbered_columns_are(tmp_path: Path) -> None:
    names = [f"motor_{n}" for n in range(20)]
    recipe = Recipe(names=names, width=20, robot_type="GR1ArmsOnly")
    root = write_v2(tmp_path / "set", recipe)
    spans = {"left_arm": (0, 7), "left_hand": (7, 13), "right_arm": (13, 20)}
    parts = {part: {"start": a, "end": b} for part, (a, b) in spans.items()}
    write_json(root / "meta" / "modality.json", {"state": parts, "action": parts})
    recording = open_dataset(root).open(1)
    gr1 = open_robot("gr1")
    components = recording.signals["observation.state"].spec.components
    assert components is not None
    assert tuple(components[:7]) == gr1.groups["left_arm"]
    assert tuple(components[7:13]) == tuple(f"left_hand_{n}" for n in range(6))
    assert tuple(components[13:]) == gr1.groups["right_arm"]


def test_lists_of_any_kind_are_the_same_numbers(tmp_path: Path) -> None:
    fixed = open_dataset(write_v2(tmp_path / "fixed")).open(1)
    loose = open_dataset(write_v2(tmp_path / "loose", Recipe(variable_lists=True))).open(1)
    for key in ("observation.state", "action"):
        assert np.array_equal(fixed.signals[key][:], loose.signals[key][:])


@pytest.mark.parametrize("write", [write_v2, write_v3])
def test_what_the_source_claims_of_an_episode_is_kept(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    dataset = open_dataset(write(tmp_path / "set"))
    claims = dataset.open(2).claims["observation.state"]
    values = motion(2, 25, 4).astype(np.float64)
    assert np.allclose(claims["mean"], values.mean(axis=0), atol=1e-6)
    assert np.allclose(claims["max"], values.max(axis=0))
    assert claims["count"].tolist() == [25]


def test_statistics_of_the_whole_set_are_kept(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", version="v2.0")
    write_json(root / "meta" / "stats.json", {"action": {"mean": [1, 2, 3, 4], "odd": "text"}})
    statistics = open_dataset(root).statistics
    assert statistics["action"]["mean"].tolist() == [1, 2, 3, 4]
    assert "odd" not in statistics["action"]


def test_pictures_of_an_episode_are_its_own_where_it_shares_a_movie(tmp_path: Path) -> None:
    dataset = open_dataset(write_v3(tmp_path / "set", Recipe(camera=True)))
    footage = dataset.open(1).signals[CAMERA]
    assert isinstance(footage, VideoFile)
    assert (footage.first, footage.count) == (30, 40)
    assert isinstance(footage.open(), str)
    levels = [float(frame.to_ndarray(format="gray").mean()) for frame in footage.frames()]
    assert len(levels) == 40
    assert np.allclose(levels, 70 + np.arange(40), atol=2)


def test_pictures_inside_the_table_are_stills(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(lengths=(5,)))
    info = read_json(root / "meta" / "info.json")
    info["features"]["observation.images.top"] = {"dtype": "image", "shape": [8, 10, 3]}
    write_json(root / "meta" / "info.json", info)
    path = root / "data" / "chunk-000" / "episode_000000.parquet"
    stored = []
    for level in range(5):
        file = tmp_path / "picture.png"
        Image.new("RGB", (10, 8), (level * 10, 0, 0)).save(file)
        stored.append({"bytes": file.read_bytes(), "path": f"{level}.png"})
    table = pq.read_table(path).append_column("observation.images.top", pa.array(stored))
    pq.write_table(table, path)
    stills = open_dataset(root).open(0).signals["observation.images.top"]
    assert isinstance(stills, ImageSequence)
    assert stills[3].shape == (8, 10, 3)
    assert int(stills[3][0, 0, 0]) == 30
    assert sum(1 for _ in stills.frames()) == 5


def test_other_numbers_have_the_role_that_their_name_gives(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(lengths=(6,)))
    info = read_json(root / "meta" / "info.json")
    for key in ("observation.velocity", "observation.effort"):
        info["features"][key] = {"dtype": "float32", "shape": [4], "names": None}
    info["features"]["observation.environment_state"] = {"dtype": "float32", "shape": [3]}
    info["features"]["next.reward"] = {"dtype": "float32", "shape": [1]}
    write_json(root / "meta" / "info.json", info)
    columns = table_of(Recipe(lengths=(6,)), 0)
    columns["observation.velocity"] = columns["observation.state"]
    columns["observation.effort"] = columns["observation.state"]
    columns["observation.environment_state"] = columns["observation.state"][:, :3]
    columns["next.reward"] = np.zeros(6, np.float32)
    write_table(root, 0, columns)
    signals = open_dataset(root).open(0).signals
    assert signals["observation.velocity"].spec.name == "joint_velocity"
    assert signals["observation.velocity"].spec.unit == ("rad/s",) * 4
    assert signals["observation.effort"].spec.name == "joint_torque"
    assert signals["observation.environment_state"].spec.name == "environment_state"
    assert "next.reward" not in signals


def test_numbers_that_are_none_come_through(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(lengths=(6,)))
    columns = table_of(Recipe(lengths=(6,)), 0)
    columns["observation.state"][2, 1] = np.nan
    columns["timestamp"][3] = np.nan
    write_table(root, 0, columns)
    recording = open_dataset(root).open(0)
    state = recording.signals["observation.state"]
    assert np.isnan(state[:][2, 1])
    assert np.allclose(state.time_ns, np.arange(6) * 5e7, atol=500)
    assert [defect.check for defect in recording.defects] == ["metadata_wrong"]


def test_a_dataset_without_episodes_is_empty(tmp_path: Path) -> None:
    dataset = open_dataset(write_v2(tmp_path / "set", Recipe(lengths=())))
    assert dataset.episodes == ()
    assert dataset.defects == ()


def test_a_truncated_table_spoils_its_own_episode_alone(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    path = root / "data" / "chunk-000" / "episode_000001.parquet"
    path.write_bytes(path.read_bytes()[:-200])
    dataset = open_dataset(root)
    assert dataset.episodes == (0, 1, 2)
    with pytest.raises(EpisodeError, match=r"episode_000001\.parquet: cannot be read as a Parquet"):
        dataset.open(1)
    assert dataset.open(2).defects == ()
    with pytest.raises(CorporealError, match="unknown episode"):
        dataset.open(9)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("data_path", "../{episode_index:06d}.parquet", "inside the dataset"),
        ("data_path", "/etc/{episode_index:06d}.parquet", "inside the dataset"),
        ("data_path", "data/{episode_index.__class__}.parquet", "expected fields"),
        ("video_path", "v/{video_key}/{episode_index:099999d}", "expected fields"),
        ("video_path", 7, "expected fields"),
        ("fps", 0, "frames per second"),
        ("fps", "fast", "frames per second"),
        ("codebase_version", "v1.6", r"expected one of: v2\.0"),
        ("features", [], "expected an object"),
        ("features", {"a": {"dtype": "float32", "shape": [10**6, 10**6]}}, "at most"),
        ("features", {"a": {"dtype": "float32", "shape": [-3]}}, "list of sizes"),
        ("features", {"../a": {"dtype": "video", "shape": [4, 4, 3]}}, "inside the dataset"),
    ],
)
def test_a_hostile_head_is_refused(tmp_path: Path, key: str, value: object, message: str) -> None:
    root = write_v2(tmp_path / "set")
    info = read_json(root / "meta" / "info.json")
    info[key] = value
    write_json(root / "meta" / "info.json", info)
    with pytest.raises(EpisodeError, match=message):
        open_dataset(root)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[1]"])
def test_a_head_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    root = write_v2(tmp_path / "set")
    (root / "meta" / "info.json").write_text(text)
    with pytest.raises(EpisodeError, match=r"info\.json"):
        open_dataset(root)


def test_lists_that_are_not_there_or_not_lists_are_refused(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set")
    write_lines(root / "meta" / "episodes.jsonl", [{"episode_index": -1}])
    with pytest.raises(EpisodeError, match="expected a number from 0"):
        open_dataset(root)
    (root / "meta" / "episodes.jsonl").unlink()
    with pytest.raises(EpisodeError, match=r"episodes\.jsonl"):
        open_dataset(root)


def test_a_numbered_camera_of_odd_size_is_still_a_camera(tmp_path: Path) -> None:
    root = write_v2(tmp_path / "set", Recipe(camera=True, lengths=(5,)))
    spec = open_dataset(root).open(0).signals[CAMERA].spec
    assert (spec.name, spec.kind, spec.shape) == ("head", "video", (48, 64, 3))


def test_real_sets_are_read_as_what_they_are(shared_data: Path) -> None:
    g1 = open_dataset(shared_data / "lerobot" / "g1_inspire_v21_part")
    assert g1.episodes == (*range(10), 63, 99)
    assert [defect.check for defect in g1.defects] == ["index_wrong"]
    assert "88 of 100" in g1.defects[0].message
    last = g1.open(99)
    assert last.defects == ()
    assert last.embodiment is not None
    assert last.embodiment.name == "g1"
    assert [each.check for each in g1.open(0).defects] == ["footage_incomplete"]

    gr1 = open_dataset(shared_data / "lerobot" / "gr1_picknplace_v20")
    assert [(each.check, each.stream) for each in gr1.defects] == [
        ("stream_missing", "observation.images.egoview")
    ]
    recordings = [gr1.open(number) for number in gr1.episodes]
    assert not any(recording.defects for recording in recordings)
    assert recordings[0].embodiment is not None
    assert recordings[0].metadata["task"].startswith("pick the squash")

    so101 = open_dataset(shared_data / "lerobot" / "so101_v30")
    assert so101.defects == ()
    assert not any(so101.open(number).defects for number in so101.episodes)

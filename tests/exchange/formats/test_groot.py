"""GR00T's flavour of LeRobot: parts of the body by name, flat columns, flat statistics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.exchange.lerobot_exports import write_set
from tests.exchange.small_sets import tables_of, write_episodes

from corporeal.embodiment import open_robot
from corporeal.exchange.formats.groot import parts_of
from corporeal.exchange.layout import ColumnSpec
from corporeal.exchange.lerobot.info import read_modality
from corporeal.exchange.opening import open_dataset
from corporeal.schema import Stream


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groot")
    context, tables = tables_of(write_episodes(folder / "episodes", 2))
    return write_set("groot", context, tables, folder)


def read_meta(root: Path, name: str) -> Any:
    return json.loads((root / "meta" / name).read_text("utf-8"))


def test_state_and_action_are_named_by_part_of_the_body(written: Path) -> None:
    modality = read_meta(written, "modality.json")
    body = {
        "left_leg": {"start": 0, "end": 6},
        "right_leg": {"start": 6, "end": 12},
        "waist": {"start": 12, "end": 15},
        "left_arm": {"start": 15, "end": 22},
        "right_arm": {"start": 22, "end": 29},
    }
    assert modality["action"] == body
    assert {part: modality["state"][part] for part in body} == body
    assert modality["video"]["head_left"] == {"original_key": "observation.images.head_left"}
    assert modality["annotation"] == {"human.task_description": {"original_key": "task_index"}}


def test_every_other_column_is_a_part_of_its_own(written: Path) -> None:
    modality = read_meta(written, "modality.json")
    features = read_meta(written, "info.json")["features"]
    table = pq.read_table(written / "data/chunk-000/episode_000000.parquet")
    others = {part: span for part, span in modality["state"].items() if "original_key" in span}
    assert "left_tactile" in others
    for span in others.values():
        key = span["original_key"]
        assert features[key]["shape"] == [span["end"]]
        assert len(table.column(key)[0].as_py()) == span["end"]


def test_our_reader_knows_the_parts_and_the_shapes_before(written: Path) -> None:
    assert read_modality(written)["action"]["waist"] == (12, 15)
    recording = open_dataset(written).open(1)
    assert recording.signals["observation.left_tactile"][:].shape[1:] == (16, 16)


def test_statistics_are_flat_and_of_every_column_of_floats(written: Path) -> None:
    stats = read_meta(written, "stats.json")
    for key, feature in read_meta(written, "info.json")["features"].items():
        if feature["dtype"] == "video":
            assert key not in stats
        elif feature["dtype"].startswith("float"):
            assert {"mean", "std", "min", "max", "q01", "q99"} <= set(stats[key])
            assert np.shape(stats[key]["q99"]) == tuple(feature["shape"])


def spec_of(*names: str, name: str = "joint_position") -> ColumnSpec:
    stream = Stream(name=name, group="observations", shape=(len(names),), components=names)
    return ColumnSpec("observation.state", (stream,))


def test_hands_that_the_robot_lacks_are_told_by_their_names() -> None:
    names = ("left_elbow_joint", "left_hand_thumb", "kLeftHandIndex", "kRightHandRing", "R_finger")
    parts = list(parts_of(spec_of(*names), open_robot("g1")))
    assert parts == [("left_arm", 0, 1), ("left_hand", 1, 3), ("right_hand", 3, 5)]


def test_without_a_robot_the_state_is_one_body() -> None:
    assert list(parts_of(spec_of("j0", "j1", "gripper"), None)) == [("body", 0, 2), ("hand", 2, 3)]
    nameless = Stream(name="state", group="observations", shape=(4,))
    assert list(parts_of(ColumnSpec("observation.state", (nameless,)), None)) == [("body", 0, 4)]


def test_streams_beside_the_joints_keep_their_names() -> None:
    joints = Stream(name="joint_position", group="observations", shape=(1,),
                    components=("waist_yaw_joint",))  # fmt: skip
    imu = Stream(name="pelvis_imu", group="observations", shape=(6,))
    parts = list(parts_of(ColumnSpec("observation.state", (joints, imu)), open_robot("g1")))
    assert parts == [("waist", 0, 1), ("pelvis_imu", 1, 7)]

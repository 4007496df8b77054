"""What state and action are made of, and that every format keeps it and gives the streams back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Dataset, Recording, Signal
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange import ExportOptions, export, open_dataset
from corporeal.exchange.composition import choose_action, choose_state
from corporeal.exchange.editing import options_of, rows_opener
from corporeal.exchange.layout import ACTION, STATE, layout_of
from corporeal.exchange.options import NO_ACTION
from corporeal.exchange.proof import prove
from corporeal.schema import Stream, roles

G1 = open_robot("g1")
ROWS = 40
HANDS = ("left_gripper_target", "right_gripper_target")


def _spec(name: str, group: str = "actions", names: Sequence[str] | int = 1, **more: Any) -> Stream:
    width = names if isinstance(names, int) else len(names)
    components = None if isinstance(names, int) else tuple(names)
    return Stream(name=name, group=group, dtype="float32", shape=(width,),
                  components=components, rate_hz=50, **more)  # fmt: skip


JOINTS = _spec("joint_position", "observations", G1.joint_names, unit="rad")
TARGETS = _spec("joint_position_target", names=G1.joint_names, unit="rad")


def _gripper(name: str, group: str = "actions") -> Stream:
    return _spec(name, group, ("opening",), unit="m")


def _recording(*streams: Stream, rows: int = ROWS) -> Recording:
    stamps = np.arange(rows, dtype=np.int64) * 20_000_000
    rng = np.random.default_rng(0)
    signals: dict[str, Signal] = {
        spec.path: ArraySignal(spec, stamps, rng.random((rows, spec.width)).astype(np.float32))
        for spec in streams
    }
    return Recording(id="made", source=Path("made.h5"), index=0, signals=signals, embodiment=G1)


def _dataset(recording: Recording) -> Dataset:
    return Dataset(source=recording.source, format="made", episodes=(0,), open=lambda _: recording)


PICK = (
    JOINTS,
    _gripper("right_gripper", "observations"),
    _gripper("left_gripper", "observations"),
    _spec("left_hand_wrench", "observations", 6),
    _gripper("right_gripper_target"),
    TARGETS,
    _gripper("left_gripper_target"),
)


def _names(streams: Sequence[Stream]) -> list[str]:
    return [stream.name for stream in streams]


def test_action_and_state_are_joints_then_grippers_left_before_right() -> None:
    options = ExportOptions()
    assert _names(choose_action(PICK, options)) == ["joint_position_target", *HANDS]
    state = _names(choose_state(PICK, options))
    assert state == ["joint_position", "left_gripper", "right_gripper"]
    column = layout_of(_recording(*PICK), options).columns[ACTION]
    assert column.names is not None
    assert column.names[:29] == G1.joint_names
    assert column.names[29:] == tuple(f"{name}.opening" for name in HANDS)
    assert column.units[-2:] == ("m", "m")


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        (["joint_velocity_target", "left_hand_target"], "joint_velocity_target left_hand_target"),
        (["joint_torque_target", "base_velocity"], "joint_torque_target"),
        (
            ["base_velocity", "right_hand_pose_target", "left_hand_pose_target", "gripper_command"],
            "left_hand_pose_target right_hand_pose_target base_velocity gripper_command",
        ),
        (["base_velocity"], "base_velocity"),
        (["left_gripper_target"], ""),
        (["action", "action_left_gripper"], "action"),
        (["joint_position_command", "joint_velocity_target"], "joint_position_command"),
        (["left_hand_joint_position_target", "qpos"], "qpos left_hand_joint_position_target"),
    ],
)
def test_without_a_position_target_the_next_best_command_is_the_action(
    streams: list[str], expected: str
) -> None:
    chosen = choose_action([_spec(name) for name in streams], ExportOptions())
    assert " ".join(_names(chosen)) == expected


def test_joints_that_are_those_of_hands_already_get_none_again() -> None:
    whole = _spec(roles.JOINT_POSITION_TARGET, names=("left_elbow_joint", "left_hand_thumb_0"))
    assert choose_action([whole, _gripper(HANDS[0])], ExportOptions()) == (whole,)


def test_streams_are_chosen_by_name_or_path_and_in_the_order_given() -> None:
    options = ExportOptions(action=(HANDS[1], "actions/joint_position_target"))
    assert _names(choose_action(PICK, options)) == [HANDS[1], "joint_position_target"]
    layout = layout_of(_recording(*PICK), options)
    assert f"action.{HANDS[0]}" in layout.columns
    assert f"action.{HANDS[1]}" not in layout.columns
    with pytest.raises(UnknownNameError, match="left_gripper_target"):
        choose_action(PICK, ExportOptions(action=("left_griper_target",)))


def test_an_export_without_an_action_says_what_could_be_one(tmp_path: Path) -> None:
    recording = _recording(JOINTS, _spec("lid_motor", names=2))
    with pytest.raises(EpisodeError, match=r"lid_motor.*--action lid_motor.*--action none"):
        export(lambda: _dataset(recording), tmp_path / "out", "lerobot")
    chosen = ExportOptions(action=("lid_motor",), on="serial")
    assert export(lambda: _dataset(recording), tmp_path / "a", "zarr", chosen).layout is not None
    watched = _recording(JOINTS)
    with pytest.raises(EpisodeError, match=r"only observations \(joint_position\)"):
        export(lambda: _dataset(watched), tmp_path / "out", "lerobot")
    asked = ExportOptions(action=NO_ACTION, on="serial")
    exported = export(lambda: _dataset(watched), tmp_path / "b", "lerobot", asked)
    assert exported.layout is not None
    assert ACTION not in exported.layout.columns
    assert prove(exported).holds


def _stored_action(name: str, out: Path) -> np.ndarray:
    """The action as another library than ours reads it from the files."""
    if name.startswith(("lerobot", "groot")):
        (path,) = out.glob("data/*/*.parquet")
        return np.stack(pq.read_table(path)[ACTION].to_numpy())
    if name == "aloha":
        with h5py.File(out / "episode_0.hdf5") as file:
            return np.asarray(file["action"])
    with h5py.File(next(out.glob("*.hdf5"))) as file:
        return np.asarray(file["data/demo_0/actions"])


@pytest.mark.parametrize("name", ["lerobot", "lerobot_v21", "groot", "robomimic", "aloha"])
def test_every_format_stores_the_grippers_in_the_action(name: str, tmp_path: Path) -> None:
    recording = _recording(*PICK)
    export(lambda: _dataset(recording), tmp_path / "out", name, ExportOptions(on="serial"))
    stored = _stored_action(name, tmp_path / "out")
    assert stored.shape == (ROWS, 31)
    for column, hand in zip((29, 30), HANDS, strict=True):
        recorded = np.asarray(recording.signals[f"actions/{hand}"][:, 0])
        np.testing.assert_array_equal(stored[:, column], recorded)


@pytest.mark.parametrize(
    "name", ["lerobot", "lerobot_v21", "groot", "rlds", "robomimic", "aloha", "zarr"]
)
@pytest.mark.parametrize("normalise", ["none", "limits"])
def test_streams_of_a_column_come_back_apart(name: str, normalise: str, tmp_path: Path) -> None:
    recording = _recording(*PICK)
    options = ExportOptions(on="serial", sides=False, normalise=normalise)
    exported = export(lambda: _dataset(recording), tmp_path / "out", name, options)
    assert prove(exported).holds
    restored = open_dataset(tmp_path / "out").open(0)
    for path, signal in recording.signals.items():
        there = restored.signals[path]
        assert there.spec.names == signal.spec.names, path
        np.testing.assert_allclose(there[:], signal[:], atol=1e-5)


def test_an_edit_keeps_the_columns_that_a_dataset_has(tmp_path: Path) -> None:
    recording = _recording(*PICK)
    # As exports were before: grippers beside the action.
    old = ExportOptions(on="serial", action=("joint_position_target",), state=("joint_position",))
    for name, made in (("old", old), ("new", ExportOptions(on="serial"))):
        before = export(lambda: _dataset(recording), tmp_path / name, "lerobot", made)
        options, _ = options_of([tmp_path / name])
        after = export(rows_opener([tmp_path / name]), tmp_path / f"{name}2", "lerobot", options)
        assert before.layout is not None
        assert after.layout is not None
        assert set(after.layout.columns) == set(before.layout.columns)
        for key in (STATE, ACTION):
            assert after.layout.columns[key].names == before.layout.columns[key].names
        assert prove(after).holds


def test_the_order_of_joints_and_the_parts_of_groot_name_the_grippers(tmp_path: Path) -> None:
    recording = _recording(*PICK)
    export(lambda: _dataset(recording), tmp_path / "out", "groot", ExportOptions(on="serial"))
    order = json.loads((tmp_path / "out/corporeal/joint_order.json").read_text())
    assert order["action"]["names"][-1] == "right_gripper_target.opening"
    assert order["action"]["joints"][-2:] == [None, None]
    assert order["action"]["joints"][:29] == list(G1.joint_names)
    parts = json.loads((tmp_path / "out/meta/modality.json").read_text())
    assert parts["action"]["left_gripper_target"] == {"start": 29, "end": 30}
    assert parts["state"]["right_gripper"] == {"start": 30, "end": 31}

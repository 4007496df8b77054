"""The order of joints is written down, and a swapped pair is named."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.small_sets import tables_of, write_episodes

from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError
from corporeal.exchange.layout import ColumnSpec, TableLayout
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.training.joint_order import check_order, joint_order
from corporeal.schema import Stream


def layout_of(*names: str, unit: str | tuple[str, ...] = "rad") -> TableLayout:
    stream = Stream(name="joint_position", group="observations", shape=(len(names),),
                    components=names, unit=unit, rate_hz=50)  # fmt: skip
    return TableLayout({"observation.state": ColumnSpec("observation.state", (stream,))}, {}, 50.0)


def test_every_joint_of_state_and_action_has_its_place_units_and_limits(tmp_path: Path) -> None:
    context, _ = tables_of(write_episodes(tmp_path / "set", 1))
    robot = open_robot("g1")
    order = json.loads(json.dumps(joint_order(context.layout, robot)))
    for part in ("state", "action"):
        assert order[part]["names"] == list(robot.joint_names)
        assert order[part]["index"] == list(range(29))
        assert order[part]["units"] == ["rad"] * 29
        assert order[part]["lower"] == [joint.lower for joint in robot.actuated]
        assert order[part]["upper"] == [joint.upper for joint in robot.actuated]


def test_another_order_and_foreign_names_are_traced_to_the_robots_joints() -> None:
    order = joint_order(layout_of("kRightKnee", "kLeftKnee", "lamp"), open_robot("g1"))["state"]
    assert order["joints"] == ["right_knee_joint", "left_knee_joint", None]
    assert order["index"] == [9, 3, None]
    assert order["lower"][2] is None


def test_a_state_of_several_streams_names_each_entry(tmp_path: Path) -> None:
    options = ExportOptions(state=("joint_position", "joint_velocity"))
    context, _ = tables_of(write_episodes(tmp_path / "set", 1), options)
    order = joint_order(context.layout, open_robot("g1"))["state"]
    assert order["index"] == [*range(29), *range(29)]
    assert order["names"][29] == "joint_velocity.left_hip_pitch_joint"
    assert order["lower"][29:] == [None] * 29
    assert np.isfinite(order["lower"][:29]).all()


def test_without_a_robot_the_names_are_still_there() -> None:
    order = joint_order(layout_of("a", "b"), None)
    assert order["state"]["names"] == ["a", "b"]
    assert order["robot"] is None
    assert order["state"]["index"] == [None, None]


def test_the_same_order_passes() -> None:
    order = joint_order(layout_of("a", "b"), None)
    check_order(order, copy.deepcopy(order))


def test_swapped_joints_are_named() -> None:
    names = open_robot("g1").joint_names
    swapped = list(names)
    swapped[3], swapped[9] = swapped[9], swapped[3]
    robot = open_robot("g1")
    with pytest.raises(CorporealError) as caught:
        check_order(joint_order(layout_of(*names), robot), joint_order(layout_of(*swapped), robot))
    assert str(caught.value) == (
        "state: 2 joints changed places: at 3 got right_knee_joint, expected left_knee_joint; "
        "at 9 got left_knee_joint, expected right_knee_joint. Reorder them by name."
    )


def test_missing_joints_other_units_and_hostile_files_are_refused() -> None:
    order = joint_order(layout_of("a", "b"), None)
    with pytest.raises(CorporealError, match=r"got 2 with c that are not expected; .* with b"):
        check_order(order, joint_order(layout_of("a", "c"), None))
    with pytest.raises(CorporealError, match="got deg; expected rad"):
        check_order(order, joint_order(layout_of("a", "b", unit="deg"), None))
    with pytest.raises(CorporealError, match="no list of names"):
        check_order(order, {"state": {"names": 3}})

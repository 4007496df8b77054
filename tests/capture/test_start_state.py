"""The recorder says at once when an episode does not begin as its protocol asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.capture.small_rig import BEGIN_NS, SECOND_NS, Items, Options, in_order, mark

from corporeal.capture.driver import Driver, RecordingSource, Rig, Sample
from corporeal.capture.health import Health
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.rig import TeamDocuments
from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.protocol import Protocol
from corporeal.schema import Schema

JOINTS, OBJECT, BASE, HAND = (
    "observations/joint_position", "debug/object_pose", "debug/base_pose",
    "observations/left_gripper",
)  # fmt: skip
SCHEMA = {
    "document": "schema", "name": "start", "version": "1.0.0",
    "streams": [
        {"name": "joint_position", "group": "observations", "shape": [2], "rate_hz": 50,
         "unit": "rad", "components": ["left_elbow_joint", "right_elbow_joint"]},
        {"name": "object_pose", "group": "debug", "shape": [7], "rate_hz": 50},
        {"name": "base_pose", "group": "debug", "shape": [7], "rate_hz": 50},
        {"name": "left_gripper", "group": "observations", "shape": [1], "rate_hz": 50,
         "unit": "m"},
    ],
}  # fmt: skip
PROTOCOL = """
document: protocol
name: start
version: 1.0.0
task: {name: lift, goal: It is up.}
start: {description: Still., still_s: 0.5, posture: {left_elbow_joint: 0.5}, grippers: open,
        object_resting: true}
end: {description: Done.}
trigger: {kind: automatic, pre_roll_s: 0.2, post_roll_s: 0.2}
edge_cases: [{case: It falls over, rule: continue}]
prohibited: [{behaviour: dragging over the surface}]
interfaces: [{interface: vr}]
randomisation: {object_xyz: [0.4, 0, 0.8], object_position_m: 0.05}
"""


def _samples(*, elbow: float = 0.5, speed: float = 0.0, x: float = 0.4, height: float = 0.76,
             opening: float = 0.08) -> list[Sample]:  # fmt: skip
    made = []
    for number in range(150):
        stamp = BEGIN_NS + number * SECOND_NS // 50
        closed_first = 0.0 if number < 20 else opening
        values = {
            JOINTS: [elbow + speed * number / 50, 0.0],
            OBJECT: [x + speed * number / 500, 0, 0.8, 1, 0, 0, 0],
            BASE: [0, 0, height, 1, 0, 0, 0],
            HAND: [closed_first if opening else (0.08 if number < 20 else 0.0)],
        }
        for path, value in values.items():
            made.append(Sample(path, stamp, stamp, np.array(value, np.float32)))
    return made


def _record(tmp_path: Path, samples: list[Sample], *, text: str = PROTOCOL, **stated: Any
            ) -> tuple[dict[str, Any], list[Health]]:  # fmt: skip
    rig = Rig(Schema.model_validate(SCHEMA), open_robot("g1"))

    def read(_: Options) -> Items:
        yield from in_order(*samples, mark("start", 1.5), mark("end", 2.5))

    seen: list[Health] = []
    source = RecordingSource("rig", Driver(Options, lambda _: rig, read), Options())
    recorder = Recorder([source], RecorderSettings(tmp_path, metadata=stated),
                        team=TeamDocuments(protocol=Protocol.parse(text)),
                        on_health=seen.append)  # fmt: skip
    (path,) = recorder.run()
    with Episode.open(path) as episode:
        return dict(episode.metadata), seen


def test_a_good_start_has_no_warning(tmp_path: Path) -> None:
    metadata, health = _record(tmp_path, _samples())
    assert "warnings" not in metadata
    assert not [alarm for alarm in health[-1].alarms if "at the start" in alarm]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"elbow": 1.2}, "left_elbow_joint is at 1.20; the protocol asks for 0.50"),
        ({"speed": 1.0, "elbow": -0.7}, "the robot moves: left_elbow_joint"),
        ({"speed": 1.0, "elbow": -0.7}, "the object moves by"),
        ({"x": 0.6}, "the object lies 20 cm from the middle"),
        ({"height": 0.3}, "the robot does not stand"),
        ({"opening": 0.0}, "left_gripper is 0 % open; the protocol asks for open"),
    ],
)
def test_a_start_that_is_off_is_said_and_recorded(
    tmp_path: Path, changed: dict[str, float], words: str
) -> None:
    metadata, health = _record(tmp_path, _samples(**changed))
    (warning, *_) = [each for each in metadata["warnings"] if words in each["message"]]
    assert warning["time_ns"] == 0
    assert any(words in alarm for alarm in health[-1].alarms)


def test_where_the_object_was_asked_to_lie_is_in_the_episode(tmp_path: Path) -> None:
    metadata, health = _record(tmp_path, _samples())
    x, y, z = metadata["asked"]["object_xyz"]
    assert np.hypot(x - 0.4, y) <= 0.0501
    assert z == 0.8
    assert "put the object at x" in health[-1].asks[0]


def test_questions_for_people_are_in_the_episode(tmp_path: Path) -> None:
    metadata, _ = _record(tmp_path, _samples())
    assert metadata["questions"] == ["Did this happen: dragging over the surface?"]


def test_who_records_for_too_long_is_told(tmp_path: Path) -> None:
    text = PROTOCOL + "operators: {rotation_min: 0.0000001}\n"
    metadata, _ = _record(tmp_path, _samples(), text=text, operator="op07")
    assert "op07 has recorded for 0 min; the protocol rotates" in metadata["warnings"][0]["message"]


def test_an_interface_or_a_case_that_the_protocol_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorporealError, match="interface, got 'mouse'; expected one of: vr"):
        _record(tmp_path, _samples(), interface="mouse")
    with pytest.raises(CorporealError, match="edge_case, got 'x'; expected one of: It falls over"):
        _record(tmp_path, _samples(), edge_case="x")

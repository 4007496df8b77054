"""Columns are mapped to joints by name and unit, or it is said why they are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode.recording import ArraySignal, Dataset, Recording, Signal
from corporeal.errors import EpisodeError
from corporeal.exchange.editing.mapping import candidates, mapping_of, require_robot
from corporeal.exchange.foreign_stream import array_stream, picture_stream
from corporeal.exchange.opening import open_dataset
from corporeal.schema import Stream
from corporeal.signal.grid import even_stamps

COUNT = 5


def _state(names: tuple[str, ...], robot: Embodiment | None, *, top: float = 1.0) -> Signal:
    values = np.linspace(0, top, COUNT * len(names)).reshape(COUNT, -1)
    spec = array_stream("observation.state", values, rate_hz=10.0, names=names, robot=robot)
    return ArraySignal(spec, even_stamps(COUNT, 10.0), values)


def _recording(robot: Embodiment | None, **signals: Signal) -> Recording:
    return Recording("r", Path("set"), 0, signals, embodiment=robot)


def _dataset(*recordings: Recording | EpisodeError) -> Dataset:
    def open_one(number: int) -> Recording:
        found = recordings[number]
        if isinstance(found, EpisodeError):
            raise found
        return found

    return Dataset(Path("set"), "test", tuple(range(len(recordings))), open_one)


@pytest.fixture(scope="module")
def g1() -> Embodiment:
    return open_robot("g1")


def test_all_joints_of_a_robot_are_mapped(g1: Embodiment) -> None:
    mapping = mapping_of(_recording(g1, state=_state(g1.joint_names, g1)))
    (signal,) = mapping.jointed
    assert (signal.role, signal.mapped, signal.unmapped) == ("joint_position", 29, ())
    assert [entry.joint for entry in signal.entries] == list(g1.joint_names)
    assert mapping.rows() == [("state", "observations/joint_position", "29 of 29 joints", "")]


def test_columns_that_are_no_joint_are_listed_with_the_reason(g1: Embodiment) -> None:
    names = ("kLeftShoulderPitch", "kLeftElbow", "kLeftHandThumb0", "battery_joint")
    mapping = mapping_of(_recording(g1, state=_state(names, g1)))
    (signal,) = mapping.jointed
    assert [entry.joint for entry in signal.entries] == [
        "left_shoulder_pitch_joint", "left_elbow_joint", None, None,
    ]  # fmt: skip
    assert signal.remark == "g1 has no such joint: kLeftHandThumb0 and battery_joint"


def test_a_sliding_joint_without_a_unit_is_not_taken_for_metres() -> None:
    aloha = open_robot("aloha")
    sliding = [joint.name for joint in aloha.actuated if joint.type != "revolute"]
    assert sliding
    mapping = mapping_of(_recording(aloha, state=_state(aloha.joint_names, aloha)))
    (signal,) = mapping.jointed
    assert signal.mapped == len(aloha.joint_names) - len(sliding)
    assert {entry.name for entry in signal.unmapped} == {f"{name}_given" for name in sliding}
    assert all("slides, in metres" in str(entry.reason) for entry in signal.unmapped)


def test_two_columns_for_one_joint_are_told(g1: Embodiment) -> None:
    names = ("left_elbow", "left_knee", "kLeftElbow")
    mapping = mapping_of(_recording(g1, state=_state(names, g1)))
    (signal,) = mapping.jointed
    assert signal.mapped == 2
    assert signal.remark == "left_elbow_joint is another column already: kLeftElbow"


def test_angles_that_cannot_be_radians_are_told(g1: Embodiment) -> None:
    mapping = mapping_of(_recording(g1, state=_state(g1.joint_names, g1, top=120.0)))
    (signal,) = mapping.jointed
    assert signal.mapped < 29
    assert signal.unmapped[-1].reason == "up to 120, which cannot be radians"


def test_a_joint_in_no_unit_is_told(g1: Embodiment) -> None:
    spec = Stream(name="joint_position", group="observations", shape=(2,), rate_hz=10.0,
                  components=g1.joint_names[:2])  # fmt: skip
    signal = ArraySignal(spec, even_stamps(3, 10.0), np.zeros((3, 2), np.float32))
    assert mapping_of(_recording(g1, state=signal)).rows()[0][2:] == ("0 of 2 joints",
                                                                       "unit unknown")  # fmt: skip


def test_signals_that_hold_no_joints_say_what_they_hold(g1: Embodiment) -> None:
    camera = ArraySignal(picture_stream("image", height=48, width=64, rate_hz=10.0),
                         even_stamps(2, 10.0), [])  # fmt: skip
    wrench = _state(("fx", "fy", "fz"), g1)
    rows = mapping_of(_recording(g1, image=camera, wrench=wrench)).rows()
    assert rows == [
        ("image", "observations/image", "video 48 x 64", ""),
        ("wrench", "observations/state", "numbers 3", ""),
    ]


def test_joints_without_a_robot_are_refused_with_candidates_and_advice(g1: Embodiment) -> None:
    dataset = _dataset(_recording(None, state=_state(g1.joint_names, None)))
    with pytest.raises(EpisodeError) as raised:
        require_robot(dataset, robot_given=False)
    text = str(raised.value)
    assert "set: found 29 columns that look like joints (left_hip_pitch_joint," in text
    assert "does not name a robot" in text
    assert "g1 (100 %)" in text
    assert text.index("g1 (100 %)") < text.index("h1 (")
    assert "--robot NAME" in text
    assert "--robot none" in text


def test_somebody_who_says_there_is_no_robot_is_believed(g1: Embodiment) -> None:
    dataset = _dataset(_recording(None, state=_state(g1.joint_names, None)))
    assert require_robot(dataset, robot_given=True).mapped == 0


def test_a_robot_that_has_none_of_the_joints_is_refused_even_if_it_was_named() -> None:
    h1 = open_robot("h1")
    dataset = _dataset(_recording(h1, state=_state(("j0", "j1", "j2"), h1)))
    with pytest.raises(EpisodeError, match="none of them is a joint of h1"):
        require_robot(dataset, robot_given=True)


def test_joints_in_degrees_are_joints_of_the_robot_whose_names_they_have(g1: Embodiment) -> None:
    dataset = _dataset(_recording(g1, state=_state(g1.joint_names, g1, top=90.0)))
    assert require_robot(dataset, robot_given=True).robot == "g1"


def test_data_without_joints_needs_no_robot() -> None:
    dataset = _dataset(_recording(None, state=_state(("x", "y", "z"), None)))
    assert require_robot(dataset, robot_given=False).jointed == ()


def test_the_first_episode_that_can_be_read_decides(g1: Embodiment) -> None:
    broken = EpisodeError("broken")
    good = _recording(g1, state=_state(g1.joint_names, g1))
    assert require_robot(_dataset(broken, good), robot_given=False).mapped == 29
    with pytest.raises(EpisodeError, match="broken"):
        require_robot(_dataset(broken), robot_given=False)
    with pytest.raises(EpisodeError, match="no episode in it"):
        require_robot(_dataset(), robot_given=False)


def test_candidates_are_ordered_by_what_they_share() -> None:
    found = candidates(("left_shoulder_pitch", "left_wrist_yaw", "left_wrist_roll"))
    shares = [share for _, share in found]
    assert shares == sorted(shares, reverse=True)
    assert dict(found)["g1"] == 1.0
    assert candidates(("nothing", "of", "this")) == []


def test_real_sets_are_mapped_as_far_as_they_say(shared_data: Path) -> None:
    lerobot = shared_data / "lerobot"
    inspire = require_robot(open_dataset(lerobot / "g1_inspire_v21_part"), robot_given=False)
    assert [(each.mapped, len(each.entries)) for each in inspire.jointed] == [(14, 26), (14, 26)]
    assert inspire.robot == "g1"
    with pytest.raises(EpisodeError, match=r"found 6 columns that look like joints \(j0, j1"):
        require_robot(open_dataset(lerobot / "so101_v30"), robot_given=False)
    bridge = require_robot(open_dataset(shared_data / "hdf5_rlds" / "rlds_bridge"),
                           robot_given=False)  # fmt: skip
    assert bridge.jointed == ()

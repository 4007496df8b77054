"""Recordings of Unitree's teleoperation: joints by part, pictures in files, torn files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from corporeal.embodiment import open_robot
from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.exchange.editing.mapping import mapping_of, require_robot
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.format import formats
from corporeal.exchange.opening import open_dataset

STEPS = 12
_ARM = ("ShoulderPitch", "ShoulderRoll", "ShoulderYaw", "Elbow", "WristRoll", "WristPitch",
        "WristYaw")  # fmt: skip
_HAND = ("Thumb0", "Thumb1", "Thumb2", "Middle0", "Middle1", "Index0", "Index1")
NAMES = {
    **{f"{side.lower()}_arm": [f"k{side}{joint}" for joint in _ARM] for side in ("Left", "Right")},
    **{f"{side.lower()}_ee": [f"k{side}Hand{j}" for j in _HAND] for side in ("Left", "Right")},
}


def _part(values: list[float]) -> dict[str, Any]:
    return {"qpos": values, "qvel": [], "torque": []}


def _row(number: int, offset: float, width: int = 7) -> list[float]:
    return [offset + 0.01 * number + 0.1 * place for place in range(width)]


def step(folder: Path, number: int, **changes: Any) -> dict[str, Any]:
    """One step as the recorder writes it, with its picture on disk."""
    name = f"colors/{number:06d}_color_0.jpg"
    (folder / "colors").mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((48, 64, 3), 10 * number, np.uint8)).save(folder / name, quality=95)
    states = {"left_arm": _part(_row(number, 0.0)), "right_arm": _part(_row(number, 1.0)),
              "left_ee": _part(_row(number, 2.0)), "right_ee": _part(_row(number, 3.0)),
              "body": {"qpos": []}}  # fmt: skip
    actions = {part: _part([value + 0.5 for value in each["qpos"]])
               for part, each in states.items()}  # fmt: skip
    return {"idx": number, "colors": {"color_0": name}, "depths": {}, "states": states,
            "actions": actions, "tactiles": None, "audios": None, "sim_state": None,
            **changes}  # fmt: skip


def write(folder: Path, steps: list[dict[str, Any]], **info: Any) -> Path:
    """A data.json with these steps."""
    folder.mkdir(parents=True, exist_ok=True)
    context = {"version": "1.0.0", "image": {"width": 64, "height": 48, "fps": 25},
            "joint_names": NAMES, **info}  # fmt: skip
    text = {"goal": "pick up cube.", "desc": "a table", "steps": "step1: reach;"}
    document = {"info": context, "text": text, "data": steps}
    (folder / "data.json").write_text(json.dumps(document, indent=4))
    return folder


@pytest.fixture
def task(tmp_path: Path) -> Path:
    for episode in (0, 1, 10):
        folder = tmp_path / "pick cube" / f"episode_{episode:04d}"
        write(folder, [step(folder, number) for number in range(STEPS)])
    return tmp_path / "pick cube"


def test_episodes_are_found_and_read_in_order(task: Path) -> None:
    dataset = open_dataset(task)
    assert dataset.format == "unitree_json"
    assert dataset.episodes == (0, 1, 2)
    assert dataset.open(2).source.parent.name == "episode_0010"
    assert open_dataset(task / "episode_0001").episodes == (0,)
    assert open_dataset(task.parent).episodes == (0, 1, 2)
    with pytest.raises(EpisodeError, match="expected 0 to 2"):
        dataset.open(3)


def test_parts_stand_side_by_side_under_the_names_of_the_file(task: Path) -> None:
    recording = open_dataset(task, robot=open_robot("g1")).open(0)
    state = recording.signals["qpos"]
    assert state.spec.path == "observations/joint_position"
    assert state[:].shape == (STEPS, 28)
    assert isinstance(state.spec.components, tuple)
    assert state.spec.components[:7] == open_robot("g1").groups["left_arm"]
    assert state.spec.components[14] == "kLeftHandThumb0"
    assert state.spec.unit == ("rad",) * 14 + ("1",) * 14
    assert np.allclose(state[3], [*_row(3, 0.0), *_row(3, 1.0), *_row(3, 2.0), *_row(3, 3.0)])
    action = recording.signals["action"]
    assert action.spec.path == "actions/joint_position_target"
    assert np.allclose(action[:], state[:] + 0.5)
    assert np.array_equal(state.time_ns, np.arange(STEPS) * 40_000_000)
    assert recording.metadata["instruction"] == "pick up cube."
    assert recording.regridded
    assert mapping_of(recording).mapped == 28


def test_no_robot_is_assumed_since_the_file_names_none(task: Path) -> None:
    dataset = open_dataset(task)
    assert dataset.open(0).embodiment is None
    with pytest.raises(EpisodeError, match=r"28 columns .* g1 \(100 %\)"):
        require_robot(dataset, robot_given=False)


def test_pictures_are_read_from_their_files(task: Path) -> None:
    camera = open_dataset(task).open(0).signals["colors.color_0"]
    assert isinstance(camera, ImageSequence)
    assert camera.spec.shape == (48, 64, 3)
    assert camera.spec.name == "color_0"
    assert abs(float(camera[5].mean()) - 50) < 2
    assert camera[[1, 2]].shape == (2, 48, 64, 3)


def test_the_rate_can_be_given(task: Path) -> None:
    read = formats()["unitree_json"].read
    assert read is not None
    recording = read(task, rate_hz=60.0).open(0)
    assert recording.metadata["fps"] == 60.0
    assert int(recording.signals["qpos"].time_ns[6]) == 100_000_000


def test_a_recording_imports_into_an_episode(task: Path, tmp_path: Path) -> None:
    recording = open_dataset(task, robot=open_robot("g1")).open(0)
    write_recording(recording, tmp_path / "e.h5", source_format="unitree_json")
    assert verify(tmp_path / "e.h5") == ()
    with Episode.open(tmp_path / "e.h5") as episode:
        assert episode.robot == "g1"
        assert episode["observations/instruction"][:] == ["pick up cube."]
        assert np.array_equal(episode["observations/joint_position"][:],
                              recording.signals["qpos"][:])  # fmt: skip
        assert len(episode["observations/color_0"]) == STEPS


def test_the_whole_body_is_named_in_the_order_of_the_g1(tmp_path: Path) -> None:
    folder = tmp_path / "episode_0000"
    steps = [step(folder, number) for number in range(4)]
    for number, each in enumerate(steps):
        each["states"]["body"] = {"qpos": [float(number)] * 35}
        each["actions"]["body"] = {"qpos": [0.3, 0.0, -0.1]}
    write(folder, steps)
    g1 = open_robot("g1")
    recording = open_dataset(folder, robot=g1).open(0)
    body = recording.signals["states.body.qpos"].spec
    assert body.path == "observations/body_position"
    assert isinstance(body.components, tuple)
    assert body.components[:29] == g1.joint_names
    assert body.unit == ("rad",) * 29 + ("1",) * 6
    walk = recording.signals["actions.body.qpos"]
    assert (walk.spec.path, walk.spec.components) == ("actions/base_velocity", ("vx", "vy", "wz"))
    assert walk[2].tolist() == [0.3, 0.0, -0.1]
    nameless = open_dataset(folder).open(0).signals["states.body.qpos"].spec
    assert isinstance(nameless.components, tuple)
    assert nameless.components[0] == "motor_0"


def test_hands_of_six_motors_stay_numbered(tmp_path: Path) -> None:
    folder = tmp_path / "episode_0000"
    steps = [step(folder, number) for number in range(4)]
    for number, each in enumerate(steps):
        each["states"]["left_ee"] = _part(_row(number, 0.0, 6))
    write(folder, steps)
    names = open_dataset(folder).open(0).signals["qpos"].spec.components
    assert isinstance(names, tuple)
    assert names[14:20] == tuple(f"left_ee_{number}" for number in range(6))


def test_short_arms_that_were_cut_wrongly_are_no_joints(tmp_path: Path) -> None:
    # The recorder takes the first and the last seven of ten motors.
    folder = tmp_path / "episode_0000"
    steps = [step(folder, number) for number in range(4)]
    for number, each in enumerate(steps):
        both = _row(number, 0.0, 10)
        each["states"] = {"left_arm": _part(both[:7]), "right_arm": _part(both[-7:])}
    write(folder, steps)
    recording = open_dataset(folder, robot=open_robot("g1_23dof")).open(0)
    (defect,) = [each for each in recording.defects if each.stream == "qpos"]
    assert "the arms have 5 motors each, of which the recorder wrote 7" in defect.message
    assert mapping_of(recording).rows()[0][2] != "14 of 14 joints"
    assert "observations/joint_position" not in {s.spec.path for s in recording.signals.values()}


def test_a_file_that_breaks_off_gives_every_whole_step(task: Path) -> None:
    path = task / "episode_0000" / "data.json"
    text = path.read_text()
    path.write_text(text[: text.rindex('"idx": 8')])
    recording = open_dataset(task).open(0)
    assert len(recording.signals["qpos"]) == 8
    assert recording.recovered == "data.json ends in the middle: the recorder was stopped"
    assert recording.metadata["instruction"] == "pick up cube."
    path.write_text(text[:40])
    with pytest.raises(EpisodeError, match="not JSON"):
        formats()["unitree_json"].read(task).open(0)  # type: ignore[misc]


def test_steps_without_a_value_are_left_out_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "episode_0000"
    steps = [step(folder, number) for number in range(STEPS)]
    steps[4]["states"]["left_arm"]["qpos"] = []
    steps[5]["states"]["right_arm"]["qpos"] = [0.0, 1.0]
    write(folder, steps)
    recording = open_dataset(folder).open(0)
    state = recording.signals["qpos"]
    assert len(state) == STEPS - 2
    assert 160_000_000 not in state.time_ns
    (defect,) = recording.defects
    assert (defect.check, defect.value, defect.limit) == ("index_wrong", 10.0, 12.0)


def test_pictures_that_are_missing_are_told(task: Path) -> None:
    (task / "episode_0000" / "colors" / "000003_color_0.jpg").unlink()
    recording = open_dataset(task).open(0)
    assert len(recording.signals["colors.color_0"]) == STEPS - 1
    (defect,) = recording.defects
    assert defect.message == "1 of 12 files are missing, 000003_color_0.jpg the first"


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/hostname", "..\\secret.jpg"])
def test_no_path_leads_out_of_the_episode(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "episode_0000"
    steps = [step(folder, number) for number in range(3)]
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    steps[1]["colors"]["color_0"] = name
    write(folder, steps)
    with pytest.raises(EpisodeError, match="which is not in its folder"):
        open_dataset(folder).open(0)


def test_no_link_leads_out_of_the_episode(tmp_path: Path) -> None:
    folder = tmp_path / "episode_0000"
    steps = [step(folder, number) for number in range(3)]
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    steps[1]["colors"]["color_0"] = "link.jpg"
    write(folder, steps)
    with pytest.raises(EpisodeError, match=r"link\.jpg: is a link out of"):
        open_dataset(folder)


def test_a_file_without_steps_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "episode_0000", [])
    with pytest.raises(EpisodeError, match="no step in it"):
        open_dataset(folder).open(0)

"""Marker tables of Vicon and OptiTrack: what goes in as known points comes out as those points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.geometry import Array, matrix_from_rpy, quaternion_from_matrix
from corporeal.retargeting.motion import POINTS, MotionError
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.readers import motive_csv, vicon_csv

FRAMES = 40
# A person who stands facing x, z up, in metres: the left side; the right one mirrors y.
STANDING = {
    "pelvis": (0.0, 0.0, 0.95), "spine": (0.0, 0.0, 1.05), "chest": (0.0, 0.0, 1.25),
    "neck": (0.0, 0.0, 1.48), "head": (0.02, 0.0, 1.56),
    "left_hip": (0.0, 0.09, 0.95), "left_knee": (0.10, 0.10, 0.52),
    "left_ankle": (0.0, 0.10, 0.09), "left_ball": (0.13, 0.11, 0.02),
    "left_shoulder": (0.0, 0.18, 1.43), "left_elbow": (-0.02, 0.24, 1.15),
    "left_wrist": (0.15, 0.25, 0.95),
}  # fmt: skip
BONES = {
    "Hip": "pelvis", "Ab": "spine", "Chest": "chest", "Neck": "neck", "Head": "head",
    "LThigh": "left_hip", "LShin": "left_knee", "LFoot": "left_ankle", "LToe": "left_ball",
    "LUArm": "left_shoulder", "LFArm": "left_elbow", "LHand": "left_wrist",
    "RThigh": "right_hip", "RShin": "right_knee", "RFoot": "right_ankle", "RToe": "right_ball",
    "RUArm": "right_shoulder", "RFArm": "right_elbow", "RHand": "right_wrist",
}  # fmt: skip
# The world of Motive: x is the person's left, y up, z forward.
MOTIVE_FROM_BODY = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


def person() -> tuple[dict[str, Array], Array]:
    """Places (T, 3) of someone who walks on while turning left, and the turn (T, 3, 3)."""
    time = np.linspace(0.0, 1.0, FRAMES)
    rotation = matrix_from_rpy(np.stack([0 * time, 0 * time, 0.8 * time], axis=1))
    places = dict(STANDING)
    for name, (x, y, z) in STANDING.items():
        if name.startswith("left_"):
            places[name.replace("left_", "right_")] = (x, -y, z)
    way = np.stack([1.2 * time, 0.1 * time, 0 * time], axis=1)
    return {name: way + rotation @ np.array(place) for name, place in places.items()}, rotation


def write_motive(
    path: Path,
    names: dict[str, Array],
    rotation: Array | None,
    *,
    kind: str = "Bone",
    space: str = "Global",
) -> Path:
    """An export of format 1.25 with a row of parents, of millimetres and y up."""
    quaternion = (
        None
        if rotation is None
        else quaternion_from_matrix(MOTIVE_FROM_BODY @ rotation @ MOTIVE_FROM_BODY.T)
    )
    parts = ["Rotation"] * 4 * (rotation is not None) + ["Position"] * 3
    axes = ["X", "Y", "Z", "W"] * (rotation is not None) + ["X", "Y", "Z"]
    repeated = [name for name in names for _ in parts]
    rows = [
        ["Format Version", "1.25", "Take Name", "walk", "Capture Frame Rate", "240.0",
         "Export Frame Rate", "120.000000", "Rotation Type", "Quaternion",
         "Length Units", "Millimeters", "Coordinate Space", space],
        [],
        ["", "Type", *[kind] * len(repeated)],
        ["", "Name", *repeated],
        ["", "ID", *["0"] * len(repeated)],
        ["", "Parent", *["Root"] * len(repeated)],
        ["", "", *parts * len(names)],
        ["Frame", "Time (Seconds)", *axes * len(names)],
    ]  # fmt: skip
    for frame in range(FRAMES):
        row = [str(frame), f"{frame / 120:.6f}"]
        for place in names.values():
            if quaternion is not None:
                w, x, y, z = quaternion[frame]
                row += [f"{each:.9f}" for each in (x, y, z, w)]
            at = 1000 * MOTIVE_FROM_BODY @ place[frame]
            row += ["" if np.isnan(each) else f"{each:.6f}" for each in at]
        rows.append(row)
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return path


def test_a_motive_file_that_was_cut_off_says_how_many_frames_are_there(tmp_path: Path) -> None:
    places, rotation = person()
    named = {f"Ada_{bone}": places[name] for bone, name in BONES.items()}
    path = write_motive(tmp_path / "cut.csv", named, rotation)
    text = path.read_text("utf-8")
    for stated, frames in (("17263", None), (str(FRAMES), FRAMES), ("many", FRAMES)):
        path.write_text(
            text.replace("Rotation Type", f"Total Exported Frames,{stated},Rotation Type", 1)
        )
        if frames is not None:
            assert len(read_motion(path).positions) == frames
            continue
        with pytest.raises(MotionError) as caught:
            read_motion(path)
        assert f"cut.csv: ends after {FRAMES} of 17263 frames. Export" in str(caught.value)
        assert f"write {FRAMES} after Total Exported Frames" in str(caught.value)


def write_vicon(path: Path, markers: dict[str, Array]) -> Path:
    """An export of Nexus: a section of devices, then trajectories in millimetres."""
    lines = ["Devices", "1000", ",,Force - Force", "Frame,Sub Frame,Fx", ",,N", "1,0,0.5", ""]
    lines += ["Trajectories", "100", ",," + "".join(f"{name},,," for name in markers)]
    lines += ["Frame,Sub Frame" + ",X,Y,Z" * len(markers), "," + ",mm,mm,mm" * len(markers)]
    for frame in range(FRAMES):
        cells = [str(frame + 1), "0"]
        for place in markers.values():
            cells += ["" if np.isnan(each) else f"{1000 * each:.6f}" for each in place[frame]]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


def skeleton(subject: str = "Ada") -> tuple[dict[str, Array], dict[str, Array], Array]:
    places, rotation = person()
    return {f"{subject}:{bone}": places[place] for bone, place in BONES.items()}, places, rotation


def centres(subject: str = "Ada") -> tuple[dict[str, Array], dict[str, Array]]:
    """Markers that sit on centres of joints, with two on the trunk about the neck."""
    places, rotation = person()
    short = {
        "hip": "HJC",
        "knee": "KJC",
        "ankle": "AJC",
        "shoulder": "SJC",
        "elbow": "EJC",
        "wrist": "WJC",
    }
    markers = {
        f"{subject}:{side[0].upper()}{label}": places[f"{side}_{part}"]
        for side in ("left", "right")
        for part, label in short.items()
    }
    markers[f"{subject}:C7"] = places["neck"] - rotation @ np.array([0.06, 0.0, 0.0])
    markers[f"{subject}:CLAV"] = places["neck"] + rotation @ np.array([0.09, 0.0, 0.0])
    return markers, places


def test_the_bones_of_a_skeleton_are_the_points(tmp_path: Path) -> None:
    bones, places, rotation = skeleton()
    motion = read_motion(write_motive(tmp_path / "walk.csv", bones, rotation))
    assert motion.origin.format == "motive_csv"
    assert motion.origin.skeleton == "motive_bones@1.0.0"
    assert motion.rate_hz == 120.0
    assert len(motion) == FRAMES
    # The heading is free, so the clip is compared up to a turn about the vertical.
    heading = _heading(motion.point("left_hip") - motion.point("right_hip")) - _heading(
        places["left_hip"] - places["right_hip"]
    )
    about_z = matrix_from_rpy([0.0, 0.0, float(heading[0])])
    np.testing.assert_allclose(heading, heading[0], atol=1e-6)
    for name in ("pelvis", "neck", "left_knee", "right_wrist", "right_ankle", "chest"):
        np.testing.assert_allclose(motion.point(name), places[name] @ about_z.T, atol=1e-6)
    for segment in ("pelvis", "chest", "left_foot"):
        np.testing.assert_allclose(motion.rotations[segment], about_z @ rotation, atol=1e-6)


def test_hands_of_a_skeleton_at_rest_point_outwards_with_their_backs_up(tmp_path: Path) -> None:
    bones, _, rotation = skeleton()
    motion = read_motion(write_motive(tmp_path / "walk.csv", bones, rotation))
    pelvis = motion.rotations["pelvis"]
    for side, outward in (("left", 1.0), ("right", -1.0)):
        hand = motion.rotations[f"{side}_hand"]
        np.testing.assert_allclose(hand[..., 0], outward * pelvis[..., 1], atol=1e-6)
        np.testing.assert_allclose(hand[..., 2], pelvis[..., 2], atol=1e-6)
        np.testing.assert_allclose(np.linalg.det(hand), 1.0)


def test_heels_and_toes_of_a_skeleton_lie_on_one_sole(tmp_path: Path) -> None:
    bones, _, rotation = skeleton()
    motion = read_motion(write_motive(tmp_path / "walk.csv", bones, rotation))
    for side in ("left", "right"):
        heel, toe = motion.point(f"{side}_heel"), motion.point(f"{side}_toe")
        np.testing.assert_allclose(heel[:, 2], 0.0, atol=5e-3)
        np.testing.assert_allclose(toe[:, 2], 0.0, atol=5e-3)
        assert np.all(np.abs(np.linalg.norm(toe - heel, axis=1) - 0.24) < 0.03)


def test_bones_that_are_turned_otherwise_lose_their_rotations_not_their_places(
    tmp_path: Path,
) -> None:
    bones, _, rotation = skeleton()
    backwards = rotation @ matrix_from_rpy([0.0, 0.0, np.pi])
    motion = read_motion(write_motive(tmp_path / "walk.csv", bones, backwards))
    assert "the bones of Ada are turned unlike Motive's" in motion.origin.notes
    assert "pelvis" not in motion.rotations
    assert motion.has("left_knee")


def test_markers_of_a_skeleton_are_read_where_there_are_no_bones(tmp_path: Path) -> None:
    markers, places = centres()
    motion = read_motion(write_motive(tmp_path / "walk.csv", markers, None, kind="Marker"))
    length = np.linalg.norm(motion.point("left_knee") - motion.point("left_hip"), axis=1)
    known = np.linalg.norm(places["left_knee"] - places["left_hip"], axis=1)
    np.testing.assert_allclose(length, known, atol=1e-6)


def test_an_export_of_rigid_bodies_only_is_refused(shared_data: Path) -> None:
    path = shared_data / "mocap" / "motive_csv" / "sample_optitrack_take.csv"
    with pytest.raises(MotionError, match=r"holds 1 rigid bodies and no person; .*Export the skel"):
        read_motion(path)


def test_bones_in_local_coordinates_are_refused(tmp_path: Path) -> None:
    bones, _, rotation = skeleton()
    with pytest.raises(MotionError, match="Export them in global coordinates"):
        read_motion(write_motive(tmp_path / "walk.csv", bones, rotation, space="Local"))


def test_trajectories_are_read_and_gaps_stay_gaps(tmp_path: Path) -> None:
    markers, places = centres()
    markers["Ada:LKJC"] = markers["Ada:LKJC"].copy()
    markers["Ada:LKJC"][10:20] = np.nan
    motion = read_motion(write_vicon(tmp_path / "walk.csv", markers))
    assert motion.origin.format == "vicon_csv"
    assert motion.rate_hz == 100.0
    np.testing.assert_allclose(motion.point("right_elbow"), places["right_elbow"], atol=1e-6)
    np.testing.assert_allclose(motion.point("neck"), places["neck"], atol=1e-6)
    assert np.isnan(motion.point("left_knee")[10:20]).all()
    assert np.all(motion.seen("left_knee")[10:20] == 0)
    assert motion.seen("left_knee")[9] == 1
    assert motion.confidence.shape == (FRAMES, len(POINTS))


def test_a_file_that_ends_within_a_line_names_the_line_and_the_whole_frames(tmp_path: Path) -> None:
    markers, _ = centres()
    path = write_vicon(tmp_path / "walk.csv", markers)
    text = path.read_text()
    path.write_text(text[: int(len(text) * 0.7)])
    with pytest.raises(MotionError, match=r"walk\.csv:\d+: .*of 44 cells, \d+ whole frames"):
        read_motion(path)


def test_a_word_among_the_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    bones, _, rotation = skeleton()
    path = write_motive(tmp_path / "walk.csv", bones, rotation)
    lines = path.read_text().splitlines()
    lines[20] = lines[20].replace(lines[20].split(",")[7], "oops")
    path.write_text("\n".join(lines))
    with pytest.raises(MotionError, match=r"walk\.csv:21: got 'oops'; expected a number"):
        read_motion(path)


@pytest.mark.parametrize("text", ["Trajectories", "Trajectories\n100\n", "Devices\n1\n\n",
    "Trajectories\n100\n,,A\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n"])  # fmt: skip
def test_a_vicon_table_without_frames_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert vicon_csv.recognises(path)
    with pytest.raises(MotionError):
        vicon_csv.read(path, ClipHints())


@pytest.mark.parametrize("text", ["Format Version", "Format Version,1.2\n\nFrame,Time,X\n",
    "Format Version,1.2\n" + "a,b\n" * 30,
    "Format Version,1.2\n\n,,Bone\n,,A:Hip\n,,Position\nFrame,Time,X\n0,0,1\n"])  # fmt: skip
def test_a_motive_table_without_a_head_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert motive_csv.recognises(path)
    with pytest.raises(MotionError):
        motive_csv.read(path, ClipHints())


def _heading(leftward: Array) -> Array:
    return np.unwrap(np.arctan2(leftward[:, 1], leftward[:, 0]))

"""BVH files of many programs become the same person; broken ones say what is wrong and where."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corporeal.geometry import matrix_from_rpy, normalise, rotation_angle
from corporeal.retargeting.motion import SIDES, HumanMotion, MotionError
from corporeal.retargeting.person.skeletal_motion import standing_axes
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.readers import bvh

FILES = (
    "bvh_bvhpython/test_freebvh.bvh",
    "bvh_bvhpython/test_mocapbank.bvh",
    "bvh_pybvh/bvh_example.bvh",
    "bvh_pybvh/bvh_test1.bvh",
    "bvh_pybvh/bvh_test2.bvh",
    "bvh_pybvh/bvh_test3.bvh",
    "bvh_pybvh/cmu_12_01_walk.bvh",
    "bvh_pybvh/standard_skeleton.bvh",
    "bvh_pymo/AV_8Walk_Meredith_HVHA_Rep1.bvh",
    "cmu_asf_amc_bvh/01_01.bvh",
)
LIMBS = (("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist", "hand"))
# A body of 1.7 m in centimetres, y up, facing z: joint, parent, offset.
BODY = (
    ("Hips", "", "0 92 0"),
    ("Spine", "Hips", "0 25 0"),
    ("Neck", "Spine", "0 25 0"),
    ("Head", "Neck", "0 10 0"),
    *(
        row
        for side, sign in (("Left", ""), ("Right", "-"))
        for row in (
            (f"{side}Arm", "Spine", f"{sign}18 22 0"),
            (f"{side}ForeArm", f"{side}Arm", f"{sign}28 0 0"),
            (f"{side}Hand", f"{side}ForeArm", f"{sign}26 0 0"),
            (f"{side}UpLeg", "Hips", f"{sign}9 0 0"),
            (f"{side}Leg", f"{side}UpLeg", "0 -43 0"),
            (f"{side}Foot", f"{side}Leg", "0 -42 0"),
        )
    ),
)
ENDS = {"Head": "0 18 0", "LeftHand": "9 0 0", "RightHand": "-9 0 0"}
FEET = {"LeftFoot": "0 -6 20", "RightFoot": "0 -6 20"}


def skeleton(order: str = "Zrotation Xrotation Yrotation", *, everywhere: bool = False) -> str:
    """The body as the head of a BVH file, with the rotations in this order."""

    def lines(name: str, offset: str, depth: int) -> list[str]:
        moves = depth == 0 or everywhere
        position = "Xposition Yposition Zposition " if moves else ""
        inside = [f"OFFSET {offset}", f"CHANNELS {6 if moves else 3} {position}{order}"]
        for child, parent, place in BODY:
            if parent == name:
                inside += lines(child, place, depth + 1)
        end = {**ENDS, **FEET}.get(name)
        if end:
            inside += ["End Site", "{", f"OFFSET {end}", "}"]
        return [f"{'JOINT' if depth else 'ROOT'} {name}", "{", *inside, "}"]

    return "\n".join(["HIERARCHY", *lines("Hips", "0 92 0", 0)]) + "\n"


def standing(frames: int = 4, columns: int = 3 + 3 * len(BODY)) -> list[str]:
    """Lines of a motion that stays where it is."""
    return [" ".join(["0", "92", "0", *["0"] * (columns - 3)])] * frames


def written(
    folder: Path, lines: list[str], *, head: str | None = None, frames: str = "Frames: 4"
) -> Path:
    path = folder / "clip.bvh"
    text = (head or skeleton()) + f"MOTION\n{frames}\nFrame Time: 0.0083333\n" + "\n".join(lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=FILES)
def real(request: pytest.FixtureRequest, shared_data: Path) -> HumanMotion:
    return read_motion(shared_data / "mocap" / request.param)


def test_people_in_real_files_have_the_height_of_people(real: HumanMotion) -> None:
    legs = [
        np.median(_length(real, f"{side}_hip", f"{side}_knee", f"{side}_ankle")) for side in SIDES
    ]
    assert 1.4 < float(np.mean(legs)) / 0.491 < 2.1
    standing_m = np.max(real.point("head")[:, 2]) - np.nanmin(real.positions[..., 2])
    assert 1.2 < standing_m < 2.1


def test_bones_in_real_files_keep_their_lengths(real: HumanMotion) -> None:
    for side in SIDES:
        for limb in LIMBS:
            for upper, lower in pairwise(limb):
                lengths = _length(real, f"{side}_{upper}", f"{side}_{lower}")
                assert np.ptp(lengths) < 1e-6


def test_left_is_left_of_forward_in_real_files(real: HumanMotion) -> None:
    left = real.point("left_hip") - real.point("right_hip")
    forward = np.cross(left, real.point("neck") - real.point("pelvis"))
    for side in SIDES:
        foot = real.point(f"{side}_toe") - real.point(f"{side}_ankle")
        cosines = np.sum(normalise(foot) * normalise(forward), axis=1)
        assert np.median(cosines) > 0.6


def test_rotations_agree_with_the_lines_of_hips_and_shoulders(real: HumanMotion) -> None:
    for segment, part, most_deg in (("pelvis", "hip", 0.01), ("chest", "shoulder", 6.0)):
        left = normalise(real.point(f"left_{part}") - real.point(f"right_{part}"))
        cosines = np.sum(left * real.rotations[segment][:, :, 1], axis=1)
        assert np.degrees(np.arccos(np.clip(np.median(cosines), -1, 1))) < most_deg
    trunk = normalise(real.point("neck") - real.point("pelvis"))
    upright = np.sum(trunk * real.rotations["chest"][:, :, 2], axis=1)
    assert np.degrees(np.arccos(np.median(upright))) < 25


def test_feet_that_stand_lie_flat(real: HumanMotion) -> None:
    if len(real) == 1:
        return
    for side in SIDES:
        ankle = real.point(f"{side}_ankle")[:, 2]
        low = ankle <= np.percentile(ankle, 20)
        upright = np.median(real.rotations[f"{side}_foot"][low, 2, 2])
        assert np.degrees(np.arccos(np.clip(upright, -1, 1))) < 9


def test_feet_are_as_their_standing_frames_say(real: HumanMotion) -> None:
    for side in SIDES:
        rotation = real.rotations[f"{side}_foot"]
        learnt = standing_axes(rotation, real.point(f"{side}_ankle"), real.point(f"{side}_toe"))
        if learnt is not None:
            assert float(rotation_angle(learnt, np.eye(3))) < np.radians(9)


def test_backs_of_hands_with_thumbs_point_away_from_a_walker(shared_data: Path) -> None:
    motion = read_motion(shared_data / "mocap" / "bvh_pymo" / "AV_8Walk_Meredith_HVHA_Rep1.bvh")
    for side, sign in zip(SIDES, (1, -1), strict=True):
        outwards = np.sum(
            motion.rotations[f"{side}_hand"][:, :, 2] * motion.rotations["pelvis"][:, :, 1], axis=1
        )
        assert np.median(sign * outwards) > 0.7


@pytest.mark.parametrize("name", ["sinusoidal.bvh", "sinusoidal_2.bvh"])
def test_four_joints_in_a_row_are_no_person(shared_data: Path, name: str) -> None:
    with pytest.raises(MotionError, match=r"left_hip.*base, child1, child2, child3.*--skeleton"):
        read_motion(shared_data / "mocap" / "cmu_asf_amc_bvh" / name)


def test_one_frame_is_a_motion(shared_data: Path) -> None:
    motion = read_motion(shared_data / "mocap" / "bvh_pybvh" / "standard_skeleton.bvh")
    assert len(motion) == 1
    assert motion.rate_hz == 120.0


def test_the_rest_pose_in_front_of_a_converted_clip_is_left_out(shared_data: Path) -> None:
    motion = read_motion(shared_data / "mocap" / "cmu_asf_amc_bvh" / "01_01.bvh")
    assert len(motion) == 2751
    speed = np.linalg.norm(np.diff(motion.point("left_hand"), axis=0), axis=1) * motion.rate_hz
    assert speed[0] < 2.0
    assert any("rest pose" in note for note in motion.origin.notes)


def test_a_rest_pose_is_told_though_angles_near_the_pole_step_by_a_quarter_turn(
    tmp_path: Path,
) -> None:
    """With z, x, y and x at 90 degrees only the sum of z and y counts: 87 and 0 as 0 and 87."""
    columns = 3 + 3 * len(BODY)
    table = np.zeros((40, columns))
    table[:, 1] = 92.0
    table[1:, 3:] = 12.0
    table[1:, 7] = 90.0
    table[1:, 6], table[1:, 8] = 87.0, 0.0
    table[3, 6], table[3, 8] = 0.0, 87.0
    lines = [" ".join(f"{value:g}" for value in row) for row in table]
    clip = bvh.read_clip(written(tmp_path, lines), ClipHints())
    assert len(clip.table) == 39
    assert any("rest pose" in note for note in clip.notes)


@pytest.mark.parametrize("order", ["xyz", "xzy", "yxz", "yzx", "zxy", "zyx"])
def test_rotations_multiply_in_the_order_of_their_channels(tmp_path: Path, order: str) -> None:
    degrees = {"x": 20.0, "y": -50.0, "z": 35.0}
    lines = standing()
    turned = " ".join(str(degrees[axis]) for axis in order)
    lines = [line.replace("0 92 0 0 0 0", f"0 92 0 {turned}", 1) for line in lines]
    head = skeleton(" ".join(f"{axis.upper()}rotation" for axis in order))
    clip = bvh.read_clip(written(tmp_path, lines, head=head), ClipHints())
    expected = np.eye(3)
    for axis in order:
        rpy = [np.radians(degrees[each]) if each == axis else 0.0 for each in "xyz"]
        expected = expected @ matrix_from_rpy(rpy)
    elbow = clip.hierarchy.names.index("LeftForeArm")
    posed = clip.hierarchy.pose(clip.table, [elbow], [elbow])
    np.testing.assert_allclose(posed.rotations[0, 0], expected, atol=1e-12)
    np.testing.assert_allclose(
        posed.positions[0, 0], [0, 92, 0] + expected @ [18 + 28, 25 + 22, 0], atol=1e-9
    )


def test_positions_of_joints_stand_in_for_offsets_or_are_added_to_them(tmp_path: Path) -> None:
    plain = bvh.read(written(tmp_path, standing()), ClipHints())
    head = skeleton(everywhere=True)
    columns = 6 * len(BODY)
    added = bvh.read(written(tmp_path, standing(columns=columns), head=head), ClipHints())
    order = [line.split()[1] for line in head.splitlines() if line.startswith(("ROOT", "JOINT"))]
    offsets = {name: offset for name, _, offset in BODY}
    row = " ".join(f"{offsets[name]} 0 0 0" for name in order)
    replaced = bvh.read(written(tmp_path, [row] * 4, head=head), ClipHints())
    np.testing.assert_allclose(added.positions, plain.positions)
    np.testing.assert_allclose(replaced.positions, plain.positions)


def test_tabs_blank_lines_carriage_returns_and_other_spellings_are_read(tmp_path: Path) -> None:
    plain = written(tmp_path, standing())
    expected = bvh.read(plain, ClipHints())
    text = plain.read_text(encoding="utf-8")
    text = text.replace("\n{", " {").replace("JOINT ", "\tJOINT\tSome Body:")
    text = text.replace("End Site", "End site").replace("MOTION", "Motion")
    text = text.replace("Frames: 4", "Frames:\t4 ").replace("Frame Time: ", "FRAME TIME:\t")
    text = text.replace(" 0 0", "\t0  0").replace("\n", " \r\n").replace("Zrot", "ZROT".lower())
    path = tmp_path / "other.bvh"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    motion = read_motion(path)
    np.testing.assert_array_equal(motion.positions, expected.positions)
    assert motion.rate_hz == 120.0


def test_a_file_cut_off_is_read_up_to_its_last_whole_frame_and_says_so(tmp_path: Path) -> None:
    lines = standing(9)
    lines[-1] = lines[-1][:20]
    motion = bvh.read(written(tmp_path, lines, frames="Frames: 4000"), ClipHints())
    assert len(motion) == 8
    assert "cut off: 8 of 4000 declared frames are there" in motion.origin.notes


def test_a_file_cut_off_in_its_first_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MotionError, match="no whole frame"):
        bvh.read(written(tmp_path, ["0 92 0"]), ClipHints())


def test_a_file_cut_off_in_its_skeleton_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "half.bvh"
    path.write_text(skeleton()[:200], encoding="utf-8")
    with pytest.raises(MotionError, match="has no line MOTION"):
        bvh.read(path, ClipHints())


def test_a_line_with_too_many_numbers_is_named(tmp_path: Path) -> None:
    lines = standing()
    lines[1] += " 7"
    first = skeleton().count("\n") + 4
    with pytest.raises(MotionError, match=f":{first + 1}: got 52 numbers; expected 51"):
        bvh.read(written(tmp_path, lines), ClipHints())


def test_a_word_among_the_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    lines = standing()
    lines[2] = lines[2].replace("92", "up")
    first = skeleton().count("\n") + 4
    with pytest.raises(MotionError, match=f":{first + 2}: got something that is no number"):
        bvh.read(written(tmp_path, lines), ClipHints())


@pytest.mark.parametrize("text", ["nan", "-1.#IND00", "1.#QNAN", "inf"])
def test_a_number_that_is_none_leaves_its_frame_unknown(tmp_path: Path, text: str) -> None:
    lines = standing()
    lines[2] = lines[2].replace("92", text)
    motion = bvh.read(written(tmp_path, lines), ClipHints())
    assert not np.any(motion.confidence[2])
    assert motion.confidence[1].sum() > 15


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    path = written(tmp_path, standing(), frames="Frames: 99999999999")
    with pytest.raises(MotionError, match=r"99999999999 frames of 51 numbers"):
        bvh.read(path, ClipHints())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("OFFSET 0 25 0", "OFFSET 0 25", "expected three numbers"),
        ("CHANNELS 3 Z", "CHANNELS 4 Z", "CHANNELS of 'Spine'"),
        ("JOINT Spine", "BONE Spine", "'BONE Spine'; expected ROOT, JOINT"),
        ("ROOT Hips", "JOINT Hips", "expected a ROOT first"),
    ],
)
def test_a_broken_skeleton_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    head = skeleton().replace(old, new, 1)
    with pytest.raises(MotionError, match=rf"clip.bvh:\d+: .*{said}"):
        bvh.read(written(tmp_path, standing(), head=head), ClipHints())


def test_a_frame_time_of_zero_asks_for_the_rate(tmp_path: Path) -> None:
    path = written(tmp_path, standing())
    path.write_text(path.read_text("utf-8").replace("0.0083333", "0"), encoding="utf-8")
    with pytest.raises(MotionError, match="--clip-rate"):
        bvh.read(path, ClipHints())
    assert bvh.read(path, ClipHints(rate_hz=50.0)).rate_hz == 50.0


def _length(motion: HumanMotion, *points: str) -> np.ndarray:
    parts = [
        np.linalg.norm(motion.point(lower) - motion.point(upper), axis=1)
        for upper, lower in pairwise(points)
    ]
    return np.asarray(np.sum(parts, axis=0))

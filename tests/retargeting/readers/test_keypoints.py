"""Keypoints of every usual layout come out as the same body; broken files say what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.people import walking_person

from corporeal.geometry import Array
from corporeal.retargeting.motion import NEEDED, POINTS, HumanMotion, MotionError
from corporeal.retargeting.person.keypoint_layouts import LAYOUTS, plain_name
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.readers import keypoints

WALK = walking_person(90, 30.0)


def keypoint(motion: HumanMotion, name: str) -> Array:
    """Where a keypoint of some layout is on the made-up person."""
    if name in POINTS:
        return motion.point(name)
    side, _, part = name.partition("_")
    if part in ("big_toe", "small_toe"):
        return motion.point(f"{side}_toe")
    if part == "ball":
        return (
            motion.point(f"{side}_ankle")
            + (motion.point(f"{side}_toe") - motion.point(f"{side}_ankle")) / 1.67
        )
    if part in ("pinky", "index", "thumb", "hand_tip") or part.startswith("finger"):
        return motion.point(f"{side}_hand")
    if part == "collar":
        return (motion.point("neck") + motion.point(f"{side}_shoulder")) / 2
    if name == "upper_spine":
        return (motion.point("spine") + motion.point("chest")) / 2
    if name == "skull":
        return motion.point("neck") + (motion.point("head") - motion.point("neck")) / 1.8
    if name == "neck_middle":
        return (motion.point("neck") + motion.point("head")) / 2
    return motion.point("head")


def array_of(layout: str) -> Array:
    return np.stack([keypoint(WALK, name) for name in LAYOUTS[layout]], axis=1)


def csv_text(points: dict[str, Array], *, times: bool = True) -> str:
    header = ["time"] * times + [f"{name}_{axis}" for name in points for axis in "xyz"]
    table = np.concatenate(list(points.values()), axis=1)
    rows = [
        ",".join([*([f"{frame / 30:.6f}"] * times), *(f"{value:.6f}" for value in row)])
        for frame, row in enumerate(table)
    ]
    return "\n".join([",".join(header), *rows]) + "\n"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_known_by_its_shape(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "clip.npy"
    np.save(path, array_of(layout))
    motion = read_motion(path)
    assert motion.origin.skeleton == layout
    for name in NEEDED:
        apart = np.linalg.norm(motion.point(name) - WALK.point(name), axis=1).max()
        # Layouts without a neck have it between the shoulders.
        assert apart < (0.06 if name == "neck" else 1e-9), name
    assert any("taken as 30 Hz" in note for note in motion.origin.notes)


def test_the_real_smpl_keypoints_are_read(shared_data: Path) -> None:
    path = shared_data / "retarget" / "pyroki_smpl_keypoints" / "smpl_keypoints.npy"
    motion = read_motion(path, ClipHints(rate_hz=25.0))
    assert motion.origin.skeleton == "smpl45"
    assert motion.rate_hz == 25
    assert len(motion) == 122
    assert all(motion.has(name) for name in POINTS)
    assert np.median(motion.point("head")[:, 2] - motion.point("left_ankle")[:, 2]) > 1.1
    for side in ("left", "right"):
        ankle, toe = motion.point(f"{side}_ankle"), motion.point(f"{side}_toe")
        assert np.ptp(np.linalg.norm(toe - ankle, axis=1)) < 0.01
        contact = np.load(path.with_name(f"{side}_foot_contact.npy"))
        speeds = np.linalg.norm(np.gradient(ankle, axis=0), axis=1)
        # Where somebody labelled the foot as standing it is slower.
        assert np.median(speeds[contact]) < 0.85 * np.median(speeds[~contact])


def test_keypoints_on_other_axes_and_in_millimetres_are_put_right(tmp_path: Path) -> None:
    path = tmp_path / "camera.npy"
    turned = array_of("blazepose33") @ np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    np.save(path, turned * 1000)
    motion = read_motion(path)
    np.testing.assert_allclose(motion.positions[..., 2], np.where(
        motion.confidence > 0, WALK.positions[..., 2], np.nan), atol=0.06)  # fmt: skip


def test_a_mirrored_camera_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "mirrored.npy"
    np.save(path, array_of("body25") * [1.0, -1.0, 1.0])
    with pytest.raises(MotionError, match="left and right are mirrored"):
        read_motion(path)


def test_confidence_comes_through_and_zeros_are_losses(tmp_path: Path) -> None:
    points = array_of("coco17")
    array = np.concatenate([points, np.full((*points.shape[:2], 1), 0.8)], axis=2)
    wrist = LAYOUTS["coco17"].index("left_wrist")
    array[10:20, wrist, :3] = 0
    array[30:40, wrist, 3] = 0
    path = tmp_path / "clip.npy"
    np.save(path, array.astype(np.float32))
    motion = read_motion(path)
    assert not np.any(motion.seen("left_wrist")[[10, 19, 30, 39]])
    assert motion.seen("left_wrist")[25] == pytest.approx(0.8)
    assert np.all(np.isnan(motion.point("left_wrist")[30:40]))


def test_a_layout_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "clip.npy"
    np.save(path, array_of("coco17"))
    assert read_motion(path, ClipHints(skeleton="coco17")).origin.skeleton == "coco17"
    with pytest.raises(MotionError, match=r"has 17 keypoints; expected 25 of body25"):
        read_motion(path, ClipHints(skeleton="body25"))


@pytest.mark.parametrize("layout", ["coco17", "h36m17", "body25", "kinect25"])
def test_noise_does_not_hide_the_layout(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "clip.npy"
    points = array_of(layout)
    np.save(path, points + np.random.default_rng(2).normal(0, 0.05, points.shape))
    assert read_motion(path).origin.skeleton == layout


def test_an_array_that_is_no_body_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clip.npy"
    np.save(path, np.random.default_rng(1).normal(size=(50, 17, 3)))
    with pytest.raises(MotionError, match=r"make no body as coco17 or h36m17.*--skeleton"):
        read_motion(path)
    np.save(path, np.zeros((50, 18, 3)))
    with pytest.raises(MotionError, match=r"has 18 keypoints; expected 17, 22"):
        read_motion(path, kind="keypoints")


def test_json_with_names_is_read(tmp_path: Path) -> None:
    names = LAYOUTS["body25"]
    frames = np.round(array_of("body25"), 6).tolist()
    frames[3][0] = None
    frames[4][1] = [*frames[4][1], 0.5]
    path = tmp_path / "clip.json"
    path.write_text(json.dumps({"fps": 60, "names": names, "frames": frames}))
    motion = read_motion(path)
    assert motion.rate_hz == 60
    assert motion.seen("neck")[4] == 0.5
    np.testing.assert_allclose(motion.point("left_knee"), WALK.point("left_knee"), atol=1e-5)


def test_csv_with_names_is_read_whatever_their_spelling(tmp_path: Path) -> None:
    points = {
        f"{'L' if name.startswith('left') else 'R'}{name.partition('_')[2].title()}": WALK.point(
            name
        )
        for name in POINTS
        if "_" in name
    }
    path = tmp_path / "clip.csv"
    path.write_text(csv_text(points))
    motion = read_motion(path)
    assert motion.rate_hz == pytest.approx(30, rel=1e-3)
    np.testing.assert_allclose(motion.point("right_wrist"), WALK.point("right_wrist"), atol=1e-5)
    np.testing.assert_allclose(motion.point("pelvis"), WALK.point("pelvis"), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("LShoulder", "left_shoulder"),
        ("shoulder.L", "left_shoulder"),
        ("Right Ankle", "right_ankle"),
        ("leftKnee", "left_knee"),
        ("RKNEE", "right_knee"),
        ("RBigToe", "right_big_toe"),
        ("MidHip", "pelvis"),
        ("l_hip", "left_hip"),
        ("left_foot_index", "left_big_toe"),
        ("Nose", "nose"),
    ],
)
def test_names_are_told_apart_from_their_spelling(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_a_truncated_csv_says_in_which_line_it_ends(tmp_path: Path) -> None:
    text = csv_text({name: WALK.point(name) for name in POINTS})
    path = tmp_path / "clip.csv"
    path.write_text("\n".join(text.splitlines()[:40])[:-200])
    with pytest.raises(MotionError, match=r"clip.csv:40: has \d+ values; expected 70"):
        read_motion(path)


def test_a_file_without_a_rate_asks_for_one(tmp_path: Path) -> None:
    path = tmp_path / "clip.csv"
    path.write_text(csv_text({name: WALK.point(name) for name in POINTS}, times=False))
    with pytest.raises(MotionError, match="Give --clip-rate"):
        read_motion(path)
    assert read_motion(path, ClipHints(rate_hz=30.0)).rate_hz == 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"names": ["nose"], "frames": [[', "not whole JSON"),
        ('{"names": [], "frames": []}', 'no "names"'),
        (
            '{"names": ["nose", "neck"], "frames": [[[1, 2, 3]]]}',
            "frame 0 has 1 points; expected 2",
        ),
        ('{"names": ["nose"], "frames": [[[1, 2]]]}', r"expected \[x, y, z\]"),
        ('{"names": ["nose"], "frames": [[["a", 2, 3]]]}', "expected numbers"),
        ('{"names": ["nose"], "fps": "fast", "frames": [[[1, 2, 3]]]}', "got a rate of 'fast'"),
        ('{"names": ["nose"], "frames": []}', "got 0 frames"),
    ],
)
def test_broken_json_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "clip.json"
    path.write_text(text)
    with pytest.raises(MotionError, match=message):
        read_motion(path, kind="keypoints")


def test_keypoints_nailed_to_the_pelvis_are_noted(tmp_path: Path) -> None:
    points = array_of("blazepose33") - WALK.point("pelvis")[:, None]
    path = tmp_path / "clip.npy"
    np.save(path, points)
    assert any("the pelvis never moves" in note for note in read_motion(path).origin.notes)


def test_other_files_are_left_to_others(tmp_path: Path, shared_data: Path) -> None:
    contact = shared_data / "retarget" / "pyroki_smpl_keypoints" / "left_foot_contact.npy"
    assert not keypoints.recognises(contact)
    table = tmp_path / "motion.csv"
    table.write_text("0.1,0.2,0.3\n" * 5)
    assert not keypoints.recognises(table)
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}')
    assert not keypoints.recognises(other)

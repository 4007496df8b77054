"""SMPL archives: real clips stand on their floor, made-up poses come out as posed."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.geometry import rotation_angle
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.motion import SEGMENTS, HumanMotion, MotionError
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.readers import smpl
from corporeal.retargeting.readers.smpl import JOINTS

# SMPL's body stands along y and looks along z; AMASS turns it upright at the pelvis.
UPRIGHT = np.array([np.pi / 2, 0.0, 0.0])


def write(path: Path, **changes: Any) -> Path:
    poses = np.zeros((5, 72))
    poses[:, :3] = UPRIGHT
    arrays: dict[str, Any] = {
        "poses": poses,
        "trans": np.zeros((5, 3)),
        "betas": np.zeros(16),
        "mocap_framerate": np.array(120.0),
        "gender": np.array("neutral"),
    }
    arrays.update(changes)
    np.savez(path, **{name: each for name, each in arrays.items() if each is not None})
    return path


def bent(joint: str, rotation: tuple[float, float, float]) -> np.ndarray[Any, Any]:
    poses = np.zeros((5, 72))
    poses[:, :3] = UPRIGHT
    index = 3 * JOINTS.index(joint)
    poses[:, index : index + 3] = rotation
    return poses


def clips(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "retarget" / "asap_smpl_human").glob("*.npz"))


def test_every_real_clip_stands_on_its_floor(shared_data: Path) -> None:
    found = clips(shared_data)
    assert len(found) == 19
    for path in found:
        motion = read_motion(path)
        assert motion.origin.format == "smpl"
        assert motion.rate_hz == 30
        # The authors put the lowest vertex of their licensed body on the ground.
        assert abs(float(np.min(motion.positions[..., 2]))) < 0.005, path.stem
        assert set(motion.rotations) == set(SEGMENTS)


def test_a_real_clip_is_cleaned_without_a_change(shared_data: Path) -> None:
    for path in clips(shared_data):
        motion = read_motion(path)
        np.testing.assert_array_equal(clean(motion).positions, motion.positions)


def test_a_person_in_t_pose_has_the_axes_of_the_segments(tmp_path: Path) -> None:
    motion = read_motion(write(tmp_path / "t.npz"))
    assert motion.rate_hz == 120
    assert motion.point("left_wrist")[0, 0] > 0.6
    assert motion.point("head")[0, 2] - motion.point("left_toe")[0, 2] == pytest.approx(
        1.6, abs=0.05
    )
    # Looking along -y, with the left hand along +x.
    facing = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for name in ("pelvis", "chest", "head"):
        np.testing.assert_allclose(motion.rotations[name][0], facing, atol=1e-9)
    np.testing.assert_allclose(motion.rotations["left_hand"][0], np.eye(3), atol=1e-9)
    np.testing.assert_allclose(motion.rotations["right_hand"][0], np.diag([-1, -1, 1]), atol=1e-9)
    for side in ("left", "right"):
        assert rotation_angle(motion.rotations[f"{side}_foot"][0], facing) < 0.2


def test_rotations_agree_with_the_points_of_their_segments(shared_data: Path) -> None:
    motion = read_motion(clips(shared_data)[0])
    for side in ("left", "right"):
        sole = motion.point(f"{side}_toe") - motion.point(f"{side}_heel")
        hand = motion.point(f"{side}_hand") - motion.point(f"{side}_wrist")
        for direction, name in ((sole, "foot"), (hand, "hand")):
            unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
            along = np.einsum("ti,ti->t", unit, motion.rotations[f"{side}_{name}"][:, :, 0])
            assert np.median(along) > 0.95


def test_a_bent_elbow_moves_the_hand_and_nothing_else(tmp_path: Path) -> None:
    straight = read_motion(write(tmp_path / "straight.npz"))
    bends = write(tmp_path / "bent.npz", poses=bent("left_elbow", (0.0, -np.pi / 2, 0.0)))
    motion = read_motion(bends)
    forearm = motion.point("left_wrist") - motion.point("left_elbow")
    assert forearm[0, 1] == pytest.approx(-0.25, abs=0.02)
    moved = np.linalg.norm(motion.positions - straight.positions, axis=2).max(axis=0) > 1e-9
    assert moved.sum() == 2


def test_wider_poses_and_split_ones_are_the_same_body(tmp_path: Path) -> None:
    poses = bent("right_knee", (0.8, 0.0, 0.0))
    plain = read_motion(write(tmp_path / "smpl.npz", poses=poses))
    wide = np.zeros((5, 156))
    wide[:, :66] = poses[:, :66]
    with_fingers = read_motion(write(tmp_path / "smplh.npz", poses=wide))
    split = read_motion(
        write(
            tmp_path / "smplx.npz",
            poses=None,
            root_orient=poses[:, :3],
            pose_body=poses[:, 3:66],
            mocap_framerate=None,
            mocap_frame_rate=np.array(60.0),
        )
    )
    np.testing.assert_array_equal(with_fingers.positions, plain.positions)
    np.testing.assert_array_equal(split.positions, plain.positions)
    assert split.rate_hz == 60
    assert with_fingers.origin.skeleton == "SMPL+H"


def test_the_shape_makes_somebody_taller_and_says_so(tmp_path: Path) -> None:
    def height(motion: HumanMotion) -> float:
        return float(motion.point("head")[0, 2] - motion.point("left_heel")[0, 2])

    betas = np.zeros(10)
    betas[0] = 2.0
    tall = read_motion(write(tmp_path / "tall.npz", betas=betas))
    plain = read_motion(write(tmp_path / "plain.npz"))
    assert height(tall) == pytest.approx(1.12 * height(plain))
    assert any("1.93 m tall" in note for note in tall.origin.notes)


def test_a_file_with_y_up_is_put_upright(tmp_path: Path) -> None:
    lying = np.zeros((5, 72))
    motion = read_motion(write(tmp_path / "y.npz", poses=lying))
    assert motion.point("head")[0, 2] > motion.point("pelvis")[0, 2] + 0.5
    assert motion.rotations["pelvis"][0][2, 2] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"poses": np.zeros((5, 70))}, r"got poses of shape \(5, 70\)"),
        ({"poses": np.zeros((0, 72))}, "got 0 frames"),
        ({"trans": np.zeros((4, 3))}, r"got trans of shape \(4, 3\)"),
        ({"poses": np.full((5, 72), "a")}, "expected numbers"),
        ({"poses": np.array([{}], dtype=object)}, "pickled objects, which are not opened"),
        ({"mocap_framerate": None}, "Give --clip-rate"),
        ({"poses": np.full((5, 72), np.nan)}, "there is no body to read"),
    ],
)
def test_a_broken_archive_says_what_is_wrong(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(MotionError, match=message):
        read_motion(write(tmp_path / "broken.npz", **changes))


def test_the_rate_may_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "clip.npz", mocap_framerate=None)
    assert read_motion(path, ClipHints(rate_hz=50.0)).rate_hz == 50


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "clip.npz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(MotionError, match="not a whole npz file"):
        read_motion(path, kind="smpl")


def test_an_array_that_claims_more_than_it_has_takes_no_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "clip.npz")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    huge = members["poses.npy"].replace(b"(5, 72), }          ", b"(5000000000, 72), } ")
    assert huge != members["poses.npy"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (members | {"poses.npy": huge}).items():
            archive.writestr(name, data)
    with pytest.raises(MotionError, match=r"an array of \(5000000000, 72\) is"):
        read_motion(path)


def test_other_archives_are_left_to_others(tmp_path: Path) -> None:
    path = tmp_path / "robot.npz"
    np.savez(path, joint_pos=np.zeros((5, 29)))
    assert not smpl.recognises(path)
    fake = tmp_path / "text.npz"
    fake.write_text("not an archive")
    assert not smpl.recognises(fake)

"""AMC motions with their ASF become a person, the same one as in the BVH of the same take."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corporeal.geometry import rotation_angle
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, MotionError
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.readers import asf_amc


@pytest.fixture(scope="module")
def cmu(shared_data: Path) -> Path:
    return shared_data / "mocap" / "cmu_asf_amc_bvh"


@pytest.fixture(scope="module")
def take(cmu: Path) -> HumanMotion:
    return read_motion(cmu / "01_01.amc")


def copied(cmu: Path, folder: Path) -> Path:
    """The motion of subject 11 and its bones, to be changed."""
    for name in ("11.asf", "11_01.amc"):
        shutil.copyfile(cmu / name, folder / name)
    return folder / "11_01.amc"


@pytest.mark.parametrize("name", ["01_01.amc", "11_01.amc"])
def test_people_of_cmu_have_the_height_of_people_and_bones_keep_their_lengths(
    cmu: Path, name: str
) -> None:
    motion = read_motion(cmu / name)
    assert 1.4 < np.median(motion.point("head")[:, 2]) < 1.9
    for side in SIDES:
        for upper, lower in pairwise(("hip", "knee", "ankle", "toe")):
            if lower == "toe":
                continue
            bone = motion.point(f"{side}_{lower}") - motion.point(f"{side}_{upper}")
            assert np.ptp(np.linalg.norm(bone, axis=1)) < 1e-9
        forearm = motion.point(f"{side}_wrist") - motion.point(f"{side}_elbow")
        assert np.ptp(np.linalg.norm(forearm, axis=1)) < 1e-9
    assert motion.rate_hz == 120.0


def test_the_same_take_in_bvh_is_the_same_motion_within_a_centimetre(
    cmu: Path, take: HumanMotion
) -> None:
    other = read_motion(cmu / "01_01.bvh")
    assert len(other) == len(take)
    for name in POINTS:
        assert take.has(name) == other.has(name)
        if take.has(name):
            apart = np.linalg.norm(take.point(name) - other.point(name), axis=1)
            assert float(apart.max()) < 0.01, name
    for name, rotation in take.rotations.items():
        assert float(np.max(rotation_angle(rotation, other.rotations[name]))) < np.radians(1.0), (
            name
        )


def test_walking_feet_lie_flat_and_touch_the_ground(take: HumanMotion) -> None:
    for side in SIDES:
        toe = take.point(f"{side}_toe")[:, 2]
        assert abs(float(np.percentile(toe, 2))) < 0.1


def test_the_bones_are_found_beside_the_motion_or_asked_for(cmu: Path, tmp_path: Path) -> None:
    lonely = tmp_path / "11_01.amc"
    shutil.copyfile(cmu / "11_01.amc", lonely)
    with pytest.raises(MotionError, match=r"expected 11_01.asf or 11.asf. .*--bones"):
        read_motion(lonely)
    named = read_motion(lonely, ClipHints(bones=cmu / "11.asf"))
    np.testing.assert_array_equal(named.positions, read_motion(cmu / "11_01.amc").positions)


def test_the_motion_of_one_person_with_the_bones_of_another_skeleton_is_refused(
    cmu: Path, tmp_path: Path
) -> None:
    path = copied(cmu, tmp_path)
    path.write_text(path.read_text("ascii").replace("rtibia ", "rshank "), encoding="ascii")
    with pytest.raises(MotionError, match=r"'rshank' in its first frame; .*rtibia.*--bones"):
        read_motion(path)


def test_a_motion_cut_off_is_read_up_to_its_last_whole_frame(cmu: Path, tmp_path: Path) -> None:
    path = copied(cmu, tmp_path)
    whole = read_motion(path)
    text = path.read_text("ascii")
    path.write_text(text[: text.index("\n401\n") + 300], encoding="ascii")
    motion = read_motion(path)
    assert len(motion) == 400
    np.testing.assert_array_equal(motion.positions, whole.positions[:400])
    assert any("cut off" in note for note in motion.origin.notes)


@pytest.mark.parametrize("broken", ["rtibia", "rtibia 1 2", "rtibia one", "rtibula 3.0"])
def test_a_broken_frame_is_named_with_its_line(cmu: Path, tmp_path: Path, broken: str) -> None:
    path = copied(cmu, tmp_path)
    lines = path.read_text("ascii").splitlines()
    at = [index for index, line in enumerate(lines) if line.startswith("rtibia ")][5]
    lines[at] = broken
    path.write_text("\n".join(lines), encoding="ascii")
    with pytest.raises(MotionError, match=rf"11_01.amc:{at + 1}: a frame that is not like"):
        read_motion(path)


def test_a_motion_in_radians_is_the_same_motion(cmu: Path, tmp_path: Path) -> None:
    path = copied(cmu, tmp_path)
    degrees = read_motion(path).part(0, 5)
    lines = path.read_text("ascii").splitlines()
    stop = lines.index("6")
    for index, line in enumerate(lines[:stop]):
        words = line.split()
        if len(words) > 1 and words[0].isalpha():
            first = 4 if words[0] == "root" else 1
            turned = [repr(float(np.radians(float(word)))) for word in words[first:]]
            lines[index] = " ".join([*words[:first], *turned])
    text = "\n".join(lines[:stop]).replace(":DEGREES", ":RADIANS")
    path.write_text(text + "\n", encoding="ascii")
    np.testing.assert_allclose(read_motion(path).positions, degrees.positions, atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name ltibia", "name"),
        ("direction 0.34202 -0.939693 0", "direction 0.34202 up 0"),
        ("lfemur ltibia", "lfemur lshank"),
        ("axis 0 0 0  XYZ", "axis 0 0 0  XXZ"),
    ],
)
def test_broken_bones_are_named_with_their_line(
    cmu: Path, tmp_path: Path, old: str, new: str
) -> None:
    path = copied(cmu, tmp_path)
    bones = tmp_path / "11.asf"
    text = bones.read_text("ascii")
    assert old in text
    bones.write_text(text.replace(old, new, 1), encoding="ascii")
    with pytest.raises(MotionError, match=r"11.asf:\d+: got .*; expected an ASF"):
        read_motion(path)


def test_a_file_of_another_kind_called_amc_is_not_recognised(tmp_path: Path) -> None:
    path = tmp_path / "notes.amc"
    path.write_text("meeting at 10\n", encoding="ascii")
    assert not asf_amc.recognises(path)

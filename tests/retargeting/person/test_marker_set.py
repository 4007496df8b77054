"""Marker sets: the right one is found, joints lie where anatomy says, lost markers come back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.errors import DocumentError, UnknownNameError
from corporeal.geometry import Array, matrix_from_rpy
from corporeal.retargeting.motion import NEEDED, POINTS, HumanMotion, Markers, MotionError
from corporeal.retargeting.person.joint_centres import (
    CLUSTERS,
    LANDMARKS,
    MarkedBody,
    Sizes,
    add_places,
    reachable,
)
from corporeal.retargeting.person.marker_motion import fill_lost, person_from_markers
from corporeal.retargeting.person.marker_set import (
    MARKER_SETS,
    MarkerSet,
    best_marker_set,
    open_marker_set,
    plain,
)
from corporeal.retargeting.reader import ClipHints
from corporeal.retargeting.readers.c3d import read_c3d

PLUG_IN_GAIT = (
    "LFHD RFHD LBHD RBHD C7 T10 CLAV STRN RBAK LSHO LELB LWRA LWRB LFIN RSHO RELB RWRA RWRB RFIN "
    "LASI RASI LPSI RPSI LTHI LKNE LTIB LANK LHEE LTOE RTHI RKNE RTIB RANK RHEE RTOE"
)
HELEN_HAYES = (
    "Top.Head L.Shoulder R.Shoulder L.Elbow R.Elbow L.Wrist R.Wrist L.ASIS R.ASIS V.Sacral "
    "L.Thigh R.Thigh L.Knee R.Knee L.Shank R.Shank L.Ankle R.Ankle L.Heel R.Heel L.Toe R.Toe"
)
BASELINE = (
    "WaistLFront WaistRFront WaistLBack WaistRBack BackTop Chest BackLeft BackRight HeadTop "
    "HeadFront HeadSide LShoulderTop LElbowOut LWristOut LWristIn LHandOut RShoulderTop RElbowOut "
    "RWristOut RWristIn RHandOut LKneeOut LShin LAnkleOut LToeIn LToeOut LHeel RKneeOut RShin "
    "RAnkleOut RToeIn RToeOut RHeel"
)


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (PLUG_IN_GAIT, "plug_in_gait"),
        (HELEN_HAYES, "helen_hayes"),
        (BASELINE, "optitrack_baseline"),
    ],
)
def test_the_set_is_found_by_its_labels(labels: str, name: str) -> None:
    found = best_marker_set(labels.split())
    assert found.name == name
    assert found.missing(labels.split()) == ()


def test_labels_of_no_set_are_found_by_their_usual_names() -> None:
    labels = ["c7", "clav"]
    for side in "LR":
        labels += [f"{side} ASIS", f"{side}_PSIS", f"{side}KneeLat", f"{side}AnkleLat"]
        labels += [f"Acromion{side}", f"ElbowLat{side}", f"WristRad{side}"]
    assert best_marker_set(labels).missing(labels) == ()


def test_every_ready_set_names_only_known_places_and_makes_a_body() -> None:
    for name in MARKER_SETS.names:
        ready = open_marker_set(name)
        assert ready.name == name
        assert set(NEEDED) <= reachable(ready.markers), name
    assert all(mark in LANDMARKS for cluster in CLUSTERS for mark in cluster)


def test_subject_case_and_dots_do_not_count() -> None:
    assert plain("Anna:l.asis") == plain("L_ASIS") == "LASIS"


def test_a_place_or_a_label_that_cannot_be_is_refused(tmp_path: Path) -> None:
    head = "document: marker_set\nname: mine\nversion: 1.0.0\nmarkers:\n"
    path = tmp_path / "mine.yaml"
    path.write_text(head + "  left_nose: [LNOS]\n")
    with pytest.raises(DocumentError, match="left_nose"):
        open_marker_set(path)
    path.write_text(head + "  left_asis: [LASI]\n  left_psis: [L.ASI]\n")
    with pytest.raises(DocumentError, match="LASI is of left_asis and of left_psis"):
        open_marker_set(path)
    with pytest.raises(UnknownNameError, match="plug_in_gait"):
        open_marker_set("plugin_gait")


def markers_of_a_stand(frames: int = 30) -> tuple[dict[str, Array], dict[str, Array]]:
    """Plug-in Gait markers about known centres of a person with bent knees who walks along x."""
    sizes = Sizes()
    still: dict[str, tuple[float, float, float]] = {
        "C7": (-0.06, 0.0, 1.48), "CLAV": (0.09, 0.0, 1.48), "T10": (-0.12, 0.0, 1.2),
        "STRN": (0.11, 0.0, 1.25),
    }  # fmt: skip
    centres: dict[str, tuple[float, float, float]] = {"neck": (0.0, 0.0, 1.48)}
    for letter, side, out in (("L", "left", 1.0), ("R", "right", -1.0)):
        knee, ankle = (0.12, 0.09 * out, 0.52), (0.0, 0.09 * out, 0.09)
        elbow, wrist = (-0.03, 0.24 * out, 1.15), (0.20, 0.24 * out, 1.02)
        centres |= {f"{side}_knee": knee, f"{side}_ankle": ankle}
        centres |= {f"{side}_elbow": elbow, f"{side}_wrist": wrist}
        radius = sizes.marker_radius_m
        elbow_out = elbow[1] + out * (sizes.elbow_width_m / 2 + radius)
        still |= {
            f"{letter}ASI": (0.08, 0.12 * out, 1.0), f"{letter}PSI": (-0.08, 0.05 * out, 1.0),
            f"{letter}KNE": (knee[0], knee[1] + out * (sizes.knee_width_m / 2 + radius), knee[2]),
            f"{letter}ANK": (0.0, ankle[1] + out * (sizes.ankle_width_m / 2 + radius), 0.09),
            f"{letter}HEE": (-0.06, 0.09 * out, 0.04), f"{letter}TOE": (0.13, 0.10 * out, 0.05),
            f"{letter}SHO": (0.0, 0.19 * out, 1.47),
            f"{letter}ELB": (elbow[0], elbow_out, elbow[2]),
            f"{letter}WRA": (0.20, 0.22 * out, 1.03), f"{letter}WRB": (0.20, 0.26 * out, 1.01),
        }  # fmt: skip
    way = np.linspace(0.0, 1.0, frames)[:, None] * [1.0, 0.0, 0.0]
    return (
        {name: way + place for name, place in still.items()},
        {name: way + place for name, place in centres.items()},
    )


def seen(place: Array) -> Array:
    return np.asarray(np.isfinite(place).all(axis=1), np.float64)


def motion_of(markers: dict[str, Array], hints: ClipHints | None = None) -> HumanMotion:
    positions = np.stack(list(markers.values()), axis=1)
    clip = Markers(Path("clip"), "c3d", tuple(markers), positions, rate_hz=100.0, unit="m")
    return person_from_markers(clip, hints or ClipHints())


def test_centres_of_joints_lie_half_a_width_inside_their_markers() -> None:
    markers, centres = markers_of_a_stand()
    motion = motion_of(markers)
    for name, place in centres.items():
        within = 0.02 if name.endswith("elbow") else 0.012
        assert np.max(np.linalg.norm(motion.point(name) - place, axis=1)) < within, name


def test_hips_lie_where_the_regression_of_harrington_puts_them() -> None:
    markers, _ = markers_of_a_stand()
    motion = motion_of(markers)
    depth, width = 0.16, 0.24
    known = [0.08 - 0.24 * depth - 0.0099, 0.33 * width + 0.0073, 1.0 - 0.30 * width - 0.0109]
    np.testing.assert_allclose(motion.point("left_hip")[0], known, atol=1e-9)
    np.testing.assert_allclose(motion.point("pelvis")[:, 1], 0.0, atol=1e-9)


def test_heel_and_toe_lie_on_one_level_under_a_standing_foot() -> None:
    markers, _ = markers_of_a_stand()
    motion = motion_of(markers)
    heights = np.stack([motion.point("left_heel")[:, 2], motion.point("left_toe")[:, 2]])
    np.testing.assert_allclose(heights, 0.02, atol=5e-3)


def test_a_lost_pelvic_marker_is_found_from_the_other_three_and_trusted_less() -> None:
    markers, _ = markers_of_a_stand()
    whole = motion_of(markers)
    markers["LASI"] = markers["LASI"].copy()
    markers["LASI"][5:15] = np.nan
    motion = motion_of(markers)
    np.testing.assert_allclose(motion.point("left_hip"), whole.point("left_hip"), atol=1e-6)
    assert np.all(motion.seen("left_hip")[5:15] == 0.7)
    assert motion.seen("left_hip")[4] == 1.0
    assert any("left_asis in 10 frames" in note for note in motion.origin.notes)


def test_a_document_of_ones_own_names_unusual_labels(tmp_path: Path) -> None:
    markers, _ = markers_of_a_stand()
    odd = {f"P{index}": place for index, place in enumerate(markers.values())}
    with pytest.raises(MotionError, match="do not show a body"):
        motion_of(odd)
    number = {plain(label): f"P{index}" for index, label in enumerate(markers)}
    lines = ["document: marker_set", "name: mine", "version: 1.0.0", "markers:"]
    for place, labels in open_marker_set("plug_in_gait").markers.items():
        found = [number[plain(label)] for label in labels if plain(label) in number]
        lines += [f"  {place}: [{found[0]}]"] if found else []
    path = tmp_path / "mine.yaml"
    path.write_text("\n".join(lines))
    motion = motion_of(odd, ClipHints(skeleton=str(path)))
    assert motion.origin.skeleton == "mine@1.0.0"
    np.testing.assert_array_equal(motion.positions, motion_of(markers).positions)


def test_markers_of_a_rigid_body_are_found_wherever_three_are_seen() -> None:
    chance = np.random.default_rng(4)
    shape = chance.normal(0.0, 0.08, (5, 3))
    rotations = matrix_from_rpy(np.cumsum(chance.normal(0.0, 0.05, (200, 3)), axis=0))
    whole = np.einsum("tij,mj->tmi", rotations, shape) + chance.normal(0.0, 1.0, (200, 1, 3))
    broken = whole.copy()
    broken[chance.random((200, 5)) < 0.35] = np.nan
    mended, filled = fill_lost(broken)
    enough = np.isfinite(broken).all(axis=2).sum(axis=1) >= 3
    assert filled[~enough].sum() == 0
    assert filled.any()
    assert np.isfinite(mended[enough]).mean() > 0.97
    np.testing.assert_allclose(mended[filled], whole[filled], atol=1e-6)


def test_markers_that_move_against_each_other_are_not_made_up() -> None:
    chance = np.random.default_rng(4)
    loose = chance.normal(0.0, 0.3, (50, 4, 3))
    loose[10:20, 0] = np.nan
    mended, filled = fill_lost(loose)
    assert not filled.any()
    np.testing.assert_array_equal(mended, loose)


def test_knees_of_a_real_walk_are_known_for_longer_than_their_markers(shared_data: Path) -> None:
    """The markers on the knees are there for a third of the clip, those on the thighs for half."""
    file = read_c3d(shared_data / "mocap" / "c3d_opensim" / "walking2.c3d")
    found = best_marker_set(file.labels).places(file.labels)
    places = {
        place: file.positions[:, file.labels.index(label)] / 1000
        for place, label in found.items()
        if place not in POINTS
    }
    before = np.isfinite(places["left_femur_outer"]).all(axis=1)
    for cluster in CLUSTERS:
        names = [name for name in cluster if name in places]
        if len(names) > 3:
            whole, _ = fill_lost(np.stack([places[name] for name in names], axis=1))
            places |= {name: whole[:, index] for index, name in enumerate(names)}
    after = np.isfinite(places["left_femur_outer"]).all(axis=1)
    assert before.mean() < 0.34
    assert after.mean() > 0.45
    trust = {name: seen(place) for name, place in places.items()}
    body = MarkedBody(places, trust, len(file.positions), Sizes())
    add_places(body)
    # The file holds centres that another program computed: ours lie near them.
    for point, label, within in (("left_hip", "LHJC", 0.06), ("left_knee", "LKJC", 0.01)):
        theirs = file.positions[:, file.labels.index(label)] / 1000
        apart = np.linalg.norm(body.at(point) - theirs, axis=1)
        assert np.nanmedian(apart) < within
    thigh = np.linalg.norm(body.at("left_hip") - body.at("left_knee"), axis=1)
    assert np.nanstd(thigh) < 0.03 * np.nanmedian(thigh)


def test_outer_markers_alone_give_nearly_the_joints_of_both_sides(shared_data: Path) -> None:
    file = read_c3d(shared_data / "mocap" / "c3d_ezc3d" / "Qualisys.c3d")
    bodies = []
    for dropped in ("nothing", "_inner"):
        places = {
            place: file.positions[:, file.labels.index(label)] / 1000
            for place, label in best_marker_set(file.labels).places(file.labels).items()
            if not place.endswith(dropped)
        }
        trust = {name: seen(place) for name, place in places.items()}
        bodies.append(MarkedBody(places, trust, len(file.positions), Sizes()))
        add_places(bodies[-1])
    for part, within in (("knee", 0.015), ("ankle", 0.02), ("elbow", 0.01)):
        for side in ("left", "right"):
            both, outer = (body.at(f"{side}_{part}") for body in bodies)
            assert np.median(np.linalg.norm(both - outer, axis=1)) < within, part


def test_all_points_that_are_needed_can_be_reached_from_marks() -> None:
    assert set(NEEDED) <= reachable(LANDMARKS) <= set(POINTS)
    assert reachable(["left_asis"]) == set()


def test_a_set_knows_what_it_lacks() -> None:
    mine = MarkerSet(
        document="marker_set", name="mine", version="1.0.0", markers={"left_knee": ("K",)}
    )
    assert "left_knee" not in mine.missing(["k"])
    assert "left_knee" in mine.missing(["x"])

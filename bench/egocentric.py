"""Egocentric targets: overlay, gaps and glitches, latency, reach, time of an import; E-b to E-f.

`python -m bench.egocentric [--seeds 5] [--capture CAPTURE] [--minutes 10]` prints a table. E-a is
`tests/teleoperation/hands`, where every format is read from real hands and mutated.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from bench.egocentric_scene import EgoScene, calibration, make_scene
from corporeal.calibration.lens import LensModel
from corporeal.calibration.opencv import import_opencv
from corporeal.calibration.verification import PointsInTime, fit_overlay, pixels_of
from corporeal.embodiment import open_robot
from corporeal.geometry import Array, matrix_from_quaternion, matrix_from_rpy
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration
from corporeal.teleoperation.hands import follow_hands
from corporeal.teleoperation.hands.hand_rows import hand_rows, operator_inputs
from corporeal.teleoperation.hands.hand_track import NOT_SEEN, SEEN, track_hand
from corporeal.teleoperation.operator_input import (
    INDEX_TIP,
    SIDES,
    THUMB_TIP,
    WRIST,
    OperatorInput,
    read_inputs,
)

LENSES: tuple[LensModel, ...] = ("pinhole", "rational", "fisheye")
MAX_SCALE, MAX_LAG_S, SURE = 0.01, 0.02, 4.0
# The truth between samples is that of the motion, not of a straight line.
EXACT_HZ, TRACKER_M = 900.0, 0.001


def camera_of(scene: EgoScene) -> CameraCalibration:
    text = json.dumps(calibration(scene.lens))
    return Calibration.parse(text, source="bench", suffix=".json").cameras[0]


def track_of(scene: EgoScene, side: str) -> PointsInTime:
    turn = matrix_from_quaternion(scene.head[:, 3:])
    beside = np.einsum("tji,tkj->tki", turn, scene.joints[side] - scene.head[:, None, :3])
    return PointsInTime(np.round(scene.times_s * 1e9).astype(np.int64), beside)


def detected(exact: EgoScene, side: str, late_s: float, rng: np.random.Generator) -> tuple[
    NDArray[np.int64], Array
]:  # fmt: skip
    """Stamps of pictures, which show what was `late_s` after them, and a detector's points."""
    times = np.arange(1, int((exact.times_s[-1] - 0.3) * 30)) / 30
    truth = exact.at(times + late_s).pixels(side)
    return np.round(times * 1e9).astype(np.int64), truth + rng.normal(0, 2.0, truth.shape)


def overlay(seeds: int) -> list[str]:
    """E-c and the latency of E-b: reprojection, faults found, false alarms, planted lags."""
    cv, still = import_opencv(), np.zeros(3)
    worst, lags = 0.0, []
    found, planted, false, clean = 0, 0, 0, 0
    for lens in LENSES:
        for seed in range(seeds):
            scene = make_scene(8.0, lens=lens, seed=seed)
            exact = make_scene(8.2, lens=lens, seed=seed, rate_hz=EXACT_HZ)
            camera, rng = camera_of(scene), np.random.default_rng(seed)
            assert camera.focal_px is not None
            fx, fy = camera.focal_px
            points = track_of(scene, "left").points[::20].reshape(-1, 3)
            pose = (points - np.array(camera.xyz)) @ _turn(camera)
            project = cv.fisheye.projectPoints if lens == "fisheye" else cv.projectPoints
            theirs = project(pose.reshape(-1, 1, 3), still, still, scene.lens.matrix,
                             scene.lens.distortion)[0].reshape(-1, 2)  # fmt: skip
            worst = max(worst, float(np.abs(pixels_of(camera, points) - theirs).max()))
            for side in SIDES:
                track = track_of(scene, side)
                # A tracker's own noise, as large as a good one's.
                shaken = track.points + rng.normal(0, TRACKER_M, track.points.shape)
                track = PointsInTime(track.time_ns, shaken)
                for sign in (0.98, 1.02):
                    bent = camera.model_copy(update={"focal_px": (sign * fx, sign * fy)})
                    planted += 1
                    found += _tells(track, bent, *detected(exact, side, 0.0, rng))[0]
                planted += 1
                found += _tells(track, camera, *detected(exact, side, 1 / 30, rng))[1]
                clean += 1
                false += any(_tells(track, camera, *detected(exact, side, 0.0, rng)))
                late = float(rng.uniform(0, 0.1))
                fit = fit_overlay(track, camera, *detected(exact, side, late, rng))
                lags.append(np.inf if fit is None else abs(fit.lag_s - late))
    good = np.mean(np.array(lags) <= 0.005)
    return [
        f"E-c reprojection against OpenCV: {worst:.1e} px at most (target 0.5)",
        f"E-c 2 % of focal length or one picture: {found} of {planted} told; false {false} of "
        f"{clean}",
        f"E-b planted lags 0 to 100 ms: median {1000 * np.median(lags):.1f} ms off, "
        f"{good:.0%} within 5 ms, worst {1000 * np.max(lags):.1f} ms",
    ]


def _turn(camera: CameraCalibration) -> Array:
    assert camera.rpy is not None
    return np.asarray(matrix_from_rpy(np.array(camera.rpy)))


def _tells(
    track: PointsInTime, camera: CameraCalibration, when: NDArray[np.int64], seen: Array
) -> tuple[bool, bool]:
    """Whether the check would tell a wrong focal length, and a lag."""
    fit = fit_overlay(track, camera, when, seen)
    if fit is None:
        return False, False
    scale = abs(fit.scale - 1)
    return (scale > MAX_SCALE and scale > SURE * fit.scale_sigma,
            abs(fit.lag_s) > MAX_LAG_S and abs(fit.lag_s) > SURE * fit.lag_sigma_s)  # fmt: skip


def truth(seeds: int) -> list[str]:
    """E-b: hands of a known scene on the grid of an episode against the truth."""
    places, turns, apart = [], [], []
    for seed in range(seeds):
        scene = make_scene(8.0, seed=seed)
        stamps = np.round(scene.times_s * 1e9).astype(np.int64)
        rows = {side: hand_rows(scene.joints[side]) for side in SIDES}
        inputs = list(operator_inputs(stamps, scene.head, rows))
        grid = np.arange(0.1, 7.8, 0.02)
        exact = make_scene(8.0, seed=seed, rate_hz=EXACT_HZ).at(grid)
        known = {side: hand_rows(exact.joints[side]) for side in SIDES}
        poses = list(operator_inputs(np.arange(len(grid)), exact.head, known))
        for side in SIDES:
            track = track_hand(inputs, side, grid)
            true = np.array([given.hand(side).pose for given in poses])  # type: ignore[union-attr]
            places.append(np.linalg.norm(track.pose[:, :3] - exact.joints[side][:, WRIST], axis=1))
            dot = np.abs((track.pose[:, 3:] * true[:, 3:]).sum(axis=1)).clip(0, 1)
            turns.append(2 * np.degrees(np.arccos(dot)))
            tips = exact.joints[side][:, THUMB_TIP], exact.joints[side][:, INDEX_TIP]
            apart.append(np.linalg.norm(track.grasp - (tips[0] + tips[1]) / 2, axis=1))
    return [
        f"E-b wrist {1000 * np.max(places):.2f} mm, {np.max(turns):.2f} degrees at most; middle of "
        f"the tips {1000 * np.max(apart):.2f} mm (targets 1 mm, 0.2 degrees, 2 mm)"
    ]


def gaps(capture: Path, seeds: int) -> list[str]:
    """E-d: gaps and glitches planted in a real capture, found; nothing long is filled."""
    whole = list(read_inputs(capture))
    found = planted = false = frames = filled = grips = 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for share in (0.001, 0.01, 0.05):
            rows, bad = _damaged(whole, share, rng)
            times = np.array([given.times.device_ns for given in rows]) / 1e9
            for side in SIDES:
                was = np.array([_is_seen(given, side) for given in rows])
                track = track_hand(rows, side, times)
                usual = track_hand(whole, side, times)
                # A place that was made wrong is told as not seen, or lies where it was again.
                off = np.linalg.norm(track.pose[:, :3] - usual.pose[:, :3], axis=1)
                hit = bad[side] & was
                planted += int(hit.sum())
                found += int((hit & ((track.seen != SEEN) | (off < 0.01))).sum())
                fine = was & ~bad[side] & (usual.seen > NOT_SEEN)
                frames += int(fine.sum())
                false += int((fine & (track.seen == NOT_SEEN)).sum())
                filled += _long_fills(was & ~bad[side], track.seen > NOT_SEEN, times)
                grips += _long_fills(was & ~bad[side], np.isfinite(track.opening), times)
    return [
        f"E-d glitches: {found} of {planted} found ({found / max(planted, 1):.1%}, "
        f"target 99 %); good frames lost {false / max(frames, 1):.2%} (target 0.5 %); "
        f"gaps over 0.1 s filled: {filled}, their openings: {grips}"
    ]


def _is_seen(given: OperatorInput, side: str) -> bool:
    hand = given.left if side == "left" else given.right
    return hand is not None and hand.is_tracked


def _damaged(
    whole: list[OperatorInput], share: float, rng: np.random.Generator
) -> tuple[list[OperatorInput], dict[str, NDArray[np.bool_]]]:
    """The capture with leaps of 3 cm to 1 m in so many samples, and gaps of all lengths."""
    rows = list(whole)
    bad: dict[str, NDArray[np.bool_]] = {side: rng.random(len(rows)) < share for side in SIDES}
    away = np.zeros(len(rows), bool)
    for start in rng.integers(0, len(rows), max(1, int(share * len(rows) / 10))):
        away[start : start + int(rng.integers(3, 40))] = True
    for number, given in enumerate(rows):
        changes: dict[str, Any] = {}
        for side in SIDES:
            hand = given.left if side == "left" else given.right
            if hand is None or hand.pose is None:
                continue
            if away[number]:
                changes[side] = None
            elif bad[side][number]:
                leap = rng.normal(size=3)
                leap *= rng.uniform(0.03, 1.0) / np.linalg.norm(leap)
                changes[side] = replace(hand, pose=hand.pose + np.concatenate([leap, np.zeros(4)]))
        rows[number] = replace(given, **changes)
    for side in SIDES:
        bad[side] &= ~away
    return rows, bad


def _long_fills(seen: NDArray[np.bool_], told: NDArray[np.bool_], times: Array) -> int:
    """How many gaps of over 0.1 s between two samples that were seen have frames that are told."""
    rows = np.flatnonzero(seen)
    count = 0
    for a, b in pairwise(rows.tolist()):
        if times[b] - times[a] > 0.12 and told[a + 2 : b - 1].any():
            count += 1
    return count


def reach(capture: Path) -> list[str]:
    """E-e: a real capture as a motion of a G1."""
    begin = time.process_time()
    motion = follow_hands(list(read_inputs(capture)), open_robot("g1"))
    took_s = time.process_time() - begin
    length_s = len(motion.joints) / motion.rate_hz
    return [
        f"E-e hands seen in {motion.seen_share:.0%} of {capture.name}, "
        f"{motion.reached_share:.0%} of that within 2 cm of the robot's; {took_s:.1f} CPU s for "
        f"{length_s:.0f} s"
    ]


def importing(minutes: float) -> list[str]:
    """E-f: CPU seconds to read two hands at 90 Hz and to put them on a grid."""
    count = round(minutes * 60 * 90)
    scene = make_scene(60.0)
    pick = np.arange(count) % len(scene.times_s)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.hdf5"
        _write_egodex(path, scene, pick, rng)
        begin = time.process_time()
        inputs = list(read_inputs(path))
        read_s = time.process_time() - begin
        times = np.arange(0, inputs[-1].times.device_ns / 1e9, 0.02)
        for side in SIDES:
            track_hand(inputs, side, times)
    whole = time.process_time() - begin
    return [
        f"E-f {minutes:g} min of two hands at 90 Hz ({count} frames of EgoDex): {whole:.1f} CPU s, "
        f"{read_s:.1f} of them reading (target 5)"
    ]


def _write_egodex(
    path: Path, scene: EgoScene, pick: NDArray[np.int64], rng: np.random.Generator
) -> None:
    from tests.teleoperation.hands.hand_files import ROOM, _camera_matrices, arkit_name

    from corporeal.teleoperation.operator_input import HAND_JOINTS

    with h5py.File(path, "w") as file:
        file["transforms/camera"] = _camera_matrices(scene.head)[pick].astype(np.float32)
        for side, rows in scene.joints.items():
            noise = rng.normal(0, 1e-5, (len(pick), 3))
            for number, joint in enumerate(HAND_JOINTS):
                name = arkit_name(joint)
                if name:
                    title = f"{side}{name[0].upper()}{name[1:]}"
                    full = f"{side}Hand" if joint == "wrist" else title
                    matrix = np.tile(np.eye(4, dtype=np.float32), (len(pick), 1, 1))
                    matrix[:, :3, 3] = (rows[pick, number] + noise) @ ROOM
                    file[f"transforms/{full}"] = matrix


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--capture", type=Path)
    given = parser.parse_args()
    lines = [*overlay(given.seeds), *truth(given.seeds), *importing(given.minutes)]
    if given.capture is not None:
        lines += [*gaps(given.capture, given.seeds), *reach(given.capture)]
    print("\n".join(lines))


if __name__ == "__main__":
    main()

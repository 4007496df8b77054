"""Noise of cameras without markers on a clean clip: how far the result moves from the clean one.

python -m bench.retarget.noise --only "12_01" --out out/bench_retarget_noise.json
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.retarget.clips import clips
from bench.retarget.contest import ours
from bench.retarget.measuring import figures_of
from bench.retarget.table import markdown
from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES, HumanMotion
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.solve import retarget_motion

SEED = 9
# Half of the noise of a pose estimator stays for about this long, the rest is new in every frame.
STAYS_S = 0.1
# The mean length of a vector of three normal numbers, of deviation one each.
MEAN_LENGTH = float(np.sqrt(8 / np.pi))


@dataclass(frozen=True)
class Spoiling:
    """What is done to every point: noise, shares of outliers and of frames in gaps.

    `noise_m` is the mean distance from the truth, as errors of pose estimators are stated.
    """

    name: str
    noise_m: float
    outliers: float = 0.0
    outlier_m: float = 0.3
    dropouts: float = 0.0
    gap_s: float = 0.2


SPOILINGS = (
    Spoiling("nothing but the rotations taken away", 0.0),
    Spoiling("2 cm", 0.02),
    Spoiling("5 cm", 0.05),
    Spoiling("2 cm, 1 % outliers, 10 % dropouts", 0.02, 0.01, dropouts=0.1),
    Spoiling("5 cm, 2 % outliers, 20 % dropouts", 0.05, 0.02, dropouts=0.2),
    Spoiling("2 cm, 50 % dropouts", 0.02, dropouts=0.5),
)


def spoilt(motion: HumanMotion, how: Spoiling, random: np.random.Generator) -> HumanMotion:
    """The clip as cameras would have it: points only, noisy, some far off, some not seen."""
    frames, points = motion.confidence.shape
    positions = motion.positions + _noise(motion, how.noise_m, random)
    far = random.random((frames, points)) < how.outliers
    positions[far] += random.normal(0.0, how.outlier_m, (int(far.sum()), 3))
    confidence = motion.confidence.copy()
    length = max(1, round(how.gap_s * motion.rate_hz))
    for point in range(points):
        for first in np.flatnonzero(random.random(frames) < how.dropouts / length):
            confidence[first : first + length, point] = 0.0
    positions[confidence == 0] = np.nan
    return replace(motion, positions=positions, confidence=confidence, rotations={}, contacts=None)


def _noise(motion: HumanMotion, size_m: float, random: np.random.Generator) -> Array:
    """Noise (T, P, 3) of this mean length, half of it slow."""
    fresh = random.normal(size=(2, *motion.positions.shape))
    keep = float(np.exp(-1 / (STAYS_S * motion.rate_hz)))
    slow = fresh[0]
    for frame in range(1, len(slow)):
        slow[frame] = keep * slow[frame - 1] + np.sqrt(1 - keep**2) * slow[frame]
    noise: Array = size_m / MEAN_LENGTH * (slow + fresh[1]) / np.sqrt(2)
    return noise


def difference(clean: Retargeted, other: Retargeted) -> dict[str, float]:
    """Mean distances in cm between two results: hands and feet, in the world and from the pelvis.

    Joints in degrees.
    """
    frames = min(len(clean), len(other))
    robot = clean.robot
    places = {**robot.end_effectors, **{f"{side}_foot": foot for side, foot in robot.feet.items()}}
    poses = [
        Kinematics(robot).place_poses(places, one.q[:frames], one.base[:frames])
        for one in (clean, other)
    ]

    moved = {name: poses[1].position(name) - poses[0].position(name) for name in poses[0].names}
    root = other.base[:frames, :3] - clean.base[:frames, :3]

    def apart(part: str, shared: Array) -> float:
        rows = [np.linalg.norm(moved[f"{side}_{part}"] - shared, axis=1) for side in SIDES]
        return 100 * float(np.mean(rows))

    joints = np.abs(clean.q[:frames] - other.q[:frames])
    return {
        "hands_cm": apart("hand", np.zeros(3)),
        "feet_cm": apart("foot", np.zeros(3)),
        "hands_from_pelvis_cm": apart("hand", root),
        "feet_from_pelvis_cm": apart("foot", root),
        "joints_deg": float(np.degrees(joints.mean())),
    }


def main() -> int:
    """0 when every spoilt clip gave a result, 1 when one did not."""
    parser = argparse.ArgumentParser(prog="python -m bench.retarget.noise", description=__doc__)
    parser.add_argument("--only", default="12_01", help="the clip with this in its name")
    parser.add_argument("--out", type=Path, default=Path("out/bench_retarget_noise.json"))
    asked = parser.parse_args()
    robot = open_robot("g1")
    clip = next(clip for clip in clips() if asked.only in clip.name)
    human = clip.read()
    clean = retarget_motion(human, robot)
    random = np.random.default_rng(SEED)
    rows: list[tuple[str, ...]] = []
    found: dict[str, dict[str, Any]] = {}
    for how in SPOILINGS:
        try:
            result = retarget_motion(spoilt(human, how, random), robot)
        except CorporealError as error:
            rows.append((how.name, f"failed: {error}", *["-"] * 7))
            found[how.name] = {"failed": str(error)}
            continue
        apart = difference(clean, result)
        own = figures_of(ours(result, 0.0), result.goals.contacts, result.human)
        found[how.name] = {**apart, **own.to_json()}
        rows.append(
            (
                how.name, f"{apart['hands_cm']:.1f} / {apart['feet_cm']:.1f}",
                f"{apart['hands_from_pelvis_cm']:.1f} / {apart['feet_from_pelvis_cm']:.1f}",
                f"{apart['joints_deg']:.1f}", f"{own.drift_cm:.2f}", f"{own.hover_cm:.2f}",
                f"{own.depth_cm:.2f}", f"{own.limits + own.speeds}", f"{own.jerk:.0f}",
            )
        )  # fmt: skip
    head = (
        f"{clip.name} with", "hands / feet moved, cm", "from the pelvis", "joints, degrees",
        "drift, cm", "hover, cm", "depth, cm", "limits", "jerk",
    )  # fmt: skip
    print(markdown(head, rows))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    return int(any("failed" in one for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())

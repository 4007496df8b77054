"""CPU time per frame of batched kinematics, dynamics and self-collision, beside Pinocchio's.

Run: python bench/kinematics.py --robot g1 --frames 2000 --out out/kinematics.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.dynamics import gravity_torques, inverse_dynamics
from corporeal.embodiment.engines import PinocchioModel, compile_pinocchio, import_pinocchio
from corporeal.embodiment.engines.pinocchio_model import geometry_model
from corporeal.embodiment.joints import standing_positions
from corporeal.geometry import Array


def motion(robot: Embodiment, frames: int) -> Array:
    """Smooth joint positions (T, J) about the standing posture, a quarter of the range wide."""
    low = np.array([-1.5 if joint.lower is None else joint.lower for joint in robot.actuated])
    high = np.array([1.5 if joint.upper is None else joint.upper for joint in robot.actuated])
    random = np.random.default_rng(0)
    pace_hz, phase = random.uniform(0.1, 1.0, len(low)), random.uniform(0, 6.28, len(low))
    wave = np.sin(2 * np.pi * pace_hz * np.arange(frames)[:, None] / 100 + phase)
    positions: Array = np.clip(standing_positions(robot) + 0.25 * (high - low) * wave, low, high)
    return positions


def cpu_us_per_frame(job: Callable[[], object], frames: int, *, rounds: int = 5) -> float:
    """The best of some rounds, after one to warm up."""
    job()
    best = np.inf
    for _ in range(rounds):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return float(best / frames * 1e6)


def pinocchio_kinematics(compiled: PinocchioModel, q: Array, base: Array) -> None:
    """Link and frame poses and centre of mass, one call per frame."""
    pin, model, data = import_pinocchio(), compiled.model, compiled.model.createData()
    for x in compiled.configurations(q, base):
        pin.framesForwardKinematics(model, data, x)
        pin.centerOfMass(model, data, x)


def coal_distances(compiled: PinocchioModel, collision: CollisionModel, q: Array) -> None:
    """Signed distances of every pair of shapes in every frame."""
    pin, geometry = import_pinocchio(), geometry_model(compiled, collision.pairs)
    data, shapes = compiled.model.createData(), geometry.createData()
    for x in compiled.configurations(q):
        pin.updateGeometryPlacements(compiled.model, data, geometry, shapes, x)
        pin.computeDistances(geometry, shapes)


def measure(robot: Embodiment, frames: int) -> dict[str, float]:
    """CPU microseconds per frame of every job."""
    q, base = motion(robot, frames), np.tile([0.0, 0, 0.8, 1, 0, 0, 0], (frames, 1))
    dq = np.gradient(q, 0.01, axis=0)
    ddq = np.gradient(dq, 0.01, axis=0)
    compiled, collision = compile_pinocchio(robot), CollisionModel(robot)
    kinematics = compiled.kinematics
    few = q[:: max(1, frames // 100)]
    jobs: dict[str, tuple[Callable[[], object], int]] = {
        "link poses, batched": (lambda: kinematics.link_poses(q, base), frames),
        "centre of mass, batched": (lambda: kinematics.centre_of_mass(q, base), frames),
        "frames + centre of mass, Pinocchio per frame": (
            lambda: pinocchio_kinematics(compiled, q, base),
            frames,
        ),
        "gravity torques, batched": (lambda: gravity_torques(kinematics, q, base), frames),
        "inverse dynamics, Pinocchio per frame": (
            lambda: inverse_dynamics(compiled, q, dq, ddq, base=base),
            frames,
        ),
        "self-collision distance, batched": (lambda: collision.distances(q), frames),
        "self-collision list, batched": (lambda: collision.collisions(q), frames),
        "self-collision, coal on every pair": (
            lambda: coal_distances(compiled, collision, few),
            len(few),
        ),
    }
    return {name: cpu_us_per_frame(job, count) for name, (job, count) in jobs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="g1", help="name of a built-in robot, or a file")
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    robot = open_robot(given.robot)
    collision = CollisionModel(robot)
    shapes = sum(len(link.collision) for link in robot.links)
    print(f"{robot.reference}: {len(robot.joint_names)} joints, {len(robot.links)} links,")
    print(f"{shapes} shapes, {len(collision.pairs)} pairs of links; {given.frames} frames\n")
    figures = measure(robot, given.frames)
    print(f"{'job':46} {'us per frame':>12} {'frames per CPU-s':>17}")
    for name, figure in figures.items():
        print(f"{name:46} {figure:12.2f} {1e6 / figure:17,.0f}")
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        facts = {"robot": robot.reference, "frames": given.frames, "cpu_us_per_frame": figures}
        given.out.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""A million commands that nobody sane gives, and a checker that shares nothing with the filter.

`python -m bench.adversary --out FOLDER --capture CAPTURE [--minutes 25]` works through shards, each
kept as a file: run again it goes on where it ended. What is sent is checked by MuJoCo (torque, the
hands' space, table and floor) and by coal over all pairs of links, not by what the filter measured.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.hostile_commands import DT_S, commands
from corporeal.embodiment import Embodiment, collision
from corporeal.embodiment.engines import import_mujoco
from corporeal.embodiment.engines.mujoco_model import compile_mujoco
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.teleoperation.clearance import Obstacle
from corporeal.teleoperation.control_loop import open_session
from corporeal.teleoperation.operator_input import OperatorInput, read_inputs
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers
from corporeal.teleoperation.safety_filter import ArmCommand, Objective, SafetyFilter

# What a command keeps from links, table and floor at least, m; and what rounding may take.
LEAST_M, ROUNDING_M = 0.005, 1e-3
# Slower than this is standing still, rad/s; so many ticks of it in a row are a freeze.
STILL_RAD_S, FROZEN_TICKS = 1e-3, 30
# A joint that would alone go faster than this, and may, is a free direction, rad/s and rad.
FREE_RAD_S, TRIED_RAD = 0.05, 0.01


@dataclass
class Tally:
    """What the checker saw: violations by what was broken, and the worst of everything."""

    commands: int = 0
    violations: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    least_link_m: float = np.inf
    least_obstacle_m: float = np.inf
    most_outside_m: float = 0.0
    most_torque_share: float = 0.0
    over_torque_share: int = 0
    frozen: int = 0
    longest_frozen_s: float = 0.0
    step_ms: list[float] = field(default_factory=list)

    def count(self, what: str, number: int = 1) -> None:
        """So many violations more."""
        if number:
            self.violations[what] = self.violations.get(what, 0) + number


class Checker:
    """Looks at what was sent, with models of its own."""

    def __init__(self, robot: Embodiment, obstacles: tuple[Obstacle, ...], limb: SafetyFilter):
        self.mujoco = import_mujoco()
        self.compiled = compile_mujoco(robot)
        model, mujoco = self.compiled.model, self.mujoco
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(model)
        self.robot, self.limb = robot, limb
        self.links = collision.CollisionModel(robot)
        moved = set(limb.arms.names)
        self.geoms = [
            number for number in range(model.ngeom)
            if moved & _joints_above(model, int(model.geom_bodyid[number]))
        ]  # fmt: skip
        self.table = next((o.shape for o in obstacles if o.name == "table"), None)
        self.sites = [
            model.site(robot.end_effectors[f"{side}_hand"]).id for side in limb.arms.hands
        ]
        known = robot.joint_names
        by_name = {joint.name: joint for joint in robot.joints}
        own = [by_name[known[column]] for column in limb.arms.columns]
        stated = [(joint.lower, joint.upper, joint.velocity, joint.effort) for joint in own]
        self.lower, self.upper, speed, self.effort = np.array(stated, np.float64).T
        self.speed = np.minimum(speed, limb.limits.speed_rad_s)
        names = [joint.name for joint in robot.joints]
        self.dofs = np.array([self.compiled.rates[names.index(joint.name)] for joint in own])
        self.rates, self.outside = np.zeros(len(own)), 0.0
        self.rows: list[Array] = []

    def look(self, command: ArmCommand, tally: Tally) -> None:
        """Check one command; links are looked at 500 at a time, see `finish`."""
        tally.commands += 1
        positions, rates = command.positions, command.rates
        if not (np.isfinite(positions).all() and np.isfinite(rates).all()):
            tally.count("not finite")
            return
        gain = (rates - self.rates) / DT_S
        self.rates = rates
        tally.count("position", int(((positions < self.lower) | (positions > self.upper)).any()))
        tally.count("speed", int((np.abs(rates) > self.speed + 1e-9).any()))
        most = self.limb.limits.acceleration_rad_s2
        tally.count("acceleration", int((np.abs(gain) > most + 1e-6).any()))
        row = self.limb.arms.body.copy()
        row[self.limb.arms.columns] = positions
        self.rows.append(row)
        self._look_in_physics(row, rates, gain, tally)
        if len(self.rows) == 500:
            self.finish(tally)

    def finish(self, tally: Tally) -> None:
        """Distances between links of what was kept for it."""
        if self.rows:
            apart = self.links.distances(np.array(self.rows)).minimum_m
            tally.count("self-collision", int((apart < LEAST_M).sum()))
            tally.least_link_m = min(tally.least_link_m, float(apart.min()))
        self.rows = []

    def _look_in_physics(self, row: Array, rates: Array, gain: Array, tally: Tally) -> None:
        model, data, mujoco = self.compiled.model, self.data, self.mujoco
        data.qpos[:] = self.compiled.qpos(row[None], self.limb.arms.base[None])[0]
        data.qvel[:], data.qacc[:] = 0.0, 0.0
        data.qvel[self.dofs], data.qacc[self.dofs] = rates, gain
        mujoco.mj_inverse(model, data)
        share = np.abs(data.qfrc_inverse[self.dofs]) / self.effort
        tally.most_torque_share = max(tally.most_torque_share, float(share.max()))
        tally.over_torque_share += int((share > self.limb.limits.torque_share + 1e-6).any())
        tally.count("torque", int((share > 1.0).any()))
        apart = self._from_obstacles()
        tally.least_obstacle_m = min(tally.least_obstacle_m, apart)
        tally.count("table or floor", int(apart < LEAST_M))
        outside = self._outside()
        tally.most_outside_m = max(tally.most_outside_m, outside)
        tally.count("workspace", int(outside > max(self.outside, ROUNDING_M) + 1e-6))
        self.outside = outside

    def _outside(self) -> float:
        """How far a hand is out of its space, in the axes of the base."""
        limits, base = self.limb.limits, self.limb.arms.base
        turn = matrix_from_quaternion(base[3:])
        places = (self.data.site_xpos[self.sites] - base[:3]) @ turn
        return float(np.maximum(limits.lowest_m - places, places - limits.highest_m).max())

    def _from_obstacles(self) -> float:
        """The least distance of a moved shape from table and floor."""
        model, data = self.compiled.model, self.data
        least = np.inf
        for number in self.geoms:
            centre, turn = data.geom_xpos[number], data.geom_xmat[number].reshape(3, 3)
            size, is_box = model.geom_size[number], model.geom_type[number] == 6
            down = np.abs(turn[2]) @ size if is_box else size[0] + abs(turn[2, 2]) * size[1]
            least = min(least, float(centre[2] - down))
            if self.table is None:
                continue
            beside = np.maximum(np.abs(centre - self.table.xyz) - np.array(self.table.size) / 2, 0)
            if np.linalg.norm(beside) - model.geom_rbound[number] > 2 * LEAST_M:
                continue
            least = min(least, self._from_table(centre, turn, size, is_box=bool(is_box)))
        return least

    def _from_table(self, centre: Array, turn: Array, size: Array, *, is_box: bool) -> float:
        """The distance of a capsule's or a box's finely laid points from the table's box."""
        assert self.table is not None, "asked only with one"
        steps = np.linspace(-1, 1, 41)
        if is_box:
            grid = np.array(np.meshgrid(*(np.linspace(-1, 1, 9),) * 3)).reshape(3, -1).T
            points, around = centre + (grid * size) @ turn.T, 0.0
        else:
            points, around = centre + np.outer(steps * size[1], turn[:, 2]), float(size[0])
        beyond = np.abs(points - self.table.xyz) - np.array(self.table.size) / 2
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        inside = np.minimum(beyond.max(axis=1), 0.0)
        return float((outside + inside).min()) - around


def _joints_above(model: Any, body: int) -> set[str]:
    names = set()
    while body:
        first = int(model.body_jntadr[body])
        names |= {model.joint(first + n).name for n in range(int(model.body_jntnum[body]))}
        body = int(model.body_parentid[body])
    return names


def _beyond_space(limb: SafetyFilter) -> float:
    arms, limits = limb.arms, limb.limits
    hands = np.array([arms.hand(side)[0] for side in arms.hands])
    places = (hands - arms.base[:3]) @ arms.base_rotation
    return float(np.maximum(limits.lowest_m - places, places - limits.highest_m).max())


def free_direction(limb: SafetyFilter, objective: Objective) -> str | None:
    """A joint that would get nearer to what is wanted and that nothing keeps from it."""
    arms, start = limb.arms, limb.positions.copy()
    arms.place(start)
    hessian, gradient = objective.cost(arms, np.zeros(len(start)))
    if not (np.isfinite(hessian).all() and np.isfinite(gradient).all()):
        return None
    limb.clearance.measure(np.full(limb.clearance.count, np.inf))
    before, outside = limb.clearance.bound_m.copy(), _beyond_space(limb)
    torque = np.abs(arms.efforts(np.zeros(len(start)), np.zeros(len(start))))
    alone = -gradient / np.diag(hessian)
    way = None
    for number in np.argsort(-np.abs(alone)):
        if abs(alone[number]) < FREE_RAD_S:
            break
        tried = start.copy()
        tried[number] += np.sign(alone[number]) * TRIED_RAD
        if not limb.lower[number] < tried[number] < limb.upper[number]:
            continue
        arms.place(tried)
        limb.clearance.measure(np.full(limb.clearance.count, np.inf))
        room = np.minimum(limb.clearance.margins_m + 0.005, before)
        held = np.abs(arms.efforts(np.zeros(len(start)), np.zeros(len(start))))
        if ((limb.clearance.bound_m >= room).all() and _beyond_space(limb) <= max(outside, -0.005)
                and (held <= np.maximum(0.95 * limb.effort, torque)).all()):  # fmt: skip
            way = arms.names[number]
            break
    arms.place(start)
    return way


def attack(count: int, seed: int, capture: tuple[OperatorInput, ...]) -> Tally:
    """One shard: so many commands, checked."""
    link = robot_drivers()["sim"].open(LinkOptions(seed=seed))
    limb = open_session(link).limb
    checker, tally, still = Checker(link.robot, link.obstacles, limb), Tally(), 0
    begin = time.thread_time()
    for objective, command, kind in commands(limb, count, seed, capture):
        tally.step_ms.append(1e3 * (time.thread_time() - begin))
        tally.kinds[kind] = tally.kinds.get(kind, 0) + 1
        checker.look(command, tally)
        is_still = objective is not None and np.abs(command.rates).max() < STILL_RAD_S
        still = still + 1 if is_still else 0
        if still >= FROZEN_TICKS and objective is not None and still % FROZEN_TICKS == 0:
            if free_direction(limb, objective) is None:
                still = 0
            else:
                tally.frozen += int(still == FROZEN_TICKS)
                tally.longest_frozen_s = max(tally.longest_frozen_s, still * DT_S)
                tally.kinds[f"frozen: {kind}"] = tally.kinds.get(f"frozen: {kind}", 0) + 1
        begin = time.thread_time()
    checker.finish(tally)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the shards' files")
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--shards", type=int, default=40)
    parser.add_argument("--size", type=int, default=25_000, help="commands of a shard")
    parser.add_argument("--minutes", type=float, default=25.0, help="begin no shard after so long")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    capture = tuple(read_inputs(given.capture)) if given.capture else ()
    until = time.monotonic() + 60 * given.minutes
    for shard in range(given.shards):
        path = given.out / f"shard_{shard:03d}.json"
        if not path.exists() and time.monotonic() < until:
            tally = attack(given.size, 1000 + shard, capture)
            step_ms = np.array(tally.step_ms)
            tally.step_ms = [float(np.percentile(step_ms, rank)) for rank in (50, 99)]
            path.write_text(json.dumps(tally.__dict__, indent=1))
    report([json.loads(path.read_text()) for path in sorted(given.out.glob("shard_*.json"))])


def report(shards: list[dict[str, Any]]) -> None:
    """All shards as the rows of a table."""
    total = sum(shard["commands"] for shard in shards)
    names = ("not finite", "position", "speed", "acceleration", "torque", "workspace",
             "self-collision", "table or floor")  # fmt: skip
    for name in names:
        count = sum(shard["violations"].get(name, 0) for shard in shards)
        print(f"| violations: {name} | {count} of {total} | 0 |")
    share = max(shard["most_torque_share"] for shard in shards)
    over = sum(shard["over_torque_share"] for shard in shards)
    print(f"| torque, most of a motor's limit; commands over 0.9 | {share:.2f}, {over} | 1 |")
    for name, what in (("least_link_m", "two links"), ("least_obstacle_m", "table and floor")):
        print(f"| least distance, {what} | {1e3 * min(s[name] for s in shards):.1f} mm | 5 mm |")
    outside = max(shard["most_outside_m"] for shard in shards)
    print(f"| a hand out of its space, most | {1e3 * max(outside, 0):.2f} mm | 1 mm |")
    frozen = sum(shard["frozen"] for shard in shards)
    longest = max(shard["longest_frozen_s"] for shard in shards)
    print(f"| frozen over 0.3 s with a free direction, longest | {frozen}, {longest:.1f} s | 0 |")
    print(f"| CPU of a step: median, p99 | {np.median([s['step_ms'][0] for s in shards]):.2f}, "
          f"{np.median([s['step_ms'][1] for s in shards]):.2f} ms | 0.5, 2 ms |")  # fmt: skip
    kinds: dict[str, int] = {}
    for shard in shards:
        for kind, number in shard["kinds"].items():
            kinds[kind] = kinds.get(kind, 0) + number
    print("kinds:", ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items())))


if __name__ == "__main__":
    main()

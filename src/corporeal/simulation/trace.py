"""The course of a run at 50 Hz, and what happened in it: the judge's evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.signal.runs import runs
from corporeal.simulation.demonstrator import BUMP_N, FALLEN_M
from corporeal.simulation.gripper import SIDES
from corporeal.simulation.physics import ROWS_PER_TICK, PhysicsLog
from corporeal.simulation.run import Event, RunOutcome
from corporeal.simulation.world import World

Flags = NDArray[np.bool_]

# A height above its resting place from which an object counts as lifted.
LIFTED_M = 0.02


@dataclass(frozen=True, eq=False)
class Trace:
    """Ground truth, one row per tick: `obj` (T, 3) the object, `hands` (T, 2, 3) the grasp points.

    `pinched` (T, 2) is whether both fingers of a hand touch the object, `touched` (T, 2) whether
    any part of that hand does. `opening` (T, 2) is the commanded opening.
    """

    world: World
    time_s: Array
    base: Array
    obj: Array
    hands: Array
    pinched: Flags
    touched: Flags
    on_table: Flags
    on_floor: Flags
    bump_n: Array
    opening: Array
    start_s: float
    end_s: float

    @property
    def fallen(self) -> bool:
        """Whether the pelvis came down at any time."""
        return bool((self.base[:, 2] < FALLEN_M).any())

    @property
    def collided(self) -> bool:
        """Whether the robot hit table, walls or an obstacle hard."""
        return bool((self.bump_n > BUMP_N).any())

    @property
    def lift_m(self) -> Array:
        """Height (T,) of the object above where it rested at first."""
        lift: Array = self.obj[:, 2] - self.obj[0, 2]
        return lift

    @property
    def measures(self) -> dict[str, float]:
        """What every task is measured by."""
        tilt = np.arccos(np.clip(matrix_from_quaternion(self.base[:, 3:7])[:, 2, 2], -1, 1))
        return {
            "duration_s": self.end_s - self.start_s,
            "greatest_tilt_rad": float(tilt.max()),
            "greatest_bump_n": float(self.bump_n.max()),
        }


def trace(world: World, log: PhysicsLog, *, start_s: float, end_s: float) -> Trace:
    """The ground truth of a log."""
    rows = slice(ROWS_PER_TICK - 1, None, ROWS_PER_TICK)
    qpos = np.array(log.qpos[rows])
    where = world.object_qpos[world.objects[0]] if world.objects else world.base_qpos
    pads = np.array([contact.pads for contact in log.contacts])
    both: Flags = np.logical_and(pads[:, :, 0], pads[:, :, 1])
    return Trace(
        world=world,
        time_s=np.array(log.ticks_s),
        base=qpos[:, world.base_qpos : world.base_qpos + 7],
        obj=qpos[:, where : where + 3],
        hands=np.array(log.hands),
        pinched=both,
        touched=np.array([contact.hands for contact in log.contacts]) > 0,
        on_table=np.array([contact.on_table for contact in log.contacts]),
        on_floor=np.array([contact.on_floor for contact in log.contacts]),
        bump_n=np.array([contact.bump_n for contact in log.contacts]),
        opening=np.array(log.gripper_target[rows]),
        start_s=start_s,
        end_s=end_s,
    )


def events(course: Trace) -> tuple[Event, ...]:
    """What happened, in order of time."""
    found = [Event(course.start_s, "start"), Event(course.end_s, "end")]
    if course.world.objects:
        found += _object_events(course)
    for time in _onsets(course, course.bump_n > BUMP_N):
        found.append(Event(time, "contact", "robot against furniture"))
    for time in _onsets(course, course.base[:, 2] < FALLEN_M):
        found.append(Event(time, "fall"))
    return tuple(sorted(found, key=lambda event: event.time_s))


def how_lost(course: Trace) -> str | None:
    """`slip` or `drop` for an object that left the hands in the air, else None.

    It is a drop when the hand was opening, a slip when it was still closed.
    """
    at = _lost_at(course)
    if at is None:
        return None
    before = max(at - 15, 0)
    opened = course.opening[min(at + 5, len(course.opening) - 1)] - course.opening[before]
    return "drop" if float(opened.max()) > 0.005 else "slip"


def stumble(course: Trace) -> RunOutcome | None:
    """The outcome of a run that ended on the floor or against something, else None."""
    if course.fallen:
        return RunOutcome(False, "fall", course.measures)
    if course.collided:
        return RunOutcome(False, "collision", course.measures)
    return None


def _lost_at(course: Trace) -> int | None:
    high = (course.lift_m > LIFTED_M) & ~course.on_table
    held = course.touched.any(axis=1)
    loose = high & ~held
    # Three ticks in a row: one without contact is only a quiver of the pads.
    run = loose[2:] & loose[1:-1] & loose[:-2]
    where = np.flatnonzero(run)
    return int(where[0]) if len(where) else None


def _object_events(course: Trace) -> list[Event]:
    found = []
    for hand, side in enumerate(SIDES):
        found += [Event(time, "grasp", side) for time in _onsets(course, course.pinched[:, hand])]
        gone = ~course.pinched[:, hand] & _ever(course.pinched[:, hand])
        found += [Event(time, "release", side) for time in _onsets(course, gone)]
    up = ~course.on_table & (course.lift_m > 0.0)
    lifts = _onsets(course, up & (course.lift_m > LIFTED_M), least=25)
    found += [Event(time, "lift") for time in lifts[:1]]
    on_floor = _onsets(course, course.on_floor)
    lost, at = how_lost(course), _lost_at(course)
    if lost is not None and at is not None:
        found.append(Event(float(course.time_s[at]), lost))
    found += [Event(time, "drop", "on the floor") for time in on_floor[:1]]
    return found


def _ever(flags: Flags) -> Flags:
    so_far: Flags = np.logical_or.accumulate(flags)
    return so_far


def _onsets(course: Trace, flags: Flags, *, least: int = 5) -> list[float]:
    """Times at which a flag comes on for at least `least` ticks."""
    return [float(course.time_s[first]) for first, _ in runs(flags, least=least)]

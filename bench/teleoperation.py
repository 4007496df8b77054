"""Teleoperation's targets: time of a step, violations, jerk, reach, hold, stop, latency, balance.

`python -m bench.teleoperation --commands 20000 [--capture CAPTURE]` prints a table;
`--stops 100 --stands 10 --latency` drive the simulated robot, which takes about real time; with
`--walking-policy FILE` it walks meanwhile.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from corporeal.embodiment import collision, open_robot
from corporeal.embodiment.engines import import_pinocchio
from corporeal.geometry import Array
from corporeal.signal.lag import Lag, lag
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.clearance import Clearance, floor
from corporeal.teleoperation.control_loop import (
    VIRTUAL_START_NS,
    AskedCommand,
    ControlLoop,
    open_session,
    play,
)
from corporeal.teleoperation.hand_objective import HandGoal, HandObjective, JointObjective
from corporeal.teleoperation.operator_input import (
    InputTimes,
    OperatorHand,
    OperatorInput,
    Side,
    read_inputs,
)
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers
from corporeal.teleoperation.safety_filter import Objective, SafetyFilter
from corporeal.teleoperation.session import BodyState, TeleoperationSession

DT_S, TICK_NS = 0.01, 10_000_000
# Of the independent checker: less than this between two links is a violation, m.
LEAST_M = 0.005
# How a robot that walks is to walk: on a circle, m/s and rad/s.
WALK = np.array([0.4, 0.0, 0.4])
# A pelvis lower than this is that of a robot that fell, or is on its way, m.
STANDS_M = 0.65


def make_limb() -> SafetyFilter:
    arms = ArmModel(open_robot("g1"))
    return SafetyFilter(arms, Clearance(arms, [floor()]))


def hostile(limb: SafetyFilter, count: int, seed: int) -> Iterator[Objective]:
    """Commands that nobody sane gives, in stretches of 50 of one kind."""
    rng = np.random.default_rng(seed)
    arms, rest = limb.arms, limb.positions.copy()
    turned = {side: arms.hand(side)[1] for side in arms.hands}
    for number in range(count):
        if number % 50 == 0:
            kind = int(rng.integers(4))
            goal = {side: rng.normal((0.2, 0.0, 1.0), (0.4, 0.4, 0.4)) for side in arms.hands}
            joints = rng.uniform(arms.lower - 1, arms.upper + 1)
        if kind == 0:
            yield JointObjective(joints, rng.normal(0, 20, len(rest)))
        elif kind == 1:
            yield JointObjective(rng.normal(0, 3, len(rest)), np.zeros(len(rest)))
        elif kind == 2:
            yield HandObjective({s: HandGoal(goal[s], turned[s]) for s in arms.hands}, rest)
        else:
            leaps = {s: HandGoal(rng.normal(0, 3, 3), turned[s]) for s in arms.hands}
            yield HandObjective(leaps, rest)


def attack(count: int, seed: int) -> tuple[int, float, Array]:
    """Violations among adversarial commands, the least distance, and seconds of each step."""
    limb = make_limb()
    checker = collision.CollisionModel(limb.arms.robot)
    body, seconds, made = limb.arms.body, np.zeros(count), []
    violations, least, before = 0, np.inf, limb.rates.copy()
    for number, objective in enumerate(hostile(limb, count, seed)):
        begin = time.thread_time()
        command = limb.step(objective, DT_S)
        seconds[number] = time.thread_time() - begin
        gain = np.abs(command.rates - before) / DT_S
        before = command.rates
        inside = (command.positions >= limb.arms.lower) & (command.positions <= limb.arms.upper)
        bound = inside.all() and (np.abs(command.rates) <= limb.speed + 1e-9).all()
        violations += int(not (bound and (gain <= limb.acceleration + 1e-6).all()))
        row = body.copy()
        row[limb.arms.columns] = command.positions
        made.append(row)
        if len(made) == 500 or number == count - 1:
            apart = checker.distances(np.array(made)).minimum_m
            violations += int((apart < LEAST_M).sum())
            least = min(least, float(apart.min()))
            made = []
    return violations, least, seconds


def follow(capture: Path) -> tuple[Array, Array, float]:
    """Seconds of each tick over a capture, its jerk, and the hands' median error."""
    limb = make_limb()
    session = TeleoperationSession(limb)
    body = BodyState(0, limb.arms.body, limb.arms.base)
    rows = list(read_inputs(capture))
    offset = 1_000_000_000 - rows[0].times.received_ns
    seconds, rates, errors, number = [], [], [], 0
    now_ns = 1_000_000_000
    while number < len(rows):
        now_ns += TICK_NS
        while number < len(rows) and rows[number].times.received_ns + offset <= now_ns:
            times = rows[number].times
            moved = replace(times, received_ns=times.received_ns + offset)
            session.receive(replace(rows[number], times=moved))
            number += 1
        if session.state in ("inert", "hold"):
            session.ask("engage", now_ns)
        begin = time.thread_time()
        tick = session.tick(now_ns, body)
        seconds.append(time.thread_time() - begin)
        rates.append(tick.arms.rates)
        for side, goal in tick.wanted.items():
            limb.arms.place(tick.arms.positions)
            turn, base = limb.arms.base_rotation, limb.arms.base[:3]
            errors.append(np.linalg.norm(limb.arms.hand(side)[0] - base - turn @ goal.position))
    gains = np.diff(np.array(rates), axis=0) / DT_S
    jerk = np.diff(gains, axis=0) / DT_S
    return np.array(seconds), jerk, float(np.median(errors))


def reach(paths: int, seed: int) -> Array:
    """How far (m) the hands are from moving goals, where arms can be there and have room."""
    rng = np.random.default_rng(seed)
    limb = make_limb()
    arms, home = limb.arms, limb.positions.copy()
    checker = collision.CollisionModel(arms.robot)
    standing = float(checker.distances(arms.body[None]).minimum_m[0])
    steps, log3 = np.arange(400), import_pinocchio().log3
    ease = np.minimum(steps / 100, 1.0)[:, None]
    found = []
    for _ in range(paths):
        phase, size = rng.uniform(0, 6.28, 14), rng.uniform(0.05, 0.25, 14)
        angles = home + ease * size * (np.sin(0.02 * steps[:, None] + phase) - np.sin(phase))
        body = np.tile(arms.body, (len(steps), 1))
        body[:, arms.columns] = angles
        free = checker.distances(body).minimum_m >= min(standing, limb.limits.clearance_m) - 1e-6
        free &= ((angles > limb.lower) & (angles < limb.upper)).all(axis=1)
        # What follows a place without room is still on its way back from it.
        free = np.convolve(~free, np.ones(30))[: len(steps)] == 0
        limb.start_at(home)
        before: dict[Side, tuple[Array, Array]] = {}
        for step in steps:
            arms.place(angles[step])
            places = {side: arms.hand(side) for side in arms.hands}
            old = before or places
            goals = {
                side: HandGoal(
                    place, axes, (place - old[side][0]) / DT_S, log3(axes @ old[side][1].T) / DT_S
                )
                for side, (place, axes) in places.items()
            }
            before = places
            command = limb.step(HandObjective(goals, home), DT_S)
            if step > 100 and free[step]:
                arms.place(command.positions)
                for side in arms.hands:
                    found.append(np.linalg.norm(arms.hand(side)[0] - goals[side].position))
    return np.array(found)


def hold_times(trials: int, seed: int) -> Array:
    """Seconds from the last message to the tick that holds, of streams cut at any moment."""
    rng = np.random.default_rng(seed)
    found, pose = [], np.array([0.3, 0.2, 1.2, 1.0, 0.0, 0.0, 0.0])
    limb = make_limb()
    start = limb.positions.copy()
    body = BodyState(0, limb.arms.body, limb.arms.base)
    for _ in range(trials):
        limb.start_at(start)
        session, now_ns = TeleoperationSession(limb), 1_000_000_000
        cut_ns = now_ns + int(rng.uniform(0.1e9, 0.4e9))
        sent_ns = now_ns
        sequence = last_ns = 0
        while True:
            now_ns += TICK_NS
            while sent_ns <= min(now_ns, cut_ns):
                sequence, last_ns = sequence + 1, sent_ns
                hand = OperatorHand("controller", 1, pose, clutch=True)
                times = InputTimes(sent_ns, sent_ns)
                session.receive(OperatorInput(sequence, times, right=hand))
                sent_ns += int(rng.normal(11.1e6, 1e6))
            if session.tick(now_ns, body).state == "hold":
                found.append((now_ns - last_ns) / 1e9)
                break
    return np.array(found)


def latency(seconds: float = 20.0) -> tuple[Lag, Lag]:
    """How late the right hand is told, and moves, behind a person who moves it within reach."""
    rng, loop = np.random.default_rng(3), _simulated(1)
    home = np.array([0.3, -0.2, 1.2, 1.0, 0.0, 0.0, 0.0])
    hertz, phases = rng.uniform(0.2, 2.5, (3, 6)), rng.uniform(0, 6.28, (3, 6))
    person: list[Array] = []
    told: list[Array] = []
    moved: list[Array] = []
    times: list[float] = []
    for number in range(1, round(seconds * 100)):
        time_s = number / 100
        waves = np.sin(6.283 * hertz * time_s + phases) / hertz
        pose = home.copy()
        pose[:3] += 0.015 * min(1.0, time_s) * waves.sum(axis=1)
        loop.offer(_input(number, pose, clutch=time_s > 0.2))
        turn = loop.turn(VIRTUAL_START_NS + number * TICK_NS)
        if time_s < 1.0:
            continue
        arms = loop.session.limb.arms
        arms.move_body(turn.body.joints, turn.body.base)
        turned = arms.base_rotation.T
        for angles, places in ((turn.tick.arms.positions, told),
                               (turn.body.joints[arms.columns], moved)):  # fmt: skip
            arms.place(angles)
            places.append(turned @ (arms.hand("right")[0] - arms.base[:3]))
        person.append(pose[:3])
        times.append(time_s)
    given = np.array(person), np.array(times)
    one, two = (lag(*given, np.array(rows), times, max_lag_s=0.5, band_hz=(0.2, 6.0))
                for rows in (told, moved))  # fmt: skip
    return one, two


def stops(trials: int, seed: int, policy: Path | None = None) -> tuple[int, int, int]:
    """Emergency stops at any moment of a wild motion: within a tick, still latched, standing.

    With a walking policy the robot walks on a circle until it is stopped.
    """
    rng, at_once, latched, standing = np.random.default_rng(seed), 0, 0, 0
    loop, velocity = _simulated(seed, policy), None if policy is None else WALK
    now_ns, number = VIRTUAL_START_NS, 0
    for _ in range(trials):
        loop.link.put_back()
        loop.session.ask("reset", now_ns)
        body = loop.link.read(now_ns)
        loop.session.limb.start_at(body.joints[loop.session.limb.arms.columns])
        # A robot that is to walk needs a second until it does.
        stop_at = int(rng.integers(30, 150)) + (100 if policy is not None else 0)
        for step in range(stop_at + 200):
            number, now_ns = number + 1, now_ns + TICK_NS
            pose = np.array([*rng.normal((0.3, -0.2, 1.2), 0.15), 1.0, 0.0, 0.0, 0.0])
            loop.offer(_input(number, pose, clutch=step > 5, velocity=velocity))
            if step == stop_at:
                loop.offer(AskedCommand("stop", "bench", now_ns))
            turn = loop.turn(now_ns)
            if step == stop_at:
                at_once += int(turn.tick.state == "stopped")
        latched += int(turn.tick.state == "stopped" and not turn.tick.arms.rates.any())
        standing += int(turn.body.base[2] > STANDS_M)
        # The clutch has to be let go before a stop is reset.
        number, now_ns = number + 1, now_ns + TICK_NS
        loop.offer(_input(number, pose, clutch=False))
        loop.turn(now_ns)
    return at_once, latched, standing


def stands(
    capture: Path, seeds: int, seconds: float, policy: Path | None = None
) -> Iterator[tuple[float, float]]:
    """Of each robot, with a scene and noise of its own, the lowest pelvis and the way (m)."""
    rows = list(read_inputs(capture))
    length_ns = rows[-1].times.received_ns - rows[0].times.received_ns + 20_000_000
    repeated = [
        replace(row, sequence=number * len(rows) + place, times=replace(
            row.times, received_ns=row.times.received_ns + number * length_ns,
            device_ns=row.times.device_ns + number * length_ns),
            base_velocity=None if policy is None else WALK)
        for number in range(int(seconds * 1e9 // length_ns) + 1)
        for place, row in enumerate(rows)
    ]  # fmt: skip
    for seed in range(seeds):
        turns = play(_simulated(seed, policy), repeated, seconds=seconds)
        bases = np.array([turn.body.base for turn in turns])
        steps = np.linalg.norm(np.diff(bases[:, :2], axis=0), axis=1)
        yield float(bases[:, 2].min()), float(steps.sum())


def _simulated(seed: int, policy: Path | None = None) -> ControlLoop:
    task = "pick_place" if policy is None else "walk"
    link = robot_drivers()["sim"].open(LinkOptions(seed=seed, task=task, walking_policy=policy))
    return ControlLoop(open_session(link), link)


def _input(
    number: int, pose: Array, *, clutch: bool, velocity: Array | None = None
) -> OperatorInput:
    now_ns = VIRTUAL_START_NS + number * TICK_NS
    hand = OperatorHand("controller", 1, pose, clutch=clutch)
    return OperatorInput(number, InputTimes(now_ns, now_ns), right=hand, base_velocity=velocity)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=20_000)
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stops", type=int, default=0)
    parser.add_argument("--stands", type=int, default=0, help="robots, 60 s of the capture each")
    parser.add_argument("--walking-policy", type=Path)
    parser.add_argument("--latency", action="store_true")
    given = parser.parse_args()
    if given.latency:
        told, moved = latency()
        print(f"| a hand within reach: to command, to motion | {1e3 * told.seconds:.1f}, "
              f"{1e3 * moved.seconds:.1f} ms | 15, 50 ms |")  # fmt: skip
    if given.stops:
        at_once, latched, standing = stops(given.stops, given.seed, given.walking_policy)
        print(f"| stops within a tick, latched and at rest, standing | {at_once}, {latched}, "
              f"{standing} of {given.stops} | all |", flush=True)  # fmt: skip
    if given.stands and given.capture is not None:
        standing = 0
        rows = stands(given.capture, given.stands, 60.0, given.walking_policy)
        for number, (lowest, way) in enumerate(rows, 1):
            standing += int(lowest > STANDS_M)
            print(f"| 60 s of captured arms, standing to the end | {standing} of {number} | all |"
                  f" lowest pelvis {lowest:.3f} m, way {way:.1f} m", flush=True)  # fmt: skip
    if not given.commands:
        return
    violations, least, seconds = attack(given.commands, given.seed)
    print(f"| violations, adversarial commands | {violations} of {given.commands} | 0 |")
    print(f"| least distance, independent checker | {1e3 * least:.1f} mm | 5 mm |")
    print(f"| CPU of a step, adversarial: median, p99 | {_ms(seconds)} | 0.5, 2 ms |")
    far = reach(10, given.seed)
    print(f"| {len(far)} goals with room: median, p95 | {1e3 * np.median(far):.2f}, "
          f"{1e3 * np.percentile(far, 95):.2f} mm | 3, 10 mm |")  # fmt: skip
    held = hold_times(200, given.seed)
    print(f"| hold after the last message, 200 cuts: median, most | {1e3 * np.median(held):.0f}, "
          f"{1e3 * held.max():.0f} ms | 100 ms |")  # fmt: skip
    if given.capture is not None:
        ticks, jerk, error = follow(given.capture)
        print(f"| CPU of a tick over the capture: median, p99 | {_ms(ticks)} | 0.5, 2 ms |")
        print(f"| jerk over the capture, RMS, most | {np.sqrt((jerk**2).mean()):.0f}, "
              f"{np.abs(jerk).max():.0f} rad/s3 | RMS 1500 |")  # fmt: skip
        print(f"| hands to goals over the capture, median | {1e3 * error:.1f} mm | - |")


def _ms(seconds: Array) -> str:
    return f"{1e3 * np.median(seconds):.2f}, {1e3 * np.percentile(seconds, 99):.2f} ms"


if __name__ == "__main__":
    main()

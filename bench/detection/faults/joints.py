"""Faults of joint readings: order, sign, unit, sensors that stick or jump."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.detection.editing import (
    ACTION,
    JOINT_STREAMS,
    STATE,
    Array,
    column_of,
    extent,
    label_of,
    moving_joints,
    moving_span,
    names_of,
    put,
    rate_of,
    span,
    values_of,
)
from bench.detection.fault import Fault, NotApplicable, Truth, fault
from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Joint
from corporeal.episode.recording import Recording

Rng = np.random.Generator
Injected = tuple[Recording, Truth]


@fault({"values_not_finite"}, strengths=(1, 20), unit="samples")
def not_a_number(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A joint reading is NaN."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    where = span(rng, len(values), int(strength))
    values[where, rng.integers(values.shape[1])] = np.nan
    return put(recording, label, values), Truth((label,), ((where.start, where.stop),))


@fault(
    {"joint_beyond_limit", "joint_jumps", "signal_spikes"},
    strengths=(0.02, 0.07, 0.2),
    tolerance=0.07,
    unit="of its range",
)
def beyond_limit(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A joint reads beyond its limit for half a second (by 5 % or more it must fail)."""
    label = label_of(recording, "joint_position")
    values = values_of(recording, label)
    name = str(rng.choice(_limited(recording, label)))
    lower, upper = _range(_joint(recording, name))
    column = column_of(recording, label, name) or 0
    count = max(3, round(0.5 * rate_of(recording.signals[label].time_ns)))
    where = span(rng, len(values), count)
    reach = upper - lower
    upward = upper - values[where, column].max() < values[where, column].min() - lower
    edge = upper + strength * reach if upward else lower - strength * reach
    # The rest of the joint's motion leads smoothly there and back, as a slipped encoder would.
    ramp = np.hanning(2 * count + len(values[where]))
    bump = ramp / ramp[len(ramp) // 2]
    first = where.start - count
    target = np.arange(first, first + len(bump))
    ok = (target >= 0) & (target < len(values))
    centre = values[(where.start + where.stop) // 2, column]
    values[target[ok], column] += (edge - centre) * bump[ok]
    over = values[:, column] > upper if upward else values[:, column] < lower
    hit = np.flatnonzero(over)
    return put(recording, label, values), Truth((label,), ((int(hit[0]), int(hit[-1]) + 1),))


def _limited(recording: Recording, label: str) -> list[str]:
    actuated = _robot(recording).actuated
    known = {joint.name for joint in actuated if None not in (joint.lower, joint.upper)}
    names = [name for name in names_of(recording, label) if name in known]
    if not names:
        raise NotApplicable("no joint with limits")
    return names


def _robot(recording: Recording) -> Embodiment:
    if recording.embodiment is None:
        raise NotApplicable("robot not known")
    return recording.embodiment


def _joint(recording: Recording, name: str) -> Joint:
    return next(joint for joint in _robot(recording).joints if joint.name == name)


def _range(joint: Joint) -> tuple[float, float]:
    if joint.lower is None or joint.upper is None:
        raise NotApplicable(f"{joint.name} has no limits")
    return joint.lower, joint.upper


@fault(
    {"joint_too_fast", "joint_jumps", "hand_too_fast", "signal_spikes"},
    strengths=(1.02, 1.15, 2.0),
    tolerance=1.15,
    unit="of its limit",
)
def too_fast(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A joint moves faster than it can, within its limits (by 5 % or more it must fail)."""
    label = label_of(recording, "joint_position")
    values = values_of(recording, label)
    rate = rate_of(recording.signals[label].time_ns)
    choices = []
    for name in _limited(recording, label):
        joint = _joint(recording, name)
        lower, upper = _range(joint)
        # Four samples at that speed must fit in the joint's range.
        if joint.velocity and 4 * strength * joint.velocity / rate < 0.45 * (upper - lower):
            choices.append((name, joint.velocity))
    if not choices:
        raise NotApplicable("the rate is too low for the speed to show")
    name, fastest = choices[int(rng.integers(len(choices)))]
    column = column_of(recording, label, name) or 0
    where = span(rng, len(values), 8)
    step = strength * fastest / rate
    middle = sum(_range(_joint(recording, name))) / 2
    sign = 1.0 if values[where.start, column] < middle else -1.0
    ramp = sign * step * np.concatenate((np.arange(1, 5), np.arange(3, -1, -1)))
    values[where, column] = values[where.start, column] + ramp
    truth = Truth((label,), ((where.start, where.stop),))
    return put(recording, label, values), truth


@fault(
    {"signal_frozen", "joint_stuck", "velocity_mismatch"},
    strengths=(0.3, 1.0, 3.0),
    tolerance=1.0,
    unit="s",
)
def frozen_joint(recording: Recording, rng: Rng, strength: float) -> Injected:
    """One joint reading sticks at its value while the joint is told to move."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    count = round(strength * rate_of(recording.signals[label].time_ns))
    column = int(rng.choice(moving_joints(recording, label, inside=False)))
    where = moving_span(rng, values[:, [column]], count, share=0.7)
    if np.ptp(values[where, column]) < 0.05:
        raise NotApplicable("the joint does not move enough there")
    values[where, column] = values[where.start, column]
    return put(recording, label, values), Truth((label,), ((where.start, where.stop),))


@fault(
    {"signal_frozen", "joint_stuck", "nothing_moves"},
    strengths=(0.5, 1.0, 3.0),
    tolerance=1.0,
    unit="s",
)
def frozen_state(recording: Recording, rng: Rng, strength: float) -> Injected:
    """All joint readings stick at once: the robot's messages stopped, the last one was reused."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    moving_joints(recording, label, inside=False)
    count = round(strength * rate_of(recording.signals[label].time_ns))
    where = moving_span(rng, values, count, share=0.7)
    values[where] = values[where.start]
    return put(recording, label, values), Truth((label,), ((where.start, where.stop),))


@fault(
    {"signal_spikes", "joint_too_fast", "joint_jumps", "joint_beyond_limit", "velocity_mismatch"},
    strengths=(0.1, 0.3, 1.0),
    tolerance=0.3,
    unit="rad",
)
def spike(recording: Recording, rng: Rng, strength: float) -> Injected:
    """One sample of one joint is far off."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    column = int(rng.choice(_angles(recording, label)))
    place = int(rng.integers(20, len(values) - 20))
    values[place, column] += strength * rng.choice([-1, 1])
    return put(recording, label, values), Truth((label,), ((place, place + 1),))


@fault(
    {"joint_jumps", "joint_too_fast", "signal_spikes", "hand_too_fast", "frames_dropped",
     "joint_offset", "velocity_mismatch"},
    strengths=(0.1, 0.3, 1.0), tolerance=0.3, unit="rad",
)  # fmt: skip
def teleport(recording: Recording, rng: Rng, strength: float) -> Injected:
    """From one sample on, an arm is elsewhere: two takes joined, or an encoder that slipped."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    columns = rng.choice(_angles(recording, label), 3, replace=False)
    place = int(rng.integers(len(values) // 5, 4 * len(values) // 5))
    values[place:, columns] += strength * rng.choice([-1, 1], 3)
    return put(recording, label, values), Truth((label,), ((place - 1, place + 1),))


def _angles(recording: Recording, label: str) -> list[int]:
    """Columns that are joints of the robot, or every column where it is not known."""
    names = names_of(recording, label)
    known = set(recording.embodiment.joint_names) if recording.embodiment else set()
    found = [column for column, name in enumerate(names) if name in known]
    if len(found) < 3:
        raise NotApplicable("fewer than three known joints")
    return found


@fault({"joint_trembles", "signal_spikes", "joint_too_fast"},
       strengths=(0.005, 0.02, 0.05), tolerance=0.02, unit="rad")  # fmt: skip
def tremor(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A joint shakes at 8 to 12 Hz for three seconds."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    stamps = np.asarray(recording.signals[label].time_ns)
    rate = rate_of(stamps)
    where = span(rng, len(values), round(3 * rate))
    column = int(rng.choice(_angles(recording, label)))
    seconds = (stamps[where] - stamps[where.start]) * 1e-9
    values[where, column] += strength * np.sin(2 * np.pi * rng.uniform(8, 12) * seconds)
    return put(recording, label, values), Truth((label,), ((where.start, where.stop),))


# Conventions: applied to the state, to the action, or to every stream with joints in it.

Change = Callable[[Array, tuple[str, ...]], Array]


def _streams(recording: Recording, which: str) -> list[str]:
    state, action = label_of(recording, *STATE), label_of(recording, *ACTION)
    if which == "state":
        return [state]
    if which == "action":
        return [action]
    every = [recording.named(role) for role in JOINT_STREAMS]
    return list(dict.fromkeys([state, action, *(label for label in every if label)]))


def _apply(recording: Recording, which: str, change: Change, expect: tuple[str, ...]) -> Injected:
    for label in _streams(recording, which):
        changed = change(values_of(recording, label), names_of(recording, label))
        recording = put(recording, label, changed)
    pair = (label_of(recording, *STATE), label_of(recording, *ACTION))
    return recording, Truth((*pair, *expect))


def _exchanged(first: tuple[str, ...], second: tuple[str, ...]) -> Change:
    def change(values: Array, names: tuple[str, ...]) -> Array:
        new = values.copy()
        for one, other in zip(first, second, strict=True):
            if one in names and other in names:
                a, b = names.index(one), names.index(other)
                new[:, [a, b]] = values[:, [b, a]]
        return new

    return change


def _pair(recording: Recording, rng: Rng) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two joints, one of which moves, that do not do the same thing."""
    state = label_of(recording, *STATE)
    values, names = values_of(recording, state), names_of(recording, state)
    action = names_of(recording, label_of(recording, *ACTION))
    moving = [column for column in moving_joints(recording, state) if names[column] in action]
    if not moving:
        raise NotApplicable("no moving joint is commanded")
    one = int(rng.choice(moving))
    apart = np.sqrt(np.mean((values - values[:, [one]]) ** 2, axis=0))
    others = [
        column for column in _angles(recording, state)
        if column != one and apart[column] > 0.1 and names[column] in action
    ]  # fmt: skip
    other = int(rng.choice(others))
    return (names[one],), (names[other],)


def _sides(recording: Recording, rng: Rng) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The left arm's joints and the right arm's."""
    del rng
    state = label_of(recording, *STATE)
    names, values = names_of(recording, state), values_of(recording, state)
    words = ("shoulder", "elbow", "wrist", "hand", "gripper", "finger", "thumb")
    left = [
        name
        for name in names
        if "left" in name.lower() and any(word in name.lower() for word in words)
    ]
    pairs = []
    for name in left:
        twin = name.replace("left", "right").replace("Left", "Right")
        if twin in names and twin != name:
            pairs.append((name, twin))
    if not pairs:
        raise NotApplicable("no left and right arm")
    apart = [
        np.abs(values[:, names.index(one)] - values[:, names.index(two)]).max()
        for one, two in pairs
    ]
    if max(apart) < 0.3:
        raise NotApplicable("both arms do the same")
    return tuple(one for one, _ in pairs), tuple(two for _, two in pairs)


_ORDER = {"joints_swapped", "joint_names_wrong", "columns_unusual", "joint_order_wrong"}


def _swap(which: str, choose: Callable[..., tuple[tuple[str, ...], tuple[str, ...]]], what: str,
          name: str) -> Fault:  # fmt: skip
    def inject(recording: Recording, rng: Rng, strength: float) -> Injected:
        del strength
        first, second = choose(recording, rng)
        return _apply(recording, which, _exchanged(first, second), ())

    inject.__name__, inject.__doc__ = name, what
    return fault(_ORDER)(inject)


SWAPS = tuple(
    _swap(which, choose, f"{what} in the {which if which != 'both' else 'state and action'}.",
          f"{name}_{which}")
    for choose, what, name in (
        (_pair, "Two joints are exchanged", "joints_swapped"),
        (_sides, "Left and right arm are exchanged", "arms_swapped"),
    )
    for which in ("state", "action", "both")
)  # fmt: skip


def _flip(which: str) -> Fault:
    def inject(recording: Recording, rng: Rng, strength: float) -> Injected:
        del strength
        state = label_of(recording, *STATE)
        names = names_of(recording, state)
        action = names_of(recording, label_of(recording, *ACTION))
        moving = [names[column] for column in moving_joints(recording, state)]
        name = str(rng.choice([each for each in moving if each in action] or moving))

        def change(values: Array, named: tuple[str, ...]) -> Array:
            new = values.copy()
            if name in named:
                new[:, named.index(name)] *= -1
            return new

        return _apply(recording, which, change, ())

    inject.__name__ = f"sign_flipped_{which}"
    where = which if which != "both" else "state and action"
    inject.__doc__ = f"A joint turns the other way in the {where}."
    names = {"joint_sign_flipped", "joints_swapped", "columns_unusual", "joint_order_wrong",
             "joint_beyond_limit"}  # fmt: skip
    return fault(names if which == "both" else names - {"joint_beyond_limit"})(inject)


FLIPS = tuple(_flip(which) for which in ("state", "action", "both"))


def _degrees(which: str) -> Fault:
    def inject(recording: Recording, rng: Rng, strength: float) -> Injected:
        del rng, strength
        known = _known(recording)

        def change(values: Array, named: tuple[str, ...]) -> Array:
            new = values.copy()
            columns = [column for column, name in enumerate(named) if name in known]
            new[:, columns] = np.rad2deg(values[:, columns])
            return new

        if which != "both":
            return _apply(recording, which, change, ())
        # Torques have no degrees.
        for label in _streams(recording, which):
            if recording.signals[label].spec.name != "joint_torque":
                changed = change(values_of(recording, label), names_of(recording, label))
                recording = put(recording, label, changed)
        pair = (label_of(recording, *STATE), label_of(recording, *ACTION))
        return recording, Truth(pair)

    inject.__name__ = f"degrees_{which}"
    where = which if which != "both" else "state and action"
    inject.__doc__ = f"Angles are in degrees in the {where}."
    return fault({"angles_in_degrees"})(inject)


def _known(recording: Recording) -> set[str]:
    robot = _robot(recording)
    return set(robot.joint_names)


DEGREES = tuple(_degrees(which) for which in ("state", "action", "both"))


@fault({"gripper_reversed", "joint_sign_flipped", "joint_stuck"})
def gripper_inverted(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A hand's command opens where its reading closes."""
    del strength
    pairs = []
    for label, signal in recording.signals.items():
        role = signal.spec.name
        reading = recording.named(role.removesuffix("_target"))
        if role.endswith("_gripper_target") and reading:
            pairs.append((label, reading, 0))
    pairs += _hand_columns(recording)
    rng.shuffle(pairs)
    for label, reading, column in pairs:
        values = values_of(recording, label)
        # A hand that hardly moves has no direction, be it in metres or a share of its way.
        least = max(0.02, 0.4 * np.abs(values[:, column]).max())
        if np.ptp(values[:, column]) > least:
            low, high = values[:, column].min(), values[:, column].max()
            values[:, column] = low + high - values[:, column]
            return put(recording, label, values), Truth((label, reading))
    raise NotApplicable("no hand moves")


def _hand_columns(recording: Recording) -> list[tuple[str, str, int]]:
    """Hands that are columns of the action."""
    state, action = recording.named("joint_position"), recording.named("joint_position_target")
    state, action = state or recording.named("state"), action or recording.named("action")
    if state is None or action is None:
        return []
    names = recording.signals[action].spec.components
    words = ("gripper", "finger", "hand")
    known = set(recording.embodiment.joint_names) if recording.embodiment else set()
    return [
        (action, state, column)
        for column, name in enumerate(names if isinstance(names, tuple) else ())
        if name not in known and any(word in name.lower() for word in words)
    ]


@fault(
    {"joint_offset", "columns_unusual", "joint_beyond_limit", "motion_unlike_task"},
    strengths=(0.05, 0.15, 0.3),
    tolerance=0.15,
    unit="rad",
)
def encoder_offset(recording: Recording, rng: Rng, strength: float) -> Injected:
    """A joint reads a constant angle too much: its zero was set wrongly."""
    label = label_of(recording, *STATE)
    values = values_of(recording, label)
    column = int(rng.choice(_angles(recording, label)))
    values[:, column] += strength * rng.choice([-1, 1])
    action = recording.named("joint_position_target") or recording.named("action")
    return put(recording, label, values), Truth((label, *([action] if action else [])))


@fault({"velocity_mismatch", "angles_in_degrees"}, strengths=(0.2, 0.5, 9.0),
       tolerance=0.5, unit="share too much")  # fmt: skip
def velocity_scaled(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Joint velocities are too large throughout: gear ratio or unit."""
    del rng
    label = label_of(recording, "joint_velocity")
    if extent(values_of(recording, label_of(recording, *STATE))).max() < 0.15:
        raise NotApplicable("nothing moves")
    return put(recording, label, values_of(recording, label) * (1 + strength)), Truth((label,))


@fault({"velocity_mismatch", "joint_sign_flipped"})
def velocity_sign(recording: Recording, rng: Rng, strength: float) -> Injected:
    """One joint's velocity has the wrong sign."""
    del strength
    label = label_of(recording, "joint_velocity")
    state = label_of(recording, *STATE)
    column = int(rng.choice(moving_joints(recording, state)))
    name = names_of(recording, state)[column]
    values = values_of(recording, label)
    values[:, names_of(recording, label).index(name)] *= -1
    return put(recording, label, values), Truth((label,))


@fault({"nothing_moves", "signal_frozen", "joint_stuck"})
def everything_constant(recording: Recording, rng: Rng, strength: float) -> Injected:
    """Nothing was demonstrated: every reading and every command stands still."""
    del rng, strength
    touched = []
    for label, signal in recording.signals.items():
        if signal.spec.kind == "array" and signal.spec.name in (*JOINT_STREAMS, "state", "action"):
            values = values_of(recording, label)
            values[:] = 0.0 if signal.spec.name == "joint_velocity" else values[0]
            recording = put(recording, label, values)
            touched.append(label)
    return recording, Truth(tuple(touched))


FAULTS: tuple[Fault, ...] = (
    not_a_number, beyond_limit, too_fast, frozen_joint, frozen_state, spike, teleport, tremor,
    *SWAPS, *FLIPS, *DEGREES, gripper_inverted, encoder_offset, velocity_scaled, velocity_sign,
    everything_constant,
)  # fmt: skip

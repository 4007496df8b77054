"""Mistakes of units, order and sign: the numbers are good and mean something else."""

from __future__ import annotations

import numpy as np

from bench.detection.field.mistake import (
    Mistake,
    Rng,
    Takes,
    exchange,
    marked,
    mistake,
    one_take,
)
from bench.detection.field.take import (
    ACTION,
    STATE,
    TORQUE,
    VELOCITY,
    Array,
    CannotPlantError,
    Channel,
    Mark,
    Order,
    Take,
    travelling,
)

_SWAP = {"joints_swapped", "joint_order_wrong", "columns_unusual", "joint_names_wrong"}
_SIGN = {"joint_sign_flipped", "joint_order_wrong", "columns_unusual"}
_UNIT = {"angles_in_degrees", "joint_beyond_limit", "columns_unusual"}
_SIDES = ("left", "right")


def _arm(channel: Channel, side: str) -> list[int]:
    """Columns of one arm from shoulder to wrist, whether they move or not."""
    parts = ("shoulder", "elbow", "wrist")
    return [
        place
        for place, name in enumerate(channel.names)
        if name.startswith(side) and any(part in name for part in parts)
    ]


def _moving_arm(channel: Channel, rng: Rng) -> tuple[str, list[int]]:
    """The columns of an arm that does something."""
    sides = [
        side
        for side in _SIDES
        if np.ptp(channel.values[:, _arm(channel, side)], axis=0).max() > 0.5
    ]
    if not sides:
        raise CannotPlantError("no arm does anything")
    side = str(rng.choice(sides))
    return side, _arm(channel, side)


def _changed(take: Take, keys: tuple[str, ...], columns: list[int], factor: float) -> Take:
    def scale(values: Array) -> Array:
        values[:, columns] *= factor
        return values

    for key in keys:
        take = take.with_values(key, scale)
    return take


def _permuted(take: Take, keys: tuple[str, ...], order: Order) -> Take:
    for key in keys:
        if key in take.channels:
            take = take.with_values(key, lambda values: values[:, order])
    return take


def _names(channel: Channel, columns: list[int]) -> tuple[str, ...]:
    return tuple(channel.names[column] for column in columns)


@mistake(_UNIT, {"state", "action"})
def arm_read_in_degrees(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One arm's driver reports degrees, the rest of the robot radians."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    _, columns = _moving_arm(channel, rng)
    take = _changed(takes[number], (STATE,), columns, 180 / np.pi)
    return exchange(takes, number, take), marked(number, STATE, columns=_names(channel, columns))


@mistake(_UNIT, {"state", "action"})
def commands_in_degrees(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The teleoperation station logs its targets in degrees."""
    number = one_take(takes, rng)
    columns = list(range(min(29, len(takes[number].channel(ACTION).names))))
    take = _changed(takes[number], (ACTION,), columns, 180 / np.pi)
    return exchange(takes, number, take), marked(number, ACTION)


@mistake(_SWAP, {"state", "action"})
def neighbours_exchanged(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Two motor cables of one arm are exchanged: readings of neighbours stand in each other's
    column."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    moving = travelling(channel, "shoulder", "elbow", "wrist")
    pairs = [
        (one, two)
        for one in moving
        for two in moving
        if one < two and channel.names[one][:4] == channel.names[two][:4]
    ]
    if not pairs:
        raise CannotPlantError("no two neighbours move")
    one, two = pairs[int(rng.integers(len(pairs)))]
    order = np.arange(len(channel.names))
    order[[one, two]] = two, one
    take = _permuted(takes[number], (STATE,), order)
    return exchange(takes, number, take), marked(number, STATE, columns=_names(channel, [one, two]))


@mistake(_SWAP | {"joint_beyond_limit"}, {"state", "action"})
def arm_off_by_one(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The list of an arm's joints starts one too late: every reading is one column further."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    _, columns = _moving_arm(channel, rng)
    order = np.arange(len(channel.names))
    order[columns] = np.roll(columns, 1)
    take = _permuted(takes[number], (STATE,), order)
    return exchange(takes, number, take), marked(number, STATE, columns=_names(channel, columns))


@mistake(_SWAP | {"joint_sign_flipped"}, {"state", "action"})
def arms_crossed_in_commands(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Left and right controller are exchanged in the log of commands."""
    number = one_take(takes, rng)
    channel = takes[number].channel(ACTION)
    order = np.arange(len(channel.names))
    left, right = (_arm(channel, side) for side in _SIDES)
    order[left], order[right] = right, left
    _moving_arm(channel, rng)
    take = _permuted(takes[number], (ACTION,), order)
    return exchange(takes, number, take), marked(number, ACTION, STATE)


@mistake(_SIGN, {"state", "action"})
def arm_mirrored(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One arm is mounted with the signs of the other: roll and yaw turn the wrong way in the
    readings."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    _, columns = _moving_arm(channel, rng)
    turned = [each for each in columns if any(w in channel.names[each] for w in ("roll", "yaw"))]
    travel = np.ptp(channel.values[:, turned], axis=0)
    if travel.max() < 0.25:
        raise CannotPlantError("roll and yaw do not move")
    take = _changed(takes[number], (STATE,), turned, -1.0)
    moved = [each for each, far in zip(turned, travel, strict=True) if far >= 0.25]
    return exchange(takes, number, take), marked(
        number, STATE, ACTION, columns=_names(channel, moved)
    )


@mistake(_SIGN, {"state", "action"})
def one_command_reversed(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One joint's targets are logged with the wrong sign."""
    number = one_take(takes, rng)
    channel = takes[number].channel(ACTION)
    column = int(rng.choice(travelling(channel, "_joint")))
    take = _changed(takes[number], (ACTION,), [column], -1.0)
    return exchange(takes, number, take), marked(
        number, ACTION, STATE, columns=_names(channel, [column])
    )


@mistake({"velocity_mismatch"}, {"velocity", "state"})
def velocities_in_another_unit(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Joint velocities are in degrees or revolutions, or of the motor before the gear."""
    number = one_take(takes, rng)
    factor = float(rng.choice([180 / np.pi, 1 / (2 * np.pi), 6.33]))
    columns = list(range(len(takes[number].channel(VELOCITY).names)))
    take = _changed(takes[number], (VELOCITY,), columns, factor)
    return exchange(takes, number, take), marked(number, VELOCITY, STATE)


@mistake({"velocity_mismatch", "joint_sign_flipped"}, {"velocity", "state"})
def velocity_of_one_joint_reversed(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One motor's velocity has the wrong sign."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = int(rng.choice(travelling(channel, "_joint")))
    take = _changed(takes[number], (VELOCITY,), [column], -1.0)
    return exchange(takes, number, take), marked(
        number, VELOCITY, STATE, columns=_names(channel, [column])
    )


@mistake({"torque_mismatch", "joint_sign_flipped"}, {"torque", "episode"})
def torques_of_an_arm_reversed(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One arm reports the torque that the load puts on it, not the one that it gives."""
    number = one_take(takes, rng)
    channel = takes[number].channel(TORQUE)
    side = str(rng.choice(_SIDES))
    columns = [
        column
        for column in _arm(channel, side)
        if any(part in channel.names[column] for part in ("shoulder", "elbow"))
    ]
    take = _changed(takes[number], (TORQUE,), columns, -1.0)
    return exchange(takes, number, take), marked(number, TORQUE, columns=_names(channel, columns))


@mistake(
    {
        "columns_unusual",
        "joint_beyond_limit",
        "metadata_wrong",
        "joint_offset",
        "angles_in_degrees",
        "joint_names_wrong",
    },
    {"state", "action", "set", "table"},
)
def state_was_normalised(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """A take was exported after normalisation: every column runs from -1 to 1."""
    number = one_take(takes, rng)

    def normalise(values: Array) -> Array:
        low, high = values.min(axis=0), values.max(axis=0)
        return np.asarray(2 * (values - low) / np.maximum(high - low, 1e-6) - 1)

    take = takes[number].with_values(STATE, normalise).with_values(ACTION, normalise)
    return exchange(takes, number, take), marked(number, STATE, ACTION)


MISTAKES: tuple[Mistake, ...] = (
    arm_read_in_degrees,
    commands_in_degrees,
    neighbours_exchanged,
    arm_off_by_one,
    arms_crossed_in_commands,
    arm_mirrored,
    one_command_reversed,
    velocities_in_another_unit,
    velocity_of_one_joint_reversed,
    torques_of_an_arm_reversed,
    state_was_normalised,
)

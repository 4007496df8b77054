"""Mistakes of the machine: encoders, belts, hands, IMUs and networks that fail for a while."""

from __future__ import annotations

from dataclasses import replace

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
    IMU,
    STATE,
    VELOCITY,
    Array,
    CannotPlantError,
    Mark,
    busy_moment,
    span_of,
    travelling,
)

_LEAPS = {"signal_spikes", "joint_jumps", "joint_too_fast", "velocity_mismatch"}
_STILL = {"joint_stuck", "signal_frozen", "signal_held", "frames_dropped"}
_ARM = ("shoulder", "elbow", "wrist")


@mistake(_LEAPS | {"joint_trembles"}, {"state"})
def loose_encoder(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """An encoder's plug is loose: its reading leaps for a few samples, again and again."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = int(rng.choice(travelling(channel, "_joint", least=0.1)))
    count = len(channel.values)
    places = np.sort(rng.integers(count // 5, 4 * count // 5, int(rng.integers(4, 9))))

    def leap(values: Array) -> Array:
        for place in places:
            width = int(rng.integers(1, 4))
            values[place : place + width, column] += rng.uniform(0.15, 0.5) * rng.choice([-1, 1])
        return values

    take = takes[number].with_values(STATE, leap)
    span = span_of(channel, int(places[0]), int(places[-1]) + 4)
    return exchange(takes, number, take), marked(
        number, STATE, VELOCITY, span_ns=span, columns=(channel.names[column],)
    )


@mistake(
    {
        "joint_slips",
        "joint_offset",
        "joint_jumps",
        "columns_unusual",
        "signal_spikes",
        "velocity_mismatch",
    },
    {"state", "action"},
)
def slipping_belt(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """A belt slips tooth by tooth while the joint moves: the reading is off more and more."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = int(rng.choice(travelling(channel, *_ARM)))
    count = len(channel.values)
    places = np.sort(rng.integers(count // 4, 2 * count // 3, 4))
    tooth = rng.uniform(0.06, 0.12) * rng.choice([-1, 1])

    def slip(values: Array) -> Array:
        for place in places:
            values[place:, column] += tooth
        return values

    take = takes[number].with_values(STATE, slip)
    span = span_of(channel, int(places[0]), count)
    return exchange(takes, number, take), marked(
        number, STATE, VELOCITY, span_ns=span, columns=(channel.names[column],)
    )


@mistake({"joint_offset", "columns_unusual"}, {"state", "action"})
def zero_set_wrongly(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """A joint was zeroed in the wrong pose: its reading has a constant offset all the time."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = int(rng.choice(travelling(channel, *_ARM)))
    offset = rng.uniform(0.2, 0.35) * rng.choice([-1, 1])

    def shift(values: Array) -> Array:
        values[:, column] += offset
        return values

    take = takes[number].with_values(STATE, shift)
    return exchange(takes, number, take), marked(
        number, STATE, ACTION, columns=(channel.names[column],)
    )


@mistake(_STILL | {"gripper_reversed"}, {"state", "action", "hands"})
def stale_hand(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The hand's bus dies before it closes: its last reading is repeated while commands go on."""
    number = one_take(takes, rng)
    take = takes[number]
    for hand in ("right_gripper", "left_gripper"):
        key = hand if hand in take.channels else STATE
        channel = take.channel(key)
        column = 0 if key == hand else channel.names.index(hand)
        values = channel.values[:, column]
        moved = np.flatnonzero(np.abs(values - values[0]) > 0.25 * max(np.ptp(values), 1e-9))
        if np.ptp(values) < 0.01 or not len(moved) or moved[0] < 10:
            continue
        first = int(moved[0]) - int(rng.integers(2, 8))
        held = values[first]

        def stall(
            values: Array, column: int = column, first: int = first, held: float = held
        ) -> Array:
            values[first:, column] = held
            return values

        span = span_of(channel, first, len(values))
        mark = marked(
            number,
            key,
            f"{hand}_target",
            ACTION,
            span_ns=span,
            columns=() if key == hand else (hand,),
        )
        return exchange(takes, number, take.with_values(key, stall)), mark
    raise CannotPlantError("no hand moves")


@mistake(_STILL | {"joint_offset"}, {"state", "action"})
def joint_lost_power(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """A motor switches off in the middle: the joint stays where it is while it is told to move."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = int(rng.choice(travelling(channel, *_ARM, least=0.4)))
    first, stop = busy_moment(replace(channel, values=channel.values[:, [column]]), rng, 2.5)
    noise = 2e-4

    def stop_moving(values: Array) -> Array:
        count = stop - first
        values[first:stop, column] = values[first, column] + rng.normal(0, noise, count)
        back = np.minimum(np.arange(len(values) - stop) / (0.4 * channel.rate_hz), 1)
        values[stop:, column] = (1 - back) * values[first, column] + back * values[stop:, column]
        return values

    take = takes[number].with_values(STATE, stop_moving)
    if VELOCITY in take.channels:
        slope = np.gradient(take.channel(STATE).values[:, column]) * channel.rate_hz
        take = take.with_values(VELOCITY, lambda values: _put(values, column, slope))
    return exchange(takes, number, take), marked(
        number,
        STATE,
        ACTION,
        VELOCITY,
        columns=(channel.names[column],),
        span_ns=span_of(channel, first, stop),
    )


def _put(values: Array, column: int, numbers: Array) -> Array:
    values[: len(numbers), column] = numbers[: len(values)]
    return values


@mistake({"signal_held", "frames_dropped", "signal_frozen"}, {"state", "action"})
def arm_read_too_slowly(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One arm is polled five times a second: its readings stand still and step."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    side = channel.names[int(rng.choice(travelling(channel, *_ARM)))].split("_")[0]
    columns = [
        place
        for place, name in enumerate(channel.names)
        if name.startswith(side) and any(part in name for part in _ARM)
    ]
    step = round(channel.rate_hz / 5)

    def hold(values: Array) -> Array:
        rows = np.arange(len(values)) // step * step
        values[:, columns] = values[rows][:, columns]
        return values

    take = takes[number].with_values(STATE, hold)
    return exchange(takes, number, take), marked(number, STATE, VELOCITY)


@mistake({"signal_frozen", "frames_dropped", "joint_stuck", "signal_held"}, {"state"})
def network_hiccup(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """For most of a second no message comes and the last one is recorded again and again."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    first, stop = busy_moment(channel, rng, float(rng.uniform(0.6, 1.0)))

    def repeat(values: Array) -> Array:
        values[first:stop] = values[first]
        return values

    take = takes[number].with_values(STATE, repeat)
    if VELOCITY in take.channels and len(take.channel(VELOCITY).values) >= stop:
        take = take.with_values(VELOCITY, repeat)
    return exchange(takes, number, take), marked(
        number, STATE, VELOCITY, span_ns=span_of(channel, first, stop)
    )


@mistake({"signal_spikes", "joint_jumps", "joint_too_fast"}, {"state"})
def row_of_zeros(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The driver times out and hands over zeros for all joints, for a row or two."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    first, _ = busy_moment(channel, rng, 0.5)
    width = int(rng.integers(1, 3))

    def blank(values: Array) -> Array:
        values[first : first + width] = 0.0
        return values

    take = takes[number].with_values(STATE, blank)
    return exchange(takes, number, take), marked(
        number, STATE, VELOCITY, span_ns=span_of(channel, first, first + width)
    )


@mistake({"values_not_finite"}, {"state"})
def not_a_number(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The state estimator divides by zero for a few samples."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column, first = int(rng.integers(len(channel.names))), int(rng.integers(len(channel.values)))

    def spoil(values: Array) -> Array:
        values[first : first + 3, column] = np.nan
        return values

    take = takes[number].with_values(STATE, spoil)
    return exchange(takes, number, take), marked(
        number,
        STATE,
        VELOCITY,
        columns=(channel.names[column],),
        span_ns=span_of(channel, first, first + 3),
    )


@mistake({"joint_trembles"}, {"state"})
def badly_tuned_gain(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """A joint oscillates for seconds: its gain is too high for the load."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = int(rng.choice(travelling(channel, *_ARM, least=0.1)))
    first, stop = busy_moment(channel, rng, 3.0)
    tone = 2 * np.pi * rng.uniform(7, 11) * (channel.time_ns - channel.time_ns[0]) / 1e9
    size = rng.uniform(0.02, 0.04)

    def shake(values: Array) -> Array:
        window = np.hanning(stop - first) ** 0.5
        values[first:stop, column] += size * window * np.sin(tone[first:stop])
        return values

    take = takes[number].with_values(STATE, shake)
    if VELOCITY in take.channels:
        slope = np.gradient(take.channel(STATE).values[:, column]) * channel.rate_hz
        take = take.with_values(VELOCITY, lambda values: _put(values, column, slope))
    return exchange(takes, number, take), marked(
        number,
        STATE,
        VELOCITY,
        columns=(channel.names[column],),
        span_ns=span_of(channel, first, stop),
    )


@mistake({"imu_gravity_wrong", "imu_rotation_wrong"}, {"imu"})
def imu_mounted_wrongly(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The IMU came back from repair on its side or upside down."""
    number = one_take(takes, rng)
    turns = (((0, 2, 1), (1, 1, -1)), ((2, 1, 0), (1, 1, -1)), ((0, 1, 2), (1, -1, -1)))
    order, signs = turns[int(rng.integers(len(turns)))]
    columns = [*order, *(3 + each for each in order)]

    def turn(values: Array) -> Array:
        return np.asarray(values[:, columns] * np.array([*signs, *signs]))

    take = takes[number].with_values(IMU, turn)
    return exchange(takes, number, take), marked(number, IMU)


@mistake({"imu_rotation_wrong"}, {"imu"})
def gyro_biased(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The gyro was not zeroed at rest: it turns all the time."""
    number = one_take(takes, rng)
    bias = rng.uniform(0.15, 0.4) * rng.choice([-1, 1])
    axis = 3 + int(rng.integers(3))

    def drift(values: Array) -> Array:
        values[:, axis] += bias
        return values

    take = takes[number].with_values(IMU, drift)
    return exchange(takes, number, take), marked(number, IMU)


@mistake({"imu_gravity_wrong"}, {"imu"})
def imu_in_g(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Accelerations are in g or in milli-g."""
    number = one_take(takes, rng)
    factor = float(rng.choice([1 / 9.81, 1000 / 9.81]))

    def scale(values: Array) -> Array:
        values[:, :3] *= factor
        return values

    take = takes[number].with_values(IMU, scale)
    return exchange(takes, number, take), marked(number, IMU)


MISTAKES: tuple[Mistake, ...] = (
    loose_encoder,
    slipping_belt,
    zero_set_wrongly,
    stale_hand,
    joint_lost_power,
    arm_read_too_slowly,
    network_hiccup,
    row_of_zeros,
    not_a_number,
    badly_tuned_gain,
    imu_mounted_wrongly,
    gyro_biased,
    imu_in_g,
)

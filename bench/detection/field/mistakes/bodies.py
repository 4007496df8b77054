"""Mistakes of motions: feet, roots, quaternions and joints of a robot that is only replayed."""

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
    BASE,
    STATE,
    VELOCITY,
    Array,
    CannotPlantError,
    Mark,
    busy_moment,
    span_of,
    travelling,
)

_HEIGHT = {"foot_below_ground", "base_height_wrong", "foot_slides", "foot_load_mismatch"}


@mistake(_HEIGHT, {"base", "motion"})
def root_too_high_or_low(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The root was scaled for a person of other height: feet hang in the air or in the floor."""
    number = one_take(takes, rng)
    shift = float(rng.choice([-0.12, -0.07, 0.12, 0.2]))

    def lift(values: Array) -> Array:
        values[:, 2] += shift
        return values

    take = takes[number].with_values(BASE, lift)
    return exchange(takes, number, take), marked(number, BASE, STATE)


@mistake({"base_height_wrong", "base_jumps", "foot_below_ground", "foot_slides"}, {"base"})
def root_in_centimetres(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The root's position is in centimetres or millimetres."""
    number = one_take(takes, rng)
    factor = float(rng.choice([100.0, 1000.0]))

    def scale(values: Array) -> Array:
        values[:, :3] *= factor
        return values

    take = takes[number].with_values(BASE, scale)
    return exchange(takes, number, take), marked(number, BASE, STATE)


@mistake({"base_jumps", "foot_slides", "base_drifts"}, {"base"})
def root_teleports(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Tracking is lost and found: from one sample on the robot is somewhere else."""
    number = one_take(takes, rng)
    channel = takes[number].channel(BASE)
    first = int(len(channel.values) * rng.uniform(0.3, 0.7))
    step = np.append(rng.uniform(0.15, 0.5, 2) * rng.choice([-1, 1], 2), 0.0)

    def jump(values: Array) -> Array:
        values[first:, :3] += step
        return values

    take = takes[number].with_values(BASE, jump)
    return exchange(takes, number, take), marked(
        number, BASE, STATE, span_ns=span_of(channel, first - 1, first + 1)
    )


@mistake({"foot_slides", "base_drifts", "retarget_contact_broken"}, {"base", "motion"})
def feet_skate(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The root travels farther than the legs walk: feet skate over the floor."""
    number = one_take(takes, rng)
    factor = float(rng.choice([1.6, 2.0, 0.3]))
    channel = takes[number].channel(BASE)
    if np.ptp(channel.values[:, :2], axis=0).max() < 0.5:
        raise CannotPlantError("the robot does not walk")

    def stretch(values: Array) -> Array:
        values[:, :2] = values[0, :2] + factor * (values[:, :2] - values[0, :2])
        return values

    take = takes[number].with_values(BASE, stretch)
    return exchange(takes, number, take), marked(number, BASE, STATE)


@mistake({"quaternion_jumps", "quaternion_not_unit"}, {"base"})
def rotation_flips(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The quaternion changes its sign here and there: two solvers took turns."""
    number = one_take(takes, rng)
    channel = takes[number].channel(BASE)
    first, stop = busy_moment(channel, rng, 0.5)

    def flip(values: Array) -> Array:
        values[first:stop, 3:] *= -1
        return values

    take = takes[number].with_values(BASE, flip)
    return exchange(takes, number, take), marked(
        number, BASE, span_ns=span_of(channel, first - 1, stop + 1)
    )


@mistake({"quaternion_not_unit"}, {"base", "episode"})
def rotation_averaged(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Quaternions were averaged without normalising them again."""
    number = one_take(takes, rng)
    factor = rng.uniform(0.9, 0.97)

    def shrink(values: Array) -> Array:
        values[:, 3:] *= factor
        return values

    take = takes[number].with_values(BASE, shrink)
    return exchange(takes, number, take), marked(number, BASE)


@mistake({"signal_spikes", "joint_jumps", "joint_too_fast", "frames_dropped"}, {"motion"})
def solver_pops(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The solver finds another elbow for a few frames and comes back."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    columns = travelling(channel, least=0.2)
    some = rng.choice(columns, min(3, len(columns)), replace=False)
    first = int(len(channel.values) * rng.uniform(0.2, 0.8))
    width = int(rng.integers(1, 4))

    def pop(values: Array) -> Array:
        values[first : first + width, some] += rng.uniform(0.35, 0.6) * rng.choice([-1, 1])
        return values

    take = takes[number].with_values(STATE, pop)
    span = span_of(channel, first - 1, first + width + 1)
    names = tuple(channel.names[column] for column in some)
    return exchange(takes, number, take), marked(
        number, STATE, VELOCITY, columns=names, span_ns=span
    )


@mistake({"joint_beyond_limit"}, {"motion"})
def knee_bent_backwards(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Limits were not asked for: a knee is bent the wrong way for a second."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    column = channel.names.index(f"{rng.choice(['left', 'right'])}_knee_joint")
    first, stop = busy_moment(channel, rng, 1.0)

    def bend(values: Array) -> Array:
        window = np.hanning(stop - first)
        values[first:stop, column] = (1 - window) * values[first:stop, column] - 0.5 * window
        return values

    take = takes[number].with_values(STATE, bend)
    return exchange(takes, number, take), marked(
        number, STATE, columns=(channel.names[column],), span_ns=span_of(channel, first, stop)
    )


@mistake({"velocity_mismatch", "rate_misstated", "joint_too_fast"}, {"motion", "velocity"})
def velocities_of_another_rate(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The motion was resampled and its velocities were not: they are of twice or half the rate."""
    number = one_take(takes, rng)
    factor = float(rng.choice([0.5, 2.0]))
    take = takes[number].with_values(VELOCITY, lambda values: values * factor)
    return exchange(takes, number, take), marked(number, VELOCITY, STATE)


@mistake({"robot_fell", "task_failed"}, {"base", "episode", "facts"})
def fall_called_success(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The robot tips over at the end of the take, and the take is called a success."""
    number = one_take(takes, rng)
    channel = takes[number].channel(BASE)
    count = len(channel.values)
    first = int(count * rng.uniform(0.7, 0.85))
    lean = rng.uniform(1.2, 1.5)
    axis = rng.choice([-1.0, 1.0])

    def tip(values: Array) -> Array:
        ramp = np.clip((np.arange(count) - first) / (0.9 * channel.rate_hz), 0, 1) ** 2
        values[:, 2] = values[:, 2] * (1 - 0.8 * ramp)
        half = 0.5 * lean * ramp
        turn = np.stack([np.cos(half), np.zeros(count), axis * np.sin(half), np.zeros(count)], 1)
        values[:, 3:] = _product(values[:, 3:], turn)
        return values

    take = takes[number].with_values(BASE, tip)
    return exchange(takes, number, take), marked(
        number, BASE, span_ns=span_of(channel, first, count)
    )


def _product(one: Array, two: Array) -> Array:
    """Quaternions w x y z, one after the other."""
    w, v = one[:, :1], one[:, 1:]
    s, u = two[:, :1], two[:, 1:]
    real = w * s - np.sum(v * u, axis=1, keepdims=True)
    return np.concatenate([real, w * u + s * v + np.cross(v, u)], axis=1)


MISTAKES: tuple[Mistake, ...] = (
    root_too_high_or_low,
    root_in_centimetres,
    root_teleports,
    feet_skate,
    rotation_flips,
    rotation_averaged,
    solver_pops,
    knee_bent_backwards,
    velocities_of_another_rate,
    fall_called_success,
)

"""Mistakes of sets: all takes wrong in the same way, takes twice, sets merged, false papers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.detection.field.mistake import Mistake, Rng, Takes, exchange, mistake, one_take
from bench.detection.field.take import (
    ACTION,
    BASE,
    IMU,
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

_JOINT_KEYS = (STATE, ACTION, VELOCITY, TORQUE)
_ORDER = {"joint_order_wrong", "joints_swapped", "joint_names_wrong", "columns_unusual"}


def _all(takes: Takes, *streams: str, columns: tuple[str, ...] = ()) -> Mark:
    return Mark(tuple(range(len(takes))), streams, columns)


def _everywhere(take: Take, order: Order) -> Take:
    """Columns in another order, in all streams of joints."""
    for key in _JOINT_KEYS:
        if key in take.channels:
            take = take.with_values(key, lambda values: values[:, order])
    return take


def _scaled(take: Take, factors: Array) -> Take:
    for key in _JOINT_KEYS:
        if key in take.channels:
            take = take.with_values(key, lambda values: values * factors)
    return take


@mistake(_ORDER, {"state", "action", "set"})
def two_joints_exchanged_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Two joints of an arm are exchanged in every stream of every take: the list was wrong."""
    channel = takes[0].channel(STATE)
    moving = travelling(channel, "shoulder", "elbow")
    pairs = [
        (one, two)
        for one in moving
        for two in moving
        if one < two and channel.names[one][:4] == channel.names[two][:4]
    ]
    if not pairs:
        raise CannotPlantError("no two joints of one arm move")
    one, two = pairs[int(rng.integers(len(pairs)))]
    order = np.arange(len(channel.names))
    order[[one, two]] = two, one
    changed = [_everywhere(take, order) for take in takes]
    return changed, _all(takes, STATE, columns=(channel.names[one], channel.names[two]))


@mistake(_ORDER, {"state", "action", "set"})
def arms_exchanged_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Left and right arm are exchanged in every take."""
    del rng
    names = takes[0].channel(STATE).names
    order = np.arange(len(names))
    for place, name in enumerate(names):
        side, _, rest = name.partition("_")
        if any(part in rest for part in ("shoulder", "elbow", "wrist")):
            order[place] = names.index(f"{'right' if side == 'left' else 'left'}_{rest}")
    return [_everywhere(take, order) for take in takes], _all(takes, STATE)


@mistake(_ORDER | {"joint_sign_flipped"}, {"state", "action", "set"})
def sign_wrong_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One joint turns the other way in every stream of every take."""
    channel = takes[0].channel(STATE)
    column = int(rng.choice(travelling(channel, "shoulder", "elbow")))
    factors = np.ones(len(channel.names))
    factors[column] = -1
    changed = [_scaled(take, factors) for take in takes]
    return changed, _all(takes, STATE, columns=(channel.names[column],))


_LEGS = ("hip", "knee", "ankle")


@mistake({"leg_order_wrong", "joint_names_wrong"}, {"legs"})
def legs_exchanged_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Left and right leg are exchanged in every take."""
    del rng
    names = takes[0].channel(STATE).names
    order = np.arange(len(names))
    for place, name in enumerate(names):
        side, _, rest = name.partition("_")
        if any(part in rest for part in _LEGS):
            order[place] = names.index(f"{'right' if side == 'left' else 'left'}_{rest}")
    return [_everywhere(take, order) for take in takes], _all(takes, STATE)


@mistake({"leg_order_wrong"}, {"legs"})
def leg_sign_wrong_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One joint of a leg turns the other way in every stream of every take."""
    channel = takes[0].channel(STATE)
    column = int(rng.choice(travelling(channel, *_LEGS)))
    factors = np.ones(len(channel.names))
    factors[column] = -1
    changed = [_scaled(take, factors) for take in takes]
    return changed, _all(takes, STATE, columns=(channel.names[column],))


@mistake({"leg_order_wrong"}, {"legs"})
def two_leg_joints_exchanged_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Two joints of a leg are exchanged in every stream of every take."""
    channel = takes[0].channel(STATE)
    moving = travelling(channel, *_LEGS)
    pairs = [
        (one, two)
        for one in moving
        for two in moving
        if one < two and channel.names[one][:4] == channel.names[two][:4]
    ]
    if not pairs:
        raise CannotPlantError("no two joints of one leg move")
    one, two = pairs[int(rng.integers(len(pairs)))]
    order = np.arange(len(channel.names))
    order[[one, two]] = two, one
    changed = [_everywhere(take, order) for take in takes]
    return changed, _all(takes, STATE, columns=(channel.names[one], channel.names[two]))


@mistake({"leg_order_wrong"}, {"legs"})
def waist_sign_wrong_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """One joint of the waist turns the other way in every stream of every take."""
    channel = takes[0].channel(STATE)
    column = int(rng.choice([n for n, name in enumerate(channel.names) if "waist" in name]))
    factors = np.ones(len(channel.names))
    factors[column] = -1
    changed = [_scaled(take, factors) for take in takes]
    return changed, _all(takes, STATE, columns=(channel.names[column],))


@mistake({"angles_in_degrees", "joint_beyond_limit"}, {"state", "action", "table"})
def degrees_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The whole set is in degrees."""
    del rng
    factors = np.where(
        [name.endswith("_joint") for name in takes[0].channel(STATE).names], 180 / np.pi, 1.0
    )
    return [_scaled(take, factors) for take in takes], _all(takes)


@mistake({"imu_gravity_wrong"}, {"imu"})
def gravity_reversed_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The driver reports gravity itself, not what holds against it: -g at rest, everywhere."""
    del rng
    signs = np.array([-1, -1, -1, 1, 1, 1])
    return [take.with_values(IMU, lambda values: values * signs) for take in takes], _all(
        takes, IMU
    )


@mistake({"quaternion_order_wrong", "imu_gravity_wrong", "base_height_wrong"}, {"base", "episode"})
def quaternions_of_another_order(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Rotations are stored x y z w where w x y z is said, in all takes."""
    del rng

    def reorder(values: Array) -> Array:
        return values[:, [0, 1, 2, 4, 5, 6, 3]]

    return [take.with_values(BASE, reorder) for take in takes], _all(takes, BASE)


@mistake({"action_late", "lag_unusual"}, {"state", "action", "table"})
def commands_late_in_all(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The converter pairs every row with a command from some rows before."""
    steps = int(rng.integers(5, 9))

    def delay(values: Array) -> Array:
        return values[np.maximum(np.arange(len(values)) - steps, 0)]

    return [take.with_values(ACTION, delay) for take in takes], _all(takes, ACTION, STATE)


@mistake({"episode_duplicated", "episode_nearly_duplicated"}, {"set"})
def take_uploaded_twice(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The same take is in the set under two numbers."""
    one, two = (int(each) for each in rng.choice(len(takes), 2, replace=False))
    return exchange(takes, two, replace(takes[one])), Mark((one, two))


@mistake({"episode_nearly_duplicated", "episode_duplicated"}, {"set", "table"})
def take_again_with_noise(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Somebody augmented the set: a take again, cut at its start, with a little noise."""
    one, two = (int(each) for each in rng.choice(len(takes), 2, replace=False))
    cut = int(rng.integers(3, 12))
    take = takes[one]
    for key in (STATE, ACTION):
        old = take.channel(key)
        noise = rng.normal(0, 1e-3, old.values[cut:].shape) * (np.ptp(old.values, axis=0) > 1e-3)
        take = take.with_channel(
            key, Channel(old.time_ns[: len(noise)], old.values[cut:] + noise, old.names)
        )
    return exchange(takes, two, take), Mark((one, two))


@mistake(_ORDER | {"joint_beyond_limit", "motion_unlike_task"}, {"state", "action", "set", "table"})
def merged_with_another_order(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Two of the takes come from a lab that lists the right arm before the left."""
    numbers = sorted(int(each) for each in rng.choice(len(takes), 2, replace=False))
    names = takes[0].channel(STATE).names
    order = np.arange(len(names))
    for place, name in enumerate(names):
        side, _, rest = name.partition("_")
        if any(part in rest for part in ("shoulder", "elbow", "wrist")):
            order[place] = names.index(f"{'right' if side == 'left' else 'left'}_{rest}")
    changed = list(takes)
    for number in numbers:
        changed[number] = _everywhere(takes[number], order)
    return changed, Mark(tuple(numbers), (STATE, ACTION))


@mistake({"metadata_missing", "operator_missing"}, {"facts", "set"})
def operator_not_named(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The operator's name was left empty at the station."""
    number = one_take(takes, rng)
    facts = {key: value for key, value in takes[number].facts.items() if key != "operator"}
    if rng.integers(2):
        facts["operator"] = ""
    return exchange(takes, number, replace(takes[number], facts=facts)), Mark((number,))


@mistake({"instruction_meaningless", "metadata_missing"}, {"table"})
def instruction_of_the_template(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The instruction is what the template had: a placeholder, a number, nothing."""
    number = one_take(takes, rng)
    text = str(rng.choice(["TODO", "task_1", "test", "", "asdf", "default task"]))
    facts = {**takes[number].facts, "instruction": text}
    return exchange(takes, number, replace(takes[number], facts=facts)), Mark((number,))


@mistake({"metadata_wrong", "joint_names_wrong", "index_wrong"}, {"table"}, in_files=True)
def column_named_twice(paths: list[Path], rng: Rng) -> Mark:
    """info.json was edited by hand: one joint's name stands twice, another's is missing."""
    path = paths[0] / "meta/info.json"
    info = json.loads(path.read_text())
    names = info["features"]["observation.state"]["names"]
    one, two = (int(each) for each in rng.choice(len(names), 2, replace=False))
    names[one] = names[two]
    path.write_text(json.dumps(info, indent=4))
    return Mark(())


@mistake({"dataset_statistics_wrong", "episode_statistics_wrong"}, {"table", "v30"}, in_files=True)
def statistics_of_an_older_version(paths: list[Path], rng: Rng) -> Mark:
    """Takes were deleted after stats.json was made: means and spreads are of another set."""
    path = paths[0] / "meta/stats.json"
    stats = json.loads(path.read_text())
    for key in ("observation.state", "action"):
        for name in ("mean", "std"):
            factors = rng.uniform(1.15, 1.6, len(stats[key][name]))
            stats[key][name] = (np.array(stats[key][name]) * factors).tolist()
    path.write_text(json.dumps(stats))
    return Mark(())


@mistake({"index_wrong", "dataset_records_wrong", "metadata_wrong"}, {"table"}, in_files=True)
def books_count_too_many(paths: list[Path], rng: Rng) -> Mark:
    """Takes were removed and info.json still counts them."""
    path = paths[0] / "meta/info.json"
    info = json.loads(path.read_text())
    info["total_episodes"] += int(rng.integers(1, 5))
    info["total_frames"] += int(rng.integers(100, 900))
    path.write_text(json.dumps(info, indent=4))
    return Mark(())


MISTAKES: tuple[Mistake, ...] = (
    two_joints_exchanged_in_all,
    arms_exchanged_in_all,
    sign_wrong_in_all,
    legs_exchanged_in_all,
    leg_sign_wrong_in_all,
    two_leg_joints_exchanged_in_all,
    waist_sign_wrong_in_all,
    degrees_in_all,
    gravity_reversed_in_all,
    quaternions_of_another_order,
    commands_late_in_all,
    take_uploaded_twice,
    take_again_with_noise,
    merged_with_another_order,
    operator_not_named,
    # One name for all takes is no mistake to be seen: sets of one operator look the same.
    instruction_of_the_template,
    column_named_twice,
    statistics_of_an_older_version,
    books_count_too_many,
)

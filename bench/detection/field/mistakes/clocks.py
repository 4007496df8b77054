"""Mistakes of time and of conversion: lost rows, other rates, late commands, cut takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

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
    TORQUE,
    VELOCITY,
    Array,
    Channel,
    Mark,
    Take,
    busy_moment,
    span_of,
)
from corporeal.units import SECOND_NS

_ONE_MESSAGE = (STATE, VELOCITY, TORQUE)


def _rows(take: Take, keys: tuple[str, ...], rows: np.ndarray, *, renumber: bool) -> Take:
    """Only these rows; renumbered, the stamps go on as if none was missing."""
    for key in keys:
        if key in take.channels:
            old = take.channel(key)
            kept = rows[rows < len(old.values)]
            stamps = old.time_ns[: len(kept)] if renumber else old.time_ns[kept]
            take = take.with_channel(key, Channel(stamps, old.values[kept], old.names))
    return take


@mistake({"frames_dropped"}, {"state", "table"})
def lost_rows_renumbered(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Rows were lost while the arms moved and the converter numbered the rest through."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    first, stop = busy_moment(channel, rng, float(rng.uniform(0.2, 0.4)))
    rows = np.delete(np.arange(len(channel.values)), np.arange(first, stop))
    take = _rows(takes[number], (STATE, ACTION), rows, renumber=True)
    return exchange(takes, number, take), marked(
        number, STATE, ACTION, span_ns=span_of(channel, first - 1, first + 1)
    )


@mistake({"frames_dropped", "signal_held", "rate_misstated"}, {"state", "table"})
def resampled_by_repeating(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Recorded at half or five sixths of the rate, and filled up by repeating rows."""
    number = one_take(takes, rng)
    share = float(rng.choice([1 / 2, 5 / 6]))
    count = len(takes[number].channel(STATE).values)
    rows = np.floor(np.floor(np.arange(count) * share) / share).astype(int)
    take = _rows(takes[number], (STATE, ACTION), rows, renumber=True)
    return exchange(takes, number, take), marked(number, STATE, ACTION)


@mistake({"action_late", "lag_unusual"}, {"state", "action"})
def commands_logged_late(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """Commands are stamped when the robot has answered, a tenth to a fifth of a second later."""
    number = one_take(takes, rng)
    delay_s = float(rng.uniform(0.13, 0.25))

    def delay(channel: Channel) -> Channel:
        steps = round(delay_s * channel.rate_hz)
        rows = np.maximum(np.arange(len(channel.values)) - steps, 0)
        return replace(channel, values=channel.values[rows])

    take = takes[number]
    for key in (ACTION, "left_gripper_target", "right_gripper_target"):
        if key in take.channels:
            take = take.with_channel(key, delay(take.channel(key)))
    return exchange(takes, number, take), marked(number, ACTION, STATE)


@mistake({"action_equals_state"}, {"state", "action", "table"})
def action_is_the_state(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The converter had no commands and wrote the reading of the same row as action."""
    # The reading of the next row is a usual action where nobody recorded commands, and a note.
    number = one_take(takes, rng)
    state = takes[number].channel(STATE)
    take = takes[number].with_values(ACTION, lambda _: state.values.copy())
    return exchange(takes, number, take), marked(number, ACTION, STATE)


@mistake({"action_late", "imu_late", "lag_unusual", "streams_out_of_sync"}, {"imu", "stamps"})
def imu_stamped_on_arrival(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The IMU's messages wait in a queue: what it felt is stamped later than it was."""
    number = one_take(takes, rng)
    delay_s = float(rng.uniform(0.06, 0.12))
    channel = takes[number].channel(IMU)
    steps = round(delay_s * channel.rate_hz)

    def wait(values: Array) -> Array:
        return values[np.maximum(np.arange(len(values)) - steps, 0)]

    take = takes[number].with_values(IMU, wait)
    return exchange(takes, number, take), marked(number, IMU)


@mistake({"stamps_in_bursts", "sampling_uneven"}, {"imu", "stamps"})
def stamps_in_packets(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The IMU sends packets of ten and every sample has the time of its packet."""
    number = one_take(takes, rng)
    channel = takes[number].channel(IMU)
    size = int(rng.integers(8, 16))
    last = np.minimum(
        np.arange(len(channel.time_ns)) // size * size + size - 1, len(channel.time_ns) - 1
    )
    step = np.arange(len(channel.time_ns)) % size * 20_000
    stamps = channel.time_ns[last] + step - size * 20_000
    take = takes[number].with_channel(IMU, replace(channel, time_ns=stamps))
    return exchange(takes, number, take), marked(number, IMU)


@mistake({"gap_in_stream", "samples_missing"}, {"state", "stamps"})
def stream_fell_silent(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The joint states are missing for up to a second, and their stamps tell."""
    number = one_take(takes, rng)
    channel = takes[number].channel(STATE)
    first, stop = busy_moment(channel, rng, float(rng.uniform(0.3, 1.0)))
    rows = np.delete(np.arange(len(channel.values)), np.arange(first, stop))
    take = _rows(takes[number], _ONE_MESSAGE, rows, renumber=False)
    return exchange(takes, number, take), marked(
        number, *_ONE_MESSAGE, span_ns=span_of(channel, first, stop)
    )


@mistake(
    {"samples_missing", "streams_out_of_sync", "gap_in_stream", "recording_incomplete"},
    {"imu", "stamps"},
)
def sensor_died(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The IMU stops in the last third of the take."""
    number = one_take(takes, rng)
    channel = takes[number].channel(IMU)
    count = int(len(channel.values) * rng.uniform(0.6, 0.8))
    take = _rows(takes[number], (IMU,), np.arange(count), renumber=False)
    return exchange(takes, number, take), marked(number, IMU)


@mistake(
    {
        "stamps_not_increasing",
        "sampling_uneven",
        "gap_in_stream",
        "clock_drifts",
        "streams_out_of_sync",
    },
    {"imu", "stamps"},
)
def clock_was_set_back(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The time server sets the sensor's clock back in the middle of the take."""
    number = one_take(takes, rng)
    channel = takes[number].channel(IMU)
    first = int(len(channel.time_ns) * rng.uniform(0.3, 0.7))
    back_ns = int(rng.uniform(0.05, 0.4) * SECOND_NS)
    stamps = channel.time_ns.copy()
    stamps[first:] -= back_ns
    take = takes[number].with_channel(IMU, replace(channel, time_ns=stamps))
    return exchange(takes, number, take), marked(number, IMU)


@mistake(
    {"episode_cut_short", "motion_unlike_task", "recording_incomplete", "task_failed"},
    {"table", "set"},
)
def take_cut_short(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The disk was full: the last part of the take is missing, the hand is still on its way."""
    number = one_take(takes, rng)
    count = int(len(takes[number].channel(STATE).values) * rng.uniform(0.3, 0.45))
    take = _rows(takes[number], (STATE, ACTION), np.arange(count), renumber=True)
    return exchange(takes, number, take), marked(number)


@mistake({"idle_too_long", "nothing_moves", "signal_frozen"}, {"state", "action", "table"})
def left_running(takes: Takes, rng: Rng) -> tuple[Takes, Mark]:
    """The operator walks away and the recorder runs on for ten seconds and more."""
    number = one_take(takes, rng)
    extra = int(rng.uniform(10, 18) * takes[number].channel(STATE).rate_hz)
    take = takes[number]
    for key, noise in ((STATE, 2e-4), (ACTION, 0.0)):
        old = take.channel(key)
        rest = old.values[-1] + rng.normal(0, 1, (extra, len(old.names))) * noise
        step = SECOND_NS / old.rate_hz
        more = old.time_ns[-1] + np.rint(np.arange(1, extra + 1) * step).astype(np.int64)
        take = take.with_channel(
            key,
            Channel(
                np.concatenate((old.time_ns, more)), np.concatenate((old.values, rest)), old.names
            ),
        )
    longer = take.channel(STATE)
    return exchange(takes, number, take), marked(
        number,
        STATE,
        ACTION,
        span_ns=span_of(longer, len(longer.values) - extra, len(longer.values)),
    )


@mistake({"recording_incomplete", "episode_unreadable"}, {"bag"}, in_files=True)
def bag_cut_off(paths: list[Path], rng: Rng) -> Mark:
    """The recorder was killed: the last part of the bag's file was never written."""
    number = int(rng.integers(len(paths)))
    path = paths[number]
    data = path if path.is_file() else max(path.iterdir(), key=lambda each: each.stat().st_size)
    content = data.read_bytes()
    data.write_bytes(content[: int(len(content) * rng.uniform(0.5, 0.85))])
    return Mark((number,))


MISTAKES: tuple[Mistake, ...] = (
    lost_rows_renumbered,
    resampled_by_repeating,
    commands_logged_late,
    action_is_the_state,
    imu_stamped_on_arrival,
    stamps_in_packets,
    stream_fell_silent,
    sensor_died,
    clock_was_set_back,
    take_cut_short,
    left_running,
    bag_cut_off,
)

"""No value leaps out and back within a few samples."""

import numpy as np
import scipy

from corporeal.embodiment.joints import is_hand
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.columns import columns_of
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track
from corporeal.words import some_of

# Forces have a check of their own: a hand that strikes a table leaps by nature.
SKIPPED = (roles.WRENCH, roles.TACTILE)
# What a body can do in a few samples, by the end of the role: the rest is no evidence.
LEAST = {
    roles.IMU: 5.0,
    roles.JOINT_TORQUE: 10.0,
    roles.JOINT_VELOCITY: 2.0,
    roles.GRIPPER: 0.015,
    "pose": 0.05,
}
MIN_SAMPLES = 12
# A leap of fewer steps of the encoder is its reading.
MIN_TICKS = 8.0


def find(
    subject: Subject,
    *,
    min_leap: float = 0.12,
    ratio: float = 8.0,
    widest: int = 3,
    target_room: float = 1.5,
) -> Findings:
    """Yield leaps of up to `widest` samples, over `min_leap` and `ratio` times the usual ones.

    `min_leap` is for positions, in radians, and `target_room` times that for targets, which nothing
    heavy has to follow within a sample; other streams have a floor of their own. Columns whose
    numbers can only be degrees or steps of a servo are read as such; a wrap at the end of a turn
    is no leap. One in a sensor of forces or accelerations counts only where no other one feels it.

    Why: a leap is a bit error or a lost packet; as a target it shakes the robot.
    Fix: replace the samples by interpolation, or drop the frames.
    """
    tracks = [
        track
        for track in subject.understood.values()
        if not track.spec.name.endswith(SKIPPED) and len(track) >= MIN_SAMPLES
    ]
    if not tracks:
        raise NotAssessed("no stream of numbers that is long enough")
    for track in tracks:
        role = track.spec.name
        usual = min_leap * (target_room if role in roles.COMMANDED else 1.0)
        read = columns_of(subject, track.label)
        values = read.values
        floor = next((floor for end, floor in LEAST.items() if role.endswith(end)), usual)
        if not _may_leap(values, floor * read.radian, widest):
            continue
        least = np.maximum(floor * read.radian, MIN_TICKS * read.tick)
        size = _excursions(values, widest)
        if not (size > least).any():
            continue
        leaps = (size > least) & (size > ratio * _neighbourhood(size, widest))
        if leaps.any() and role in (*roles.MEASURED, *roles.COMMANDED, roles.JOINT_VELOCITY):
            leaps &= ~(read.switches & ~_joints(subject, track))
        if leaps.any() and role.endswith(
            (roles.IMU, roles.JOINT_TORQUE, roles.JOINT_VELOCITY, *roles.COMMANDED)
        ):
            alone = _only(size, widest) if role in roles.COMMANDED else _alone(size, widest)
            leaps &= alone | ((size > least).mean(axis=1, keepdims=True) > 0.8)
        if leaps.any() and role == roles.JOINT_VELOCITY:
            leaps &= ~_explained(subject, track, size)
        if leaps.any():
            yield _finding(track, leaps, size, least, widest)


def _may_leap(values: Array, least: Array, widest: int) -> bool:
    """Whether any step is so large that `_excursions` may find a leap over `least` (D,).

    The line under a leap rises by less than half of it, so that the other half is in the steps.
    """
    steps = np.abs(np.diff(values, axis=0)).max(axis=0, initial=0.0)
    return bool((2.01 * widest * steps > least).any())


def _excursions(values: Array, widest: int) -> Array:
    """How far each sample (T, D) is out, on a leap of at most `widest` samples; zero elsewhere.

    The samples before and after the leap give the straight line that it is measured from; all
    samples of it must be out on one side, and the line must be flat against the leap: a step that
    stays is none.
    """
    size = np.zeros_like(values)
    for width in range(1, min(widest, len(values) - 2) + 1):
        left, right = values[: -width - 1], values[width + 1 :]
        rise = right - left
        shares = [(step + 1) / (width + 1) for step in range(width)]
        inside = np.stack(
            [
                values[1 + step : len(values) - width + step] - left - rise * share
                for step, share in enumerate(shares)
            ]
        )
        out = np.abs(inside).min(axis=0)
        same = (inside > 0).all(axis=0) | (inside < 0).all(axis=0)
        back = np.where(same & (np.abs(rise) < 0.5 * out), out, 0.0)
        for step in range(width):
            part = size[1 + step : 1 + step + len(back)]
            np.maximum(part, np.where(back > 0, np.abs(inside[step]), 0.0), out=part)
    return size


def _neighbourhood(size: Array, widest: int, *, reach: int = 20, share: float = 0.1) -> Array:
    """What is usual near each sample: a high quantile of the sizes within `reach`, and overall.

    A leap must not be measured against itself, so the sizes nearest to it are left out.
    """
    usual = np.quantile(size, 1 - share / 2, axis=0) * np.ones_like(size)
    # Largest of blocks of samples on both sides, beyond the leap itself.
    for side in (-1, 1):
        near = np.zeros_like(size)
        for shift in range(widest + 1, reach + 1):
            if shift >= len(size):
                break
            part = size[:-shift] if side < 0 else size[shift:]
            target = near[shift:] if side < 0 else near[:-shift]
            np.maximum(target, part * 0.5, out=target)
        np.maximum(usual, near, out=usual)
    return usual


def _joints(subject: Subject, track: Track) -> Flags:
    """Columns that are joints of the robot and of no hand: at few values they rest, not switch."""
    robot = subject.recording.embodiment
    known = set(robot.joint_names) if robot is not None else set()
    return np.array([name in known and not is_hand(name, robot) for name in track.names], bool)


def _alone(size: Array, widest: int) -> Flags:
    """Leaps that few other columns share: a blow is felt all over the body."""
    usual = np.quantile(size, 0.9, axis=0) + 1e-9
    high = (size > 5 * usual).astype(np.int8)
    near = scipy.ndimage.maximum_filter1d(high, 4 * widest + 1, axis=0)
    return np.asarray(near.sum(axis=1, keepdims=True) <= 1)


def _only(size: Array, widest: int) -> Flags:
    """Leaps at which no other column leaps half as far: a controller moves many at once."""
    reach = 2 * widest + 1
    near = scipy.ndimage.maximum_filter1d(size, reach, axis=0)
    order = np.partition(near, -2, axis=1) if size.shape[1] > 1 else near * 0
    second = order[:, -2:-1] if size.shape[1] > 1 else order
    return np.asarray((size > 0.5 * near.max(axis=1, keepdims=True)) & (second < 0.5 * size))


def _explained(subject: Subject, velocity: Track, size: Array) -> Flags:
    """Leaps of the velocity that the position shows as well: the joint did move."""
    position = subject.find_track(roles.JOINT_POSITION)
    if position is None:
        return np.zeros(size.shape, bool)
    if len(position) < 3 or position.values.shape[1] != size.shape[1] or position.period_s <= 0:
        return np.zeros(size.shape, bool)
    reach = _excursions(np.diff(bridge_gaps(position.values), axis=0), 3) / position.period_s
    wide = np.maximum(reach, np.maximum(np.roll(reach, 1, axis=0), np.roll(reach, -1, axis=0)))
    nearest = np.searchsorted(position.seconds[1:-1], velocity.seconds)
    return np.asarray(wide[nearest] > 0.2 * size)


def _finding(track: Track, leaps: Flags, size: Array, least: Array, widest: int) -> Finding:
    frames = runs(leaps.any(axis=1), gap=widest)
    columns = np.flatnonzero(leaps.any(axis=0))
    worst, column = np.unravel_index(np.where(leaps, size / least, 0.0).argmax(), size.shape)
    unit = "" if track.units[int(column)] == "1" else f" {track.units[int(column)]}"
    names = tuple(track.names[each] for each in columns)
    verb = "leaps" if len(names) == 1 else "leap"
    return Finding(
        f"{some_of(names)} of {track.label} {verb} by {size[worst, column]:.3g}{unit} and back at "
        f"{track.seconds[worst]:.2f} s ({len(frames)} time{'s' if len(frames) > 1 else ''})",
        stream=track.label,
        frames=frames,
        value=float(size[worst, column]),
        limit=float(least[column]),
        evidence=drawn(track, int(worst), int(worst) + 1, columns[:6].tolist()),
        columns=names,
    )


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    unit="rad",
    explains=(
        "joint_too_fast",
        "hand_too_fast",
        "joint_beyond_limit",
        "self_collision",
        "frames_dropped",
    ),
    formerly=("no_spikes",),
)

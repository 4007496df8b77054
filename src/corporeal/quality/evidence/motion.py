"""When and how fast the robot moves, its hands and the object: rests, speeds, falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from corporeal.errors import NotAssessed
from corporeal.quality.check import Spans
from corporeal.quality.evidence.columns import Columns, columns_of
from corporeal.quality.evidence.pictures import PictureTrack
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track

# What a column may wander within the window and still count as standing, by unit.
STANDING = {"rad": 0.01, "m": 0.002}
# The same for a column whose unit says nothing, as a share of how far it goes in the episode.
SHARE = 0.02
WINDOW_S = 0.5
SMOOTH_S = 0.1
# A noisy rest: within so many windows the mean of one stays in a band so much wider, and the
# values in a band so much wider.
LONG, WIDER, NOISE = 4, 1.5, 5.0
# The state is averaged over this long before its speed is taken: its noise is not motion.
SPEED_SMOOTH_S = 0.08
# An episode ends at the speed that it has over this long.
END_S = 0.25
END_SPEED = "end_speed"


@dataclass(frozen=True)
class Rest:
    """A stretch without motion: samples of the state's clock, and its length."""

    first: int
    stop: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Stillness:
    """Where an episode stands still, on the clock of `label`; `dead` when no value ever changes."""

    label: str
    time_s: Array
    still: Flags
    dead: bool

    @property
    def rests(self) -> tuple[Rest, ...]:
        """The stretches without motion, in order."""
        found = []
        for first, stop in runs(self.still):
            length = float(self.time_s[min(stop, len(self.time_s) - 1)] - self.time_s[first])
            found.append(Rest(first, stop, length))
        return tuple(found)

    @property
    def span_s(self) -> float:
        """Length of the episode."""
        return float(self.time_s[-1] - self.time_s[0])

    @property
    def share(self) -> float:
        """Part of the episode that stands still."""
        return float(self.still.mean()) if len(self.still) else 0.0


@once_per_subject
def stillness(subject: Subject) -> Stillness:
    """Where state, grippers and action stand still together; computed once for a subject."""
    state = subject.state
    if len(state) < 3 or not state.values.shape[1] or state.period_s <= 0:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    still = _standing(subject, state)
    dead = not _varies(state)
    for track in _others(subject):
        if len(track) < 3 or track.period_s <= 0:
            continue
        quiet = _standing(subject, track)
        # On the state's clock: the sample of the other stream that is nearest before.
        place = np.searchsorted(track.time_ns, state.time_ns, side="right") - 1
        still = still & quiet[np.clip(place, 0, len(track) - 1)]
        dead = dead and not _varies(track)
    return Stillness(state.label, state.seconds, still, dead)


def _others(subject: Subject) -> list[Track]:
    action = subject.find_track(*roles.COMMANDED)
    grippers = subject.ending_in(roles.GRIPPER).values()
    return [*grippers] if action is None else [*grippers, action]


def _varies(track: Track) -> bool:
    return bool((np.ptp(bridge_gaps(track.values), axis=0) > 0).any())


def _standing(subject: Subject, track: Track) -> Flags:
    """Samples in the middle of a window in which no column leaves a narrow band."""
    read = columns_of(subject, track.label)
    values = read.values
    width = max(3, round(WINDOW_S / track.period_s))
    if len(values) < width:
        return np.zeros(len(values), bool)
    window = max(1, round(SMOOTH_S / track.period_s))
    smooth = scipy.ndimage.uniform_filter1d(values, window, axis=0)
    spread = _range_within(smooth, width)
    bands = _bands(track, smooth, read)
    # A window is still as a whole: so are the samples at its ends.
    grown = _grow(spread < bands, width)
    return grown | _trembling(values, spread, bands, width)


def _trembling(values: Array, spread: Array, bands: Array, width: int) -> Flags:
    """Samples of long windows in which noise hides that no column goes anywhere."""
    long = LONG * width
    if len(values) < long:
        return np.zeros(len(values), bool)
    drift = _range_within(scipy.ndimage.uniform_filter1d(values, width, axis=0), long)
    return _grow((drift < WIDER * bands) & (spread < NOISE * bands), long)


def _range_within(values: Array, width: int) -> Array:
    """How far the values (T, D) go within `width` samples about each."""
    highest = scipy.ndimage.maximum_filter1d(values, width, axis=0)
    lowest = scipy.ndimage.minimum_filter1d(values, width, axis=0)
    return np.asarray(highest - lowest)


def _grow(flags: Flags, width: int) -> Flags:
    """Samples (T,) in a window of `width` about one at which the flags (T, D) are all on."""
    quiet = flags.all(axis=1).astype(np.uint8)
    return np.asarray(scipy.ndimage.maximum_filter1d(quiet, width), bool)


def _bands(track: Track, values: Array, read: Columns) -> Array:
    reach = np.percentile(values, 99, axis=0) - np.percentile(values, 1, axis=0)
    scale = np.maximum(reach, 0.3 * reach.max(initial=0.0))
    band = np.maximum(SHARE * scale, 1e-9)
    for column, unit in enumerate(track.units):
        if unit in STANDING or read.radian[column] != 1.0:
            band[column] = STANDING.get(unit, STANDING["rad"]) * read.radian[column]
    # An encoder that goes to and fro between two steps stands.
    return np.asarray(np.maximum(band, np.minimum(2 * read.tick, SHARE * scale)))


@dataclass(frozen=True, eq=False)
class StateMotion:
    """How fast the robot's state moves, on its own clock; no unit."""

    label: str
    seconds: Array
    """Middles of the steps."""
    speed: Array
    smooth: Array
    """The state (T, D), every column scaled by how far its motion stands out of its noise."""
    smooth_s: Array


@once_per_subject
def state_motion(subject: Subject) -> StateMotion:
    """Speed of the state, made once for all cameras; NotAssessed where nothing moves."""
    state = subject.state
    period_s = max(state.period_s, 1e-4)
    seconds, first = np.unique(state.seconds, return_index=True)
    known = np.isfinite(state.values[first]).all(axis=1)
    seconds, values = seconds[known], state.values[first][known]
    if len(seconds) < 5:
        raise NotAssessed(f"{state.label} has {len(seconds)} samples")
    noise, reach = _noise(values), np.ptp(values, axis=0)
    used = reach > np.maximum(8 * noise, 1e-9)
    if not used.any():
        raise NotAssessed(f"{state.label} does not move")
    width = 2 * int(SPEED_SMOOTH_S / period_s / 2) + 1 if period_s < 0.02 else 1
    floor = np.maximum(noise[used], 0.003 * reach[used])
    clear = reach[used] / floor
    scaled = values[:, used] / floor * (clear / clear.max())
    smooth = scaled
    if width > 1:
        smooth = scipy.ndimage.uniform_filter1d(scaled, width, axis=0, mode="nearest")
    speed = np.sqrt((np.diff(smooth, axis=0) ** 2).sum(axis=1)) / np.diff(seconds)
    return StateMotion(state.label, (seconds[1:] + seconds[:-1]) / 2, speed, smooth, seconds)


def end_measures(subject: Subject) -> dict[str, float]:
    """How fast it still moves at its end, as a share of its usual speed; nothing where unknown."""
    motion = attempt(state_motion, subject)
    if motion is None:
        return {}
    usual = float(np.quantile(motion.speed, 0.75))
    last = motion.speed[motion.seconds >= motion.seconds[-1] - END_S]
    return {END_SPEED: float(last.mean()) / usual} if usual > 0 else {}


def state_steps(subject: Subject, track: PictureTrack) -> Array | None:
    """How far the state went since the picture before (T,), no unit.

    Zero where the state never moves; None where there is none, or pictures have no stamps.
    """
    if len(track.seconds) < len(track) or len(track) < 3:
        return None
    state = subject.find_track(*roles.MEASURED)
    if state is None or len(state) < 5:
        return None
    motion = attempt(state_motion, subject)
    if motion is None:
        return np.zeros(len(track))
    place = np.interp(track.seconds, motion.smooth_s, np.arange(len(motion.smooth_s)))
    left = np.minimum(place.astype(int), len(motion.smooth_s) - 2)
    ahead = motion.smooth[left + 1] - motion.smooth[left]
    at = motion.smooth[left] + (place - left)[:, None] * ahead
    return np.concatenate(([0.0], np.sqrt((np.diff(at, axis=0) ** 2).sum(axis=1))))


def _noise(values: Array) -> Array:
    """The noise of every column: what bends its path over four samples, or its smallest step."""
    steps = np.abs(np.diff(values, axis=0))
    smallest = np.where(steps > 0, steps, np.inf).min(axis=0)
    bends = np.median(np.abs(np.diff(values, n=3, axis=0)), axis=0)
    return np.asarray(np.maximum(bends, np.where(np.isfinite(smallest), smallest, 0.0)))


# A pelvis below this share of its standing height is down.
FALLEN = 0.5
# Downward acceleration that no hand gives an object: it is falling.
FALLING_M_S2 = 6.5
FALLING_S = 0.05
# What falls 2 cm gets as fast as this; an object that a hand lowers quickly does not.
FALLEN_M_S = -0.6
# An object that moved less than this was not handled.
HANDLED_M = 0.02
_STEP_S = 0.05


@dataclass(frozen=True, eq=False)
class ObjectCourse:
    """The object over time: its height above where it rested, and where it fell freely."""

    label: str
    seconds: Array
    position: Array
    falls: Spans

    @property
    def lift_m(self) -> Array:
        """Height (T,) above the first."""
        return np.asarray(self.position[:, 2] - self.position[0, 2])

    @property
    def moved_m(self) -> float:
        """The farthest it was from where it was at first."""
        return float(np.linalg.norm(self.position - self.position[0], axis=1).max())


def object_course(subject: Subject) -> ObjectCourse:
    """The object that the task is about; NotAssessed where it was not tracked."""
    track = subject.track(roles.OBJECT_POSE)
    if len(track) < 10 or track.values.shape[1] < 3 or track.period_s <= 0:
        raise NotAssessed(f"{track.label} has {len(track)} samples")
    position = track.values[:, :3]
    if not np.isfinite(position).all():
        raise NotAssessed(f"{track.label} has values that are not numbers")
    return ObjectCourse(track.label, track.seconds, position, _falls(track))


def _falls(track: Track) -> Spans:
    """Samples at which the object accelerates downwards nearly as freely as a stone."""
    step = max(1, round(_STEP_S / track.period_s))
    height, seconds = track.values[:, 2], track.seconds
    if len(height) <= 2 * step + 1:
        return ()
    speed = (height[step:] - height[:-step]) / np.maximum(seconds[step:] - seconds[:-step], 1e-9)
    gained = speed[step:] - speed[:-step]
    acceleration = gained / np.maximum(seconds[step:-step] - seconds[: -2 * step], 1e-9)
    falling = (acceleration < -FALLING_M_S2) & (speed[step:] < -0.25)
    least = max(2, round(FALLING_S / track.period_s / 2))
    return tuple(
        (first + step, stop + step)
        for first, stop in runs(falling, gap=step - 1)
        if stop - first >= least and speed[first : stop + 5 * step].min() < FALLEN_M_S
    )


def lowest_base(subject: Subject) -> tuple[str, float, Spans]:
    """The base pose's label, its lowest height as a share of standing, and where it is down."""
    standing = subject.robot.standing
    if standing is None:
        raise NotAssessed(f"the standing height of {subject.robot.name} is not known")
    track = subject.track(roles.BASE_POSE)
    if not len(track) or "z" not in track.names:
        raise NotAssessed(f"{track.label} has no height")
    height = track.values[:, track.names.index("z")] / standing.height
    down = np.nan_to_num(height, nan=1.0) < FALLEN
    return track.label, float(np.nanmin(height, initial=np.inf)), runs(down)


def opening_range(track: Track) -> tuple[float, float]:
    """The least and the greatest opening of a gripper."""
    low, high = np.nanmin(track.values, initial=np.inf), np.nanmax(track.values, initial=-np.inf)
    return float(low), float(high)


def gripper_travel(subject: Subject) -> dict[str, float]:
    """How far each gripper went, by label, without its rarest values."""
    found = {}
    for label, track in subject.ending_in(roles.GRIPPER).items():
        if len(track) and np.isfinite(track.values).all():
            low, high = np.quantile(track.values, (0.01, 0.99))
            found[label] = float(high - low)
    return found


@once_per_subject
def hand_speeds(subject: Subject) -> dict[str, Array]:
    """Speed in m/s of every end effector on the state's clock, smoothed over 50 ms."""
    effectors = subject.robot.end_effectors
    if not effectors:
        raise NotAssessed(f"{subject.robot.name} names no end effectors")
    frames = {frame.name: frame.link for frame in subject.robot.frames}
    posture = subject.posture
    step = max(1, round(0.05 / max(1e-6, subject.tracks[posture.label].period_s)))
    seconds = subject.tracks[posture.label].seconds
    if len(seconds) <= step:
        raise NotAssessed(f"{posture.label} has {len(seconds)} samples")
    poses = subject.link_poses
    speeds = {}
    for name, place in effectors.items():
        where = poses.position(frames.get(place, place))
        apart = np.linalg.norm(where[step:] - where[:-step], axis=1)
        speeds[name] = apart / np.maximum(seconds[step:] - seconds[:-step], 1e-9)
    return speeds

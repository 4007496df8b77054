"""What a camera shows moves when the robot does."""

from dataclasses import dataclass

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.lag import Lag, lag, lag_course, line_through
from corporeal.quality.evidence.motion import StateMotion, state_motion
from corporeal.quality.evidence.pictures import PictureTrack, cameras
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

# Changes of a small pixel below this are noise of the sensor and the codec.
NOISE = 3
# Fewer pictures than this tell nothing.
FEWEST = 60
# The search for a lag goes so far.
FARTHEST_S = 0.5
# So many ways to tell the lag must agree to within this, with so much confidence between them,
# and so many times that of the others.
VOICES, AGREE_S, BACKING, CLEARLY = 3, 0.035, 0.8, 2.5
# The joints that move most, and how much their weights are held back.
JOINTS, RIDGE = 10, 0.02
# How sure the lag of one window must be.
SURE = 0.3
# Windows along the episode for a lag that grows, and how well they must lie on a line.
WINDOW_S, STEP_S, SCATTER_S, WINDOWS = 5.0, 2.0, 0.03, 4


@dataclass(frozen=True)
class Activity:
    """How lively the picture is between one picture and the next, and when."""

    seconds: Array
    liveliest: Array
    whole: Array


def find(
    subject: Subject,
    *,
    max_late_s: float = 0.05,
    max_early_s: float = 0.06,
    max_drift_s: float = 0.1,
) -> Findings:
    """Yield cameras that are late by more than `max_late_s`, early, or drift by `max_drift_s`.

    The change from picture to picture is compared with the speed of the robot's state, whatever
    the stamps say. Exposure and read-out account for up to 30 ms; the estimate itself is good to
    20 ms. NotAssessed where the two have too little in common to tell.

    Why: a policy trained on late pictures acts on what was, and overshoots.
    Fix: shift the stamps by the lag found; find the buffer or the clock that causes it.
    """
    motion = state_motion(subject)
    unsure = []
    for track in cameras(subject, least=FEWEST):
        activity = _activity(track)
        if activity is None:
            unsure.append(f"{track.label} has too few good pictures with stamps")
            continue
        found = _lag(motion, activity)
        if found is None:
            unsure.append(f"{track.label} shows too little of the robot's motion")
        elif found > max_late_s or found < -max_early_s:
            limit = max_late_s if found > 0 else -max_early_s
            yield _late(track, motion, activity, found, limit)
        drift = _drift(motion, activity)
        if drift is not None and abs(drift[0]) > max_drift_s:
            yield _drifts(track, *drift, max_drift_s)
    if len(unsure) == len(subject.footage):
        raise NotAssessed("; ".join(unsure))


def _activity(track: PictureTrack) -> Activity | None:
    if len(track.seconds) < len(track):
        return None
    later, earlier = track.luma[1:], track.luma[:-1]
    moved = np.maximum(later, earlier) - np.minimum(later, earlier)
    whole = np.maximum(moved, NOISE) - np.uint8(NOISE)
    change = np.sqrt(whole.mean(axis=(1, 2), dtype=np.float64))
    middle = (track.seconds[1:] + track.seconds[:-1]) / 2
    kept = track.ordinary[1:] & track.ordinary[:-1]
    if kept.sum() < FEWEST:
        return None
    return Activity(middle[kept], _capped(track.stir[1:][kept]), _capped(change[kept]))


def _capped(values: Array) -> Array:
    """Without the peaks of single disturbed pictures, which would outweigh all motion."""
    return np.asarray(np.minimum(values, 2.5 * np.quantile(values, 0.95)))


def _lag(motion: StateMotion, activity: Activity) -> float | None:
    """The lag in seconds, late is positive; None where the ways to tell it do not agree."""
    root, lively = np.sqrt(motion.speed), np.sqrt(activity.liveliest)
    pairs = [(motion.speed, activity.liveliest), (root, activity.liveliest), (root, activity.whole)]
    found = [_one(reference, motion, signal, activity) for reference, signal in pairs]
    guesses = [each.seconds for each in found if each.confidence > 0.05] or [0.0]
    for signal in (activity.whole, lively):
        reference = seen_motion(motion, activity.seconds, signal, guesses)
        found.append(_one(reference, motion, signal, activity))
    return _agreed(found)


def _one(reference: Array, motion: StateMotion, signal: Array, activity: Activity) -> Lag:
    return lag(reference, motion.seconds, signal, activity.seconds, max_lag_s=FARTHEST_S)


def _agreed(found: list[Lag]) -> float | None:
    """The lag most of the estimates come near, each counting by its confidence."""
    known = [each for each in found if np.isfinite(each.seconds)]
    if len(known) < VOICES:
        return None
    seconds = np.array([each.seconds for each in known])
    sure = np.array([each.confidence for each in known])
    near = np.abs(seconds[:, None] - seconds[None, :]) <= AGREE_S
    backing = near @ sure
    best = near[int(np.argmax(backing))]
    inside, outside = float(sure[best].sum()), float(sure[~best].sum())
    if best.sum() < VOICES or inside < BACKING or inside < CLEARLY * outside:
        return None
    return float(np.average(seconds[best], weights=sure[best]))


def seen_motion(motion: StateMotion, seconds: Array, signal: Array, guesses: list[float]) -> Array:
    """The speed of the joints, each weighted by how much of it the camera shows.

    The weights come from least squares at whichever of the guessed lags explains most.
    """
    columns = np.sqrt(np.abs(np.diff(motion.smooth, axis=0)) / np.diff(motion.smooth_s)[:, None])
    columns = columns[:, np.argsort(-columns.std(axis=0))[:JOINTS]]
    target = signal - signal.mean()
    best, weights = -np.inf, np.ones(columns.shape[1])
    for guess in guesses:
        shown = np.stack(
            [np.interp(seconds - guess, motion.seconds, each) for each in columns.T], axis=1
        )
        spread = shown.std(axis=0) + 1e-9
        scaled = (shown - shown.mean(axis=0)) / spread
        normal = scaled.T @ scaled + RIDGE * len(scaled) * np.eye(scaled.shape[1])
        share = np.linalg.solve(normal, scaled.T @ target)
        explained = -float(((target - scaled @ share) ** 2).sum())
        if explained > best:
            best, weights = explained, share / spread
    return np.asarray(columns @ weights)


def _drift(motion: StateMotion, activity: Activity) -> tuple[float, Array, Array] | None:
    """How much the lag grows over the episode, and the lags in windows; None where unclear."""
    middles, lags = lag_course(
        np.sqrt(motion.speed),
        motion.seconds,
        activity.whole,
        activity.seconds,
        max_lag_s=FARTHEST_S,
        window_s=WINDOW_S,
        step_s=STEP_S,
    )
    sure = np.array([each.confidence > SURE for each in lags], bool)
    if sure.sum() < WINDOWS:
        return None
    when, late = middles[sure], np.array([each.seconds for each in lags])[sure]
    slope, level = line_through(when, late)
    if float(np.abs(late - slope * when - level).max()) > SCATTER_S:
        return None
    return slope * float(when[-1] - when[0]), when, late


def _late(
    track: PictureTrack, motion: StateMotion, activity: Activity, found: float, limit: float
) -> Finding:
    what = "late" if found > 0 else "early"
    chosen = np.linspace(0, len(activity.seconds) - 1, min(400, len(activity.seconds))).astype(int)
    when = activity.seconds[chosen]
    speed = np.interp(when, motion.seconds, motion.speed)
    return Finding(
        f"{track.label} is {1e3 * abs(found):.0f} ms {what}: its pictures change that much "
        f"{'after' if found > 0 else 'before'} the robot's state ({motion.label}).",
        stream=track.label,
        value=found,
        limit=limit,
        evidence={
            "time_s": when,
            "picture_change": activity.liveliest[chosen],
            "state_speed": speed / max(1e-12, float(speed.max())) * activity.liveliest.max(),
        },
    )


def _drifts(track: PictureTrack, drift: float, when: Array, late: Array, limit: float) -> Finding:
    return Finding(
        f"{track.label} runs at a rate of its own: its lag behind the robot's state goes from "
        f"{1e3 * late[0]:.0f} ms to {1e3 * late[-1]:.0f} ms over {when[-1] - when[0]:.0f} s.",
        stream=track.label,
        value=drift,
        limit=limit,
        evidence={"time_s": when, "lag_s": late},
    )


CHECK = Check(
    find,
    topic="lag",
    severity="quarantine",
    unit="s",
    pictures=True,
    formerly=("camera_follows_motion",),
)

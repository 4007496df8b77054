"""What a camera shows moves when the robot does."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import StateMotion, state_motion
from corporeal.quality.evidence.pictures import PictureTrack, cameras
from corporeal.quality.subject import Subject
from corporeal.signal.lag import Lag, lag, lag_course, line_through
from corporeal.signal.track import Array

# Changes of a small pixel below this are noise of the sensor and the codec.
NOISE = 3
# Fewer pictures than this tell nothing.
FEWEST = 60
# The search for a lag goes so far.
FARTHEST_S = 0.5
# So many ways to tell the lag must agree to within this, with so much confidence between them,
# and so many times that of the others.
VOICES, AGREE_S, BACKING, CLEARLY = 3, 0.035, 0.8, 4.0
# The agreement of two signals does not tell that they show different parts of the robot, which
# begin to move one after the other: so many deviations of the estimate are doubted.
DOUBT = 6.0
# How sure all ways must be to compare two cameras, and the lag beyond doubt that fails.
PAIR_SURE, FAILS_S = 0.5, 0.1
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


@dataclass(frozen=True)
class MeasuredLag:
    """How late a camera is, and how far from the truth that may be."""

    seconds: float
    doubt_s: float

    @property
    def beyond_doubt_s(self) -> float:
        """The part of the lag that is sure."""
        return max(0.0, abs(self.seconds) - self.doubt_s)

    def in_rows(self, period_s: float) -> MeasuredLag:
        """The same of a table, whose rows hold pictures that are up to half a row off."""
        return MeasuredLag(self.seconds, self.doubt_s + period_s / 2)


def find(
    subject: Subject,
    *,
    max_late_s: float = 0.005,
    max_early_s: float = 0.005,
    max_drift_s: float = 0.1,
) -> Findings:
    """Yield cameras that are surely later than `max_late_s`, earlier, or drift by `max_drift_s`.

    The change from picture to picture is compared with the speed of the robot's state, whatever
    the stamps say, and with that of every other camera. What counts is the lag less its doubt: a
    millisecond or two between two eyes that see the same, some 20 ms between a camera and the
    joints, and half a row more in a table. A lag of over 0.1 s beyond doubt fails the episode.
    NotAssessed where they have too little in common to tell.

    Why: a policy trained on late pictures acts on what was, and overshoots.
    Fix: shift the stamps by the lag found; find the buffer or the clock that causes it.
    """
    motion, reason = _motion(subject)
    rows = subject.recording.regridded
    activities: dict[str, Activity] = {}
    lags: dict[str, MeasuredLag] = {}
    unsure, limits = [], (max_late_s, max_early_s)
    reported: set[str] = set()
    for track in cameras(subject, least=FEWEST):
        activity = _activity(track)
        if activity is None:
            unsure.append(f"{track.label} has too few good pictures with stamps")
            continue
        activities[track.label] = activity
        found = None if motion is None else _lag(motion, activity)
        if found is not None and rows:
            found = found.in_rows(track.period_s)
        if motion is None or found is None:
            unsure.append(reason or f"{track.label} shows too little of the robot's motion")
            continue
        lags[track.label] = found
        if _is_over(found, *limits):
            reported.add(track.label)
            yield _late(track.label, motion, activity, found, limits)
        drift = _drift(motion, activity)
        if drift is not None and abs(drift[0]) > max_drift_s:
            yield _drifts(track, *drift, max_drift_s)
    compared = yield from _pairs(activities, lags, reported, limits, rows=rows)
    if not lags and not compared:
        raise NotAssessed("; ".join(dict.fromkeys(unsure)))


def _motion(subject: Subject) -> tuple[StateMotion | None, str]:
    """The motion of the state, or why there is none."""
    try:
        return state_motion(subject), ""
    except NotAssessed as why:
        return None, str(why)


def _is_over(found: MeasuredLag, max_late_s: float, max_early_s: float) -> bool:
    return found.beyond_doubt_s > (max_late_s if found.seconds > 0 else max_early_s)


def _pairs(
    activities: dict[str, Activity],
    lags: dict[str, MeasuredLag],
    reported: set[str],
    limits: tuple[float, float],
    *,
    rows: bool,
) -> Generator[Finding, None, int]:
    """Cameras that show the same motion at different times; returns how many pairs could tell."""
    compared = 0
    for one, other in combinations(activities, 2):
        found = _between(activities[one], activities[other])
        compared += found is not None
        if found is not None and rows:
            found = found.in_rows(float(np.median(np.diff(activities[one].seconds))))
        if found is None or {one, other} & reported or not _is_over(found, *limits):
            continue
        # Of the two, the one that is farther from the robot's own motion; else the later one.
        late, early = (other, one) if found.seconds > 0 else (one, other)
        wrong, right = late, early
        if one in lags and other in lags and abs(lags[early].seconds) > abs(lags[late].seconds):
            wrong, right = early, late
        reported.add(wrong)
        yield Finding(
            f"{wrong} is {1e3 * abs(found.seconds):.0f} ms {'late' if wrong is late else 'early'}"
            f" against {right}, which shows the same motion (give or take"
            f" {1e3 * found.doubt_s:.0f} ms).",
            stream=wrong,
            value=abs(found.seconds) if wrong is late else -abs(found.seconds),
            limit=limits[0] if wrong is late else -limits[1],
            severity="fail" if found.beyond_doubt_s > FAILS_S else None,
        )
    return compared


def _between(one: Activity, other: Activity) -> MeasuredLag | None:
    """How late the other camera is against one; None where they do not show the same motion."""
    ways = (
        (one.liveliest, other.liveliest),
        (one.whole, other.whole),
        (np.sqrt(one.liveliest), np.sqrt(other.liveliest)),
    )
    found = [lag(a, one.seconds, b, other.seconds, max_lag_s=FARTHEST_S) for a, b in ways]
    seconds = [each.seconds for each in found]
    if min(each.confidence for each in found) < PAIR_SURE or np.ptp(seconds) > AGREE_S:
        return None
    return _measured(found, float(np.median(seconds)))


def _measured(found: list[Lag], seconds: float) -> MeasuredLag:
    """The lag with the doubt that the ways to tell it leave: how they differ, and their own."""
    spread = float(np.ptp([each.seconds for each in found])) / 2
    return MeasuredLag(
        seconds, DOUBT * float(np.median([each.deviation_s for each in found])) + spread
    )


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


def _lag(motion: StateMotion, activity: Activity) -> MeasuredLag | None:
    """The lag, late is positive; None where the ways to tell it do not agree."""
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


def _agreed(found: list[Lag]) -> MeasuredLag | None:
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
    backed = [each for each, near in zip(known, best.tolist(), strict=True) if near]
    return _measured(backed, float(np.average(seconds[best], weights=sure[best])))


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
    label: str,
    motion: StateMotion,
    activity: Activity,
    found: MeasuredLag,
    limits: tuple[float, float],
) -> Finding:
    late = found.seconds > 0
    chosen = np.linspace(0, len(activity.seconds) - 1, min(400, len(activity.seconds))).astype(int)
    when = activity.seconds[chosen]
    speed = np.interp(when, motion.seconds, motion.speed)
    return Finding(
        f"{label} is {1e3 * abs(found.seconds):.0f} ms {'late' if late else 'early'}: its pictures "
        f"change that much {'after' if late else 'before'} the robot's state ({motion.label}), "
        f"give or take {1e3 * found.doubt_s:.0f} ms.",
        stream=label,
        value=found.seconds,
        limit=limits[0] if late else -limits[1],
        evidence={
            "time_s": when,
            "picture_change": activity.liveliest[chosen],
            "state_speed": speed / max(1e-12, float(speed.max())) * activity.liveliest.max(),
        },
        severity="fail" if found.beyond_doubt_s > FAILS_S else None,
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

"""The sync test: sharp motions, found in every stream, say how late each stream's stamps are.

The robot's joint positions are the reference. Their speed, and their acceleration for streams of
forces, are shifted in time until they fit the motion energy of a stream around each event; the
shift is the lag of the stream. A stream never passes without an onset of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corporeal.capture.motion_energy import Energy, MotionSpan, Order, is_measurable, measure
from corporeal.capture.motion_fit import LagFit, fit_shape
from corporeal.capture.motion_onset import fit_onsets
from corporeal.capture.motion_reference import MotionReference, make_reference
from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import are_joints, match_joints
from corporeal.episode import Episode
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.geometry import Array
from corporeal.schema import roles
from corporeal.units import SECOND_NS

TOLERANCE_S = 0.005
_POSITIONS, _VELOCITIES = {"rad", "m"}, {"rad/s", "m/s"}
_ROLES = (f"observations/{roles.JOINT_POSITION}", f"observations/{roles.JOINT_VELOCITY}")
# A joint state has at least so many columns, or one that is a joint of the robot.
_LEAST_JOINTS = 2
# Around an event: how long before it must be still, how much is watched in all.
STILL_S, BEFORE_S, AFTER_S = 0.3, 0.55, 0.55
# A motion that takes longer to reach half of its speed is not sharp.
RISE_S = 0.12
# An onset stands out of the noise at rest by this many deviations, and the shifted reference
# explains this share of the stream's energy.
LEAST_SNR, LEAST_SHARE = 6.0, 0.6
MOST_EVENTS = 40
# What a curve may be off by for reasons of physics, not of time: two deviations, found on
# simulated recordings whose true lag is nought.
MODEL_S: dict[Order, float] = {"speed": 0.001, "force": 0.003, "sight": 0.004}

Verdict = Literal["reference", "in sync", "late", "early", "cannot tell", "no onset found"]


@dataclass(frozen=True, eq=False)
class StreamSync:
    """One stream: how late it is, to within `uncertainty_s` (two deviations), and why.

    `snr` is the height of the onset over the noise at rest; `share` is how much of the stream's
    energy the shifted reference explains. `lag_s` is None where no onset was found.
    """

    path: str
    verdict: Verdict
    lag_s: float | None
    uncertainty_s: float | None
    snr: float
    share: float
    events: int
    energy: Energy

    def in_words(self) -> str:
        """The verdict as a person would say it."""
        if self.lag_s is None or self.uncertainty_s is None or self.verdict == "reference":
            return str(self.verdict)
        amount = f"{abs(self.lag_s) * 1e3:.1f} ± {self.uncertainty_s * 1e3:.1f} ms"
        side = "late" if self.lag_s >= 0 else "early"
        if self.verdict in ("late", "early"):
            return f"{side} by {amount}"
        return f"{self.verdict}: {side} by {amount}"


@dataclass(frozen=True, eq=False)
class SyncReport:
    """The result of a sync test; times are seconds since the episode's epoch."""

    reference: str
    events_s: tuple[float, ...]
    tolerance_s: float
    streams: tuple[StreamSync, ...]
    left_out: tuple[str, ...]

    @property
    def is_in_sync(self) -> bool:
        """Whether some stream was assessed and all that were are within the tolerance."""
        verdicts = {stream.verdict for stream in self.streams}
        return "in sync" in verdicts and not verdicts & {"late", "early"}

    @property
    def undecided(self) -> tuple[str, ...]:
        """Paths of the streams of which nothing can be said."""
        open_verdicts = ("cannot tell", "no onset found")
        return tuple(stream.path for stream in self.streams if stream.verdict in open_verdicts)

    @property
    def is_mostly_undecided(self) -> bool:
        """Whether nothing can be said of more streams than something can be said of."""
        decided = sum(stream.verdict in ("in sync", "late", "early") for stream in self.streams)
        return len(self.undecided) > decided

    def in_words(self) -> str:
        """How many streams have which verdict."""
        order: tuple[Verdict, ...] = ("in sync", "late", "early", "cannot tell", "no onset found")
        counts = [(sum(s.verdict == verdict for s in self.streams), verdict) for verdict in order]
        return ", ".join(f"{count} {verdict}" for count, verdict in counts if count)

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the curves."""
        streams = []
        for stream in self.streams:
            values = {key: value for key, value in vars(stream).items() if key != "energy"}
            streams.append({**values, "in_words": stream.in_words()})
        facts = {key: value for key, value in vars(self).items() if key != "streams"}
        return {
            **facts,
            "is_in_sync": self.is_in_sync,
            "undecided": list(self.undecided),
            "streams": streams,
        }


def find_reference(episode: Episode, robot: Embodiment | None) -> str:
    """The stream that holds the joints: by its role, else by what its columns are.

    Positions come before velocities, then the stream with most joints of the robot, or, where no
    robot is known, most columns. CorporealError with what there is when none holds joints.
    """
    candidates = []
    for path in episode:
        spec = episode[path].spec
        if spec.kind != "array" or len(spec.sizes) != 1 or spec.group == "actions":
            continue
        order = next((place for place, units in enumerate((_POSITIONS, _VELOCITIES))
                      if set(spec.units) <= units), None)  # fmt: skip
        if order is None or not len(episode[path]):
            continue
        matched = 0 if robot is None else sum(map(bool, match_joints(spec.names, robot)))
        is_role = spec.path in _ROLES
        is_joints = is_role or matched or (are_joints(spec.names) or not spec.names)
        if is_joints and (matched or spec.sizes[0] >= _LEAST_JOINTS):
            candidates.append((order, not is_role, -matched, -spec.sizes[0], path))
    if not candidates:
        raise CorporealError(
            f"{episode.path}: no joint state to compare with; expected a stream of joints in rad "
            f"or rad/s, got {', '.join(episode) or 'no stream'}. Name it with --reference."
        )
    return min(candidates)[-1]


def sync_test(
    episode: Episode,
    *,
    event_s: float | None = None,
    tolerance_s: float = TOLERANCE_S,
    reference_path: str | None = None,
) -> SyncReport:
    """Find the lag of every stream of an episode that holds sharp motions with stillness before.

    `event_s` picks the one motion nearest to that time; `reference_path` the stream that others
    are held against, by default the joints. Raises CorporealError when there is no joint state or
    no sharp motion.
    """
    if tolerance_s <= 0:
        raise CorporealError(f"tolerance, got {tolerance_s * 1e3:g} ms; expected more than 0.")
    robot = episode.embodiment if "embodiment" in episode.documents else None
    if reference_path is not None and reference_path not in episode:
        raise UnknownNameError("stream", reference_path, tuple(episode))
    path = reference_path or find_reference(episode, robot)
    reference = make_reference(episode[path], robot)
    events = _chosen(find_events(reference), event_s, episode)
    spans = [MotionSpan(at - BEFORE_S, at - STILL_S / 2, at + AFTER_S) for at in events]
    measurable = [name for name in episode if is_measurable(episode[name])]
    streams = []
    for name in sorted(measurable, key=lambda name: name != path):
        energy = measure(episode[name], spans)
        streams.append(_assess(name, energy, reference, events, tolerance_s, is_own=name == path))
    left_out = tuple(name for name in episode if name not in measurable)
    return SyncReport(path, tuple(events), tolerance_s, tuple(streams), left_out)


def find_events(reference: MotionReference) -> list[float]:
    """Onsets of sharp motions after stillness, in seconds, the sharpest `MOST_EVENTS` of them."""
    energy = reference.speed
    time_s, value = energy.time_s, energy.value
    rest = float(np.median(np.sort(value)[: max(1, len(value) // 3)]))
    high = max(0.3 * float(np.percentile(value, 99.5)), 6 * rest)
    found: list[tuple[float, float]] = []
    for place in np.flatnonzero((value[1:] >= high) & (value[:-1] < high)) + 1:
        peak = float(value[place : place + 20].max())
        onset = _crossing(time_s, value, int(place), 0.1 * peak)
        if onset is None or time_s[place] - onset > RISE_S:
            continue
        before = (time_s > onset - STILL_S) & (time_s < onset - 0.02)
        if before.sum() > 5 and np.median(value[before]) < 0.1 * peak:
            found.append((peak, onset))
    return sorted(onset for _, onset in sorted(found, reverse=True)[:MOST_EVENTS])


def _crossing(time_s: Array, value: Array, place: int, level: float) -> float | None:
    """When the curve last rose through a level before `place`, between samples."""
    below = np.flatnonzero(value[:place] < level)
    if not len(below):
        return None
    k = int(below[-1])
    part = (level - value[k]) / (value[k + 1] - value[k])
    return float(time_s[k] + part * (time_s[k + 1] - time_s[k]))


def _chosen(events: list[float], event_s: float | None, episode: Episode) -> list[float]:
    begin, end = (stamp / SECOND_NS for stamp in episode.span_ns)
    inside = [at for at in events if begin + STILL_S < at < end - STILL_S]
    if not inside:
        raise CorporealError(
            f"{episode.path}: no sharp motion after stillness; expected a jerk or a clap with "
            f"{STILL_S:g} s of rest before it. Record one: stand still, jerk an arm, three times."
        )
    if event_s is None:
        return inside
    nearest = min(inside, key=lambda at: abs(at - event_s))
    if abs(nearest - event_s) > 1.0:
        listed = ", ".join(f"{at:.2f}" for at in inside)
        raise CorporealError(
            f"event, got {event_s:g} s; expected one within 1 s of a sharp motion: {listed} s."
        )
    return [nearest]


def _fit(energy: Energy, reference: MotionReference, events: list[float]) -> LagFit | None:
    # Forces ring on after a jerk in ways that depend on the whole body: only their onset tells.
    if energy.order == "force":
        return fit_onsets(energy, reference, events)
    return fit_shape(energy, reference, events)


def _assess(
    path: str,
    energy: Energy,
    reference: MotionReference,
    events: list[float],
    tolerance_s: float,
    *,
    is_own: bool,
) -> StreamSync:
    fit = _fit(energy, reference, events)
    verdict: Verdict = "no onset found"
    if is_own:
        return StreamSync(path, "reference", 0.0, 0.0, fit.snr if fit else 0.0, 1.0, len(events),
                          energy)  # fmt: skip
    if fit is None or fit.snr < LEAST_SNR or fit.share < LEAST_SHARE:
        snr, share = (fit.snr, fit.share) if fit else (0.0, 0.0)
        return StreamSync(path, verdict, None, None, snr, share, 0, energy)
    sure_s = float(np.hypot(2 * fit.deviation_s, MODEL_S[energy.order]))
    if abs(fit.lag_s) + sure_s <= tolerance_s:
        verdict = "in sync"
    elif abs(fit.lag_s) - sure_s > tolerance_s:
        verdict = "late" if fit.lag_s > 0 else "early"
    else:
        verdict = "cannot tell"
    return StreamSync(path, verdict, fit.lag_s, sure_s, fit.snr, fit.share, fit.events,
                      energy)  # fmt: skip

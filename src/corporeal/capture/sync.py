"""The sync test: sharp motions, found in every stream, say how late each stream's stamps are.

The robot's joint positions are the reference. Their speed, and their acceleration for streams of
forces, are shifted in time until they fit the motion energy of a stream around each event; the
shift is the lag of the stream. A stream never passes without an onset of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


_INK, _QUIET, _GRID = "#1d2733", "#7a8794", "#e6eaee"
_CURVE, _FILL = "#1f77b4", "#b9d3e6"
_COLOURS = {
    "reference": _INK,
    "in sync": "#2a9d8f",
    "late": "#e4572e",
    "early": "#e4572e",
    "cannot tell": "#b7791f",
    "no onset found": _QUIET,
}
_BEFORE_MS, _AFTER_MS = 260.0, 400.0


def plot_sync(report: SyncReport, *, title: str = "sync test", event: int = 0) -> Figure:
    """A matplotlib figure for a 16:9 slide that shows one event of a report."""
    from matplotlib.figure import Figure

    if not 0 <= event < len(report.events_s):
        raise CorporealError(
            f"event number, got {event}; expected 0 to {len(report.events_s) - 1}."
        )
    figure = Figure(figsize=(16, 9), dpi=120, facecolor="white")
    grid = figure.add_gridspec(
        len(report.streams), 1, left=0.17, right=0.73, top=0.85, bottom=0.085, hspace=0.18
    )
    lanes = [figure.add_subplot(grid[row]) for row in range(len(report.streams))]
    for lane, stream in zip(lanes, report.streams, strict=True):
        _draw(lane, stream, report.events_s[event])
    lanes[-1].tick_params(labelbottom=True)
    lanes[-1].set_xlabel(
        "milliseconds after the robot's joints began to move", color=_QUIET, fontsize=9
    )
    _head(figure, report, title, event)
    return figure


def _head(figure: Figure, report: SyncReport, title: str, event: int) -> None:
    count = len(report.events_s)
    facts = [
        f"motion {event + 1} of {count}, at {report.events_s[event]:.2f} s",
        f"lags from {'all of them together' if count > 1 else 'this one'}",
        f"reference {_short(report.reference)}",
        f"tolerance {report.tolerance_s * 1e3:g} ms",
    ]
    figure.text(0.015, 0.945, title, fontsize=21, weight="bold", color=_INK, va="center")
    figure.text(0.015, 0.9, "   ·   ".join(facts), fontsize=10.5, color=_QUIET, va="center")
    colour = _COLOURS["in sync" if report.is_in_sync else "late"]
    figure.text(0.985, 0.945, report.in_words(), fontsize=15, weight="bold", color=colour,
                va="center", ha="right")  # fmt: skip


def _draw(lane: Axes, stream: StreamSync, at_s: float) -> None:
    colour = _COLOURS[stream.verdict]
    lane.set_xlim(-_BEFORE_MS, _AFTER_MS)
    lane.set_ylim(-0.12, 1.12)
    lane.set_yticks([])
    lane.tick_params(labelbottom=False, length=0, colors=_QUIET, labelsize=9)
    for side in lane.spines.values():
        side.set_visible(False)
    lane.axhline(-0.1, color=_GRID, lw=0.8)
    _curve(lane, stream, at_s)
    lane.axvline(0.0, color=_INK, lw=1.0)
    if stream.lag_s is not None and stream.uncertainty_s is not None:
        lag, sure = stream.lag_s * 1e3, stream.uncertainty_s * 1e3
        lane.axvspan(lag - sure, lag + sure, color=colour, alpha=0.16, lw=0)
        lane.plot([lag], [-0.02], marker="^", ms=7, color=colour, clip_on=False, zorder=5)
    lane.text(-0.012, 0.45, _short(stream.path), transform=lane.transAxes, fontsize=9.5,
              color=_INK, ha="right", va="center")  # fmt: skip
    lane.text(1.012, 0.45, stream.in_words(), transform=lane.transAxes, fontsize=9.5, color=colour,
              va="center")  # fmt: skip


def _curve(lane: Axes, stream: StreamSync, at_s: float) -> None:
    """The energy of the stream, from its rest to its highest."""
    time_ms = (stream.energy.time_s - at_s) * 1e3
    shown = (time_ms > -_BEFORE_MS - 60) & (time_ms < _AFTER_MS + 60)
    if shown.sum() < 2:
        return
    value = stream.energy.value[shown]
    low, high = float(np.min(value)), float(np.max(value))
    # Noise is not blown up to the height of a motion.
    seen = min(1.0, stream.snr / 12) if stream.verdict == "no onset found" else 1.0
    height = seen * (value - low) / max(high - low, 1e-12)
    lane.fill_between(time_ms[shown], 0.0, height, color=_FILL, alpha=0.45, lw=0)
    marker = "o" if shown.sum() < 60 else None
    lane.plot(time_ms[shown], height, color=_CURVE, lw=1.2, marker=marker, ms=2.6)


def _short(path: str) -> str:
    return path.partition("/")[2].replace("_", " ")

"""Forces rise and fall as bodies do, and stay within what the robot can feel."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.forces import ForceSensor, force_sensors, weight_n
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track, track_of
from corporeal.words import some_of, with_unit

# A spike that no touch explains is over within this time.
LONGEST_S = 0.035
# What a tactile map usually reaches, and what a firm grip puts on it in all, Pa over all taxels.
USUAL, TOUCH_PA = 0.98, 1e6
FEW = 20
# Metres from force to moment: a hand is felt near the wrist, a foot strikes with heel or toe.
HAND_M, FOOT_M = 0.1, 0.4


def find(
    subject: Subject,
    *,
    max_spike_n: float = 60.0,
    foot_share: float = 0.45,
    max_hand_n: float = 250.0,
    max_foot_weights: float = 6.0,
    max_skin_ratio: float = 1.2,
) -> Findings:
    """Yield samples that leap out and straight back, and forces that no robot stands.

    A blow rises within a sample as well, but rings and fades; what leaps by `max_spike_n` and
    returns to where it was, both within one sample, is electric. Feet strike harder: there it is
    `foot_share` of the weight. Hands feel at most `max_hand_n`, feet `max_foot_weights` weights.
    A tactile map may leap, all taxels together, by `max_skin_ratio` of what it usually reaches.

    Why: one sample of 200 N looks like a crash to everything that learns from forces.
    Fix: replace the samples by interpolation, and look at the cable.
    """
    weight = weight_n(subject)
    skins = _skins(subject)
    yield from _skin_spikes(skins, max_skin_ratio)
    for sensor in _sensors(subject, skins):
        leap = max(max_spike_n, foot_share * weight) if sensor.on_foot else max_spike_n
        most = max_foot_weights * weight if sensor.on_foot else max_hand_n
        yield from _spikes(sensor, leap)
        yield from _beyond(sensor, most)


def _skins(subject: Subject) -> list[Track]:
    """Tactile maps as the sum of their taxels."""
    found = []
    for label, signal in subject.recording.signals.items():
        if signal.spec.name.endswith(roles.TACTILE) and signal.spec.kind == "array":
            track = track_of(label, signal)
            if len(track) >= FEW and track.values.shape[1]:
                total = np.nansum(track.values, axis=1, keepdims=True)
                found.append(Track(label, track.spec, track.time_ns, total))
    return found


def _sensors(subject: Subject, skins: list[Track]) -> list[ForceSensor]:
    try:
        return force_sensors(subject)
    except NotAssessed:
        if not skins:
            raise
        return []


def _skin_spikes(skins: list[Track], ratio: float) -> Findings:
    for track in skins:
        total = track.values
        size = returns(total, 1)[:, 0]
        usual = float(np.quantile(total, USUAL))
        limit = ratio * max(usual, TOUCH_PA if "Pa" in track.units else 0.0)
        bad = size > limit
        if limit <= 0 or not bad.any():
            continue
        worst = int(np.argmax(size))
        window = slice(max(0, worst - 60), worst + 61)
        yield Finding(
            f"{track.label} leaps by {with_unit(float(size[worst]), track.units[0])} over all "
            f"taxels and straight back at {track.seconds[worst]:.3f} s{_times(bad)}.",
            stream=track.label,
            frames=runs(bad),
            value=float(size[worst]),
            limit=limit,
            evidence={"time_s": track.seconds[window], "total": total[window, 0]},
        )


def returns(values: Array, widest: int) -> Array:
    """How far each sample (T, D) is out on a plateau of at most `widest` samples, else zero.

    Both edges of the plateau are one sample wide, it is level, and it ends where it began.
    """
    out = np.zeros_like(values)
    count = len(values)
    for width in range(1, min(widest, count - 2) + 1):
        before, after = values[: count - width - 1], values[width + 1 :]
        first, last = values[1 : count - width], values[width : count - 1]
        rise, fall = first - before, last - after
        same = np.sign(rise) == np.sign(fall)
        height = np.minimum(np.abs(rise), np.abs(fall)) - np.abs(after - before)
        height = np.where(same, np.maximum(height, 0.0), 0.0)
        for step in range(1, width - 1):
            inside = (values[1 + step : count - width + step] - before) * np.sign(rise)
            height = np.where((inside > 0.6 * height) & (inside < 1.8 * height), height, 0.0)
        for step in range(width):
            part = out[1 + step : 1 + step + len(height)]
            np.maximum(part, height, out=part)
    return out


def _spikes(sensor: ForceSensor, leap: float) -> Findings:
    track = sensor.track
    values = bridge_gaps(track.values)
    widest = max(1, int(LONGEST_S / max(track.period_s, 1e-6)))
    limits = np.full(values.shape[1], leap)
    limits[sensor.moments] = leap * (FOOT_M if sensor.on_foot else HAND_M)
    # A leap is no larger than the steps at both of its ends.
    steep = np.abs(np.diff(values, axis=0)).max(axis=0, initial=0.0) > limits
    size = np.zeros_like(values)
    size[:, steep] = returns(values[:, steep], widest)
    bad: Flags = np.asarray(size > limits)
    if not bad.any():
        return
    row, column = np.unravel_index(int(np.argmax(size / limits)), size.shape)
    names = [
        name for name, hit in zip(track.names, np.any(bad, axis=0).tolist(), strict=True) if hit
    ]
    verb = "leaps" if len(names) == 1 else "leap"
    yield Finding(
        f"{some_of(names)} of {track.label} {verb} by {size[row, column]:.0f} "
        f"{track.units[int(column)]} and straight back at {track.seconds[row]:.3f} s"
        f"{_times(np.asarray(bad.any(axis=1)))}.",
        stream=track.label,
        frames=runs(bad.any(axis=1)),
        value=float(size[row, column]),
        limit=float(limits[column]),
        evidence=drawn(track, int(row), int(row) + 1, [int(column)]),
    )


def _beyond(sensor: ForceSensor, most: float) -> Findings:
    track = sensor.track
    force = np.linalg.norm(track.values[:, sensor.forces], axis=1)
    bad = force > most
    if not bad.any():
        return
    worst = int(np.nanargmax(force))
    yield Finding(
        f"{track.label} feels {force[worst]:.0f} N at {track.seconds[worst]:.3f} s, more than "
        f"{'feet' if sensor.on_foot else 'hands'} meet{_times(bad)}.",
        stream=track.label,
        frames=runs(bad),
        value=float(force[worst]),
        limit=most,
        evidence=drawn(track, worst, worst + 1, sensor.forces),
    )


def _times(bad: Flags) -> str:
    count = len(runs(bad))
    return f", {count} times in all" if count > 1 else ""


CHECK = Check(find, topic="dynamics", severity="fail", unit="N")

"""Force sensors read zero where nothing is felt, and feet carry the robot's weight."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.base_and_feet import loads_of
from corporeal.quality.evidence.forces import (
    MAX_BIAS_N,
    MAX_WEIGHT_ERROR,
    ForceSensor,
    foot_share,
    force_sensors,
    hand_rest,
)
from corporeal.quality.subject import Subject
from corporeal.words import some_of

# What one newton is in other units.
UNITS = {1 / 9.80665: "kgf", 0.224809: "lbf", 1000.0: "mN", 0.001: "kN", 101.97: "gf"}


def find(
    subject: Subject, *, max_bias_n: float = MAX_BIAS_N, max_weight_error: float = MAX_WEIGHT_ERROR
) -> Findings:
    """Yield wrists that are never near zero, and ankles that do not carry the robot's weight.

    A wrist is taken when it feels least, less the weight of the hand beyond it, and may be off by
    `max_bias_n`; where the episode's calibration knows the tool and the bias, those are taken off.
    Ankles together carry the robot, less what is beyond them, to `max_weight_error`.

    Why: a sensor that was not zeroed, or is in another unit, shifts every force of the episode.
    Fix: zero the sensor before recording, or convert its unit.
    """
    looked = False
    for sensor in force_sensors(subject):
        if sensor.on_foot or sensor.mount is None:
            continue
        looked = True
        yield from _free_hand(subject, sensor, max_bias_n)
    try:
        yield from _weight(subject, max_weight_error)
    except NotAssessed:
        if not looked:
            raise


def _free_hand(subject: Subject, sensor: ForceSensor, limit: float) -> Findings:
    rest = hand_rest(subject, sensor)
    if rest is None or float(np.linalg.norm(rest)) <= limit:
        return
    track, size = sensor.track, float(np.linalg.norm(rest))
    worst = int(np.argmax(np.abs(rest)))
    yield Finding(
        f"{track.label} is never near zero: at its least it still feels {size:.1f} N beyond the "
        f"hand's own weight, mostly {track.names[sensor.forces[worst]]} {rest[worst]:.1f} N.",
        stream=track.label,
        value=size,
        limit=limit,
        evidence=drawn_whole(
            track.seconds, {track.names[k]: track.values[:, k] for k in sensor.forces[:3]}
        ),
    )


def _weight(subject: Subject, limit: float) -> Findings:
    share, weight = foot_share(subject)
    if abs(share - 1) <= limit:
        return
    loads = loads_of(subject)
    carried = np.nanmedian(loads.upward, axis=0)
    tracks = list(loads.tracks.values())
    unit = _unit(share)
    wrong = tracks
    if unit is None and len(tracks) == 2:
        # One sensor in another unit reads what is left of half the weight.
        lower = int(np.argmin(np.abs(carried)))
        unit = _unit(float(abs(carried[lower]) / max(abs(carried[1 - lower]), 1e-9)))
        wrong = [tracks[lower]] if unit is not None else tracks
    seconds = subject.posture.time_ns / 1e9
    yield Finding(
        f"{' and '.join(track.label for track in tracks)} carry {share * weight:.3g} N where the "
        f"robot puts {weight:.0f} N on them"
        f"{f': {some_of([t.label for t in wrong])} in {unit}' if unit else ''}.",
        stream=wrong[0].label,
        value=share,
        limit=1 + limit,
        evidence=drawn_whole(seconds, {"total_n": loads.upward.sum(axis=1)}),
    )


def _unit(share: float) -> str | None:
    return next((name for gain, name in UNITS.items() if 0.85 < share / gain < 1.15), None)


CHECK = Check(
    find,
    topic="dynamics",
    severity="quarantine",
    rests_on=("robot",),
    unit="N",
    formerly=("force_bias",),
)

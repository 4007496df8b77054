"""A foot that carries weight is on the ground, and a robot that stands is carried."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings, Spans
from corporeal.quality.evidence.base_and_feet import Footing, footing_of, loads_of
from corporeal.quality.evidence.foot_stance import load_sides
from corporeal.quality.subject import Subject
from corporeal.signal.runs import lasting_runs
from corporeal.signal.track import Array


def find(
    subject: Subject,
    *,
    max_height_m: float = 0.03,
    loaded_share: float = 0.3,
    unloaded_share: float = 0.1,
    min_duration_s: float = 0.1,
) -> Findings:
    """Yield frames in which a loaded foot is in the air, or feet on the ground carry nothing.

    Loaded is over `loaded_share` of the robot's weight, in the air over `max_height_m`. Both feet
    on the ground under `unloaded_share` together count as carrying nothing: one foot alone may
    rest without weight.

    Why: force and kinematics that disagree are out of step, exchanged, or wrong.
    Fix: look at the stamps of the force sensors, their zero and their sides.
    """
    footing, loads = footing_of(subject), loads_of(subject)
    weight = 9.81 * subject.robot.mass
    if len(footing.names) == 2 and len(loads.tracks) == 2 and load_sides(subject).exchanged:
        # Said by the check of the sides; here every step would be said again.
        return
    seconds = footing.time_ns / 1e9
    upward = np.nan_to_num(loads.upward)
    for column, name in enumerate(footing.names):
        if name in loads.tracks:
            bad = (upward[:, column] > loaded_share * weight) & (
                footing.above[:, column] > max_height_m
            )
            found = lasting_runs(bad, seconds, min_duration_s)
            if found:
                yield _in_the_air(footing, upward, column, found, max_height_m)
    if np.isfinite(loads.upward).all():
        low = (np.abs(footing.above) < max_height_m / 2).all(axis=1)
        bad = low & (np.abs(upward.sum(axis=1)) < unloaded_share * weight)
        found = lasting_runs(bad, seconds, 4 * min_duration_s)
        # Sensors in another unit carry nothing throughout, which is said elsewhere.
        if found and not (np.median(upward.sum(axis=1)) < 2 * unloaded_share * weight):
            yield _unloaded(subject, footing, upward, found, unloaded_share * weight)


def _in_the_air(
    footing: Footing, upward: Array, column: int, found: Spans, limit: float
) -> Finding:
    name, (first, stop) = footing.names[column], found[0]
    height = float(footing.above[first:stop, column].max())
    return Finding(
        f"the {name} foot carries {np.median(upward[first:stop, column]):.0f} N while it is "
        f"{height:.3f} m above the ground, from {footing.time_ns[first] / 1e9:.2f} s on.",
        stream=footing.label,
        frames=found,
        value=height,
        limit=limit,
        evidence=_curves(footing, upward, first, stop),
    )


def _unloaded(
    subject: Subject,
    footing: Footing,
    upward: Array,
    found: Spans,
    limit: float,
) -> Finding:
    first, stop = found[0]
    total = float(np.median(upward[first:stop].sum(axis=1)))
    return Finding(
        f"the ankles carry {total:.0f} N while both feet are on the ground, from "
        f"{footing.time_ns[first] / 1e9:.2f} s on; the robot weighs "
        f"{9.81 * subject.robot.mass:.0f} N.",
        stream=footing.label,
        frames=found,
        value=total,
        limit=limit,
        evidence=_curves(footing, upward, first, stop),
    )


def _curves(footing: Footing, upward: Array, first: int, stop: int) -> dict[str, Array]:
    window = slice(max(0, first - 60), min(len(upward), stop + 60))
    step = max(1, (window.stop - window.start) // 300 + 1)
    picked = slice(window.start, window.stop, step)
    loads = {f"{name}_load_n": upward[picked, k] for k, name in enumerate(footing.names)}
    above = {f"{name}_height_m": footing.above[picked, k] for k, name in enumerate(footing.names)}
    return {"time_s": footing.time_ns[picked] / 1e9, **loads, **above}


CHECK = Check(
    find,
    topic="dynamics",
    severity="quarantine",
    rests_on=("robot",),
    unit="m",
    formerly=("feet_contact",),
)

"""Feet that are meant to stand are on the ground, and stay where they are."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, Spans, drawn_whole
from corporeal.quality.evidence.base_and_feet import Footing, footing_of
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags, flags_of, lasting_runs, runs
from corporeal.signal.track import Array

_PARTS = ("heel", "toe")


def find(
    subject: Subject,
    *,
    max_height_m: float = 0.02,
    max_drift_m: float = 0.02,
    min_duration_s: float = 0.06,
) -> Findings:
    """Yield feet in the air, or moving over the ground, while `foot_contact` has them stand.

    A foot with heel or toe on the ground may be `max_height_m` above it at most, and one with
    both may be `max_drift_m` from where it came down. Shorter than `min_duration_s` is a landing.

    Why: a robot that replays a stance that hovers or drifts stumbles, or slips.
    Fix: retarget again with the contacts held, or correct the contacts.
    """
    footing = footing_of(subject)
    contact = _contacts(subject, footing)
    seconds = footing.time_ns / 1e9
    step_s = float(np.median(np.diff(seconds)))
    for column, name in enumerate(footing.names):
        touching = contact[:, column]
        # The ground is z = 0, or as low as the feet go: in the air is above both.
        height = np.minimum(footing.above, footing.lowest)[:, column]
        height = np.where(touching.any(axis=1), height, 0.0)
        found = lasting_runs(height > max_height_m, seconds, min_duration_s, edge_s=step_s)
        if found:
            yield _finding(
                footing, f"the {name} foot is meant to stand and is", "above the ground",
                height, found, max_height_m,
            )  # fmt: skip
        drift = _drift(footing.centres[:, column, :2], touching[:, 0] & touching[:, 1])
        found = lasting_runs(drift > max_drift_m, seconds, min_duration_s, edge_s=step_s)
        if found:
            yield _finding(
                footing, f"the {name} foot is meant to stand and moves", "over the ground",
                drift, found, max_drift_m,
            )  # fmt: skip


def _contacts(subject: Subject, footing: Footing) -> Flags:
    """Contacts (T, F, 2) of heel and toe on the footing's clock, in the order of its feet."""
    track = subject.track(roles.FOOT_CONTACT)
    wanted = [f"{name}_{part}" for name in footing.names for part in _PARTS]
    absent = [name for name in wanted if name not in track.names]
    if absent:
        raise NotAssessed(f"{track.label} has no column {absent[0]}")
    if len(track) < 2:
        raise NotAssessed(f"{track.label} has {len(track)} samples")
    columns = [track.names.index(name) for name in wanted]
    # Between a contact and none, neither is certain: both neighbours must agree.
    there = track.at(footing.time_ns)[:, columns] > 0.99
    return there.reshape(len(there), len(footing.names), len(_PARTS))


def _drift(place: Array, standing: Flags) -> Array:
    """How far (T,) a foot is from where its stance began; zero in the air."""
    out = np.zeros(len(place))
    for first, stop in runs(standing):
        out[first:stop] = np.linalg.norm(place[first:stop] - place[first], axis=1)
    return out


def _finding(
    footing: Footing,
    who: str,
    where: str,
    size: Array,
    found: Spans,
    limit: float,
) -> Finding:
    worst = int(np.argmax(np.where(flags_of(found, len(size)), size, 0.0)))
    seconds = footing.time_ns / 1e9
    return Finding(
        f"{who} {size[worst]:.3f} m {where} at {seconds[worst]:.2f} s.",
        stream=footing.label,
        frames=found,
        value=float(size[worst]),
        limit=limit,
        evidence=drawn_whole(seconds, {"distance_m": size}),
    )


CHECK = Check(
    find,
    topic="frames",
    severity="quarantine",
    rests_on=("robot",),
    unit="m",
    formerly=("retarget_contact",),
)

"""From labelled markers to a person: choose the subject and the set, find the joints, stand up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.retargeting.cleaning.standard_axes import AXES, METRES, standardise
from corporeal.retargeting.marker.joint_centres import add_places
from corporeal.retargeting.marker.landmarks import CLUSTERS, MarkedBody
from corporeal.retargeting.marker.marker_set import (
    MarkerSet,
    best_marker_set,
    open_marker_set,
    subject_of,
)
from corporeal.retargeting.marker.marker_soles import lower_to_soles
from corporeal.retargeting.marker.marker_turns import segment_rotations
from corporeal.retargeting.marker.rigid_cluster import fill_lost
from corporeal.retargeting.motion import NEEDED, POINTS, HumanMotion, MotionError, Origin
from corporeal.retargeting.reader import ClipHints

# The trust in a marker that was found from the others on its bone.
_FILLED = 0.7
# From the lowest to the highest marker of a body, and across it, in any posture, with props.
_EXTENT_M = (0.7, 7.0)


@dataclass(frozen=True, eq=False)
class Markers:
    """Labelled markers (T, M, 3) as a file has them: its own unit and axes, NaN where not seen.

    `up` is what the file claims; a body that stands the other way up is believed more. `turns`
    are of SEGMENTS by subject, in the file's axes, for programs that solved the skeleton.
    """

    path: Path
    format: str
    labels: tuple[str, ...]
    positions: Array
    rate_hz: float
    unit: str | None = None
    up: str | None = None
    turns: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def person_from_markers(markers: Markers, hints: ClipHints) -> HumanMotion:
    """The person these markers are on; raises MotionError naming the points they do not give."""
    chosen = open_marker_set(hints.skeleton) if hints.skeleton else None
    person, markers = _one_subject(markers, chosen, hints.person)
    marker_set = chosen or best_marker_set(markers.labels)
    missing = marker_set.missing(markers.labels)
    if missing:
        raise MotionError(_refusal(markers, marker_set, missing))
    unit, about_unit = _unit(markers, hints.unit)
    body, about_gaps = _body(markers, marker_set, METRES[unit])
    add_places(body)
    points = _points(body)
    unseen = [name for name in NEEDED if not np.isfinite(body.at(name)).any()]
    if unseen:
        raise MotionError(_refusal(markers, marker_set, tuple(unseen), "in any frame"))
    up, about_up = _up(markers, hints.up, points)
    standing = standardise(points / METRES[unit], unit=unit, up=up, source=markers.path)
    lower_to_soles(body, standing.rotation[2])
    positions = _points(body) @ standing.rotation.T
    turns = segment_rotations(body, markers.turns.get(person, {}), hints.rate_hz or markers.rate_hz)
    zero = np.zeros(len(positions))
    trust = np.stack([body.trust.get(name, zero) for name in POINTS], axis=1)
    known = np.all(np.isfinite(positions), axis=2) & (trust > 0)
    notes = (*markers.notes, *about_unit, *about_gaps, *about_up, *standing.notes)
    return HumanMotion(
        name=markers.path.stem,
        rate_hz=hints.rate_hz or markers.rate_hz,
        positions=np.where(known[..., None], positions, np.nan),
        confidence=np.where(known, trust, 0.0),
        origin=Origin(markers.path, markers.format, marker_set.reference, notes),
        turns={name: standing.rotation @ turn for name, turn in turns.items()},
    )


def _points(body: MarkedBody) -> Array:
    return np.stack([body.at(name) for name in POINTS], axis=1)


def _one_subject(
    markers: Markers, chosen: MarkerSet | None, person: str | None
) -> tuple[str, Markers]:
    """The markers of one person: the one asked for, or the only one whose markers make a body."""
    groups: dict[str, list[int]] = {}
    for index, label in enumerate(markers.labels):
        groups.setdefault(subject_of(label), []).append(index)
    if person is not None:
        if person not in groups:
            raise UnknownNameError("person", person, [name for name in groups if name])
        return person, _only(markers, groups[person])
    lacking = {}
    for name, columns in groups.items():
        labels = [markers.labels[column] for column in columns]
        lacking[name] = len((chosen or best_marker_set(labels)).missing(labels))
    whole = [name for name in groups if lacking[name] == 0]
    if len(whole) > 1:
        raise MotionError(
            f"{markers.path}: got {len(whole)} people: {', '.join(sorted(whole))}; expected one. "
            "Name one with --person."
        )
    name = whole[0] if whole else min(groups, key=lambda each: lacking[each], default="")
    return name, _only(markers, groups.get(name, []))


def _only(markers: Markers, columns: list[int]) -> Markers:
    return replace(
        markers,
        labels=tuple(markers.labels[column] for column in columns),
        positions=markers.positions[:, columns],
    )


def _refusal(
    markers: Markers, marker_set: MarkerSet, missing: tuple[str, ...], where: str = ""
) -> str:
    used = set(marker_set.places(markers.labels).values())
    unknown = [label for label in markers.labels if label not in used]
    listed = ", ".join(unknown[:12]) + (f" and {len(unknown) - 12} more" * (len(unknown) > 12))
    named = "a body" if len(missing) == len(NEEDED) else ", ".join(missing)
    return (
        f"{markers.path}: its markers, read as {marker_set.name}, do not show "
        f"{named}{' ' * bool(where)}{where}; expected a whole body. If they are "
        "there under other labels, name them in a marker_set document and give it with --skeleton"
        f"{f' (labels not used: {listed})' if unknown else ''}."
    )


def _unit(markers: Markers, asked: str | None) -> tuple[str, tuple[str, ...]]:
    """The unit: as asked, as the file says, or, where that makes no body, the one that does."""
    if asked is not None:
        if asked not in METRES:
            raise UnknownNameError("unit", asked, METRES)
        return asked, ()
    step = -(-len(markers.positions) // 500) or 1
    looked_at = markers.positions[::step]
    seen = looked_at[np.isfinite(looked_at).all(axis=2).sum(axis=1) >= 3]
    spread = np.nanmax(seen, axis=1) - np.nanmin(seen, axis=1)
    extent = float(np.median(spread.max(axis=1))) if len(seen) else np.nan
    fitting = [
        unit for unit in ("m", "cm", "mm") if _EXTENT_M[0] <= extent * METRES[unit] < _EXTENT_M[1]
    ]
    said = markers.unit if markers.unit in METRES else None
    if said is not None and (said in fitting or not fitting):
        return said, ()
    if not fitting:
        raise MotionError(
            f"{markers.path}: its markers spread over {extent:.3g} units, which is no body in "
            "m, cm or mm. Give --unit."
        )
    claim = f"the file says {markers.unit!r}" if markers.unit else "the file says none"
    return fitting[0], (f"unit {fitting[0]}, from the body's size; {claim}",)


def _body(
    markers: Markers, marker_set: MarkerSet, metres: float
) -> tuple[MarkedBody, tuple[str, ...]]:
    column = {label: index for index, label in reversed(list(enumerate(markers.labels)))}
    places = {
        place: markers.positions[:, column[label]] * metres
        for place, label in marker_set.places(markers.labels).items()
    }
    trust = {
        name: np.all(np.isfinite(place), axis=1).astype(np.float64)
        for name, place in places.items()
    }
    notes = []
    for cluster in CLUSTERS:
        names = [name for name in cluster if name in places]
        if len(names) < 4:
            continue
        whole, filled = fill_lost(np.stack([places[name] for name in names], axis=1))
        for index, name in enumerate(names):
            if filled[:, index].any():
                places[name] = whole[:, index]
                trust[name] = np.where(filled[:, index], _FILLED, trust[name])
                notes.append(f"{name} in {int(filled[:, index].sum())} frames")
    about = (f"found from the other markers of the bone: {', '.join(notes)}",) if notes else ()
    return MarkedBody(places, trust, len(markers.positions), marker_set.sizes), about


def _up(markers: Markers, asked: str | None, points: Array) -> tuple[str | None, tuple[str, ...]]:
    """The axis the file claims, unless the body contradicts it: programs often write it wrongly."""
    if asked is not None or markers.up not in AXES:
        return asked, ()
    claim = markers.up
    neck = points[:, POINTS.index("neck")]
    feet = (points[:, POINTS.index("left_ankle")] + points[:, POINTS.index("right_ankle")]) / 2
    upward = neck - feet
    heights = upward[:, "xyz".index(claim[-1])] * (-1.0 if claim.startswith("-") else 1.0)
    lengths = np.linalg.norm(upward, axis=1)
    known = np.isfinite(lengths) & (lengths > 0)
    if known.any() and float(np.mean(heights[known] / lengths[known])) > 0.3:
        return claim, ()
    return None, (f"the file says {claim} is up, the body does not: not believed",)

"""From labelled markers to a person: subject and set, lost markers, joints, upright."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Ledger
from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.retargeting.cleaning.gaps import fit_shape
from corporeal.retargeting.motion import (
    NEEDED,
    POINTS,
    HumanMotion,
    Markers,
    MotionError,
    Origin,
    account,
)
from corporeal.retargeting.person.joint_centres import CLUSTERS, MarkedBody, add_places
from corporeal.retargeting.person.marker_rotations import lower_to_soles, segment_rotations
from corporeal.retargeting.person.marker_set import (
    MarkerSet,
    best_marker_set,
    open_marker_set,
    subject_of,
)
from corporeal.retargeting.person.standard_axes import AXES, METRES, standardise
from corporeal.retargeting.reader import ClipHints

# The trust in a marker that was found from the others on its bone.
_FILLED = 0.7
# From the lowest to the highest marker of a body, and across it, in any posture, with props.
_EXTENT_M = (0.7, 7.0)


def person_from_markers(markers: Markers, hints: ClipHints) -> HumanMotion:
    """The person these markers are on; raises MotionError naming the points they do not give."""
    chosen = open_marker_set(hints.skeleton) if hints.skeleton else None
    everything = markers.labels
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
    rotations = segment_rotations(
        body, markers.rotations.get(person, {}), hints.rate_hz or markers.rate_hz
    )
    zero = np.zeros(len(positions))
    trust = np.stack([body.trust.get(name, zero) for name in POINTS], axis=1)
    known = np.all(np.isfinite(positions), axis=2) & (trust > 0)
    notes = (*markers.notes, *about_unit, *about_gaps, *about_up, *standing.notes)
    used = set(marker_set.places(markers.labels).values())
    ledger = account(everything, used, f"no marker of {marker_set.name} on this person",
                     frames=len(markers.positions))  # fmt: skip
    ledger += Ledger(markers.beside)
    return HumanMotion(
        name=markers.path.stem,
        rate_hz=hints.rate_hz or markers.rate_hz,
        positions=np.where(known[..., None], positions, np.nan),
        confidence=np.where(known, trust, 0.0),
        origin=Origin(markers.path, markers.format, marker_set.reference, notes, ledger),
        rotations={name: standing.rotation @ rotation for name, rotation in rotations.items()},
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
    stated = markers.unit if markers.unit in METRES else None
    if stated is not None and (stated in fitting or not fitting):
        return stated, ()
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


# Three markers nearer than this to one line do not tell how the bone is turned.
_WIDTH_M = 0.012
_ROUNDS = 4


def fill_lost(markers: Array, *, within_m: float = 0.03) -> tuple[Array, NDArray[np.bool_]]:
    """Markers (T, M, 3) of one bone with lost ones put where the rest of the bone puts them.

    The shape is the mean over the clip. A frame is left as it is where fewer than three markers
    are seen, where they lie on a line, or where they are on average further than `within_m` from
    the shape. Returns the markers and which of them were filled (T, M).
    """
    seen: NDArray[np.bool_] = np.all(np.isfinite(markers), axis=2)
    filled = np.zeros_like(seen)
    enough = np.flatnonzero((seen.sum(axis=1) >= 3) & ~seen.all(axis=1))
    if len(enough) == 0 or markers.shape[1] < 4:
        return markers, filled
    shape = _shape(markers, seen)
    known = np.isfinite(shape).all(axis=1)
    rotation, shift, error, firm = _fit(shape, markers[enough], seen[enough] & known)
    placed = np.einsum("tij,mj->tmi", rotation, np.nan_to_num(shape)) + shift[:, None]
    fills = ~seen[enough] & known & (firm & (error < within_m))[:, None]
    result = markers.copy()
    result[enough] = np.where(fills[..., None], placed, markers[enough])
    filled[enough] = fills
    return result, filled


def _shape(markers: Array, seen: NDArray[np.bool_]) -> Array:
    """The mean shape (M, 3), grown from the frame that shows most; NaN for markers never linked."""
    shape = markers[int(np.argmax(seen.sum(axis=1)))]
    step = -(-len(markers) // 2000)
    markers, seen = markers[::step], seen[::step]
    for _ in range(_ROUNDS):
        known = np.isfinite(shape).all(axis=1)
        shared = seen & known
        usable = shared.sum(axis=1) >= 3
        if not usable.any():
            break
        # Frames are brought to the shape, the other way round from placing the shape in them.
        rotation, shift, error, firm = _fit(shape, markers[usable], shared[usable])
        good = firm & (error < 0.05)
        if not good.any():
            break
        local = np.einsum("tji,tmj->tmi", rotation, markers[usable] - shift[:, None])[good]
        shown = seen[usable][good]
        count = shown.sum(axis=0)[:, None]
        total = np.where(shown[..., None], local, 0.0).sum(axis=0)
        shape = np.where(count > 0, total / np.maximum(count, 1), shape)
    return np.asarray(shape)


def _fit(
    shape: Array, markers: Array, shared: NDArray[np.bool_]
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Rotation and shift that bring the shape onto each frame, their error, and whether firm."""
    rotation, shift, error, strength = fit_shape(shape, markers, shared)
    count = shared.sum(axis=1)
    return rotation, shift, error, (count >= 3) & (strength > _WIDTH_M**2 * np.maximum(count, 1))


MAX_CELLS = 1 << 26
_LOST = ("", "nan", "-nan", "nan(ind)", "null")


@contextmanager
def open_rows(path: Path, *, delimiter: str = ",") -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The rows of a table with the number of their line, one at a time."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            yield ((reader.line_num, [cell.strip() for cell in row]) for row in reader)
    except (OSError, csv.Error) as error:
        raise MotionError(f"{path}: not a table ({error}). Export the clip again.") from None


def numbers(
    rows: Iterable[tuple[int, list[str]]], columns: list[int], width: int, path: Path
) -> Array:
    """The chosen columns (T, C) of `width` up to the first empty row, NaN where a cell is blank."""
    table: list[Array] = []
    for line, row in rows:
        if not any(row):
            break
        if len(row) < width:
            raise MotionError(
                f"{path}:{line}: the line ends after {len(row)} of {width} cells, "
                f"{len(table)} whole frames are there. The file is cut off: export it again."
            )
        if (len(table) + 1) * len(columns) > MAX_CELLS:
            raise MotionError(
                f"{path}: more than {MAX_CELLS >> 20} million numbers; cut the clip, or export "
                "fewer markers."
            )
        table.append(np.array([_number(row[column], path, line) for column in columns]))
    if not table:
        raise MotionError(f"{path}: a head without frames. Export the clip again.")
    return np.stack(table)


def _number(cell: str, path: Path, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        if cell.lower() in _LOST:
            return float("nan")
        raise MotionError(
            f"{path}:{line}: got {cell[:40]!r}; expected a number or nothing. Mend the line."
        ) from None
    return value if abs(value) < 1e9 else float("nan")

"""3-D keypoints of a person from cameras without markers: .npy, JSON or CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.cleaning.standard_axes import standardise
from corporeal.retargeting.keypoint.keypoint_file import (
    Keypoints,
    looks_like_keypoints,
    read_keypoints,
)
from corporeal.retargeting.keypoint.keypoint_layouts import (
    LAYOUTS,
    body_points,
    oddness,
    plain_name,
)
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError, Origin
from corporeal.retargeting.reader import ClipHints, MotionReader
from corporeal.retargeting.skeleton.skeleton_map import open_skeleton

RATE_HZ = 30.0
_COUNTS = frozenset(len(names) for names in LAYOUTS.values())
# Beyond this no body is likely; a second layout is worth a word if it is about as good.
_ODDEST, _CLOSE = 0.65, 1.5


def recognises(path: Path) -> bool:
    """Whether the file holds keypoints: an array of a known layout, or points with names."""
    return looks_like_keypoints(path, _COUNTS)


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The motion; the layout is told by names, by --skeleton, or by how body-like it comes out."""
    keypoints = read_keypoints(path)
    layout, positions, confidence, notes = _body(keypoints, hints, path)
    rate_hz, about_rate = _rate(keypoints, hints, path)
    upright = standardise(positions, unit=hints.unit, up=hints.up, source=path)
    return HumanMotion(
        name=path.stem,
        rate_hz=rate_hz,
        positions=upright.positions,
        confidence=confidence,
        origin=Origin(
            path,
            "keypoints",
            layout,
            (*notes, *about_rate, *upright.notes, *_about_root(upright.positions)),
        ),
    )


def _body(
    keypoints: Keypoints, hints: ClipHints, path: Path
) -> tuple[str, Array, Array, tuple[str, ...]]:
    """The layout's name, its points and their confidences, and what to say about it."""
    count, name = keypoints.positions.shape[1], hints.skeleton
    if name is not None and name in LAYOUTS:
        if len(LAYOUTS[name]) != count:
            raise MotionError(
                f"{path}: has {count} keypoints; expected {len(LAYOUTS[name])} of {name}. "
                "Name another --skeleton."
            )
        return name, *_points(keypoints, LAYOUTS[name]), ()
    if keypoints.names and name is not None:
        return name, *_mapped(keypoints, name, path), ()
    if keypoints.names:
        names = tuple(plain_name(each) for each in keypoints.names)
        return "by name", *_points(keypoints, names), ()
    if hints.skeleton is not None:
        raise MotionError(
            f"{path}: has no names for --skeleton {hints.skeleton}; expected one of "
            f"{', '.join(LAYOUTS)}."
        )
    return _layout_by_shape(keypoints, path)


def _points(keypoints: Keypoints, names: tuple[str, ...]) -> tuple[Array, Array]:
    return body_points(names, keypoints.positions, keypoints.confidence)


def _mapped(keypoints: Keypoints, skeleton: str, path: Path) -> tuple[Array, Array]:
    """The points that a skeleton document makes of the file's names."""
    document = open_skeleton(skeleton)
    places = document.found_in(keypoints.names)
    if places is None:
        absent = document.absent_from(keypoints.names)
        raise MotionError(
            f"{path}: has no keypoint {absent[0]!r}, which {skeleton} names; it has "
            f"{', '.join(keypoints.names[:12])}. Name another --skeleton."
        )
    held = [[places[joint] for joint in joints] for joints in document.points.values()]
    positions = [keypoints.positions[:, each].mean(axis=1) for each in held]
    confidence = [keypoints.confidence[:, each].min(axis=1) for each in held]
    return body_points(
        tuple(document.points), np.stack(positions, axis=1), np.stack(confidence, axis=1)
    )


def _layout_by_shape(keypoints: Keypoints, path: Path) -> tuple[str, Array, Array, tuple[str, ...]]:
    count = keypoints.positions.shape[1]
    possible = [name for name, names in LAYOUTS.items() if len(names) == count]
    if not possible:
        raise MotionError(
            f"{path}: has {count} keypoints; expected {', '.join(map(str, sorted(_COUNTS)))}. "
            "Save it as JSON or CSV with their names."
        )
    bodies = {name: _points(keypoints, LAYOUTS[name]) for name in possible}
    odd = {name: oddness(positions) for name, (positions, _) in bodies.items()}
    best = min(odd, key=lambda name: odd[name])
    if odd[best] > _ODDEST:
        raise MotionError(
            f"{path}: its {count} keypoints make no body as {' or '.join(possible)}. "
            "Name the layout with --skeleton, or save it as JSON or CSV with names."
        )
    notes = [f"{count} keypoints taken as {best}"]
    close = [name for name in possible if name != best and odd[name] < _CLOSE * odd[best]]
    if close:
        notes.append(f"{' and '.join(close)} would fit nearly as well: check --skeleton")
    return best, *bodies[best], tuple(notes)


def _rate(keypoints: Keypoints, hints: ClipHints, path: Path) -> tuple[float, tuple[str, ...]]:
    if hints.rate_hz is not None:
        return hints.rate_hz, ()
    if keypoints.rate_hz is not None:
        return keypoints.rate_hz, ()
    if path.suffix.lower() == ".npy":
        return RATE_HZ, (
            f"the file has no rate; taken as {RATE_HZ:g} Hz, give --clip-rate if it is not",
        )
    raise MotionError(f"{path}: does not say its rate (fps, or a column time). Give --clip-rate.")


def _about_root(positions: Array) -> tuple[str, ...]:
    """A word where the pelvis is nailed down while the feet move about."""
    with np.errstate(invalid="ignore"):
        pelvis = positions[:, POINTS.index("pelvis")]
        ankles = positions[:, [POINTS.index("left_ankle"), POINTS.index("right_ankle")]]
        known = np.isfinite(pelvis[:, 0]) & np.all(np.isfinite(ankles[..., 0]), axis=1)
    if known.sum() < 2:
        return ()
    if np.ptp(pelvis[known], axis=0).max() < 0.01 < np.ptp(ankles[known], axis=0).max() - 0.05:
        return ("the pelvis never moves: positions are relative to it, so the feet will slide",)
    return ()


READER = MotionReader(
    recognises=recognises,
    read=read,
    description="3-D keypoints (.npy, .json, .csv): COCO, Human3.6M, SMPL, BODY_25, BlazePose",
)

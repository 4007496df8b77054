"""How an episode begins: when, with the object where, and from which side the hand comes."""

from __future__ import annotations

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.motion import opening_range
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.track import Array
from corporeal.units import SECOND_NS

# Where the object lies is the median over so long; the hand comes over the last so many metres.
_LOOK_S = 0.25
_REACH_M = 0.08
_CLOSED, _TRAVEL_M = 0.5, 0.02

RECORDED_S = "recorded_s"
OBJECT = ("object_start_x_m", "object_start_y_m", "object_start_yaw_rad")
APPROACH = ("approach_x", "approach_y", "approach_z")


def start_measures(subject: Subject) -> dict[str, float]:
    """Scalars of how it begins, for checks that compare episodes; what is unknown is left out."""
    measures: dict[str, float] = {}
    if subject.recording.epoch_ns:
        measures[RECORDED_S] = subject.recording.epoch_ns / SECOND_NS
    placed = attempt(object_start, subject)
    if placed is not None:
        measures |= dict(zip(OBJECT, (placed[0], placed[1], placed[3]), strict=True))
    direction = attempt(approach_direction, subject)
    if direction is not None:
        measures |= dict(zip(APPROACH, direction.tolist(), strict=True))
    return {name: float(value) for name, value in measures.items()}


def object_start(subject: Subject) -> Array:
    """Where the object is at first: x, y, z in metres and its yaw in radians."""
    track = subject.track(roles.OBJECT_POSE)
    if len(track) < 2 or track.values.shape[1] < 7:
        raise NotAssessed(f"{track.label} has {len(track)} samples of a pose")
    first = track.values[track.seconds <= track.seconds[0] + _LOOK_S]
    first = first[np.isfinite(first).all(axis=1)]
    if not len(first):
        raise NotAssessed(f"{track.label} has no numbers at the start")
    x, y, z, qw, qx, qy, qz = np.median(first, axis=0)
    yaw = np.arctan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz))
    return np.array([x, y, z, yaw])


def approach_direction(subject: Subject) -> Array:
    """The unit vector along which the hand came to where it first closed."""
    side, grasp_ns = _first_grasp(subject)
    effectors = subject.robot.end_effectors
    places = [place for name, place in effectors.items() if side in name]
    if not places:
        raise NotAssessed(f"{subject.robot.name} names no {side} hand")
    frames = {frame.name: frame.link for frame in subject.robot.frames}
    hand = subject.link_poses.position(frames.get(places[0], places[0]))
    stop = int(np.searchsorted(subject.tracks[subject.posture.label].time_ns, grasp_ns))
    way = hand[min(stop, len(hand) - 1)] - hand[:stop]
    far = np.flatnonzero(np.linalg.norm(way, axis=1) >= _REACH_M)
    if not len(far):
        raise NotAssessed(f"the hand moves less than {_REACH_M} m before it closes")
    return np.asarray(way[far[-1]] / np.linalg.norm(way[far[-1]]))


def _first_grasp(subject: Subject) -> tuple[str, int]:
    """The side whose gripper goes farthest, and when it is first half closed."""
    grippers = subject.ending_in(roles.GRIPPER)
    ranges = {label: opening_range(track) for label, track in grippers.items() if len(track) > 1}
    travel = {label: high - low for label, (low, high) in ranges.items()}
    label = max(travel, key=lambda each: travel[each], default=None)
    if label is None or not travel[label] >= _TRAVEL_M:
        raise NotAssessed("no gripper closes")
    low = ranges[label][0]
    opened = (grippers[label].values[:, 0] - low) / travel[label]
    closing = np.flatnonzero((opened[1:] < _CLOSED) & (opened[:-1] >= _CLOSED))
    if not len(closing):
        raise NotAssessed("no gripper closes")
    side = next((side for side in ("left", "right") if side in label), "")
    return side, int(grippers[label].time_ns[closing[0] + 1])

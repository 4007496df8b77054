"""Phases carried over from the annotated episode of the same task that moves most alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.automaton import tiling_lane
from corporeal.labelling.event import arm_joints, hand_tracks, openings
from corporeal.labelling.frames import boundary_ns, end_ns
from corporeal.labelling.proposal import (
    CARRIED,
    Example,
    ProposalRequest,
    Proposer,
    snap_boundary,
)
from corporeal.labelling.taxonomy import LabelLane
from corporeal.signal.track import Array, Track
from corporeal.signal.warping import MOST_FRAMES, warping_path
from corporeal.units import SECOND_NS

_STEP_S = 0.05
_MOST_EXAMPLES = 20
_GRIP = 3.0
"""What a gripper's opening weighs against a coordinate of a hand: it says more about the phase."""
_OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True, eq=False)
class _Motion:
    """What was done on an even grid: `values` (T, D) of the columns `names`."""

    time_s: Array
    values: Array
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Match:
    """An example walked through in step with the question; `apart` is how unlike they are."""

    apart: float
    annotation: Annotation
    there_s: Array
    here_s: Array
    mirrored: bool


def propose(question: ProposalRequest) -> Annotation | None:
    """The phases of the nearest example at the moments that correspond; None without examples."""
    lane = tiling_lane(question.taxonomy)
    stamps = question.recording.signals[question.reference].time_ns
    here = _motion(question.recording)
    if lane is None or here is None or not len(stamps):
        return None
    matches = [
        match
        for example in question.examples[:_MOST_EXAMPLES]
        if example.annotation.in_lane(lane.name)
        for match in _matches(here, example)
    ]
    if not matches:
        return None
    nearest = min(matches, key=lambda match: match.apart)
    segments = tuple(_carried(nearest, question, lane, stamps))
    return Annotation(reference=question.reference, segments=segments)


def _motion(recording: Recording) -> _Motion | None:
    """Hands against the base and grippers, or joints where nobody knows the hands."""
    parts: list[tuple[str, Track]] = [
        (f"{side}_hand", hand) for side, hand in hand_tracks(recording, in_world=False).items()
    ]
    if not parts:
        joints = arm_joints(recording)
        parts = [("joints", joints)] if joints is not None else []
    if not parts:
        return None
    parts += [(f"{hand.side}_gripper", hand.opening) for hand in openings(recording)]
    begin = max(float(each.seconds[0]) for _, each in parts)
    stop = min(float(each.seconds[-1]) for _, each in parts)
    rows = int(np.clip((stop - begin) / _STEP_S, 0, MOST_FRAMES))
    if rows < 3:
        return None
    grid = np.linspace(begin, stop, rows)
    columns, names = [], []
    for name, each in parts:
        for place in range(each.values.shape[1]):
            columns.append(np.interp(grid, each.seconds, each.values[:, place]))
            names.append(f"{name}_{place}")
    return _Motion(grid, np.stack(columns, axis=1), tuple(names))


def _matches(here: _Motion, example: Example) -> Iterator[_Match]:
    there = _motion(example.recording)
    if there is None or there.names != here.names:
        return
    yield _match(here, there, example.annotation, mirrored=False)
    if any(name.startswith("left_hand") for name in there.names):
        yield _match(here, _mirrored(there), example.annotation, mirrored=True)


def _match(here: _Motion, there: _Motion, annotation: Annotation, *, mirrored: bool) -> _Match:
    spread = np.maximum(np.std(here.values, axis=0), 0.01)
    weight = np.array([_GRIP if "gripper" in name else 1.0 for name in here.names]) / spread
    first = np.clip(_centred(there.values) * weight, -1e3, 1e3)
    second = np.clip(_centred(here.values) * weight, -1e3, 1e3)
    path = warping_path(first, second)
    apart = float(np.mean(np.linalg.norm(first[path[:, 0]] - second[path[:, 1]], axis=1)))
    # A moment that corresponds to several does so to the middle of them.
    rows, place = np.unique(path[:, 0], return_inverse=True)
    means = np.bincount(place, weights=here.time_s[path[:, 1]]) / np.bincount(place)
    return _Match(apart, annotation, there.time_s[rows], means, mirrored)


def _centred(values: Array) -> Array:
    """Against the beginning: every station has its own height and place."""
    centred: Array = values - np.median(values[: max(3, len(values) // 20)], axis=0)
    return centred


def _mirrored(motion: _Motion) -> _Motion:
    """The same motion by the other hand: sides change places, and the second axis its sign."""
    places = {name: place for place, name in enumerate(motion.names)}
    columns = []
    for name in motion.names:
        side, rest = name.split("_", 1)
        other = places.get(f"{_OTHER.get(side, side)}_{rest}", places[name])
        sign = -1.0 if rest == "hand_1" else 1.0
        columns.append(sign * motion.values[:, other])
    return _Motion(motion.time_s, np.stack(columns, axis=1), motion.names)


def _carried(
    match: _Match, question: ProposalRequest, lane: LabelLane, stamps: NDArray[np.int64]
) -> Iterator[Segment]:
    before = match.annotation.in_lane(lane.name)
    edges, sure = [int(stamps[0])], [CARRIED]
    for segment in before[1:]:
        guess_s = float(np.interp(segment.start_ns / SECOND_NS, match.there_s, match.here_s))
        guess_ns = round(guess_s * SECOND_NS)
        time_ns, confidence = snap_boundary(guess_ns, segment.label, question.events, lane)
        edges.append(max(edges[-1], boundary_ns(stamps, time_ns)))
        sure.append(confidence)
    edges.append(end_ns(stamps))
    for number, segment in enumerate(before):
        if edges[number] < edges[number + 1]:
            attributes = dict(segment.attributes)
            if match.mirrored and attributes.get("hand") in _OTHER:
                attributes["hand"] = _OTHER[str(attributes["hand"])]
            yield Segment(
                id=f"p{number}", lane=lane.name, label=segment.label,
                start_ns=edges[number], end_ns=edges[number + 1], attributes=attributes,
                source="proposal", confirmed=False, confidence=sure[number],
            )  # fmt: skip


PROPOSER = Proposer(propose)

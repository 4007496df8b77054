"""Phases as a small model tells them that learns from what people corrected, each time anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.episode.recording import Recording
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.automaton import tiling_lane
from corporeal.labelling.confidence import MOST
from corporeal.labelling.event import SIDES, arm_joints, hand_tracks, openings, track
from corporeal.labelling.frames import boundary_ns, end_ns
from corporeal.labelling.proposal import Example, ProposalRequest, Proposer, snap_boundary
from corporeal.schema import roles
from corporeal.signal.grid import MOST_STEPS
from corporeal.signal.track import Array
from corporeal.units import SECOND_NS

_STEP_S, _LEAST_EXAMPLES, _MOST_ROWS = 0.05, 2, 20_000
_CONTEXT_S = (-1.0, -0.3, 0.0, 0.3, 1.0)
"""What came before and comes after says as much of a phase as the moment itself."""
_STIFFNESS = 1e-2
_RARE = 0.05
_NEWS = 0.15
"""How much of a step is news: neighbours in time say nearly the same."""


_Visit = tuple[str, int]
"""A label, and how often it was there before."""


@dataclass(frozen=True, eq=False)
class _Model:
    """Scores of visits from features (D), and how one follows another; `labels` are theirs."""

    labels: tuple[str, ...]
    mean: Array
    spread: Array
    weights: Array
    follows: Array
    begins: Array

    def scores(self, features: Array) -> Array:
        """Logarithms of how likely each label is (T, labels)."""
        rows = _with_one((features - self.mean) / self.spread)
        return np.asarray(scipy.special.log_softmax(rows @ self.weights, axis=1))


def propose(question: ProposalRequest) -> Annotation | None:
    """Phases by a model of the examples; None with fewer than two, or where nothing moves."""
    lane = tiling_lane(question.taxonomy)
    stamps = question.recording.signals[question.reference].time_ns
    grid_s, features = _features(question.recording)
    if lane is None or not len(stamps) or not len(grid_s):
        return None
    model = _learn(question.examples, lane.name)
    if model is None:
        return None
    path, sure = _decode(model, features)
    segments: list[Segment] = []
    edges = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    starts = [int(stamps[0])]
    for edge in edges[1:-1]:
        label = model.labels[path[edge]]
        guess_ns = round((grid_s[edge] - _STEP_S / 2) * SECOND_NS)
        time_ns, _ = snap_boundary(guess_ns, label, question.events, lane)
        starts.append(max(starts[-1], boundary_ns(stamps, time_ns)))
    starts.append(end_ns(stamps))
    for number, (first, stop) in enumerate(pairwise(edges)):
        if starts[number] < starts[number + 1]:
            confidence = float(np.mean(sure[first:stop]))
            segments.append(Segment(
                id=f"p{number}", lane=lane.name, label=model.labels[path[first]],
                start_ns=starts[number], end_ns=starts[number + 1], source="proposal",
                confirmed=False, confidence=min(round(confidence, 3), MOST),
            ))  # fmt: skip
    return Annotation(reference=question.reference, segments=tuple(segments))


def _learn(examples: Sequence[Example], lane: str) -> _Model | None:
    """A model of the examples that have phases and signals; None where there are too few."""
    parts: list[Array] = []
    targets: list[list[_Visit]] = []
    for example in examples:
        grid_s, features = _features(example.recording)
        phases = example.annotation.in_lane(lane)
        if len(grid_s) and phases and (not parts or features.shape[1] == parts[0].shape[1]):
            parts.append(features)
            targets.append(_visits_at(phases, grid_s))
    if len(parts) < _LEAST_EXAMPLES:
        return None
    visits = sorted({visit for row in targets for visit in row})
    codes = [np.array([visits.index(visit) for visit in row]) for row in targets]
    rows = np.concatenate(parts)
    mean, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    weights = _fit(_with_one((rows - mean) / spread), np.concatenate(codes), len(visits))
    follows, begins = _order(codes, len(visits))
    return _Model(tuple(label for label, _ in visits), mean, spread, weights, follows, begins)


def _fit(rows: Array, codes: NDArray[np.int64], count: int) -> Array:
    """Weights (D, labels) of a multinomial regression, kept small."""
    step = max(1, len(rows) // _MOST_ROWS)
    rows, codes = rows[::step], codes[::step]
    truth = np.eye(count)[codes]
    # A phase that takes a moment counts as much as one that takes long.
    weight = (1.0 / np.maximum(truth.sum(axis=0), 1.0))[codes]
    weight *= 1.0 / weight.sum()

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(rows.shape[1], count)
        scores = scipy.special.log_softmax(rows @ weights, axis=1)
        gap = (np.exp(scores) - truth) * weight[:, None]
        value = -float((weight * scores[np.arange(len(codes)), codes]).sum())
        bent = rows.T @ gap + _STIFFNESS * weights
        return value + _STIFFNESS / 2 * float((weights**2).sum()), bent.ravel()

    start = np.zeros(rows.shape[1] * count)
    found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B",
                                    options={"maxiter": 200})  # fmt: skip
    return np.asarray(found.x).reshape(rows.shape[1], count)


def _order(codes: Sequence[NDArray[np.int64]], count: int) -> tuple[Array, Array]:
    """Logarithms of how often a label follows another from one step to the next, and begins."""
    follows, begins = np.full((count, count), _RARE), np.full(count, _RARE)
    for row in codes:
        begins[row[0]] += 1.0
        np.add.at(follows, (row[:-1], row[1:]), 1.0)
    return (np.log(follows / follows.sum(axis=1, keepdims=True)), np.log(begins / begins.sum()))


def _decode(model: _Model, features: Array) -> tuple[NDArray[np.int64], Array]:
    """The likeliest label of every step (Viterbi), and how likely each of them is by itself."""
    likely = model.scores(features)
    scores = likely * _NEWS
    best = model.begins + scores[0]
    back = np.zeros(scores.shape, np.int64)
    for row in range(1, len(scores)):
        ways = best[:, None] + model.follows
        back[row] = ways.argmax(axis=0)
        best = ways.max(axis=0) + scores[row]
    path = np.zeros(len(scores), np.int64)
    path[-1] = best.argmax()
    for row in range(len(scores) - 1, 0, -1):
        path[row - 1] = back[row, path[row]]
    return path, np.exp(likely[np.arange(len(path)), path])


def _visits_at(phases: Sequence[Segment], grid_s: Array) -> list[_Visit]:
    """What goes on at each step: the rest before the task is another one than that after it."""
    counts: Counter[str] = Counter()
    visits: list[_Visit] = []
    for phase in phases:
        visits.append((phase.label, counts[phase.label]))
        counts[phase.label] += 1
    starts = np.array([phase.start_ns for phase in phases]) / SECOND_NS
    places = np.maximum(np.searchsorted(starts, grid_s, side="right") - 1, 0)
    return [visits[place] for place in places]


def _features(recording: Recording) -> tuple[Array, Array]:
    """An even grid in seconds, and what is done at each step (T, D) with what is around it."""
    channels = dict(_channels(recording))
    if not channels:
        return np.zeros(0), np.zeros((0, 0))
    begin = max(time_s[0] for time_s, _ in channels.values())
    stop = min(time_s[-1] for time_s, _ in channels.values())
    count = int((stop - begin) / _STEP_S)
    if not 4 <= count <= MOST_STEPS:
        return np.zeros(0), np.zeros((0, 0))
    grid = begin + _STEP_S * np.arange(count)
    columns = [np.interp(grid, *channels[name]) if name in channels else np.zeros(count)
               for name in _CHANNELS]  # fmt: skip
    shifted = [np.interp(grid + shift, grid, column) for column in columns for shift in _CONTEXT_S]
    progress = np.linspace(0.0, 1.0, count)
    return grid, np.stack([*shifted, progress, progress**2], axis=1)


_CHANNELS = (
    *(f"{side}_{what}" for side in SIDES for what in ("opening", "speed", "height", "rise")),
    "base_speed",
)


def _channels(recording: Recording) -> list[tuple[str, tuple[Array, Array]]]:
    """Times and values of what can be seen, each on a scale of its own episode."""
    seen: list[tuple[str, tuple[Array, Array]]] = []
    for hand in openings(recording):
        width = hand.opening.smooth(0.05).values[:, 0]
        if hand.moves:
            seen.append((f"{hand.side}_opening", (hand.opening.seconds, _scaled(width))))
    hands = hand_tracks(recording, in_world=False)
    for side, place in hands.items():
        height = place.smooth(0.05).values[:, 2]
        rise = np.gradient(height, place.seconds)
        seen += [
            (f"{side}_speed", (place.seconds, _scaled(place.speed(0.05)))),
            (f"{side}_height", (place.seconds, height - height[0])),
            (f"{side}_rise", (place.seconds, rise)),
        ]
    joints = arm_joints(recording) if not hands else None
    if joints is not None:
        seen.append(("right_speed", (joints.seconds, _scaled(joints.speed(0.05)))))
    base = track(recording, roles.BASE_POSE)
    if base is not None and base.values.shape[1] >= 3:
        seen.append(("base_speed", (base.seconds, base.select(range(3)).speed(0.1))))
    return seen


def _scaled(values: Array) -> Array:
    low, high = np.quantile(values, (0.02, 0.98))
    scaled: Array = np.clip((values - low) / max(high - low, 1e-9), -0.5, 1.5)
    return scaled


def _with_one(rows: Array) -> Array:
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


PROPOSER = Proposer(propose)

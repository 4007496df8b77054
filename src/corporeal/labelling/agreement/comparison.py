"""Two annotations of one episode side by side: three gates, and every single disagreement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.database import json_value
from corporeal.labelling.agreement.measures import (
    MOST_FRAMES,
    FrameSpan,
    Pair,
    boundary_figures,
    cohen_kappa,
    edit_score,
    pair_up,
)
from corporeal.labelling.annotation import Annotation, ObjectPose, Segment, Value
from corporeal.labelling.frames import frame_of
from corporeal.labelling.taxonomy import AttributeDefinition, Taxonomy

NOTHING = "(nothing)"
"""The label of what one of two people did not mark."""
LEAST_KAPPA, LEAST_EDIT_SCORE = 0.8, 0.9

DisagreementKind = Literal["boundary", "label", "missing", "attribute", "outcome"]


@dataclass(frozen=True)
class LabelDisagreement:
    """One thing that two people said differently; `rule` is the boundary rule that decides it."""

    kind: DisagreementKind
    lane: str
    first: str
    second: str
    start_ns: int
    end_ns: int
    frames: int = 0
    rule: str = ""


@dataclass(frozen=True)
class LaneAgreement:
    """How far two people agree in one lane of one episode.

    `pairs` are labels of matched segments (`NOTHING` for none), `differences` are the second's
    boundaries minus the first's in frames, with the rule of each.
    """

    lane: str
    edit_score: float
    pairs: tuple[tuple[str, str], ...]
    differences: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class PoseDifference:
    """How far apart two people put an object at one moment; the angle is nan where one gave none.

    `distance_m` is nan where only one of them gave a pose.
    """

    object: str
    time_ns: int
    distance_m: float
    angle_rad: float


@dataclass(frozen=True)
class Agreement:
    """Two annotations of one episode."""

    lanes: tuple[LaneAgreement, ...]
    disagreements: tuple[LabelDisagreement, ...] = ()
    attributes: tuple[tuple[str, str, str], ...] = field(default=())
    """(name, first, second) of every attribute, outcome and failure mode that both gave."""
    poses: tuple[PoseDifference, ...] = ()

    @property
    def steps(self) -> list[int]:
        """The differences of all boundaries, in frames."""
        return [step for lane in self.lanes for _, step in lane.differences]


@dataclass(frozen=True)
class AgreementSummary:
    """Many comparisons in one: the three gates, with what they rest on."""

    episodes: int
    edit_score: float
    kappa: dict[str, float]
    boundaries: int
    mean_difference_frames: float
    bias_frames: float
    hit_rate: float
    hit_rate_bounds: tuple[float, float]
    failed: tuple[str, ...]
    poses: int = 0
    pose_distance_m: float = math.nan
    """The mean over poses that both gave, of which there are `poses`."""

    @property
    def is_good(self) -> bool:
        """Whether every gate is passed, on something."""
        return not self.failed

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not a number is null."""
        values: dict[str, Any] = json_value(asdict(self), "agreement")
        return values


def compare(
    first: Annotation, second: Annotation, taxonomy: Taxonomy, stamps: NDArray[np.int64]
) -> Agreement:
    """How far two annotations agree; `stamps` are those of the reference stream."""
    lanes = []
    differing: list[LabelDisagreement] = []
    attributes: list[LabelDisagreement] = []
    for lane in taxonomy.lanes:
        one, two = first.in_lane(lane.name), second.in_lane(lane.name)
        if not one and not two:
            continue
        pairs = pair_up(_spans(one, stamps), _spans(two, stamps))
        lanes.append(
            LaneAgreement(
                lane.name,
                edit_score([each.label for each in one], [each.label for each in two]),
                tuple((_label(a), _label(b)) for a, b in pairs),
                tuple(_differences(pairs, tiles=lane.tiles)),
            )
        )
        differing += _lane_disagreements(lane.name, pairs, one, two, taxonomy, stamps)
        attributes += _attributes(lane.name, pairs, one, two, taxonomy)
    whole = _whole(first, second, stamps)
    return Agreement(
        tuple(lanes),
        (*differing, *(each for each in (*whole, *attributes) if each.first != each.second)),
        tuple((each.rule, each.first, each.second) for each in (*attributes, *whole)),
        tuple(compare_poses(first.poses, second.poses, stamps, taxonomy.tolerance_frames)),
    )


def summarise(agreements: Sequence[Agreement], *, tolerance_frames: int = 2) -> AgreementSummary:
    """The three gates over many episodes; with nothing to compare none is passed."""
    scores = [lane.edit_score for each in agreements for lane in each.lanes]
    kappa = _kappas(agreements)
    edges = boundary_figures([step for each in agreements for step in each.steps], tolerance_frames)
    edit = float(np.mean(scores)) if scores else math.nan
    apart = [pose.distance_m for each in agreements for pose in each.poses
             if math.isfinite(pose.distance_m)]  # fmt: skip
    failed = []
    if not edit >= LEAST_EDIT_SCORE:
        failed.append("edit score")
    failed += [f"kappa of {name}" for name, value in kappa.items() if not value >= LEAST_KAPPA]
    if not kappa:
        failed.append("kappa")
    if not edges.mean_frames <= MOST_FRAMES:
        failed.append("boundaries")
    return AgreementSummary(
        episodes=len(agreements),
        edit_score=edit,
        kappa=kappa,
        boundaries=edges.boundaries,
        mean_difference_frames=edges.mean_frames,
        bias_frames=edges.bias_frames,
        hit_rate=edges.hit_rate,
        hit_rate_bounds=edges.hit_rate_bounds,
        failed=tuple(failed),
        poses=len(apart),
        pose_distance_m=float(np.mean(apart)) if apart else math.nan,
    )


def compare_poses(
    first: Sequence[ObjectPose],
    second: Sequence[ObjectPose],
    stamps: NDArray[np.int64],
    tolerance_frames: int,
) -> Iterator[PoseDifference]:
    """Poses of one object in one frame of reference at about the same picture, side by side."""
    left = list(second)
    for one in first:
        near = [other for other in left
                if (other.object, other.frame) == (one.object, one.frame)
                and abs(frame_of(stamps, other.time_ns) - frame_of(stamps, one.time_ns))
                <= tolerance_frames]  # fmt: skip
        if not near:
            yield PoseDifference(one.object, one.time_ns, math.nan, math.nan)
            continue
        other = min(near, key=lambda each: abs(each.time_ns - one.time_ns))
        left.remove(other)
        angle = math.nan
        if one.orientation is not None and other.orientation is not None:
            alike = abs(float(np.dot(one.orientation, other.orientation)))
            angle = 2.0 * math.acos(min(1.0, alike))
        yield PoseDifference(
            one.object, one.time_ns, math.dist(one.position, other.position), angle
        )
    for other in left:
        yield PoseDifference(other.object, other.time_ns, math.nan, math.nan)


def pairs_by_lane(agreements: Iterable[Agreement]) -> dict[str, list[tuple[str, str]]]:
    """The labels of all matched segments, by lane."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for each in agreements:
        for lane in each.lanes:
            pairs.setdefault(lane.lane, []).extend(lane.pairs)
    return dict(sorted(pairs.items()))


def by_rule(agreements: Iterable[Agreement]) -> dict[str, list[int]]:
    """The differences in frames of all boundaries, by the rule that should have decided them."""
    steps: dict[str, list[int]] = {}
    for each in agreements:
        for lane in each.lanes:
            for rule, step in lane.differences:
                steps.setdefault(f"{lane.lane}/{rule}", []).append(step)
    return steps


def rule_words(rule: str) -> str:
    """`phase/grasp.starts` as people say it."""
    lane, _, rest = rule.partition("/")
    label, _, edge = rest.partition(".")
    where = "" if lane == "phase" else f" ({lane.replace('_', ' ')})"
    return f"{label.replace('_', ' ')} {'begins' if edge == 'starts' else 'ends'}{where}"


def _kappas(agreements: Sequence[Agreement]) -> dict[str, float]:
    """Kappa of each lane and attribute, over the matched segments of all episodes."""
    pairs = pairs_by_lane(agreements)
    for each in agreements:
        for name, one, two in each.attributes:
            pairs.setdefault(name, []).append((one, two))
    return {name: cohen_kappa(given) for name, given in sorted(pairs.items())}


def _spans(segments: Sequence[Segment], stamps: NDArray[np.int64]) -> list[FrameSpan]:
    return [
        FrameSpan(each.label, frame_of(stamps, each.start_ns), frame_of(stamps, each.end_ns), index)
        for index, each in enumerate(segments)
    ]


def _label(piece: FrameSpan | None) -> str:
    return NOTHING if piece is None else piece.label


def _differences(pairs: Sequence[Pair], *, tiles: bool) -> list[tuple[str, int]]:
    """The second's boundaries minus the first's; a shared one of a tiling lane counts once."""
    found = []
    for place, (one, two) in enumerate(pairs):
        if one is None or two is None or one.label != two.label:
            continue
        found.append((f"{one.label}.starts", two.start - one.start))
        following = pairs[place + 1] if place + 1 < len(pairs) else (None, None)
        follows = following[0] is not None and following[1] is not None
        if one.start != one.end and not (tiles and follows):
            found.append((f"{one.label}.ends", two.end - one.end))
    return found


def _lane_disagreements(
    lane: str,
    pairs: Sequence[Pair],
    first: Sequence[Segment],
    second: Sequence[Segment],
    taxonomy: Taxonomy,
    stamps: NDArray[np.int64],
) -> list[LabelDisagreement]:
    found = []
    for one, two in pairs:
        mine = first[one.index] if one is not None else None
        yours = second[two.index] if two is not None else None
        times = [each for side in (mine, yours) if side for each in (side.start_ns, side.end_ns)]
        low, high = min(times), max(times)
        if one is None or two is None or one.label != two.label:
            kind: DisagreementKind = "label" if one is not None and two is not None else "missing"
            found.append(LabelDisagreement(kind, lane, _label(one), _label(two), low, high))
            continue
        for edge, mine_frame, your_frame in (
            ("starts", one.start, two.start),
            ("ends", one.end, two.end),
        ):
            apart = your_frame - mine_frame
            if abs(apart) <= taxonomy.tolerance_frames:
                continue
            near, far = sorted((mine_frame, your_frame))
            found.append(
                LabelDisagreement(
                    "boundary", lane, one.label, two.label, _time(stamps, near),
                    _time(stamps, far), apart, f"{one.label}.{edge}",
                )
            )  # fmt: skip
    return found


def _time(stamps: NDArray[np.int64], frame: int) -> int:
    return int(stamps[min(max(frame, 0), len(stamps) - 1)])


def _attributes(
    lane: str, pairs: Sequence[Pair], first: Sequence[Segment], second: Sequence[Segment],
    taxonomy: Taxonomy,
) -> Iterator[LabelDisagreement]:  # fmt: skip
    """What is said of segments that both have, whether or not it differs.

    Numbers within the tolerance of the attribute are the same answer: the first one's.
    """
    for one, two in pairs:
        if one is None or two is None or one.label != two.label:
            continue
        mine, yours = first[one.index], second[two.index]
        for name in sorted({*mine.attributes, *yours.attributes}):
            own, other = mine.attributes.get(name), yours.attributes.get(name)
            if _is_near(own, other, taxonomy.attribute(name)):
                other = own
            yield LabelDisagreement("attribute", lane, _text(own), _text(other), mine.start_ns,
                                    mine.end_ns, rule=name)  # fmt: skip


def _is_near(own: Value, other: Value, written: AttributeDefinition | None) -> bool:
    if written is None or written.tolerance is None:
        return False
    if not isinstance(own, int | float) or not isinstance(other, int | float):
        return False
    return abs(own - other) <= written.tolerance


def _whole(
    first: Annotation, second: Annotation, stamps: NDArray[np.int64]
) -> list[LabelDisagreement]:
    """What is said of the episode as a whole, where either has said something."""
    values = [(name, _text(getattr(first, name)), _text(getattr(second, name)))
              for name in ("outcome", "failure_mode", "variant")]  # fmt: skip
    one_flags, two_flags = (_text(", ".join(sorted(each.flags))) for each in (first, second))
    values.append(("flags", one_flags, two_flags))
    return [
        LabelDisagreement("outcome", "", one, two, int(stamps[0]), int(stamps[-1]), rule=name)
        for name, one, two in values
        if (one, two) != (NOTHING, NOTHING)
    ]


def _text(value: object) -> str:
    return NOTHING if value in (None, "") else str(value)

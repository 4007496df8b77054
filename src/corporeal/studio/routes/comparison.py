"""Two episodes side by side: which moments belong together, and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, get_args

import numpy as np
from fastapi import APIRouter, Depends, Query
from numpy.typing import NDArray
from pydantic import BaseModel

from corporeal.catalog.episodes import FindingRow, find_nearest, findings_of, scores_of
from corporeal.catalog.permission import PermissionDeniedError, require, sees_everybody
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.quality.check import SEVERITIES, Verdict
from corporeal.signal.warping import MOST_FRAMES, warping_path
from corporeal.studio.access.guest_view import HIDDEN_COLUMNS
from corporeal.studio.authentication import Reader, Visitor, visitor
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.divergence import Course
from corporeal.studio.lanes import lanes_of
from corporeal.studio.people_view import without_people

Alignment = Literal["time", "start", "phase", "motion"]
ALIGNMENTS: tuple[Alignment, ...] = get_args(Alignment)
MOST_POINTS = 400
_LEAST_SHARE = 0.05
"""A column counts as moving with this share of the spread of the one that moves most."""

Marks = Mapping[str, Sequence[tuple[str, int]]]
"""The labels of each lane with their times, in their order."""


class NoAlignmentError(CorporealError):
    """Two episodes cannot be aligned this way; the message says why."""


@dataclass(frozen=True)
class AlignmentMap:
    """Moments that belong together, both increasing; between them the map is straight.

    Before the first and after the last both clocks run alike.
    """

    time_a: NDArray[np.int64]
    time_b: NDArray[np.int64]

    def at(self, time_ns: int) -> int:
        """The moment of the second episode for a moment of the first."""
        if time_ns <= self.time_a[0]:
            return int(self.time_b[0] + time_ns - self.time_a[0])
        if time_ns >= self.time_a[-1]:
            return int(self.time_b[-1] + time_ns - self.time_a[-1])
        return round(float(np.interp(time_ns, self.time_a, self.time_b)))


def shifted(zero_a: int, zero_b: int) -> AlignmentMap:
    """Both clocks run alike from two moments on."""
    return AlignmentMap(np.array([zero_a], np.int64), np.array([zero_b], np.int64))


def by_phase(a: Marks, b: Marks) -> AlignmentMap:
    """Straight between labels that both have, in the same lane and for the same time."""
    pairs: list[tuple[int, int]] = []
    for lane in a:
        if lane in b:
            pairs += _shared(a[lane], b[lane])
    kept = _rising(sorted(pairs))
    if len(kept) < 2:
        raise NoAlignmentError(
            "the two have no two labels in common; label their phases, or align by motion"
        )
    return AlignmentMap(*(np.array(side, np.int64) for side in zip(*kept, strict=True)))


def _shared(a: Sequence[tuple[str, int]], b: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
    times = dict(_counted(b))
    return [(time, times[key]) for key, time in _counted(a) if key in times]


def _counted(marks: Sequence[tuple[str, int]]) -> list[tuple[tuple[str, int], int]]:
    """Each label with how often it came before: the second grasp belongs to the second."""
    seen: dict[str, int] = {}
    found = []
    for label, time in marks:
        seen[label] = seen.get(label, 0) + 1
        found.append(((label, seen[label]), time))
    return found


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run in which both times rise; things done in another order drop out."""
    best: list[tuple[int, int]] = []
    runs: list[list[tuple[int, int]]] = []
    for pair in pairs[:MOST_POINTS]:
        before = [run for run in runs if run[-1][0] < pair[0] and run[-1][1] < pair[1]]
        run = [*max(before, key=len, default=[]), pair]
        runs.append(run)
        best = max(best, run, key=len)
    return best


def by_motion(a: Course, b: Course) -> AlignmentMap:
    """Along the path on which the joints of both are nearest to each other."""
    names = [name for name in a.names if name in b.names]
    if not names:
        raise NoAlignmentError("the two have no joint in common")
    if min(len(a.time_ns), len(b.time_ns)) < 3:
        raise NoAlignmentError("one of the two has fewer than three samples of its joints")
    (time_a, first), (time_b, second) = _even(a, names), _even(b, names)
    both = np.concatenate((first, second))
    spread = both.std(axis=0)
    moving = spread > _LEAST_SHARE * float(spread.max(initial=0.0))
    if not moving.any():
        raise NoAlignmentError("nothing moves in either of the two")
    path = warping_path(first[:, moving] / spread[moving], second[:, moving] / spread[moving])
    return _thinned(time_a[path[:, 0]], time_b[path[:, 1]])


def _even(course: Course, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Even times, as many as may be, and the positions of these joints there."""
    count = min(MOST_FRAMES, len(course.time_ns))
    when = np.linspace(course.time_ns[0], course.time_ns[-1], count).astype(np.int64)
    columns = [course.names.index(name) for name in names]
    values = np.nan_to_num(course.positions[:, columns])
    found = [np.interp(when, course.time_ns, column) for column in values.T]
    return when, np.stack(found, axis=1)


def _thinned(time_a: NDArray[np.int64], time_b: NDArray[np.int64]) -> AlignmentMap:
    """One moment of B for each of A: where A waits for B, the middle of what B does."""
    when, first, count = np.unique(time_a, return_index=True, return_counts=True)
    then = time_b[first + count // 2]
    chosen = np.unique(np.linspace(0, len(when) - 1, MOST_POINTS).astype(int))
    return AlignmentMap(when[chosen], np.maximum.accumulate(then[chosen]))


ROUTER = APIRouter(tags=["comparison"])
Name = Annotated[str, Query(min_length=1, max_length=64)]
JOINTS = "observations/joint_position"
_MOST_SAMPLES = 200_000
_MOST_FOUND = 20
_FACTS = ("task", "operator", "station", "robot", "recorded_ns", "duration_s", "success", "failure",
          "verdict", "score", "state", "protocol", "calibration", "software")  # fmt: skip


class AlignmentOption(BaseModel):
    """A way to align; `reason` says why it cannot be done."""

    align: Alignment
    possible: bool
    reason: str | None


class FactDifference(BaseModel):
    """One fact of both."""

    name: str
    a: Any
    b: Any
    same: bool


class FindingCounts(BaseModel):
    """How often a check spoke in each of the two, and the gravest of what it said."""

    check: str
    severity: str
    a: int
    b: int


class EpisodeComparison(BaseModel):
    """Moments of A and of B that belong together, and what differs between the two."""

    a: str
    b: str
    align: Alignment
    ways: list[AlignmentOption]
    time_a: list[int]
    time_b: list[int]
    facts: list[FactDifference]
    scores: list[FactDifference]
    findings: list[FindingCounts]


class PeerEpisode(BaseModel):
    """An episode that another one may be compared with."""

    id: str
    number: int | None
    file: str
    task: str | None
    operator: str | None
    verdict: Verdict | None
    score: float | None
    success: bool | None
    recorded_ns: int | None


@ROUTER.get("/comparison")
def comparison(
    a: Name,
    b: Name,
    studio: StudioDep,
    who: Annotated[Visitor, Depends(visitor)],
    align: Alignment = "time",
) -> EpisodeComparison:
    """How two episodes differ; aligned as asked, or by time where that cannot be done."""
    require_both(who, a, b)
    # The joints are read for those who want them aligned; others only hear whether they could be.
    cheap: tuple[Alignment, ...] = ("time", "start", "phase")
    tried = (*cheap, align) if align == "motion" else cheap
    ways = {each: _tried(partial(alignment_of, studio, a, b, each)) for each in tried}
    found = ways.get(align)
    used: Alignment = align if isinstance(found, AlignmentMap) else "time"
    way = found if isinstance(found, AlignmentMap) else shifted(0, 0)
    missing = _without_joints(studio, a, b) if "motion" not in ways else None
    return EpisodeComparison(
        a=a,
        b=b,
        align=used,
        ways=[_possibility(each, ways.get(each, missing)) for each in ALIGNMENTS],
        time_a=way.time_a.tolist(),
        time_b=way.time_b.tolist(),
        **_differences(studio, a, b, _shown_facts(who)),
    )


def alignment_of(studio: Studio, a: str, b: str, align: Alignment) -> AlignmentMap:
    """Which moments of two episodes belong together; raises NoAlignmentError."""
    if align == "start":
        return shifted(_first(studio, a), _first(studio, b))
    if align == "phase":
        return by_phase(_marks(studio, a), _marks(studio, b))
    if align == "motion":
        return by_motion(course_of(studio, a), course_of(studio, b))
    return shifted(0, 0)


@ROUTER.get("/episodes/{episode_id}/peers")
def peers(
    episode_id: str,
    studio: StudioDep,
    _: Reader,
    who: Annotated[Visitor, Depends(visitor)],
    q: Annotated[str, Query(max_length=200)] = "",
) -> list[PeerEpisode]:
    """Episodes of the same task, those recorded nearest in time first; or those that `q` names.

    Guests name them by their ids alone: files and operators could be guessed by what is answered.
    """
    row, words, among = studio.shelf.row(episode_id), q.strip(), who.episodes
    if among is not None:
        among = frozenset(name for name in among if words.lower() in name.lower())
    with studio.workspace.database.read() as connection:
        nearest = find_nearest(connection, row, words=words, among=among, most=_MOST_FOUND,
                               by_people=sees_everybody(who.actor))  # fmt: skip
    listed = [PeerEpisode(**vars(peer)) for peer in nearest]
    if not who.actor.guest:
        return without_people(who.actor, listed)
    return [peer.model_copy(update={"file": peer.id, "operator": None}) for peer in listed]


def _shown_facts(who: Visitor) -> list[str]:
    """The facts that are compared; those that tell of the staff are not, for guests."""
    return [name for name in _FACTS if not (who.actor.guest and name in HIDDEN_COLUMNS)]


def require_both(who: Visitor, *names: str) -> None:
    """Whoever came by a link may compare what the link shows, and nothing else."""
    require(who.actor, "read")
    if who.episodes is not None and not who.episodes.issuperset(names):
        raise PermissionDeniedError(
            "The link that you followed does not show both of these episodes. Log in to see more."
        )


def _tried(make: Callable[[], AlignmentMap]) -> AlignmentMap | str:
    try:
        return make()
    except NoAlignmentError as error:
        return str(error)


def _possibility(align: Alignment, found: AlignmentMap | str | None) -> AlignmentOption:
    reason = found if isinstance(found, str) else None
    return AlignmentOption(align=align, possible=reason is None, reason=reason)


def _first(studio: Studio, name: str) -> int:
    with studio.shelf.episode(name) as episode:
        return int(episode.span_ns[0])


def _marks(studio: Studio, name: str) -> Marks:
    with studio.shelf.episode(name) as episode:
        lanes = lanes_of(episode)
    return {lane.name: [(each.label, each.start_ns) for each in lane.items] for lane in lanes
            if lane.name != "instruction"}  # fmt: skip


def course_of(studio: Studio, name: str) -> Course:
    """The measured joints of an episode; raises NoAlignmentError where there are none."""
    with studio.shelf.episode(name) as episode:
        if JOINTS not in episode:
            raise NoAlignmentError(_no_joints(name))
        reader = episode[JOINTS]
        step = max(1, -(-len(reader) // _MOST_SAMPLES))
        values = np.asarray(reader[:], np.float64)[::step]
        flat = values.reshape(len(values), -1)
        names = reader.spec.names
        if len(names) != flat.shape[1]:
            names = tuple(str(number) for number in range(flat.shape[1]))
        return Course(reader.time_ns[::step], flat, names)


def _without_joints(studio: Studio, *names: str) -> str | None:
    for name in names:
        with studio.shelf.episode(name) as episode:
            if not _has_joints(episode):
                return _no_joints(name)
    return None


def _has_joints(episode: Episode) -> bool:
    return JOINTS in episode and len(episode[JOINTS]) >= 3


def _no_joints(name: str) -> str:
    return f"episode {name} has no stream {JOINTS}"


def _differences(studio: Studio, a: str, b: str, facts: Sequence[str]) -> dict[str, Any]:
    rows = studio.shelf.row(a), studio.shelf.row(b)
    with studio.workspace.database.read() as connection:
        scores = [{part.part: part.value for part in scores_of(connection, name)}
                  for name in (a, b)]  # fmt: skip
        findings = [findings_of(connection, name) for name in (a, b)]
    return {
        "facts": [_difference(name, *(getattr(row, name) for row in rows)) for name in facts],
        "scores": [_difference(part, *(values.get(part) for values in scores))
                   for part in sorted(scores[0] | scores[1])],
        "findings": sorted(_count(*findings), key=lambda counts: (
            SEVERITIES.index(counts.severity), counts.check)),
    }  # fmt: skip


def _count(a: Sequence[FindingRow], b: Sequence[FindingRow]) -> Iterator[FindingCounts]:
    """How often each check spoke in the one and in the other."""
    in_a, in_b = Counter(row.check for row in a), Counter(row.check for row in b)
    gravest: dict[str, str] = {}
    for row in (*a, *b):
        known = gravest.get(row.check, row.severity)
        gravest[row.check] = min(known, row.severity, key=SEVERITIES.index)
    for check, severity in gravest.items():
        yield FindingCounts(check=check, severity=severity, a=in_a[check], b=in_b[check])


def _difference(name: str, a: Any, b: Any) -> FactDifference:
    return FactDifference(name=name, a=a, b=b, same=a == b)

"""Two episodes side by side: which moments belong together, and what differs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel
from sqlalchemy import Connection, Select, func, or_, select

from corporeal.catalog.permission import PermissionDeniedError, require
from corporeal.catalog.tables import EPISODE, FINDING, SCORE
from corporeal.episode import Episode
from corporeal.quality.check import Verdict
from corporeal.studio.alignment_map import (
    ALIGNMENTS,
    Alignment,
    AlignmentMap,
    Course,
    Marks,
    NoAlignmentError,
    by_motion,
    by_phase,
    shifted,
)
from corporeal.studio.authentication import Reader, Visitor, visitor
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.lanes import lanes_of

ROUTER = APIRouter(tags=["comparison"])
Name = Annotated[str, Query(min_length=1, max_length=64)]
JOINTS = "observations/joint_position"
_MOST_SAMPLES = 200_000
_MOST_FOUND = 20
_GRAVEST = ("fail", "quarantine", "note")
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
    _require_both(who, a, b)
    ways: dict[Alignment, AlignmentMap | str] = {
        "time": shifted(0, 0),
        "start": shifted(_first(studio, a), _first(studio, b)),
    }
    ways["phase"] = _tried(lambda: by_phase(_marks(studio, a), _marks(studio, b)))
    # The joints are read for those who want them aligned; others only hear whether they could be.
    if align == "motion":
        ways["motion"] = _tried(lambda: by_motion(_course(studio, a), _course(studio, b)))
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
        **_differences(studio, a, b),
    )


@ROUTER.get("/episodes/{episode_id}/peers")
def peers(
    episode_id: str,
    studio: StudioDep,
    _: Reader,
    who: Annotated[Visitor, Depends(visitor)],
    q: Annotated[str, Query(max_length=200)] = "",
) -> list[PeerEpisode]:
    """Episodes of the same task, those recorded nearest in time first; or those that `q` names."""
    row = studio.shelf.row(episode_id)
    columns = [EPISODE.c[name] for name in PeerEpisode.model_fields]
    query = select(*columns).where(EPISODE.c.id != episode_id, EPISODE.c.state != "erased")
    if who.episodes is not None:
        query = query.where(EPISODE.c.id.in_(sorted(who.episodes)))
    words = q.strip()
    if words:
        like = "%" + words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        named = (EPISODE.c[name].ilike(like, escape="\\") for name in ("id", "file", "operator"))
        query = query.where(or_(*named))
    else:
        query = query.where(EPISODE.c.task == row.task)
    with studio.workspace.database.read() as connection:
        return _nearest(connection, query, row.recorded_ns or 0)


def _nearest(connection: Connection, query: Select[Any], moment: int) -> list[PeerEpisode]:
    """Those recorded nearest to a moment: both ways along the index of time, not over all rows."""
    when = EPISODE.c.recorded_ns
    found: dict[str, PeerEpisode] = {}
    for part in (
        query.where(when < moment).order_by(when.desc()),
        query.where(when >= moment).order_by(when),
        query.where(when.is_(None)).order_by(EPISODE.c.id),
    ):
        rows = connection.execute(part.limit(_MOST_FOUND)).mappings()
        found |= {each["id"]: PeerEpisode(**each) for each in rows}
    return sorted(found.values(), key=lambda peer: _apart(peer, moment))[:_MOST_FOUND]


def _apart(peer: PeerEpisode, moment: int) -> float:
    return math.inf if peer.recorded_ns is None else abs(peer.recorded_ns - moment)


def _require_both(who: Visitor, *names: str) -> None:
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


def _course(studio: Studio, name: str) -> Course:
    with studio.shelf.episode(name) as episode:
        if JOINTS not in episode:
            raise NoAlignmentError(_no_joints(name))
        reader = episode[JOINTS]
        step = max(1, -(-len(reader) // _MOST_SAMPLES))
        values = np.asarray(reader[:], np.float64)[::step]
        flat = values.reshape(len(values), -1)
        said = reader.spec.components
        names = tuple(said) if isinstance(said, tuple) else ()
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


def _differences(studio: Studio, a: str, b: str) -> dict[str, Any]:
    rows = {name: studio.shelf.row(name) for name in (a, b)}
    parts: dict[str, dict[str, float | None]] = {}
    counts: dict[str, FindingCounts] = {}
    with studio.workspace.database.read() as connection:
        for part in connection.execute(select(SCORE).where(SCORE.c.episode.in_((a, b)))).mappings():
            parts.setdefault(part["part"], {})[part["episode"]] = part["value"]
        query = select(FINDING.c.episode, FINDING.c.check, FINDING.c.severity, func.count())
        grouped = query.where(FINDING.c.episode.in_((a, b))).group_by(
            FINDING.c.episode, FINDING.c.check, FINDING.c.severity
        )
        for episode, check, severity, count in connection.execute(grouped):
            _count(counts, check, severity, count, is_a=episode == a, is_b=episode == b)
    return {
        "facts": [_difference(name, *(getattr(rows[each], name) for each in (a, b)))
                  for name in _FACTS],
        "scores": [_difference(name, both.get(a), both.get(b)) for name, both in
                   sorted(parts.items())],
        "findings": sorted(counts.values(), key=lambda each: (_GRAVEST.index(each.severity),
                                                              each.check)),
    }  # fmt: skip


def _count(
    counts: dict[str, FindingCounts],
    check: str,
    severity: str,
    count: int,
    *,
    is_a: bool,
    is_b: bool,
) -> None:
    held = counts.setdefault(check, FindingCounts(check=check, severity=severity, a=0, b=0))
    held.a += count if is_a else 0
    held.b += count if is_b else 0
    held.severity = min(held.severity, severity, key=_GRAVEST.index)


def _difference(name: str, a: Any, b: Any) -> FactDifference:
    return FactDifference(name=name, a=a, b=b, same=a == b)

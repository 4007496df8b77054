"""Reviews: a sample of episodes that people look at, and what it says of all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, case, func, insert, select, update

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import parts_of
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.query import PRESENT, And, Comparison, episode_meets
from corporeal.catalog.tables import REVIEW, REVIEW_ITEM
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.operations.review.acceptance_sampling import (
    CONFIDENCE,
    LotVerdict,
    SamplingPlan,
    Stratum,
    judge_lot,
    make_plan,
    sample_size,
)
from corporeal.operations.review.sample import (
    DEFAULT_SHARE,
    DrawnSample,
    LotEpisode,
    count_lot,
    draw,
    lot_condition,
    read_lot,
    size_of,
)

DRAWN, QUARANTINED, NEIGHBOUR = "drawn", "quarantined", "neighbour of "
"""Why an episode is in a review."""
MOST = 10_000
"""Episodes of one review; more is the work of months."""
SEEN_SHARE = 0.6
"""Who accepts an episode of which less was on the screen has not seen it."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class SamplingRequest:
    """How a review is drawn: a share of the lot, or more where a limit is to be proved."""

    share: float = DEFAULT_SHARE
    limit: float | None = None
    confidence: float = CONFIDENCE
    seed: int = 0
    all_quarantined: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise CorporealError(f"share, got {self.share:g}; expected more than 0, at most 1.")
        if self.limit is not None and not 0 < self.limit < 1:
            raise CorporealError(f"limit, got {self.limit:g}; expected between 0 and 1.")
        if not 0.5 <= self.confidence < 1:
            raise CorporealError(f"confidence, got {self.confidence:g}; expected 0.5 to below 1.")


@dataclass(frozen=True)
class Review:
    """A review as the catalogue has it."""

    name: str
    condition: str
    settings: Mapping[str, Any]
    created_by: str
    created_at: str
    closed_at: str | None

    @property
    def plan(self) -> SamplingPlan:
        """What was planned."""
        names = ("lot", "sample", "accept", "proves", "confidence", "limit", "enough")
        return SamplingPlan(**{name: self.settings[name] for name in names})


@dataclass(frozen=True)
class ReviewProgress:
    """How far a review is; only episodes that were drawn by chance count for the lot.

    `unseen` were accepted with too little of them on the screen; of `unknown` nobody knows it.
    """

    items: int
    decided: int
    accepted: int
    rejected: int
    unseen: int
    unknown: int
    neighbours: int
    seconds: float
    plan: SamplingPlan
    lot: LotVerdict


def preview(connection: Connection, query: str | None, wanted: SamplingRequest) -> SamplingPlan:
    """What a review would prove, before it is made."""
    condition = lot_condition(query)
    if wanted.all_quarantined:
        condition = And((condition, Comparison("state", "!=", QUARANTINED)))
    lot = count_lot(connection, condition)
    return make_plan(lot, _size(lot, wanted), limit=wanted.limit, confidence=wanted.confidence)


def create_review(
    connection: Connection, name: str, query: str | None, wanted: SamplingRequest, *, by: Actor
) -> Review:
    """Draw a sample and put it in a queue, inside a transaction."""
    require(by, "judge")
    _check_name(connection, name)
    lot = read_lot(connection, lot_condition(query))
    always = [each for each in lot if wanted.all_quarantined and each.state == QUARANTINED]
    rest = [each for each in lot if not wanted.all_quarantined or each.state != QUARANTINED]
    if not lot:
        raise CatalogError(
            f"review {name}: no episode is left to look at; expected some not yet reviewed. "
            "Try another query: corporeal ls shows what it finds."
        )
    sample, plan = _drawn(rest, wanted)
    if len(sample.drawn) + len(always) > MOST:
        raise CatalogError(
            f"review {name}, got {len(sample.drawn) + len(always)} episodes; expected {MOST} at "
            "most. Take a smaller share, or a narrower query."
        )
    made = _insert_review(connection, name, query, wanted, plan, sample, by)
    listed = [(each.id, QUARANTINED, QUARANTINED) for each in always]
    listed += [(episode, stratum, DRAWN) for episode, stratum in sample.drawn]
    rows_in = [
        {"review": name, "episode": episode, "place": place, "stratum": stratum,
         "because": because, "version": 0}
        for place, (episode, stratum, because) in enumerate(listed)
    ]  # fmt: skip
    for part in parts_of(rows_in):
        connection.execute(insert(REVIEW_ITEM), list(part))
    return made


def review_of(connection: Connection, name: str) -> Review:
    """The review of this name; raises UnknownNameError with the list of them."""
    row = connection.execute(select(REVIEW).where(REVIEW.c.name == name)).mappings().first()
    if row is None:
        names = connection.execute(select(REVIEW.c.name).order_by(REVIEW.c.name).limit(50))
        raise UnknownNameError("review", name[:80], names.scalars())
    return Review(**row)


def reviews(connection: Connection) -> list[Review]:
    """All reviews, the newest first."""
    query = select(REVIEW).order_by(REVIEW.c.created_at.desc(), REVIEW.c.name)
    return [Review(**row) for row in connection.execute(query).mappings()]


def progress_of(connection: Connection, review: Review) -> ReviewProgress:
    """How far a review is and what it says of the lot."""
    kind, decision = REVIEW_ITEM.c.because, REVIEW_ITEM.c.decision
    shown = REVIEW_ITEM.c.shown
    accepts = decision == "accept"
    query = (
        select(REVIEW_ITEM.c.stratum, kind.like(f"{NEIGHBOUR}%").label("near"),
               (kind == DRAWN).label("drawn"), decision,
               func.sum(case((and_(accepts, shown < SEEN_SHARE), 1), else_=0)).label("unseen"),
               func.sum(case((and_(accepts, shown.is_(None)), 1), else_=0)).label("unknown"),
               func.count().label("items"), func.sum(REVIEW_ITEM.c.seconds).label("seconds"))
        .where(REVIEW_ITEM.c.review == review.name)
        # What was erased before anybody had decided on it no longer counts.
        .where(decision.is_not(None) | episode_meets(REVIEW_ITEM.c.episode, PRESENT))
        .group_by(REVIEW_ITEM.c.stratum, "near", "drawn", decision)
    )  # fmt: skip
    rows = connection.execute(query).mappings().all()
    strata = _strata(review, [row for row in rows if row["drawn"]])
    plan = review.plan
    left = sum(each.drawn for each in strata)
    if left < plan.sample:  # Erased episodes can no longer be looked at.
        plan = make_plan(plan.lot, left, limit=plan.limit, confidence=plan.confidence,
                         strata=strata)  # fmt: skip

    def count(**asked: Any) -> int:
        return sum(row["items"] for row in rows if all(row[k] == v for k, v in asked.items()))

    accepted, rejected = count(decision="accept"), count(decision="reject")
    unseen, unknown = (sum(int(row[name]) for row in rows) for name in ("unseen", "unknown"))
    lot = judge_lot(plan, strata)
    return ReviewProgress(
        items=count(),
        decided=accepted + rejected,
        accepted=accepted,
        rejected=rejected,
        unseen=unseen,
        unknown=unknown,
        neighbours=count(near=True),
        seconds=float(sum(row["seconds"] or 0 for row in rows)),
        plan=plan,
        lot=replace(lot, words=lot.words + _looked(accepted, unseen, unknown)),
    )


def _looked(accepted: int, unseen: int, unknown: int) -> str:
    """What a statement of the lot adds where acceptances do not prove that somebody looked."""
    of = f"of {accepted} accepted" if accepted > 1 else "accepted"
    said = ""
    if unseen:
        said += f"; {unseen} {of} unseen (less than {100 * SEEN_SHARE:.0f} % shown)"
    if unknown:
        said += f"; {unknown} {of} outside Studio, what was shown is not known"
    return said


def close_row(
    connection: Connection, review: Review, *, by: Actor, details: Mapping[str, Any]
) -> Review:
    """Write that a review is at its end, inside a transaction."""
    stamp = now()
    connection.execute(update(REVIEW).where(REVIEW.c.name == review.name).values(closed_at=stamp))
    record(connection, [
        Change(by.name, "review closed", f"review:{review.name}", details=details)
    ], at=stamp)  # fmt: skip
    return replace(review, closed_at=stamp)


def _size(lot: int, wanted: SamplingRequest) -> int:
    size = size_of(lot, wanted.share)
    if wanted.limit is None:
        return size
    return max(size, sample_size(lot, wanted.limit, confidence=wanted.confidence))


def _drawn(
    candidates: Sequence[LotEpisode], wanted: SamplingRequest
) -> tuple[DrawnSample, SamplingPlan]:
    """The sample and its plan; a little more is drawn until uneven strata prove the limit, too."""
    size = _size(len(candidates), wanted)
    while True:
        sample = draw(candidates, size, seed=wanted.seed)
        plan = make_plan(len(candidates), len(sample.drawn), limit=wanted.limit,
                         confidence=wanted.confidence, strata=sample.strata)  # fmt: skip
        if plan.accept is not None or size >= len(candidates):
            return sample, plan
        size += max(1, size // 50)


def _insert_review(
    connection: Connection, name: str, query: str | None, wanted: SamplingRequest,
    plan: SamplingPlan, sample: DrawnSample, by: Actor,
) -> Review:  # fmt: skip
    settings = {
        "share": wanted.share, "seed": wanted.seed, "all_quarantined": wanted.all_quarantined,
        "lot": plan.lot, "sample": plan.sample, "accept": plan.accept, "proves": plan.proves,
        "confidence": plan.confidence, "limit": plan.limit, "enough": plan.enough,
        "by": list(sample.by),
        "strata": {each.name: [each.lot, each.drawn] for each in sample.strata},
    }  # fmt: skip
    stamp = now()
    made = Review(name, (query or "").strip(), settings, by.name, stamp, None)
    connection.execute(insert(REVIEW).values(
        name=name, condition=made.condition, settings=settings, created_by=by.name,
        created_at=stamp,
    ))  # fmt: skip
    details = {key: value for key, value in settings.items() if key != "strata"}
    record(connection, [
        Change(by.name, "review created", f"review:{name}",
               details={"condition": made.condition, **details})
    ], at=stamp)  # fmt: skip
    return made


def _strata(review: Review, rows: Sequence[RowMapping]) -> list[Stratum]:
    """The strata with what was decided; erased episodes are no longer counted as drawn."""
    counts: Counter[tuple[str, str | None]] = Counter()
    for row in rows:
        counts[row["stratum"], row["decision"]] += row["items"]
    strata = []
    for name, (lot, _) in review.settings["strata"].items():
        rejected = counts[name, "reject"]
        decided = rejected + counts[name, "accept"]
        strata.append(Stratum(name, lot, decided + counts[name, None], decided, rejected))
    return strata


def _check_name(connection: Connection, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise CatalogError(
            f"review name, got {name[:80]!r}; expected up to 64 small letters, digits, points, "
            "dashes and underscores."
        )
    if connection.execute(select(REVIEW.c.name).where(REVIEW.c.name == name)).first():
        raise CatalogError(f"review {name!r} exists already. Choose another name.")

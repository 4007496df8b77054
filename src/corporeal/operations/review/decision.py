"""Accept, reject and take back: a decision, the state it gives an episode, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, delete

from corporeal.catalog.audit import Change, events_of, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    NEXT,
    EpisodeRow,
    State,
    decide_episodes,
    decisions_of,
    find_episode,
    move_episodes,
    restore_decision,
)
from corporeal.catalog.permission import Actor, may, require
from corporeal.catalog.tables import REVIEW_ITEM
from corporeal.errors import UnknownNameError
from corporeal.operations.review.queue import (
    ReviewItem,
    item_of,
    items_of,
    pull_neighbours,
    put_first,
    update_item,
)
from corporeal.operations.review.review import (
    NEIGHBOUR,
    SEEN_SHARE,
    Review,
    ReviewProgress,
    close_row,
    progress_of,
)
from corporeal.quality.check import Verdict
from corporeal.release.reading import releases_of

Verb = Literal["accept", "reject"]
REASONS: Mapping[str, Verdict] = {
    # A failure that is true to life is kept as a negative example.
    "fall": "failed",
    "task not done": "failed",
    # Something that may be mended, or must not get into a release even as a negative example.
    "wrong label": "quarantined",
    "camera": "quarantined",
    "sync": "quarantined",
    "privacy": "quarantined",
    "other": "quarantined",
}
"""Why an episode is rejected, and the state that this gives it."""
LONGEST_TEXT, LONGEST_KEY, MOST_SECONDS = 500, 64, 3600.0
FASTEST = 4.0
"""The highest speed that Studio plays at."""
_GOOD = ("accepted", "annotated", "released")


class ReviewConflictError(CatalogError):
    """Somebody else has decided in between."""


@dataclass(frozen=True)
class ReviewChoice:
    """What a reviewer chose. `key` is made by whoever sends it: the same key is the same choice.

    `shown` is the share of the episode that was on the screen; none where nobody measured it.
    """

    decision: Verb
    reason: str | None = None
    text: str = ""
    seconds: float | None = None
    shown: float | None = None
    key: str | None = None
    version: int | None = None

    def __post_init__(self) -> None:
        if self.decision == "reject":
            if self.reason not in REASONS:
                raise UnknownNameError("reason", str(self.reason)[:80], REASONS)
            if self.reason == "other" and not self.text.strip():
                raise CatalogError("reason other, got no text; expected some words on what is bad.")
        for what, said, most in (("text", self.text, LONGEST_TEXT), ("key", self.key, LONGEST_KEY)):
            if said and len(said) > most:
                raise CatalogError(f"{what}, got {len(said)} letters; expected {most} at most.")

    @property
    def why(self) -> str | None:
        """The reason as one text."""
        parts = [each for each in (self.reason, self.text.strip()) if each]
        return ": ".join(parts) or None


@dataclass(frozen=True)
class DecisionResult:
    """What a decision did; `note` is what else to know, `again` that it was sent before."""

    item: ReviewItem
    state: str
    pulled: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    note: str | None = None
    again: bool = False


def decide(
    connection: Connection, review: Review, episode: str, choice: ReviewChoice, *, by: Actor
) -> DecisionResult:
    """Accept or reject an episode, inside a transaction.

    An annotator's decision counts for the lot at once; the state of the episode changes when
    someone who may judge closes the review.
    """
    require(by, "annotate")
    item, row = item_of(connection, review.name, episode), find_episode(connection, episode)
    if _was_sent(connection, review, episode, choice.key) or _is_same(item, choice, by):
        return DecisionResult(item, row.state, again=True)
    if review.closed_at is not None:
        raise ReviewConflictError(f"review {review.name} is closed; what was decided stays.")
    _refuse_stale(item, choice.version)
    if row.state == "erased":
        raise ReviewConflictError(f"episode {episode} was erased; it can no longer be judged.")
    new, note, releases = _effect(connection, row, choice, by)
    stamp = now()
    shown = _possible(choice.shown, item, row, stamp)
    _write(connection, item, {
        "decision": choice.decision, "why": choice.why, "decided_by": by.name,
        "decided_at": stamp, "seconds": _seconds(choice.seconds), "shown": shown,
    })  # fmt: skip
    pulled = tuple(pull_neighbours(connection, review, row)) if choice.decision == "reject" else ()
    earlier = decisions_of(connection, [episode]).get(episode)
    record(connection, [Change(by.name, "review", f"episode:{episode}", choice.why, {
        "review": review.name, "decision": choice.decision, "reason": choice.reason,
        "key": choice.key, "from": row.state, "to": new, "pulled": list(pulled),
        "waits": note == _WAITS, "verdict": row.verdict, "shown": shown,
        "unseen": shown is not None and choice.decision == "accept" and shown < SEEN_SHARE,
        "earlier": None if earlier is None else asdict(earlier),
    })])  # fmt: skip
    if note != _WAITS:
        verdict = _verdict(choice.decision, choice.reason)
        why = _said(review, choice.decision, choice.why)
        decide_episodes(connection, [episode], verdict, who=by.name, why=why)
    return DecisionResult(item_of(connection, review.name, episode), new, pulled, releases, note)


def undo(
    connection: Connection, review: Review, episode: str, *, by: Actor, key: str | None = None
) -> DecisionResult:
    """Take a decision back, inside a transaction: the state returns, the pulled in leave again."""
    item, row = item_of(connection, review.name, episode), find_episode(connection, episode)
    require(by, "annotate" if item.decided_by in (None, by.name) else "judge")
    if item.decision is None or _was_sent(connection, review, episode, key):
        return DecisionResult(item, row.state, again=True)
    if review.closed_at is not None:
        raise ReviewConflictError(f"review {review.name} is closed; what was decided stays.")
    before = _last_event(connection, review, episode) or {}
    state, note = _returned(row.state, before)
    _write(connection, item, dict.fromkeys(
        ("decision", "why", "decided_by", "decided_at", "seconds", "shown")
    ))  # fmt: skip
    connection.execute(delete(REVIEW_ITEM).where(
        REVIEW_ITEM.c.review == review.name, REVIEW_ITEM.c.because == f"{NEIGHBOUR}{episode}",
        REVIEW_ITEM.c.decision.is_(None),
        REVIEW_ITEM.c.taken_by.is_(None) | (REVIEW_ITEM.c.taken_by == by.name),
    ))  # fmt: skip
    put_first(connection, review, item, by=by)
    record(connection, [Change(by.name, "review undone", f"episode:{episode}", None, {
        "review": review.name, "key": key, "decision": item.decision, "of": item.decided_by,
    })])  # fmt: skip
    if before.get("to") == row.state and "verdict" in before and not before["waits"]:
        restore_decision(connection, episode, before["earlier"], verdict=before["verdict"])
    if state != row.state:
        require(by, "judge")
        why = f"review {review.name}: decision taken back"
        move_episodes(connection, [episode], state, who=by.name, why=why)
    return DecisionResult(item_of(connection, review.name, episode), state, note=note)


def close_review(
    connection: Connection, review: Review, *, by: Actor
) -> tuple[Review, ReviewProgress]:
    """End a review, inside a transaction; decisions that wait for a judge take effect."""
    require(by, "judge")
    if review.closed_at is not None:
        return review, progress_of(connection, review)
    applied = 0
    for item in items_of(connection, review, limit=1_000_000):
        if item.decision is None:
            continue
        event = _last_event(connection, review, item.episode) or {}
        state = find_episode(connection, item.episode).state
        if event.get("waits") and state == event["from"]:
            applied += _wanted(state, item.decision, event["reason"]) != state
            why = f"{_said(review, item.decision, item.why)} ({item.decided_by})"
            verdict = _verdict(item.decision, event["reason"])
            decide_episodes(connection, [item.episode], verdict, who=by.name, why=why)
    progress = progress_of(connection, review)
    details = {"lot": progress.lot.state, "words": progress.lot.words, "decided": progress.decided,
               "items": progress.items, "applied": applied, "unseen": progress.unseen}  # fmt: skip
    return close_row(connection, review, by=by, details=details), progress


_WAITS = "the state changes when a lead closes the review"


def _effect(
    connection: Connection, row: EpisodeRow, choice: ReviewChoice, by: Actor
) -> tuple[State, str | None, tuple[str, ...]]:
    """The state after a decision, what to know about it, and the releases that it concerns."""
    old: State = row.state
    new = _wanted(old, choice.decision, choice.reason)
    if choice.decision == "accept":
        releases: tuple[str, ...] = ()
    else:
        releases = tuple(releases_of(connection, row.id))
    if new != old and new not in NEXT[old]:
        listed = ", ".join(releases) or "a release"
        note = f"it is part of {listed}, which never changes; leave it out of the next one"
        return old, note, releases
    if new != old and not may(by, "judge"):
        return old, _WAITS, releases
    if releases:
        return new, f"it is part of {', '.join(releases)}, which never changes", releases
    return new, None, releases


def _verdict(decision: str, reason: str | None) -> Verdict:
    """What a person says of an episode with a decision."""
    return REASONS[str(reason)] if decision == "reject" else "accepted"


def _wanted(old: State, decision: str, reason: str | None) -> State:
    if decision == "reject":
        return REASONS[str(reason)]
    return old if old in _GOOD else "accepted"


def _returned(state: State, before: Mapping[str, Any]) -> tuple[State, str | None]:
    """The state from before a decision; as it is where somebody has changed it since."""
    old: State = before.get("from", state)
    if before.get("to") != state:
        return state, f"the state stays {state}: it was changed after the decision"
    if old == state or old in NEXT[state]:
        return old, None
    nearest: State = "accepted" if old == "annotated" else "checked"
    return nearest, f"the state was {old}; {nearest} is as near as it can come back"


def _refuse_stale(item: ReviewItem, version: int | None) -> None:
    if item.decision is not None:
        because = f" because of {item.why}" if item.why else ""
        at = str(item.decided_at)[:16].replace("T", " ")
        raise ReviewConflictError(
            f"{item.decided_by} has decided this episode already ({item.decision}{because}, {at} "
            "UTC). Take that back first if it is wrong."
        )
    if version is not None and version != item.version:
        raise ReviewConflictError(
            "somebody has decided this episode and taken it back while it was shown here. Look at "
            "it once more."
        )


def _was_sent(connection: Connection, review: Review, episode: str, key: str | None) -> bool:
    if key is None:
        return False
    return any(
        each["details"].get("key") == key and each["details"].get("review") == review.name
        for each in events_of(connection, f"episode:{episode}")
        if str(each["what"]).startswith("review")
    )


def _is_same(item: ReviewItem, choice: ReviewChoice, by: Actor) -> bool:
    return (item.decision, item.why, item.decided_by) == (choice.decision, choice.why, by.name)


def _last_event(connection: Connection, review: Review, episode: str) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = None
    for each in events_of(connection, f"episode:{episode}"):
        if each["what"] == "review" and each["details"].get("review") == review.name:
            found = each["details"]
    return found


def _write(connection: Connection, item: ReviewItem, values: Mapping[str, Any]) -> None:
    free = {"taken_by": None, "taken_at": None, "version": item.version + 1}
    connection.execute(update_item(item).values(**values, **free))


def _seconds(given: float | None) -> float | None:
    return None if given is None else min(max(given, 0.0), MOST_SECONDS)


def _possible(claimed: float | None, item: ReviewItem, row: EpisodeRow, stamp: str) -> float | None:
    """What was shown, at most what can have been since the episode was taken, at full speed."""
    if claimed is None:
        return None
    if item.taken_at is None or row.duration_s is None:
        return 0.0
    passed = (datetime.fromisoformat(stamp) - datetime.fromisoformat(item.taken_at)).total_seconds()
    most = FASTEST * passed / row.duration_s if row.duration_s > 0 else 1.0
    return min(max(claimed, 0.0), most, 1.0)


def _said(review: Review, decision: str, why: str | None) -> str:
    return f"review {review.name}: {decision}" + (f", {why}" if why else "")

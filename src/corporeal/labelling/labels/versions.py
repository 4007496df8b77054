"""The labels that count: every version, the highest number in force, and as a recording's track."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, func, insert, select, true, update

from corporeal.catalog.audit import Break, Change, latest_events, now, record
from corporeal.catalog.database import json_value
from corporeal.catalog.episodes import NEXT, find_episode, move_episodes, parts_of
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import LABELS
from corporeal.episode.label_track import LabelSpan, LabelTrack, Lane, PoseLabel
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.taxonomy import Taxonomy, keep_taxonomy

_NEWEST = select(LABELS.c.episode, func.max(LABELS.c.number).label("number")).group_by(
    LABELS.c.episode
)
_ALL = 1 << 40


@dataclass(frozen=True)
class Labels:
    """Labels of an episode; `stale` says why they do not hold any more, None while they do."""

    episode: str
    number: int
    annotation: Annotation
    taxonomy: str
    task: str | None
    hash: str
    who: str
    at: str
    stale: str | None

    @property
    def is_machine(self) -> bool:
        """Whether any part of it is a proposal that no person has confirmed."""
        said = self.annotation
        return not all(
            [each.confirmed for each in said.segments] + [each.confirmed for each in said.poses]
        )


def labels_of(connection: Connection, episode: str) -> Labels | None:
    """The labels of an episode that are in force, stale or not; None when it never had any."""
    return next(iter(label_history(connection, episode, limit=1)), None)


def label_history(connection: Connection, episode: str, *, limit: int = 1000) -> list[Labels]:
    """Every version of an episode's labels, the newest first."""
    query = select(LABELS).where(LABELS.c.episode == episode).order_by(LABELS.c.number.desc())
    return [_labels(row) for row in connection.execute(query.limit(limit))]


def labels_in_force(connection: Connection, episodes: Sequence[str]) -> dict[str, Labels]:
    """The labels in force of many episodes; those without any are missing."""
    labels: dict[str, Labels] = {}
    for part in parts_of(episodes):
        last = _NEWEST.where(LABELS.c.episode.in_(part)).subquery()
        query = select(LABELS).join(
            last, (LABELS.c.episode == last.c.episode) & (LABELS.c.number == last.c.number)
        )
        labels |= {row.episode: _labels(row) for row in connection.execute(query)}
    return labels


def label_summary(
    connection: Connection, episode: str, number: int | None = None
) -> dict[str, Any] | None:
    """A version of an episode's labels, without what they say: this one, or the one in force."""
    query = select(*(column for column in LABELS.c if column.name != "content")).where(
        LABELS.c.episode == episode, true() if number is None else LABELS.c.number == number
    )
    row = connection.execute(query.order_by(LABELS.c.number.desc()).limit(1)).mappings().first()
    return None if row is None else dict(row)


def label_hashes(connection: Connection, episodes: Iterable[str]) -> dict[tuple[str, int], str]:
    """The hash of every version of the labels of some episodes, by episode and number."""
    hashes: dict[tuple[str, int], str] = {}
    for part in parts_of(list(episodes)):
        query = select(LABELS.c.episode, LABELS.c.number, LABELS.c.hash)
        rows = connection.execute(query.where(LABELS.c.episode.in_(part)))
        hashes |= {(row.episode, row.number): row.hash for row in rows}
    return hashes


def labelled_under(connection: Connection, taxonomy: str, *, holding: bool = False) -> list[str]:
    """The episodes whose labels in force were made under the taxonomy with this hash.

    With `holding`, not those whose labels are stale.
    """
    newest = _NEWEST.subquery()
    query = (
        select(LABELS.c.episode)
        .join(newest, (LABELS.c.episode == newest.c.episode)
              & (LABELS.c.number == newest.c.number))
        .where(LABELS.c.taxonomy == taxonomy)
        .order_by(LABELS.c.episode)
    )  # fmt: skip
    if holding:
        query = query.where(LABELS.c.stale.is_(None))
    return [str(each) for each in connection.execute(query).scalars()]


def accept_labels(
    connection: Connection,
    episode: str,
    annotation: Annotation,
    taxonomy: Taxonomy,
    *,
    task_id: str | None,
    by: Actor,
    why: str | None = None,
    who: str | None = None,
) -> Labels:
    """Make an annotation the labels in force, inside a transaction; those before are kept.

    `by` lets it count, `who` made it (the same one, unless said otherwise). An episode that may
    become annotated becomes it.
    """
    require(by, "annotate")
    row = find_episode(connection, episode)
    content = json_value(canonical(annotation), f"labels of episode {episode}")
    last = select(func.max(LABELS.c.number)).where(LABELS.c.episode == episode)
    made = {
        "episode": episode,
        "number": int(connection.execute(last).scalar() or 0) + 1,
        "taxonomy": keep_taxonomy(connection, taxonomy),
        "task": task_id,
        "content": content,
        "hash": digest(annotation),
        "who": who or by.name,
        "at": now(),
        "stale": None,
    }
    connection.execute(insert(LABELS).values(**made))
    details = {name: made[name] for name in ("number", "taxonomy", "task", "hash", "who")}
    record(connection, [Change(by.name, "labelled", f"episode:{episode}", why, details)])
    if "annotated" in NEXT[row.state]:
        move_episodes(connection, [episode], "annotated", who=by.name, why=why)
    return Labels(**{name: made[name] for name in made if name != "content"}, annotation=annotation)


def unexplained_labels(connection: Connection) -> Iterator[Break]:
    """Labels that no event tells of, or whose content is not what the event says, and lost ones."""
    told: dict[tuple[str, Any], tuple[int, Any]] = {}
    for event in latest_events(connection, "episode:", ["labelled"], most=_ALL):
        details = event["details"] if isinstance(event["details"], dict) else {}
        key = str(event["subject"]).partition(":")[2], details.get("number")
        told[key] = int(event["number"]), details.get("hash")
    columns = LABELS.c.episode, LABELS.c.number, LABELS.c.hash, LABELS.c.content
    for row in connection.execute(select(*columns)):
        number, expected = told.pop((row.episode, row.number), (0, ""))
        where = f"labels {row.number} of episode {row.episode}"
        if not number:
            yield Break(0, f"{where} are in the catalogue, but no event tells of them")
        elif row.hash != expected or _digest_of_row(row.content) != expected:
            yield Break(number, f"{where} are not those that event {number} tells of")
    for (episode, place), (number, _) in sorted(told.items()):
        yield Break(number, f"labels {place} of episode {episode} are in the log alone")


def mark_stale(connection: Connection, labels: Labels, reason: str, *, by: Actor) -> None:
    """Say why labels do not hold any more, inside a transaction; they stay as they are."""
    connection.execute(
        update(LABELS)
        .where(LABELS.c.episode == labels.episode, LABELS.c.number == labels.number)
        .values(stale=reason)
    )
    details = {"number": labels.number, "taxonomy": labels.taxonomy}
    change = Change(by.name, "labels stale", f"episode:{labels.episode}", reason, details)
    record(connection, [change])


def canonical(annotation: Annotation) -> dict[str, Any]:
    """The one form of an annotation, whatever order its segments were made in."""
    values = annotation.model_dump(mode="json", exclude_none=True)
    order = {"segments": ("lane", "start_ns", "end_ns", "id"), "instructions": ("id",),
             "corrections": ("time_ns", "id"), "poses": ("object", "time_ns", "id")}  # fmt: skip
    for name, keys in order.items():
        values[name] = sorted(values[name], key=lambda each: [each[key] for key in keys])
    values["flags"] = sorted(values["flags"])
    if not values["poses"]:
        del values["poses"]  # Hashes of labels from before there were poses stay.
    return values


def digest(annotation: Annotation) -> str:
    """`sha256:<hex>` of the one form of an annotation."""
    text = json.dumps(
        canonical(annotation), sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _digest_of_row(content: Any) -> str | None:
    try:
        return digest(Annotation.model_validate(content))
    except ValidationError:
        return None


def _labels(row: Row[Any]) -> Labels:
    values = dict(row._mapping)
    return Labels(annotation=Annotation.model_validate(values.pop("content")), **values)


def lanes_of(taxonomy: Taxonomy) -> tuple[Lane, ...]:
    """The lanes of a taxonomy with all their labels, in its order."""
    return tuple(
        Lane(name=lane.name, labels=tuple(each.name for each in lane.labels), tiles=lane.tiles)
        for lane in taxonomy.lanes
    )


def label_track(annotation: Annotation, taxonomy: Taxonomy) -> LabelTrack:
    """An annotation as a label track; who made it and how sure a proposal was is left out.

    The wording that was recorded comes first: that is the one in force while the robot moved.
    """
    spans = sorted(annotation.segments, key=lambda each: (each.start_ns, each.end_ns, each.lane))
    spoken = sorted(annotation.instructions, key=lambda each: each.source != "recorded")
    return LabelTrack(
        taxonomy=taxonomy.reference,
        reference=annotation.reference,
        lanes=lanes_of(taxonomy),
        spans=tuple(
            LabelSpan(lane=each.lane, label=each.label, start_ns=each.start_ns, end_ns=each.end_ns,
                 attributes=dict(each.attributes))
            for each in spans
        ),
        instructions=tuple(each.text for each in spoken),
        poses=tuple(
            PoseLabel(object=each.object, time_ns=each.time_ns, frame=each.frame,
                      position=each.position, orientation=each.orientation)
            for each in sorted(annotation.poses, key=lambda each: (each.object, each.time_ns))
        ),
        outcome=annotation.outcome,
        failure_mode=annotation.failure_mode,
        variant=annotation.variant,
        flags=annotation.flags,
    )  # fmt: skip

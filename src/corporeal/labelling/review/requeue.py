"""A new version of a taxonomy: what it touches is asked again, the rest is carried over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from corporeal.catalog.audit import Change, record
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.annotation import Annotation, Segment
from corporeal.labelling.labels.versions import (
    accept_labels,
    labelled_under,
    labels_in_force,
    mark_stale,
)
from corporeal.labelling.queues.qualification import carry_qualifications
from corporeal.labelling.tasks.creation import TaskOptions, create_tasks
from corporeal.labelling.tasks.label_task import LabelTask
from corporeal.labelling.taxonomy import AttributeChoice, LabelDefinition, Taxonomy, keep_taxonomy


@dataclass(frozen=True)
class Impact:
    """What changed in meaning between two versions; wording of examples does not count.

    Keys of `labels` are (lane, label), of `attributes` (attribute, value); values say why.
    `requirements` are tasks that now ask for more.
    """

    labels: Mapping[tuple[str, str], str]
    attributes: Mapping[tuple[str, str], str]
    requirements: Mapping[str, str]

    @property
    def is_empty(self) -> bool:
        """Whether every annotation stays good."""
        return not (self.labels or self.attributes or self.requirements)


def find_impact(before: Taxonomy, after: Taxonomy) -> Impact:
    """What annotations made under `before` may not mean any more under `after`."""
    labels: dict[tuple[str, str], str] = {}
    new = {(lane.name, label.name): label for lane, label in after.labels()}
    for lane, label in before.labels():
        key = (lane.name, label.name)
        heir = _heir(key, new)
        reason = "is no label any more" if heir is None else _changed(label, heir)
        if reason:
            labels[key] = reason
    # A label that was split off takes frames from those it stands beside.
    old = {(lane.name, label.name) for lane, label in before.labels()}
    old |= {(lane, label.name) for (lane, _), label in new.items()
            if any((lane, name) in old for name in label.was)}  # fmt: skip
    for lane_name, name in new.keys() - old:
        for lane, label in before.labels():
            if lane.name == lane_name and (lane.tiles or new[lane_name, name].parent == label.name):
                labels.setdefault((lane_name, label.name), f"has the new neighbour {name}")
    attributes: dict[tuple[str, str], str] = {}
    for lane, label in before.labels():
        heir = _heir((lane.name, label.name), new)
        if heir is not None and heir.name != label.name:
            labels[lane.name, label.name] = f"is called {heir.name} now"
    for field, attribute in (("grasp_types", "grasp_type"), ("failure_modes", "failure_mode"),
                             ("discrepancies", "discrepancy")):  # fmt: skip
        attributes |= _choices(attribute, getattr(before, field), getattr(after, field))
    return Impact(labels, attributes, _requirements(before, after))


def _heir(
    key: tuple[str, str], new: Mapping[tuple[str, str], LabelDefinition]
) -> LabelDefinition | None:
    """What became of a label: the one of its name, else the one that had its name before."""
    lane, name = key
    renamed = (label for (where, _), label in new.items() if where == lane and name in label.was)
    return new.get(key) or next(renamed, None)


def reasons(annotation: Annotation, found: Impact, *, task: str | None) -> tuple[str, ...]:
    """Why one annotation has to be looked at again; none when it stays good."""
    told: dict[str, None] = {}
    for segment in annotation.segments:
        if why := found.labels.get((segment.lane, segment.label)):
            told[f"{segment.label} {why}"] = None
        for name, value in segment.attributes.items():
            if why := found.attributes.get((name, str(value))):
                told[f"{name} {value} {why}"] = None
    if why := found.attributes.get(("failure_mode", str(annotation.failure_mode))):
        told[f"failure mode {annotation.failure_mode} {why}"] = None
    if why := found.requirements.get(task or "*") or found.requirements.get("*"):
        told[why] = None
    return tuple(told)


def _changed(before: LabelDefinition, after: LabelDefinition) -> str:
    if before.starts != after.starts or before.ends != after.ends:
        return "has another boundary rule"
    if before.definition != after.definition:
        return "has another definition"
    added = [name for name in after.attributes if name not in before.attributes]
    return f"now needs {', '.join(added)}" if added else ""


def _choices(
    attribute: str, before: tuple[AttributeChoice, ...], after: tuple[AttributeChoice, ...]
) -> dict[tuple[str, str], str]:
    new = {choice.name: choice.definition for choice in after}
    found = {}
    for choice in before:
        if choice.name not in new:
            found[attribute, choice.name] = "does not exist any more"
        elif new[choice.name] != choice.definition:
            found[attribute, choice.name] = "has another definition"
    return found


def _requirements(before: Taxonomy, after: Taxonomy) -> dict[str, str]:
    old = {need.task: need for need in before.requirements}
    found = {}
    for need in after.requirements:
        was = old.get(need.task) or old.get("*")
        lanes = set(need.lanes) - set(was.lanes if was else ())
        if lanes:
            found[need.task] = f"{need.task} now needs {', '.join(sorted(lanes))}"
        elif was is not None and need.instructions > was.instructions:
            found[need.task] = f"{need.task} now needs {need.instructions} instructions"
    return found


PRIORITY = 5
"""Labels that are needed again come before those that nobody has waited for yet."""


@dataclass(frozen=True)
class Requeued:
    """What a change of a taxonomy did: `touched` episodes with the reason, `carried` the others.

    `moved` are tasks that nobody had begun, now under the new version; `under_way` are those that
    go on under the old one.
    """

    impact: Impact
    touched: tuple[tuple[str, str], ...]
    carried: tuple[str, ...]
    tasks: tuple[LabelTask, ...]
    moved: int
    under_way: int


def requeue_labels(
    connection: Connection,
    before: Taxonomy,
    after: Taxonomy,
    *,
    by: Actor,
    queue: str | None = None,
    double_share: float = 0.1,
    seed: int = 0,
) -> Requeued:
    """Carry all labels from one version of a taxonomy to the next, inside a transaction.

    Labels that the change touches become stale, and new tasks begin with them, in which only the
    touched segments have to be confirmed anew. The others count as made under `after`. Where
    nothing is touched at all, gold and qualifications stay good, too.
    """
    require(by, "judge")
    found = find_impact(before, after)
    keep_taxonomy(connection, after)
    held = labels_in_force(connection, labelled_under(connection, before.hash))
    touched: dict[str, str] = {}
    carried: list[str] = []
    for name, labels in held.items():
        if labels.stale is not None:
            continue
        task = find_episode(connection, name).task
        told = reasons(labels.annotation, found, task=task)
        if told:
            touched[name] = f"{after.reference}: {'; '.join(told)}"
            mark_stale(connection, labels, touched[name], by=by)
        else:
            accept_labels(
                connection, name, labels.annotation, after, task_id=labels.task, by=by,
                who=labels.who,
                why=f"carried over: {after.reference} does not touch {before.reference}",
            )  # fmt: skip
            carried.append(name)
    options = TaskOptions(
        queue or f"{after.name}-{after.version}", double_share=double_share, blind_share=0.0,
        seed=seed, priority=PRIORITY,
    )  # fmt: skip
    starts = {name: unsure_labels(held[name].annotation, found, after) for name in touched}
    made = create_tasks(connection, list(touched), after, options, by=by, starts=starts)
    moved, under_way = _move_tasks(connection, before, after, by, gold=found.is_empty)
    if found.is_empty:
        carry_qualifications(connection, before.hash, after.hash, by=by)
    return Requeued(found, tuple(touched.items()), tuple(carried), tuple(made), moved, under_way)


def unsure_labels(annotation: Annotation, found: Impact, after: Taxonomy) -> Annotation:
    """The old labels under their new names, with every touched segment to be confirmed anew."""
    new = {(lane.name, label.name): label for lane, label in after.labels()}

    def renewed(segment: Segment) -> Segment:
        heir = _heir((segment.lane, segment.label), new)
        name = heir.name if heir is not None else segment.label
        return segment.model_copy(update={"confirmed": False, "label": name})

    return annotation.model_copy(
        update={
            "segments": tuple(
                renewed(each) if _is_touched(each, found) else each for each in annotation.segments
            )
        }
    )


def _is_touched(segment: Segment, found: Impact) -> bool:
    said = segment.attributes.items()
    return (segment.lane, segment.label) in found.labels or any(
        (name, str(value)) in found.attributes for name, value in said
    )


def _move_tasks(
    connection: Connection, before: Taxonomy, after: Taxonomy, by: Actor, *, gold: bool
) -> tuple[int, int]:
    """Tasks of the old version that nobody has begun, and `gold`, come under the new one."""
    under = LABEL_TASK.c.taxonomy == before.hash
    if gold:
        is_gold = (LABEL_TASK.c.kind == "qualify") & LABEL_TASK.c.assigned_to.is_(None)
        connection.execute(update(LABEL_TASK).where(under, is_gold).values(taxonomy=after.hash))
    fresh = select(LABEL_TASK.c.id).where(
        under, LABEL_TASK.c.state == "open", LABEL_TASK.c.kind == "annotate",
        LABEL_TASK.c.version == 0,
    )  # fmt: skip
    ids = [str(each) for each in connection.execute(fresh).scalars()]
    for each in ids:
        changed = update(LABEL_TASK).where(LABEL_TASK.c.id == each)
        connection.execute(changed.values(taxonomy=after.hash))
    details = {"from": "open", "to": "open", "taxonomy": after.hash}
    why = f"{before.reference} became {after.reference}"
    record(connection, [Change(by.name, "label task", f"task:{each}", why, details)
                        for each in ids])  # fmt: skip
    rest = select(LABEL_TASK.c.id).where(
        under, LABEL_TASK.c.state.in_(("open", "working", "submitted", "returned"))
    )
    return len(ids), len(connection.execute(rest).all())

"""Which labels a new version of a taxonomy touches, so that only those are looked at again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corporeal.labelling.annotation import Annotation
from corporeal.labelling.taxonomy.document import AttributeChoice, LabelDefinition, Taxonomy


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
        reason = "is no label any more" if key not in new else _changed(label, new[key])
        if reason:
            labels[key] = reason
    # A label that was split off takes frames from those it stands beside.
    old = {(lane.name, label.name) for lane, label in before.labels()}
    for lane_name, name in new.keys() - old:
        for lane, label in before.labels():
            if lane.name == lane_name and (lane.tiles or new[lane_name, name].parent == label.name):
                labels.setdefault((lane_name, label.name), f"has the new neighbour {name}")
    attributes: dict[tuple[str, str], str] = {}
    for field, attribute in (("grasp_types", "grasp_type"), ("failure_modes", "failure_mode"),
                             ("discrepancies", "discrepancy")):  # fmt: skip
        attributes |= _choices(attribute, getattr(before, field), getattr(after, field))
    return Impact(labels, attributes, _requirements(before, after))


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

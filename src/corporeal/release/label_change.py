"""What changed in the labels of an episode from one release to another, in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from corporeal.labelling.annotation import Annotation, Segment
from corporeal.release.label_bundle import LabelBundle


def label_changes(
    episode: str, old: LabelBundle | None, new: LabelBundle | None
) -> tuple[str, ...]:
    """A few words for each lane and field that differs; nothing when the labels are the same."""
    was = old.episodes.get(episode) if old is not None else None
    now = new.episodes.get(episode) if new is not None else None
    if was is None and now is None:
        return ()
    if was is None or now is None:
        return ("labelled" if was is None else "no longer labelled",)
    return tuple(_differences(was.annotation, now.annotation))


def _differences(was: Annotation, now: Annotation) -> Iterator[str]:
    lanes = dict.fromkeys(each.lane for each in (*was.segments, *now.segments))
    for lane in lanes:
        before, after = (Counter(map(_key, each.in_lane(lane))) for each in (was, now))
        changed = max((before - after).total(), (after - before).total())
        if changed:
            yield f"{changed} segment{'s' * (changed > 1)} of {lane} changed"
    if sorted(each.text for each in was.instructions) != sorted(
        each.text for each in now.instructions
    ):
        yield "other instructions"
    for name in ("outcome", "failure_mode", "variant"):
        before_said, after_said = getattr(was, name), getattr(now, name)
        if before_said != after_said:
            words = name.replace("_", " ")
            yield f"{words} {before_said or 'nothing'} is now {after_said or 'nothing'}"
    if set(was.flags) != set(now.flags):
        yield "other flags"
    if was.corrections != now.corrections:
        yield "other corrections"


def _key(segment: Segment) -> tuple[str, int, int, str]:
    said = json.dumps(segment.attributes, sort_keys=True)
    return segment.label, segment.start_ns, segment.end_ns, said

"""Labels of the catalogue as the plain data that travels with a recording."""

from __future__ import annotations

from corporeal.episode.label_track import LabelSpan, LabelTrack, Lane
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.taxonomy import Taxonomy


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
        outcome=annotation.outcome,
        failure_mode=annotation.failure_mode,
        variant=annotation.variant,
        flags=annotation.flags,
    )  # fmt: skip

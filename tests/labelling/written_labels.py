"""An annotation as files of labels have it, and what all their formats keep of it."""

from __future__ import annotations

import numpy as np

from corporeal.labelling.annotation import Annotation, Instruction, ObjectPose, Segment

STAMPS = np.round(np.arange(90) * (1e9 / 30) + 12_345_678.4).astype(np.int64)


def annotation(edges: tuple[int, ...] = (0, 30, 61)) -> Annotation:
    """Phases on frames, a moment of contact, two wordings, a failure."""
    ends = (*edges[1:], len(STAMPS) - 1)
    names = ("rest", "reach", "grasp")
    segments = [
        Segment(id=f"p{n}", lane="phase", label=names[n % 3], start_ns=int(STAMPS[a]),
                end_ns=int(STAMPS[b]))
        for n, (a, b) in enumerate(zip(edges, ends, strict=True))
    ]  # fmt: skip
    moment = int(STAMPS[edges[-1]])
    held = {"hand": "left", "force_n": 2.5}
    segments.append(Segment(id="c0", lane="contact", label="touch", start_ns=moment,
                            end_ns=moment, attributes=held))  # fmt: skip
    return Annotation(
        reference="observations/head", segments=tuple(segments),
        instructions=(Instruction(id="i0", text="Take the box."),
                      Instruction(id="i1", text='=cmd|"; drop, <b>&amp;')),
        poses=(ObjectPose(id="o0", object="box", time_ns=moment, frame="table",
                          position=(0.1, -0.25, 0.03), orientation=(0.6, 0.0, 0.0, 0.8)),),
        outcome="failure", failure_mode="dropped", variant="left_hand", flags=("dark",),
    )  # fmt: skip


def spoken(given: Annotation) -> object:
    """What all formats keep."""
    return (
        sorted((each.lane, each.label, each.start_ns, each.end_ns, str(each.attributes))
               for each in given.segments),
        sorted(each.text for each in given.instructions),
        [(each.object, each.time_ns, each.frame, each.position, each.orientation)
         for each in given.poses],
        given.outcome, given.failure_mode, given.variant, given.flags,
    )  # fmt: skip

"""An annotation that lacks nothing under a ready taxonomy."""

from __future__ import annotations

import numpy as np

from corporeal.labelling.annotation import Annotation, Instruction, Segment
from corporeal.labelling.frames import end_ns
from corporeal.labelling.taxonomy import open_taxonomy

STAMPS = np.arange(100, dtype=np.int64) * 33_000_000
READY = open_taxonomy("manipulation")


def good_annotation() -> Annotation:
    """Every phase of picking and placing, with all that must be said."""
    edges = [0, 10, 40, 50, 80, 90]
    labels = ["rest", "approach", "grasp", "transport", "retract", "rest"]
    said = {"hand": "right", "object": "box", "grasp_type": "power"}
    times = [int(STAMPS[edge]) for edge in edges] + [end_ns(STAMPS)]
    wanted = {label.name: label.attributes for _, label in READY.labels()}
    return Annotation(
        reference="observations/head_left",
        segments=tuple(
            Segment(id=f"s{place}", lane="phase", label=label, start_ns=times[place],
                    end_ns=times[place + 1],
                    attributes={name: said[name] for name in wanted[label]})
            for place, label in enumerate(labels)
        ),
        instructions=(Instruction(id="i", text="Put the box on the mark."),),
        outcome="success",
    )  # fmt: skip

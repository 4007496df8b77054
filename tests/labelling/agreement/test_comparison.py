"""Two annotations side by side: gates, and every disagreement."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.labelling.agreement import summarise
from corporeal.labelling.agreement.comparison import by_rule, compare, compare_poses
from corporeal.labelling.annotation import Annotation, ObjectPose, Segment
from corporeal.labelling.taxonomy import Taxonomy

STAMPS = np.arange(300, dtype=np.int64) * 33_333_333
TAXONOMY = Taxonomy.parse(
    """
document: taxonomy
name: two_phases
version: 1.0.0
lanes:
  - name: phase
    kind: phase
    title: Phases
    tiles: true
    labels:
      - {name: reach, definition: the hand goes to the object}
      - {name: grasp, definition: the hand closes}
      - {name: lift, definition: the object leaves the table}
"""
)


def _annotation(*parts: tuple[str, int, int], **facts: object) -> Annotation:
    segments = tuple(
        Segment(id=f"s{place}", lane="phase", label=label, start_ns=int(STAMPS[start]),
                end_ns=int(STAMPS[end]))
        for place, (label, start, end) in enumerate(parts)
    )  # fmt: skip
    return Annotation.model_validate({"segments": segments, **facts})


def test_the_same_annotation_passes_every_gate() -> None:
    one = _annotation(("reach", 0, 90), ("grasp", 90, 100), ("lift", 100, 200))
    summary = summarise([compare(one, one, TAXONOMY, STAMPS)])
    assert summary.is_good
    assert summary.boundaries == 4
    assert summary.mean_difference_frames == 0


def test_shifted_boundaries_fail_their_gate_though_kappa_is_perfect() -> None:
    one = _annotation(("reach", 0, 90), ("grasp", 90, 110), ("lift", 110, 200))
    two = _annotation(("reach", 0, 98), ("grasp", 98, 118), ("lift", 118, 200))
    agreement = compare(one, two, TAXONOMY, STAMPS)
    summary = summarise([agreement])
    assert summary.kappa == {"phase": 1.0}
    assert summary.failed == ("boundaries",)
    assert summary.bias_frames == 4.0
    assert {each.rule for each in agreement.disagreements if each.frames == 8} == {
        "reach.ends", "grasp.starts", "grasp.ends", "lift.starts",
    }  # fmt: skip
    assert by_rule([agreement])["phase/grasp.starts"] == [8]


def test_a_missing_phase_and_another_outcome_are_disagreements() -> None:
    one = _annotation(("reach", 0, 90), ("grasp", 90, 100), ("lift", 100, 200), outcome="success")
    two = _annotation(("reach", 0, 95), ("lift", 95, 200), outcome="failure")
    found = {(each.kind, each.first, each.second)
             for each in compare(one, two, TAXONOMY, STAMPS).disagreements}  # fmt: skip
    assert ("missing", "grasp", "(nothing)") in found
    assert ("outcome", "success", "failure") in found


def test_nothing_to_compare_passes_no_gate() -> None:
    summary = summarise([])
    assert not summary.is_good
    assert summary.to_json()["kappa"] == {}
    assert summary.to_json()["mean_difference_frames"] is None


def test_poses_of_one_object_are_measured_against_each_other() -> None:
    one = ObjectPose(id="a", object="box", time_ns=0, position=(0.0, 0.0, 0.0),
                     orientation=(1.0, 0.0, 0.0, 0.0))  # fmt: skip
    two = one.model_copy(update={"id": "b", "position": (0.03, 0.04, 0.0)})
    other = one.model_copy(update={"id": "c", "object": "cup"})
    stamps = np.arange(10, dtype=np.int64) * 33_000_000
    apart = list(compare_poses((one,), (two, other), stamps, 2))
    assert apart[0].distance_m == pytest.approx(0.05)
    assert apart[0].angle_rad == 0.0
    assert np.isnan(apart[1].distance_m)

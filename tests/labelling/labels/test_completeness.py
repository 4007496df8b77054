"""What an annotation lacks is named, with its moment."""

from __future__ import annotations

from tests.labelling.good_annotation import READY, STAMPS, good_annotation

from corporeal.labelling.annotation import Annotation, ObjectPose, Segment
from corporeal.labelling.frames import Frames
from corporeal.labelling.labels.completeness import complaints
from corporeal.labelling.taxonomy import open_taxonomy


def _complaints(annotation: Annotation) -> tuple[str, ...]:
    return complaints(annotation, READY, task="pick_place", frames=Frames("", STAMPS))


def test_a_complete_annotation_has_no_complaints() -> None:
    assert _complaints(good_annotation()) == ()


def test_what_is_missing_is_named_with_its_moment() -> None:
    good = good_annotation()
    parts = good.segments
    cases = {
        "nothing is labelled from 0.330 s to 1.320 s": [*parts[:1], *parts[2:]],
        "proposed, but nobody has confirmed it": [
            *parts[:5], parts[5].model_copy(update={"confirmed": False})],
        "lies between two frames": [
            *parts[:5], parts[5].model_copy(update={"start_ns": parts[5].start_ns + 5})],
        "overlap at": [*parts[:5], parts[5].model_copy(update={"start_ns": int(STAMPS[85])})],
        "grasp type is missing": [
            *parts[:2], parts[2].model_copy(update={"attributes": {"hand": "right"}}), *parts[3:]],
        "got 'claw'; expected power or": [
            *parts[:2],
            parts[2].model_copy(update={"attributes": {**parts[2].attributes,
                                                       "grasp_type": "claw"}}), *parts[3:]],
        "has no such label": [*parts[:5], parts[5].model_copy(update={"label": "dance"})],
        "nothing is labelled, and pick_place needs it": [],
    }  # fmt: skip
    for sentence, segments in cases.items():
        told = _complaints(good.model_copy(update={"segments": tuple(segments)}))
        assert any(sentence in each for each in told), (sentence, told)


def test_a_hand_that_holds_may_strike_something_but_not_hold_twice() -> None:
    hold = Segment(
        id="h", lane="left_contact", label="holds", start_ns=int(STAMPS[10]),
        end_ns=int(STAMPS[80]), attributes={"object": "box", "grasp_type": "power"},
    )  # fmt: skip
    bump = hold.model_copy(update={"id": "b", "label": "bumps", "start_ns": int(STAMPS[30]),
                                   "end_ns": int(STAMPS[40]), "attributes": {}})  # fmt: skip
    twice = hold.model_copy(update={"id": "t", "start_ns": int(STAMPS[60])})
    taxonomy = open_taxonomy("manipulation")

    def told(*segments: Segment) -> str:
        said = Annotation(reference="", segments=segments)
        return " ".join(complaints(said, taxonomy, task="pick_place", frames=Frames("", STAMPS)))

    assert "overlap" not in told(hold, bump)
    assert "holds and holds overlap" in told(hold, bump, twice)


def test_a_failure_needs_its_mode_and_a_success_has_none() -> None:
    good = good_annotation()
    failed = good.model_copy(update={"outcome": "failure"})
    assert any("failure mode, got None" in each for each in _complaints(failed))
    odd = good.model_copy(update={"failure_mode": "slip"})
    assert any("for a success" in each for each in _complaints(odd))
    unsaid = good.model_copy(update={"outcome": None, "instructions": ()})
    told = " ".join(_complaints(unsaid))
    assert "success, borderline or failure is missing" in told
    assert "instructions, got 0" in told


def _said(**changes: object) -> tuple[str, ...]:
    annotation = Annotation.model_validate({**dict(good_annotation()), **changes})
    return complaints(annotation, READY, task="pick_place")


def test_a_borderline_outcome_says_what_was_off() -> None:
    assert "failure mode, got None" in _said(outcome="borderline")[0]
    assert _said(outcome="borderline", failure_mode="imprecise") == ()


def test_poses_are_of_a_known_frame_and_confirmed() -> None:
    pose = ObjectPose(id="o", object="box", time_ns=0, position=(0.1, 0.2, 0.3))
    assert _said(poses=(pose,)) == ()
    strange = pose.model_copy(update={"frame": "attic", "confirmed": False})
    sentences = " ".join(_said(poses=(strange,)))
    assert "nobody has confirmed it" in sentences
    assert "got 'attic'; expected world or pelvis" in sentences


def test_what_the_skin_feels_is_a_number_of_its_unit() -> None:
    holds = Segment(id="c", lane="right_contact", label="holds", start_ns=0, end_ns=33_000_000,
                    attributes={"object": "box", "grasp_type": "power", "pressure": -3,
                                "surface": "velvet"})  # fmt: skip
    sentences = " ".join(_said(segments=(*good_annotation().segments, holds)))
    assert "pressure, got -3; expected 0 kPa or more" in sentences
    assert "surface, got 'velvet'; expected smooth or" in sentences


def test_an_action_begins_and_ends_where_phases_do() -> None:
    phases = good_annotation().segments
    pick = Segment(id="a", lane="action", label="pick", start_ns=phases[1].start_ns,
                   end_ns=phases[2].end_ns)  # fmt: skip
    assert _said(segments=(*phases, pick)) == ()
    late = pick.model_copy(update={"end_ns": phases[2].end_ns - 33_000_000})
    assert "is none of Phases" in _said(segments=(*phases, late))[0]

"""Edits change an annotation whole or not at all, and every one can be undone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Drop,
    Edit,
    Instruction,
    Put,
    Segment,
    Set,
    Step,
    apply_edit,
    invert_edit,
)

_SEGMENTS = st.builds(
    lambda number, start, length: Segment(
        id=f"s{number}", lane="phase", label="reach", start_ns=start, end_ns=start + length
    ),
    st.integers(0, 4), st.integers(0, 100), st.integers(0, 50),
)  # fmt: skip
_TEXTS = st.builds(
    lambda number, text: Instruction(id=f"i{number}", text=text),
    st.integers(0, 3), st.text("abc", min_size=1, max_size=5),
)  # fmt: skip
_STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda each: Put(put=each), st.one_of(_SEGMENTS, _TEXTS)),
    st.builds(lambda number: Drop(drop=f"s{number}"), st.integers(0, 5)),
    st.builds(lambda value: Set(set={"outcome": value}), st.sampled_from(["success", "failure"])),
    st.builds(lambda value: Set(set={"flags": value}), st.sampled_from([[], ["odd"]])),
)
_EDITS = st.lists(
    st.builds(
        lambda number, steps: Edit(id=f"e{number}", action="type", steps=tuple(steps)),
        st.integers(0, 999), st.lists(_STEPS, min_size=1, max_size=4),
    ),
    max_size=8,
)  # fmt: skip


@given(_EDITS)
def test_undoing_everything_in_turn_leads_back_to_the_start(edits: list[Edit]) -> None:
    states = [Annotation()]
    back = []
    for edit in edits:
        back.append(invert_edit(states[-1], edit, edit_id="undo"))
        states.append(apply_edit(states[-1], edit))
    now = states[-1]
    for step, wanted in zip(reversed(back), reversed(states[:-1]), strict=True):
        now = apply_edit(now, step)
        assert now == wanted
    assert now == Annotation()


@given(_EDITS)
def test_an_annotation_survives_json(edits: list[Edit]) -> None:
    now = Annotation()
    for edit in edits:
        now = apply_edit(now, Edit.model_validate_json(edit.model_dump_json()))
    assert Annotation.model_validate_json(now.model_dump_json()) == now


def test_what_ends_before_it_starts_is_refused() -> None:
    bad = Segment(id="s", lane="phase", label="reach", start_ns=9, end_ns=3)
    with pytest.raises(AnnotationError, match="an end before its start"):
        apply_edit(Annotation(), Edit(id="e", action="drag", steps=(Put(put=bad),)))


def test_a_field_that_cannot_be_is_refused_with_its_name() -> None:
    with pytest.raises(AnnotationError, match="outcome"):
        apply_edit(
            Annotation(), Edit(id="e", action="type", steps=(Set(set={"outcome": "maybe"}),))
        )


def test_an_id_keeps_its_kind() -> None:
    first = Edit(id="e", action="type", steps=(Put(put=Instruction(id="x", text="Go.")),))
    segment = Segment(id="x", lane="phase", label="reach", start_ns=0, end_ns=1)
    second = Edit(id="f", action="drag", steps=(Put(put=segment),))
    with pytest.raises(AnnotationError, match="another kind"):
        apply_edit(apply_edit(Annotation(), first), second)

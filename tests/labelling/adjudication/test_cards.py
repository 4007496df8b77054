"""What one says of a while goes into what another says, and neighbours still fit."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from corporeal.labelling.adjudication.cards import splice
from corporeal.labelling.annotation import Annotation, Edit, Segment, apply_edit

LABELS = ("a", "b", "c")


def _tiled(edges: list[int], labels: list[str], prefix: str) -> Annotation:
    cuts = [0, *sorted({edge for edge in edges if 0 < edge < 100}), 100]
    return Annotation(
        segments=tuple(
            Segment(id=f"{prefix}{place}", lane="phase", label=labels[place % len(labels)],
                    start_ns=low, end_ns=high)
            for place, (low, high) in enumerate(pairwise(cuts))
        )
    )  # fmt: skip


def _spliced(content: Annotation, other: Annotation, low: int, high: int) -> Annotation:
    steps = splice(content, other, lane="phase", start_ns=low, end_ns=high)
    if not steps:
        return content
    return apply_edit(content, Edit(id="e", action="resolve", steps=steps))


def _at(annotation: Annotation, moment: int) -> str:
    (found,) = (each.label for each in annotation.segments
                if each.start_ns <= moment < each.end_ns)  # fmt: skip
    return found


edges = st.lists(st.integers(0, 100), max_size=6)
names = st.lists(st.sampled_from(LABELS), min_size=1, max_size=4)


@given(edges, names, edges, names, st.integers(0, 100), st.integers(0, 100))
def test_every_moment_has_the_label_of_the_side_it_belongs_to(
    mine: list[int], my_names: list[str], yours: list[int], your_names: list[str], one: int,
    two: int,
) -> None:  # fmt: skip
    low, high = sorted((one, two))
    content, other = _tiled(mine, my_names, "m"), _tiled(yours, your_names, "y")
    made = _spliced(content, other, low, high)
    for moment in range(100):
        side = other if low <= moment < high else content
        assert _at(made, moment) == _at(side, moment)
    assert len({each.id for each in made.segments}) == len(made.segments)


def test_a_moved_boundary_leaves_as_many_segments_as_before() -> None:
    content = _tiled([40], ["a", "b"], "s")
    made = _spliced(content, _tiled([50], ["a", "b"], "s"), 40, 50)
    assert [(each.id, each.start_ns, each.end_ns) for each in made.segments] == [
        ("s0", 0, 50), ("s1", 50, 100),
    ]  # fmt: skip


def test_moments_are_exchanged_too() -> None:
    blip = Segment(id="x", lane="phase", label="a", start_ns=10, end_ns=10)
    other = Segment(id="x", lane="phase", label="b", start_ns=12, end_ns=12)
    made = _spliced(Annotation(segments=(blip,)), Annotation(segments=(other,)), 5, 15)
    assert made.segments == (other,)
    assert _spliced(Annotation(segments=(blip,)), Annotation(), 5, 15).segments == ()
    assert _spliced(Annotation(segments=(blip,)), Annotation(), 11, 15).segments == (blip,)

"""Puts what one annotation says of a while into another, so that neighbours still fit."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corporeal.labelling.annotation import Annotation, Drop, Put, Segment, Step


@dataclass(frozen=True)
class _Piece:
    """A segment or a part of one; `cut` are the times at which it was cut off."""

    segment: Segment
    cut: frozenset[int]


def splice(
    content: Annotation, other: Annotation, *, lane: str, start_ns: int, end_ns: int
) -> tuple[Step, ...]:
    """The steps after which a lane of `content` says what `other` does from start to end.

    Outside of that it stays. Where a segment of one was cut and goes on in the other under the
    same label, it is one segment again, with what `content` says of it.
    """
    mine = content.in_lane(lane)
    pieces = [
        *(piece for each in mine for piece in _outside(each, start_ns, end_ns)),
        *(piece for each in other.in_lane(lane) for piece in _inside(each, start_ns, end_ns)),
    ]
    wanted = _joined(sorted(pieces, key=lambda each: (each.segment.start_ns, each.segment.end_ns)))
    return tuple(_steps(content, mine, [each.segment for each in wanted]))


def _outside(segment: Segment, start_ns: int, end_ns: int) -> Iterator[_Piece]:
    if segment.start_ns == segment.end_ns:
        if not start_ns <= segment.start_ns <= end_ns:
            yield _Piece(segment, frozenset())
        return
    yield from _part(segment, segment.start_ns, min(segment.end_ns, start_ns))
    yield from _part(segment, max(segment.start_ns, end_ns), segment.end_ns)


def _inside(segment: Segment, start_ns: int, end_ns: int) -> Iterator[_Piece]:
    if segment.start_ns == segment.end_ns:
        if start_ns <= segment.start_ns <= end_ns:
            yield _Piece(segment, frozenset())
        return
    yield from _part(segment, max(segment.start_ns, start_ns), min(segment.end_ns, end_ns))


def _part(segment: Segment, start_ns: int, end_ns: int) -> Iterator[_Piece]:
    if start_ns >= end_ns:
        return
    cut = {start_ns} - {segment.start_ns} | {end_ns} - {segment.end_ns}
    kept = segment.model_copy(update={"start_ns": start_ns, "end_ns": end_ns})
    yield _Piece(kept, frozenset(cut))


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    made: list[_Piece] = []
    for piece in pieces:
        if made and _goes_on(made[-1], piece):
            before = made.pop()
            longest = max((before, piece), key=lambda each: _length(each.segment)).segment
            whole = longest.model_copy(
                update={"start_ns": before.segment.start_ns, "end_ns": piece.segment.end_ns}
            )
            piece = _Piece(whole, before.cut | piece.cut)
        made.append(piece)
    return made


def _goes_on(before: _Piece, after: _Piece) -> bool:
    seam = before.segment.end_ns
    return (
        after.segment.start_ns == seam
        and before.segment.label == after.segment.label
        and seam in before.cut | after.cut
    )


def _length(segment: Segment) -> int:
    return segment.end_ns - segment.start_ns


def _steps(
    content: Annotation, mine: Sequence[Segment], wanted: Sequence[Segment]
) -> Iterator[Step]:
    """What to drop and put; every segment keeps its id where it is free."""
    held = {each.id: each for each in mine}
    taken = {each.id for name in ("segments", "instructions", "corrections")
             for each in getattr(content, name)} - set(held)  # fmt: skip
    kept: dict[str, Segment] = {}
    for each in wanted:
        name = each.id if each.id not in taken | set(kept) else uuid.uuid4().hex
        kept[name] = each.model_copy(update={"id": name})
    for name in held:
        if name not in kept:
            yield Drop(drop=name)
    for name, segment in kept.items():
        if held.get(name) != segment:
            yield Put(put=segment)

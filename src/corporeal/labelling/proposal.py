"""Annotations that a machine proposes, for people to correct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from corporeal.episode.recording import Recording
from corporeal.errors import UnknownNameError
from corporeal.labelling.annotation import Annotation, Instruction, Segment
from corporeal.labelling.event import PhysicalEvent, detect
from corporeal.labelling.reference import reference_stream
from corporeal.labelling.taxonomy import Taxonomy
from corporeal.registry import plugins

PACKAGE = "corporeal.labelling.proposers"
_Named = TypeVar("_Named", Segment, Instruction)


@dataclass(frozen=True)
class Example:
    """An episode that people have annotated, to learn from."""

    recording: Recording
    annotation: Annotation


@dataclass(frozen=True)
class Question:
    """What a proposer is given; `reference` is the stream on whose stamps boundaries must lie."""

    recording: Recording
    taxonomy: Taxonomy
    task: str | None
    reference: str
    events: tuple[PhysicalEvent, ...]
    examples: Sequence[Example] = ()


@dataclass(frozen=True)
class Proposer:
    """`propose` returns an annotation whose segments are proposals, or None for nothing to say."""

    propose: Callable[[Question], Annotation | None]


@cache
def proposers() -> dict[str, Proposer]:
    """Every proposer by name."""
    return plugins(PACKAGE, "PROPOSER", Proposer)


def propose(
    recording: Recording,
    taxonomy: Taxonomy,
    *,
    task: str | None,
    examples: Sequence[Example] = (),
    using: str | Sequence[str] = "events",
) -> Annotation | None:
    """What the named proposers say of an episode; None when they say nothing.

    Of several, an earlier one is asked first, and a later one fills in the lanes and facts on which
    the earlier ones are silent. Every segment is a proposal that nobody has confirmed.
    """
    names = (using,) if isinstance(using, str) else tuple(using)
    known = proposers()
    for name in names:
        if name not in known:
            raise UnknownNameError("proposer", name, known)
    reference = reference_stream(recording)
    if reference is None:
        return None
    question = Question(recording, taxonomy, task, reference, detect(recording), examples)
    said = [known[name].propose(question) for name in names]
    return _merged([each for each in said if each is not None])


def _merged(said: Sequence[Annotation]) -> Annotation | None:
    if not said:
        return None
    whole = said[0]
    for more in said[1:]:
        lanes = {segment.lane for segment in whole.segments}
        added = [segment for segment in more.segments if segment.lane not in lanes]
        texts = {each.text for each in whole.instructions}
        words = [each for each in more.instructions if each.text not in texts]
        judged = whole if whole.outcome is not None else more
        whole = whole.model_copy(
            update={
                "segments": _renamed((*whole.segments, *added), "p"),
                "instructions": _renamed((*whole.instructions, *words), "i"),
                "outcome": judged.outcome,
                "failure_mode": judged.failure_mode,
                "variant": whole.variant or more.variant,
                "flags": tuple(dict.fromkeys((*whole.flags, *more.flags))),
            }
        )
    return whole


def _renamed(things: tuple[_Named, ...], letter: str) -> tuple[_Named, ...]:
    """The same under identities of which no two are alike."""
    return tuple(
        each.model_copy(update={"id": f"{letter}{number}"}) for number, each in enumerate(things)
    )

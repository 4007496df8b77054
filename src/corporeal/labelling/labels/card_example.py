"""Where a workspace's own episodes show what a label means: stretches that people confirmed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from corporeal.catalog.episodes import EpisodeRow, find_episode
from corporeal.catalog.tables import LABEL_TASK
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Segment
from corporeal.labelling.labels.versions import Labels, labelled_under, labels_in_force
from corporeal.labelling.taxonomy import Taxonomy

MOST_EXAMPLES = 2
"""Episodes that a card shows pictures of."""
MOST_EPISODES = 200
"""Labelled episodes that examples are looked for in, the latest ids first."""
CLIP_FRAMES = 12
"""Pictures that a stretch is stepped through in, at most."""
CardTopic = tuple[str, str]
"""What a card is about: lane and label, or `=attribute` and its value."""
Opening = Callable[[EpisodeRow], AbstractContextManager[Episode]]
_Line = tuple[str, NDArray[np.int64]]


@dataclass(frozen=True)
class CardPicture:
    """A frame that a card shows, and what it is of the stretch."""

    caption: str
    frame: int


@dataclass(frozen=True)
class CardExample:
    """One stretch of an episode that a card shows; `clip` are frames through it, in order."""

    episode: str
    file: str
    stream: str
    start_ns: int
    end_ns: int
    pictures: tuple[CardPicture, ...]
    clip: tuple[int, ...]


@dataclass(frozen=True)
class CardExamples:
    """The examples of a taxonomy's cards, and of how many labelled episodes they were chosen."""

    episodes: int
    by_topic: Mapping[CardTopic, tuple[CardExample, ...]]


def card_examples(
    connection: Connection, opening: Opening, taxonomy: Taxonomy, *, without: Set[str] = frozenset()
) -> CardExamples:
    """Stretches that people confirmed under exactly this taxonomy, two for a card.

    Labels that do not hold any more, and proposals that nobody confirmed, are no examples; nor are
    the episodes `without`.
    """
    names = labelled_under(connection, taxonomy.hash, holding=True)
    kept = [name for name in names if name not in without][-MOST_EPISODES:]
    held = labels_in_force(connection, kept)
    lines: dict[str, _Line | None] = {}
    examples: dict[CardTopic, tuple[CardExample, ...]] = {}
    for about, candidates in _by_topic(held).items():
        own: list[CardExample] = []
        for labels, segment in candidates:
            if labels.episode in {each.episode for each in own}:
                continue
            row = find_episode(connection, labels.episode)
            if row.id not in lines:
                lines[row.id] = _camera(opening, row, labels.annotation.reference)
            line = lines[row.id]
            if line is not None:
                own.append(_example(row, *line, segment))
            if len(own) == MOST_EXAMPLES:
                break
        if own:
            examples[about] = tuple(own)
    return CardExamples(len(held), examples)


def episodes_at_work(connection: Connection) -> frozenset[str]:
    """Episodes that somebody still labels: pictures of their labels would tell what to say."""
    query = select(LABEL_TASK.c.episode).where(LABEL_TASK.c.state != "done").distinct()
    return frozenset(str(each) for each in connection.execute(query).scalars())


def _by_topic(held: Mapping[str, Labels]) -> dict[CardTopic, list[tuple[Labels, Segment]]]:
    """Confirmed stretches of every label and value, those nearest to their middle length first."""
    found: dict[CardTopic, list[tuple[Labels, Segment]]] = defaultdict(list)
    for labels in held.values():
        for segment in labels.annotation.segments:
            if segment.confirmed:
                found[segment.lane, segment.label].append((labels, segment))
                for attribute, value in segment.attributes.items():
                    if isinstance(value, str):
                        found[f"={attribute}", value].append((labels, segment))
    for about, own in found.items():
        lengths = np.array([segment.end_ns - segment.start_ns for _, segment in own])
        order = np.argsort(np.abs(lengths - np.median(lengths)), kind="stable")
        found[about] = [own[place] for place in order.tolist()]
    return found


def _camera(opening: Opening, row: EpisodeRow, reference: str) -> _Line | None:
    """The camera that boundaries lie on, else the first, and its stamps; None where there is none.

    Also where the episode cannot be read.
    """
    try:
        with opening(row) as episode:
            cameras = [path for path in episode if episode[path].spec.kind == "video"]
            cameras = [path for path in cameras if len(episode[path])]
            path = reference if reference in cameras else next(iter(cameras), None)
            return None if path is None else (path, np.asarray(episode[path].time_ns, np.int64))
    except (CorporealError, OSError):
        return None


def _example(
    row: EpisodeRow, stream: str, stamps: NDArray[np.int64], segment: Segment
) -> CardExample:
    """The frame before a segment, its first, its middle and its last one."""
    end = len(stamps) - 1
    first = min(int(np.searchsorted(stamps, segment.start_ns)), end)
    last = min(max(int(np.searchsorted(stamps, segment.end_ns)) - 1, first), end)
    named = {"before": first - 1} if first else {}
    named |= {"first": first, "middle": (first + last) // 2, "last": last}
    if last == first:
        named = {"the moment": first}
    steps = np.linspace(first, last, min(CLIP_FRAMES, last - first + 1))
    pictures = tuple(CardPicture(caption, frame) for caption, frame in named.items())
    return CardExample(
        row.id, row.file, stream, segment.start_ns, segment.end_ns, pictures,
        tuple(dict.fromkeys(np.rint(steps).astype(int).tolist())),
    )  # fmt: skip

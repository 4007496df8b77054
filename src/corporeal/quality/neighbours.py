"""What lies beside an episode that is looked at alone: read in brief, to be compared with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError
from corporeal.quality.assessment import LONGEST_S, Assessment, span_s
from corporeal.quality.batch import Synopsis
from corporeal.quality.check import Finding, checks, name_episodes
from corporeal.quality.evidence.stray_stamps import settle_clocks
from corporeal.quality.subject import Subject
from corporeal.quality.synopsis import synopsis
from corporeal.runner import run

MOST_NEIGHBOURS = 50
"""Episodes, those of the same task first and the nearest of them, that a file is compared with."""
MOST_OPENED = 400
"""Neighbours that are opened to see of which task they are."""
ENOUGH = 20
"""Where fewer are of the same task, the nearest of other tasks make up so many."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Episodes of the set that an episode lies in: `total` lie there, `synopses` were read.

    `names` say which is meant by its number.
    """

    total: int = 0
    synopses: tuple[Synopsis, ...] = ()
    names: tuple[tuple[int, str], ...] = ()
    limit: int = MOST_NEIGHBOURS

    def to_json(self) -> dict[str, Any]:
        """How many there are, how many were compared with at most, and which."""
        return {
            "total": self.total,
            "compared": len(self.synopses),
            "limit": self.limit,
            "episodes": [name for _, name in self.names],
        }

    def without_others(self, judged: Assessment) -> Assessment:
        """What was found in all of them, without what speaks of neighbours alone.

        Neighbours are named by their files.
        """
        strange = {each.index for each in self.synopses}
        return replace(judged, findings=tuple(self._told(judged.findings, strange)))

    def _told(self, findings: Collection[Finding], strange: set[int]) -> Iterator[Finding]:
        names = dict(self.names)
        for finding in findings:
            own = tuple(each for each in finding.episodes if each not in strange)
            if own or not finding.episodes:
                message = name_episodes(finding.message, names)
                # A reader names all whose records are wrong: where those are most, it is the set.
                episodes = own if compares_episodes(finding) else finding.episodes
                yield replace(finding, message=message, episodes=episodes)


def compares_episodes(finding: Finding) -> bool:
    """Whether it comes from a check of batches, not from the reader under another check's name."""
    known = checks().get(finding.check)
    return known is not None and known.scope == "batch"


def read_neighbours(
    opener: Callable[[], Dataset],
    dataset: Dataset,
    *,
    pictures: bool,
    on: str,
    jobs: int,
) -> Neighbours:
    """Read the neighbours of a dataset's episodes, those that are of a task of theirs first.

    A set whose episodes word each its own task is company all the same, as it is when it is
    inspected as a whole.
    """
    numbers = dataset.find_neighbours()
    if not numbers:
        return Neighbours()
    tasks = {each.facts.task for each in _opened(dataset, dataset.episodes)}
    chosen: dict[int, str] = {}
    others: dict[int, str] = {}
    for each in _opened(dataset, numbers[:MOST_OPENED]):
        (chosen if each.facts.task in tasks else others)[each.index] = each.source.name
        if len(chosen) == MOST_NEIGHBOURS:
            break
    missing = min(ENOUGH, MOST_NEIGHBOURS) - len(chosen)
    chosen |= dict(islice(others.items(), max(0, missing)))
    found: list[Synopsis] = []
    alone = on == "serial" or jobs == 1
    prepare = (lambda: dataset) if alone else opener
    work = partial(_read, pictures=pictures)
    with closing(run(work, list(chosen), on=on, jobs=jobs, prepare=prepare)) as results:
        for done in results:
            if done.value is not None:
                found.append(done.value)
    found.sort(key=lambda each: each.index)
    same = len(set(chosen.values())) < len(chosen)
    names = tuple(
        (each.index, f"{each.index} of {chosen[each.index]}" if same else chosen[each.index])
        for each in found
    )
    return Neighbours(len(numbers), tuple(found), names)


def _opened(dataset: Dataset, numbers: Collection[int]) -> Iterator[Recording]:
    """The episodes that can be opened; those that cannot are no company."""
    for number in numbers:
        try:
            yield dataset.open(number)
        except CorporealError:
            continue


def _read(dataset: Dataset, number: int, *, pictures: bool) -> Synopsis | None:
    """The episode in brief; none of one that is too long to be compared."""
    settled = settle_clocks(dataset.open(number)).recording
    if span_s(settled) > LONGEST_S:
        return None
    return synopsis(Subject(settled), pictures=pictures)

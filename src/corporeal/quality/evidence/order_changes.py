"""Which change of columns explains best what is odd in the synopses of episodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corporeal.embodiment.joints import limb_of
from corporeal.quality.batch import Synopsis
from corporeal.words import some_of

# A change that gains this share of the best one is named beside it.
RIVAL = 0.8
MOST_RIVALS = 2
Ranked = list[tuple[str, float]]
"""Changes with what they gain, the best first."""


def rank_changes(
    known: Sequence[Synopsis], share: float, *, prefix: str, besides: str = ""
) -> Ranked:
    """Changes with what they gain in at least this share of the episodes, the best first.

    Their measures begin with `prefix`; the measure `besides` is none of them.
    """
    names = set().union(*(each.measures for each in known)) - {besides}
    gains = {}
    for name in (name for name in names if name.startswith(prefix)):
        own = [each.measures.get(name, 0.0) for each in known]
        gains[name.removeprefix(prefix)] = float(np.quantile(own, 1 - share))
    return sorted(gains.items(), key=lambda each: (-each[1], each[0]))


def rivals_of(ranked: Ranked) -> str:
    """What explains it nearly as well as the first, in words; empty where nothing does."""
    gain = ranked[0][1]
    rivals = [other for other, also in ranked[1 : 1 + MOST_RIVALS] if also > RIVAL * gain]
    return f"; it may also be that {some_of(rivals)}" if rivals else ""


def columns_in(episode: Synopsis, change: str) -> tuple[str, ...]:
    """The columns of which the words for a change speak, or all of the limbs that are exchanged."""
    words = set(change.split())
    named = tuple(name for name in episode.names if name in words)
    return named or tuple(name for name in episode.names if limb_of(name) in words)

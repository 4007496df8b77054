"""What a card says of labels: how many episodes have some, what they are, how far people agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corporeal.release.card.escaping import code, plain, table
from corporeal.release.card.facts import CardFacts
from corporeal.release.card.wording import MOST_ROWS, more
from corporeal.words import listed


def labels_words(facts: CardFacts) -> str | None:
    """Coverage and taxonomy in a sentence or two; None for a release without labels."""
    labels = _labels(facts)
    if labels is None:
        return None
    count = _whole(labels.get("episodes"))
    share = count / max(1, facts.episodes)
    named = listed([code(str(each)) for each in _each(labels.get("taxonomies"))])
    said = f"{count:,} of {facts.episodes:,} episodes ({share:.0%}) are labelled under {named}."
    unseen = _whole(labels.get("unseen"))
    if unseen:
        said += f" In {unseen:,} of them, proposals stand that no person has confirmed."
    return said


def labels_table(facts: CardFacts) -> str | None:
    """How many segments of each label there are."""
    labels = _labels(facts)
    lanes = labels.get("lanes") if labels is not None else None
    if not isinstance(lanes, Mapping) or not lanes:
        return None
    rows = [
        [plain(str(lane)), code(str(label)), f"{_whole(number):,}"]
        for lane, counts in lanes.items()
        if isinstance(counts, Mapping)
        for label, number in counts.items()
    ]
    heads = ("lane", "label", "segments")
    return table(heads, rows[:MOST_ROWS], right=(2,)) + more(len(rows))


def agreement_words(facts: CardFacts) -> str | None:
    """How far two people agreed who labelled the same episodes without seeing each other."""
    labels = _labels(facts)
    if labels is None:
        return None
    found = labels.get("agreement")
    if not isinstance(found, Mapping) or not found:
        return "No episode was labelled by two people, so nobody knows how far they would agree."
    return "\n".join(_agreement(str(name), each) for name, each in found.items()
                     if isinstance(each, Mapping))  # fmt: skip


def _agreement(name: str, summary: Mapping[str, Any]) -> str:
    parts = [f"- {code(name)}: {_whole(summary.get('episodes')):,} episodes labelled twice"]
    kappa = summary.get("kappa")
    for lane, value in kappa.items() if isinstance(kappa, Mapping) else ():
        if isinstance(value, float):
            parts.append(f"kappa of {plain(str(lane))} {value:.2f}")
    frames = summary.get("mean_difference_frames")
    if isinstance(frames, float):
        parts.append(f"boundaries {frames:.1f} frames apart on average")
    hits = summary.get("hit_rate")
    if isinstance(hits, float):
        parts.append(f"{hits:.0%} of them within the tolerance")
    return ", ".join(parts)


def _labels(facts: CardFacts) -> Mapping[str, Any] | None:
    labels = facts.stated.get("labels")
    return labels if isinstance(labels, Mapping) else None


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _each(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list) else []

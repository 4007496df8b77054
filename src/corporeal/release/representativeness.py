"""Whether the splits of a release are alike, neither alarming nor soothing without cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from corporeal.release.distribution_tests import (
    DistributionComparison,
    compare_categories,
    compare_numbers,
    detectable_effect,
    holm,
)
from corporeal.words import listed

Judgement = Literal["alike", "different", "cannot tell", "by design", "nothing to compare"]
LEVEL = 0.05
SMALL = 0.1
"""An effect below this does not matter, however sure we are of it."""
MEDIUM = 0.3
"""An effect that a test must be able to show before its silence says anything."""
CATEGORIES = ("task", "operator", "station", "environment", "object")
NUMBERS = ("score", "duration_s", "recorded_ns")
TITLES = {"duration_s": "duration", "recorded_ns": "time of recording"}


@dataclass(frozen=True)
class Likeness:
    """One property over the splits; `p` is corrected for the number of tests."""

    property: str
    judgement: Judgement
    words: str
    test: str | None = None
    p: float | None = None
    effect: float | None = None
    detectable: float | None = None


@dataclass(frozen=True)
class Representativeness:
    """The report: every property, and what follows for the release."""

    judgement: Judgement
    splits: Mapping[str, int]
    properties: tuple[Likeness, ...]

    @property
    def words(self) -> str:
        """The report in one sentence."""
        different = [each.property for each in self.properties if each.judgement == "different"]
        unknown = [each.property for each in self.properties if each.judgement == "cannot tell"]
        if different:
            return f"The splits differ in {listed(map(title, different))}."
        if unknown:
            names = listed(map(title, unknown))
            return f"Too few episodes to tell whether the splits agree in {names}."
        if self.judgement == "nothing to compare":
            return "There is nothing to compare: one split, or nothing that varies."
        return "The splits are alike in everything that was compared."

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the words."""
        return {**asdict(self), "splits": dict(self.splits), "words": self.words}

    def figures(self) -> dict[str, Any]:
        """Plain values without the words, which may name people: for what can never be erased."""
        told = self.to_json()
        told["properties"] = [
            {name: value for name, value in each.items() if name != "words"}
            for each in told["properties"]
        ]
        return told


def compare_splits(
    splits: Sequence[str],
    categories: Mapping[str, Sequence[str | None]],
    numbers: Mapping[str, Sequence[float | None]],
    *,
    by_design: Sequence[str] = (),
    seed: int = 0,
) -> Representativeness:
    """Compare the splits (one name for each episode) by every property.

    `by_design` are properties that the splits were parted by: they differ and should.
    """
    found: dict[str, DistributionComparison | None] = {
        name: compare_categories(splits, values, seed=seed)
        for name, values in categories.items()
        if name not in by_design
    }
    found |= {name: compare_numbers(splits, values) for name, values in numbers.items()}
    made = {name: each for name, each in found.items() if each is not None}
    corrected = dict(zip(made, holm([each.p for each in made.values()]), strict=True))
    count = len(set(splits))
    judged = [
        _judged(name, each, corrected[name], count, len(made))
        if each is not None
        else _nothing(name, count)
        for name, each in found.items()
    ]
    judged += [
        Likeness(name, "by design", f"{title(name)}: the splits were parted by it.")
        for name in by_design
    ]
    return Representativeness(
        _overall(judged), dict(sorted(Counter(splits).items())), tuple(judged)
    )


def title(name: str) -> str:
    """What a property is called."""
    return TITLES.get(name, name)


def _judged(
    name: str, found: DistributionComparison, p: float, splits: int, tests: int
) -> Likeness:
    detectable = detectable_effect(found, splits, LEVEL / tests)
    figures = f"{found.test}, p = {p:.3g} after correction, effect {found.effect:.2f}"
    sure = p < LEVEL
    judgement: Judgement
    if sure and found.effect >= SMALL:
        judgement, said = "different", f"the splits differ: {found.where}"
    elif sure:
        judgement, said = "alike", "the splits differ measurably, but by too little to matter"
    elif detectable > MEDIUM:
        judgement = "cannot tell"
        least = "no effect" if detectable >= 1 else f"only an effect above {detectable:.2f}"
        where = f"with {found.smallest} in the smallest split"
        said = f"too few episodes to tell: {least} would show for sure {where}"
    else:
        judgement, said = "alike", "no difference shows"
    words = f"{title(name)}: {said} ({figures})."
    return Likeness(name, judgement, words, found.test, p, found.effect, detectable)


def _nothing(name: str, splits: int) -> Likeness:
    reason = "there is one split" if splits < 2 else "it is the same, or not stated, everywhere"
    return Likeness(name, "nothing to compare", f"{title(name)}: {reason}.")


def _overall(judged: Sequence[Likeness]) -> Judgement:
    seen = {each.judgement for each in judged}
    for judgement in ("different", "cannot tell", "alike"):
        if judgement in seen:
            return judgement
    return "nothing to compare"

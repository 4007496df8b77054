"""Whether the splits of a release are alike: statistical tests, and what they could have shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

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
POWER = 0.8
_PERMUTATIONS = 1999
_MOST_LEVELS = 100
_FEWEST_EXPECTED = 5.0


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


@dataclass(frozen=True)
class DistributionComparison:
    """What a test says: `effect` is Cramér's V or the KS distance D, both 0 to 1.

    `detectable` is the smallest effect that so many episodes would show four times out of five.
    """

    test: str
    p: float
    effect: float
    degrees: int
    episodes: int
    smallest: int
    """Episodes in the smallest split."""
    where: str | None = None
    """The value whose share differs most, in words."""


def compare_categories(
    splits: Sequence[str], values: Sequence[str | None], *, seed: int = 0
) -> DistributionComparison | None:
    """Chi-square over splits and values; exact or by permutation where counts are small.

    None when there is nothing to compare: one split, or one value everywhere.
    """
    names, levels = sorted(set(splits)), _levels(values)
    if len(names) < 2 or len(set(levels)) < 2:
        return None
    kinds = sorted(set(levels))
    row = {name: at for at, name in enumerate(names)}
    column = {name: at for at, name in enumerate(kinds)}
    table = np.zeros((len(names), len(kinds)), np.int64)
    np.add.at(table, ([row[each] for each in splits], [column[each] for each in levels]), 1)
    test, p = _category_test(table, seed)
    return DistributionComparison(
        test=test,
        p=p,
        effect=cramers_v(table),
        degrees=(len(names) - 1) * (len(kinds) - 1),
        episodes=int(table.sum()),
        smallest=int(table.sum(axis=1).min()),
        where=_largest_difference(table, names, kinds),
    )


def compare_numbers(
    splits: Sequence[str], values: Sequence[float | None]
) -> DistributionComparison | None:
    """Kolmogorov-Smirnov, each split against the others; of several the one that differs most."""
    known = [(name, float(value)) for name, value in zip(splits, values, strict=True)
             if value is not None and math.isfinite(value)]  # fmt: skip
    names = sorted({name for name, _ in known})
    numbers = np.asarray([value for _, value in known])
    if len(names) < 2 or np.ptp(numbers) == 0:
        return None
    owner = np.asarray([name for name, _ in known])
    results = []
    for name in names if len(names) > 2 else names[:1]:
        mine, others = numbers[owner == name], numbers[owner != name]
        found = stats.ks_2samp(mine, others, method="auto" if len(known) <= 10_000 else "asymp")
        words = f"{name} has a median of {np.median(mine):.4g}, the others {np.median(others):.4g}"
        results.append((float(found.pvalue), float(found.statistic), words))
    p, distance, words = min(results)
    return DistributionComparison(
        test="Kolmogorov-Smirnov",
        # The least of several chances is taken, so it counts as often as it was tried.
        p=min(1.0, p * len(results)),
        effect=distance,
        degrees=0,
        episodes=len(known),
        smallest=min(Counter(owner.tolist()).values()),
        where=words,
    )


def cramers_v(table: NDArray[np.int64]) -> float:
    """Cramér's V with the bias of small tables taken off, so that chance alone gives about 0."""
    total = int(table.sum())
    rows, columns = table.shape
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    phi2 = float(((table - expected) ** 2 / expected).sum()) / total
    if total < 2:
        return 0.0
    phi2 = max(0.0, phi2 - (rows - 1) * (columns - 1) / (total - 1))
    width = min(
        rows - (rows - 1) ** 2 / (total - 1),
        columns - (columns - 1) ** 2 / (total - 1),
    )
    return min(1.0, math.sqrt(phi2 / (width - 1))) if width > 1 else 0.0


def detectable_effect(comparison: DistributionComparison, splits: int, level: float) -> float:
    """The smallest effect that a test at this level finds with a power of 0.8; 1 at most."""
    if comparison.degrees == 0:
        mine, others = comparison.smallest, comparison.episodes - comparison.smallest
        spread = math.sqrt((mine + others) / (mine * others))
        reach = math.sqrt(-math.log(level / 2) / 2) + math.sqrt(-math.log(1 - POWER) / 2)
        return min(1.0, reach * spread)
    degrees = comparison.degrees
    width = min(splits - 1, degrees // (splits - 1))
    critical = stats.chi2.isf(level, degrees)

    def lacking(shift: float) -> float:
        return float(stats.ncx2.sf(critical, degrees, shift)) - POWER

    shift = optimize.brentq(lacking, 1e-6, 40 + 40 * math.sqrt(degrees) + degrees)
    return min(1.0, math.sqrt(shift / (comparison.episodes * width)))


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests, corrected for their number (Holm's step-down procedure)."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected = [0.0] * len(chances)
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[at]))
        corrected[at] = highest
    return corrected


def _levels(values: Sequence[str | None]) -> list[str]:
    """Values as text; the rarest beyond a hundred count as one."""
    said = ["(not stated)" if value is None else str(value) for value in values]
    counted = Counter(said)
    if len(counted) <= _MOST_LEVELS:
        return said
    kept = {name for name, _ in counted.most_common(_MOST_LEVELS - 1)}
    return [name if name in kept else "(others)" for name in said]


def _category_test(table: NDArray[np.int64], seed: int) -> tuple[str, float]:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if expected.min() >= _FEWEST_EXPECTED:
        return "chi-square", float(stats.chi2_contingency(table, correction=False).pvalue)
    if table.shape == (2, 2):
        return "Fisher's exact test", float(stats.fisher_exact(table).pvalue)
    seen = float(((table - expected) ** 2 / expected).sum())
    made = stats.random_table(table.sum(axis=1), table.sum(axis=0))
    chance = made.rvs(_PERMUTATIONS, random_state=np.random.default_rng(seed))
    drawn = ((chance - expected) ** 2 / expected).sum(axis=(1, 2))
    extreme = int((drawn >= seen * (1 - 1e-9)).sum())
    return "chi-square by permutation", (extreme + 1) / (_PERMUTATIONS + 1)


def _largest_difference(table: NDArray[np.int64], names: list[str], kinds: list[str]) -> str:
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    at = int(np.argmax(np.ptp(shares, axis=0)))
    told = ", ".join(f"{share:.1%} of {name}" for name, share in zip(names, shares[:, at],
                                                                     strict=True))  # fmt: skip
    return f"{kinds[at]} is {told}"

"""Agreement on what something is, beyond what chance gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def cohen_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float:
    """Cohen's kappa of two people's labels of the same things; nan for nothing to compare.

    Where both only ever use one and the same label, there is no chance to correct for: 1.
    """
    given = list(pairs)
    if not given:
        return float("nan")
    total = len(given)
    observed = sum(one == two for one, two in given) / total
    first = Counter(one for one, _ in given)
    second = Counter(two for _, two in given)
    expected = sum(first[label] * second[label] for label in first) / total**2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)


def krippendorff_alpha(units: Iterable[Sequence[Hashable | None]]) -> float:
    """Krippendorff's alpha for names: each unit has the values that any number of people gave.

    None is a value that is missing. nan when no unit has two values.
    """
    totals: dict[tuple[Hashable, Hashable], float] = {}
    for unit in units:
        values = [value for value in unit if value is not None]
        if len(values) < 2:
            continue
        for place, one in enumerate(values):
            for other, two in enumerate(values):
                if place != other:
                    totals[one, two] = totals.get((one, two), 0.0) + 1 / (len(values) - 1)
    if not totals:
        return float("nan")
    margin: dict[Hashable, float] = {}
    for (one, _), weight in totals.items():
        margin[one] = margin.get(one, 0.0) + weight
    count = sum(margin.values())
    differing = sum(weight for (one, two), weight in totals.items() if one != two)
    chance = (count**2 - sum(weight**2 for weight in margin.values())) / (count - 1)
    return 1.0 if chance == 0 else 1.0 - differing / chance

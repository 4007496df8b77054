"""Over the batch the object starts spread as far as the protocol varies it, and no farther."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of, under_protocol
from corporeal.quality.evidence.start_conditions import OBJECT


def find(
    batch: Batch, *, min_episodes: int = 10, min_share: float = 0.3, max_share: float = 2.0
) -> Findings:
    """Yield variants whose object starts are hardly varied, or wildly.

    Starts of one variant (the same levels of all factors, `min_episodes` of them) are held against
    the protocol's radius and yaw: the farthest from their middle must reach `min_share` of it, and
    stay within `max_share`.

    Why: a policy that saw one start only fails from every other.
    Fix: move the object between episodes; follow the card that the recorder prints.
    """
    asked = protocol_of(batch).randomisation
    judged = 0
    for variant, episodes in _variants(batch).items():
        if len(episodes) < min_episodes:
            continue
        judged += 1
        starts = np.array([[each.measures[name] for name in OBJECT] for each in episodes])
        away = np.linalg.norm(starts[:, :2] - np.median(starts[:, :2], axis=0), axis=1)
        turns = starts[:, 2] - np.angle(np.exp(1j * starts[:, 2]).mean())
        turned = np.abs((turns + np.pi) % (2 * np.pi) - np.pi)
        for values, radius, unit, what in (
            (away, asked.object_position_m, "m", "moved"),
            (turned, asked.object_yaw_rad, "rad", "turned"),
        ):
            farthest = float(values.max())
            if radius and not min_share * radius <= farthest <= max_share * radius:
                yield Finding(
                    f"the object is {what} by at most {farthest:.3f} {unit} over {len(episodes)} "
                    f"episodes{variant}; the protocol varies it by {radius:g} {unit}",
                    value=farthest,
                    limit=radius,
                    episodes=tuple(
                        each.index
                        for each, value in zip(episodes, values, strict=True)
                        if value > max_share * radius
                    ),
                )
    if not judged:
        raise NotAssessed(f"no variant has {min_episodes} episodes with a tracked object")


def _variants(batch: Batch) -> dict[str, list[Synopsis]]:
    factors = protocol_of(batch).factors
    variants: dict[str, list[Synopsis]] = {}
    for episode in under_protocol(batch):
        if set(OBJECT) <= episode.measures.keys():
            levels = [factor.level_of(episode.metadata) for factor in factors]
            words = ", ".join(level for level in levels if level)
            variants.setdefault(f" ({words})" if words else "", []).append(episode)
    return variants


CHECK = Check(find, topic="protocol", severity="quarantine", unit="m", scope="batch")

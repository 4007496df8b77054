"""How far the actions are from those of the most similar demonstrations of the task."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from corporeal.quality.scoring.motion import POINTS, Profile
from corporeal.quality.scoring.score import Measure, Score
from corporeal.signal.track import Array
from corporeal.signal.warping import distances

LEAST, NEAREST, PEERS = 6, 5, 60
BAND = 0.25


def measure(profiles: Sequence[Profile], count: int) -> list[Measure | str]:
    """The distance of every episode to the five most similar.

    Formula: dynamic time warping of the joint targets (of the joints, where there are no targets)
    at 100 points from the first motion to the last, each column in units of its spread over the
    task; the warped distance per step and column to the five nearest demonstrations, on average.
    Unit: 1, spreads of the task. Lower is better. Only the nearest count, because a task may be
    done in several good ways, such as with either hand. Each episode is held against at most 60
    others. Needs six episodes.
    """
    usual, _ = Counter(profile.names for profile in profiles).most_common(1)[0]
    alike = [number for number, profile in enumerate(profiles) if profile.names == usual]
    found: list[Measure | str] = ["its columns are not those of the task"] * count
    if len(alike) < LEAST:
        return [f"{len(alike)} episodes of the task; {LEAST} are needed"] * count
    wanted = [number for number in alike if number < count]
    near = _nearest(_scaled([profiles[number] for number in alike]), len(wanted))
    for number, value in zip(wanted, near, strict=True):
        found[number] = Measure(
            float(value), "1", f"The {NEAREST} nearest demonstrations are {value:.2f} spreads away."
        )
    return found


def _scaled(profiles: Sequence[Profile]) -> list[Array]:
    """The paths in units of each column's spread; columns that hardly move are left out."""
    paths = np.stack([profile.path for profile in profiles]).astype(np.float64)
    spread = paths.std(axis=(0, 1))
    moving = spread > 0.05 * float(spread.max(initial=0.0))
    if not moving.any():
        return [path[:, :1] * 0.0 for path in paths]
    return list(paths[:, :, moving] / spread[moving] / np.sqrt(moving.sum()))


def _nearest(paths: list[Array], wanted: int) -> Array:
    """Of the first `wanted` paths, which stand before the others."""
    count = len(paths)
    if not wanted:
        return np.zeros(0)
    peers = min(count - 1, PEERS)
    # Evenly around the circle of episodes: the same ones whatever else is asked.
    offsets = np.unique(np.linspace(1, count - 1, peers).astype(int))
    pairs = [(paths[i], paths[(i + step) % count]) for i in range(wanted) for step in offsets]
    apart = distances(pairs, band=BAND).reshape(wanted, len(offsets)) / POINTS
    return np.asarray(np.sort(apart, axis=1)[:, :NEAREST].mean(axis=1))


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=0.05,
    bad=1.5,
    logarithmic=True,
    reference="Sakoe and Chiba 1978, dynamic time warping",
    scope="batch",
)

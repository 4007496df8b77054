"""Every episode resembles the others of its task."""

from collections.abc import Sequence

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.schema import roles
from corporeal.signal.track import Array
from corporeal.words import counted

# Columns that must stand out together: one alone may be a habit.
_TOGETHER = 3
# A gripper or the duration says as much as that many columns.
_HEAVY = 3
# Without left and right in the names, one left-handed episode would stand out of few.
_ENOUGH_UNNAMED = 20


def find(
    batch: Batch, *, max_factor: float = 2.0, min_episodes: int = 8, max_flagged: float = 0.2
) -> Findings:
    """Yield episodes that use their joints unlike every other episode of the task.

    An episode stands out when several columns move more than `max_factor` times as far as in the
    episode that moves them most, or less than that below the one that moves them least. Left and
    right may be exchanged. A task with fewer than `min_episodes` is not judged, nor one of which
    more than `max_flagged` would stand out: that is variety, not an outlier.

    Why: a demonstration of another task under this label pulls the policy away from both.
    Fix: look at it; correct its task, or reject it.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Synopsis]] = {}
    for episode in batch.episodes:
        usable = episode.path is not None and episode.frames and np.isfinite(episode.path).all()
        if episode.task and usable:
            groups.setdefault((episode.task, episode.names), []).append(episode)
    large = {
        key: group for key, group in groups.items() if len(group) >= _least(key[1], min_episodes)
    }
    if not large:
        most = max(map(len, groups.values()), default=0)
        raise NotAssessed(
            f"the largest task has {counted(most, 'episode')}; expected {min_episodes}, "
            f"or {_ENOUGH_UNNAMED} where no column is named left or right"
        )
    for (task, names), group in large.items():
        yield from _judge(task, names, group, np.log(max_factor), max_flagged)


def _least(names: tuple[str, ...], min_episodes: int) -> int:
    return min_episodes if _mirrored(names) else max(min_episodes, _ENOUGH_UNNAMED)


def _judge(
    task: str,
    names: tuple[str, ...],
    group: Sequence[Synopsis],
    limit: float,
    max_flagged: float,
) -> Findings:
    features, labels = _features(names, group)
    excess = np.stack([_excess(features, place) for place in range(len(group))])
    score = np.sort(excess, axis=1)[:, -_TOGETHER]
    outside = np.flatnonzero(score > limit)
    if len(outside) > max_flagged * len(group):
        return
    middle = np.median(features, axis=0)
    for place in outside.tolist():
        order = np.argsort(excess[place])[::-1]
        worst = dict.fromkeys(labels[column] for column in order[:_TOGETHER])
        more = features[place, order[0]] > middle[order[0]]
        yield Finding(
            f"episode {group[place].index} is unlike the other {len(group) - 1} of {task!r}: "
            f"{', '.join(worst)} {'more' if more else 'less'} than in any of them, "
            f"by a factor of {np.exp(score[place]):.1f} or over",
            episodes=(group[place].index,),
            value=float(np.exp(score[place])),
            limit=float(np.exp(limit)),
        )


def _excess(features: Array, place: int) -> Array:
    """How far each feature lies beyond the widest of the others, about their median."""
    others = np.delete(features, place, axis=0)
    middle = np.median(others, axis=0)
    band = np.abs(others - middle).max(axis=0)
    return np.asarray(np.abs(features[place] - middle) - band)


def _features(names: tuple[str, ...], group: Sequence[Synopsis]) -> tuple[Array, list[str]]:
    """Logarithms of how far every column goes; of grippers and duration as well, repeated."""
    reach = np.stack([np.ptp(each.path, axis=0) for each in group if each.path is not None])
    for left, right in _mirrored(names):
        pair = reach[:, [left, right]]
        reach[:, left], reach[:, right] = pair.max(axis=1), pair.min(axis=1)
    # Below a tenth of what the most moved columns do, motion is noise.
    floor = 0.1 * float(np.sort(np.median(reach, axis=0))[-5:].mean()) + 1e-9
    labels = [f"{name} moves" for name in names]
    columns = [np.log(reach + floor)]
    grippers = np.stack([_grippers(each) for each in group])
    for number in range(grippers.shape[1]):
        columns += [np.log(grippers[:, number : number + 1] + 0.01)] * _HEAVY
        labels += ["a gripper moves"] * _HEAVY
    columns += [np.log(np.array([[each.duration_s + 1.0] for each in group]))] * _HEAVY
    labels += ["it lasts"] * _HEAVY
    return np.concatenate(columns, axis=1), labels


def _grippers(episode: Synopsis) -> Array:
    """How far the two hands' grippers go, the lesser first; zeros where there are none."""
    travel = [
        float(moments.quantiles["q99"][0] - moments.quantiles["q01"][0])
        for label, moments in episode.moments.items()
        if label.endswith(roles.GRIPPER) and moments.quantiles
    ]
    both = sorted(np.nan_to_num(travel).tolist())[-2:]
    return np.array([0.0] * (2 - len(both)) + both)


def _mirrored(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Places of the columns that are each other's left and right."""
    place = {name.lower(): number for number, name in enumerate(names)}
    pairs = []
    for name, number in place.items():
        other = place.get(name.replace("left", "right")) if "left" in name else None
        if other is not None:
            pairs.append((number, other))
    return pairs


CHECK = Check(find, topic="sets", severity="quarantine", scope="batch", formerly=("like_its_task",))

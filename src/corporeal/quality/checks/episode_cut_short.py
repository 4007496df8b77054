"""Every episode goes on until its motion is over, as the others of its task do."""

from collections.abc import Sequence

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.motion import END_SPEED
from corporeal.words import counted


def find(
    batch: Batch,
    *,
    max_share: float = 0.75,
    min_speed: float = 0.5,
    min_factor: float = 2.0,
    max_rest: float = 0.35,
    min_away: float = 0.5,
    min_episodes: int = 6,
) -> Findings:
    """Yield each episode that ends early, and not as the others of its task end.

    It is shorter than `max_share` of the others, of which one in ten may be shorter still; and it
    ends in motion, faster than `min_speed` of its own usual speed and `min_factor` times faster
    than nine in ten of the others, which end at rest (below `max_rest`), or with a joint or a hand
    `min_factor` times further from where it ends in them than in any of theirs, and by `min_away`
    of how far it goes. Tasks of fewer than `min_episodes` are judged together, by their motion
    alone. Where the others do not end at rest nothing is said, nor of a failure that is stated.

    Why: a take that the disk or the operator cut off teaches a policy to stop on its way.
    Fix: look at how it ends; keep it as a failure, or record it again.
    """
    for group in _groups(batch, min_episodes, max_rest):
        is_one_task = len({episode.task for episode in group}) == 1
        for episode in group:
            others = [each for each in group if each is not episode]
            limit_s = max_share * float(np.quantile([each.duration_s for each in others], 0.1))
            if episode.duration_s >= limit_s:
                continue
            speed = _speed_limit(others, min_speed, min_factor, max_rest)
            is_away = is_one_task and _is_away(episode, others, min_factor, min_away)
            how = _end_in_words(episode, speed, is_away)
            if how:
                yield Finding(
                    f"episode {episode.index} ends after {episode.duration_s:.1f} s and {how}; "
                    f"nine in ten of them last {limit_s / max_share:.1f} s or more",
                    episodes=(episode.index,),
                    value=episode.duration_s,
                    limit=limit_s,
                )


def _groups(batch: Batch, min_episodes: int, max_rest: float) -> list[list[Synopsis]]:
    """Episodes of one task, or of tasks that are too small together, whose middle one rests."""
    tasks: dict[tuple[str | None, tuple[str, ...]], list[Synopsis]] = {}
    for episode in batch.episodes:
        if _is_whole(episode):
            tasks.setdefault((episode.task, episode.names), []).append(episode)
    large = [group for group in tasks.values() if len(group) >= min_episodes]
    together: dict[tuple[str, ...], list[Synopsis]] = {}
    for (_, names), group in tasks.items():
        if len(group) < min_episodes:
            together.setdefault(names, []).extend(group)
    large += [group for group in together.values() if len(group) >= min_episodes]
    if not large:
        most = max(map(len, together.values()), default=0)
        raise NotAssessed(
            f"the ends of {counted(most, 'episode')} are known; {min_episodes} are needed"
        )
    resting = [
        group
        for group in large
        if float(np.median([each.measures[END_SPEED] for each in group])) <= max_rest
    ]
    if not resting:
        raise NotAssessed("the episodes do not end at rest")
    return resting


def _is_whole(episode: Synopsis) -> bool:
    """Whether all that is compared is known, and nobody says that it failed."""
    path = episode.path
    known = path is not None and path.shape[1] and np.isfinite(path).all()
    return bool(known) and END_SPEED in episode.measures and (
        episode.facts.outcome.success is not False
    )  # fmt: skip


def _end_in_words(episode: Synopsis, speed_limit: float, is_away: bool) -> str:
    """In what an episode does not end as the others; empty where it does."""
    speed = episode.measures[END_SPEED]
    if speed > speed_limit:
        return f"still moves at {100 * speed:.0f} % of its usual speed, where the others rest"
    return "stands where none of the others ends" if is_away else ""


def _speed_limit(
    others: Sequence[Synopsis], min_speed: float, min_factor: float, max_rest: float
) -> float:
    """How fast an end is no rest; infinite where one in ten of the others does not rest."""
    usual = float(np.quantile([each.measures[END_SPEED] for each in others], 0.9))
    return max(min_speed, min_factor * usual) if usual <= max_rest else float("inf")


def _is_away(
    episode: Synopsis, others: Sequence[Synopsis], min_factor: float, min_away: float
) -> bool:
    """Whether a joint or a hand ends far from where it ends in all others."""
    paths = np.stack([each.path for each in others if each.path is not None])
    ends = paths[:, -1]
    middle = np.median(ends, axis=0)
    spread = np.abs(ends - middle).max(axis=0)
    reach = np.median(np.ptp(paths, axis=1), axis=0)
    assert episode.path is not None
    away = np.abs(episode.path[-1] - middle)
    # A column that hardly moves beside the others shows nothing but noise.
    used = reach > 0.1 * reach.max(initial=0.0)
    return bool((used & (away > np.maximum(min_factor * spread, min_away * reach))).any())


CHECK = Check(find, topic="sets", severity="quarantine", unit="s", scope="batch")

"""Columns hold what they hold in the other episodes of the set."""

from collections.abc import Iterator

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.column_ranges import clear_changes
from corporeal.quality.evidence.postures import (
    BEYOND,
    Oddity,
    Postures,
    are_joints,
    best_change,
    collect_postures,
    columns_in_degrees,
    distance_to_peers,
    peers_of,
)
from corporeal.words import listed, some_of

# Only episodes farther from their peers than this times the usual are searched for a change.
ODD = 1.03


def find(
    batch: Batch,
    *,
    min_episodes: int = 4,
    min_gain: float = 1.25,
    min_gain_unnamed: float = 2.5,
    few_episodes: int = 10,
    few_factor: float = 1.12,
) -> Findings:
    """Yield episodes whose postures are like those of the others only with columns changed.

    Two columns, or the sides of a limb, exchanged; a sign turned round; degrees. The change must
    bring the postures `min_gain` times nearer to those of the other episodes of the task; in clean
    sets it reaches 1.13, beside a spoilt episode 1.23. Columns that no name says are joints, and
    episodes of several tasks, need `min_gain_unnamed`; up to `few_episodes` need `few_factor` times
    as much. One or two columns are also looked at alone, by their rest pose and range: among many
    columns the whole posture hardly shows them. Columns that usually hold the same values give no
    evidence. Works where state and action are wrong together, which no comparison inside one
    episode can tell.

    Why: a dataset merged from two exporters trains a policy on two meanings of one column.
    Fix: put the columns of these episodes in the order that the others have.
    """
    looked = 0
    for seen in collect_postures(batch.episodes, least=min_episodes):
        looked += 1
        # Columns that no name says are joints may be anything: poses of a hand vary more. And other
        # tasks have other postures.
        alike = len({each.task for each in seen.episodes}) == 1
        gain = min_gain if alike and are_joints(seen.names) else min_gain_unnamed
        # Arms that no body could hold so are no measure: what is left may be few.
        left = int(seen.natural.sum()) or len(seen.episodes)
        if min(left, len(seen.episodes)) <= few_episodes:
            gain *= few_factor
        for oddity in _oddities(seen, min_gain=gain):
            yield _finding(seen, oddity, gain)
    if not looked:
        raise NotAssessed(f"fewer than {min_episodes} episodes with the same joints")


def _streams(episode: Synopsis, oddity: Oddity) -> list[str]:
    """The state, and every stream of the same columns that has the same values in them."""
    path = episode.path
    assert path is not None
    column = oddity.columns[0]
    low, high = float(path[:, column].min()), float(path[:, column].max())
    margin = 0.1 + 0.2 * (high - low)
    found = []
    for label, moments in episode.moments.items():
        if len(moments.total) != path.shape[1] or "velocity" in label or "torque" in label:
            continue
        near = abs(moments.lowest[column] - low) < margin and (
            abs(moments.highest[column] - high) < margin
        )
        if near:
            found.append(label)
    return found


def _finding(seen: Postures, oddity: Oddity, min_gain: float) -> Finding:
    """Of an episode, once for all its streams in which the columns are alike."""
    names = tuple(seen.names[column] for column in oddity.columns)
    episode = seen.episodes[oddity.episode]
    index, streams = episode.index, _streams(episode, oddity)
    one = len(names) == 1
    if oddity.kind == "exchanged":
        pairs = [f"{names[n]} with {names[n + 1]}" for n in range(0, len(names), 2)]
        what = f"{some_of(pairs, most=8)} are exchanged"
    elif oddity.kind == "flipped":
        what = f"{some_of(names)} {'has its sign' if one else 'have their signs'} turned round"
    else:
        what = f"{some_of(names)} {'is' if one else 'are'} in degrees"
    return Finding(
        f"{what} in {listed(streams) or 'the state'} of episode {index}, by the other episodes: "
        f"distance {oddity.before:.2f} as it stands, {oddity.after:.2f} so",
        stream=streams[0] if streams else None,
        siblings=tuple(streams[1:]),
        columns=names,
        value=oddity.before / max(oddity.after, 1e-9),
        limit=min_gain,
        episodes=(index,),
    )


def _oddities(seen: Postures, *, min_gain: float) -> Iterator[Oddity]:
    """Episodes that fit `min_gain` times better with columns exchanged, turned round or scaled."""
    changes = clear_changes(seen)
    apart = [distance_to_peers(seen, number) for number in range(len(seen.values))]
    natural = seen.natural
    usual = float(np.median(np.array(apart)[natural if natural.any() else slice(None)]))
    for number, own in enumerate(seen.values):
        tall = columns_in_degrees(own, peers_of(seen, number))
        # Values that no joint reaches are degrees; smaller ones may be those of another column.
        certain = len(tall) > 0 and float(np.abs(own[:, tall]).max()) > BEYOND
        # An episode that is among the nearest needs no change.
        search = not certain and apart[number] > ODD * usual
        best = best_change(seen, number) if search else None
        if certain:
            sizes = np.abs(seen.values[:, :, tall]).max(axis=(1, 2))
            others = float(np.median(np.delete(sizes, number)))
            yield Oddity(number, "degrees", tuple(tall.tolist()), float(sizes[number]), others)
        elif best is not None and best.before > max(min_gain * best.after, best.after + 0.1):
            yield best
        elif number in changes:
            change = changes[number]
            roots = float(np.sqrt(change.before)), float(np.sqrt(change.after))
            if roots[0] > min_gain * roots[1]:
                yield Oddity(number, change.kind, change.columns, *roots)


CHECK = Check(
    find,
    topic="sets",
    severity="fail",
    scope="batch",
    explains=("joint_beyond_limit", "hand_too_fast", "self_collision"),
    # What the body tells of the order of an episode's joints, whichever columns it takes it for.
    spoils=("joint_order_wrong", "leg_order_wrong"),
    formerly=("joint_order_is_usual",),
)

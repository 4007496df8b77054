"""Columns hold what they hold in the other episodes of the set."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.order_across_episodes import Oddity, Postures, oddities, postures
from corporeal.quality.synopsis import Batch, Synopsis
from corporeal.words import some_of


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
    sets it reaches 1.13, beside a spoilt episode 1.23. Columns without names need
    `min_gain_unnamed`; up to `few_episodes` need `few_factor` times as much. One or two columns are
    also looked at alone, by their rest pose and range: among many columns the whole posture hardly
    shows them. Columns that usually hold the same values give no evidence. Works where state and
    action are wrong together, which no comparison inside one episode can tell.

    Why: a dataset merged from two exporters trains a policy on two meanings of one column.
    Fix: put the columns of these episodes in the order that the others have.
    """
    looked = 0
    for seen in postures(batch.episodes, least=min_episodes):
        looked += 1
        # Columns without names may be anything: poses of a hand vary more than joints.
        named = not all(name.isdigit() for name in seen.names)
        gain = min_gain if named else min_gain_unnamed
        if len(seen.episodes) <= few_episodes:
            gain *= few_factor
        for oddity in oddities(seen, min_gain=gain):
            for label in _streams(seen.episodes[oddity.episode], oddity):
                yield _finding(seen, oddity, label, gain)
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
    return found or [""]


def _finding(seen: Postures, oddity: Oddity, label: str, min_gain: float) -> Finding:
    names = [seen.names[column] for column in oddity.columns]
    index = seen.episodes[oddity.episode].index
    one = len(names) == 1
    if oddity.kind == "exchanged":
        pairs = [f"{names[n]} with {names[n + 1]}" for n in range(0, len(names), 2)]
        what = f"{some_of(pairs, most=8)} are exchanged"
    elif oddity.kind == "flipped":
        what = f"{some_of(names)} {'has its sign' if one else 'have their signs'} turned round"
    else:
        what = f"{some_of(names)} {'is' if one else 'are'} in degrees"
    return Finding(
        f"{what} in {label or 'the state'} of episode {index}, going by the other episodes: "
        f"distance {oddity.before:.2f} as it stands, {oddity.after:.2f} so",
        stream=label or None,
        value=oddity.before / max(oddity.after, 1e-9),
        limit=min_gain,
        episodes=(index,),
    )


CHECK = Check(
    find, topic="sets", severity="fail", scope="batch", formerly=("joint_order_is_usual",)
)

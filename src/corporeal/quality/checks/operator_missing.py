"""Every episode of a set names its operator where the others do."""

from corporeal.episode.facts import SYNTHETIC
from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Finding, Findings


def find(batch: Batch, *, min_named: int = 4, min_share: float = 0.8) -> Findings:
    """Yield episodes without an operator, in a set that names one nearly everywhere.

    Only the set itself says that operators are recorded: `min_named` episodes and a share
    `min_share` of all must name theirs. A set that names nobody was not asked to.

    Why: whose habit a motion is cannot be asked later, and the episode counts for no operator.
    Fix: look the session up and add the name when the episode is taken in.
    """
    made = [each for each in batch.episodes if each.facts.mode != SYNTHETIC]
    unnamed = [each for each in made if not each.facts.operator]
    named = len(made) - len(unnamed)
    if named < min_named:
        raise NotAssessed(f"{named} episodes name their operator; expected {min_named}")
    if named < min_share * len(made):
        return
    for episode in unnamed:
        yield Finding(
            f"episode {episode.index} names no operator; {named} of {len(made)} "
            "episodes of the set do",
            episodes=(episode.index,),
            value=float(len(unnamed)),
            limit=0.0,
        )


CHECK = Check(find, topic="records", severity="quarantine", scope="batch")

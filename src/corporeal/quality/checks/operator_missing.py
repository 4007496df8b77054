"""Every episode of a set names its operator where the others do."""

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Check, Finding, Findings
from corporeal.words import counted


def find(batch: Batch, *, min_named: int = 4, min_share: float = 0.8) -> Findings:
    """Yield episodes without an operator, in a set that names one nearly everywhere.

    Only the set itself says that operators are recorded: of the episodes of one mode, `min_named`
    and a share `min_share` must name theirs. A set that names nobody was not asked to.

    Why: whose habit a motion is cannot be asked later, and the episode counts for no operator.
    Fix: look the session up and add the name when the episode is taken in.
    """
    by_mode: dict[str | None, list[Synopsis]] = {}
    for episode in batch.episodes:
        by_mode.setdefault(episode.facts.mode, []).append(episode)
    named = {
        mode: sum(bool(each.facts.operator) for each in made) for mode, made in by_mode.items()
    }
    if max(named.values(), default=0) < min_named:
        most = counted(
            max(named.values(), default=0), "episode of one mode", "episodes of one mode"
        )
        raise NotAssessed(f"operators are named in {most}; {min_named} are needed")
    for mode, made in by_mode.items():
        if named[mode] < max(min_named, min_share * len(made)):
            continue
        for episode in made:
            if not episode.facts.operator:
                yield Finding(
                    f"episode {episode.index} names no operator; {named[mode]} of {len(made)} "
                    "episodes of the set do",
                    episodes=(episode.index,),
                    value=float(len(made) - named[mode]),
                    limit=0.0,
                )


CHECK = Check(find, topic="records", severity="quarantine", scope="batch")

"""What Croissant's RAI vocabulary asks about a dataset, as far as the catalogue knows it."""

from __future__ import annotations

from typing import Any

from corporeal.episode.facts import SYNTHETIC
from corporeal.release.card.facts import CardFacts
from corporeal.release.card.parts import UNKNOWN, Share
from corporeal.release.card.remarks import biases, limitations
from corporeal.release.card.wording import day, length
from corporeal.words import counted, listed

_FILMED = ("video", "depth")


def responsibility(facts: CardFacts) -> dict[str, Any]:
    """The fields with an answer; a question without one is left out, never made up."""
    asked: dict[str, Any] = {
        "dataCollection": _collection(facts),
        "dataCollectionType": _collection_types(facts),
        "dataCollectionTimeFrame": _time_frame(facts),
        "dataCollectionMissingData": _missing(facts),
        "dataPreprocessingProtocol": [
            f"Checked by the policy {share.name} ({share.episodes:,} episodes)."
            for share in _known(facts.policies)
        ],
        "dataBiases": list(biases(facts)),
        "dataLimitations": list(limitations(facts)),
        "personalSensitiveInformation": _personal(facts),
        "dataUseCases": _stated(facts, "use_cases"),
        "dataSocialImpact": facts.said("social_impact"),
        "dataReleaseMaintenancePlan": facts.said("maintenance"),
        "annotationsPerItem": facts.said("annotations_per_item"),
    }
    return {f"rai:{name}": value for name, value in asked.items() if value}


def _known(shares: tuple[Share, ...]) -> list[Share]:
    return [share for share in shares if share.name != UNKNOWN]


def _stated(facts: CardFacts, name: str) -> list[str]:
    """A list of texts that was stated with the release."""
    value = facts.stated.get(name)
    texts = [value] if isinstance(value, str) else value
    return [each for each in texts if isinstance(each, str)] if isinstance(texts, list) else []


def _collection(facts: CardFacts) -> str:
    told = [f"{counted(facts.episodes, 'episode')} ({length(facts.hours)})"]
    if modes := _known(facts.modes):
        told.append(f"by {listed([share.name for share in modes])}")
    if robots := _known(facts.robots):
        told.append(f"with {listed([share.name for share in robots])}")
    if people := _known(facts.operators):
        told.append(f"made by {counted(len(people), 'operator')}")
    if stations := _known(facts.stations):
        told.append(f"at {counted(len(stations), 'station')}")
    if facts.sessions:
        told.append(f"in {counted(facts.sessions, 'session')}")
    return " ".join(told) + "."


def _collection_types(facts: CardFacts) -> list[str]:
    """Simulated or synthetic data is collected by software, anything else from the world."""
    modes = [share.name for share in _known(facts.modes)]
    simulated = any(document.kind == "schema" and document.name.startswith("simulated")
                    for document in facts.documents)  # fmt: skip
    kinds = {
        "Software Collection" if simulated or mode == SYNTHETIC else "Physical data collection"
        for mode in modes
    }
    return sorted(kinds)


def _time_frame(facts: CardFacts) -> list[str]:
    if facts.first_ns is None or facts.last_ns is None:
        return []
    return [day(facts.first_ns), day(facts.last_ns)]


def _missing(facts: CardFacts) -> str:
    told = [f"{hole.field} in {hole.episodes:,}" for hole in facts.holes]
    return f"Not stated: {listed(told)} of {facts.episodes:,} episodes." if told else ""


def _personal(facts: CardFacts) -> list[str]:
    told = []
    if people := _known(facts.operators):
        who = "one person" if len(people) == 1 else f"{len(people):,} people"
        told.append(f"Movements of {who} who operated the robot; called by numbers here.")
    cameras = sorted({each.path for each in facts.streams if each.kind in _FILMED})
    if cameras:
        told.append(
            f"Pictures of {counted(len(cameras), 'camera')} ({listed(cameras)}); "
            "whether people can be seen in them is not stated."
        )
    return told

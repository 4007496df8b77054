"""A recorder follows the cards of a campaign: levels, place and instruction fill themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.capture.small_rig import in_order, mark, samples

from corporeal.capture.driver import Mark, Sample
from corporeal.capture.health import Health
from corporeal.capture.operator_mark import MarkError, read_mark
from corporeal.capture.recorder import Recorder
from corporeal.capture.rig import TeamDocuments
from corporeal.capture.trigger import TerminalKeys
from corporeal.episode import Episode
from corporeal.protocol import open_protocol
from corporeal.protocol.card import EpisodeCard
from corporeal.protocol.coverage import Factor

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
Make = Callable[..., Recorder]
RULES = open_protocol("reach").model_copy(
    update={
        "cameras": (),
        "factors": (
            Factor(name="hand", levels=("left", "right"), field="variation.hand"),
            Factor(name="lighting", levels=("day", "lamp")),
        ),
    }
)


def card(number: int) -> EpisodeCard:
    levels = {"hand": "left", "lighting": ("day", "lamp")[number % 2]}
    asked = {"object_xyz": [0.3, 0.1, 0.8], "object_yaw_rad": 0.2}
    return EpisodeCard(f"k{number}", "autumn", number + 1, 9, levels, f"Reach {number}.",
                       asked=asked)  # fmt: skip


class Desk:
    """Two cards, and no third one."""

    def __init__(self) -> None:
        self.cards = [card(0), card(1)]
        self.refused: list[tuple[str, str | None]] = []

    @property
    def card(self) -> EpisodeCard | None:
        return self.cards[0] if self.cards else None

    @property
    def problem(self) -> str:
        return "" if self.cards else "All is done."

    def take(self) -> EpisodeCard | None:
        return self.cards.pop(0) if self.cards else None

    def refuse(self, why: str, by: str | None) -> str | None:
        self.refused.append((why, by))
        return None


def _two(**stated: object) -> Iterator[Sample | Mark]:
    return iter(in_order(
        *samples(8.0), mark("start", 1.5, **stated), mark("end", 3.0), mark("start", 5.0),
        mark("end", 6.0),
    ))  # fmt: skip


def _facts(paths: list[Path]) -> list[dict[str, object]]:
    facts = []
    for path in paths:
        with Episode.open(path) as episode:
            facts.append(dict(episode.metadata))
    return facts


def test_every_episode_says_what_its_card_asked_for(recorder: Make) -> None:
    seen: list[Health] = []
    made = recorder(_two, team=TeamDocuments(protocol=RULES), cards=Desk(),
                    on_health=seen.append)  # fmt: skip
    first, second = _facts(made.run())
    assert first["variation"] == {"hand": "left"}
    assert (first["lighting"], second["lighting"]) == ("day", "lamp")
    assert first["instruction"] == "Reach 0."
    assert first["asked"] == {"object_xyz": [0.3, 0.1, 0.8], "object_yaw_rad": 0.2}
    assert second["card"] == {
        "id": "k1", "campaign": "autumn", "levels": {"hand": "left", "lighting": "lamp"}
    }  # fmt: skip
    floor = made.health().floor
    assert floor.card is None
    assert floor.no_card == "All is done."


def test_what_a_source_knows_of_its_world_stands_above_the_card(recorder: Make) -> None:
    variation = {"hand": "right", "seed": 3}
    made = recorder(lambda: _two(variation=variation), team=TeamDocuments(protocol=RULES),
                    cards=Desk())  # fmt: skip
    first, _ = _facts(made.run())
    assert first["variation"] == {"hand": "right", "seed": 3}
    assert first["lighting"] == "day"


def test_a_card_is_refused_by_a_mark_with_a_reason(recorder: Make) -> None:
    desk = Desk()
    made = recorder(_two, team=TeamDocuments(protocol=RULES), cards=desk)
    text = '{"mark": "refuse", "reason": "the lamp is broken", "by": "ann"}'
    assert made.enter(read_mark(text, None)) is None
    assert desk.refused == [("the lamp is broken", "ann")]
    assert made.enter(TerminalKeys().read("r no glass here")) is None
    assert desk.refused[-1] == ("no glass here", None)
    with pytest.raises(MarkError, match="reason"):
        read_mark('{"mark": "refuse"}', None)
    with pytest.raises(MarkError, match="r, got no reason"):
        TerminalKeys().read("r")
    made.run()


def test_without_a_campaign_there_is_nothing_to_refuse(recorder: Make) -> None:
    made = recorder(_two, team=TeamDocuments(protocol=RULES))
    answer = made.enter(read_mark('{"mark": "refuse", "reason": "no"}', None))
    assert answer is not None
    assert "expected a recorder with a campaign" in answer
    made.run()

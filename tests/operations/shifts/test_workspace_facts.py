"""A roster is filled by what a workspace knows: certificates, and what campaigns still lack."""

from __future__ import annotations

from datetime import UTC, date, datetime

from tests.operations.test_campaign import LEAD, kitchen, record

from corporeal.catalog.database import Database
from corporeal.catalog.people import (
    add_operator,
    give_certificate,
    open_certification,
    require_certificates,
)
from corporeal.operations.campaign import create_campaign, next_card
from corporeal.operations.shifts import Roster, fill_roster

ROSTER = Roster.parse(
    """
document: roster
name: week
version: 1.0.0
first_day: 2026-11-23
days: 5
stations: [{name: s1, tasks: [pick_place, reach]}]
people:
  - {name: ann, certified: {reach: }}
  - {name: ben, certified: {pick_place: , reach: }}
  - {name: cleo, certified: {}}
wanted: [{task: pick_place, hours: 3, per_hour: 12}, {task: reach, hours: 2}]
""",
    suffix=".yaml",
)


def test_certificates_and_campaigns_of_a_workspace_decide(database: Database) -> None:
    document = open_certification("standard")
    with database.write() as connection:
        create_campaign(connection, LEAD, "autumn", kitchen(), episodes=12)
        fold = kitchen().task.model_copy(update={"name": "fold"})
        other = kitchen().model_copy(update={"name": "fold", "task": fold})
        create_campaign(connection, LEAD, "other", other, episodes=6)
    verdicts = ("accepted", "failed", "accepted", "failed")
    for number, verdict in enumerate(verdicts):
        card = next_card(database, "autumn", operator=f"p{number}")
        record(database, card, number, f"p{number}", verdict)
    with database.write() as connection:
        for name, begins in (("ann", datetime(2026, 5, 29, 8, tzinfo=UTC)),
                             ("cleo", datetime(2026, 11, 25, 8, tzinfo=UTC))):  # fmt: skip
            add_operator(connection, name, by=LEAD)
            give_certificate(connection, name, "pick_place", document, by=LEAD, evidence={},
                             why="a test", valid_from=begins)  # fmt: skip
        require_certificates(connection, "pick_place", document, by=LEAD)
    with database.read() as connection:
        filled, words = fill_roster(connection, ROSTER)
    certified = {person.name: person.certified for person in filled.people}
    # Ann's ends on the 25th; Ben has none, whatever the roster says; Cleo's begins too late.
    assert certified == {
        "ann": {"reach": None, "pick_place": date(2026, 11, 24)}, "ben": {"reach": None}, "cleo": {}
    }  # fmt: skip
    wanted = {each.task: each for each in filled.wanted}
    # Ten are missing, and every second one is accepted.
    assert (wanted["pick_place"].episodes, wanted["pick_place"].per_hour) == (20, 12)
    assert wanted["reach"].hours == 2
    assert words == (
        "certificates of pick_place are those of the workspace",
        "campaigns want fold, which no station of the roster has: left out",
        "campaigns want 20 episodes of pick_place",
    )

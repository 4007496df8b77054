"""Tasks are made twice or without a proposal by chance, and never for what has labels."""

from __future__ import annotations

from tests.labelling.work import (
    ANN,
    LEAD,
    asked,
    episodes,
    finish,
    said,
)

from corporeal.catalog.database import Database
from corporeal.labelling.review import accept
from corporeal.labelling.tasks import (
    find_task,
)
from corporeal.labelling.tasks.label_task import change_state


def test_the_same_seed_asks_the_same_twice_and_at_least_the_share(database: Database) -> None:
    drawn: list[set[str]] = []
    for seed in (0, 0, 1):
        with database.write() as connection:
            names = episodes(connection, 25)
            made = asked(connection, names, queue=f"q{len(drawn)}", double_share=0.1, seed=seed)
            drawn.append({each.episode for each in made if each.pair})
            for each in made:
                change_state(connection, each, "dropped", by=LEAD, why="again")
    assert len(drawn[0]) == 3
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_share_begins_without_its_proposal_which_is_kept_unseen(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 10)
        starts = {name: said(confirmed=False) for name in names}
        made = asked(connection, names, blind_share=0.2, starts=starts)
        blind = [each for each in made if each.is_blind]
        assert len(blind) == 2
        assert all(not each.annotation.segments for each in blind)
        assert all("proposal" not in each.settings for each in blind)
        assert blind[0].annotation.reference == "observations/head"
        assert find_task(connection, blind[0].id).hidden["proposal"]["segments"]
        shown = next(each for each in made if not each.is_blind)
        assert len(find_task(connection, shown.id).annotation.segments) == 3


def test_what_has_labels_or_is_asked_already_is_left_out(database: Database) -> None:
    with database.write() as connection:
        names = episodes(connection, 3)
        made = asked(connection, names[:2])
        finish(connection, made[0].id, said(), ANN)
        accept(connection, made[0].id, by=LEAD)
        assert [each.episode for each in asked(connection, names)] == [names[2]]
        again = asked(connection, names, again=True)
        assert [each.episode for each in again] == [names[0]]

"""Whoever labels one half of a pair learns from no route what was said in the other half."""

from __future__ import annotations

import pytest
from tests.studio.label_work import label_all
from tests.studio.labelled import ANN, BOB, make_pair
from tests.studio.people import open_client, token_of
from tests.studio.test_guest_walk import walk_routes

from corporeal.catalog.permission import Actor
from corporeal.catalog.query import every_episode
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.tasks import find_task

SAID = "reach the target"
"""What the first of them writes as an instruction."""


@pytest.mark.slow  # Every route that is looked at, as two people.
def test_no_route_tells_an_annotator_what_the_other_of_a_pair_said(workspace: Workspace) -> None:
    token_of(workspace, "root", "admin")
    tokens = {name: token_of(workspace, name, "annotator") for name in (ANN.name, BOB.name)}
    lead = token_of(workspace, "lou", "lead")
    mine, theirs = make_pair(workspace)
    with workspace.database.write() as connection:
        label_all(connection, find_task(connection, mine), Actor(ANN.name, "annotator"))
        episode = find_task(connection, mine).episode
        others = [row.id for row in every_episode(connection) if row.id != episode]
    with open_client(workspace) as client:
        told = {}
        for name, token in (("lead", lead), ("bob", tokens[BOB.name])):
            headers = {"Authorization": f"Bearer {token}"}
            told[name] = [
                route
                for task in (mine, theirs)
                for route, _, content in walk_routes(
                    client,
                    [episode, *others],
                    headers,
                    only="get",
                    named={"task_id": task, "queue": "test"},
                )
                if SAID.encode() in content or f'"{ANN.name}"'.encode() in content
            ]
    assert told["lead"], "a lead sees it, so that the walk would have found it"
    assert not told["bob"]

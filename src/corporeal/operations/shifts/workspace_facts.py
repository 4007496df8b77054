"""What a workspace knows of a roster: who is certified until when, what campaigns still lack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.people import Certificate, certified_tasks, list_certificates
from corporeal.operations.campaign import campaigns, read_progress
from corporeal.operations.shifts.roster import Roster, TaskHours
from corporeal.words import counted, listed


def fill_roster(
    connection: Connection, roster: Roster, *, now: datetime | None = None
) -> tuple[Roster, tuple[str, ...]]:
    """The roster by what a workspace knows, and what was taken from it in sentences.

    For tasks that ask for certificates the certificates decide, and nothing that the roster says;
    what an open campaign still wants takes the place of what the roster wants of its task, with as
    many more episodes as its yield so far makes necessary.
    """
    rules, words = certified_tasks(connection), list[str]()
    given = [each for each in list_certificates(connection) if each.task in rules]
    people = []
    for person in roster.people:
        own = [each for each in given if each.operator == person.name]
        certified = {task: last for task, last in person.certified.items() if task not in rules}
        certified |= _lasting(own, roster)
        people.append(person.model_copy(update={"certified": certified}))
    if rules:
        words.append(f"certificates of {listed(sorted(rules))} are those of the workspace")
    wanted = {each.task: each for each in roster.wanted}
    tasks = {task for station in roster.stations for task in station.tasks}
    left = _left(connection, now or datetime.now(UTC))
    for task, episodes in sorted(left.items()):
        if task not in tasks:
            words.append(f"campaigns want {task}, which no station of the roster has: left out")
            continue
        before = wanted.get(task)
        per_hour = {} if before is None else {"per_hour": before.per_hour}
        wanted[task] = TaskHours(task=task, episodes=episodes, **per_hour)
        words.append(f"campaigns want {counted(episodes, 'episode')} of {task}")
    values: dict[str, Any] = {**roster.model_dump(), "people": people,
                              "wanted": tuple(wanted.values())}  # fmt: skip
    return Roster.model_validate(values), tuple(words)


def _lasting(own: Sequence[Certificate], roster: Roster) -> dict[str, date]:
    """The last whole day of each certificate that covers a day of the roster."""
    first, last = roster.dates[0], roster.dates[-1]
    lasting: dict[str, date] = {}
    for each in own:
        begins, ends = (datetime.fromisoformat(stamp).astimezone().date()
                        for stamp in (each.valid_from, each.ends))  # fmt: skip
        until = ends - timedelta(days=1)
        # One that begins in the middle of the days covers none before it: it waits for the next.
        if begins <= first <= until:
            lasting[each.task] = min(last, max(until, lasting.get(each.task, until)))
    return lasting


def _left(connection: Connection, now: datetime) -> dict[str, int]:
    """By task, how many episodes are to be recorded until all open campaigns are done."""
    left: dict[str, int] = {}
    for campaign in campaigns(connection):
        if campaign.closed_at is None:
            told = read_progress(connection, campaign, now=now)
            waiting = max(0, campaign.episodes - told.accepted - told.unchecked)
            judged = told.accepted + told.rejected
            share = told.accepted / judged if told.accepted else 1.0
            task = campaign.protocol.task.name
            left[task] = left.get(task, 0) + math.ceil(waiting / share)
    return left

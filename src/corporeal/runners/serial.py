"""One item after the other, in this process."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from corporeal.runner import Result, Runner, Work, WorkItem


def run(work: Work, items: Iterable[Any], _jobs: int = 1) -> Generator[Result[Any], None, None]:
    """Do every item here; there is one job, however many were asked for."""
    state = work.prepared()
    for place, item in enumerate(items):
        yield work.attempt(state, WorkItem(place, item))


RUNNER = Runner(run, label="this process")

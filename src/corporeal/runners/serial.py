"""One item after the other, in this process."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from corporeal.runner import Done, Runner, Task, Work


def run(work: Work, items: Iterable[Any], _jobs: int = 1) -> Generator[Done[Any], None, None]:
    """Do every item here; there is one job, however many were asked for."""
    state = work.prepared()
    for place, item in enumerate(items):
        yield work.attempt(state, Task(place, item))


RUNNER = Runner(run, label="this process")

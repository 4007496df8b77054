"""What takes long the first time it is asked for, done beforehand while nobody waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import select

from corporeal.catalog.tables import EPISODE
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.operations.coverage.noted import USUAL, notes_of
from corporeal.studio.chart import charts

# Whoever starts Studio looks at an episode or the list first: they do not share with this.
_LATER_S = 4.0
_LOT = 2000


@contextmanager
def warming(workspace: Workspace) -> Iterator[None]:
    """Prepare the dashboards a few seconds later, in a thread that ends with the block at most."""
    is_over = threading.Event()

    def work() -> None:
        if is_over.wait(_LATER_S):
            return
        try:
            warm(workspace, is_over)
        except (CorporealError, OSError) as error:
            # Whoever asks for a chart is told; until then nobody needs to know.
            logging.getLogger(__name__).info("dashboards were not prepared: %s", error)

    thread = threading.Thread(target=work, name="studio-warming", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def warm(workspace: Workspace, is_over: threading.Event) -> None:
    """Load the charts, and read once what they want of the metadata of all episodes."""
    charts()
    with workspace.database.read() as connection:
        ids = list(connection.execute(select(EPISODE.c.id)).scalars())
        notes = notes_of(connection)
        # In lots: charts that are asked for meanwhile, and the end, wait for one of them only.
        for first in range(0, len(ids), _LOT):
            if is_over.is_set():
                return
            notes.of(connection, ids[first : first + _LOT], USUAL)

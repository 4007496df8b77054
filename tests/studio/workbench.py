"""What browser tests of the annotation workbench share: open it, look at it, ask the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.frames import Frames
from corporeal.labelling.tasks import find_task as task_of

if TYPE_CHECKING:
    from playwright.sync_api import Page


def open_bench(page: Page, address: str, task: str) -> None:
    """Open a task with proposals: the first that nobody has confirmed is selected."""
    page.goto(f"{address}/annotate/{task}")
    page.wait_for_selector(".bench [data-segment][data-selected=true]")


def selected(page: Page, segment: str) -> None:
    """Wait until a segment is selected: keys are about it from now on."""
    page.wait_for_selector(f'[data-segment="{segment}"][data-selected=true]')


def phases(workspace: Workspace, task: str, line: Frames) -> list[tuple[str, int, bool]]:
    """Label, first frame and whether confirmed of every phase, as the catalogue has them."""
    with workspace.database.read() as connection:
        content = task_of(connection, task).annotation
    return [
        (each.label, int(np.searchsorted(line.stamps, each.start_ns)), each.confirmed)
        for each in content.in_lane("phase")
    ]

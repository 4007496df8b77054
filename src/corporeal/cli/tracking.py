"""Tells MLflow of releases and batches, where somebody keeps one; never in the way if not."""

from __future__ import annotations

import os
from typing import Annotated

from corporeal.catalog.query import Comparison, every_episode
from corporeal.catalog.workspace import Workspace
from corporeal.cli.command import option
from corporeal.cli.output import stderr
from corporeal.operations import tracking
from corporeal.operations.monitoring import measure_batch, measure_release
from corporeal.operations.tracking import TrackedRun
from corporeal.release.card import card_facts, card_plots, render_card
from corporeal.release.reading import Release

VARIABLE = "MLFLOW_TRACKING_URI"
Track = Annotated[
    str | None, option(f"An MLflow server, sqlite:///file or folder; by default ${VARIABLE}.")
]


def track_release(workspace: Workspace, made: Release, uri: str | None) -> None:
    """A run of the release with its figures, plots and card."""
    if uri is None and not os.environ.get(VARIABLE):
        return

    with workspace.database.read() as connection:
        facts = card_facts(connection, made.name, made.version)
        metrics = measure_release(connection, made.name, made.version)
    plots = card_plots(facts)
    _report(
        tracking.track_release(facts, metrics, plots, render_card(facts, pictures=plots), uri=uri)
    )


def track_batch(workspace: Workspace, batch: str | None, uri: str | None) -> None:
    """A run of the batch with its figures."""
    if batch is None or (uri is None and not os.environ.get(VARIABLE)):
        return

    with workspace.database.read() as connection:
        metrics = measure_batch(connection, batch)
        rows = every_episode(connection, Comparison("batch", "=", batch))
        hashes = [row.hash for row in rows]
    _report(tracking.track_batch(batch, metrics, episodes=hashes, uri=uri))


def _report(tracked: TrackedRun) -> None:
    if tracked.warning is not None:
        stderr().print(tracked.warning, style="yellow")
    else:
        stderr().print(f"told MLflow: run {tracked.run} of {tracked.experiment}")

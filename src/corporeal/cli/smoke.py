"""Trains on a little of a dataset before anybody spends days on all of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from corporeal.cli.output import console, make_table, stderr
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions, export
from corporeal.exchange.training import SmokeReport, smoke_train

FIRST = 100


def smoke_first(
    opener: Callable[[], Dataset], options: ExportOptions, *, python: str | None
) -> None:
    """Export the first episodes to LeRobot, train on them, and stop when that fails."""
    report = smoke_on(opener, options, python=python)
    show_smoke(report)
    if not report.passed:
        raise CorporealError(
            "smoke training failed, so nothing was exported: " + "; ".join(report.reasons) + "."
        )


def smoke_on(
    opener: Callable[[], Dataset],
    options: ExportOptions,
    *,
    steps: int = 20,
    policies: tuple[str, ...] = ("act", "diffusion"),
    python: str | None = None,
) -> SmokeReport:
    """Train on the first episodes of any dataset, which are converted to LeRobot for it."""
    with tempfile.TemporaryDirectory(prefix="corporeal-smoke-") as folder:
        numbers = opener().episodes[:FIRST]
        with stderr().status(f"exporting the first {len(numbers)} episodes"):
            some = replace(options, episodes=numbers, weights=None, on="processes", jobs=1)
            export(opener, Path(folder) / "first", "lerobot", some)
        with stderr().status(f"training on {len(numbers)} episodes"):
            return smoke_train(
                Path(folder) / "first", policies=policies, steps=steps, python=python
            )


def show_smoke(report: SmokeReport) -> None:
    """The losses, for people."""
    table = make_table("policy", "loss, first to last", "steps", "seconds", "")
    for each in report.runs:
        mark = Text("trains", style="green")
        if not each.passed:
            mark = Text("; ".join(each.reasons), style="red")
        ends = f"{each.losses[0]:.3g} to {each.losses[-1]:.3g}" if each.losses else "-"
        table.add_row(each.policy, ends, str(len(each.losses)), f"{each.seconds:.1f}", mark)
    console().print(table)
    console().print(f"trained by {report.library} {report.version}", style="dim")

"""`corporeal sync-test`: do the stamps of all streams tell the same time?"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from corporeal.capture.sync import SyncReport, plot_sync
from corporeal.capture.sync import sync_test as test_sync
from corporeal.cli.command import Command, option
from corporeal.cli.output import (
    AsJson,
    check_picture,
    console,
    emphasise,
    make_table,
    print_json,
    save_picture,
)
from corporeal.cli.sources import EpisodeWord, episode_file
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.episode import Episode
from corporeal.episode.recording import recording_of

_COLOURS = {
    "in sync": "green",
    "late": "red",
    "early": "red",
    "cannot tell": "yellow",
    "no onset found": "dim",
}


def sync_test(
    episode: EpisodeWord,
    event_s: Annotated[
        float | None, option("Use only the motion nearest to this time, in seconds.", "--event")
    ] = None,
    out: Annotated[
        Path | None, option("Picture to write: .png, .pdf or .svg.", "--out", "-o")
    ] = None,
    tolerance_ms: Annotated[
        float, option("How much later or earlier than the joints a stream may be.")
    ] = 5.0,
    reference: Annotated[
        str | None, option("The stream to hold others against; by default that of the joints.")
    ] = None,
    allow_undecided: Annotated[
        bool, option("Exit 0 also when most streams cannot be decided.", "--allow-undecided")
    ] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Find the onset of sharp motions in every stream and say how late each one is.

    Exit 0 when all streams that can be assessed are within the tolerance, 1 when one is not, or
    when nothing can be said of most.

    Example: [bold]corporeal sync-test jerks.h5 -o sync.png[/bold]
    """
    if out is not None:
        check_picture(out)
    with ExitStack() as stack:
        opened = stack.enter_context(Episode.open(episode_file(episode, root, stack)))
        report = test_sync(opened, event_s=event_s, tolerance_s=tolerance_ms / 1e3,
                           reference_path=reference)  # fmt: skip
        task = (recording_of(opened).facts.task or episode.stem).replace("_", " ")
    if out is not None:
        save_picture(plot_sync(report, title=f"sync test: {task}"), out)
    if as_json:
        print_json({**report.to_json(), "picture": str(out) if out is not None else None})
    else:
        _show(report, out)
    if not report.is_in_sync or (report.is_mostly_undecided and not allow_undecided):
        raise typer.Exit(1)


def _show(report: SyncReport, out: Path | None) -> None:
    moments = ", ".join(f"{at:.2f}" for at in report.events_s)
    console().print(f"sharp motions of {report.reference} at {moments} s")
    table = make_table("stream", "verdict", "onset over noise", "motions", right=("motions",))
    for stream in report.streams:
        colour = _COLOURS.get(stream.verdict, "default")
        words = emphasise(stream.in_words(), style=colour)
        table.add_row(stream.path, words, f"{stream.snr:.0f} x", str(stream.events))
    console().print(table)
    if report.left_out:
        console().print(f"not assessed (text and commands): {', '.join(report.left_out)}")
    colour = "green" if report.is_in_sync else "red"
    limit = f"{report.tolerance_s * 1e3:g} ms"
    console().print(emphasise(report.in_words(), f" (tolerance {limit})", style=colour))
    if report.is_mostly_undecided:
        console().print(
            f"nothing can be said of {len(report.undecided)} of {len(report.streams)} streams. "
            "Record more jerks that they see, widen --tolerance-ms, or take it with "
            "--allow-undecided.",
            style="yellow",
        )
    if out is not None:
        console().print(f"wrote {out}")


COMMAND = Command(sync_test, panel="Record")

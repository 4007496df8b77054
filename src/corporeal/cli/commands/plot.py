"""`corporeal plot`: an episode on one page."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, option
from corporeal.cli.output import AsJson, check_picture, print_result, save_picture
from corporeal.cli.sources import EpisodeWord, episode_file
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.episode import Episode
from corporeal.episode.overview import plot_episode


def plot(
    episode: EpisodeWord,
    out: Annotated[
        Path | None, option("Picture to write: .png, .pdf or .svg.", "--out", "-o")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Draw an episode on one page: cameras, joints, forces, and every stream in time.

    Example: [bold]corporeal plot demo.h5 -o demo.png[/bold]
    """
    if out is not None:
        check_picture(out)
    with ExitStack() as stack:
        file = episode_file(episode, root, stack)
        picture = out or (file if file == episode else Path(file.name)).with_suffix(".png")
        with Episode.open(file) as opened:
            save_picture(plot_episode(opened), picture)
    print_result(as_json, {"picture": picture}, f"wrote {picture}")


COMMAND = Command(plot, panel="Check")

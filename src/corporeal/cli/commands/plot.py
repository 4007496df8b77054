"""`corporeal plot`: an episode on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, check_picture, print_result, save_picture
from corporeal.episode import Episode
from corporeal.episode.overview import plot_episode


def plot(
    episode: Annotated[Path, argument("An episode file (.h5).")],
    out: Annotated[
        Path | None, option("Picture to write: .png, .pdf or .svg.", "--out", "-o")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw an episode on one page: cameras, joints, forces, and every stream in time.

    Example: [bold]corporeal plot demo.h5 -o demo.png[/bold]
    """
    picture = out or episode.with_suffix(".png")
    check_picture(picture)
    with Episode.open(episode) as opened:
        save_picture(plot_episode(opened), picture)
    print_result(as_json, {"picture": picture}, f"wrote {picture}")


COMMAND = Command(plot)

"""`corporeal plot`: an episode on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from corporeal.cli.command import Command, argument, option
from corporeal.cli.output import AsJson, print_result
from corporeal.episode import Episode
from corporeal.episode.overview import plot_episode
from corporeal.errors import CorporealError

_SUFFIXES = (".png", ".pdf", ".svg")


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
    if picture.suffix not in _SUFFIXES:
        raise CorporealError(
            f"picture, got {picture.name!r}; expected a name ending in {', '.join(_SUFFIXES)}."
        )
    with Episode.open(episode) as opened:
        figure = plot_episode(opened)
    try:
        figure.savefig(picture)
    except OSError as error:
        raise CorporealError(f"{picture}: {error.strerror or error}.") from None
    print_result(as_json, {"picture": picture}, f"wrote {picture}")


COMMAND = Command(plot)

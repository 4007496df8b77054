"""Writes one episode for a LeRobot dataset: its rows, its movies, their statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corporeal.exchange.format import ExportContext, Loss
from corporeal.exchange.lerobot.assembly import movie_file
from corporeal.exchange.lerobot.features import columns_of
from corporeal.exchange.lerobot.row_file import write_rows
from corporeal.exchange.lerobot.summaries import write_statistics
from corporeal.exchange.movie.pictures import LevelHistogram
from corporeal.exchange.movie.writing import write_movie
from corporeal.exchange.table import EpisodeTable

LOSES: tuple[Loss, ...] = ("rates", "stamps", "precision", "pictures", "labels")


def write_episode(
    table: EpisodeTable, folder: Path, context: ExportContext, *, flat: bool = False
) -> dict[str, Any]:
    """Write an episode into an empty folder. Every picture is decoded once, or not at all."""
    columns = columns_of(context, flat=flat)
    write_rows(table, folder, columns)
    movies: dict[str, Any] = {}
    counts = {}
    for key, camera in table.cameras.items():
        histogram = LevelHistogram()
        path = movie_file(folder, key)
        movie = write_movie(camera, path, rate_hz=table.rate_hz, histogram=histogram)
        counts[key] = histogram.counts
        movies[key] = {
            "size": [movie.height, movie.width],
            "codec": movie.codec,
            "pix_fmt": movie.pix_fmt,
            "mended": movie.mended,
            "remuxed": movie.remuxed,
        }
    write_statistics(folder, columns, len(table), counts)
    return {"movies": movies}

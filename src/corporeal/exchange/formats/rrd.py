"""Rerun recordings (.rrd): one for each episode, to look at; only written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corporeal.exchange.format import Consumer, Format, Head, Piece, Writer
from corporeal.exchange.placing import place_file
from corporeal.exchange.rerun_scene.episode_scene import write_scene
from corporeal.exchange.table import Table

SUFFIX = ".rrd"
_FILE = f"episode{SUFFIX}"


def piece(table: Table, folder: Path, head: Head) -> Mapping[str, Any]:
    """Write the recording that the table was made of, with the layout of the viewer."""
    streams = write_scene(table, folder / _FILE, exclude=head.plan.exclude)
    return {"streams": list(streams)}


def assemble(pieces: Sequence[Piece], out: Path, _: Head) -> None:
    """One file for each episode, under its number."""
    for number, each in enumerate(pieces):
        place_file(each.folder / _FILE, out / f"episode_{number:06d}{SUFFIX}")


FORMAT = Format(
    title="Rerun recordings, to look at",
    writer=Writer(
        piece=piece,
        assemble=assemble,
        loses=("units", "pictures", "modes"),
        label=lambda _: None,
        consumer=Consumer(script="rrd", module="rerun", install="pip install rerun-sdk"),
        many_rates=True,
    ),
)

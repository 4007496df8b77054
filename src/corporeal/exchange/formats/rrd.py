"""Rerun recordings (.rrd): one for each episode, to look at; only written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corporeal.episode.recording import Recording
from corporeal.exchange.format import (
    Consumer,
    Format,
    RecordingWriter,
    WrittenEpisode,
)
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rerun_scene.episode_scene import write_scene
from corporeal.files import link_or_copy

SUFFIX = ".rrd"
_FILE = f"episode{SUFFIX}"


def write(
    recording: Recording, number: int, folder: Path, options: ExportOptions
) -> Mapping[str, Any]:
    """Write one recording of Rerun, with the layout of the viewer."""
    streams = write_scene(recording, number, folder / _FILE, options)
    return {"streams": list(streams)}


def assemble(episodes: Sequence[WrittenEpisode], out: Path) -> None:
    """One file for each episode, under its number."""
    for number, each in enumerate(episodes):
        link_or_copy(each.folder / _FILE, out / f"episode_{number:06d}{SUFFIX}")


FORMAT = Format(
    title="Rerun recordings, to look at",
    writer=RecordingWriter(
        write=write,
        assemble=assemble,
        loses=("units", "pictures", "modes"),
        consumer=Consumer(script="rrd", module="rerun", install="pip install rerun-sdk"),
    ),
)

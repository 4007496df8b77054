"""LeRobot datasets v2.0, v2.1 and v3.0: Parquet tables, MP4 movies, lists in meta/."""

from __future__ import annotations

from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Consumer, Format, TableWriter
from corporeal.exchange.lerobot.bookkeeping import complaints
from corporeal.exchange.lerobot.files import Files
from corporeal.exchange.lerobot.info import find_robot, read_info, read_modality
from corporeal.exchange.lerobot.layouts import assemble_v3
from corporeal.exchange.lerobot.listing import read_listing, read_statistics
from corporeal.exchange.lerobot.reader import LerobotReader, read_lanes
from corporeal.exchange.lerobot.writing import LOSES, write_episode
from corporeal.words import counted


def recognises(path: Path) -> bool:
    """Whether the folder has the head of a LeRobot dataset."""
    return (path / "meta" / "info.json").is_file()


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset in a folder; its episodes are read when they are opened."""
    info = read_info(path)
    listing = read_listing(info)
    files = Files(listing)
    present = tuple(entry for entry in listing.entries if files.home(entry) is not None)
    if listing.entries and not present:
        first = listing.entries[0].data.relative_to(path)
        listed = counted(len(listing.entries), "episode")
        raise EpisodeError(
            f"{path}: meta lists {listed}, but the data of none is here; expected "
            f"{first} and the like. Fetch the data as well as meta."
        )
    found = tuple(complaints(files, present))
    reported = frozenset((str(defect.stream), what) for defect, what in found if what is not None)
    modality = read_modality(path)
    lanes = read_lanes(info)
    reader = LerobotReader(
        files=files,
        robot=robot or find_robot(info, modality),
        modality=modality,
        reported=reported,
        lanes=lanes,
    )
    return Dataset(
        source=path,
        format="lerobot",
        episodes=tuple(entry.index for entry in present),
        open=reader.open,
        statistics=read_statistics(path),
        facts=dict(info.raw),
        defects=tuple(defect for defect, _ in found),
        lanes=lambda: tuple(lanes.values()),
    )


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="LeRobot v2.0 to v3.0",
    writer=TableWriter(
        write=write_episode,
        assemble=assemble_v3,
        loses=LOSES,
        consumer=Consumer("lerobot", "lerobot", "pip install lerobot"),
    ),
)

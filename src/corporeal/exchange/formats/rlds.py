"""RLDS: episodes as TFRecord files, described by features.json."""

from __future__ import annotations

from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset
from corporeal.exchange.format import Consumer, Format, TableWriter
from corporeal.exchange.rlds.episode_facts import RATE_HZ, known_set
from corporeal.exchange.rlds.features import label, read_features
from corporeal.exchange.rlds.listing import (
    home_of,
    homes,
    read_info,
    read_metadata,
    shards,
    split_defects,
)
from corporeal.exchange.rlds.reader import RldsReader
from corporeal.exchange.rlds.writer import assemble, write_episode
from corporeal.exchange.tfrecord.example import records


def recognises(path: Path) -> bool:
    """Whether the folder, or one below it, has features.json of a TensorFlow dataset."""
    return path.is_dir() and bool(homes(path))


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The episodes in order of the files. The rate is only in those that Corporeal wrote."""
    home = home_of(path)
    steps, others = read_features(home)
    info, description = read_info(home), read_metadata(home)
    files = shards(home)
    name = str(info.get("name", home.name))
    known = known_set(name) if description is None else None
    stated = description.rate_hz if description else known.rate_hz if known else RATE_HZ
    reader = RldsReader(
        name=name,
        places=tuple(place for file in files for place in records(file)),
        steps=steps,
        others=others,
        rate_hz=rate_hz or stated,
        robot=robot or (description.robot if description else None),
        description=description,
        known=known,
    )
    return Dataset(
        source=path,
        format="rlds",
        episodes=tuple(range(len(reader.places))),
        open=reader.open,
        facts=info,
        lanes=lambda: description.lanes if description is not None else (),
        defects=tuple(split_defects(info, files, len(reader.places))),
    )


FORMAT = Format(
    title="RLDS TFRecord",
    recognises=recognises,
    read=read,
    writer=TableWriter(
        write=write_episode,
        assemble=assemble,
        loses=("rates", "precision", "pictures"),
        label=label,
        consumer=Consumer(
            "rlds", "tensorflow_datasets", "pip install tensorflow-cpu tensorflow-datasets"
        ),
    ),
)

"""RLDS: episodes as TFRecord files, described by features.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import INDEX_WRONG, METADATA_WRONG, Dataset, Defect
from corporeal.errors import EpisodeError
from corporeal.exchange.description import NAME, DatasetDescription, read_description
from corporeal.exchange.format import Consumer, Format, TableWriter, dataset_of
from corporeal.exchange.json_text import read_json
from corporeal.exchange.rlds.features import FILE, INFO, METADATA, label, read_features
from corporeal.exchange.rlds.known_sets import RATE_HZ, known_set
from corporeal.exchange.rlds.reader import RldsReader
from corporeal.exchange.rlds.writer import assemble, write_episode
from corporeal.exchange.tfrecord import records
from corporeal.words import some_of

_SHARD = re.compile(r"(?P<set>.+)-(?P<number>\d{5,})-of-(?P<count>\d{5,})")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
# Containers of records that TensorFlow Datasets writes beside TFRecord.
_OTHERS = ("array_record", "riegeli", "bagz", "parquet")


def homes(path: Path) -> list[Path]:
    """The folders that hold a dataset: this one, else NAME or NAME/VERSION below it.

    Of the versions of one dataset the newest counts.
    """
    for pattern in ("", "*", "*/*"):
        found: dict[Path, Path] = {}
        for file in sorted(path.glob(f"{pattern}/{FILE}" if pattern else FILE)):
            home = file.parent
            if not ((home / INFO).is_file() or next(home.glob("*.tfrecord*"), None)):
                continue
            # The version is the last part: folders beside it are the same dataset.
            name = home.parent if pattern and _VERSION.fullmatch(home.name) else home
            found[name] = max(found.get(name, home), home, key=_version)
        if found:
            return list(found.values())
    return []


def home_of(path: Path) -> Path:
    """The one dataset at a path."""
    found = homes(path)
    if not found:
        raise EpisodeError(f"{path}: no {FILE} beside TFRecord files.")
    if len(found) > 1:
        names = some_of(str(home.relative_to(path)) for home in found)
        raise EpisodeError(
            f"{path}: {len(found)} datasets are here ({names}); expected one. Give its path."
        )
    return found[0]


def shards(home: Path) -> list[Path]:
    """The files with records, in order; raises EpisodeError when some of a split are missing."""
    files = sorted(home.glob("*.tfrecord*"))
    if not files:
        for kind in _OTHERS:
            if next(home.glob(f"*.{kind}*"), None) is not None:
                raise EpisodeError(
                    f"{home}: records are in {kind} files; expected TFRecord. Convert the dataset "
                    "with `tfds convert_format --out_file_format=tfrecord`."
                )
        raise EpisodeError(f"{home}: no *.tfrecord file beside {FILE}. Fetch the data as well.")
    _check_complete(home, files)
    return files


def _check_complete(home: Path, files: Sequence[Path]) -> None:
    sets: dict[tuple[str, int], set[int]] = {}
    for file in files:
        named = _SHARD.fullmatch(file.name)
        if named is not None:
            key = named["set"], int(named["count"])
            sets.setdefault(key, set()).add(int(named["number"]))
    for (name, count), there in sets.items():
        missing = count - len(there)
        if missing:
            first = next(number for number in range(count) if number not in there)
            raise EpisodeError(
                f"{home}: {missing} of the {count} files of {name} are missing, the first is "
                f"{name}-{first:05d}-of-{count:05d}. Fetch them."
            )


def read_info(home: Path) -> dict[str, Any]:
    """What dataset_info.json states; empty when there is none."""
    stated = read_json(home / INFO) if (home / INFO).is_file() else {}
    return stated if isinstance(stated, dict) else {}


def read_metadata(home: Path) -> DatasetDescription | None:
    """What Corporeal has said of a dataset; None when another program wrote it.

    People find it in `builder.info.metadata["corporeal"]`.
    """
    path = home / METADATA
    stated = read_json(path) if path.is_file() else None
    raw = stated.get(NAME) if isinstance(stated, dict) else None
    return read_description(raw, str(path), part="the file")


def split_defects(info: Mapping[str, Any], files: Sequence[Path], found: int) -> Iterator[Defect]:
    """Splits that are listed and not here, and a count of episodes that is another."""
    splits = info.get("splits")
    expected = 0
    for split in splits if isinstance(splits, list) else ():
        if not isinstance(split, dict) or not isinstance(split.get("shardLengths"), list):
            continue
        name, lengths = str(split.get("name")), map(str, split["shardLengths"])
        count = sum(int(length) for length in lengths if re.fullmatch(r"[0-9]{1,15}", length))
        if any(f"-{name}." in file.name for file in files):
            expected += count
        elif count:
            message = f"data of the split {name} with {count} listed episodes is not here"
            yield Defect(INDEX_WRONG, message, value=float(count), limit=0.0)
    if expected and expected != found:
        message = f"dataset_info.json lists {expected} episodes, but the files have {found}"
        yield Defect(METADATA_WRONG, message, value=float(found), limit=float(expected))


def _version(home: Path) -> tuple[int, ...]:
    known = _VERSION.fullmatch(home.name) is not None
    return tuple(int(part) for part in home.name.split(".")) if known else ()


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
    places = [place for file in files for place in records(file)]
    reader = RldsReader(
        name=name,
        steps=steps,
        others=others,
        rate_hz=rate_hz or stated,
        robot=robot or (description.robot if description else None),
        description=description,
        known=known,
        is_rate_stated=rate_hz is not None or description is not None,
    )
    return dataset_of(
        path,
        "rlds",
        places,
        reader.open,
        facts=info,
        lanes=lambda: description.lanes if description is not None else (),
        defects=tuple(split_defects(info, files, len(places))),
    )


FORMAT = Format(
    title="RLDS TFRecord",
    recognises=recognises,
    takes_rate=True,
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

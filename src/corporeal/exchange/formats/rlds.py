"""RLDS: episodes as TFRecord files, described by features.json."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.embodiment.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Defect, Recording, Signal, Stills
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import array_signal, even_stamps, picture_stream
from corporeal.exchange.format import Format
from corporeal.exchange.json_text import read_json, whole
from corporeal.exchange.tfrecord import Place, Values, parse_example, records

RATE_HZ = 10.0
# Control rates of well-known sets; the files themselves do not say.
_RATES = {"bridge": 5.0, "droid": 15.0, "fractal": 3.0}
_MARKS = ("is_first", "is_last", "is_terminal", "discount", "reward", "language_embedding")
_TEXTS = ("language_instruction", "natural_language_instruction", "instruction")


@dataclass(frozen=True)
class Leaf:
    """One feature of a step: an array of this shape, an encoded picture, or text."""

    kind: str
    shape: tuple[int, ...] = ()


def recognises(path: Path) -> bool:
    """Whether the folder, or one below it, has features.json beside TFRecord files."""
    return path.is_dir() and _home(path) is not None


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The episodes in order of the files; the rate is not in them."""
    home = _home(path)
    if home is None:
        raise EpisodeError(f"{path}: no features.json beside TFRecord files.")
    steps, others = _leaves(home)
    files = sorted(home.glob("*.tfrecord*"))
    places = [place for file in files for place in records(file)]
    info = read_json(home / "dataset_info.json") if _info(home).is_file() else {}
    name = str(info.get("name", home.name)) if isinstance(info, dict) else home.name
    rate = rate_hz or next((rate for key, rate in _RATES.items() if key in name), RATE_HZ)
    return Dataset(
        source=path,
        format="rlds",
        episodes=tuple(range(len(places))),
        open=partial(_open, places, steps, others, robot, rate, name),
        facts=info if isinstance(info, dict) else {},
        defects=tuple(_missing_splits(info, files, len(places))),
    )


def _open(
    places: list[Place],
    steps: Mapping[str, Leaf],
    others: Mapping[str, Leaf],
    robot: Embodiment | None,
    rate_hz: float,
    name: str,
    index: int,
) -> Recording:
    if not 0 <= index < len(places):
        raise EpisodeError(f"episode {index} is not here; expected 0 to {len(places) - 1}.")
    example = parse_example(places[index].read())
    signals: dict[str, Signal] = {}
    defects: list[Defect] = []
    for label, leaf in steps.items():
        values = example.get(f"steps/{label}", [])
        if label.rsplit("/", 1)[-1] in (*_MARKS, *_TEXTS) or leaf.kind == "text":
            continue
        if not len(values):
            message = f"features.json lists {label}, but the record has no values of it"
            defects.append(Defect("metadata_agrees", message, index, label))
            continue
        if leaf.kind == "image" and _is_unused(label, values, example):
            continue
        signal = _signal(label, leaf, values, rate_hz, robot)
        if signal is None:
            message = f"{label} has {len(values)} values; expected a multiple of {leaf.shape}"
            defects.append(Defect("index_map", message, index, label))
        else:
            signals[label] = signal
    lengths = {label: len(signal) for label, signal in signals.items()}
    if len(set(lengths.values())) > 1:
        message = f"the streams have from {min(lengths.values())} to {max(lengths.values())} steps"
        defects.append(Defect("index_map", message, index))
    return Recording(
        id=f"{name}_{index:06d}",
        source=places[index].path,
        index=index,
        signals=signals,
        embodiment=robot,
        metadata={"fps": rate_hz, "rate_assumed": True} | _metadata(example, others),
        defects=tuple(defects),
        regridded=True,
    )


def _signal(
    label: str, leaf: Leaf, values: Values, rate_hz: float, robot: Embodiment | None
) -> Signal | None:
    if leaf.kind == "image":
        pictures = list(values)
        height, width = leaf.shape[:2] if len(leaf.shape) == 3 else (0, 0)
        spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
        return Stills(spec, even_stamps(len(pictures), rate_hz), pictures)
    size = math.prod(leaf.shape)
    if isinstance(values, list) or size <= 0 or len(values) % size:
        return None
    array = values.reshape(-1, *leaf.shape)
    stamps = even_stamps(len(array), rate_hz)
    return array_signal(label, array, stamps, rate_hz=rate_hz, robot=robot)


def _is_unused(label: str, values: Values, example: Mapping[str, Values]) -> bool:
    """Whether the camera was not there: said so, and every picture is the same filling."""
    said = example.get(f"episode_metadata/has_{label.rsplit('/', 1)[-1]}", [])
    return len(said) == 1 and not said[0] and all(each == values[0] for each in values)


def _metadata(example: Mapping[str, Values], others: Mapping[str, Leaf]) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for label in others:
        values = example.get(label, [])
        if len(values) == 1:
            stated[label.rsplit("/", 1)[-1]] = _plain(values[0])
    texts: list[str] = []
    for label in _TEXTS:
        for key in (f"steps/{label}", f"steps/observation/{label}"):
            texts.extend(str(_plain(each)) for each in example.get(key, []))
    instructions = tuple(dict.fromkeys(texts))
    if instructions:
        stated |= {"task": instructions[0], "instruction": instructions[0]}
        stated["instructions"] = instructions
    return stated


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")[:4096]
    return value.item() if isinstance(value, np.generic) else value


def _missing_splits(info: Any, files: list[Path], found: int) -> Iterator[Defect]:
    splits = info.get("splits") if isinstance(info, dict) else None
    expected = 0
    for split in splits if isinstance(splits, list) else ():
        name = str(split.get("name")) if isinstance(split, dict) else ""
        lengths = split.get("shardLengths", []) if isinstance(split, dict) else []
        count = sum(max(0, whole(int(n))) for n in lengths if str(n).isdigit())
        if any(f"-{name}." in file.name for file in files):
            expected += count
        elif count:
            message = f"data of the split {name} with {count} listed episodes is not here"
            yield Defect("index_map", message, value=float(count), limit=0.0)
    if expected and expected != found:
        message = f"dataset_info.json lists {expected} episodes, but the files have {found}"
        yield Defect("metadata_agrees", message, value=float(found), limit=float(expected))


def _leaves(home: Path) -> tuple[dict[str, Leaf], dict[str, Leaf]]:
    """Features of a step, and of the episode, by path."""
    leaves = dict(_walk(read_json(home / "features.json"), ()))
    steps = {key[6:]: leaf for key, leaf in leaves.items() if key.startswith("steps/")}
    return steps, {key: leaf for key, leaf in leaves.items() if not key.startswith("steps/")}


def _walk(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Leaf]]:
    if not isinstance(node, dict) or len(path) > 8:
        return
    features = node.get("featuresDict")
    if isinstance(features, dict) and isinstance(features.get("features"), dict):
        for name, child in features["features"].items():
            yield from _walk(child, (*path, str(name)))
    elif isinstance(node.get("sequence"), dict):
        yield from _walk(node["sequence"].get("feature"), path)
    else:
        for kind in ("tensor", "image", "text"):
            if isinstance(node.get(kind), dict):
                yield "/".join(path), Leaf(kind, _shape(node[kind].get("shape")))


def _shape(stated: Any) -> tuple[int, ...]:
    sizes = stated.get("dimensions", []) if isinstance(stated, dict) else []
    numbers = [int(size) if str(size).isdigit() else -1 for size in sizes]
    if math.prod(numbers) > 1 << 26:
        raise EpisodeError(f"features.json has shape {numbers}; expected at most 2^26 values.")
    return tuple(numbers)


def _info(home: Path) -> Path:
    return home / "dataset_info.json"


def _home(path: Path) -> Path | None:
    for pattern in ("features.json", "*/features.json", "*/*/features.json"):
        for found in sorted(path.glob(pattern)):
            if next(found.parent.glob("*.tfrecord*"), None) is not None:
                return found.parent
    return None


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="RLDS TFRecord",
    loses=("clocks of single streams", "units", "documents"),
)

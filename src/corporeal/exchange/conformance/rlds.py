"""Reads an RLDS dataset with TensorFlow Datasets. Runs by itself."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: every episode, and the rows that were asked for."""
    library = load_library()
    builder = library.builder_from_directory(request["path"])
    episodes = list(episodes_of(library, builder))
    samples: dict[str, Any] = {}
    for number in sorted({episode for episode, _ in request["rows"]}):
        wanted = [(row, n) for n, (episode, row) in enumerate(request["rows"]) if episode == number]
        for step_number, step in enumerate(steps_of(library, builder, episodes[number]["place"])):
            for place in (place for row, place in wanted if row == step_number):
                for label in (*request["keys"], *request["cameras"]):
                    value = entry(step, label)
                    if value is not None:
                        samples[f"{place}|{label}"] = np.asarray(value)
    answer = {
        "library": "tensorflow-datasets",
        "version": library.__version__,
        "episodes": [{key: each[key] for key in ("length", "instructions")} for each in episodes],
    }
    return answer, samples


def load_library() -> Any:
    """TensorFlow Datasets, on the processor and silent."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return importlib.import_module("tensorflow_datasets")


def episodes_of(library: Any, builder: Any) -> Any:
    """Length, first instruction and place of every episode in order, without its pictures."""
    as_stored = {"steps": library.decode.SkipDecoding()}
    for split in builder.info.splits:
        for number, episode in enumerate(read(library, builder, split, decoders=as_stored)):
            steps = episode["steps"]
            first, last = steps["is_first"], steps["is_last"]
            if not (first[0] and last[-1]) or first[1:].any() or last[:-1].any():
                raise ValueError(f"the ends of episode {number} of {split} are not marked as such")
            texts = steps.get("language_instruction", ())[:1]
            instructions = [bytes(text).decode("utf-8") for text in texts]
            yield {"length": len(first), "instructions": instructions, "place": (split, number)}


def steps_of(library: Any, builder: Any, place: tuple[str, int]) -> Any:
    """The steps of one episode as people get them, pictures decoded."""
    split, number = place
    for episode in read(library, builder, f"{split}[{number}:{number + 1}]"):
        yield from episode["steps"]


def read(library: Any, builder: Any, split: str, **options: Any) -> Any:
    """Episodes in the order of the files, one at a time, as numpy."""
    reading = library.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    found = builder.as_dataset(split=split, shuffle_files=False, read_config=reading, **options)
    return library.as_numpy(found)


def entry(step: Any, label: str) -> Any:
    """What stands at a path in a step; None when there is nothing."""
    for part in label.split("/"):
        step = step.get(part) if isinstance(step, dict) else None
    return step

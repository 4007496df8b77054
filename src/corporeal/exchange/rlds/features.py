"""features.json: what every feature of an RLDS dataset is, read and written.

An episode has `steps` and features of its own, such as `episode_metadata`. In a record a feature
is named by its path, `steps/observation/state`, and holds the values of all steps in turn.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.exchange.json_text import read_json
from corporeal.exchange.layout import ACTION, IMAGES, LABELS
from corporeal.exchange.tfrecord import Values

INSTRUCTION, TIME, MODE = "language_instruction", "time_ns", "mode"
TEXTS = ("language_instruction", "natural_language_instruction", "instruction")
"""Where sets keep the instruction, in a step or in its observation."""
MARKS = ("is_first", "is_last", "is_terminal", "discount", "reward")


def label(key: str) -> str:
    """The path in a step of a column or camera: observation/state, action, observation/image_head.

    Other commands than the action stand in `action_dict`, as in DROID.
    """
    if key.startswith(IMAGES):
        camera = key.removeprefix(IMAGES)
        return f"observation/{camera if 'image' in camera else f'image_{camera}'}"
    group, _, name = key.partition(".")
    if key.startswith(LABELS):
        return f"labels/{name}"
    if group == ACTION:
        return f"action_dict/{name}" if name else ACTION
    return f"observation/{name.replace('.', '_')}"


def is_mark(path: str) -> bool:
    """Whether a feature of a step is bookkeeping or text, not something the robot did."""
    return path in MARKS or path.endswith("_embedding") or is_text(path)


def is_text(path: str) -> bool:
    """Whether a feature is an instruction; DROID has three, `language_instruction_2` and `_3`."""
    return re.sub(r"_\d$", "", path.rsplit("/", 1)[-1]) in TEXTS


FILE = "features.json"
STEPS = "steps/"
_MAX_VALUES = 1 << 26
_MAX_BYTES = 1 << 32
_MAX_DEPTH = 8
_CLASSES = "tensorflow_datasets.core.features."
_KINDS = ("tensor", "image", "text", "classLabel")
UNKNOWN = "unknown"
_LONGEST_NAME = 60
_DTYPES = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
) | {"float16", "float32", "float64", "bool"}  # fmt: skip


@dataclass(frozen=True)
class Leaf:
    """One feature: `kind` is tensor, image, text or unknown; an unknown size of `shape` is -1.

    `encoding` of a tensor is none for numbers, bytes or zlib for one blob in each step; that of an
    image is jpeg or png.
    """

    kind: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    encoding: str = "none"
    description: str = ""

    def array(self, values: Values) -> NDArray[Any] | None:
        """The numbers (steps, *shape) of a tensor; None when they do not fit into the shape."""
        size = math.prod(self.shape)
        if min(self.shape, default=1) <= 0:
            return None
        if isinstance(values, list):
            return self._unpacked(values, size)
        if len(values) % size:
            return None
        # Floats stay as they are stored: a declared float64 has 32 bits in a record all the same.
        if values.dtype.kind == "i" and self.dtype in _DTYPES:
            values = values.astype(self.dtype, copy=False)
        return values.reshape(-1, *self.shape)

    def _unpacked(self, blobs: Sequence[bytes], size: int) -> NDArray[Any] | None:
        if self.encoding not in ("bytes", "zlib") or self.dtype not in _DTYPES:
            return None
        kind = np.dtype(self.dtype).newbyteorder("<")
        expected = size * kind.itemsize
        if expected * len(blobs) > _MAX_BYTES:
            return None
        if self.encoding == "zlib":
            try:
                # One byte more than fits shows a blob that is too long without unpacking it.
                blobs = [zlib.decompressobj().decompress(blob, expected + 1) for blob in blobs]
            except zlib.error:
                return None
        if any(len(blob) != expected for blob in blobs):
            return None
        array = np.frombuffer(b"".join(blobs), kind).reshape(-1, *self.shape)
        return array.astype(self.dtype, copy=False)


def read_features(home: Path) -> tuple[dict[str, Leaf], dict[str, Leaf]]:
    """Features of a step by path inside `steps`, and those of the episode by path."""
    path = home / FILE
    leaves = dict(_walk(read_json(path), (), path))
    steps = {key[len(STEPS) :]: leaf for key, leaf in leaves.items() if key.startswith(STEPS)}
    if not steps:
        raise EpisodeError(
            f"{path}: no feature `steps`; expected episodes of steps. This is a TensorFlow "
            "dataset of another kind than RLDS."
        )
    return steps, {key: leaf for key, leaf in leaves.items() if not key.startswith(STEPS)}


def _walk(node: Any, path: tuple[str, ...], file: Path) -> Iterator[tuple[str, Leaf]]:
    if not isinstance(node, dict) or len(path) > _MAX_DEPTH:
        return
    features = node.get("featuresDict")
    if isinstance(features, dict) and isinstance(features.get("features"), dict):
        for name, child in features["features"].items():
            yield from _walk(child, (*path, str(name)), file)
    elif isinstance(node.get("sequence"), dict):
        yield from _walk(node["sequence"].get("feature"), path, file)
    else:
        kinds = [kind for kind in _KINDS if isinstance(node.get(kind), dict)]
        if kinds:
            yield "/".join(path), _leaf(kinds[-1], node, file)
        else:
            name = str(node.get("pythonClassName", "none")).rsplit(".", 1)[-1]
            yield "/".join(path), Leaf(UNKNOWN, dtype=name[:_LONGEST_NAME])


def _leaf(kind: str, node: Mapping[str, Any], file: Path) -> Leaf:
    content = node[kind]
    dtype = "int64" if kind == "classLabel" else str(content.get("dtype", ""))
    text = str(node.get("description", ""))
    if kind == "text" or dtype == "string":
        return Leaf("text", description=text)
    shape = _shape(content.get("shape"), file)
    if kind == "image":
        return Leaf("image", shape, dtype, str(content.get("encodingFormat") or ""), text)
    return Leaf("tensor", shape, dtype, str(content.get("encoding") or "none"), text)


def _shape(stated: Any, file: Path) -> tuple[int, ...]:
    sizes = stated.get("dimensions") if isinstance(stated, dict) else None
    listed = sizes if isinstance(sizes, list) else []
    numbers = [int(size) if re.fullmatch(r"[0-9]{1,9}", str(size)) else -1 for size in listed]
    if abs(math.prod(numbers)) > _MAX_VALUES:
        raise EpisodeError(f"{file}: shape {numbers}; expected at most {_MAX_VALUES} values.")
    return tuple(numbers)


def features_json(steps: Mapping[str, Leaf], others: Mapping[str, Leaf]) -> dict[str, Any]:
    """The content of features.json for features by path."""
    tree = _tree(others)
    tree["steps"] = {
        "pythonClassName": f"{_CLASSES}dataset_feature.Dataset",
        "sequence": {"feature": _group(_tree(steps)), "length": "-1"},
    }
    return _group(tree)


def _group(features: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_CLASSES}features_dict.FeaturesDict",
        "featuresDict": {"features": dict(features)},
    }


def _tree(leaves: Mapping[str, Leaf]) -> dict[str, Any]:
    """Features by path as nested groups."""
    nested: dict[str, dict[str, Leaf]] = {}
    found: dict[str, Any] = {}
    for path, leaf in leaves.items():
        first, _, rest = path.partition("/")
        if rest:
            nested.setdefault(first, {})[rest] = leaf
        else:
            found[first] = _described(leaf)
    return found | {name: _group(_tree(inner)) for name, inner in nested.items()}


def _described(leaf: Leaf) -> dict[str, Any]:
    stated = {"description": leaf.description} if leaf.description else {}
    if leaf.kind == "text":
        return {"pythonClassName": f"{_CLASSES}text_feature.Text", "text": {}} | stated
    content: dict[str, Any] = {"dtype": leaf.dtype, "shape": {}}
    if leaf.shape:
        content["shape"] = {"dimensions": [str(size) for size in leaf.shape]}
    if leaf.kind == "image":
        content["encodingFormat"] = leaf.encoding
        return {"pythonClassName": f"{_CLASSES}image_feature.Image", "image": content} | stated
    content["encoding"] = leaf.encoding
    name = "tensor_feature.Tensor" if leaf.shape else "scalar.Scalar"
    return {"pythonClassName": f"{_CLASSES}{name}", "tensor": content} | stated


INFO, METADATA = "dataset_info.json", "metadata.json"
"""What TensorFlow Datasets says of a dataset, and where the dataset may add what it wants."""
EPISODE = "episode_metadata/"
ID, SUCCESS, IS_JUDGED = "episode_id", "success", "success_known"
VARIANTS, TRACK = "instructions", "labels"
"""Texts of an episode with labels: all wordings as JSON, and the labels themselves."""

"""Small ONNX files, written byte by byte: what a training would export, without its libraries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def write_policy(
    path: Path,
    *,
    states: Sequence[str],
    actions: Sequence[str],
    weights: Any,
    offset: Any,
    steps: int = 1,
    metadata: Mapping[str, str] | None = None,
    pictures: Mapping[str, tuple[int, int]] | None = None,
    divisor: float = 1.0,
) -> Path:
    """A policy whose actions are state @ weights + offset, the same for each of its steps.

    Each picture adds its mean brightness to all actions. A `divisor` of 0 makes them infinite.
    """
    count, width = len(actions), len(states)
    tensors: dict[str, np.ndarray[Any, Any]] = {
        "w": np.tile(np.asarray(weights, np.float32).reshape(width, count), (1, steps)),
        "b": np.tile(np.asarray(offset, np.float32).reshape(1, count), (1, steps)),
        "shape": np.array([1, steps, count], np.int64),
        "divisor": np.array([divisor], np.float32),
    }
    nodes = [_node("MatMul", ["observation.state", "w"], "scaled"),
             _node("Add", ["scaled", "b"], "sum0")]  # fmt: skip
    inputs = [_value("observation.state", [1, width])]
    for number, (camera, size) in enumerate((pictures or {}).items()):
        name = f"observation.images.{camera}"
        inputs.append(_value(name, [1, 3, *size]))
        nodes.append(_node("GlobalAveragePool", [name], f"pool{number}"))
        nodes.append(_node("ReduceMax", [f"pool{number}"], f"bright{number}"))
        nodes.append(_node("Flatten", [f"bright{number}"], f"flat{number}"))
        nodes.append(_node("Add", [f"sum{number}", f"flat{number}"], f"sum{number + 1}"))
    last = f"sum{len(pictures or {})}"
    nodes += [_node("Div", [last, "divisor"], "divided"),
              _node("Reshape", ["divided", "shape"], "action")]  # fmt: skip
    said = {"state_names": json.dumps(list(states)), "action_names": json.dumps(list(actions)),
            "rate_hz": "50", **(metadata or {})}  # fmt: skip
    graph = b"".join(_field(1, node) for node in nodes) + _text(2, "policy")
    graph += b"".join(_field(5, _tensor(name, value)) for name, value in tensors.items())
    graph += b"".join(_field(11, each) for each in inputs)
    graph += _field(12, _value("action", [1, steps, count]))
    model = _number(1, 8) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 13))
    for key, value in said.items():
        model += _field(14, _text(1, key) + _text(2, value))
    path.write_bytes(model)
    return path


def write_graph(
    path: Path,
    nodes: Sequence[bytes],
    tensors: Mapping[str, np.ndarray[Any, Any]],
) -> Path:
    """A file of nodes and constants from `in` to `out`, which are (1, 1)."""
    graph = b"".join(_field(1, node) for node in nodes) + _text(2, "network")
    graph += b"".join(_field(5, _tensor(name, value)) for name, value in tensors.items())
    graph += _field(11, _value("in", [1, 1])) + _field(12, _value("out", [1, 1]))
    path.write_bytes(_number(1, 8) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 13)))
    return path


def write_node(kind: str, given: Sequence[str], made: str) -> bytes:
    """A node of a graph."""
    return _node(kind, given, made)


def write_loop(turns: str, goes_on: str, state: str, made: str) -> bytes:
    """A node that doubles what is in `state` again and again."""
    body = _field(1, _node("Identity", ["on"], "still"))
    body += _field(1, _node("Add", ["before", "before"], "after")) + _text(2, "body")
    # INT64 and BOOL without dimensions, FLOAT of (1, 1).
    for field, name, kind in ((11, "turn", 7), (11, "on", 9), (11, "before", 1),
                              (12, "still", 9), (12, "after", 1)):  # fmt: skip
        shape = b"".join(_field(1, _number(1, 1)) for _ in range(2 if kind == 1 else 0))
        tensor = _number(1, kind) + _field(2, shape)
        body += _field(field, _text(1, name) + _field(2, _field(1, tensor)))
    attribute = _text(1, "body") + _field(6, body) + _number(20, 5)
    return _node("Loop", [turns, goes_on, state], made) + _field(5, attribute)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _field(field, text.encode())


def _node(kind: str, given: Sequence[str], made: str) -> bytes:
    return b"".join(_text(1, name) for name in given) + _text(2, made) + _text(4, kind)


def _tensor(name: str, values: np.ndarray[Any, Any]) -> bytes:
    kind = {"i": 7, "b": 9}.get(values.dtype.kind, 1)
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, kind) + _text(8, name) + _field(9, values.tobytes())


def _value(name: str, shape: Sequence[int]) -> bytes:
    dims = b"".join(_field(1, _number(1, size)) for size in shape)
    tensor = _number(1, 1) + _field(2, dims)
    return _text(1, name) + _field(2, _field(1, tensor))

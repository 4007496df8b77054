"""A network of 200 bytes takes neither all memory nor all time."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.teleoperation.onnx_file import write_graph, write_loop, write_node

from corporeal.network_bounds import bounded_options, run_bounded

onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra vision")
FAULT: Any = import_module("onnxruntime.capi.onnxruntime_pybind11_state").Fail


def _run(path: Path, longest_s: float = 10.0) -> Any:
    session = onnxruntime.InferenceSession(
        str(path), bounded_options(), providers=["CPUExecutionProvider"]
    )
    return run_bounded(session, ["out"], {"in": np.zeros((1, 1), np.float32)}, longest_s=longest_s)[
        0
    ]


def test_what_a_network_computes_on_the_way_is_bounded(tmp_path: Path) -> None:
    nodes = [write_node("Expand", ["in", "shape"], "big"), write_node("ReduceMax", ["big"], "out")]
    tensors = {"shape": np.array([50_000, 60_000], np.int64)}
    with pytest.raises(FAULT, match="memory"):
        _run(write_graph(tmp_path / "bomb.onnx", nodes, tensors))
    tensors = {"shape": np.array([50, 60], np.int64)}
    assert _run(write_graph(tmp_path / "small.onnx", nodes, tensors)).shape == (1, 1)


def test_a_network_without_end_is_ended(tmp_path: Path) -> None:
    tensors = {"turns": np.array(1 << 62, np.int64), "goes_on": np.array(True)}
    loop = write_loop("turns", "goes_on", "in", "out")
    path = write_graph(tmp_path / "endless.onnx", [loop], tensors)
    with pytest.raises(FAULT, match="terminate"):
        _run(path, longest_s=0.05)

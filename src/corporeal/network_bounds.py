"""What a neural network in an ONNX file may take: so much memory, so much time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, Final

MOST_BYTES: Final = 4 << 30
"""For all networks of a process together: weights, and what they compute on the way."""
LONGEST_S: Final = 10.0


def bounded_options() -> Any:
    """Options of onnxruntime for a session of one thread that says nothing, within MOST_BYTES.

    A file of 200 bytes can ask for any amount in the middle of its graph, so shapes of inputs and
    outputs tell nothing; what would go beyond is an error of onnxruntime where it runs.
    """
    onnxruntime = import_module("onnxruntime")
    _share_memory()
    options = onnxruntime.SessionOptions()
    # The loop beside a network has to be on time, and more threads only wait for each other.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.use_env_allocators", "1")
    return options


def run_bounded(
    session: Any, outputs: Sequence[str], inputs: Mapping[str, Any], *, longest_s: float = LONGEST_S
) -> list[Any]:
    """The outputs of a session, which is told to end after `longest_s`."""
    with _ending(longest_s) as options:
        made: list[Any] = session.run(list(outputs), dict(inputs), options)
        return made


@contextmanager
def _ending(longest_s: float) -> Iterator[Any]:
    options = import_module("onnxruntime").RunOptions()
    timer = threading.Timer(longest_s, setattr, (options, "terminate", True))
    timer.daemon = True
    timer.start()
    try:
        yield options
    finally:
        timer.cancel()


@cache
def _share_memory() -> None:
    """Register the bounded memory that every session takes from; once in a process."""
    onnxruntime = import_module("onnxruntime")
    kind = onnxruntime.OrtMemoryInfo(
        "Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, onnxruntime.OrtMemType.DEFAULT
    )
    # Growing by what is asked for: a doubling arena would reach its bound at half of it.
    growth = onnxruntime.OrtArenaCfg({"max_mem": MOST_BYTES, "arena_extend_strategy": 1})
    onnxruntime.create_and_register_allocator(kind, growth)

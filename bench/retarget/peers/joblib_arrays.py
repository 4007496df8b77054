"""Arrays in a file of joblib's, read without running anything that the file names."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from corporeal.errors import CorporealError

MAX_BYTES = 1 << 26


class _Wrapper:
    """Stands for joblib's note that the bytes of an array follow."""


class _Kind:
    """Stands for numpy.ndarray, which is only ever named."""


def _dtype(code: object, *_: object) -> np.dtype[Any]:
    found = np.dtype(str(code))
    if found.kind not in "fiub":
        raise pickle.UnpicklingError(f"an array of {found}; expected numbers")
    return found


_NAMES: dict[tuple[str, str], Any] = {
    ("joblib.numpy_pickle", "NumpyArrayWrapper"): _Wrapper,
    ("numpy", "ndarray"): _Kind,
    ("numpy", "dtype"): _dtype,
}


class _Unpickler(pickle._Unpickler):
    stack: list[Any]
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._stream = stream

    def find_class(self, module: str, name: str) -> Any:
        """One of the few names that arrays need."""
        try:
            return _NAMES[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None

    def _build(self) -> None:
        state, made = self.stack[-1], self.stack[-2]
        if isinstance(made, np.dtype):
            # Only the order of bytes is in there, and the code says it for what is read here.
            self.stack.pop()
            return
        if type(made) is not _Wrapper or not isinstance(state, dict):
            raise pickle.UnpicklingError("it changes something that is no array")
        self.stack[-2:] = [self._array(state)]

    dispatch[pickle.BUILD[0]] = _build

    def _array(self, state: dict[str, Any]) -> Any:
        shape, kind = tuple(int(size) for size in state["shape"]), state["dtype"]
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        if size > MAX_BYTES or not isinstance(kind, np.dtype):
            raise pickle.UnpicklingError("an array larger than its file")
        if state.get("numpy_array_alignment_bytes") is not None:
            self._stream.read(self._stream.read(1)[0])
        flat = np.frombuffer(self._stream.read(size), kind)
        return flat.reshape(shape, order="F" if state["order"] == "F" else "C")


def read_arrays(path: Path) -> dict[str, Any]:
    """The dictionary in the file: texts, numbers and arrays."""
    if path.stat().st_size > MAX_BYTES:
        raise CorporealError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected one motion.")
    try:
        found = _Unpickler(io.BytesIO(path.read_bytes())).load()
    except pickle.UnpicklingError as error:
        raise CorporealError(f"{path}: not a file of arrays ({error}). Leave it out.") from None
    if not isinstance(found, dict):
        raise CorporealError(f"{path}: holds {type(found).__name__}; expected a dictionary.")
    return found

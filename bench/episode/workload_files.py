"""The workload as plain files, so that every contestant reads the very same pictures and signals.

Needs nothing but numpy: contestants read it with a Python that does not know this package.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corporeal.testing import Workload

STATE = "observations/joint_position"
ACTION = "actions/joint_position_target"
TRAINING_CAMERAS = ("observations/head_left", "observations/head_right")
_MANIFEST = "manifest.json"

Sample = tuple[str, int, Any]


def render(workload: Workload, folder: Path) -> WorkloadFiles:
    """Write every stream of the workload into `folder`: pictures raw, the rest as arrays."""
    from corporeal.testing import INSTRUCTION

    manifest = {}
    for stream in workload.schema.streams:
        manifest[stream.path] = {"kind": stream.kind, "shape": stream.shape, "dtype": stream.dtype}
        np.save(_file(folder, stream.path, "time.npy"), workload.times(stream.path))
        if stream.kind in ("video", "depth"):
            with _file(folder, stream.path, "raw").open("wb") as file:
                for picture in workload.frames(stream.path):
                    file.write(np.ascontiguousarray(picture).data)
        elif stream.kind == "array":
            np.save(_file(folder, stream.path, "npy"), workload.signal(stream.path))
    described = {"streams": manifest, "seconds": workload.duration_s, "instruction": INSTRUCTION}
    (folder / _MANIFEST).write_text(json.dumps(described, indent=1))
    return WorkloadFiles(folder)


@dataclass(frozen=True)
class WorkloadFiles:
    """A rendered workload."""

    folder: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Streams with kind, shape and dtype; the duration; the instruction."""
        described: dict[str, Any] = json.loads((self.folder / _MANIFEST).read_text())
        return described

    def paths(self, *kinds: str) -> tuple[str, ...]:
        """The streams of these kinds."""
        streams = self.manifest["streams"]
        return tuple(path for path in streams if streams[path]["kind"] in kinds)

    def shape(self, path: str) -> tuple[int, ...]:
        """The shape of one sample."""
        return tuple(self.manifest["streams"][path]["shape"])

    def dtype(self, path: str) -> np.dtype[Any]:
        """The dtype of a sample."""
        name: str = self.manifest["streams"][path]["dtype"]
        return np.dtype(name)

    def times(self, path: str) -> NDArray[np.int64]:
        """All stamps (T,) of a stream."""
        stamps: NDArray[np.int64] = np.load(_file(self.folder, path, "time.npy"))
        return stamps

    def signal(self, path: str) -> NDArray[Any]:
        """All values (T, ...) of an array stream."""
        values: NDArray[Any] = np.load(_file(self.folder, path, "npy"))
        return values

    def signals(self) -> dict[str, tuple[NDArray[np.int64], NDArray[Any]]]:
        """Stamps and values of every array stream."""
        return {path: (self.times(path), self.signal(path)) for path in self.paths("array")}

    def frames(self, path: str) -> Iterator[NDArray[Any]]:
        """The pictures of a camera, read one by one."""
        shape, dtype = self.shape(path), self.dtype(path)
        size = int(np.prod(shape)) * dtype.itemsize
        with _file(self.folder, path, "raw").open("rb") as file:
            while block := file.read(size):
                yield np.frombuffer(block, dtype).reshape(shape)

    def frame(self, path: str, number: int) -> NDArray[Any]:
        """One picture of a camera."""
        shape, dtype = self.shape(path), self.dtype(path)
        count = int(np.prod(shape))
        offset = number * count * dtype.itemsize
        file = _file(self.folder, path, "raw")
        return np.fromfile(file, dtype, count, offset=offset).reshape(shape)

    def samples(self) -> Iterator[Sample]:
        """(path, time_ns, value) of every stream, in the order in which they were captured."""
        values: dict[str, Iterator[Any]] = {}
        for path in self.manifest["streams"]:
            kind = self.manifest["streams"][path]["kind"]
            if kind in ("video", "depth"):
                values[path] = self.frames(path)
            elif kind == "text":
                values[path] = iter([self.manifest["instruction"]])
            else:
                values[path] = iter(self.signal(path))
        stamps = {path: self.times(path) for path in values}
        owners = [path for path in values for _ in stamps[path]]
        merged = np.concatenate([stamps[path] for path in values])
        for index in np.argsort(merged, kind="stable"):
            path = owners[index]
            yield path, int(merged[index]), next(values[path])

    def rows(self, cameras: tuple[str, ...]) -> Iterator[Sample]:
        """("row", time_ns, values) at the cameras' rate: a picture of each, state and action.

        For formats with one rate: row `i` holds picture `i` of every camera and the newest state
        and action at that time.
        """
        stamps = np.max([self.times(camera) for camera in cameras], axis=0)
        pictures = zip(*(self.frames(camera) for camera in cameras), strict=True)
        newest = {path: self._newest(path, stamps) for path in (STATE, ACTION)}
        for index, shown in enumerate(pictures):
            values = dict(zip(cameras, shown, strict=True))
            values |= {path: held[index] for path, held in newest.items()}
            yield "row", int(stamps[index]), values

    def _newest(self, path: str, stamps: NDArray[np.int64]) -> NDArray[Any]:
        index = np.searchsorted(self.times(path), stamps, side="right") - 1
        return np.asarray(self.signal(path)[np.maximum(index, 0)])


def _file(folder: Path, path: str, suffix: str) -> Path:
    return folder / f"{path.replace('/', '.')}.{suffix}"

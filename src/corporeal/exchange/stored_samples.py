"""Samples that stay where they are stored until somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.schema import Stream


@dataclass(frozen=True, eq=False)
class StoredPictures(Sequence[Any]):
    """Pictures that `read` takes from where they are stored, by their numbers, when asked for."""

    length: int
    read: Callable[[Iterable[int]], Iterator[Any]]

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return self.read(range(self.length))

    def __getitem__(self, selection: Any) -> Any:
        numbers = np.arange(self.length)[selection]
        pictures = list(self.read(np.atleast_1d(numbers).tolist()))
        return pictures if np.ndim(numbers) else pictures[0]


@dataclass(frozen=True, eq=False)
class StoredSignal:
    """Depth or point clouds, each made of a file or bytes by `load` when it is asked for."""

    spec: Stream
    time_ns: NDArray[np.int64]
    stored: Sequence[Any]
    load: Callable[[Any], NDArray[Any]]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> Any:
        """One sample, or several: depth (n, height, width), a list of clouds."""
        numbers = np.arange(len(self))[selection]
        if np.ndim(numbers) == 0:
            return self.load(self.stored[int(numbers)])
        samples = [self.load(self.stored[int(number)]) for number in numbers]
        return np.stack(samples) if samples and self.spec.kind != "points" else samples

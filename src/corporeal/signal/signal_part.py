"""A stretch of a signal that is read only when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Signal
from corporeal.schema import Stream


@dataclass(frozen=True, eq=False)
class SignalPart:
    """Samples `first` to `stop` of a signal, under other `stamps` where they are given."""

    whole: Signal
    first: int
    stop: int
    stamps: NDArray[np.int64] | None = None

    @property
    def spec(self) -> Stream:
        """The stream's own description."""
        return self.whole.spec

    @cached_property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of the part."""
        own = self.whole.time_ns[self.first : self.stop]
        return own if self.stamps is None else self.stamps

    def __len__(self) -> int:
        return self.stop - self.first

    def __getitem__(self, selection: Any) -> Any:
        return self.whole[self.first : self.stop][selection]

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
    """Samples `first` to `stop` of a signal."""

    whole: Signal
    first: int
    stop: int

    @property
    def spec(self) -> Stream:
        """The stream's own description."""
        return self.whole.spec

    @cached_property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of the part."""
        return self.whole.time_ns[self.first : self.stop]

    def __len__(self) -> int:
        return self.stop - self.first

    def __getitem__(self, selection: Any) -> Any:
        return self.whole[self.first : self.stop][selection]

"""An episode that is a list of steps, while it becomes the signals of a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import (
    FOOTAGE_INCOMPLETE,
    INDEX_WRONG,
    ArraySignal,
    Defect,
    DefectCheck,
    Signal,
)
from corporeal.exchange.foreign_stream import array_signal
from corporeal.exchange.steps.steps import StepColumn, files_at, inside
from corporeal.schema import Stream
from corporeal.schema.stream import Group


@dataclass
class StepReading:
    """What is read so far; `time_ns` has the stamp of every step."""

    folder: Path
    index: int
    steps: Sequence[Any]
    time_ns: NDArray[np.int64]
    rate_hz: float
    robot: Embodiment | None
    signals: dict[str, Signal] = field(default_factory=dict)
    complaints: list[Defect] = field(default_factory=list)
    _columns: dict[str, StepColumn] = field(default_factory=dict)

    def add(
        self,
        label: str,
        found: StepColumn,
        *,
        role: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """A quantity in the role that its label, or the word `role`, and its names give it."""
        if len(found):
            self._columns[label] = found
            self.signals[label] = array_signal(
                role or label,
                found.values,
                self.time_ns[found.steps],
                rate_hz=self.rate_hz,
                names=names,
                robot=self.robot,
            )

    def add_stream(
        self,
        label: str,
        found: StepColumn,
        *,
        name: str,
        group: Group,
        names: Sequence[str] | None = None,
        unit: str | Sequence[str] = "1",
        frame: str | None = None,
    ) -> None:
        """A quantity as the stream that it is known to be; names that do not fit are left out."""
        if not len(found):
            return
        shape = found.values.shape[1:]
        spec = Stream(
            name=name,
            group=group,
            dtype="float64",
            shape=shape,
            rate_hz=self.rate_hz,
            components=tuple(names) if names is not None and shape == (len(names),) else None,
            unit=unit if isinstance(unit, str) else tuple(unit),
            frame=frame,
        )
        self._columns[label] = found
        self.signals[label] = ArraySignal(spec, self.time_ns[found.steps], found.values)

    def files(
        self, label: str, *keys: str, spell: Callable[[Path], Path] = lambda path: path
    ) -> tuple[list[Path], NDArray[np.int64]]:
        """The files that steps name and that are there, and their stamps; others are told.

        `spell` gives the name on disk of one in a step.
        """
        named, places = files_at(self.folder, self.steps, *keys)
        # Looked at again under that name: it may be a link that leads elsewhere.
        named = [inside(self.folder, str(spell(path).relative_to(self.folder))) for path in named]
        there = np.array([path.is_file() for path in named], bool)
        found, count = int(there.sum()), len(self.steps)
        if found < len(named):
            first = named[int(np.argmin(there))].name
            gone = f"{len(named) - found} of {len(named)} files are missing, {first} the first"
            self.complain(FOOTAGE_INCOMPLETE, label, gone, found=found, wanted=len(named))
        elif 0 < found < count:
            few = f"{found} files for {count} steps"
            self.complain(FOOTAGE_INCOMPLETE, label, few, found=found, wanted=count)
        kept = [path for path, here in zip(named, there, strict=True) if here]
        return kept, self.time_ns[places[there]] if kept else self.time_ns[:0]

    def complain(
        self,
        check: DefectCheck,
        label: str | None,
        message: str,
        *,
        found: float | None = None,
        wanted: float | None = None,
    ) -> None:
        """Say what is wrong with this episode."""
        self.complaints.append(Defect(check, message, self.index, label, found, wanted))

    def defects(self) -> tuple[Defect, ...]:
        """All that is wrong: what was said, and quantities that some of the steps lack."""
        count = len(self.steps)
        lacking = []
        for label, each in self._columns.items():
            if len(each) != count:
                message = f"{label} is in {len(each)} of {count} steps"
                if each.odd:
                    message += f", and in {each.odd} with other entries"
                lacking.append(
                    Defect(INDEX_WRONG, message, self.index, label, float(len(each)), float(count))
                )
        return (*self.complaints, *lacking)

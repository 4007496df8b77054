"""What a comparison has found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording, Signal
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.table import EpisodeTable, TableCamera
from corporeal.words import counted

EPISODES, ROWS = 4, 3
"""Single pictures and rows are looked at in so many episodes, and so many of each."""
# Floats of 32 bits hold 7 digits.
_MAX_DIFFERENCE = 1e-6
# A picture encoded anew is not the same, but plainly the same scene.
_MIN_PSNR_DB = 26.0
_BLOCK = 4096
_UNITS = {
    "episode boundaries": "episode", "values": "number", "instructions": "episode",
    "outcomes": "episode", "labels": "row", "pictures": "picture", "statistics": "figure",
    "streams": "stream",
}  # fmt: skip
"""What is compared, in the order in which it is told, and what of it is counted."""


@dataclass(frozen=True)
class Evidence:
    """One thing that was compared. `by` names who read the dataset."""

    what: str
    by: str
    result: str
    holds: bool


@dataclass
class DifferenceTally:
    """Differences of one kind, counted over all episodes."""

    compared: int = 0
    wrong: list[str] = field(default_factory=list)

    def compare(
        self, where: str, label: str, wanted: NDArray[Any], got: NDArray[Any] | None
    ) -> None:
        """Count the values of a column."""
        self.compared += wanted.size
        if got is None or got.size != wanted.size:
            self.wrong.append(f"{where} has no {label} of {wanted.size} entries")
            return
        error = difference(wanted, got.reshape(wanted.shape))
        if error > _MAX_DIFFERENCE:
            self.wrong.append(f"{where} differs in {label} by {error:.3g}")

    def check(self, agrees: bool, wrong: str) -> bool:
        """Count one thing that agrees or is wrong."""
        self.compared += 1
        if not agrees:
            self.wrong.append(wrong)
        return agrees

    def evidence(self, what: str, by: str) -> Evidence:
        """All of them in one line: the first that differs, or how many agree."""
        if self.wrong:
            more = f" and {len(self.wrong) - 1} more" if len(self.wrong) > 1 else ""
            return Evidence(what, by, f"{self.wrong[0]}{more}", holds=False)
        one = self.compared == 1
        agree = f"{counted(self.compared, _UNITS[what])} agree{'s' if one else ''}"
        return Evidence(what, by, agree, holds=self.compared > 0)


def spread(count: int, wanted: int) -> list[int]:
    """Numbers from the first to the last, evenly."""
    return sorted({round(float(place)) for place in np.linspace(0, count - 1, min(count, wanted))})


def difference(wanted: NDArray[Any], got: NDArray[Any]) -> float:
    """The largest error relative to the size of the values, infinite for a NaN that moved."""
    a, b = np.asarray(wanted, np.float64), np.asarray(got, np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    scale = np.maximum(1.0, np.abs(np.nan_to_num(a)))
    return float(np.nanmax(np.abs(a - b) / scale, initial=0.0))


def _psnr_db(wanted: NDArray[Any], got: NDArray[Any]) -> float:
    """How alike two pictures are; 99 for the same."""
    error = float(np.mean((np.asarray(wanted, np.float32) - np.asarray(got, np.float32)) ** 2))
    return 99.0 if error == 0 else float(10 * np.log10(255.0**2 / error))


def compare_shown(
    table: EpisodeTable, key: str, shown: Mapping[int, NDArray[Any]], pictures: DifferenceTally
) -> None:
    """Right pictures, and no neighbours of them: one that is off by a frame is a wrong one."""
    camera = table.cameras[key]
    beside = {row: [near for near in (row - 1, row + 1)
                    if 0 <= near < len(table) and camera.numbers[near] != camera.numbers[row]]
              for row in shown}  # fmt: skip
    wanted = _pictures_at(camera, {*shown, *(near for each in beside.values() for near in each)})
    for row, picture in shown.items():
        pictures.compared += 1
        where = f"episode {table.number}, row {row} of {key}"
        if picture.shape != wanted[row].shape:
            pictures.wrong.append(f"{where} is {picture.shape} instead of {wanted[row].shape}")
            continue
        quality = _psnr_db(wanted[row], picture)
        nearer = [near for near in beside[row] if _psnr_db(wanted[near], picture) > quality + 1.0]
        if nearer:
            pictures.wrong.append(f"{where} shows row {nearer[0]}")
        elif quality < _MIN_PSNR_DB:
            pictures.wrong.append(f"{where} is another picture ({quality:.0f} dB)")


def _pictures_at(camera: TableCamera, rows: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """The pictures (height, width, 3) that these rows show, decoded in one pass."""
    ordered = sorted(rows)
    chosen = replace(camera, numbers=camera.numbers[ordered])
    return dict(zip(ordered, pictures_of(chosen), strict=True))


def differences(wanted: Recording, got: Recording) -> Iterator[str]:
    """What a recording that was read back has otherwise, in words; nothing when all is there."""
    where = f"episode {wanted.index}"
    there = {signal.spec.path: signal for signal in got.signals.values()}
    for label, signal in wanted.signals.items():
        path = signal.spec.path
        if not len(signal):
            continue
        if path not in there:
            yield f"{where} has no {path}"
            continue
        if signal.spec.kind == "video" and len(there[path]) < len(signal) and _is_told(label, got):
            continue
        yield from (f"{where}, {path}: {each}" for each in _of_signal(signal, there[path]))
    if wanted.labels != got.labels:
        yield f"{where} has other labels"
    robots = [each.embodiment.hash if each.embodiment else None for each in (wanted, got)]
    if robots[0] != robots[1]:
        yield f"{where} has another robot"


def _is_told(label: str, got: Recording) -> bool:
    """Whether the episode says itself that the source lacks pictures of this camera."""
    problems = got.metadata.get("source_problems")
    return isinstance(problems, list) and any(str(each).startswith(label) for each in problems)


def _of_signal(wanted: Signal, got: Signal) -> Iterator[str]:
    if len(wanted) != len(got):
        yield f"{len(got)} samples instead of {len(wanted)}"
        return
    if not np.array_equal(wanted.time_ns, got.time_ns):
        yield "other stamps"
    if (wanted.spec.unit, wanted.spec.components) != (got.spec.unit, got.spec.components):
        yield f"unit {got.spec.unit} and names {got.spec.components}"
    if wanted.spec.kind == "video":
        yield from _pictures(wanted, got)
        return
    for first in range(0, len(wanted), _BLOCK):
        block = slice(first, first + _BLOCK)
        if not _is_same(wanted[block], got[block]):
            yield f"other values from sample {first} on"
            return


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, list) or isinstance(b, list):
        return len(a) == len(b) and all(_is_same_sample(x, y) for x, y in zip(a, b, strict=True))
    left, right = np.asarray(a), np.asarray(b)
    return left.shape == right.shape and difference(left, right) <= _MAX_DIFFERENCE


def _is_same_sample(a: Any, b: Any) -> bool:
    return bool(a == b) if isinstance(a, str) else bool(np.array_equal(a, b))


def _pictures(wanted: Signal, got: Signal) -> Iterator[str]:
    numbers = spread(len(wanted), ROWS)
    for number, a, b in zip(numbers, wanted[numbers], got[numbers], strict=True):
        height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
        if abs(a.shape[0] - b.shape[0]) > 1 or abs(a.shape[1] - b.shape[1]) > 1:
            yield f"picture {number} is {b.shape} instead of {a.shape}"
        elif _psnr_db(a[:height, :width], b[:height, :width]) < _MIN_PSNR_DB:
            yield f"picture {number} is another one"

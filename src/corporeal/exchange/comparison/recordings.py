"""Compares recordings stream by stream: what a format of many rates must give back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from corporeal.episode.recording import Recording, Signal
from corporeal.exchange.comparison.likeness import MAX_DIFFERENCE, MIN_PSNR_DB, difference, psnr_db

_BLOCK = 4096
_PICTURES = 3


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
    return left.shape == right.shape and difference(left, right) <= MAX_DIFFERENCE


def _is_same_sample(a: Any, b: Any) -> bool:
    return bool(a == b) if isinstance(a, str) else bool(np.array_equal(a, b))


def _pictures(wanted: Signal, got: Signal) -> Iterator[str]:
    numbers = sorted({*np.linspace(0, len(wanted) - 1, _PICTURES).round().astype(int).tolist()})
    for number, a, b in zip(numbers, wanted[numbers], got[numbers], strict=True):
        height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
        if abs(a.shape[0] - b.shape[0]) > 1 or abs(a.shape[1] - b.shape[1]) > 1:
            yield f"picture {number} is {b.shape} instead of {a.shape}"
        elif psnr_db(a[:height, :width], b[:height, :width]) < MIN_PSNR_DB:
            yield f"picture {number} is another one"

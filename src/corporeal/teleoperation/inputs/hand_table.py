"""Gloves and trackers as a CSV whose columns are named by joint and axis."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corporeal.files import refuse_pointer
from corporeal.geometry import Array, normalise
from corporeal.schema import roles
from corporeal.teleoperation.hands.hand_layout import joint_named
from corporeal.teleoperation.hands.hand_rows import (
    HandRows,
    hand_rows,
    operator_inputs,
    require_hand,
)
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    SIDES,
    WRIST,
    InputError,
    InputSource,
    OperatorInput,
    Side,
)
from corporeal.units import SECOND_NS

_MAX_BYTES, _MAX_ROWS = 1 << 30, 2_000_000
_TIMES = {"time_s": 1.0, "time": 1.0, "timestamp_s": 1.0, "timestamp": 1.0, "t": 1.0,
          "time_ms": 1e-3, "timestamp_ms": 1e-3, "time_us": 1e-6, "timestamp_us": 1e-6,
          "time_ns": 1e-9, "timestamp_ns": 1e-9}  # fmt: skip
_HEAD = tuple(f"head_{part}" for part in roles.POSE)
# What a hand's length is in metres, by the unit of its file.
_UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001}
_HAND_M = (0.10, 0.26)
_FEWEST = 4
_WORDS = re.compile("[a-z]{3}", re.IGNORECASE)


def accepts(path: Path) -> bool:
    """Whether the first line of a CSV names joints of hands with their axes, or is nameless."""
    if path.suffix != ".csv":
        return False
    refuse_pointer(path)
    with path.open("rb") as file:
        line = file.readline(1 << 16).decode("utf-8-sig", errors="replace")
    titles = line.strip().split(",")
    return len(_columns(titles)) >= _FEWEST or _is_nameless(titles)


def _is_nameless(titles: list[str]) -> bool:
    """Whether these are as many columns as one or two hands have, none of which says what it is."""
    counts = {3 * hands * points + extra for hands in (1, 2) for points in (20, 21, 25, 26)
              for extra in (0, 1)}  # fmt: skip
    return len(titles) in counts and not any(_WORDS.search(title) for title in titles[1:])


def read(path: Path) -> Iterator[OperatorInput]:
    """The rows. A wrist that never moves is that of a glove, whose place nobody knows."""
    try:
        header, table = _table(path)
        if _is_nameless(header):
            raise ValueError(
                f"{len(header)} columns without names: whose and which each is, nobody knows"
            )
        titles = [title.lower() for title in header]
        name = next((each for each in _TIMES if each in titles), None)
        if name is None:
            raise ValueError(f"no column of times; expected one of {', '.join(_TIMES)}")
        times = table[:, titles.index(name)] * _TIMES[name]
        if not np.isfinite(times).all() or (np.diff(times) < 0).any():
            raise ValueError(f"a {name} that is no number or goes back")
        hands = {side: _hand(header, table, side) for side in _sides(header)}
        head = _head(titles, table)
    except (OSError, ValueError, ArithmeticError, csv.Error) as error:
        raise InputError(
            f"hands {path}, got {error}. Expected columns such as time_s, left_wrist_x, "
            "left_thumb_tip_y, head_x, head_qw: x ahead, y left, z up. Name them in the first line."
        ) from None
    yield from operator_inputs(np.round(times * SECOND_NS).astype(np.int64), head, hands)


def _columns(header: list[str]) -> dict[tuple[Side | None, int, str], int]:
    """Columns by side, joint and axis."""
    found: dict[tuple[Side | None, int, str], int] = {}
    for number, title in enumerate(header):
        name, _, axis = title.strip().replace(".", "_").replace(" ", "_").rpartition("_")
        known = joint_named(name) if axis.lower() in roles.POSITION else None
        if known is not None:
            key = (*known, axis.lower())
            if key in found:
                raise InputError(f"table of hands, got {title!r} twice; expected each once.")
            found[key] = number
    return found


def _sides(header: list[str]) -> list[Side]:
    columns = _columns(header)
    if any(side is None for side, _, _ in columns):
        raise ValueError("joints that do not say of which hand they are; expected left_ or right_")
    return [side for side in SIDES if any(key[0] == side for key in columns)]


def _hand(header: list[str], table: Array, side: Side) -> HandRows:
    joints = np.full((len(table), len(HAND_JOINTS), 3), np.nan)
    for (whose, joint, axis), number in _columns(header).items():
        if whose == side:
            joints[:, joint, "xyz".index(axis)] = table[:, number]
    if not np.isfinite(joints[:, WRIST]).any():
        # A glove without a wrist among its nodes counts from it.
        joints[:, WRIST] = np.where(np.isfinite(joints).any(axis=(1, 2))[:, None], 0.0, np.nan)
    joints *= _metres(joints, side)
    wrists = joints[np.isfinite(joints[:, WRIST]).all(axis=1), WRIST]
    is_relative = not len(wrists) or not np.ptp(wrists, axis=0).any()
    rows = hand_rows(joints, is_relative=is_relative)
    require_hand(rows, side)
    return rows


def _metres(joints: Array, side: Side) -> float:
    """What one of the file's units is in metres, by the size of the hand."""
    reach = np.linalg.norm(joints - joints[:, WRIST : WRIST + 1], axis=2)
    far = np.where(np.isfinite(reach), reach, 0.0).max(axis=1)
    size = float(np.percentile(far[far > 0], 90)) if (far > 0).any() else 0.0
    for scale in _UNITS.values():
        if _HAND_M[0] <= size * scale <= _HAND_M[1]:
            return scale
    raise ValueError(f"a {side} hand {size:g} long; expected that of a person in m, cm or mm")


def _head(titles: list[str], table: Array) -> Array | None:
    if not all(name in titles for name in _HEAD):
        return None
    poses = table[:, [titles.index(name) for name in _HEAD]].copy()
    lost = ~(np.linalg.norm(poses[:, 3:], axis=1) > 0.5)
    poses[:, 3:] = normalise(poses[:, 3:])
    poses[lost] = np.nan
    return np.asarray(poses)


def _table(path: Path) -> tuple[list[str], Array]:
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError("more than 1 GiB")
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = [title.strip() for title in next(rows, [])]
        values: list[list[float]] = []
        for row in rows:
            if len(row) != len(header) or len(values) >= _MAX_ROWS:
                raise ValueError(f"{len(row)} values in line {rows.line_num} of {len(header)}")
            values.append([_number(text) for text in row])
    if not values:
        raise ValueError("a header without rows")
    return header, np.array(values)


def _number(text: str) -> float:
    try:
        return float(text) if text.strip() else float("nan")
    except ValueError:
        return float("nan")


INPUT = InputSource(read, accepts)

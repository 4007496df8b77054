"""Pictures that a reader shows beside those that the rows ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.exchange.comparison.evidence import Tally
from corporeal.exchange.comparison.likeness import MIN_PSNR_DB, psnr_db
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.table import Camera, Table


def compare_shown(
    table: Table, key: str, shown: Mapping[int, NDArray[Any]], pictures: Tally
) -> None:
    """Right pictures, and no neighbours of them: one that is off by a frame is a wrong one."""
    camera = table.cameras[key]
    beside = {row: [near for near in (row - 1, row + 1)
                    if 0 <= near < len(table) and camera.numbers[near] != camera.numbers[row]]
              for row in shown}  # fmt: skip
    wanted = pictures_at(camera, {*shown, *(near for each in beside.values() for near in each)})
    for row, picture in shown.items():
        pictures.compared += 1
        where = f"episode {table.number}, row {row} of {key}"
        if picture.shape != wanted[row].shape:
            pictures.wrong.append(f"{where} is {picture.shape} instead of {wanted[row].shape}")
            continue
        quality = psnr_db(wanted[row], picture)
        nearer = [near for near in beside[row] if psnr_db(wanted[near], picture) > quality + 1.0]
        if nearer:
            pictures.wrong.append(f"{where} shows row {nearer[0]}")
        elif quality < MIN_PSNR_DB:
            pictures.wrong.append(f"{where} is another picture ({quality:.0f} dB)")


def pictures_at(camera: Camera, rows: Collection[int]) -> dict[int, NDArray[np.uint8]]:
    """The pictures (height, width, 3) that these rows show, decoded in one pass."""
    ordered = sorted(rows)
    chosen = replace(camera, numbers=camera.numbers[ordered])
    return dict(zip(ordered, pictures_of(chosen), strict=True))

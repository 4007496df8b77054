"""Contacts on the pads of a gripper as the pressure map that a tactile skin would give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from corporeal.geometry import Array
from corporeal.simulation.gripper import PAD_LENGTH_M, PAD_WIDTH_M
from corporeal.simulation.run import Touch

ROWS, COLUMNS = 16, 16
# Both pads of a hand in one map: the near finger's columns on the left, the far one's right.
PADS = 2
PAD_COLUMNS = COLUMNS // PADS
# A taxel, along and across the pad: 3 mm x 4 mm, as in resistive skins for fingers.
TAXEL_M = (PAD_LENGTH_M / ROWS, PAD_WIDTH_M / PAD_COLUMNS)
TAXEL_M2 = TAXEL_M[0] * TAXEL_M[1]
# A contact is a point to the simulator; a soft skin spreads it over a few taxels.
SPREAD_M = 0.004


def pressure_map(
    place: ArrayLike, force_n: ArrayLike, finger: ArrayLike, *, spread_m: float = SPREAD_M
) -> Array:
    """Pressure (16, 16) in Pa of contacts at `place` (n, 2) in -1..1, pressed by `force_n` (n,).

    Rows run along the pads, columns across: 0 to 7 are the near finger (`finger` 0), 8 to 15 the
    far one. The pressures times the area of a taxel add up to the forces, at the rim too.
    """
    where = np.asarray(place, np.float64).reshape(-1, 2)
    across = _shares(where[:, 0], PAD_COLUMNS, TAXEL_M[1], spread_m)
    along = _shares(where[:, 1], ROWS, TAXEL_M[0], spread_m)
    on_pad = np.asarray(finger, np.int64)[:, None] == np.arange(PADS)
    force = np.einsum("n,np,nr,nc->rpc", np.asarray(force_n, np.float64), on_pad, along, across)
    pressure: Array = force.reshape(ROWS, COLUMNS) / TAXEL_M2
    return pressure


def pressure_maps(
    touch: Touch,
    hand: int,
    *,
    step_s: float,
    steps: int,
    time_s: Array,
    window_s: float,
    spread_m: float = SPREAD_M,
) -> Array:
    """Pressure (T, 16, 16) in Pa of one hand's pads at `time_s` (T,) after the run's first step.

    Each map is the mean over the steps within half of `window_s` of its instant, the time in which
    the skin is read out: contacts of a simulation flicker from step to step, readings do not.
    """
    mine = np.flatnonzero(touch.hand == hand)
    mine = mine[np.argsort(touch.step[mine], kind="stable")]
    step, place, force = touch.step[mine], touch.place[mine], touch.force_n[mine]
    finger = touch.finger[mine] if len(touch.finger) else np.zeros_like(mine)
    first = np.clip(np.ceil((time_s - window_s / 2) / step_s - 1e-6), 0, steps - 1)
    last = np.clip(np.floor((time_s + window_s / 2) / step_s + 1e-6), first, steps - 1)
    begin, end = np.searchsorted(step, first, "left"), np.searchsorted(step, last, "right")
    maps = np.zeros((len(time_s), ROWS, COLUMNS))
    for row in np.flatnonzero(end > begin):
        part = slice(begin[row], end[row])
        pressure = pressure_map(place[part], force[part], finger[part], spread_m=spread_m)
        maps[row] = pressure / (last[row] - first[row] + 1)
    return maps


def _shares(place: Array, taxels: int, taxel_m: float, spread_m: float) -> Array:
    """Shares (n, taxels) of contacts at `place` (n,) along one side; each row adds up to 1."""
    centres = (np.arange(taxels) + 0.5) * taxel_m
    away = centres - (np.clip(place, -1.0, 1.0)[:, None] + 1) / 2 * taxels * taxel_m
    weight = np.exp(-0.5 * (away / spread_m) ** 2)
    shares: Array = weight / weight.sum(axis=1, keepdims=True)
    return shares

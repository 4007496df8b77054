"""What fits better in another way: columns exchanged, upside down or in degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.quality.evidence.columns import DEGREES
from corporeal.quality.evidence.joint_response import FLOOR, MOVING, Response
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array

# Logarithms of how much smaller the error gets when the claim is true, for each column. On clean
# recordings no exchange gains more than 0.5, and no change of sign more than 0.3.
MIN_EXCHANGE = 0.75
# Where joints follow closely (floor below this) half of the clean recordings' margin is enough.
CLOSE = 0.012
MIN_EXCHANGE_CLOSE = 0.5
MIN_FLIP = 0.8
# An order other than the one stated must be worth this much per column to be looked at.
DOUBT = 0.35

Kind = Literal["exchanged", "flipped", "degrees", "scaled", "shifted"]


@dataclass(frozen=True)
class Claim:
    """Columns of two streams that fit in another way than as they stand.

    `columns` are numbers of the comparison's columns; `partners` are those whose action each of
    them follows. `stream` is 1 if the action must be the odd one, 0 if the state, None if unknown.
    """

    kind: Kind
    columns: tuple[int, ...]
    partners: tuple[int, ...]
    before: float
    after: float
    factor: float = 1.0
    stream: int | None = None


def claims_of(answer: Response) -> tuple[Claim, ...]:
    """Everything that fits better otherwise; each column is in one claim at most."""
    scaled = _scaled(answer)
    taken = {column for claim in scaled for column in claim.columns}
    # Where most of what moves is so much larger, the stream is in degrees and all else follows.
    small, large = np.sort(_levels(answer), axis=0)
    told = small > answer.least
    if taken and np.median(large[told] / small[told]) > DEGREES / 2:
        return scaled
    exchanged = _exchanged(answer, taken)
    taken |= {column for claim in exchanged for column in claim.columns}
    return (*scaled, *exchanged, *_flipped(answer, taken))


def _levels(answer: Response) -> tuple[Array, Array]:
    """Root mean square of each state column and each action column."""
    return (
        np.sqrt((answer.positions**2).mean(axis=0)),
        np.sqrt((answer.targets**2).mean(axis=0)),
    )


def _scaled(answer: Response) -> tuple[Claim, ...]:
    """Columns that are 57.3 times the other stream's."""
    ours, theirs = _levels(answer)
    before = np.diagonal(answer.error)
    found = []
    for stream, factor, small, large in (
        (0, DEGREES, theirs, ours),
        (1, 1 / DEGREES, ours, theirs),
    ):
        # Both in radians: the error of the larger one after it is brought down.
        after = np.diagonal(answer.errors(factor)) / (DEGREES if stream == 0 else 1.0)
        ratio = large / np.maximum(small, 1e-9)
        fits = (ratio > 0.6 * DEGREES) & (ratio < 1.6 * DEGREES)
        fits &= (after < 0.35 * small) & (small > answer.least)
        found += [
            Claim(
                "degrees", (int(c),), (int(c),), float(before[c]), float(after[c]), factor, stream
            )
            for c in np.flatnonzero(fits)
        ]
    return tuple(found)


def gains(answer: Response) -> Array:
    """Log gain (D, D) of letting state i follow action j: from its error, and from its rhythm."""
    floor = answer.floor
    own = np.diagonal(answer.error)
    level = np.log((own[:, None] + floor) / (answer.error + floor))
    spread, asked = answer.spread
    moving = (spread > MOVING * answer.least)[:, None] & (asked > MOVING * answer.least)[None]
    moving &= moving.diagonal()[:, None] & moving.diagonal()[None]
    away = 1.0 - np.clip(answer.correlation, 0.0, 1.0) + 0.1
    rhythm = np.log(np.diagonal(away)[:, None] / away)
    return np.asarray(level + np.where(moving, 0.5 * rhythm, 0.0))


def _exchanged(answer: Response, taken: set[int]) -> tuple[Claim, ...]:
    """Cycles of columns that fit each other's actions, nearly always pairs."""
    gain = gains(answer)
    needed = MIN_EXCHANGE_CLOSE if answer.floor < CLOSE * answer.least / FLOOR else MIN_EXCHANGE
    if float(gain.max(initial=0.0)) <= needed:
        return ()
    blocked = np.zeros(len(gain), bool)
    blocked[list(taken)] = True
    cost = -gain + DOUBT * ~np.eye(len(gain), dtype=bool)
    cost[blocked] = cost[:, blocked] = 9.0
    cost[blocked, blocked] = 0.0
    _, partner = scipy.optimize.linear_sum_assignment(cost)
    flip = flip_gain(answer)
    against = _against(answer)
    found = []
    for cycle in _pairs_first(_cycles(partner), gain, needed, partner):
        others = [int(partner[column]) for column in cycle]
        each = gain[cycle, others]
        # Two columns that are each upside down can look like an exchange of a left and a right.
        better = each.sum() + 0.2 >= flip[cycle].sum()
        follows = answer.error[cycle, others] < 5 * answer.floor
        better &= bool((follows | ~against[cycle]).all())
        if each.mean() > needed and each.min() > 0.0 and better:
            before = float(np.diagonal(answer.error)[cycle].max())
            after = float(answer.error[cycle, others].max())
            found.append(Claim("exchanged", tuple(cycle), tuple(others), before, after))
    return tuple(found)


def _cycles(partner: NDArray[np.int64]) -> list[list[int]]:
    """The cycles of a permutation that are longer than one."""
    seen: set[int] = set()
    found = []
    for start in range(len(partner)):
        cycle = []
        column = start
        while column not in seen:
            seen.add(column)
            cycle.append(column)
            column = int(partner[column])
        if len(cycle) > 1:
            found.append(cycle)
    return found


def _pairs_first(
    cycles: list[list[int]], gain: Array, needed: float, partner: NDArray[np.int64]
) -> list[list[int]]:
    """The cycles, with a longer one replaced by a pair of it that explains as much per column."""
    found = []
    for cycle in cycles:
        both = np.minimum(gain, gain.T)[np.ix_(cycle, cycle)]
        first, second = np.unravel_index(both.argmax(), both.shape)
        pair = [cycle[first], cycle[second]]
        if len(cycle) > 2 and both.max() > max(needed, 0.8 * gain[cycle, partner[cycle]].mean()):
            partner[pair] = pair[::-1]
            found.append(pair)
        else:
            found.append(cycle)
    return found


def flip_gain(answer: Response) -> Array:
    """Log gain (D,) of turning each state column round."""
    floor = answer.floor
    gain: Array = np.log(
        (np.diagonal(answer.error) + floor) / (np.diagonal(answer.errors(-1.0)) + floor)
    )
    return gain


def _against(answer: Response) -> Flags:
    """Columns (D,) that clearly move against their own action, whatever their scale."""
    spread, asked = answer.spread
    moving = (spread > MOVING * answer.least) & (asked > MOVING * answer.least)
    own, other = np.diagonal(answer.correlation), np.diagonal(answer.opposition)
    return np.asarray(moving & (other > 0.85) & (own < 0.3))


def _flipped(answer: Response, taken: set[int]) -> tuple[Claim, ...]:
    gain = flip_gain(answer)
    gain[_against(answer)] = np.inf
    before, after = np.diagonal(answer.error), np.diagonal(answer.errors(-1.0))
    return tuple(
        Claim("flipped", (int(c),), (int(c),), float(before[c]), float(after[c]), -1.0)
        for c in np.flatnonzero(gain > MIN_FLIP)
        if int(c) not in taken
    )

"""Tactile maps: which streams are some, how they lie, and what range their values have."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import BaseModel

from corporeal.episode.file import StreamReader
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep

ROUTER = APIRouter(tags=["tactile"])
_WORDS = ("tactile", "taxel", "touch", "pressure", "skin")
_UNITS = ("Pa", "N")
_MOST_VALUES = 4096
_SAMPLED = 400
_TOUCH = 8.0
"""How many times the spread of the noise a taxel must show to be touched."""
_FEWEST_TOUCHES = 2


class TactileMap(BaseModel):
    """A map of `height` x `width` taxels; `depth` numbers each (3: a force vector).

    `low` and `high` bound the colours: what the taxels have at rest, and the peak of the firmest
    touches, single leaps of a sensor left out. `touched` is whether anything presses on it.
    """

    stream: str
    name: str
    height: int
    width: int
    depth: int
    unit: str
    rate_hz: float | None
    samples: int
    low: float
    high: float
    touched: bool


@ROUTER.get("/episodes/{episode_id}/tactile")
def tactile(episode_id: str, studio: StudioDep, _: Reader) -> list[TactileMap]:
    """Every tactile map of the episode; their samples are asked for as motion."""
    with studio.shelf.episode(episode_id) as episode:
        maps = [_map(episode[path]) for path in episode if episode[path].spec.kind == "array"]
    return [each for each in maps if each is not None]


def _map(reader: StreamReader) -> TactileMap | None:
    """What the stream is as a map; None where it is not one."""
    spec = reader.spec
    shape, unit = spec.sizes, spec.units[0]
    named = any(word in spec.name for word in _WORDS)
    if not (named or (len(shape) == 2 and unit in _UNITS)) or not len(reader):
        return None
    layout = _layout(shape)
    if layout is None or spec.width > _MOST_VALUES:
        return None
    numbers = np.unique(np.linspace(0, len(reader) - 1, _SAMPLED).astype(np.int64))
    values = np.asarray(reader[numbers], np.float64).reshape(len(numbers), -1, layout[2])
    low, high, touched = _range(
        np.linalg.norm(values, axis=2) if layout[2] > 1 else values[:, :, 0]
    )
    return TactileMap(
        stream=spec.path, name=spec.name, height=layout[0], width=layout[1], depth=layout[2],
        unit=unit, rate_hz=spec.rate_hz, samples=len(reader), low=low, high=high,
        touched=touched,
    )  # fmt: skip


def _range(sizes: NDArray[np.float64]) -> tuple[float, float, bool]:
    """The values (samples, taxels) between which the colours change, and whether one is touched.

    Noise must stay dark, and a single leap of a sensor must not darken all else.
    """
    known = np.where(np.isfinite(sizes), sizes, 0.0)
    peaks = known.max(axis=1)
    calm = known[peaks <= np.median(peaks)]
    rest, spread = float(np.median(calm)), float(calm.std())
    # Taxels at rest are near zero: a scale from zero up says more than one from the noise up.
    low = 0.0 if 0 <= rest <= 5 * spread else rest
    touches = peaks[peaks > rest + _TOUCH * spread]
    high = low + 5 * _TOUCH * spread
    if len(touches):
        high = max(high, float(np.percentile(touches, 90)))
    # A leap of one sample in hundreds is no touch.
    return low, high if high > low else low + 1.0, len(touches) >= _FEWEST_TOUCHES


def _layout(shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Height, width and numbers per taxel; a row of taxels is a map of one line."""
    if len(shape) == 1 and shape[0] >= 2:
        return 1, shape[0], 1
    if len(shape) == 2 and min(shape) >= 2:
        return shape[0], shape[1], 1
    if len(shape) == 3 and shape[2] <= 4:
        return shape[0], shape[1], shape[2]
    return None

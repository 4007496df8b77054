"""A dataset format: how it is recognised, how it is read, and what it cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corporeal.embodiment.embodiment import Embodiment
from corporeal.episode.recording import Dataset
from corporeal.errors import EpisodeError
from corporeal.registry import plugins

PACKAGE = "corporeal.exchange.formats"


@dataclass(frozen=True)
class Format:
    """One format. `recognises` looks at names and a few bytes; it never raises.

    `read(path, robot=...)` gives the dataset. `loses` names what an episode has and the format
    has no place for.
    """

    recognises: Callable[[Path], bool]
    read: Callable[..., Dataset]
    title: str
    loses: tuple[str, ...] = ()


@cache
def formats() -> dict[str, Format]:
    """Every format by name."""
    return plugins(PACKAGE, "FORMAT", Format)


def open_dataset(path: Path | str, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset at a path, whatever its format; `robot` takes the place of the one it names."""
    path = Path(path)
    if not path.exists():
        raise EpisodeError(f"{path}: does not exist. Give the path of a dataset.")
    for each in formats().values():
        if each.recognises(path):
            return each.read(path, robot=robot)
    known = ", ".join(f"{name} ({each.title})" for name, each in formats().items())
    raise EpisodeError(f"{path}: not a dataset of a known format; expected one of: {known}.")

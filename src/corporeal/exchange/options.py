"""What an export is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corporeal.errors import CorporealError

VIEWS = ("flat", "hierarchical")
NORMALISES = ("none", "limits", "quantiles")
NO_ACTION = ("none",)
"""The action of a dataset that has none on purpose."""
_ROWS = (
    "rate_hz", "view", "normalise", "image_size", "state", "action", "include", "exclude", "sides",
)  # fmt: skip


@dataclass(frozen=True)
class ExportOptions:
    """How episodes become a dataset, named as the options of `corporeal export` are.

    `rate_hz` is that of the rows: by default the cameras', else the commands'. `state` and
    `action` name the streams that make them up, one after the other, by default joints and hands;
    an `action` of NO_ACTION is none at all. `view` is one of VIEWS, `normalise` one of
    NORMALISES. `include` adds streams of the group
    debug, which a deployed policy does not have; `exclude` leaves streams out. `image_size` is
    that of square pictures, by default as recorded. `sides` keeps beside the dataset what
    one rate cannot carry.

    With `seen_only` every stretch in which all was seen that the robot follows becomes an episode
    of its own, and the rest is left out.

    `episodes` are the numbers of those to write, by default all. `weights` by episode id are kept
    beside the dataset. `on` names the runner, whose workers must all see the target folder.
    """

    rate_hz: float | None = None
    view: str = "flat"
    normalise: str = "none"
    image_size: int | None = None
    state: tuple[str, ...] = ()
    action: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sides: bool = True
    seen_only: bool = False
    episodes: tuple[int, ...] | None = None
    weights: Mapping[str, float] | None = None
    on: str = "processes"
    jobs: int = 1

    def __post_init__(self) -> None:
        if self.rate_hz is not None and not 0 < self.rate_hz <= 1e4:
            raise CorporealError(f"rate, got {self.rate_hz}; expected 0 to 10000 Hz.")
        if self.image_size is not None and (
            self.image_size % 2 or not 16 <= self.image_size <= 4096
        ):
            raise CorporealError(
                f"image size, got {self.image_size}; expected an even number from 16 to 4096."
            )
        for what, value, known in (
            ("view", self.view, VIEWS),
            ("normalise", self.normalise, NORMALISES),
        ):
            if value not in known:
                raise CorporealError(f"{what}, got {value!r}; expected one of: {', '.join(known)}.")

    @property
    def without_action(self) -> bool:
        """Whether the dataset is to have no action."""
        return self.action == NO_ACTION

    def to_json(self) -> dict[str, Any]:
        """What decides how a row looks, as JSON; not which episodes there are, nor who works."""
        cut = {"seen_only": True} if self.seen_only else {}
        return {**{name: getattr(self, name) for name in _ROWS}, **cut}

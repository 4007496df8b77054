"""The selection document: which demonstrations are trained on, how often, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from corporeal.schema import Document, Part

Ratio = Annotated[float, Field(gt=0, le=1)]


class SelectedEpisode(Part):
    """What was decided of one episode; weight 0 leaves it out."""

    weight: float = Field(ge=0, description="how often it is drawn, 1 on the average")
    rank: float | None = Field(default=None, ge=0, le=1, description="1 is the best of its task")
    reason: str = Field(max_length=600)
    source: str | None = Field(default=None, max_length=1024)
    copy_of: str | None = Field(default=None, description="id of the one that was kept instead")


class CurationSelection(Document):
    """A choice among demonstrations, with a weight and a reason for each of them.

    It changes no episode: a release is made of it, an export takes its weights, and another
    version may choose differently.
    """

    kind: ClassVar[str] = "selection"

    of: str = Field(max_length=4096, description="the query or the path that it was made of")
    methods: tuple[str, ...]
    refused: dict[str, str] = Field(default={}, description="methods that could not say, and why")
    keep: Ratio
    weighted: bool = False
    seed: int = 0
    made_by: str | None = None
    software: str | None = None
    episodes: dict[str, SelectedEpisode]

    @property
    def kept(self) -> tuple[str, ...]:
        """Ids of those that are trained on, in order."""
        return tuple(sorted(name for name, each in self.episodes.items() if each.weight > 0))

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of every episode, by id."""
        return {name: each.weight for name, each in self.episodes.items()}

"""Options that the commands of exchange share."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from corporeal.cli.command import argument, option
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions
from corporeal.exchange.training import read_weights

_DATA = "Files, folders, datasets, bags; with -w: episodes by number, id or query; hf://OWNER/NAME."
Data = Annotated[list[Path] | None, argument(_DATA)]
SomeData = Annotated[list[Path], argument(_DATA)]
NO_WEIGHTS = "none"
CORES = os.cpu_count() or 1
Out = Annotated[Path, option("A new folder; nothing is overwritten.", "--out", "-o")]
Robot = Annotated[
    str | None,
    option("The robot: built-in, its URDF, MJCF or document; none: columns as they are named."),
]
Verify = Annotated[bool, option("Read the result back and compare it, with its own library too.")]
Python = Annotated[str | None, option("A Python that has the format's own library, for the proof.")]
Jobs = Annotated[int, option("Processes.", min=1)]
On = Annotated[str, option("Runner: serial, processes or ray.")]
FormatName = Annotated[
    str, option("lerobot, rlds, robomimic, zarr, mcap, rrd, ...", "--format", "-f")
]
Rate = Annotated[float | None, option("Rows per second; by default the cameras'.")]
SourceRate = Annotated[
    float | None,
    option("Samples per second of a source that does not state them, such as a motion CSV."),
]
ViewName = Annotated[str, option("flat, or hierarchical: with the mode of every row.")]
HierarchyName = Annotated[
    str | None,
    option("A dataset for each policy of a hierarchy: loco_manipulation, end_effectors or a file."),
]
Normalised = Annotated[str, option("limits (of the joints), quantiles (1st to 99th) or none.")]
ImageSize = Annotated[int | None, option("Square pictures of this size, such as 224.")]
State = Annotated[list[str] | None, option("Streams of the state, such as a,b; repeatable.")]
Action = Annotated[
    list[str] | None,
    option("Streams of the action, such as a,b; none for a dataset without; repeatable."),
]
Include = Annotated[list[str] | None, option("A stream of the group debug to add; repeatable.")]
Exclude = Annotated[list[str] | None, option("A stream to leave out; repeatable.")]
Weights = Annotated[
    Path | None,
    option("Sampling weights from what score --json printed; by default a release's; none."),
]
RecipeFile = Annotated[
    Path | None, option("A recipe document: names, groups and delays of streams.")
]
Smoke = Annotated[bool, option("Train on the first 100 episodes before the rest.", "--smoke-train")]
SeenOnly = Annotated[
    bool, option("Leave out stretches in which hands that the robot follows were not seen.")
]
Sides = Annotated[bool, option("Keep full-rate sidecar files.")]
SplitName = Annotated[list[str] | None, option("A split of the release; repeatable.", "--split")]
Push = Annotated[
    str | None,
    option("Put it on the Hugging Face hub as OWNER/NAME once it is proved.", metavar="NAME"),
]
Public = Annotated[bool, option("With --push: a new dataset that everybody may read.", "--public")]
Chosen = Annotated[str | None, option("Numbers of episodes, such as 0-9,12.", "--episodes")]


@dataclass(frozen=True)
class EditChoices:
    """What people choose of every edit of a dataset."""

    verify: Verify = True
    python: Python = None
    jobs: Jobs = CORES


@dataclass(frozen=True)
class ExportChoices:
    """What people choose of an export: the options that export and convert have in common."""

    format_name: FormatName = "lerobot"
    rate: Rate = None
    source_rate: SourceRate = None
    view: ViewName = "flat"
    hierarchy: HierarchyName = None
    normalise: Normalised = "none"
    image_size: ImageSize = None
    state: State = None
    action: Action = None
    include: Include = None
    exclude: Exclude = None
    episodes: Chosen = None
    weights: Weights = None
    recipe: RecipeFile = None
    root: WorkspaceOption = None
    split: SplitName = None
    robot: Robot = None
    smoke: Smoke = False
    sides: Sides = True
    seen_only: SeenOnly = False
    verify: Verify = True
    python: Python = None
    push: Push = None
    public: Public = False
    on: On = "processes"
    jobs: Jobs = CORES

    @property
    def options(self) -> ExportOptions:
        """Those of the room that exports."""
        return ExportOptions(
            rate_hz=self.rate,
            view=self.view,
            normalise=self.normalise,
            image_size=self.image_size,
            state=_split_names(self.state),
            action=_split_names(self.action),
            include=tuple(self.include or ()),
            exclude=tuple(self.exclude or ()),
            sides=self.sides,
            seen_only=self.seen_only,
            episodes=tuple(numbers_of(self.episodes)) if self.episodes is not None else None,
            weights=self._given_weights,
            on=self.on,
            jobs=self.jobs,
        )

    @property
    def _given_weights(self) -> dict[str, float] | None:
        if self.weights is None or str(self.weights) == NO_WEIGHTS:
            return None
        return read_weights(self.weights)


def _split_names(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Names that are given one by one, or several with commas between them."""
    parts = [part.strip() for text in texts or () for part in text.split(",")]
    return tuple(part for part in parts if part)


def numbers_of(text: str) -> list[int]:
    """`0-2,7` as 0, 1, 2, 7."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise CorporealError(f"episodes, got {text!r}; expected numbers such as 0-9,12.")
        numbers.extend(range(first, last + 1))
    return list(dict.fromkeys(numbers))

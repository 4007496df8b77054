"""Opens what a user points at: episodes, datasets, and bags on their way to episodes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from corporeal import release
from corporeal.cli.output import stderr
from corporeal.cli.workspaces import enter_workspace
from corporeal.embodiment import open_robot
from corporeal.episode.file import count_sorted_copies
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange.editing import Recipe, follow_recipe
from corporeal.interface import dataset_opener

NO_ROBOT = "none"


def opener_of(
    paths: Sequence[Path],
    robot: str | None,
    stack: ExitStack,
    *,
    root: Path | None = None,
    splits: Sequence[str] = (),
    rate_hz: float | None = None,
) -> Callable[[], Dataset]:
    """A function that opens the paths as one dataset; other processes can call it, too.

    Bags are recorded into episodes first, in a temporary folder that lives as long as `stack`.
    A single name that is no path is a release of the workspace, NAME@VERSION. The robot `none`
    leaves columns as the source names them.
    """
    robot = None if robot == NO_ROBOT else robot
    if (reference := release_named(paths, root)) is not None:
        return _release_opener(reference, robot, root, splits)
    if splits:
        raise CorporealError("--split is for releases; expected NAME@VERSION instead of a path.")

    def make_folder() -> Path:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="corporeal-bag-")))

    if rate_hz is not None and not 0.001 <= rate_hz <= 1e5:
        raise CorporealError(f"--source-rate, got {rate_hz:g}; expected 0.001 to 100,000 Hz.")
    for path in paths:
        _tell_copies(path)
    return dataset_opener(paths, robot, make_folder, rate_hz)


def release_named(paths: Sequence[Path], root: Path | None) -> str | None:
    """The release that people mean, NAME or NAME@VERSION; None when they mean paths."""
    is_release = len(paths) == 1 and not paths[0].exists() and (root or "@" in paths[0].name)
    return str(paths[0]) if is_release else None


def _tell_copies(path: Path) -> None:
    """Say aloud what a folder holds twice, and is looked at once."""
    copies = count_sorted_copies(path) if path.is_dir() else 0
    if copies:
        copied = "1 copy was" if copies == 1 else f"{copies} copies were"
        stderr().print(f"{path}: {copied} left out that check --sort made of the others")


def _release_opener(
    reference: str, robot: str | None, root: Path | None, splits: Sequence[str]
) -> Callable[[], Dataset]:
    model = open_robot(robot) if robot is not None else None
    with enter_workspace(root, "export") as (workspace, _):
        return release.reading.release_opener(
            workspace, reference, splits=splits or None, robot=model
        )


def with_recipe(opener: Callable[[], Dataset], path: Path | None) -> Callable[[], Dataset]:
    """The same, with every episode changed as a recipe document says."""
    if path is None:
        return opener
    return partial(_followed, opener, Recipe.load(path))


def _followed(opener: Callable[[], Dataset], recipe: Recipe) -> Dataset:
    return follow_recipe(opener(), recipe)

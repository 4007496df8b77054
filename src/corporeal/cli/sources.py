"""Opens what a user points at: episodes, datasets, and bags on their way to episodes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

from corporeal import hub, release
from corporeal.cli.command import argument
from corporeal.cli.output import stderr
from corporeal.cli.workspaces import enter_workspace
from corporeal.embodiment import open_robot
from corporeal.episode.file import count_sorted_copies
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.exchange.editing import Recipe, follow_recipe
from corporeal.interface import bag_folder, dataset_opener

NO_ROBOT = "none"
EpisodeWord = Annotated[
    Path, argument("An episode file (.h5); with -w: a number, an id or a query.", "EPISODE")
]
_RELEASE = re.compile(r"[a-z0-9_]+@[^ ]+")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MEANS_EPISODES = re.compile(r"^#?[0-9]+$|[=<>~]|^(has|in|not) ")
"""Words that mean episodes of the workspace that is here, without -w."""


def opener_of(
    paths: Sequence[Path],
    robot: str | None,
    stack: ExitStack,
    *,
    root: Path | None = None,
    splits: Sequence[str] = (),
    rate_hz: float | None = None,
    movies: bool = True,
) -> Callable[[], Dataset]:
    """A function that opens the paths as one dataset; other processes can call it, too.

    Bags are recorded into episodes first, in a temporary folder that lives as long as `stack`.
    A word that is no path is a release of the workspace, NAME@VERSION, or episodes of it: a number,
    an id, a query. `hf://OWNER/NAME` is fetched from the hub, without `movies` only its tables. The
    robot `none` leaves columns as the source names them.
    """
    robot = None if robot == NO_ROBOT else robot
    if (reference := release_named(paths, root)) is not None:
        return _release_opener(reference, robot, root, splits)
    if splits:
        raise CorporealError("--split is for releases; expected NAME@VERSION instead of a path.")

    if rate_hz is not None and not 0.001 <= rate_hz <= 1e5:
        raise CorporealError(f"--source-rate, got {rate_hz:g}; expected 0.001 to 100,000 Hz.")
    fetched = [_fetch(str(path), movies) for path in paths if hub.is_hub_address(str(path))]
    there = iter(fetched)
    paths = [next(there).folder if hub.is_hub_address(str(path)) else path for path in paths]
    paths = local_paths(paths, root, stack)
    for path in paths:
        _tell_copies(path)
    opener = dataset_opener(paths, robot, partial(bag_folder, stack), rate_hz)
    left = tuple(name for each in fetched for name in each.left)
    return partial(_without_movies, opener, left) if left else opener


def _without_movies(opener: Callable[[], Dataset], left: tuple[str, ...]) -> Dataset:
    return hub.without_movies(opener(), left)


def _fetch(address: str, movies: bool) -> hub.HubDataset:
    with stderr().status("asking the hub") as status:
        fetched = hub.fetch(address, movies=movies, on_status=status.update)
    if fetched.is_offline:
        stderr().print(f"the hub does not answer: {address} is {fetched.revision[:12]}, "
                       "as it was fetched before", style="yellow")  # fmt: skip
    return fetched


def release_named(paths: Sequence[Path], root: Path | None) -> str | None:
    """The release that people mean, NAME@VERSION or with -w NAME; None when they mean others."""
    if len(paths) != 1 or paths[0].exists():
        return None
    word = str(paths[0])
    if _RELEASE.fullmatch(word):
        return word
    if root is None or not _NAME.fullmatch(word):
        return None
    with enter_workspace(root, "read") as (workspace, _):
        names = {each.name for each in release.reading.list_releases(workspace)}
    return word if word in names else None


def local_paths(words: Sequence[Path], root: Path | None, stack: ExitStack) -> list[Path]:
    """Paths as they are, and episodes of the workspace as files that live as long as `stack`."""
    paths: list[Path] = []
    for word in words:
        if not word.exists() and (root is not None or _MEANS_EPISODES.search(str(word))):
            paths += _episode_files(str(word), root, stack)
        else:
            paths.append(word)
    return paths


def episode_file(word: Path, root: Path | None, stack: ExitStack) -> Path:
    """The one file that is meant, by its path or as an episode of the workspace."""
    paths = local_paths([word], root, stack)
    if len(paths) != 1:
        raise CorporealError(f"episode, got {word}, which are {len(paths)}; expected one.")
    return paths[0]


def _episode_files(word: str, root: Path | None, stack: ExitStack) -> list[Path]:
    """The episodes as files under the names that they came in with."""
    # The catalogue's libraries take as long to load as small sets to check: whoever asks it pays.
    from corporeal.cli.label_proposals import find_episodes

    with enter_workspace(root, "export") as (workspace, actor):
        with workspace.database.read() as connection:
            rows = find_episodes(connection, [word], by=actor)
        copies = release.reading.local_copies(workspace)
        if not rows:
            raise CorporealError(
                f"{word!r} is no path, and no episode or release of {workspace.root}. "
                "See what there is with: corporeal ls."
            )
        if not workspace.store.is_local and sum(row.bytes for row in rows) > copies.limit:
            raise CorporealError(
                f"{word!r}, got {len(rows)} episodes, more than the cache holds; expected fewer. "
                "Release them, and name the release."
            )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="corporeal-")))
        links = []
        for row in rows:
            (folder / row.name).mkdir()
            link = folder / row.name / Path(row.file or row.id).name
            link.symlink_to(copies.path(row.hash, row.bytes).resolve())
            links.append(link)
    return links


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

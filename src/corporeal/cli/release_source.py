"""What an export of a release takes along from the catalogue: its card, and weights by scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corporeal.cli.output import show_progress
from corporeal.cli.sources import release_named
from corporeal.cli.workspaces import enter_workspace
from corporeal.exchange import ExportResult
from corporeal.exchange.training import weights_from_scores
from corporeal.release.card import write_card
from corporeal.release.reading import check_members, find_release, load_release


@dataclass(frozen=True)
class ReleaseSource:
    """A release that is exported: the folder of its workspace, NAME@VERSION, and its episodes."""

    root: Path | None
    reference: str
    episodes: int

    def weigh(self) -> dict[str, float] | None:
        """Sampling weights of its selection, else by the scores in the manifest; None without."""
        with enter_workspace(self.root, "export") as (workspace, _):
            members = load_release(workspace, self.reference).episodes
        if any(each.weight is not None for each in members):
            return {each.id: 0.0 if each.negative else each.weight or 0.0 for each in members}
        scores = {each.id: each.score for each in members}
        if all(score is None for score in scores.values()):
            return None
        failed = [each.id for each in members if each.negative or each.success is False]
        return weights_from_scores(scores, failed=failed)

    def check(self, splits: Sequence[str] | None) -> int:
        """Hold the objects against the manifest before anything is written; how many there are.

        What is exported is compared with them, so they come first. Raises if one differs.
        """
        with (
            enter_workspace(self.root, "export") as (workspace, _),
            show_progress("checking objects") as bar,
        ):
            return check_members(workspace, self.reference, splits=splits or None,
                                 on_start=bar.start, on_episode=bar.advance)  # fmt: skip

    def describe(self, exported: ExportResult) -> None:
        """Write the card and the Croissant metadata of the release into an exported dataset."""
        there = len({episode.origin for episode in exported.episodes})
        part = f"This folder has {there} of the {self.episodes} episodes of the release."
        with enter_workspace(self.root, "export") as (workspace, _):
            write_card(
                workspace,
                self.reference,
                exported.out,
                part=part if there < self.episodes else None,
            )


def release_source(paths: Sequence[Path], root: Path | None) -> ReleaseSource | None:
    """The release that people point at; None when they point at files."""
    named = release_named(paths, root)
    if named is None:
        return None
    with enter_workspace(root, "export") as (workspace, _):
        release = find_release(workspace, named)
    return ReleaseSource(root, release.reference, release.episodes)

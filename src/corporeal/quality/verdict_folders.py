"""Sorts judged episodes into accepted, quarantined and failures; nothing is thrown away."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corporeal.episode.file import VERDICTS
from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.quality.check import Verdict, present_name
from corporeal.quality.inspection import EpisodeReport, Report

FOLDERS: dict[Verdict, str] = {
    "accepted": "accepted",
    "quarantined": "quarantined",
    "failed": "failures",
}


@dataclass(frozen=True)
class SortedEpisode:
    """One line of the index: an episode, its verdict and the reasons for it."""

    id: str
    path: str
    source: str
    verdict: Verdict
    reasons: tuple[str, ...]
    findings: tuple[dict[str, Any], ...]
    policy: str
    outcome: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The line of the index."""
        return self.__dict__ | {"reasons": list(self.reasons), "findings": list(self.findings)}


def sort_into(report: Report, folder: Path) -> list[SortedEpisode]:
    """Link every episode file under its verdict and write the index beside them.

    A file that cannot be linked is copied. Sorting again moves an episode whose verdict has
    changed: what lies in the folder is always what the index says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = {entry.source: entry for entry in _known(folder)}
    for episode in report.episodes:
        source = os.path.relpath(episode.source.resolve(), folder.resolve())
        old = known.pop(source, None)
        if old is not None:
            (folder / old.path).unlink(missing_ok=True)
        known[source] = _place(episode, report, folder)
    entries = sorted(known.values(), key=lambda each: each.path)
    text = "".join(json.dumps(each.to_json(), ensure_ascii=False) + "\n" for each in entries)
    atomic_write(folder / VERDICTS, text)
    return entries


def _place(episode: EpisodeReport, report: Report, folder: Path) -> SortedEpisode:
    source = episode.source.resolve()
    room = folder / FOLDERS[episode.verdict]
    room.mkdir(exist_ok=True)
    target = _free(room / source.name)
    if source.is_file():
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
    counting = [each for each in episode.findings if each.severity != "note"]
    synopsis = episode.synopsis
    return SortedEpisode(
        id=episode.id,
        path=str(target.relative_to(folder)),
        source=os.path.relpath(source, folder.resolve()),
        verdict=episode.verdict,
        reasons=tuple(dict.fromkeys(each.check for each in counting)),
        findings=tuple(each.to_json() for each in counting),
        policy=report.policy.reference,
        outcome=None if synopsis is None else synopsis.facts.outcome.failure,
    )


def _free(path: Path) -> Path:
    """The path, or with a number where an episode of the same name lies already."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}_{number}")
    return free


def _known(folder: Path) -> Iterator[SortedEpisode]:
    return iter(read_entries(folder)) if (folder / VERDICTS).is_file() else iter(())


def _entry(values: dict[str, Any]) -> SortedEpisode:
    """A line of the index; checks that were renamed since go under their present names."""
    findings = tuple(
        finding | {"check": present_name(finding["check"])} for finding in values["findings"]
    )
    reasons = tuple(present_name(reason) for reason in values["reasons"])
    return SortedEpisode(**values | {"reasons": reasons, "findings": findings})


def read_entries(folder: Path) -> list[SortedEpisode]:
    """The index of a sorted folder."""
    path = folder / VERDICTS
    if not path.is_file():
        raise CorporealError(
            f"{folder}, got no {VERDICTS}; expected a folder that episodes were sorted into. "
            f"Make one with: corporeal check EPISODES --sort {folder}."
        )
    entries = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            entries.append(_entry(json.loads(line)))
        except (ValueError, TypeError, KeyError):
            raise CorporealError(
                f"{path}:{number}, got a line that is not an entry; expected what "
                "corporeal check --sort writes. Sort the episodes again."
            ) from None
    return entries

"""Where a LeRobot dataset contradicts itself as a whole: totals, lists, features, cameras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import (
    FOOTAGE_INCOMPLETE,
    INDEX_WRONG,
    METADATA_WRONG,
    STREAM_MISSING,
    Defect,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.lerobot.files import (
    RATE_TOLERANCE,
    Files,
    feature_contradictions,
    footage_contradictions,
    rate_of,
)
from corporeal.exchange.lerobot.info import Feature
from corporeal.exchange.lerobot.listing import LerobotEntry
from corporeal.exchange.movie.foreign_movie import Header
from corporeal.units import SECOND_NS

MAX_NAMED = 12

T = TypeVar("T")
Complaint = tuple[Defect, str | None]
"""A defect of the whole set, and what to call it, so that its episodes do not repeat it."""


def complaints(files: Files, present: Sequence[LerobotEntry]) -> Iterator[Complaint]:
    """Everything that is wrong with the set as a whole; `present` are the episodes with data."""
    for defect in (*_lists(files, present), *_totals(files), *_strays(files)):
        yield defect, None
    yield from _features(files, present)
    for camera in files.info.cameras:
        yield from _camera(files, camera, present)


def _lists(files: Files, present: Sequence[LerobotEntry]) -> Iterator[Defect]:
    entries = files.listing.entries
    numbers = [entry.index for entry in entries]
    for number in files.listing.repeated:
        yield Defect(INDEX_WRONG, f"episode {number} is listed more than once", number)
    holes = sorted(set(range(max(numbers, default=-1) + 1)) - set(numbers))
    if holes:
        message = f"episodes {_named(holes)} are not listed, though later ones are"
        yield Defect(INDEX_WRONG, message, value=float(len(holes)), limit=0.0, episodes=(*holes,))
    here = {entry.index for entry in present}
    missing = [number for number in numbers if number not in here]
    if missing:
        message = (
            f"data of {len(missing)} of {len(numbers)} listed episodes is not here: "
            f"{_named(missing)}"
        )
        yield Defect(INDEX_WRONG, message, missing[0] if len(missing) == 1 else None,
                     value=float(len(missing)), limit=0.0, episodes=(*missing,))  # fmt: skip


def _totals(files: Files) -> Iterator[Defect]:
    listing = files.listing
    lengths = [max(0, entry.length) for entry in listing.entries]
    counted: dict[str, list[int]] = {
        "total_episodes": [len(listing.entries)],
        "total_frames": [sum(lengths)],
        "total_tasks": [len(listing.tasks)],
    }
    tables = {entry.data: files.rows(entry.data) for entry in listing.entries}
    if all(rows is not None for rows in tables.values()):
        counted["total_frames"].append(sum(rows or 0 for rows in tables.values()))
    for name, found in counted.items():
        stated = files.info.total(name)
        if stated is not None and stated not in found:
            message = f"info.json says {name} {stated}, but there are {found[-1]}"
            yield Defect(METADATA_WRONG, message, value=float(stated), limit=float(found[-1]))


def _strays(files: Files) -> Iterator[Defect]:
    """Data that no listed episode has."""
    listed = {entry.data for entry in files.listing.entries}
    folder = files.info.root / files.info.data_path.split("/")[0]
    found = sorted(folder.rglob("*.parquet")) if folder.is_dir() else []
    strays = [path for path in found if path not in listed]
    if strays:
        message = f"{len(strays)} data files belong to no listed episode: {strays[0].name}"
        yield Defect(INDEX_WRONG, message + (" ..." if len(strays) > 1 else ""),
                     value=float(len(strays)), limit=0.0)  # fmt: skip
    if not files.info.shares_files:
        return
    for path, entries in sorted(files.listing.by_file.items()):
        rows = files.rows(path)
        used = sum(max(0, entry.length) for entry in entries)
        if rows is not None and rows > used:
            message = f"{path.name} has {rows} rows, but the episodes listed in it have {used}"
            yield Defect(INDEX_WRONG, message, value=float(rows), limit=float(used))


def _features(files: Files, present: Sequence[LerobotEntry]) -> Iterator[Complaint]:
    everyone = tuple(entry.index for entry in present)
    for feature in files.info.features.values():
        names = feature.names
        if names is not None and len(feature.shape) == 1 and len(names) != feature.width:
            message = f"info.json gives {len(names)} names to the {feature.width} of {feature.key}"
            yield Defect(METADATA_WRONG, message, stream=feature.key, episodes=everyone), None
        twice = sorted(name for name, count in Counter(names or ()).items() if count > 1)
        if twice and feature.key in ("observation.state", "action"):
            message = f"info.json gives two columns of {feature.key} the name {twice[0]}"
            yield Defect(METADATA_WRONG, message, stream=feature.key, episodes=everyone), None
    rates: list[float] = []
    reports: list[dict[tuple[str, str], str]] = []
    for entry in _sample(present):
        try:
            columns = files.columns(files.home(entry) or entry.data)
        except EpisodeError:
            continue
        reports.append({
            (feature.key, what): message
            for feature in files.info.features.values()
            for what, message in feature_contradictions(feature, columns)
        })  # fmt: skip
        rates.extend(_rates(columns.get("timestamp")))
    # What a single table denies may be an episode's fault; what several deny is the set's.
    for key, what in sorted(set.intersection(*map(set, reports))) if len(reports) > 1 else ():
        message = reports[0][key, what]
        yield Defect(METADATA_WRONG, message, stream=key, episodes=everyone), what
    fps = files.info.fps
    if len(rates) > 1 and min(abs(rate - fps) for rate in rates) > RATE_TOLERANCE * fps:
        rate = float(np.median(rates))
        message = f"frames are stamped at {rate:.4g} Hz, but info.json says fps {fps:g}"
        yield Defect(METADATA_WRONG, message, None, "timestamp", rate, fps, everyone), "fps"


def _rates(stamps: NDArray[Any] | None) -> list[float]:
    seconds = np.asarray(() if stamps is None else stamps, np.float64).ravel()
    seconds = seconds[np.abs(seconds) < 1e9]
    rate = rate_of(np.round(seconds * SECOND_NS).astype(np.int64))
    return [] if rate is None else [rate]


def _camera(files: Files, camera: Feature, present: Sequence[LerobotEntry]) -> Iterator[Complaint]:
    key, fps = camera.key, files.info.fps
    everyone = tuple(entry.index for entry in present)
    ends_s: dict[Path, float] = {}  # Below zero where a movie has one episode.
    for clip in (entry.clips[key] for entry in present if key in entry.clips):
        if clip.path.is_file():
            end_s = -1.0 if clip.to_s is None else clip.to_s
            ends_s[clip.path] = max(ends_s.get(clip.path, -1.0), end_s)
    if present and not ends_s:
        message = f"info.json names the camera {key}, but there is no movie of it"
        yield Defect(STREAM_MISSING, message, stream=key, episodes=everyone), "absent"
        return
    headers = [header for path in _sample(list(ends_s)) if (header := _header(files, path))]
    reports = [
        {what: (check, text) for what, check, text in footage_contradictions(camera, header, fps)}
        for header in headers
    ]
    # A single movie may be an episode's fault; several that say the same are the set's.
    is_shared = len(reports) > 1 or (files.info.shares_files and bool(reports))
    for what in sorted(set.intersection(*map(set, reports))) if is_shared else ():
        check, message = reports[0][what]
        yield Defect(check, message, stream=key, episodes=everyone), what
    for path, end_s in ends_s.items():
        header = _header(files, path) if end_s >= 0 else None
        used = round(end_s * (header.fps or fps)) if header is not None else 0
        if header is not None and header.frames > used:
            message = (
                f"{path.name} of {key} has {header.frames} pictures, but the episodes in it end "
                f"at {used}"
            )
            yield Defect(FOOTAGE_INCOMPLETE, message, None, key, header.frames, used), None


def _header(files: Files, path: Path) -> Header | None:
    try:
        return files.header(path)
    except EpisodeError:
        return None


def _sample(items: Sequence[T]) -> list[T]:
    """The first, a middle and the last."""
    return (
        [items[number] for number in sorted({0, len(items) // 2, len(items) - 1})] if items else []
    )


def _named(numbers: Sequence[int]) -> str:
    """Numbers as ranges: 0-3, 7."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [f"{a}" if a == b else f"{a}-{b}" for a, b in ranges]
    return ", ".join(texts[:MAX_NAMED]) + (" ..." if len(texts) > MAX_NAMED else "")

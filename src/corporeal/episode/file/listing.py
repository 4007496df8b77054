"""The episode files below a folder, each once, also where they were sorted into verdicts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SUFFIX = ".h5"
VERDICTS = "verdicts.jsonl"
"""The index of a folder that episodes were sorted into: `path` there, `source` where it is from."""
MAX_INDEX_BYTES = 1 << 26


def list_episode_files(folder: Path) -> list[Path]:
    """Files that may be episodes, by name; a second link to one, or its sorted copy, is left out.

    A copy counts as such where its index says so and the file that it is of lies below, too.
    """
    there = list(_files_below(folder))
    copies = set(_sorted_copies(folder, there))
    files: dict[tuple[int, int], Path] = {}
    found = (path for path in there if path.suffix == SUFFIX)
    for path in sorted(found, key=lambda path: (len(path.parts), path)):
        if path.is_file() and path not in copies:
            status = path.stat()
            files.setdefault((status.st_dev, status.st_ino), path)
    return sorted(files.values())


def count_sorted_copies(folder: Path) -> int:
    """How many files below are left out of `list_episode_files`, since they are sorted copies."""
    copies = set(_sorted_copies(folder, _files_below(folder)))
    return sum(copy.is_file() for copy in copies)


def _files_below(folder: Path) -> Iterator[Path]:
    # Unlike Path.rglob it goes on where a folder cannot be read, or is removed meanwhile.
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _sorted_copies(folder: Path, files: Iterable[Path]) -> Iterator[Path]:
    top = folder.resolve()
    for index in files:
        if index.name != VERDICTS or not index.is_file() or index.stat().st_size > MAX_INDEX_BYTES:
            continue
        for line in index.read_text("utf-8", "replace").splitlines():
            try:
                values = json.loads(line)
                copy, source = index.parent / values["path"], index.parent / values["source"]
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            original = source.resolve()
            if original.is_file() and original.is_relative_to(top) and copy.resolve() != original:
                yield copy

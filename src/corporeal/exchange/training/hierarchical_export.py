"""One dataset for each policy of a hierarchy, in one new folder, with the hierarchy beside them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError, WriteError
from corporeal.exchange.format import RecordingWriter, writer_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.training.hierarchy import PolicyHierarchy
from corporeal.exchange.training.sub_policy import find_pieces, pieces_opener
from corporeal.files import publish_folder

T = TypeVar("T")
Opener = Callable[[], Dataset]
DOCUMENT = "hierarchy.json"


def export_hierarchy(
    opener: Opener,
    out: Path,
    format_name: str,
    options: ExportOptions,
    hierarchy: PolicyHierarchy,
    write: Callable[[Opener, Path, ExportOptions], T],
) -> dict[str, T]:
    """Write the dataset of every policy with `write`, and give what it returned by policy.

    All rows are looked for before the first is written. Until the end everything is in
    `<out>.partial`; the same call after an interruption goes on there.
    """
    if isinstance(writer_of(format_name), RecordingWriter):
        raise CorporealError(
            f"a hierarchy in the format {format_name}, which has no rows; expected one for "
            "training, such as lerobot."
        )
    if os.path.lexists(out):
        raise WriteError(f"{out} already exists, and an export never changes one. Name another.")
    source = opener()
    pieces = [find_pieces(source, policy, options) for policy in hierarchy.policies]
    work = _claim(out, hierarchy)
    written: dict[str, T] = {}
    for found in pieces:
        target = work / found.policy.name
        # A dataset that is whole is made again: what was asked for may have changed.
        shutil.rmtree(target, ignore_errors=True)
        written[found.policy.name] = write(pieces_opener(opener, found), target, found.options)
    publish_folder(work, out)
    return written


def _claim(out: Path, hierarchy: PolicyHierarchy) -> Path:
    """The working folder, new or left by an earlier run; what others made is refused."""
    work = out.with_name(f"{out.name}.partial")
    document = work / DOCUMENT
    if work.is_dir() and not document.is_file() and any(work.iterdir()):
        raise WriteError(
            f"{work} is in the way, and no export has made it. Move it, or name another --out."
        )
    try:
        work.mkdir(parents=True, exist_ok=True)
        document.write_text(hierarchy.canonical() + "\n", "utf-8")
    except OSError as error:
        raise WriteError(f"{out}: cannot be written: {error.strerror}.") from None
    return work

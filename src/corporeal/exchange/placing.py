"""Files of pieces in a dataset: the pieces keep theirs, so that an assembly can start over."""

from __future__ import annotations

import shutil
from pathlib import Path


def place_file(source: Path, target: Path) -> None:
    """The same file under another name, without a copy where the file system can."""
    try:
        target.hardlink_to(source)
    except OSError:  # A file system without hard links.
        shutil.copyfile(source, target)

"""HDF5 of strangers: what lies in this very file, and a sentence for what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from corporeal.errors import CorporealError, EpisodeError
from corporeal.files import refuse_pointer

MAX_MEMBERS = 1 << 20


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """The file, open for reading; whatever h5py raises becomes one sentence."""
    refuse_pointer(path)
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file
    except CorporealError:
        raise
    except (OSError, RuntimeError, LookupError, ValueError, TypeError, MemoryError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: cannot be read as HDF5 ({reason}). Replace it.") from None


def members(group: Any) -> dict[str, Any]:
    """Groups and datasets that lie in this very file, by name; links to elsewhere are left out."""
    if len(group) > MAX_MEMBERS:
        raise EpisodeError(
            f"{group.name} has {len(group)} members; expected at most {MAX_MEMBERS}."
        )
    return {
        name: group[name]
        for name in group
        if isinstance(group.get(name, getlink=True), h5py.HardLink)
    }

"""Pictures of episodes in the size of a policy, decoded once and kept in a folder of their own.

A file `<episode>_<camera>_<height>x<width>.pictures` is a head of HEAD bytes, JSON that names the
episode by the hash of its content, and then every picture of the camera in turn: bytes (3, height,
width), red first. It is made of the episode alone, so that anybody may delete it at any time; one
that is not of this very content and size is made again.
"""

from __future__ import annotations

import json
import os
import re
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError, WriteError
from corporeal.files import atomic_file

HEAD: Final = 4096
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_LEVEL = np.float32(1 / 255)

Pixels = NDArray[np.uint8]


class DescriptorCache:
    """Files that are read at random: those that were used last stay open, `most` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: OrderedDict[Path, int] = OrderedDict()
        weakref.finalize(self, _close_all, self._open)

    def __len__(self) -> int:
        return len(self._open)

    def descriptor(self, path: Path) -> int:
        """What the system knows the file by; raises EpisodeError when it cannot be opened."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        try:
            opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EpisodeError(f"{path}: {error.strerror}.") from None
        self._open[path] = opened
        if len(self._open) > self._most:
            os.close(self._open.popitem(last=False)[1])
        return opened


def _close_all(files: OrderedDict[Path, int]) -> None:
    while files:
        os.close(files.popitem()[1])


class PictureCache:
    """Decoded pictures in a folder: `build` puts those of a camera there, `show` gives them."""

    def __init__(self, folder: Path, open_files: int = 64) -> None:
        self._folder = folder
        self._files = DescriptorCache(open_files)
        self._buffer: Pixels = np.empty((3, 0, 0), np.uint8)

    def path(self, content: str, camera: str, size: tuple[int, int]) -> Path:
        """Where the pictures of a camera of the episode with this content are."""
        name = "_".join(re.sub(r"[^A-Za-z0-9]+", "-", part) for part in (content, camera))
        return self._folder / f"{name}_{size[0]}x{size[1]}.pictures"

    def has(self, content: str, camera: str, size: tuple[int, int], count: int) -> bool:
        """Whether all pictures are there, of this very content."""
        path = self.path(content, camera, size)
        try:
            with path.open("rb") as file:
                head = file.read(HEAD)
                whole = os.fstat(file.fileno()).st_size
        except OSError:
            return False
        return head == _head(content, camera, size, count) and (
            whole == HEAD + count * 3 * size[0] * size[1]
        )

    def build(
        self, content: str, camera: str, size: tuple[int, int], count: int,
        decode: Callable[[int, Pixels], None],
    ) -> None:  # fmt: skip
        """Write all pictures, each as `decode(number, out)` gives it, if they are not there yet.

        Raises WriteError when they cannot be written, EpisodeError for one without a hash.
        """
        if not _HASH.fullmatch(content):
            raise EpisodeError(
                f"an episode without a hash of its content, got {content!r}; pictures are kept by "
                "it. Do without the cache."
            )
        if self.has(content, camera, size, count):
            return
        path = self.path(content, camera, size)
        picture: Pixels = np.empty((3, *size), np.uint8)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_file(path, sync=False) as draft, draft.open("wb") as file:
                file.write(_head(content, camera, size, count))
                for number in range(count):
                    decode(number, picture)
                    file.write(picture.data)
        except OSError as error:
            raise WriteError(
                f"{path}: cannot be written: {error.strerror}. Free some space, or do without "
                "the cache."
            ) from None

    def show(self, content: str, camera: str, numbers: Sequence[int], out: NDArray[Any]) -> None:
        """Write pictures into `out` (count, 3, height, width): bytes, or floats in 0 to 1.

        Raises EpisodeError when they are not there, or no longer.
        """
        size = (int(out.shape[2]), int(out.shape[3]))
        if self._buffer.shape[1:] != size:
            self._buffer = np.empty((3, *size), np.uint8)
        path = self.path(content, camera, size)
        for place, number in enumerate(numbers):
            pixels = out[place] if out.dtype == np.uint8 else self._buffer
            start = HEAD + number * pixels.size
            if os.preadv(self._files.descriptor(path), [pixels.data], start) != pixels.size:
                raise EpisodeError(
                    f"{path}: ends within a picture. Delete it, and open the dataset again."
                )
            if out.dtype != np.uint8:
                np.multiply(pixels, _LEVEL, out=out[place])


def _head(content: str, camera: str, size: tuple[int, int], count: int) -> bytes:
    stated = {"corporeal": "pictures", "version": 2, "content": content, "camera": camera,
              "height": size[0], "width": size[1], "pictures": count}  # fmt: skip
    return json.dumps(stated).encode().ljust(HEAD)

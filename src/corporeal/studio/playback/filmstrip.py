"""Pictures that follow each other as one strip, to see the frame at which something begins."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from corporeal.episode.file import StreamReader
from corporeal.studio.playback.depth_colour import coloured

MOST_PICTURES = 48
_QUALITY = 85


def filmstrip(camera: StreamReader, first: int, count: int, width: int) -> bytes:
    """Pictures `first` to `first + count` side by side as JPEG; past the end they are black.

    So a strip has the same width wherever it lies, and every picture has its place in it.
    """
    shown = camera[first : first + count]
    rows, columns = shown[0].shape[:2]
    width = min(width, columns)
    height = max(1, round(rows * width / columns))
    strip = Image.new("RGB", (width * count, height))
    for place, picture in enumerate(shown):
        plain = coloured(picture) if camera.spec.kind == "depth" else np.asarray(picture)
        small = Image.fromarray(plain).convert("RGB")
        strip.paste(small.resize((width, height), Image.Resampling.BOX), (place * width, 0))
    file = io.BytesIO()
    strip.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()

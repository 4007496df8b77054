"""A preview as one picture: eight moments of the clip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from corporeal.retargeting.preview import look
from corporeal.retargeting.preview.caption import clip_title, errors, font, robot_title
from corporeal.retargeting.preview.scene import PreviewScene
from corporeal.retargeting.preview.stage import Stage

COLUMNS, ROWS = 4, 2
RULE_PX = 2


def write_figure(
    stage: Stage,
    path: Path,
    *,
    size: tuple[int, int],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a PNG of `size` (height, width): moments evenly over the clip, in reading order."""
    height, width = size
    letters = max(8, round(height * 0.019))
    head = round(2.6 * letters)
    tile = ((height - head) // ROWS, width // COLUMNS)
    numbers = np.unique(np.linspace(0, len(stage) - 1, COLUMNS * ROWS).round().astype(np.int64))
    sheet = Image.new("RGB", (width, height), look.PAPER)
    draw = ImageDraw.Draw(sheet)
    with PreviewScene(stage, size=tile, clear=0.8) as scene:
        for place, moment in enumerate(stage.moments(numbers)):
            picture = scene.draw(moment, stage.centres[numbers[place]])
            x, y = (place % COLUMNS) * tile[1], head + (place // COLUMNS) * tile[0]
            shown = picture[: tile[0] - RULE_PX, : tile[1] - RULE_PX]
            sheet.paste(Image.fromarray(np.ascontiguousarray(shown)), (x, y))
            corner = (x + letters * 0.8, y + letters * 0.7)
            draw.text(corner, f"{moment.time_s:.1f} s", look.INK, font(letters, bold=True))
            low = y + tile[0] - letters * 0.8
            across = corner[0]
            for part, words in enumerate(errors(moment)):
                colour = look.FAR if moment.far[2 * part : 2 * part + 2].any() else look.QUIET
                draw.text((across, low), words, colour, font(letters), anchor="ls")
                across += font(letters).getlength(words) + 1.2 * letters
            if progress is not None:
                progress(place + 1, len(numbers))
    title = f"{clip_title(stage.result)}  →  {robot_title(stage.result)}"
    draw.text((letters * 0.8, head / 2), title, look.INK, font(letters, bold=True), anchor="lm")
    sheet.save(path, "PNG")

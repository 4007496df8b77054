"""How a preview looks: its colours, its letters, and what it says in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from corporeal.geometry import Array
from corporeal.retargeting.preview.stage import PreviewMoment, Stage
from corporeal.retargeting.result import FAR_M, Retargeted

Picture = NDArray[np.uint8]
Rgb = tuple[int, int, int]

PERSON: Rgb = (232, 170, 74)
ROBOT: Rgb = (74, 124, 178)
ROBOT_TRUNK: Rgb = (52, 84, 122)
CONTACT: Rgb = (36, 160, 140)
FAR: Rgb = (214, 40, 57)
INK: Rgb = (29, 39, 51)
QUIET: Rgb = (104, 117, 130)
RULE: Rgb = (206, 213, 220)
PAPER: Rgb = (244, 246, 248)
GROUND: Rgb = (226, 230, 234)
SHADOW: Rgb = (190, 196, 203)
GROUND_LINE: Rgb = (190, 198, 206)
# Below this height no words would be legible.
LEAST_HEIGHT = 160
MOST_LETTERS = 48
CM = 100.0


def fractions(colour: Rgb) -> tuple[float, float, float]:
    """The colour with parts from 0 to 1."""
    return colour[0] / 255, colour[1] / 255, colour[2] / 255


@cache
def font(pixels: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The letters that Matplotlib brings along, so that every machine has the same."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    with as_file(files("matplotlib") / "mpl-data" / "fonts" / "ttf" / name) as path:
        return ImageFont.truetype(str(path), pixels)


# Letters whose Unicode names end in how they sound.
_SOUNDED = ("HIRAGANA", "KATAKANA", "HANGUL")


def legible(text: str) -> str:
    """The text in letters that the font has: others by their sound, or else by their number.

    An empty box says nothing; two clips whose names are boxes cannot be told apart.
    """
    out = list[str]()
    for letter in text:
        if not letter.isprintable():
            out.append(" ")
        elif ord(letter) in _letters():
            out.append(letter)
        else:
            name = unicodedata.name(letter, "")
            sound = name.split()[-1].lower() if name.startswith(_SOUNDED) else ""
            out.append(sound or f"[{ord(letter):x}]")
    return "".join(out)


@cache
def _letters() -> frozenset[int]:
    """The numbers of the letters that both weights of the font have."""
    from matplotlib.ft2font import FT2Font

    known = []
    for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"):
        with as_file(files("matplotlib") / "mpl-data" / "fonts" / "ttf" / name) as path:
            known.append(frozenset(FT2Font(str(path)).get_charmap()))
    return known[0] & known[1]


def robot_title(result: Retargeted) -> str:
    """The robot's name as people write it."""
    return result.robot.name.replace("_", " ").upper()


def clip_title(result: Retargeted) -> str:
    """The clip's name in one short line, whatever its file holds."""
    name = legible(result.human.name)
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def errors(moment: PreviewMoment) -> tuple[str, str]:
    """The greater distance of the two hands, and of the two feet, in words."""
    return _distance("hands", moment.error_m[:2]), _distance("feet", moment.error_m[2:])


class Caption:
    """Writes on the pictures of one stage; a small picture gets no words, only the time line."""

    def __init__(self, stage: Stage, *, size: tuple[int, int]) -> None:
        self._stage = stage
        height, width = size
        self._margin = max(2, round(height * 0.04))
        self._letters = max(9, round(height * 0.027))
        self._small = max(8, round(height * 0.022))
        self._words = height >= LEAST_HEIGHT
        self._line = max(2, round(height * 0.008))
        # Only the two strips with words are turned into Pillow's pictures and back.
        self._top = self._margin + 3 * self._letters
        self._bottom = self._margin + self._small + 2 * self._line
        self._track = self._time_line(width - 2 * self._margin)

    def write(self, picture: Picture, moment: PreviewMoment) -> None:
        """Put words and time line on the picture, in place."""
        if self._words:
            _draw_on(picture[: self._top], lambda draw: self._head(draw, moment))
            _draw_on(picture[-self._bottom :], lambda draw: self._foot(draw, moment))
        self._progress(picture, moment)

    def _head(self, draw: ImageDraw.ImageDraw, moment: PreviewMoment) -> None:
        result, x, y = self._stage.result, self._margin, self._margin
        width = draw.im.size[0]
        time = f"{moment.time_s:.1f} s"
        place = (width - self._margin, y)
        draw.text(place, time, INK, font(self._letters, bold=True), anchor="ra")
        draw.text((x, y), clip_title(result), INK, font(self._letters, bold=True))
        y += round(1.7 * self._letters)
        letters = font(self._small)
        pace = self._stage.pace
        person = "person" if pace == 1.0 else f"person, way at {pace:.0%}"
        for words, colour in ((person, PERSON), (robot_title(result), ROBOT)):
            radius = self._small * 0.38
            middle = y + self._small * 0.62
            draw.ellipse((x, middle - radius, x + 2 * radius, middle + radius), fill=colour)
            draw.text((x + 3 * radius, y), words, INK, letters)
            x += round(3 * radius + letters.getlength(words) + 1.4 * self._small)

    def _foot(self, draw: ImageDraw.ImageDraw, moment: PreviewMoment) -> None:
        letters, x = font(self._small), self._margin
        limits = (moment.far[:2].any(), moment.far[2:].any())
        for words, far in zip(errors(moment), limits, strict=True):
            draw.text((x, 0), words, FAR if far else INK, letters)
            x += round(letters.getlength("hands 00.0 cm") + 1.4 * self._small)
        if moment.far.any():
            words = f"out of reach: over {FAR_M * CM:.0f} cm"
            place = (draw.im.size[0] - self._margin, 0)
            draw.text(place, words, FAR, font(self._small, bold=True), anchor="ra")

    def _time_line(self, pixels: int) -> NDArray[np.bool_]:
        """For every pixel along the clip, whether a frame there is infeasible."""
        flags = self._stage.result.infeasible
        edges = np.linspace(0, len(flags), max(1, pixels) + 1)
        starts = np.minimum(edges[:-1].astype(np.int64), len(flags) - 1)
        stops = np.maximum(np.ceil(edges[1:]).astype(np.int64), starts + 1)
        return np.array(
            [bool(flags[a:b].any()) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        )

    def _progress(self, picture: Picture, moment: PreviewMoment) -> None:
        height, width = picture.shape[:2]
        low = height - self._margin + self._line
        line = picture[low : low + self._line, self._margin : width - self._margin]
        if not line.size:
            return
        track = self._track[: line.shape[1]]
        end = float(self._stage.times_s[-1])
        done = np.arange(line.shape[1]) < line.shape[1] * (moment.time_s / end if end else 1.0)
        colours = np.where(done[:, None], QUIET, RULE).astype(np.uint8)
        colours[track & done] = FAR
        colours[track & ~done] = [(part + 255) // 2 for part in FAR]
        line[:] = colours


def _draw_on(strip: Picture, draw: Callable[[ImageDraw.ImageDraw], None]) -> None:
    image = Image.fromarray(strip)
    draw(ImageDraw.Draw(image))
    strip[:] = np.asarray(image)


def _distance(what: str, error_m: Array) -> str:
    known = error_m[np.isfinite(error_m)]
    return f"{what} {known.max() * CM:.1f} cm" if len(known) else f"{what} not known"

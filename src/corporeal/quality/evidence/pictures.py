"""One pass over a camera's pictures for all picture checks, and how two views compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray

from corporeal.episode.recording import ImageSequence, VideoFile
from corporeal.episode.video import open_movie
from corporeal.errors import EpisodeError, NotAssessed
from corporeal.quality.check import MAX_EVIDENCE, Finding, Spans
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array
from corporeal.units import SECOND_NS

Levels = NDArray[np.uint8]

PICTURE = "picture/"
"""How measures of a camera's pictures begin: `picture/<camera>/<what>`."""

# Size of the small pictures, whatever the camera's own: a multiple of a grid of 4 x 5 cells.
HEIGHT, WIDTH = 60, 80
GRID = (4, 5)
# Detail is measured on every eighth row, at full width: edges there are as sharp as anywhere.
ROW_STEP = 8
# Steps in pixels over which brightness is compared: the smallest is lost first when focus is.
# A picture twice as wide as the reference has twice the steps.
STEPS = (1, 2, 4, 8)
REFERENCE_WIDTH = 640
# A picture with less than this share of the usual contrast or sharpness is not an ordinary one.
ORDINARY = 0.5
_PLANAR = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "gray")
# Movies keep brightness in 16..235 unless they say otherwise.
_TO_FULL: Levels = np.clip((np.arange(256) - 16) * 255 / 219 + 0.5, 0, 255).astype(np.uint8)
# Key pictures farther apart than this are rare: a coarse codec lets slow motion wait for them.
RARE_KEYS = 6
# Brightness per pixel from which on an edge is seen to move.
EDGE = 1.5


@dataclass(frozen=True, eq=False)
class PictureTrack:
    """What one pass over a camera's pictures leaves: T is the number of pictures decoded.

    Brightness is 0 (black) to 255 (white) whatever range the movie uses. `detail` is the mean
    squared difference of brightness over each of STEPS, along the rows.
    """

    label: str
    time_ns: NDArray[np.int64]
    luma: Levels
    """(T, HEIGHT, WIDTH), each value the mean of its part of the picture."""
    chroma: Levels
    """(T, 2, HEIGHT / 2, WIDTH / 2): blue and red difference, 128 is grey."""
    detail: Array
    """(T, len(STEPS))."""
    texture: Array
    """(T, *GRID): the detail at the smallest step in every cell of a grid."""
    is_key: Flags
    is_torn: Flags
    """The decoder said that the picture's data is damaged."""
    sizes: tuple[tuple[int, int], ...]
    """Every (height, width) that the pictures have, in order of appearance."""
    error: str | None
    """Why decoding ended before the movie did."""

    def __len__(self) -> int:
        return len(self.luma)

    @cached_property
    def seconds(self) -> Array:
        """Time of every picture that has a stamp, in seconds from the episode's epoch."""
        return self.time_ns / SECOND_NS

    @cached_property
    def period_s(self) -> float:
        """The usual time between two pictures; zero where it cannot be told."""
        return float(np.median(np.diff(self.seconds))) if len(self.seconds) > 1 else 0.0

    def count_in(self, seconds: float, *, least: int) -> int:
        """How many pictures there are in so long, and `least` in any case."""
        return max(least, round(seconds / self.period_s)) if self.period_s > 0 else least

    @cached_property
    def mean(self) -> Array:
        """Mean brightness of every picture (T,)."""
        return np.asarray(self.luma.mean((1, 2)))

    @cached_property
    def contrast(self) -> Array:
        """Standard deviation of brightness within every picture (T,)."""
        return np.asarray(self.luma.std((1, 2)))

    @cached_property
    def sharpness(self) -> Array:
        """Detail at the smallest step against that at the largest (T,); NaN where there is none.

        Noise has 1, crisp edges about 1/8, a picture that is all blur 1/64.
        """
        largest = self.detail[:, -1]
        known = largest > 4.0
        return np.where(known, self.detail[:, 0] / np.where(known, largest, 1.0), np.nan)

    @cached_property
    def ordinary(self) -> Flags:
        """Pictures with about the contrast and sharpness of the episode's median picture (T,).

        The others are black, covered, dim or blurred; checks of motion leave them to those.
        """
        if not len(self):
            return np.zeros(0, bool)
        sharpness = np.nan_to_num(self.sharpness)
        clear = sharpness >= ORDINARY * np.median(sharpness)
        return np.asarray(clear & (self.contrast >= ORDINARY * np.median(self.contrast)))

    @cached_property
    def stir(self) -> Array:
        """How much the liveliest hundredth of the small picture changed since the one before (T,).

        A hand that moves in one corner shows here, while noise and coding errors average out.
        """
        if len(self) < 2:
            return np.zeros(len(self))
        flat = self.luma.reshape(len(self), -1)
        later, earlier = flat[1:], flat[:-1]
        moved = np.maximum(later, earlier) - np.minimum(later, earlier)
        place = moved.shape[1] - moved.shape[1] // 100
        liveliest = np.partition(moved, place, axis=1)[:, place:]
        return np.concatenate(([0.0], liveliest.mean(axis=1)))

    @cached_property
    def _refreshes(self) -> Flags:
        """Key pictures (T,) that come because it is their turn, in a movie that has few of them."""
        keys = np.flatnonzero(self.is_key)
        apart = np.diff(keys, prepend=0)
        turn = apart == (apart.max() if len(apart) else 0)
        flags = np.zeros(len(self), bool)
        flags[keys[turn & (apart >= RARE_KEYS)]] = True
        if not flags[1:].any():
            return flags
        # Only a coarse codec saves motion up for them: they then stir more than other pictures do.
        usual = float(np.median(self.stir[1:][~flags[1:]]))
        is_coarse = float(np.median(self.stir[flags])) > 2 * usual + 1.0
        return flags & is_coarse

    def is_refreshed(self, number: int) -> bool:
        """Whether the codec draws the scene anew about there, and so shows what it had left out."""
        return bool(self._refreshes[number : number + 2].any())

    def when(self, number: int) -> str:
        """The time of a picture in words, for messages."""
        if number >= len(self.time_ns):
            return f"picture {number}"
        return f"{self.seconds[number]:.2f} s"

    def extent(self, where: Spans) -> str:
        """How many pictures these are and when the first is, for messages."""
        count = sum(stop - first for first, stop in where)
        return f"{count} of {len(self)} pictures, first at {self.when(where[0][0])}"

    def curve(self, values: Array, name: str) -> dict[str, Array]:
        """A measure over time as evidence, thinned to what a report draws."""
        count = min(len(values), len(self.time_ns))
        chosen = np.unique(np.linspace(0, max(0, count - 1), min(count, MAX_EVIDENCE)).astype(int))
        chosen = chosen[:count]
        return {"time_s": self.seconds[chosen], name: np.asarray(values, np.float64)[chosen]}


def picture_track(footage: VideoFile | ImageSequence, label: str = "") -> PictureTrack:
    """Decode the movie once. A movie that breaks off gives what came before, and the error."""
    gathered = _Gathered()
    error = None
    try:
        for frame in footage.frames():
            gathered.add(frame)
    except EpisodeError as broken:
        error = str(broken)
    return gathered.track(label or footage.spec.path, np.asarray(footage.time_ns), error)


@once_per_subject
def pictures_of(subject: Subject, label: str) -> PictureTrack:
    """The pass over one camera, made once for all checks; `label` names the camera."""
    return picture_track(subject.footage[label], label)


def count_pictures(footage: VideoFile | ImageSequence) -> int | None:
    """Pictures that the camera has by the movie's own index; None where it does not say."""
    if isinstance(footage, ImageSequence):
        return len(footage.pictures)
    try:
        with open_movie(footage.open()) as container:
            total = int(container.streams.video[0].frames)
    except (av.FFmpegError, IndexError, OSError):
        return 0
    if not total:
        return None
    rest = max(0, total - footage.first)
    return rest if footage.count is None else min(rest, footage.count)


def cameras(subject: Subject, *, least: int = 1) -> Iterator[PictureTrack]:
    """Every camera that has at least so many pictures; NotAssessed where there is none."""
    if not subject.footage:
        raise NotAssessed("no video stream")
    shorter = []
    for label in subject.footage:
        track = pictures_of(subject, label)
        if len(track) >= least:
            yield track
        else:
            shorter.append(f"{label} has {len(track)} pictures")
    if len(shorter) == len(subject.footage):
        raise NotAssessed("; ".join(shorter))


def median_view(track: PictureTrack, *, most: int = 61) -> Levels:
    """What the camera shows most of the time: (HEIGHT, WIDTH), the median over the episode."""
    if not len(track):
        return np.zeros((HEIGHT, WIDTH), np.uint8)
    chosen = np.unique(np.linspace(0, len(track) - 1, min(most, len(track))).astype(int))
    return np.asarray(np.median(track.luma[chosen], axis=0), np.uint8)


def picture_measures(subject: Subject) -> dict[str, float]:
    """What each camera's pictures come to, to compare episodes by: `picture/<camera>/<what>`.

    `blue` and `red` are the mean colour differences (0 is grey), `sharpness` is the median.
    """
    found: dict[str, float] = {}
    for label in subject.footage:
        track = pictures_of(subject, label)
        if not len(track):
            continue
        blue, red = (track.chroma[::5].mean(axis=(0, 2, 3), dtype=np.float64) - 128.0).tolist()
        found |= {f"{PICTURE}{label}/blue": blue, f"{PICTURE}{label}/red": red}
        known = track.sharpness[np.isfinite(track.sharpness)]
        if len(known):
            found[f"{PICTURE}{label}/sharpness"] = float(np.median(known))
    return found


class _Gathered:
    """Collects the measures of one picture after another."""

    def __init__(self) -> None:
        self._scaler = VideoReformatter()
        self._planar = VideoReformatter()
        self._luma: list[Levels] = []
        self._chroma: list[Levels] = []
        self._detail: list[list[float]] = []
        self._texture: list[NDArray[np.float32]] = []
        self._flags: list[tuple[bool, bool]] = []
        self._sizes: dict[tuple[int, int], None] = {}
        self._full_range = False

    def add(self, frame: av.VideoFrame) -> None:
        """Measure one picture."""
        self._sizes.setdefault((frame.height, frame.width))
        self._flags.append((bool(frame.key_frame), bool(frame.is_corrupt)))
        if frame.format.name not in _PLANAR:
            frame = self._planar.reformat(frame, format="yuv420p")
        self._full_range = frame.format.name.startswith("yuvj") or int(frame.color_range) == 2
        small = self._scaler.reformat(
            frame, width=WIDTH, height=HEIGHT, format="yuv420p", interpolation=Interpolation.AREA
        )
        self._luma.append(_plane(small, 0).copy())
        self._chroma.append(np.stack((_plane(small, 1), _plane(small, 2))))
        rows = _plane(frame, 0)[ROW_STEP // 2 :: ROW_STEP].astype(np.float32)
        scale = max(1, round(frame.width / REFERENCE_WIDTH))
        self._detail.append([_mean_square(_differences(rows, step * scale)) for step in STEPS])
        self._texture.append(_cells(rows[:, 1:] - rows[:, :-1]))

    def track(self, label: str, time_ns: NDArray[np.int64], error: str | None) -> PictureTrack:
        """Everything gathered."""
        count = len(self._luma)
        luma = np.stack(self._luma) if count else np.zeros((0, HEIGHT, WIDTH), np.uint8)
        shape = (0, 2, HEIGHT // 2, WIDTH // 2)
        gain = 1.0 if self._full_range else 255 / 219
        flags = np.array(self._flags, bool).reshape(count, 2)
        return PictureTrack(
            label=label,
            time_ns=time_ns[:count],
            luma=luma if self._full_range else _TO_FULL[luma],
            chroma=np.stack(self._chroma) if count else np.zeros(shape, np.uint8),
            detail=np.array(self._detail).reshape(count, len(STEPS)) * gain**2,
            texture=np.array(self._texture, np.float64).reshape(count, *GRID) * gain**2,
            is_key=flags[:, 0],
            is_torn=flags[:, 1],
            sizes=tuple(self._sizes),
            error=error,
        )


def _plane(frame: av.VideoFrame, number: int) -> Levels:
    """One plane without the padding of its rows, as a view of the decoder's memory."""
    plane = frame.planes[number]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    return rows[: plane.height, : plane.width]


def _mean_square(values: NDArray[np.float32]) -> float:
    return float(np.vdot(values, values)) / max(1, values.size)


def _differences(rows: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    return rows[:, step:] - rows[:, :-step]


def _cells(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean square in every cell of the grid."""
    squares = values * values
    for axis, parts in enumerate(GRID):
        size = squares.shape[axis]
        starts = np.arange(parts) * size // parts
        widths = np.diff(np.append(starts, size)).reshape((-1, 1) if axis == 0 else (1, -1))
        squares = np.add.reduceat(squares, starts, axis=axis) / np.maximum(widths, 1)
    return np.asarray(squares, np.float32)


def likeness(one: Array, two: Array) -> float:
    """Correlation of two pictures of the same shape; 0 where one is plain."""
    first, second = one - one.mean(), two - two.mean()
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / size if size > 1e-9 else 0.0


def edges(view: Array) -> Array:
    """Strength of the edges: what stays when light and colours change."""
    down, right = np.gradient(view)
    return np.asarray(np.hypot(down, right))


def busy_share(view: Array) -> float:
    """Share of the picture in which a move of the camera would show."""
    return float((edges(view) > EDGE).mean())


def turned_views(view: Array) -> tuple[tuple[str, Array], ...]:
    """The view turned and mirrored, each with the words for it."""
    return (
        ("is turned upside down", view[::-1, ::-1]),
        ("is mirrored left to right", view[:, ::-1]),
        ("is mirrored top to bottom", view[::-1]),
    )


def unlike_others(
    number: int, label: str, text: str, value: float, *, limit: float | None = None
) -> Finding:
    """What a camera of one episode shows otherwise than in the others."""
    message = f"episode {number}: {label} {text}."
    return Finding(message, stream=label, episodes=(number,), value=value, limit=limit)


def shift(before: Array, after: Array) -> tuple[float, float, float]:
    """How far the view moved down and right in pixels, and how well it then fits (likeness).

    Phase correlation (Kuglin and Hines 1975) between the two, refined by a parabola.
    """
    height, width = before.shape
    window = np.outer(np.hanning(height), np.hanning(width))
    one = np.fft.rfft2((before - before.mean()) * window)
    two = np.fft.rfft2((after - after.mean()) * window)
    cross = np.conj(one) * two
    surface = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), s=before.shape)
    row, column = (int(each) for each in np.unravel_index(int(np.argmax(surface)), surface.shape))
    rows = (row + height // 2) % height - height // 2
    columns = (column + width // 2) % width - width // 2
    down = rows + _vertex(surface[:, column], row)
    right = columns + _vertex(surface[row], column)
    return down, right, likeness(*_overlap(before, after, rows, columns))


def _vertex(line: Array, at: int) -> float:
    """Where between the points the peak lies, relative to the highest one."""
    before, here, after = line[at - 1], line[at], line[(at + 1) % len(line)]
    bend = before - 2 * here + after
    return float(0.5 * (before - after) / bend) if bend < 0 else 0.0


def _overlap(before: Array, after: Array, down: int, right: int) -> tuple[Array, Array]:
    """The parts that both show once `after` is moved back."""
    height, width = before.shape
    rows, columns = height - abs(down), width - abs(right)
    top, left = max(0, -down), max(0, -right)
    one = before[top : top + rows, left : left + columns]
    top, left = max(0, down), max(0, right)
    return one, after[top : top + rows, left : left + columns]

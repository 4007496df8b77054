"""One episode as rows of one rate: what every format for training holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.alignment import align_to
from corporeal.episode.label_track import NOTHING
from corporeal.episode.recording import ImageSequence, Recording, Signal, VideoFile
from corporeal.errors import EpisodeError
from corporeal.exchange.layout import (
    ACTION,
    MODE,
    STATE,
    CameraSpec,
    ColumnSpec,
    TableLayout,
    layout_of,
    match_signals,
)
from corporeal.exchange.mode import modes
from corporeal.exchange.options import ExportOptions
from corporeal.schema import roles
from corporeal.units import SECOND_NS

Times = NDArray[np.int64]

# A picture is kept in step with the rows until it is this many periods from its row's time.
_LOYAL = 0.75
# Rows that are always few enough, and how many there may be for each sample beyond.
_FREE_ROWS, _MOST_TIMES = 1 << 20, 4
_MOST_ROWS_PER_SAMPLE = 1000


def _grid(recording: Recording, layout: TableLayout, signals: Mapping[str, Signal]) -> Times:
    """The time of every row; of a piece that was cut out, those in its span."""
    grid = _whole_grid(recording, layout, signals)
    if recording.span_ns is None:
        return grid
    first, last = recording.span_ns
    inside = grid[np.searchsorted(grid, first) : np.searchsorted(grid, last, side="right")]
    if not len(inside):
        raise EpisodeError(f"{recording.source}: no row of {recording.id} is left to cut out.")
    return inside


def _whole_grid(recording: Recording, layout: TableLayout, signals: Mapping[str, Signal]) -> Times:
    """The time of every row of the episode.

    Where all signals share one clock of this rate, its own stamps; else even steps over the
    time in which the state, the commands and the cameras all have data.
    """
    leading = _leading(layout, signals)
    rate_hz = layout.rate_hz
    shared = leading[0].time_ns
    if all(len(each) == len(shared) and np.array_equal(each.time_ns, shared) for each in leading):
        steps = np.diff(shared)
        if len(shared) < 2 or abs(float(np.median(steps)) * rate_hz / SECOND_NS - 1) < 0.02:
            if (steps < 0).any():
                raise EpisodeError(
                    f"{recording.source}: the clock of episode {recording.index} goes back. "
                    "Run corporeal check on it, and leave the episode out."
                )
            return shared
    begin = max(int(each.time_ns[0]) for each in leading)
    end = min(int(each.time_ns[-1]) for each in leading)
    if end <= begin:
        raise EpisodeError(
            f"{recording.source}: the streams of episode {recording.index} have no time in common, "
            "so it has no row. Leave one of them out with --exclude."
        )
    period_ns = SECOND_NS / rate_hz
    begin += _phase(leading, begin, period_ns)
    count = max(1, int((end - begin) / period_ns + 1e-6) + 1)
    samples = max(map(len, leading))
    if count > min(max(_FREE_ROWS, _MOST_TIMES * samples), _MOST_ROWS_PER_SAMPLE * samples):
        raise EpisodeError(
            f"{recording.source}: the clock of episode {recording.index} jumps: {samples} samples "
            f"lie over {(end - begin) / SECOND_NS / 3600:.0f} h; at {rate_hz:g} Hz it would have "
            f"{count} rows, far more than it has samples. "
            "Run corporeal check on it, and leave the episode out."
        )
    grid: Times = begin + np.rint(np.arange(count) * period_ns).astype(np.int64)
    return grid


def _leading(layout: TableLayout, signals: Mapping[str, Signal]) -> Sequence[Signal]:
    """What decides the rows: cameras first, then state and commands; else everything."""
    keys = [key for key in (STATE, ACTION) if key in layout.columns]
    paths = [camera.stream.path for camera in layout.cameras.values()]
    paths += [stream.path for key in keys for stream in layout.columns[key].streams]
    if not paths:
        paths = [s.path for column in layout.columns.values() for s in column.streams]
    return [signals[path] for path in paths]


def _phase(leading: Sequence[Signal], begin: int, period_ns: float) -> int:
    """How far to move the rows so that they fall on the first camera's pictures."""
    first = leading[0]
    if first.spec.kind != "video":
        return 0
    stamps = first.time_ns[first.time_ns >= begin][:64]
    if not len(stamps):
        return 0
    # Angles, since half a period early and half a period late are neighbours.
    turns = (stamps - begin) * (2 * np.pi / period_ns)
    angle = float(np.angle(np.exp(1j * turns).mean())) % (2 * np.pi)
    return round(angle / (2 * np.pi) * period_ns)


def picture_numbers(stamps: Times, grid: Times, *, period_ns: float) -> NDArray[np.int64]:
    """The picture that every row shows: the nearest, or the next one in turn while it is near.

    A camera half a period off would otherwise repeat and skip pictures at random. Keeping step
    costs at most a quarter of a period, and leaves runs of neighbours that need no new encoding.
    """
    nearest = _nearest(stamps, grid)
    numbers = nearest.copy()
    reach = _LOYAL * period_ns
    rows = np.arange(len(grid))
    row = 0
    while row < len(grid):
        # One stretch: the same distance between row and picture for as long as that is near.
        turn = nearest[row] + rows[row:] - row
        inside = turn < len(stamps)
        near = inside & (np.abs(stamps[np.minimum(turn, len(stamps) - 1)] - grid[row:]) <= reach)
        stop = int(np.argmin(near)) if not near.all() else len(near)
        numbers[row : row + max(1, stop)] = turn[: max(1, stop)]
        row += max(1, stop)
    return numbers


BLOCK_ROWS = 4096


class Normaliser(Protocol):
    """Changes the values of columns on their way into a dataset."""

    def apply(self, key: str, values: NDArray[Any]) -> NDArray[Any]:
        """The values (rows, ...) of a column as the dataset holds them."""


@dataclass(frozen=True, eq=False)
class TableCamera:
    """The pictures of one camera: row k shows picture `numbers[k]` of `signal`."""

    spec: CameraSpec
    signal: VideoFile | ImageSequence
    numbers: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EpisodeTable:
    """An episode of `len(table)` rows. Numbers come in blocks, so that length costs no memory.

    `number` is the episode's place in the new dataset, `time_ns` the capture time of every row,
    `instructions` the texts and `instruction` the one in force in each row. `filled` counts, by
    column, rows that repeat an earlier value because the stream has a gap there. `labels` has, by
    lane, the place of each row's label in the lane, or -1.
    """

    recording: Recording
    number: int
    layout: TableLayout
    time_ns: Times
    cameras: Mapping[str, TableCamera]
    instructions: tuple[str, ...]
    instruction: NDArray[np.int64]
    normaliser: Normaliser | None = None
    mode: NDArray[np.int64] | None = None
    labels: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    _signals: Mapping[str, tuple[Signal, tuple[int, ...] | None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.time_ns)

    @property
    def rate_hz(self) -> float:
        """Rows per second."""
        return self.layout.rate_hz

    @property
    def text(self) -> str:
        """The instruction of the episode: the first one given."""
        return self.instructions[int(self.instruction[0]) if len(self) else 0]

    @property
    def success(self) -> bool | None:
        """Whether the task was done, as people labelled it or else as recorded; None: unknown."""
        return self.recording.facts.outcome.success

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[dict[str, NDArray[Any]]]:
        """All columns by key, a stretch of rows at a time."""
        for first in range(0, len(self), rows):
            yield self.block(first, min(first + rows, len(self)))

    def whole(self) -> dict[str, NDArray[Any]]:
        """All columns by key, all rows: for formats that hold an episode as one record."""
        return self.block(0, len(self))

    def block(self, first: int, stop: int) -> dict[str, NDArray[Any]]:
        """Rows `first` to `stop` of every column (rows, ...), normalised if asked for."""
        values = {
            key: self._column(column, first, stop) for key, column in self.layout.columns.items()
        }
        if self.normaliser is not None:
            values = {key: self.normaliser.apply(key, each) for key, each in values.items()}
        return values

    def _column(self, column: ColumnSpec, first: int, stop: int) -> NDArray[Any]:
        parts = [self._stream(stream.path, first, stop) for stream in column.streams]
        if len(parts) == 1:
            return parts[0].reshape(stop - first, *column.shape)
        flat = [part.reshape(stop - first, -1) for part in parts]
        return np.concatenate(flat, axis=1).astype(column.dtype, copy=False)

    def _stream(self, path: str, first: int, stop: int) -> NDArray[Any]:
        signal, order = self._signals[path]
        values = on_grid(signal, self.time_ns[first:stop])[0]
        return values if order is None else values[..., list(order)]

    def filled(self) -> dict[str, int]:
        """Rows by column whose stream has a gap there, so that they repeat the value nearest."""
        counts: dict[str, int] = {}
        for key, column in self.layout.columns.items():
            for stream in column.streams:
                signal, _ = self._signals[stream.path]
                filled_rows = sum(
                    on_grid(signal, self.time_ns[first : first + BLOCK_ROWS])[1]
                    for first in range(0, len(self), BLOCK_ROWS)
                )
                if filled_rows:
                    counts[key] = max(filled_rows, counts.get(key, 0))
        return counts


def on_grid(signal: Signal, grid: Times) -> tuple[NDArray[Any], int]:
    """Values (rows, ...) at these times, and how many of them stand for a gap."""
    stamps = signal.time_ns
    if len(signal):
        first = int(np.searchsorted(stamps, grid[0]))
        # Rows that are stamped as a stretch of the signal need no interpolation.
        if np.array_equal(stamps[first : first + len(grid)], grid):
            return np.asarray(signal[first : first + len(grid)]), 0
    (column,) = align_to({signal.spec.path: signal}, grid).columns.values()
    assert column.values is not None
    lost = np.flatnonzero(~column.valid)
    values = column.values
    if len(lost):
        values[lost] = np.asarray(signal[_nearest(stamps, grid[lost])])
    return values, len(lost)


def _nearest(stamps: Times, grid: Times) -> NDArray[np.int64]:
    """The sample nearest to each time; the earlier of two."""
    after = np.clip(np.searchsorted(stamps, grid), 0, len(stamps) - 1)
    before = np.maximum(after - 1, 0)
    is_nearer = np.abs(stamps[before] - grid) <= np.abs(stamps[after] - grid)
    return np.where(is_nearer, before, after)


def table_of(
    recording: Recording, layout: TableLayout, *, number: int, normaliser: Normaliser | None = None
) -> EpisodeTable:
    """The episode in this layout; raises EpisodeError when it does not fit."""
    signals = match_signals(layout, recording)
    grid = _grid(recording, layout, {path: signal for path, (signal, _) in signals.items()})
    cameras = {
        key: _camera(spec, signals[spec.stream.path][0], grid, layout.rate_hz)
        for key, spec in layout.cameras.items()
    }
    instructions, instruction = _instructions(recording, grid)
    return EpisodeTable(
        recording=recording,
        number=number,
        layout=layout,
        time_ns=grid,
        cameras=cameras,
        instructions=instructions,
        instruction=instruction,
        normaliser=normaliser,
        mode=modes_of(recording, grid) if layout.mode else None,
        labels=_labels(recording, layout, grid, cameras),
        _signals=signals,
    )


def lay_out(recording: Recording, options: ExportOptions | None = None) -> EpisodeTable:
    """The episode alone, as an export with these options would lay it out."""
    return table_of(recording, layout_of(recording, options or ExportOptions()), number=0)


def row_times(recording: Recording, layout: TableLayout) -> Times:
    """The time of every row that the episode has in this layout."""
    signals = match_signals(layout, recording)
    return _grid(recording, layout, {path: signal for path, (signal, _) in signals.items()})


def instructions_of(recording: Recording) -> tuple[str, ...]:
    """The texts of an episode, at least one, in the order in which they come into force."""
    label = recording.named(roles.INSTRUCTION)
    times = recording.signals[label].time_ns if label is not None else np.zeros(0, np.int64)
    return _instructions(recording, times)[0] or ("",)


def modes_of(recording: Recording, grid: Times) -> NDArray[np.int64]:
    """The mode in each row: as it was labelled before, or as the motion says."""
    label = recording.named(MODE)
    if label is not None:
        return np.asarray(on_grid(recording.signals[label], grid)[0]).reshape(-1).astype(np.int64)
    return modes(recording, grid)


def _camera(spec: CameraSpec, signal: Signal, grid: Times, rate_hz: float) -> TableCamera:
    assert isinstance(signal, VideoFile | ImageSequence)
    period_ns = SECOND_NS / min(rate_hz, signal.spec.rate_hz or rate_hz)
    return TableCamera(spec, signal, picture_numbers(signal.time_ns, grid, period_ns=period_ns))


def _instructions(recording: Recording, grid: Times) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The texts of an episode, and which of them is in force in each row.

    What people said of the episode goes before what was recorded: a single text that they did not
    keep gives way to their first. Their other wordings come last, in force in no row.
    """
    texts, in_force = _recorded_instructions(recording, grid)
    given = recording.labels.instructions if recording.labels is not None else ()
    if given and len(texts) == 1 and texts[0] not in given:
        texts = given[:1]
    return (*texts, *(text for text in dict.fromkeys(given) if text not in texts)), in_force


def _recorded_instructions(
    recording: Recording, grid: Times
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    label = recording.named(roles.INSTRUCTION)
    signal = recording.signals[label] if label is not None else None
    if signal is not None and signal.spec.kind == "text" and len(signal):
        given = [str(text) for text in signal[:]]
        in_force = np.clip(np.searchsorted(signal.time_ns, grid, side="right") - 1, 0, None)
        texts = tuple(dict.fromkeys(given[number] for number in np.unique(in_force)))
        numbers = np.array([texts.index(text) if text in texts else 0 for text in given])
        return texts, numbers[in_force].astype(np.int64)
    return (recording.facts.instruction or "",), np.zeros(len(grid), np.int64)


def _labels(
    recording: Recording, layout: TableLayout, grid: Times, cameras: Mapping[str, TableCamera]
) -> dict[str, NDArray[np.int64]]:
    """The label of every row, by lane.

    A row has the label of the picture it shows: its own time may be a little before the stamp on
    which a boundary lies.
    """
    labels = recording.labels
    if labels is None:
        return {lane.name: np.full(len(grid), NOTHING, np.int64) for lane in layout.lanes}
    shown = [
        camera.signal.time_ns[camera.numbers]
        for camera in cameras.values()
        if camera.spec.stream.path == labels.reference
    ]
    times = shown[0] if shown else grid
    return {lane.name: labels.rows(lane, times) for lane in layout.lanes}

"""Segments that are not like those of good episodes, by robust statistics of each phase.

Made for little data: from some eight good episodes of a task it takes the median and the spread of
every channel in each part of each phase, and says how far an episode is from them. It needs no
training; `anomaly_network` is its counterpart where there is enough data to train.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corporeal.array_file import read_npz
from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.anomaly.channels import (
    CAMERA,
    LEAST_SPREADS,
    PHASES,
    RATE_HZ,
    Channels,
    channels_of,
)
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs
from corporeal.signal.track import Array
from corporeal.words import counted

# Parts that a phase is cut into, and how many neighbours on either side are looked at with each.
BINS, AROUND = 12, 1
LEAST = 4
# Channels whose deviations make the score: a fault shows in more than one.
TOP = 2
# Spreads that are usual in any channel, however alike the good episodes are.
LEAST_LIMIT = 2.0
# Segments that are nearer than this are one; shorter ones are nothing.
JOIN_S, SHORTEST_S = 0.6, 0.2


class UnusualSegment(NamedTuple):
    """A stretch of an episode; `score` is its worst, in units of the limit: above 1."""

    start_ns: int
    end_ns: int
    score: float


class CrossCheck(NamedTuple):
    """How many good episodes a detector learnt from, and in how many of them it has `alarms`.

    Each is judged by what the others teach; None where they are too few for that, or nobody tried.
    """

    episodes: int
    alarms: int | None = None


@dataclass(frozen=True, eq=False)
class Envelope:
    """What is usual: `middle` and `spread` (phase, bin, channel), and a limit of each channel."""

    names: tuple[str, ...]
    middle: Array
    spread: Array
    limits: Array
    """Spreads (channel,) that good episodes keep within."""
    tasks: tuple[str, ...] = ()
    """The tasks that the good episodes were of."""
    cross_check: CrossCheck | None = None

    def deviation(self, channels: Channels) -> Array:
        """How far each moment (T,) is from what is usual, in units of the limits."""
        apart = self.spreads_apart(channels) / self.limits
        worst = np.sort(apart, axis=1)[:, -TOP:]
        return np.asarray(np.sqrt(np.square(worst).mean(axis=1)))

    def spreads_apart(self, channels: Channels) -> Array:
        """How far each channel (T, C) is from what is usual, in spreads."""
        felt = _columns(channels, self.names)
        row = np.minimum((channels.progress * BINS).astype(int), BINS - 1)
        middle, spread = self.middle[channels.phase, row], self.spread[channels.phase, row]
        # A phase that no good episode had is unusual as such, but tells nothing of channels.
        apart = np.abs(felt - middle) / spread
        apart = np.where(np.isfinite(apart), apart, 0.0)
        return np.stack([steadied(column) for column in apart.T], axis=1)

    def segments(self, recording: Recording) -> list[UnusualSegment]:
        """The segments that are not as usual; none in a good episode."""
        return self.segments_of(Subject(recording))

    def segments_of(self, subject: Subject) -> list[UnusualSegment]:
        """The same of a subject, whose pictures are decoded once for all who look at them."""
        channels = channels_of(subject, pictures=sees_pictures(self.names))
        return segments(channels, self.deviation(channels))

    def save(self, path: Path | BinaryIO) -> None:
        """Write it as a .npz file without pickles."""
        stated = {"detector": "envelope", "names": self.names, "tasks": self.tasks}
        head = json.dumps(stated | {"cross_check": self.cross_check})
        np.savez(
            path,
            head=np.array(head),
            middle=self.middle,
            spread=self.spread,
            limits=self.limits,
        )

    @classmethod
    def load(cls, path: Path | BinaryIO) -> Envelope:
        """Read what `save` wrote; raises CorporealError for what does not fit together."""
        arrays = read_npz(path)
        head = read_head(arrays, path, "an envelope")
        names = tuple(head["names"])
        # Until 2026-11 there was one limit for all channels.
        limits = arrays.get("limits")
        if limits is None:
            limits = np.full(len(names), float(head["limit"]))
        tried = head.get("cross_check")
        learnt = cls(
            names,
            arrays["middle"],
            arrays["spread"],
            limits,
            tuple(head.get("tasks", ())),
            None if tried is None else CrossCheck(*tried),
        )
        shape = (PHASES, BINS, len(names))
        if not learnt.middle.shape == learnt.spread.shape == shape or limits.shape != shape[2:]:
            raise CorporealError(
                f"{path}: an envelope of {len(names)} channels, got {learnt.middle.shape}, "
                f"{learnt.spread.shape} and {limits.shape} numbers. Learn it again."
            )
        return learnt


def read_head(arrays: Mapping[str, NDArray[Any]], path: object, kind: str) -> dict[str, Any]:
    """What a detector says of itself; raises CorporealError for one of another kind."""
    head = json.loads(str(arrays["head"]))
    found = head.get("detector") if isinstance(head, dict) else None
    if found != kind.rpartition(" ")[2]:
        raise CorporealError(f"{path} is not {kind}, got {found!r:.60}. Learn it again.")
    return dict(head)


def sees_pictures(names: Sequence[str]) -> bool:
    """Whether any of these channels is one of a camera."""
    return any(name.startswith(CAMERA) for name in names)


def learn(
    recordings: Iterable[Recording], *, margin: float = 2.0, pictures: bool = False
) -> Envelope:
    """The envelope of good episodes of one task.

    Every episode is held against the others once; the limit of a channel is what all but the worst
    twentieth of them reach in it at their worst moment, and more: the fewer they are, the less is
    known of the worst, `margin` over the root of their number.
    """
    episodes, tasks = [], set()
    for subject in (Subject(recording) for recording in recordings):
        episodes.append(channels_of(subject, pictures=pictures))
        tasks |= {subject.task} - {None}
    known = tuple(sorted(task for task in tasks if task is not None))
    learnt = envelope(episodes, margin=margin)
    tried = CrossCheck(len(episodes), count_alarms(episodes, margin=margin))
    return replace(learnt, tasks=known, cross_check=tried)


def envelope(episodes: Sequence[Channels], *, margin: float = 2.0) -> Envelope:
    """The same from channels."""
    if len(episodes) < LEAST:
        raise NotAssessed(
            f"{counted(len(episodes), 'good episode')}; {LEAST} are needed to know what is usual"
        )
    names = tuple(
        name for name in episodes[0].names if all(name in each.names for each in episodes)
    )
    worst = []
    # With many episodes it is enough to leave out groups of them.
    folds = min(len(episodes), 10)
    for fold in range(folds):
        others = [each for n, each in enumerate(episodes) if n % folds != fold]
        usual = _usual(names, others)
        worst += [usual.spreads_apart(each).max(axis=0) for each in episodes[fold::folds]]
    room = 1 + margin / np.sqrt(len(episodes))
    limits = room * np.maximum(np.quantile(worst, 0.95, axis=0), LEAST_LIMIT)
    usual = _usual(names, episodes)
    return Envelope(names, usual.middle, usual.spread, limits)


def count_alarms(episodes: Sequence[Channels], *, margin: float = 2.0) -> int | None:
    """How many good episodes are flagged by what the others of them teach; None where too few do.

    This is the share of false alarms to expect of episodes like these.
    """
    if len(episodes) <= LEAST:
        return None
    alarms = 0
    folds = min(len(episodes), 10)
    for fold in range(folds):
        others = [each for n, each in enumerate(episodes) if n % folds != fold]
        usual = envelope(others, margin=margin)
        for each in episodes[fold::folds]:
            alarms += bool(segments(each, usual.deviation(each)))
    return alarms


def segments(channels: Channels, score: Array) -> list[UnusualSegment]:
    """The stretches in which a score (T,) is above 1."""
    found = []
    step_ns = round(1e9 / RATE_HZ)
    for first, stop in runs(score > 1.0, gap=round(JOIN_S * RATE_HZ) - 1):
        if stop - first >= SHORTEST_S * RATE_HZ or score[first:stop].max() > 2.0:
            start = int(channels.time_ns[first]) - step_ns
            end = int(channels.time_ns[stop - 1])
            found.append(UnusualSegment(start, end, float(score[first:stop].max())))
    return found


def steadied(values: Array) -> Array:
    """The median of three neighbours, or the value where it is far above: a knock is short."""
    padded = np.pad(values, 1, mode="edge")
    middle = np.median(np.stack([padded[:-2], padded[1:-1], padded[2:]]), axis=0)
    return np.maximum(middle, 0.5 * values)


def _usual(names: tuple[str, ...], episodes: Sequence[Channels]) -> Envelope:
    felt = np.concatenate([_columns(each, names) for each in episodes])
    phase = np.concatenate([each.phase for each in episodes])
    progress = np.concatenate([each.progress for each in episodes])
    row = np.minimum((progress * BINS).astype(int), BINS - 1)
    middle = np.full((PHASES, BINS, len(names)), np.nan)
    spread = np.full_like(middle, np.nan)
    # No channel is steadier than a share of what it does in a whole episode.
    floor = 0.05 * (np.quantile(felt, 0.98, axis=0) - np.quantile(felt, 0.02, axis=0)) + 1e-9
    floor = np.maximum(floor, [LEAST_SPREADS.get(name, 0.0) for name in names])
    for number in range(PHASES):
        for bin_ in range(BINS):
            inside = (phase == number) & (np.abs(row - bin_) <= AROUND)
            if inside.sum() < LEAST:
                continue
            middle[number, bin_] = np.median(felt[inside], axis=0)
            apart = np.abs(felt[inside] - middle[number, bin_])
            # The wider of two: the middle half and the outer tenth, which MAD does not see.
            wide = np.maximum(
                1.4826 * np.median(apart, axis=0), np.quantile(apart, 0.95, axis=0) / 2
            )
            spread[number, bin_] = np.maximum(wide, floor)
    return Envelope(names, middle, spread, np.ones(len(names)))


def _columns(channels: Channels, names: tuple[str, ...]) -> Array:
    """The channels (T, C) of these names; of a camera that is not there nothing is known."""
    absent = [name for name in names if name not in channels.names and not sees_pictures([name])]
    if absent:
        raise NotAssessed(f"the episode has no channel {absent[0]}, which the detector knows")
    felt = np.full((len(channels.felt), len(names)), np.nan)
    for place, name in enumerate(names):
        if name in channels.names:
            felt[:, place] = channels.felt[:, channels.names.index(name)]
    return felt

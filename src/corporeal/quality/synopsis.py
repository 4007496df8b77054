"""Draws one episode up in brief, for the checks that compare episodes with each other."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.array_file import ArrayFileError, read_npz
from corporeal.episode.facts import read_facts
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.batch import PATH_POINTS, Moments
from corporeal.quality.batch import Synopsis as Synopsis
from corporeal.quality.evidence.action_lag import action_lag_measures
from corporeal.quality.evidence.arm_order import arm_order_measures
from corporeal.quality.evidence.leg_order import leg_order_measures
from corporeal.quality.evidence.motion import end_measures, stillness
from corporeal.quality.evidence.pictures import PICTURE as PICTURE
from corporeal.quality.evidence.pictures import median_view, picture_measures, pictures_of
from corporeal.quality.evidence.repeats import repeat_measures
from corporeal.quality.evidence.start_conditions import start_measures
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

QUANTILES = (1, 2, 5, 10, 25, 50, 75, 90, 95, 98, 99)
_HEAD, _MOMENTS = "head", ("total", "squares", "lowest", "highest")
# Hashes kept of an episode's rows: two sketches of this size tell a shared half from none.
SKETCH = 128
# An episode with a smaller share of distinct rows was made with keys: its rows tell nothing.
DISTINCT = 0.1
# A point of the path is the mean over so long: the noise of one sample is no motion.
_SMOOTH_S = 0.07


def synopsis(subject: Subject, *, pictures: bool) -> Synopsis:
    """The episode in brief; with `pictures` a view of each camera as well."""
    recording = subject.recording
    main = _main(subject)
    path, motion_s = (None, 0.0) if main is None else _path(subject, main)
    return Synopsis(
        index=recording.index,
        id=recording.id,
        source=recording.source,
        task=subject.task,
        metadata=recording.metadata,
        facts=recording.facts,
        duration_s=_duration_s(subject),
        frames=0 if main is None else len(main),
        digest=_digest(subject),
        path=path,
        moments={label: moments(track) for label, track in subject.tracks.items()},
        names=() if main is None else main.names,
        views=_views(subject) if pictures else {},
        instruction=recording.facts.instruction,
        sketch=_sketch(subject),
        measures=_measures(subject, path)
        | {"motion_s": motion_s}
        | start_measures(subject)
        | end_measures(subject)
        | (picture_measures(subject) | repeat_measures(subject) if pictures else {}),
    )


def moments(track: Track) -> Moments:
    """Sums, extremes and exact quantiles of every column; a column with a NaN has none."""
    values = track.values
    count, width = values.shape
    if not count:
        nothing = np.full(width, np.nan)
        return Moments(0, np.zeros(width), np.zeros(width), nothing, nothing)
    with np.errstate(invalid="ignore", over="ignore"):
        # In single precision: as exact as most sources are, and sorted in half the time.
        ordered = np.sort(np.ascontiguousarray(values.T, np.float32), axis=1)
        total = values.sum(axis=0)
        deviation = values - total / count
        squares = np.einsum("td,td->d", deviation, deviation)
        places = np.array(QUANTILES) / 100 * (count - 1)
        left = np.floor(places).astype(np.int64)
        right = np.minimum(left + 1, count - 1)
        share = places - left
        levels = (ordered[:, left] * (1 - share) + ordered[:, right] * share).T.copy()
    broken = ~np.isfinite(total)
    lowest, highest = values.min(axis=0), values.max(axis=0)
    for row in (total, squares, lowest, highest):
        row[broken] = np.nan
    levels[:, broken] = np.nan
    named = {f"q{each:02d}": level for each, level in zip(QUANTILES, levels, strict=True)}
    return Moments(count, total, squares, lowest, highest, named)


def _main(subject: Subject) -> Track | None:
    """The track that the path is made of: the state, or the action where there is none."""
    tracks = (subject.find_track(role) for role in (*roles.MEASURED, *roles.COMMANDED))
    return next((track for track in tracks if track is not None and len(track)), None)


def _duration_s(subject: Subject) -> float:
    ends = [
        (int(signal.time_ns[0]), int(signal.time_ns[-1]))
        for signal in subject.recording.signals.values()
        if len(signal) and signal.spec.rate_hz is not None
    ]
    if not ends:
        return 0.0
    return (max(last for _, last in ends) - min(first for first, _ in ends)) / SECOND_NS


def _path(subject: Subject, track: Track) -> tuple[Array, float]:
    """The track (PATH_POINTS, D) evenly in time from the rest before it to the rest after.

    And the seconds that this is.
    """
    first, last = _motion(subject, track)
    begin, end = int(track.time_ns[first]), int(track.time_ns[last])
    grid = np.rint(np.linspace(begin, end, PATH_POINTS)).astype(np.int64)
    width = (
        max(1, round(_SMOOTH_S / track.period_s)) if len(track) > 1 and track.period_s > 0 else 1
    )
    smooth = scipy.ndimage.uniform_filter1d(bridge_gaps(track.values), width, axis=0)
    return replace(track, values=smooth).at(grid), (end - begin) / SECOND_NS


def _motion(subject: Subject, track: Track) -> tuple[int, int]:
    """First and last sample of the motion; the whole where nothing moves."""
    rest = attempt(stillness, subject)
    if rest is None or len(rest.still) != len(track) or rest.still.all():
        return 0, len(track) - 1
    moving = np.flatnonzero(~rest.still)
    # The transient at the very edge of a recording is no motion: look past half a second.
    edge = min(len(track) // 4, round(0.5 / track.period_s)) if track.period_s > 0 else 0
    inner = moving[(moving >= edge) & (moving < len(track) - edge)]
    if len(inner) < 2:
        return 0, len(track) - 1
    first, last = int(inner[0]), int(inner[-1])
    # What already moves there moves from the very first sample.
    return (0 if first == edge else first), (
        len(track) - 1 if last == len(track) - 1 - edge else last
    )


def _digest(subject: Subject) -> bytes:
    """A hash of every number; stamps and labels of people are left out of it."""
    whole = hashlib.blake2b(digest_size=16)
    for label, track in sorted(subject.tracks.items()):
        whole.update(f"{label} {track.values.shape}".encode())
        whole.update(np.ascontiguousarray(track.values, np.float32).tobytes())
    return whole.digest()


def _sketch(subject: Subject) -> NDArray[np.uint64]:
    """The smallest hashes of the distinct rows of state and action together (bottom-k sketch).

    The share of hashes that two sketches have in common estimates the share of rows that the two
    episodes have in common (Broder, On the resemblance and containment of documents, 1997). Keys
    and buttons give a few rows again and again, which two episodes have in common by nature: none.
    """
    main = _main(subject)
    if main is None:
        return np.zeros(0, np.uint64)
    rows = np.ascontiguousarray(main.values, np.float32)
    bits = rows.view(np.uint32).astype(np.uint64)
    # A polynomial over the columns with odd factors, then a finaliser that spreads the bits.
    odd = np.uint64(0x9E3779B97F4A7C15)
    factors = np.multiply.accumulate(np.full(bits.shape[1], odd))
    mixed = (bits * factors).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    distinct = np.unique(mixed)
    if len(distinct) < DISTINCT * len(mixed):
        return np.zeros(0, np.uint64)
    return distinct[:SKETCH]


def _views(subject: Subject) -> dict[str, NDArray[np.uint8]]:
    found = {}
    for label in subject.footage:
        try:
            found[label] = median_view(pictures_of(subject, label))
        except NotAssessed:
            continue
    return found


def _measures(subject: Subject, path: Array | None) -> dict[str, float]:
    """Scalars worth charting; what cannot be had is left out."""
    found: dict[str, Any] = {"duration_s": _duration_s(subject)}
    if path is not None and path.shape[1]:
        steps = np.diff(path, axis=0)
        found["path_length"] = float(np.sqrt((steps**2).sum(axis=1)).sum())
        found["reach"] = float(np.sqrt(((path - path[0]) ** 2).sum(axis=1)).max())
    try:
        rate = bridge_gaps(subject.state.rate)
        found["peak_speed"] = float(np.quantile(np.sqrt((rate**2).sum(axis=1)), 0.99))
    except NotAssessed:
        pass
    rest = attempt(stillness, subject)
    if rest is not None:
        found["idle_share"] = rest.share
        found["moving_s"] = rest.span_s * (1.0 - rest.share)
    force = peak_force_n(subject)
    if force is not None:
        found["peak_force"] = force
    found |= action_lag_measures(subject)
    found |= arm_order_measures(subject)
    found |= leg_order_measures(subject)
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


def peak_force_n(subject: Subject) -> float | None:
    """The largest force at a wrist beyond its median over the episode, spikes left out."""
    highest = []
    for track in subject.ending_in("_wrist_wrench").values():
        if len(track) and track.values.shape[1] >= 3:
            force = bridge_gaps(track.values[:, :3])
            beyond = np.sqrt(((force - np.median(force, axis=0)) ** 2).sum(axis=1))
            highest.append(float(np.quantile(beyond, 0.995)))
    return max(highest, default=None)


def pack_synopsis(synopsis: Synopsis) -> bytes:
    """The synopsis as some kilobytes that a catalogue can keep: a NumPy archive.

    Metadata is left out, since it is kept beside; so are quantiles, which only judge what a source
    claims of itself.
    """
    head = {
        "id": synopsis.id,
        "source": synopsis.source.name,
        "task": synopsis.task,
        "duration_s": synopsis.duration_s,
        "frames": synopsis.frames,
        "digest": synopsis.digest.hex(),
        "names": synopsis.names,
        "instruction": synopsis.instruction,
        "measures": {name: float(value) for name, value in synopsis.measures.items()},
        "counts": {label: each.count for label, each in synopsis.moments.items()},
    }
    data = io.BytesIO()
    arrays: dict[str, Any] = dict(_arrays(synopsis))
    header = np.frombuffer(json.dumps(head).encode(), np.uint8)
    np.savez_compressed(data, allow_pickle=False, **arrays, **{_HEAD: header})
    return data.getvalue()


def _arrays(synopsis: Synopsis) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "sketch", synopsis.sketch
    if synopsis.path is not None:
        yield "path", synopsis.path.astype(np.float32)
    for label, view in synopsis.views.items():
        yield f"view {label}", view
    for label, each in synopsis.moments.items():
        rows = np.stack([getattr(each, name) for name in _MOMENTS])
        yield f"moments {label}", rows.astype(np.float32)


def unpack_synopsis(data: bytes, metadata: Mapping[str, Any], *, index: int) -> Synopsis:
    """The synopsis again, for the place `index` of a batch; raises CorporealError for other bytes.

    A path and moments come back in single precision.
    """
    try:
        arrays = read_npz(io.BytesIO(data), where="a synopsis")
        head = json.loads(arrays[_HEAD].tobytes())
        path = arrays.get("path")
        return Synopsis(
            index=index,
            id=head["id"],
            source=Path(head["source"]),
            task=head["task"],
            metadata=metadata,
            duration_s=head["duration_s"],
            frames=head["frames"],
            digest=bytes.fromhex(head["digest"]),
            path=None if path is None else path.astype(np.float64),
            moments={
                label: Moments(count, *arrays[f"moments {label}"].astype(np.float64))
                for label, count in head["counts"].items()
            },
            facts=replace(read_facts(metadata), task=head["task"]),
            names=tuple(head["names"]),
            views={
                name.removeprefix("view "): values
                for name, values in arrays.items()
                if name.startswith("view ")
            },
            instruction=head["instruction"],
            sketch=arrays["sketch"],
            measures=head["measures"],
        )
    except (ArrayFileError, KeyError, TypeError, ValueError) as error:
        raise CorporealError(
            f"a synopsis in the catalogue cannot be read ({error}). "
            "Make it anew with: corporeal rejudge."
        ) from error

"""Takes as episode files of our own, with everything else that was recorded beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.detection.field.take import Channel, Film, Take
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.recording import Recording, VideoFile, recording_of

# Streams that no mistake concerns and that take the longest to write.
_LEFT_OUT = ("head_depth", "head_right", "external_side", "lidar", "left_tactile", "right_tactile")


def read_take(path: Path, *, name: str | None = None) -> Take:
    """A recorded episode as a take: all its arrays, and its movies as they are stored."""
    recording = recording_of(Episode.open(path))
    channels = {
        signal.spec.name: _channel_of(recording, label)
        for label, signal in recording.signals.items()
        if signal.spec.kind == "array" and len(signal) and signal.spec.name not in _LEFT_OUT
    }
    films = {
        signal.spec.name: _film_of(signal)
        for signal in recording.signals.values()
        if isinstance(signal, VideoFile) and signal.spec.name not in _LEFT_OUT
    }
    return Take(name or path.stem, channels, films, dict(recording.metadata), path)


def _channel_of(recording: Recording, label: str) -> Channel:
    signal = recording.signals[label]
    values = np.asarray(signal[:], np.float64)
    names = signal.spec.components
    flat = values.reshape(len(values), -1)
    named = names if isinstance(names, tuple) else tuple(map(str, range(flat.shape[1])))
    return Channel(np.asarray(signal.time_ns, np.int64), flat, named)


def _film_of(signal: VideoFile) -> Film:
    opened = signal.open()
    data = Path(opened).read_bytes() if isinstance(opened, str | Path) else opened.read()
    height, width = (size for size in signal.spec.shape[:2] if isinstance(size, int))
    return Film(np.asarray(signal.time_ns, np.int64), data, "libx264", (height, width))


def write_episodes(
    folder: Path, takes: Sequence[Take], unchanged: Mapping[int, Path]
) -> list[Path]:
    """One file per take, in a folder that is checked as a whole."""
    folder.mkdir(parents=True)
    for number, take in enumerate(takes):
        path = folder / f"take_{number:02d}.h5"
        if number in unchanged:
            path.hardlink_to(unchanged[number] / path.name)
        else:
            _write(path, take)
    return [folder]


def _write(path: Path, take: Take) -> None:
    assert take.origin is not None
    with Episode.open(take.origin) as origin:
        wanted = [stream for stream in origin.schema.streams if stream.name not in _LEFT_OUT]
        schema = origin.schema.model_copy(update={"streams": tuple(wanted)})
        with EpisodeWriter(
            path,
            schema=schema,
            embodiment=origin.embodiment,
            metadata=take.facts,
            epoch_ns=origin.epoch_ns,
        ) as writer:
            for stream in wanted:
                channel = take.channels.get(stream.name)
                if stream.name in take.films:
                    film = take.films[stream.name]
                    pictures = film.pictures()
                    count = min(len(pictures), len(film.time_ns))
                    writer.extend(stream.path, film.time_ns[:count], pictures[:count])
                elif channel is not None:
                    values = channel.values.astype(stream.dtype)
                    writer.extend(stream.path, channel.time_ns, values)
                elif stream.kind == "text" and stream.path in origin:
                    reader = origin[stream.path]
                    for time_ns, text in zip(reader.time_ns, reader[:], strict=True):
                        writer.append(stream.path, int(time_ns), text)

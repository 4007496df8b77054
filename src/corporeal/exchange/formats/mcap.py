"""MCAP logs for Foxglove and ROS 2: one file for each episode, all streams at their own rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.foreign_stream import EpisodeReading
from corporeal.exchange.format import (
    Consumer,
    Format,
    RecordingWriter,
    WrittenEpisode,
    dataset_of,
    files_of,
)
from corporeal.exchange.mcap_messages.description import RECORD, LogDescription, signal_of
from corporeal.exchange.mcap_messages.episode_log import write_log
from corporeal.exchange.mcap_messages.log_file import open_log
from corporeal.exchange.options import ExportOptions
from corporeal.files import link_or_copy

SUFFIX = ".mcap"
_FILE = f"episode{SUFFIX}"
_MAX_DOCUMENTS = 64
_MADE_FROM = "made_from"


def write(recording: Recording, _: int, folder: Path, options: ExportOptions) -> Mapping[str, Any]:
    """Write one log."""
    counts = write_log(recording, folder / _FILE, exclude=options.exclude)
    return {"messages": counts}


def assemble(episodes: Sequence[WrittenEpisode], out: Path) -> None:
    """One file for each episode, under its number."""
    for number, each in enumerate(episodes):
        link_or_copy(each.folder / _FILE, out / f"episode_{number:06d}{SUFFIX}")


def recognises(path: Path) -> bool:
    """Whether the file, or one in the folder, is a log that Corporeal wrote."""
    return any(map(_is_ours, files_of(path, SUFFIX)))


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The episodes in order of their names; a damaged one is listed, and opening it raises."""
    return dataset_of(path, "mcap", files_of(path, SUFFIX), partial(_open, robot), labelled=True)


def _is_ours(path: Path) -> bool:
    try:
        return any(index.name == RECORD for index in open_log(path).metadata)
    except CorporealError:
        return False


def _open(robot: Embodiment | None, path: Path, index: int) -> Recording:
    log = open_log(path)
    record = log.named_metadata(RECORD)
    if record is None:
        raise EpisodeError(
            f"{path}: was not written by Corporeal, so it does not say what its topics are. "
            "Record it with: corporeal record --driver mcap."
        )
    content = LogDescription.from_record(record, where=str(path))
    if len(log.attachments) > _MAX_DOCUMENTS:
        raise EpisodeError(
            f"{path}: has {len(log.attachments)} attachments; expected {_MAX_DOCUMENTS} at most."
        )
    documents = {
        each.name.removesuffix(".json"): _text(log.attachment(each), path)
        for each in log.attachments
    }
    own = documents.get("embodiment")
    if robot is None and own is not None:
        robot = Embodiment.parse(own, source=f"{path}:embodiment", suffix=".json")
    reading = EpisodeReading(index, robot=robot, kind="topic")
    for topic in content.topics:
        signal = signal_of(log, topic, content.offset_ns)
        reading.signals[topic.label] = signal
        reading.account(topic.topic, signal.spec.path, samples=len(signal))
    for name in log.channels.keys() - {topic.topic for topic in content.topics}:
        facts = dict(log.channels[name].metadata)
        if _MADE_FROM in facts:
            reading.leave_out(name, f"made from {facts[_MADE_FROM]}")
        else:
            reason = "not written by Corporeal, so nothing says what it is"
            reading.leave_out(name, reason, lost=True)
    for kind in documents:
        reading.account(kind, f"documents/{kind}", samples=1, kind="document")
    return reading.to_recording(
        content.id,
        path,
        content.metadata,
        missing_streams=content.missing_streams,
        missing_metadata=content.missing_metadata,
        documents=documents,
        epoch_ns=content.epoch_ns,
        recovered=content.recovered,
        regridded=content.regridded,
        labels=content.labels,
    )


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise EpisodeError(f"{path}: a document in it is not text. Replace the file.") from None


FORMAT = Format(
    title="MCAP logs of Corporeal (Foxglove, ROS 2)",
    recognises=recognises,
    read=read,
    writer=RecordingWriter(
        write=write,
        assemble=assemble,
        consumer=Consumer(script="mcap", module="mcap", install="pip install mcap rosbags"),
    ),
)

"""Reads MCAP logs with mcap and rosbags: counts, checksums, sampled messages. Runs by itself.

`length` of an episode is the number of its messages. The logs have no rows, so there are no
samples; instead the first, middle and last message of every topic must decode.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: every episode."""
    root = Path(request["path"])
    files = sorted(root.glob("*.mcap")) if root.is_dir() else [root]
    episodes = []
    for path in files:
        length, instruction = read(path)
        texts = None if instruction is None else [instruction]
        episodes.append({"length": length, "instructions": texts})
    answer = {
        "library": "mcap",
        "version": version("mcap"),
        "episodes": episodes,
    }
    return answer, {}


def read(path: Path) -> tuple[int, str | None]:
    """How many messages there are, and the instruction; raises when anything is wrong."""
    with path.open("rb") as file:
        # From the first byte to the last, without the index: every checksum is looked at.
        for _ in StreamReader(file, validate_crcs=True).records:
            pass
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        if summary is None or summary.statistics is None:
            raise ValueError(f"{path.name}: has no summary")
        records = {record.name: record.metadata for record in reader.iter_metadata()}
        by_number = summary.statistics.channel_message_counts
        stated = {summary.channels[number].topic: count for number, count in by_number.items()}
        decoders = {channel.topic: decoder(summary.schemas[channel.schema_id])
                    for channel in summary.channels.values()}  # fmt: skip
        counts = dict.fromkeys(stated, 0)
        last_time = 0
        for _, channel, message in reader.iter_messages():
            if message.log_time < last_time:
                raise ValueError(f"{path.name}: messages are not in order of time")
            last_time = message.log_time
            number = counts[channel.topic]
            counts[channel.topic] = number + 1
            if number in (0, stated[channel.topic] // 2, stated[channel.topic] - 1):
                decoders[channel.topic](message.data)
        if counts != stated:
            raise ValueError(f"{path.name}: counts {counts} are not those of its index {stated}")
    return sum(counts.values()), records.get("corporeal", {}).get("instruction")


def decoder(schema: Any) -> Any:
    """A function that decodes messages by nothing but the definition in the file."""
    if schema.encoding != "ros2msg":
        raise ValueError(f"schema {schema.name} is {schema.encoding}")
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(schema.data.decode(), schema.name))
    return lambda data: store.deserialize_cdr(data, schema.name)

"""LeRobot v2.1, written for trainers that have not moved on to v3.0; `lerobot` reads it."""

from __future__ import annotations

from corporeal.exchange.format import Consumer, Format, TableWriter
from corporeal.exchange.lerobot.layouts import assemble_v21
from corporeal.exchange.lerobot.writing import LOSES, write_episode

FORMAT = Format(
    title="LeRobot v2.1",
    writer=TableWriter(
        write=write_episode,
        assemble=assemble_v21,
        loses=LOSES,
        consumer=Consumer("lerobot", "lerobot", "pip install lerobot==0.3.3"),
    ),
)

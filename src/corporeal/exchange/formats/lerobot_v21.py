"""LeRobot v2.1, written for trainers that have not moved on to v3.0; `lerobot` reads it."""

from __future__ import annotations

from corporeal.exchange.format import Consumer, Format, Writer
from corporeal.exchange.lerobot.assembly_v21 import assemble_v21
from corporeal.exchange.lerobot.writing import LOSES, write_piece

FORMAT = Format(
    title="LeRobot v2.1",
    writer=Writer(
        piece=write_piece,
        assemble=assemble_v21,
        loses=LOSES,
        consumer=Consumer("lerobot", "lerobot", "pip install lerobot==0.3.3"),
    ),
)

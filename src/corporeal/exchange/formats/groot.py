"""LeRobot v2.1 as GR00T wants it: flat columns, and a file that names the parts of the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corporeal.exchange.format import Consumer, Format, Head, Piece, Writer
from corporeal.exchange.lerobot.assembly import assembly_of, write_json
from corporeal.exchange.lerobot.assembly_v21 import write_v21
from corporeal.exchange.lerobot.modality import modality_of
from corporeal.exchange.lerobot.writing import LOSES, write_piece
from corporeal.exchange.table import Table


def piece(table: Table, folder: Path, head: Head) -> Mapping[str, Any]:
    """Write one episode; columns of several axes become flat, their shape is in info.json."""
    return write_piece(table, folder, head, flat=True)


def assemble(pieces: Sequence[Piece], out: Path, head: Head) -> None:
    """Make the dataset; its stats.json is of columns alone, since GR00T takes no other."""
    write_v21(assembly_of(pieces, head, "Sequence", flat=True), out, total_cameras=False)
    write_json(out / "meta" / "modality.json", modality_of(head))


FORMAT = Format(
    title="LeRobot v2.1 for GR00T",
    writer=Writer(
        piece=piece,
        assemble=assemble,
        loses=LOSES,
        consumer=Consumer("lerobot", "lerobot", "pip install lerobot==0.3.3"),
    ),
)

"""People as streams: the bytes that a sender of live poses puts on the wire."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence

from corporeal.retargeting.motion import POINTS, HumanMotion

BONES = {
    1: "pelvis", 2: "spine", 3: "chest", 4: "neck", 5: "head", 7: "left_shoulder", 8: "left_elbow",
    9: "left_wrist", 11: "right_shoulder", 12: "right_elbow", 13: "right_wrist", 14: "left_hip",
    15: "left_knee", 16: "left_ankle", 17: "right_hip", 18: "right_knee", 19: "right_ankle",
    20: "left_toe", 21: "right_toe",
}  # fmt: skip


def json_pose(motion: HumanMotion, frame: int, *, t_s: float | None = None) -> bytes:
    """One frame as a JSON message."""
    points = {name: motion.positions[frame, i].tolist() for i, name in enumerate(POINTS)}
    stamp = frame / motion.rate_hz if t_s is None else t_s
    return json.dumps({"t": stamp, "points": points}).encode()


def natnet_pose(
    motion: HumanMotion, frame: int, version: tuple[int, int], *, others: bool = True
) -> bytes:
    """One frame as a NatNet packet, y up, with a skeleton 1 of the baseline's bones.

    `others` puts marker sets, markers, plates and a rigid body around it, as a real stage does.
    """
    sized = version >= (4, 1)

    def section(rows: Sequence[bytes]) -> bytes:
        body = b"".join(rows)
        return (
            struct.pack("<i", len(rows)) + (struct.pack("<i", len(body)) if sized else b"") + body
        )

    bones = [
        _body((1 << 16) | number, motion.point(name)[frame].tolist())
        for number, name in BONES.items()
    ]
    skeleton = struct.pack("<ii", 1, len(bones)) + b"".join(bones)
    marker = struct.pack("<i3ffhf", 5, 0.1, 0.2, 0.3, 0.014, 0, 0.001)
    plate = struct.pack("<iiif", 1, 1, 1, 3.5)
    sets = [b"all\0" + struct.pack("<i", 2) + struct.pack("<6f", *range(6))]
    out = struct.pack("<i", frame)
    out += section(sets if others else [])
    out += section([struct.pack("<3f", 1, 2, 3)] * 4 if others else [])
    out += section([_body(77, [1.0, 2.0, 3.0])] if others else [])
    out += section([skeleton])
    if sized:
        asset = struct.pack("<ii", 9, 1) + _body(3, [0.0] * 3) + struct.pack("<i", 1) + marker
        out += section([asset] if others else [])
    out += section([marker] * 3 if others else [])
    out += section([plate] if others else [])
    out += section([plate] if others else [])
    out += struct.pack("<IId", 0, 0, frame / motion.rate_hz)
    out += struct.pack("<QQQ", 1, 2, 3) + (struct.pack("<ii", 0, 0) if sized else b"")
    out += struct.pack("<hi", 0, 0)
    return struct.pack("<HH", 7, len(out)) + out


def natnet_model(names: Mapping[int, str], version: tuple[int, int], *, turned: bool) -> bytes:
    """Descriptions of a marker set, a rigid body and the skeleton 1 with bones of these names."""

    def body(name: str, number: int) -> bytes:
        marker = struct.pack("<3fi", 0, 0, 0, 4) + (b"marker\0" if version >= (4, 0) else b"")
        head = name.encode() + b"\0" + struct.pack("<ii3f", number, 0, 0, 0, 0)
        return head + (struct.pack("<4f", 0, 0, 0, 1) if turned else b"") + _one(marker)

    bones = [body(name, number) for number, name in names.items()]
    skeleton = b"Ann\0" + struct.pack("<ii", 1, len(bones)) + b"".join(bones)
    parts = [(0, b"all\0" + struct.pack("<i", 1) + b"m\0"), (1, body("box", 7)), (2, skeleton)]
    out = struct.pack("<i", len(parts))
    for kind, data in parts:
        size = struct.pack("<i", len(data)) if version >= (4, 1) else b""
        out += struct.pack("<i", kind) + size + data
    return struct.pack("<HH", 5, len(out)) + out


def _body(number: int, point: Sequence[float]) -> bytes:
    x, y, z = point
    return struct.pack("<i3f4ffh", number, x, z, -y, 0, 0, 0, 1, 0.001, 1)


def _one(marker: bytes) -> bytes:
    return struct.pack("<i", 1) + marker

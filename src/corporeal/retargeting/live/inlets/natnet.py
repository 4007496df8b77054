"""Skeletons of OptiTrack Motive, as its NatNet protocol 3.x and 4.x sends them over UDP."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from corporeal.retargeting.live.arrivals import Arrivals
from corporeal.retargeting.live.inlet import Address, Inlet, bound_socket, in_thread
from corporeal.retargeting.live.natnet_packet import (
    FRAME,
    MODEL,
    SERVER_INFO,
    NatNetFrame,
    bone_names,
    parse_frame,
    server_version,
    split_packet,
)
from corporeal.retargeting.live.pose_message import MAX_BYTES, PoseMessage, make_pose, upward
from corporeal.retargeting.motion import MotionError

_CONNECT, _ASK_MODEL, _KEEP_ALIVE = 0, 4, 10
_ASK_EVERY_S = 1.0
# Bones of Motive by the joint where they begin; the toe's is the ball of the foot.
_BONES = {
    "hip": "pelvis", "ab": "spine", "chest": "chest", "neck": "neck", "head": "head",
    "luarm": "left_shoulder", "lfarm": "left_elbow", "lhand": "left_wrist",
    "ruarm": "right_shoulder", "rfarm": "right_elbow", "rhand": "right_wrist",
    "lthigh": "left_hip", "lshin": "left_knee", "lfoot": "left_ankle", "ltoe": "left_toe",
    "rthigh": "right_hip", "rshin": "right_knee", "rfoot": "right_ankle", "rtoe": "right_toe",
}  # fmt: skip
# The numbers of the baseline skeleton's bones, for streams that do not tell their names.
_BASELINE = (
    "hip", "ab", "chest", "neck", "head", "lshoulder", "luarm", "lfarm", "lhand", "rshoulder",
    "ruarm", "rfarm", "rhand", "lthigh", "lshin", "lfoot", "rthigh", "rshin", "rfoot", "ltoe",
    "rtoe",
)  # fmt: skip


class _Stream:
    """What is known of one stream: its version, the names of its bones, whom it follows."""

    def __init__(self, address: Address) -> None:
        options = address.options
        self.version = _version(options.get("version", "4.1"))
        self.is_told = "version" in options
        self.up = upward(options.get("up", "y"))
        self.names: dict[tuple[int, int], str] = {}

    def take(self, data: bytes) -> tuple[PoseMessage, int] | None:
        """A pose with the number of its frame, or None for a packet that holds none."""
        kind, payload = split_packet(data)
        if kind == SERVER_INFO and not self.is_told:
            self.version = server_version(payload)
        elif kind == MODEL:
            self.names = bone_names(payload, self.version)
        elif kind == FRAME:
            frame = parse_frame(payload, self.version)
            return self._pose(frame), frame.number
        return None

    def _pose(self, frame: NatNetFrame) -> PoseMessage:
        skeleton = next(iter(frame.skeletons.items()), None)
        if skeleton is None:
            raise MotionError("a NatNet frame without a skeleton; stream skeletons from Motive.")
        number, bones = skeleton
        points = {}
        for bone in bones:
            # Motive puts the skeleton's number into the upper half of a bone's.
            own = bone.number & 0xFFFF
            name = self.names.get((number, own)) or _baseline(own)
            point = _BONES.get(name.split(":")[-1].split("_")[-1].lower())
            if point is not None and bone.is_tracked:
                points[point] = list(bone.position)
        return make_pose(frame.t_s, points, {}, self.up)


@contextmanager
def listen(address: Address, arrivals: Arrivals) -> Iterator[Address]:
    """Receive frames until the end of the block.

    Options of the address: `version` of the protocol where no server tells it, `group` of a
    multicast to join, `server` host:port of Motive's command port, `up` axis (y).
    """
    stream, server = _Stream(address), _server(address)
    with bound_socket(address) as opened:
        _join(opened, address)

        def receive(stop: threading.Event) -> None:
            asked_s = float("-inf")
            while not stop.is_set():
                if server is not None and time.monotonic() - asked_s > _ASK_EVERY_S:
                    _ask(opened, server, knows_names=bool(stream.names))
                    asked_s = time.monotonic()
                try:
                    data, sender = opened.recvfrom(MAX_BYTES)
                except OSError:  # nothing came in time, or a peer of ours is gone
                    continue
                received_ns = time.monotonic_ns()
                # Motive answers and streams from two ports of one machine.
                if not arrivals.admits(sender[0]):
                    continue
                try:
                    found = stream.take(data)
                except MotionError as error:
                    arrivals.reject(str(error))
                    continue
                if found is not None:
                    arrivals.put(found[0], received_ns, number=found[1])

        with in_thread(receive, "natnet inlet"):
            yield replace(address, port=opened.getsockname()[1])


def _ask(opened: socket.socket, server: tuple[str, int], *, knows_names: bool) -> None:
    wanted = (_KEEP_ALIVE,) if knows_names else (_CONNECT, _ASK_MODEL)
    for kind in wanted:
        try:
            opened.sendto(struct.pack("<HH", kind, 0), server)
        except OSError:  # it will be asked again
            return


def _join(opened: socket.socket, address: Address) -> None:
    group = address.options.get("group")
    if group is None:
        return
    try:
        membership = socket.inet_aton(group) + socket.inet_aton(address.host)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError as error:
        raise MotionError(
            f"cannot join multicast group {group!r} at {address}: {error.strerror or error}. "
            "Give a group such as 239.255.42.99, and the host's own address to listen at."
        ) from None


def _server(address: Address) -> tuple[str, int] | None:
    given = address.options.get("server")
    if given is None:
        return None
    host, _, port = given.partition(":")
    if port and not port.isdigit():
        raise MotionError(f"NatNet server {given[:80]!r}; expected host or host:port.")
    return host, int(port or 1510)


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (major.isdigit() and (minor or "0").isdigit() and 3 <= int(major) <= 4):
        raise MotionError(f"NatNet version {text[:20]!r}; expected 3.0 to 4.x.")
    return int(major), int(minor or 0)


def _baseline(number: int) -> str:
    return _BASELINE[number - 1] if 1 <= number <= len(_BASELINE) else ""


INLET = Inlet("natnet", listen, "skeletons of OptiTrack Motive, natnet://host:1511")

"""Skeletons of OptiTrack Motive, as its NatNet protocol 3.x and 4.x sends them over UDP."""

from __future__ import annotations

import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from corporeal.retargeting.live.inlet import Address, Arrivals, Inlet, bound_socket, in_thread
from corporeal.retargeting.live.pose_message import MAX_BYTES, PoseMessage, make_pose, upward
from corporeal.retargeting.motion import MotionError

SERVER_INFO, MODEL, FRAME = 1, 5, 7
# More than a capture volume can hold; a count beyond it is no NatNet.
_MOST = 20_000
_MOST_BONES = 512
_NAME_BYTES = 256
_RIGID = struct.Struct("<i3f4ffh")
# Bytes of a labelled marker: number, position, size, flags, residual.
_LABELLED = 4 + 12 + 4 + 2 + 4
_SKELETON_MODEL, _RIGID_MODEL, _MARKER_MODEL = 2, 1, 0

Version = tuple[int, int]


@dataclass(frozen=True)
class NatNetBone:
    """One rigid body: its number, position in metres, rotation (x, y, z, w), and if it is seen."""

    number: int
    position: tuple[float, float, float]
    rotation: tuple[float, float, float, float]
    is_tracked: bool


@dataclass(frozen=True)
class NatNetFrame:
    """One frame: its number, the time of Motive's clock, and the bones of each skeleton."""

    number: int
    t_s: float
    rigid_bodies: tuple[NatNetBone, ...]
    skeletons: dict[int, tuple[NatNetBone, ...]]


class _Bytes:
    """Reads forward through a packet; every step is checked against its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, layout: struct.Struct) -> tuple[float, ...]:
        """The next values of a layout."""
        start = self._at
        self.skip(layout.size)
        return layout.unpack_from(self._data, start)

    def integer(self) -> int:
        """The next 32 bits."""
        return int(self.take(_INTEGER)[0])

    def count(self, most: int = _MOST) -> int:
        """The next 32 bits, if they can be a count."""
        count = self.integer()
        if not 0 <= count <= most:
            raise MotionError(f"a NatNet packet that counts {count}; check its version.")
        return count

    def name(self) -> str:
        """The text up to the next zero."""
        end = self._data.find(b"\0", self._at, self._at + _NAME_BYTES)
        if end < 0:
            raise MotionError("a NatNet packet with a name that does not end.")
        text = self._data[self._at : end].decode("utf-8", "replace")
        self._at = end + 1
        return text

    def part(self, size: int) -> bytes:
        """The next bytes."""
        start = self._at
        self.skip(size)
        return self._data[start : self._at]

    @property
    def is_over(self) -> bool:
        """Whether everything was read."""
        return self._at == len(self._data)

    def skip(self, size: int) -> None:
        """Go on by some bytes."""
        if size < 0 or self._at + size > len(self._data):
            raise MotionError("a NatNet packet that ends too early; check its version.")
        self._at += size


_INTEGER, _DOUBLE = struct.Struct("<i"), struct.Struct("<d")


def split_packet(data: bytes) -> tuple[int, bytes]:
    """The kind of a packet and what it carries; raises MotionError for one cut short."""
    if len(data) < 4:
        raise MotionError(f"a NatNet packet of {len(data)} bytes; expected at least 4.")
    kind, size = struct.unpack_from("<HH", data)
    if len(data) - 4 < size:
        raise MotionError(f"a NatNet packet of {len(data) - 4} bytes that promises {size}.")
    # Large model descriptions do not fit the 16 bits; what came is what there is.
    return kind, data[4:]


def server_version(payload: bytes) -> Version:
    """The protocol that a server speaks: after the name (256) and version (4) of its program."""
    if len(payload) < 264:
        raise MotionError("a NatNet server that does not tell its version.")
    return payload[260], payload[261]


def parse_frame(payload: bytes, version: Version) -> NatNetFrame:
    """A frame of motion; raises MotionError for bytes that are none."""
    data = _Bytes(payload)
    number = data.integer()
    sized = version >= (4, 1)

    def section(each: Callable[[_Bytes], object], most: int = _MOST) -> list[object]:
        count = data.count(most)
        if sized:
            data.integer()
        return [each(data) for _ in range(count)]

    section(_skip_marker_set)
    section(lambda rest: rest.skip(12))
    bodies = section(_bone)
    skeletons = section(_skeleton, 256)
    if sized:
        section(_skip_asset)
    section(lambda rest: rest.skip(_LABELLED))
    for _ in range(2):  # force plates, then other devices
        section(_skip_channels, 256)
    data.skip(8)  # the time code of a camera, and its fraction
    stamp = float(data.take(_DOUBLE)[0])
    if not math.isfinite(stamp):
        raise MotionError("a NatNet frame whose time is no number.")
    return NatNetFrame(
        number,
        stamp,
        tuple(each for each in bodies if isinstance(each, NatNetBone)),
        dict(each for each in skeletons if isinstance(each, tuple)),
    )


def bone_names(payload: bytes, version: Version) -> dict[tuple[int, int], str]:
    """Names of bones by the numbers of their skeleton and their own, from model descriptions."""
    data = _Bytes(payload)
    names: dict[tuple[int, int], str] = {}
    for _ in range(data.count(1024)):
        kind = data.integer()
        if version >= (4, 1):
            part = data.part(data.count(1 << 20))
            if kind == _SKELETON_MODEL:
                names |= _described_skeleton(part, version)
        elif kind == _SKELETON_MODEL:
            names |= _skeleton_names(data, version, turned=False)
        elif kind == _MARKER_MODEL:
            data.name()
            for _ in range(data.count()):
                data.name()
        elif kind == _RIGID_MODEL:
            _described_body(data, version, turned=False)
        else:
            # Older protocols do not say how long cameras and plates are; skeletons come before.
            break
    return names


def _described_skeleton(part: bytes, version: Version) -> dict[tuple[int, int], str]:
    """A skeleton of known size: whether bones tell their rotation is seen from what fits it."""
    for turned in (version >= (4, 2), version < (4, 2)):
        data = _Bytes(part)
        try:
            names = _skeleton_names(data, version, turned=turned)
        except MotionError:
            continue
        if data.is_over:
            return names
    raise MotionError("a NatNet skeleton whose description has another size than it says.")


def _skeleton_names(data: _Bytes, version: Version, *, turned: bool) -> dict[tuple[int, int], str]:
    data.name()
    skeleton = data.integer()
    names = {}
    for _ in range(data.count(_MOST_BONES)):
        name, number = _described_body(data, version, turned=turned)
        names[skeleton, number & 0xFFFF] = name
    return names


def _described_body(data: _Bytes, version: Version, *, turned: bool) -> tuple[str, int]:
    name, number = data.name(), data.integer()
    data.skip(4 + 12)  # the parent, and where it sits on it
    if turned:
        data.skip(16)
    markers = data.count()
    data.skip(markers * (12 + 4))
    if version >= (4, 0):
        for _ in range(markers):
            data.name()
    return name, number


def _bone(data: _Bytes) -> NatNetBone:
    number, x, y, z, a, b, c, w, _, flags = data.take(_RIGID)
    return NatNetBone(int(number), (x, y, z), (a, b, c, w), bool(int(flags) & 1))


def _skeleton(data: _Bytes) -> tuple[int, tuple[NatNetBone, ...]]:
    number = data.integer()
    return number, tuple(_bone(data) for _ in range(data.count(_MOST_BONES)))


def _skip_marker_set(data: _Bytes) -> None:
    data.name()
    data.skip(12 * data.count())


def _skip_asset(data: _Bytes) -> None:
    data.skip(4)
    data.skip(_RIGID.size * data.count())
    data.skip(_LABELLED * data.count())


def _skip_channels(data: _Bytes) -> None:
    data.skip(4)
    for _ in range(data.count(256)):
        data.skip(4 * data.count())


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
                    pose = stream.take(data)
                except MotionError as error:
                    arrivals.reject(str(error))
                    continue
                if pose is not None:
                    arrivals.put(pose[0], received_ns, number=pose[1])

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

"""Foxglove's messages (in protobuf, JSON or ROS) in the words of the ROS messages beside them."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.ros import message as known
from corporeal.capture.ros.message import MessagePart, NotMappedError, frame_of
from corporeal.capture.ros.picture import compressed_image, image, point_cloud, video_piece

COMPRESSED_VIDEO = "foxglove.CompressedVideo"
# Foxglove's numbers of a point's number types, as ROS numbers them.
_POINT_TYPES = {1: 2, 2: 1, 3: 4, 4: 3, 5: 6, 6: 5, 7: 7, 8: 8}
_CODECS = {"h264": "h264", "h265": "hevc", "vp9": "vp9", "av1": "libdav1d"}


def foxglove_name(message_type: str) -> str:
    """`foxglove.Type`, also for the ROS spelling of the same schemas."""
    return message_type.replace("foxglove_msgs/msg/", "foxglove.")


def compressed_picture(message: Any) -> list[MessagePart]:
    """A JPEG or PNG."""
    return compressed_image(_with(message, data=bytes_of(message)))


def raw_picture(message: Any) -> list[MessagePart]:
    """Pixels, or depth."""
    return image(_with(message, data=bytes_of(message), is_bigendian=False))


def cloud(message: Any) -> list[MessagePart]:
    """Points with every field that holds one number."""
    data, stride = bytes_of(message), int(message.point_stride)
    if stride <= 0:
        raise NotMappedError(f"a point of {stride} bytes")
    fields = [
        SimpleNamespace(
            name=field.name, offset=int(field.offset), count=1,
            datatype=_POINT_TYPES.get(int(field.type), 0),
        )
        for field in message.fields
    ]  # fmt: skip
    count = len(data) // stride
    return point_cloud(
        _with(message, data=data, fields=fields, point_step=stride, row_step=count * stride,
              height=1, width=count, is_bigendian=False)
    )  # fmt: skip


def joint_states(message: Any) -> list[MessagePart]:
    """The joints of one message, each with those values that it has."""
    joints = list(message.joints)
    columns: dict[str, Any] = {
        name: np.array([getattr(joint, name) for joint in joints])
        for name in ("position", "velocity", "effort")
        if joints and all(getattr(joint, name, None) is not None for joint in joints)
    }
    return known.joint_state(_with(message, name=[joint.name for joint in joints], **columns))


def frame_transforms(message: Any) -> list[MessagePart]:
    """Every transform of the message."""
    return known.transform_tree(message)


def frame_transform(message: Any) -> list[MessagePart]:
    """One transform."""
    return known.transform_tree(SimpleNamespace(transforms=[message]))


def pose_in_frame(message: Any) -> list[MessagePart]:
    """A pose."""
    return known.posed(message.pose, frame_of(message))


CONVERTERS = {
    "foxglove.CompressedImage": compressed_picture,
    "foxglove.RawImage": raw_picture,
    "foxglove.PointCloud": cloud,
    "foxglove.JointStates": joint_states,
    "foxglove.FrameTransform": frame_transform,
    "foxglove.FrameTransforms": frame_transforms,
    "foxglove.PoseInFrame": pose_in_frame,
    "foxglove.Log": known.log,
}


def bytes_of(message: Any) -> bytes:
    """The bytes of a message's `data`, which JSON writes as base64."""
    data = message.data
    if not isinstance(data, str):
        return bytes(data)
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise NotMappedError("data that is not base64") from None


def _with(message: Any, **values: Any) -> Any:
    fields = vars(message) if isinstance(message, SimpleNamespace) else {
        name: getattr(message, name) for name in message.__dataclass_fields__
    }  # fmt: skip
    return SimpleNamespace(**{**fields, **values})


class FilmDecoder:
    """One topic of coded video: a picture needs those before it, so they are given in order."""

    def __init__(self) -> None:
        self._codec: Any = None
        self._count = 0
        self._size: tuple[int, int] | None = None

    def pieces(self, message: Any) -> list[MessagePart]:
        """The picture of one message; NotMappedError before the first one that stands alone."""
        data = bytes_of(message)
        frame = frame_of(message)
        if self._size is None:
            picture = self._decode(message.format, data)
            self._size = picture.shape[0], picture.shape[1]
            return [video_piece(self._size, lambda: picture, frame)]
        return [video_piece(self._size, partial(self._sized, message.format, data), frame)]

    def _sized(self, name: str, data: bytes) -> NDArray[np.uint8]:
        picture = self._decode(name, data)
        if picture.shape[:2] != self._size:
            raise NotMappedError(f"a picture of {picture.shape[1]} x {picture.shape[0]} pixels")
        return picture

    def _decode(self, name: str, data: bytes) -> NDArray[np.uint8]:
        import av

        if self._codec is None:
            if name not in _CODECS:
                raise NotMappedError(f"the video format {name!r}, which is none of h264, h265, "
                                     "vp9, av1")  # fmt: skip
            self._codec = av.CodecContext.create(_CODECS[name], "r")
            self._codec.thread_type = "NONE"
            self._codec.flags |= av.codec.context.Flags.low_delay
        packet = av.Packet(data)
        self._count += 1
        packet.pts = self._count
        try:
            frames = [frame for frame in self._codec.decode(packet) if frame.pts == self._count]
        except av.FFmpegError:
            frames = []
        if not frames:
            raise NotMappedError("a coded picture that builds on one that is not there")
        return np.asarray(frames[0].to_ndarray(format="rgb24"), np.uint8)

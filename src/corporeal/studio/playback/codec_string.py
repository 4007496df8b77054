"""The name by which browsers know a codec, with its profile and level."""

from __future__ import annotations

_AVCC = 1
_AV1C = 0x81


def codec_string(codec: str, extradata: bytes) -> str | None:
    """Such as avc1.42C00D; None for a movie that pages are better shown picture by picture."""
    if codec == "h264" and len(extradata) >= 7 and extradata[0] == _AVCC:
        return "avc1." + extradata[1:4].hex().upper()
    if codec == "av1" and len(extradata) >= 4 and extradata[0] == _AV1C:
        profile, level = extradata[1] >> 5, extradata[1] & 0x1F
        tier = "H" if extradata[2] >> 7 else "M"
        depth = 8 if not extradata[2] & 0x40 else 10
        return f"av01.{profile}.{level:02}{tier}.{depth:02}"
    return None

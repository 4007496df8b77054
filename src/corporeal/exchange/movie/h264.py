"""H.264 packets as an encoder gives them and as an MP4 holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corporeal.errors import EpisodeError

_START_CODE = b"\x00\x00\x01"
_IDR, _SPS, _PPS = 5, 7, 8
_LENGTH_BYTES = 4
_BASELINE = 66
# A slice header up to the picture's id fits in this many bytes.
_HEADER_BYTES = 24
_IN_NEED_OF_ESCAPE = re.compile(rb"\x00\x00(?=[\x00-\x03])")


def parameters_in(packet: bytes) -> tuple[bytes, ...]:
    """The parameter sets that an encoder puts before a key frame (Annex B)."""
    return tuple(unit for unit in _units(packet) if _kind(unit) in (_SPS, _PPS))


def stored_parameters(extradata: bytes) -> tuple[bytes, ...] | None:
    """The parameter sets in the header of an MP4; None unless lengths take four bytes."""
    if len(extradata) < 7 or extradata[0] != 1 or (extradata[4] & 3) + 1 != _LENGTH_BYTES:
        return None
    found, place = [], 5
    for mask in (0x1F, 0xFF):
        if place >= len(extradata):
            return None
        count = extradata[place] & mask
        place += 1
        for _ in range(count):
            length = int.from_bytes(extradata[place : place + 2], "big")
            found.append(extradata[place + 2 : place + 2 + length])
            place += 2 + length
    return tuple(found)


def as_stored(packet: bytes) -> bytes:
    """A packet (Annex B) as an MP4 holds it: lengths, and no parameter sets."""
    kept = (unit for unit in _units(packet) if _kind(unit) not in (_SPS, _PPS))
    return b"".join(len(unit).to_bytes(_LENGTH_BYTES, "big") + unit for unit in kept)


def stands_alone(packet: bytes) -> bool:
    """Whether a packet of an MP4 has an IDR picture: a table of key frames may say more."""
    return any(_kind(unit) == _IDR for unit in _stored_units(packet))


def frame_number_bits(extradata: bytes) -> int | None:
    """How many bits of a slice header number the frames; None unless the profile is baseline.

    Slices of other profiles may be aligned to bytes, so that nothing in their header can grow.
    """
    stored = stored_parameters(extradata)
    if not stored or len(stored[0]) < 5 or stored[0][1] != _BASELINE:
        return None
    bits = _bits(stored[0][4:])
    number, _ = _read_number(bits, _read_number(bits, 0)[1])
    return 4 + number


def told_apart(packet: bytes, last: int | None, number_bits: int) -> tuple[bytes, int]:
    """An IDR packet of an MP4 whose id is not that of the IDR packet just before, and its id.

    The standard wants neighbours to differ, lest one be taken for a part of the other.
    """
    ids, units = [], []
    for unit in _stored_units(packet):
        if _kind(unit) == _IDR:
            bits = _bits(unit[1:].replace(b"\x00\x00\x03", b"\x00\x00"))
            begin = 0
            for _ in range(3):
                _, begin = _read_number(bits, begin)
            begin += number_bits
            number, end = _read_number(bits, begin)
            if number == last:
                # Two is a longer number than zero, so that all bits after it move.
                number = 2 if last != 2 else 0
                unit = unit[:1] + _spliced(unit[1:], begin, end, _written_number(number))
            ids.append(number)
        units.append(unit)
    data = b"".join(len(unit).to_bytes(_LENGTH_BYTES, "big") + unit for unit in units)
    return data, ids[0]


def _spliced(body: bytes, begin: int, end: int, new: str) -> bytes:
    """The body of a unit with other bits from `begin` to `end`, and escaped as it must be."""
    plain = body.replace(b"\x00\x00\x03", b"\x00\x00")
    value, length = int.from_bytes(plain, "big"), 8 * len(plain)
    # A unit ends with a one and zeros up to a whole byte.
    padding = (value & -value).bit_length() - 1
    after = (value & ((1 << (length - end)) - 1)) >> padding
    after_length = length - end - padding
    changed = (((value >> (length - begin)) << len(new)) | int(new, 2)) << after_length | after
    total = begin + len(new) + after_length
    whole = (changed << (-total % 8)).to_bytes(-(-total // 8), "big")
    return _IN_NEED_OF_ESCAPE.sub(b"\x00\x00\x03", whole)


def _bits(plain: bytes) -> str:
    head = plain[:_HEADER_BYTES]
    return f"{int.from_bytes(head, 'big'):0{8 * len(head)}b}"


def _read_number(bits: str, begin: int) -> tuple[int, int]:
    """An Exp-Golomb number, and where the bits after it begin."""
    one = bits.find("1", begin)
    if one < 0 or 2 * one - begin >= len(bits):
        raise EpisodeError("a packet of H.264 has no whole header. Replace the movie.")
    end = 2 * one - begin + 1
    return int(bits[one:end], 2) - 1, end


def _written_number(number: int) -> str:
    digits = f"{number + 1:b}"
    return "0" * (len(digits) - 1) + digits


def _stored_units(packet: bytes) -> Iterator[bytes]:
    """The units of a packet of an MP4."""
    place = 0
    while place + _LENGTH_BYTES < len(packet):
        begin = place + _LENGTH_BYTES
        place = begin + int.from_bytes(packet[place:begin], "big")
        if begin < place:
            yield packet[begin:place]


def _units(packet: bytes) -> Iterator[bytes]:
    """The units of a packet in Annex B, without their start codes."""
    for part in packet.split(_START_CODE)[1:]:
        unit = part.rstrip(b"\x00")
        if unit:
            yield unit


def _kind(unit: bytes) -> int:
    return unit[0] & 0x1F

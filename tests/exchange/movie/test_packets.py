"""H.264 packets, taken apart and put together again."""

from __future__ import annotations

from itertools import pairwise

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exchange.movies import HEIGHT, WIDTH, pictures

from corporeal.episode.video import Encoder
from corporeal.errors import EpisodeError
from corporeal.exchange.movie.packets import (
    as_stored,
    frame_number_bits,
    parameters_in,
    stands_alone,
    stored_parameters,
    told_apart,
)


def header_of(packet: bytes) -> bytes:
    """The parameter sets of an encoder's first packet as an MP4 has them in its header."""
    sps, pps = parameters_in(packet)
    return (
        b"\x01" + sps[1:4] + b"\xff\xe1" + len(sps).to_bytes(2, "big") + sps
        + b"\x01" + len(pps).to_bytes(2, "big") + pps
    )  # fmt: skip


def shown(header: bytes, packets: list[bytes]) -> np.ndarray:
    """The pictures that a decoder makes of packets of an MP4."""
    context = av.CodecContext.create("h264", "r")
    context.extradata = header
    frames = [frame for data in packets for frame in context.decode(av.Packet(data))]
    frames += context.decode(None)
    return np.stack([frame.to_ndarray(format="rgb24") for frame in frames])


def encoded(count: int, seed: int = 0) -> list[bytes]:
    """Packets (Annex B) of pictures: key frames and others in turn."""
    encoder = Encoder(HEIGHT, WIDTH, rate_hz=30)
    return [encoder.encode(picture) for picture in pictures(count, seed=seed)]


def test_parameters_come_back_from_a_header() -> None:
    first = encoded(1)[0]
    assert stored_parameters(header_of(first)) == parameters_in(first)
    assert len(parameters_in(first)) == 2


@pytest.mark.parametrize("header", [b"", b"\x01", b"\x00\x00\x00\x01gB\xc0\n", b"\x01BBB\xfc\xe1"])
def test_a_header_of_another_kind_has_none(header: bytes) -> None:
    assert stored_parameters(header) is None
    assert frame_number_bits(header) is None


def test_only_the_encoders_key_frames_stand_alone() -> None:
    assert [stands_alone(as_stored(packet)) for packet in encoded(4)] == [True, False, True, False]
    assert not stands_alone(b"\xff\xff\xff\xff\x01")
    assert not stands_alone(b"")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), repeats=st.integers(2, 5))
def test_a_key_frame_shown_again_gets_another_id_and_keeps_its_picture(
    seed: int, repeats: int
) -> None:
    packets = encoded(3, seed)
    header = header_of(packets[0])
    bits = frame_number_bits(header)
    assert bits is not None
    for packet in (as_stored(packets[0]), as_stored(packets[2])):
        last, given_ids, row = None, [], []
        for _ in range(repeats):
            data, last = told_apart(packet, last, bits)
            given_ids.append(last)
            row.append(data)
        assert row[0] == packet
        assert all(a != b for a, b in pairwise(given_ids))
        once = shown(header, [packet])
        assert np.array_equal(shown(header, row), once.repeat(repeats, axis=0))
        assert all(told_apart(data, None, bits) == (data, own)
                   for data, own in zip(row, given_ids, strict=True))  # fmt: skip


def test_a_packet_cut_short_is_an_error() -> None:
    with pytest.raises(EpisodeError, match="no whole header"):
        told_apart(b"\x00\x00\x00\x02\x65\x00", None, 4)

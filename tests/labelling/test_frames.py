"""Boundaries lie on frames."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from tests.labelling.good_annotation import STAMPS

from corporeal.errors import CorporealError
from corporeal.labelling.frames import boundary_ns, frame_of, frames_from_json


def test_a_boundary_lies_on_the_first_frame_that_shows_the_event() -> None:
    assert boundary_ns(STAMPS, 33_000_001) == 66_000_000
    assert boundary_ns(STAMPS, 33_000_000) == 33_000_000
    assert boundary_ns(STAMPS, 10**12) == int(STAMPS[-1])


def test_a_time_between_frames_belongs_to_the_nearest() -> None:
    stamps = np.arange(300, dtype=np.int64) * 33_333_333
    assert frame_of(stamps, 33_333_333 * 5 + 10) == 5
    assert frame_of(stamps, 33_333_333 * 6 - 10) == 6
    assert frame_of(stamps, int(stamps[-1]) + 33_333_333) == 300


def test_stamps_that_unpack_without_end_are_refused() -> None:
    packed = base64.b64encode(zlib.compress(bytes(65 << 20), 9)).decode()
    with pytest.raises(CorporealError, match="over 64 MiB of stamps"):
        frames_from_json({"stream": "observations/head", "packed": packed})

"""Small pictures: small enough, of the right thing, and cheap."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from corporeal.capture.thumbnail import WIDTH, Pace, framed, jpeg, unframed


@pytest.mark.parametrize(
    "shape",
    [(480, 640, 3), (1080, 1920, 3), (720, 1280, 3), (120, 160, 3), (61, 83, 3), (480, 640, 1),
     (400, 200, 3), (1, 1, 3)],
)  # fmt: skip
def test_a_picture_of_any_size_becomes_a_small_one_of_the_same_shape(
    shape: tuple[int, int, int],
) -> None:
    picture = np.full(shape, 120, np.uint8)
    made = Image.open(io.BytesIO(jpeg(picture)))
    assert 0 < made.width <= WIDTH
    assert made.height / made.width == pytest.approx(shape[0] / shape[1], rel=0.05)
    assert np.asarray(made).mean() == pytest.approx(120, abs=3)


def test_what_is_left_and_right_stays_left_and_right() -> None:
    picture = np.zeros((480, 640, 3), np.uint8)
    picture[:, :320, 0] = 250
    made = np.asarray(Image.open(io.BytesIO(jpeg(picture)))).astype(int)
    assert made[:, :140, 0].min() > 200
    assert made[:, 180:, 0].max() < 50


def test_depth_is_light_where_near_and_black_where_unknown() -> None:
    depth = np.full((480, 640), 3000, np.uint16)
    depth[:, :200] = 500
    depth[:, 500:] = 0
    made = np.asarray(Image.open(io.BytesIO(jpeg(depth)))).astype(int)
    assert made[:, :80].min() > made[:, 140:220].max() > made[:, 270:].max()
    assert np.asarray(Image.open(io.BytesIO(jpeg(np.zeros((48, 64), np.uint16))))).max() == 0


def test_a_framed_picture_is_read_back() -> None:
    assert unframed(framed({"stream": "observations/ä"}, b"\xff\xd8x")) == (
        {"stream": "observations/ä"},
        b"\xff\xd8x",
    )


@pytest.mark.parametrize("message", [b"", b"\x02\x00[]", b"\x04\x00null", b"\xff\xff{}"])
def test_something_else_is_no_framed_picture(message: bytes) -> None:
    with pytest.raises(ValueError, match="expected a picture"):
        unframed(message)


def test_each_stream_has_its_own_pace() -> None:
    pace = Pace(every_s=60.0)
    assert pace.is_due("a")
    assert not pace.is_due("a")
    assert pace.is_due("b")

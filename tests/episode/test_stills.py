"""Pictures stored one by one behave like a movie."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from corporeal.episode.recording import ImageSequence
from corporeal.errors import EpisodeError
from corporeal.schema import Stream

SPEC = Stream(name="head", group="observations", kind="video", shape=(6, 8, 3))


def png(level: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (8, 6), level).save(stream, "PNG")
    return stream.getvalue()


def test_encoded_and_plain_pictures_are_the_same() -> None:
    stamps = np.arange(3, dtype=np.int64)
    plain = [np.full((6, 8, 3), level, np.uint8) for level in (1, 2, 3)]
    for pictures in (plain, [png(level) for level in (1, 2, 3)]):
        stills = ImageSequence(SPEC, stamps, pictures)
        assert len(stills) == 3
        assert np.array_equal(stills[:], np.stack(plain))
        assert np.array_equal(stills[-1], plain[2])
        assert [frame.to_ndarray(format="rgb24")[0, 0, 0] for frame in stills.frames()] == [1, 2, 3]


@pytest.mark.parametrize("bad", [b"", b"GIF89a", png(3)[:40]])
def test_what_is_no_picture_is_refused_in_a_sentence(bad: bytes) -> None:
    with pytest.raises(EpisodeError, match="cannot be decoded"):
        ImageSequence(SPEC, np.zeros(1, np.int64), [bad])[0]

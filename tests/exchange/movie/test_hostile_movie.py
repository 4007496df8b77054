"""A movie of a codec that nobody knows ends in a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.exchange.lerobot_sets import write_movie

from corporeal.errors import EpisodeError
from corporeal.exchange.movie.foreign_movie import read_header


def test_a_codec_without_a_decoder_is_answered_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_movie(path, 4, 20)
    data, count = re.subn(rb"(?<=stsd.{12})(avc1|av01|hev1|hvc1|mp4v|vp09)", b"zzzz",
                          path.read_bytes(), flags=re.DOTALL)  # fmt: skip
    assert count == 1
    path.write_bytes(data)
    with pytest.raises(EpisodeError, match="not a movie"):
        read_header(path)

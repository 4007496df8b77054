"""A movie of a codec that nobody knows ends in a sentence, and a playlist opens nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.exchange.lerobot_sets import write_movie

from corporeal.calibration.views import read_pictures
from corporeal.capture.drivers import video_file
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.movie.foreign_movie import read_header
from corporeal.exchange.movie.packets import coding_at, packets_of


def test_a_codec_without_a_decoder_is_answered_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_movie(path, 4, 20)
    data, count = re.subn(rb"(?<=stsd.{12})(avc1|av01|hev1|hvc1|mp4v|vp09)", b"zzzz",
                          path.read_bytes(), flags=re.DOTALL)  # fmt: skip
    assert count == 1
    path.write_bytes(data)
    with pytest.raises(EpisodeError, match="not a movie"):
        read_header(path)


@pytest.mark.parametrize(
    "playlist",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:1.0,\n{}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile private.mp4\n",
    ],
)
def test_a_playlist_chooses_no_file_of_its_readers(tmp_path: Path, playlist: str) -> None:
    private = tmp_path / "private.mp4"
    write_movie(private, 4, 20)
    assert read_header(private).frames == 4
    # FFmpeg knows a playlist by this ending; a dataset states the names of its movies itself.
    path = tmp_path / "file-000.m3u8"
    path.write_text(playlist.format(private))
    for read in (read_header, coding_at, lambda path: packets_of(path, path)):
        with pytest.raises(EpisodeError, match="holds its own pictures"):
            read(path)
    options = video_file.DRIVER.options.model_validate({"path": path})
    with pytest.raises(CorporealError, match="holds its own pictures"):
        video_file.DRIVER.describe(options)
    with pytest.raises(CorporealError):
        list(read_pictures(path))


def test_a_title_that_is_no_text_costs_no_movie(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    write_movie(path, 4, 20)
    data, count = re.subn(rb"Lavf[0-9.]{4}", b"\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc", path.read_bytes())
    assert count
    path.write_bytes(data)
    assert read_header(path).frames == 4
    assert packets_of(path, path) is not None

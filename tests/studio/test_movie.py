"""Any bytes of a camera's movie, exactly, and where its pictures lie."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import av
import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.workspace import open_workspace
from corporeal.episode import Episode
from corporeal.episode.file import VideoReader
from corporeal.studio.context import open_studio
from corporeal.studio.playback.byte_range import RangeError, asked_range
from corporeal.studio.routes import movie as movie_route
from corporeal.studio.routes.movie import codec_string
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

CAMERA = "observations/head_left"


def unpacked(raw: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The facts and arrays of an answer, as the page reads them."""
    length = int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4 : 4 + length])
    place, arrays = 4 + length, {}
    for each in head["arrays"]:
        dtype = np.dtype(each["dtype"]).newbyteorder("<")
        count = int(np.prod(each["shape"], dtype=np.int64))
        values = np.frombuffer(raw, dtype, count, place).reshape(each["shape"])
        arrays[each["name"]] = values
        place += -(-values.nbytes // 8) * 8
    return head, arrays


@pytest.fixture(scope="module")
def reading(made_workspace: SmallWorkspace) -> Iterator[tuple[TestClient, str, bytes]]:
    """A client, the address of a movie, and its bytes; nothing here changes the workspace."""
    name = made_workspace.episodes[0]
    with (
        open_workspace(made_workspace.root) as workspace,
        open_studio(workspace, StudioSettings()) as studio,
        TestClient(create_application(studio), "http://127.0.0.1:8700") as made,
    ):
        with studio.shelf.episode(name) as episode:
            movie = camera(episode).movie().read()
        yield made, f"/api/episodes/{name}/movie?stream={CAMERA}", movie


def camera(episode: Episode) -> VideoReader:
    """The camera of these tests."""
    found = episode[CAMERA]
    assert isinstance(found, VideoReader)
    return found


def test_the_whole_movie_comes_in_blocks_and_is_kept_by_browsers(
    reading: tuple[TestClient, str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address, whole = reading
    monkeypatch.setattr(movie_route, "BLOCK", 1000)
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.content == whole
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["accept-ranges"] == "bytes"
    assert "immutable" in answer.headers["cache-control"]
    again = client.get(address, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    stale = client.get(address, headers={"Range": "bytes=0-9", "If-Range": '"other"'})
    assert (stale.status_code, stale.content) == (200, whole)


def test_head_tells_the_length_without_the_movie(reading: tuple[TestClient, str, bytes]) -> None:
    client, address, whole = reading
    answer = client.head(address)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(whole))


@given(data=st.data())
def test_a_range_is_those_bytes_of_the_movie(
    reading: tuple[TestClient, str, bytes], data: st.DataObject
) -> None:
    client, address, whole = reading
    first = data.draw(st.integers(0, len(whole) - 1))
    last = data.draw(st.one_of(st.none(), st.integers(first, 2 * len(whole))))
    answer = client.get(address, headers={"Range": f"bytes={first}-{'' if last is None else last}"})
    stop = len(whole) if last is None else min(last + 1, len(whole))
    assert answer.status_code == 206
    assert answer.content == whole[first:stop]
    assert answer.headers["content-range"] == f"bytes {first}-{stop - 1}/{len(whole)}"


def test_the_last_bytes_can_be_asked_for(reading: tuple[TestClient, str, bytes]) -> None:
    client, address, whole = reading
    assert client.get(address, headers={"Range": "bytes=-7"}).content == whole[-7:]
    assert client.get(address, headers={"Range": f"bytes=-{10**15}"}).content == whole


@pytest.mark.parametrize(
    "asked", ["bytes=999999999999-", "bytes=-0", "bytes=99999999999-99999999999"]
)
def test_a_range_outside_is_refused_in_a_sentence(
    reading: tuple[TestClient, str, bytes], asked: str
) -> None:
    client, address, whole = reading
    answer = client.get(address, headers={"Range": asked})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(whole)}"
    assert answer.json()["error"].endswith(".")


@given(st.text(max_size=40))
def test_any_range_header_means_everything_or_a_part_of_it(header: str) -> None:
    try:
        part = asked_range(header, 1000)
    except RangeError:
        return
    assert part is None or 0 <= part.first < part.stop <= 1000


@pytest.mark.parametrize(
    "asked",
    ["bytes=5-2", "bytes=0-1,5-6", "bytes=-", "lines=0-5", "bytes=0x1-5", "bytes=\u0661-\u0662"],
)
def test_a_range_that_says_nothing_is_passed_over(asked: str) -> None:
    assert asked_range(asked, 100) is None


def test_packets_are_where_the_movie_has_them(
    reading: tuple[TestClient, str, bytes], made_workspace: SmallWorkspace
) -> None:
    client, address, whole = reading
    facts, arrays = unpacked(client.get(address.replace("/movie", "/packets")).content)
    with (
        open_workspace(made_workspace.root) as workspace,
        open_studio(workspace, StudioSettings()) as studio,
        studio.shelf.episode(made_workspace.episodes[0]) as episode,
    ):
        index, stamps = camera(episode).packets, camera(episode).time_ns
    assert (arrays["time_ns"] == stamps).all()
    assert (arrays["start"] == index.start).all()
    assert (arrays["key"] == index.is_key).all()
    assert base64.b64decode(facts["extradata"]) == index.extradata
    assert (facts["width"], facts["height"]) == (160, 120)
    assert facts["codec_string"] == "avc1." + index.extradata[1:4].hex().upper()
    start, size = int(arrays["start"][3]), int(arrays["size"][3])
    part = client.get(address, headers={"Range": f"bytes={start}-{start + size - 1}"}).content
    assert part == whole[start : start + size]
    # Packets of an MP4 begin with the length of what follows.
    assert int.from_bytes(part[:4], "big") <= size - 4


def test_a_codec_is_named_as_browsers_name_it() -> None:
    assert codec_string("h264", bytes.fromhex("0142c00dffe1001a")) == "avc1.42C00D"
    assert codec_string("av1", bytes.fromhex("81004d00")) == "av01.0.00M.10"
    assert codec_string("h264", b"\x00\x00\x00\x01\x67\x42\xc0\x0d") is None
    assert codec_string("hevc", b"\x01" * 30) is None


@pytest.mark.parametrize("part", ["movie", "packets"])
def test_what_is_no_camera_is_told_with_those_there_are(client: TestClient,
    small_workspace: SmallWorkspace, part: str) -> None:  # fmt: skip
    name = small_workspace.episodes[0]
    for stream in ("observations/joint_position", "../../etc/passwd", "", "x" * 300):
        answer = client.get(f"/api/episodes/{name}/{part}", params={"stream": stream})
        assert answer.status_code == 404, stream
        assert CAMERA in answer.json()["error"]
    too_long = client.get(f"/api/episodes/{name}/{part}", params={"stream": "x" * 500})
    assert too_long.status_code == 422
    nobody = client.get(f"/api/episodes/nobody/{part}", params={"stream": CAMERA})
    assert nobody.status_code == 404


def test_a_clip_holds_the_same_packets_from_the_key_frame_before_the_moment(
    reading: tuple[TestClient, str, bytes],
) -> None:
    client, address, whole = reading
    _, index = unpacked(client.get(address.replace("/movie", "/packets")).content)
    times = index["time_ns"].astype(np.int64)
    first = int(np.flatnonzero(index["key"][:42])[-1])
    clip = f"{address.replace('/movie', '/clip')}&start_ns={{}}&end_ns={{}}"
    answer = client.get(clip.format(times[41], times[59]))
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-start-ns"] == str(times[first])
    assert answer.headers["content-disposition"].endswith('s.mp4"')
    with av.open(io.BytesIO(answer.content), "r") as made:
        assert isinstance(made, av.container.InputContainer)
        packets = [bytes(each) for each in made.demux(video=0) if each.size]
        made.seek(0)
        assert len(list(made.decode(video=0))) == len(packets)
    places = zip(index["start"][first:60], index["size"][first:60], strict=True)
    assert packets == [whole[int(at) : int(at) + int(size)] for at, size in places]


def test_a_clip_without_pictures_or_of_more_than_a_minute_is_refused(
    reading: tuple[TestClient, str, bytes],
) -> None:
    client, address, _ = reading
    clip = f"{address.replace('/movie', '/clip')}&start_ns={{}}&end_ns={{}}"
    for start_ns, end_ns, said in (
        (0, 61_000_000_000, "at most 60 s"),
        (-20_000_000_000, -10_000_000_000, "has pictures"),
        (5, 5, "more than 0"),
    ):
        answer = client.get(clip.format(start_ns, end_ns))
        assert answer.status_code == 422
        assert said in answer.json()["error"]

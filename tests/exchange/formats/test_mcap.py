import io
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.exchange.small_sets import write_episode, write_episodes, write_with

from corporeal.episode.recording import ArraySignal, ImageSequence, Recording, Signal, VideoFile
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.formats import mcap
from corporeal.exchange.layout import layout_of
from corporeal.exchange.mcap_messages.episode_log import write_log
from corporeal.exchange.mcap_messages.log_file import open_log
from corporeal.exchange.mcap_messages.stream_message import numeric_form
from corporeal.exchange.movie.foreign_movie import is_key_packet, playable_packets
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import table_of
from corporeal.schema import Stream


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    work = tmp_path_factory.mktemp("mcap")
    source = write_episodes(work / "source")
    assert mcap.FORMAT.writer is not None
    return source, write_with(mcap.FORMAT.writer, source, work)


def assert_same(wanted: Signal, got: Signal) -> None:
    assert got.spec == wanted.spec
    assert np.array_equal(got.time_ns, wanted.time_ns)
    assert len(got) == len(wanted)
    a, b = wanted[:], got[:]
    if wanted.spec.kind in ("text", "points"):
        assert len(a) == len(b)
        pairs: Iterator[tuple[Any, Any]] = zip(a, b, strict=True)
    else:
        pairs = iter([(a, b)])
    for one, other in pairs:
        if isinstance(one, str):
            assert one == other
        else:
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()


def recording_with(*signals: Signal, **facts: Any) -> Recording:
    return Recording(
        id="one",
        source=Path("source"),
        index=0,
        signals={f"label of {signal.spec.name}": signal for signal in signals},
        **facts,
    )


def back(recording: Recording, tmp_path: Path, **options: Any) -> Recording:
    path = tmp_path / "one.mcap"
    write_log(recording, path, **options)
    return mcap.read(path).open(0)


def test_an_episode_comes_back_exactly(exported: tuple[Path, Path]) -> None:
    source, out = exported
    before, after = open_dataset(source), open_dataset(out)
    assert after.format == "mcap"
    assert after.episodes == before.episodes
    for index in before.episodes:
        wanted, got = before.open(index), after.open(index)
        assert got.id == wanted.id
        assert got.metadata == wanted.metadata
        assert got.documents == wanted.documents
        assert got.epoch_ns == wanted.epoch_ns
        assert got.embodiment == wanted.embodiment
        assert got.missing_metadata == wanted.missing_metadata
        assert list(got.signals) == list(wanted.signals)
        for label, signal in wanted.signals.items():
            assert_same(signal, got.signals[label])


def test_the_same_table_can_be_made_of_it(exported: tuple[Path, Path]) -> None:
    source, out = exported
    wanted, got = open_dataset(source).open(0), open_dataset(out).open(0)
    layout = layout_of(wanted, ExportOptions())
    one, other = (table_of(each, layout, number=0) for each in (wanted, got))
    assert one.text == other.text
    for key, values in one.whole().items():
        assert np.array_equal(values, other.whole()[key])


def test_viewers_find_types_they_know(exported: tuple[Path, Path]) -> None:
    log = open_log(exported[1] / "episode_000000.mcap")
    found = {topic: log.schemas[channel.schema_id] for topic, channel in log.channels.items()}
    assert found["/observations/joint_position"] == "sensor_msgs/msg/JointState"
    assert found["/observations/pelvis_imu"] == "sensor_msgs/msg/Imu"
    assert found["/observations/left_wrist_wrench"] == "geometry_msgs/msg/WrenchStamped"
    assert found["/observations/head_left"] == "foxglove_msgs/msg/CompressedVideo"
    assert found["/observations/head_depth"] == "sensor_msgs/msg/Image"
    assert found["/observations/instruction"] == "std_msgs/msg/String"
    assert found["/observations/left_tactile"] == "std_msgs/msg/Float32MultiArray"
    assert found["/debug/base_pose"] == "geometry_msgs/msg/PoseStamped"
    assert found["/tf"] == "tf2_msgs/msg/TFMessage"
    assert found["/robot"] == "visualization_msgs/msg/MarkerArray"


def test_excluded_streams_are_left_out(tmp_path: Path) -> None:
    source = write_episode(tmp_path / "one.h5", seconds=0.4)
    assert mcap.FORMAT.writer is not None
    options = ExportOptions(exclude=("head_left", "debug/base_pose"))
    out = write_with(mcap.FORMAT.writer, source, tmp_path / "work", options)
    paths = set(mcap.read(out).open(0).signals)
    assert not paths & {"observations/head_left", "debug/base_pose"}
    assert "observations/head_right" in paths


DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
          "uint8", "bool")  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(1, 4), max_size=3),
    rows=st.integers(1, 9),
    seed=st.integers(0, 1000),
)
def test_numbers_of_any_type_and_shape_survive(
    dtype: str, shape: list[int], rows: int, seed: int
) -> None:
    spec = Stream(name="numbers", group="observations", dtype=dtype, shape=tuple(shape))
    size = (rows, *shape)
    raw = np.random.default_rng(seed).integers(0, 256, int(np.prod(size)) * 8, np.uint8)
    values = raw.view(np.int64).astype(dtype).reshape(size)
    form = numeric_form(spec)
    packed = form.pack(np.arange(rows, dtype=np.uint64), values)
    got = form.unpack(packed, where="here")
    assert got.dtype == values.dtype
    assert got.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("names", "type_name"),
    [
        (("wz", "ax", "wx", "ay", "wy", "az"), "sensor_msgs/msg/Imu"),
        (("qw", "x", "qx", "y", "qy", "z", "qz"), "geometry_msgs/msg/PoseStamped"),
        (("tz", "fx", "fy", "fz", "tx", "ty"), "geometry_msgs/msg/WrenchStamped"),
        (("wz", "vx"), "geometry_msgs/msg/TwistStamped"),
        (("x", "y"), "std_msgs/msg/Float32MultiArray"),
    ],
)
def test_entries_in_any_order_find_their_fields(names: tuple[str, ...], type_name: str) -> None:
    spec = Stream(name="signal", group="debug", shape=(len(names),), components=names)
    form = numeric_form(spec)
    assert form.type_name == type_name
    values = np.random.default_rng(0).normal(size=(5, len(names))).astype(np.float32)
    packed = form.pack(np.arange(5, dtype=np.uint64), values)
    assert np.array_equal(form.unpack(packed, where="here"), values)


def test_stamps_that_go_back_and_below_zero_survive(tmp_path: Path) -> None:
    times = np.array([5, -7, 2**62, -(2**62), 0], np.int64)
    spec = Stream(name="broken_clock", group="debug", shape=(2,), rate_hz=10)
    signal = ArraySignal(spec, times, np.arange(10, dtype=np.float32).reshape(5, 2))
    got = back(recording_with(signal, epoch_ns=1_700_000_000_000_000_000), tmp_path)
    assert_same(signal, got.signals["label of broken_clock"])
    assert got.epoch_ns == 1_700_000_000_000_000_000


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64", "bool"])
def test_points_and_text_of_any_size_survive(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(0)
    clouds = [rng.integers(0, 2, (n, 3)).astype(dtype) for n in (4, 0, 900)]
    points = ArraySignal(
        Stream(name="cloud", group="debug", kind="points", dtype=dtype, shape=(3,),
               components=("x", "y", "z")),
        np.arange(3), clouds,
    )  # fmt: skip
    text = ArraySignal(
        Stream(name="said", group="debug", kind="text"), np.arange(2), ["", "gr\u00fcn \U0001f600"]
    )
    got = back(recording_with(points, text), tmp_path)
    assert_same(points, got.signals["label of cloud"])
    assert_same(text, got.signals["label of said"])


def test_an_empty_stream_stays(tmp_path: Path) -> None:
    spec = Stream(name="silent", group="debug", shape=(2,))
    empty = ArraySignal(spec, np.zeros(0, np.int64), np.zeros((0, 2), np.float32))
    assert_same(empty, back(recording_with(empty), tmp_path).signals["label of silent"])


def movie(codec: str, *, b_frames: int = 0, gop: int = 5) -> bytes:
    texture = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
    quiet = {"libx265": {"x265-params": f"bframes={b_frames}:log-level=none"}}.get(codec, {})
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream: Any = container.add_stream(codec, rate=30, options=quiet)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.gop_size, stream.max_b_frames = gop, b_frames
        for number in range(12):
            frame = av.VideoFrame.from_ndarray(np.roll(texture, number, 1), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def footage(data: bytes, **options: Any) -> VideoFile:
    spec = Stream(name="eye", group="observations", kind="video", shape=(48, 64, 3), rate_hz=30)
    count = options.get("count") or 12
    return VideoFile(spec, np.arange(count) * 33_000_000, lambda: io.BytesIO(data), **options)


@pytest.mark.parametrize("codec", ["libx264", "libx265", "libvpx-vp9"])
def test_pictures_are_the_packets_of_the_movie(tmp_path: Path, codec: str) -> None:
    camera = footage(movie(codec))
    packets = playable_packets(camera)
    assert packets is not None
    assert [is_key_packet(data, packets.codec) for data, _ in packets] == [k for _, k in packets]
    got = back(recording_with(camera), tmp_path).signals["label of eye"]
    assert isinstance(got, VideoFile)
    assert_same(camera, got)
    log = open_log(tmp_path / "one.mcap")
    assert log.schemas[log.channels["/observations/eye"].schema_id].endswith("CompressedVideo")


def test_every_key_frame_of_h264_has_its_parameter_sets() -> None:
    packets = playable_packets(footage(movie("libx264")))
    assert packets is not None
    keys = [data for data, is_key in packets if is_key]
    assert len(keys) == 3
    for data in keys:
        kinds = [part[0] & 0x1F for part in data.split(b"\x00\x00\x01")[1:]]
        assert {7, 8, 5} <= set(kinds)


@pytest.mark.parametrize(
    "camera",
    [
        footage(movie("libx264", b_frames=2)),
        footage(movie("libx264"), first=3, count=6),
        footage(movie("mpeg4")),
    ],
    ids=["pictures out of order", "a start inside a group", "an old codec"],
)
def test_what_viewers_cannot_play_becomes_png_without_loss(
    tmp_path: Path, camera: VideoFile
) -> None:
    assert playable_packets(camera) is None
    got = back(recording_with(camera), tmp_path).signals["label of eye"]
    assert isinstance(got, ImageSequence)
    assert_same(camera, got)


def test_a_stretch_that_begins_with_a_key_frame_is_not_encoded_anew(tmp_path: Path) -> None:
    camera = footage(movie("libx264"), first=5, count=6)
    got = back(recording_with(camera), tmp_path).signals["label of eye"]
    assert isinstance(got, VideoFile)
    assert_same(camera, got)


def test_stills_stay_as_they_are(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG")
    spec = Stream(name="eye", group="observations", kind="video", shape=(48, 64, 3), rate_hz=30)
    camera = ImageSequence(spec, np.arange(2), [file.getvalue(), picture])
    got = back(recording_with(camera), tmp_path).signals["label of eye"]
    assert isinstance(got, ImageSequence)
    assert got.pictures[0] == file.getvalue()
    assert_same(camera, got)


def test_a_foreign_log_is_not_ours(tmp_path: Path) -> None:
    from mcap.writer import Writer

    path = tmp_path / "foreign.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        writer.finish()
    assert not mcap.recognises(path)
    assert not mcap.recognises(tmp_path)
    with pytest.raises(EpisodeError, match="was not written by Corporeal"):
        mcap.read(path).open(0)


def read_all(path: Path) -> None:
    recording = mcap.read(path).open(0)
    for signal in recording.signals.values():
        np.asarray(signal.time_ns)
        signal[:]


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("damage") / "one.mcap"
    times = np.arange(20) * 10_000_000
    spec = Stream(name="numbers", group="debug", shape=(3,))
    array = ArraySignal(spec, times, np.ones((20, 3), np.float32))
    text = ArraySignal(Stream(name="said", group="debug", kind="text"), times[:2], ["a", "b"])
    write_log(recording_with(array, text, footage(movie("libx264"))), path)
    return path.read_bytes()


def test_a_file_that_was_cut_off_is_named(tmp_path: Path, small_file: bytes) -> None:
    path = tmp_path / "one.mcap"
    for size in (0, 8, 40, len(small_file) // 2, len(small_file) - 1):
        path.write_bytes(small_file[:size])
        assert not mcap.recognises(path)
        with pytest.raises(EpisodeError, match=r"one\.mcap"):
            mcap.read(path).open(0)


@pytest.mark.slow
def test_no_flipped_byte_brings_anything_but_our_own_errors(
    tmp_path: Path, small_file: bytes
) -> None:
    path = tmp_path / "one.mcap"
    rng = np.random.default_rng(0)
    for place in rng.choice(len(small_file), 250, replace=False).tolist():
        data = bytearray(small_file)
        data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        mcap.recognises(path)
        with suppress(CorporealError):
            read_all(path)


def test_a_chunk_that_inflates_to_more_than_it_says_is_refused(
    tmp_path: Path, small_file: bytes
) -> None:
    import zstandard

    path = tmp_path / "one.mcap"
    path.write_bytes(small_file)
    log = open_log(path)
    chunk = next(each for each in log.chunks[1] if each.compression == "zstd")
    bomb = zstandard.ZstdCompressor().compress(b"\0" * (1 << 20))
    assert len(bomb) <= chunk.compressed_size
    data = bytearray(small_file)
    at = chunk.chunk_start_offset + 41 + 4 + 8
    data[at : at + len(bomb)] = bomb
    path.write_bytes(data)
    with pytest.raises(EpisodeError, match="damaged"):
        mcap.read(path).open(0).signals["label of numbers"][:]


def lie(small_file: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The same file with another description, of the same length and with a right checksum."""
    start = small_file.index(b'{"id"')
    (size,) = struct.unpack("<I", small_file[start - 4 : start])
    said = json.loads(small_file[start : start + size])
    change(said)
    text = json.dumps(said, ensure_ascii=False).encode()
    assert len(text) <= size
    text += b" " * (size - len(text))
    before = small_file[start : start + size]
    old, new = (f"{zlib.crc32(part):08x}".encode() for part in (before, text))
    return small_file.replace(before, text).replace(old, new)


@pytest.mark.parametrize(("field", "value"), [("shape", [9]), ("dtype", "int8"), ("kind", "text")])
def test_a_description_that_does_not_fit_the_messages_is_refused(
    tmp_path: Path, small_file: bytes, field: str, value: Any
) -> None:
    def change(said: dict[str, Any]) -> None:
        said["topics"][0]["stream"][field] = value
        if value == "text":
            said["topics"][0]["stream"] |= {"dtype": "uint8", "shape": []}
        said["source"] = "s"

    path = tmp_path / "one.mcap"
    path.write_bytes(lie(small_file, change))
    with pytest.raises(EpisodeError):
        read_all(path)

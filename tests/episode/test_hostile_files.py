"""A file that was damaged or made to do harm costs one sentence: no crash, no hang, no memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from corporeal.episode import Episode
from corporeal.episode.file import depth, layout, write_attribute
from corporeal.episode.file.digest import CONTENT, DIGEST, content_digest, dataset_digest
from corporeal.episode.overview import verify
from corporeal.episode.video import Encoder, index_mp4, write_mp4
from corporeal.errors import CorporealError, EpisodeError

Edit = Callable[[h5py.File], None]
Changed = Callable[[Edit], Path]

# Reads JSON mutations from standard input: {"cut": n} or {"put": {offset: byte}}. Prints the number
# of each before it tries it, so that the parent knows which one killed or hung this process.
READER = """
import hashlib, json, os, sys
from pathlib import Path
import av
from corporeal.episode.episode import Episode
from corporeal.episode.overview.verification import verify
from corporeal.errors import CorporealError

av.logging.set_level(None)
original = Path(sys.argv[1]).read_bytes()
copy = Path(sys.argv[2])


def content(path):
    digest = hashlib.sha256()
    with Episode.open(path) as episode:
        head = (episode.id, episode.epoch_ns, episode.robot, episode.recovered, episode.version)
        digest.update(repr((head, episode.metadata, episode.documents)).encode())
        episode.schema
        for name, stream in episode.items():
            digest.update(repr((name, stream.spec, stream.nbytes)).encode())
            digest.update(stream.time_ns.tobytes())
            samples = stream[:]
            if isinstance(samples, list):
                samples = [s if isinstance(s, str) else s.tobytes() for s in samples]
                digest.update(repr(samples).encode())
            else:
                digest.update(samples.tobytes())
    return digest.hexdigest()


def outcome(what):
    try:
        return what(copy)
    except CorporealError as error:
        assert "\\n" not in str(error), error
        return None


expected = content(sys.argv[1])
counts = {"refused": 0, "damaged": 0, "same": 0}
for line in sys.stdin:
    case = json.loads(line)
    print("case", case["number"], flush=True)
    changed = bytearray(original[: case.get("cut")])
    for place, byte in case.get("put", []):
        changed[place] = byte
    copy.write_bytes(changed)
    found, damage = outcome(content), outcome(verify)
    if damage == ():
        assert found == expected, f"case {case}: accepted, but its content is not the same"
        counts["same"] += 1
    else:
        counts["refused" if damage is None else "damaged"] += 1
# Not getrusage: a process begins with the peak of the one that started it.
status = Path("/proc/self/status").read_text()
counts["kilobytes"] = int(status.split("VmHWM:")[1].split()[0])
print(json.dumps(counts))
"""


def _read_all(original: Path, folder: Path, cases: list[dict[str, Any]]) -> dict[str, int]:
    """Read every mutation in two processes of their own; how many were refused, damaged, same."""
    batches = [cases[start::2] for start in range(2)]
    readers = []
    for number, batch in enumerate(batches):
        process = subprocess.Popen(
            [sys.executable, "-c", READER, str(original), str(folder / f"{number}.h5")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        readers.append((process, "".join(json.dumps(case) + "\n" for case in batch)))
    total: dict[str, int] = {"refused": 0, "damaged": 0, "same": 0, "kilobytes": 0}
    for process, text in readers:
        try:
            out, complaints = process.communicate(text, timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            last = process.communicate()[0].splitlines()[-1:]
            pytest.fail(f"reading hung at {last}")
        lines = out.splitlines()
        assert process.returncode == 0, (process.returncode, lines[-1:], complaints[-2000:])
        for name, count in json.loads(lines[-1]).items():
            total[name] = max(total[name], count) if name == "kilobytes" else total[name] + count
    assert total["kilobytes"] < 400 << 10
    return total


def _numbered(cases: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"number": number, **case} for number, case in enumerate(cases)]


def _metadata_places(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Every byte that is not the data of a dataset: there HDF5 itself can be misled."""
    is_data = np.zeros(path.stat().st_size, bool)

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.chunks is None:
            start, size = item.id.get_offset(), item.id.get_storage_size()
            is_data[start : start + size] = True
            return
        for number in range(item.id.get_num_chunks()):
            info = item.id.get_chunk_info(number)
            is_data[info.byte_offset : info.byte_offset + info.size] = True

    with h5py.File(path) as file:
        file.visititems(visit)
    return np.flatnonzero(~is_data)


def _flips(path: Path, seeds: range) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    places = _metadata_places(path)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        put = []
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            place = int(rng.choice(places) if rng.random() < 0.7 else rng.integers(len(raw)))
            flipped = raw[place] ^ (1 << int(rng.integers(8)))
            put.append((place, int(rng.choice([flipped, 0, 255, int(rng.integers(256))]))))
        yield {"put": put}


def test_a_file_cut_at_any_byte_is_refused(every_kind: Path, tmp_path: Path) -> None:
    size = every_kind.stat().st_size
    cuts = sorted({*range(4096), *(size * step // 200 for step in range(200)), size - 1})
    total = _read_all(every_kind, tmp_path, _numbered({"cut": cut} for cut in cuts))
    assert total["same"] == 0
    assert total["refused"] == len(cuts)


def test_flipped_bits_are_refused_found_or_harmless(every_kind: Path, tmp_path: Path) -> None:
    total = _read_all(every_kind, tmp_path, _numbered(_flips(every_kind, range(200))))
    assert total["refused"] > 60
    assert total["damaged"] > 5


@pytest.mark.slow
def test_many_flipped_bits_are_refused_found_or_harmless(every_kind: Path, tmp_path: Path) -> None:
    total = _read_all(every_kind, tmp_path, _numbered(_flips(every_kind, range(1000, 2200))))
    assert sum(total[name] for name in ("refused", "damaged", "same")) == 1200


def _read_everything(path: Path) -> None:
    with Episode.open(path) as episode:
        _ = episode.metadata, episode.documents
        for stream in episode.values():
            _ = stream.time_ns, stream[:], stream.nbytes


def _peak_kilobytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def _complaint(path: Path) -> str:
    """The one sentence that reading everything costs; memory is looked at on the way."""
    # Begin a new peak: the one of the whole test run may be too high to be beaten.
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak_kilobytes()
    with pytest.raises(CorporealError) as caught:
        _read_everything(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    try:
        assert verify(path), "verification found nothing wrong"
    except CorporealError as error:
        assert "\n" not in str(error)  # noqa: PT017
    assert _peak_kilobytes() - before < 300 << 10
    return sentence


def test_what_is_no_hdf5_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.h5").write_text("hello")
    (tmp_path / "empty.h5").touch()
    (tmp_path / "folder.h5").mkdir()
    (tmp_path / "signature.h5").write_bytes(layout.SIGNATURE)
    (tmp_path / "zeros.h5").write_bytes(layout.SIGNATURE + bytes(10_000))
    os.mkfifo(tmp_path / "pipe.h5")
    expected = {
        "text": "is not an HDF5 file; expected an episode (.h5).",
        "empty": "is empty; expected an episode (.h5).",
        "folder": "got a folder; expected the file of one episode",
        "missing": "No such file or directory.",
        "pipe": "is not a plain file; expected an episode (.h5).",
        "signature": "cannot be read as an episode: ",
        "zeros": "cannot be read as an episode: ",
    }
    for name, sentence in expected.items():
        assert sentence in _complaint(tmp_path / f"{name}.h5")


def test_an_hdf5_file_of_another_kind_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "robomimic.hdf5"
    with h5py.File(path, "w") as file:
        file["data/demo_0/actions"] = np.zeros((5, 7))
    assert _complaint(path) == (
        f"{path}: an HDF5 file, but not an episode; expected the attribute format = "
        "'corporeal-episode'. Give a file that Corporeal wrote."
    )


def _replaced(path: str, link: Any) -> Edit:
    def edit(file: h5py.File) -> None:
        del file[path]
        file[path] = link

    return edit


LINKED = ["observations/arm/data", "observations/arm/time_ns", "observations/arm", "observations",
          "observations/words/offset", "observations/camera/packet_start",
          "observations/depth/data", "metadata/streams", "metadata/fields", "metadata/documents",
          "metadata/documents/schema", "metadata"]  # fmt: skip


@pytest.mark.parametrize("path", LINKED)
@pytest.mark.parametrize("kind", ["soft", "external", "pipe"])
def test_a_link_in_place_of_data_is_not_followed(
    changed: Changed, every_kind: Path, tmp_path: Path, path: str, kind: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    link = {
        "soft": h5py.SoftLink("/actions/target/data"),
        "external": h5py.ExternalLink(str(every_kind), path),
        # Whoever opens this waits for ever.
        "pipe": h5py.ExternalLink(str(tmp_path / "pipe"), path),
    }[kind]
    assert f"{path.split('/')[0]}" in _complaint(changed(_replaced(path, link)))


def _virtual(file: h5py.File) -> None:
    source = h5py.VirtualSource(__file__, "x", shape=(20, 3), dtype="<f4")
    layout_ = h5py.VirtualLayout((20, 3), "<f4")
    layout_[:] = source
    del file["observations/arm/data"]
    file.create_virtual_dataset("observations/arm/data", layout_)


def _external_storage(file: h5py.File) -> None:
    del file["observations/arm/data"]
    file.create_dataset(
        "observations/arm/data", (20, 3), "<f4", external=[("/etc/hostname", 0, 240)]
    )


def test_data_in_other_files_is_not_read(changed: Changed) -> None:
    for edit in (_virtual, _external_storage):
        sentence = _complaint(changed(edit))
        assert "observations/arm/data claims 240 bytes that do not lie in one piece" in sentence


def test_a_circle_of_groups_ends(changed: Changed) -> None:
    def edit(file: h5py.File) -> None:
        file["observations/arm/again"] = file["observations"]
        file["metadata/documents/again"] = file["/"]

    assert "metadata/documents/again is a group; expected a dataset." in _complaint(changed(edit))


def _rewritten(path: str, make: Callable[[Any], Any]) -> Edit:
    """Put other values in place of a dataset's, with hashes that are right again."""

    def edit(file: h5py.File) -> None:
        values = make(file[path][()])
        attributes = {name: file[path].attrs[name] for name in file[path].attrs if name != DIGEST}
        del file[path]
        dataset = file.create_dataset(path, data=values)
        for name, value in attributes.items():
            dataset.attrs[name] = value
        write_attribute(dataset, DIGEST, dataset_digest(dataset))
        write_attribute(file, CONTENT, content_digest(file))

    return edit


LIES: dict[str, tuple[Edit, str]] = {
    "more stamps than data": (
        _rewritten("observations/arm/time_ns", lambda _: np.arange(25)),
        "observations/arm/data has 20 rows; expected 25.",
    ),
    "other row": (
        _rewritten("observations/arm/data", lambda d: d[:, :2].copy()),
        "observations/arm/data is float32 of shape (20, 2); expected float32 of shape ('n', 3).",
    ),
    "other dtype": (
        _rewritten("observations/arm/data", lambda d: d.astype("<f8")),
        "observations/arm/data is float64 of shape (20, 3)",
    ),
    "other byte order": (
        _rewritten("observations/arm/data", lambda d: d.astype(">f4")),
        "observations/arm/data is >f4 of shape (20, 3)",
    ),
    "stamps that are no numbers": (
        _rewritten("observations/arm/time_ns", lambda t: t.astype("<f8")),
        "observations/arm/time_ns is float64",
    ),
    "scalar stamps": (
        _rewritten("observations/arm/time_ns", lambda _: np.int64(5)),
        "observations/arm/time_ns is int64 of shape ()",
    ),
    "offset that falls": (
        _rewritten("observations/cloud/offset", lambda o: np.array([0, 9, 5, o[-1]])),
        "observations/cloud/offset does not rise from 0 to its end.",
    ),
    "offset that wraps around": (
        _rewritten(
            "observations/cloud/offset",
            lambda o: np.array([0, 2**62, int(o[-1]) - 2**63 + 1, o[-1]]),
        ),
        "observations/cloud/offset does not rise from 0 to its end.",
    ),
    "offset beyond the end": (
        _rewritten("observations/cloud/offset", lambda o: o * 1000),
        "observations/cloud/offset does not rise from 0 to its end.",
    ),
    "offset too short": (
        _rewritten("observations/words/offset", lambda o: o[:-1].copy()),
        "observations/words/offset has 3 rows; expected 4.",
    ),
    "text that is no text": (
        _rewritten("observations/words/data", lambda d: np.full_like(d, 0xFF)),
        "cannot be read as an episode: 'utf-8' codec can't decode",
    ),
    "packet before the video": (
        _rewritten("observations/camera/packet_start", lambda s: s - 100_000),
        "observations/camera has packets outside of its video.",
    ),
    "packet behind the video": (
        _rewritten("observations/camera/packet_start", lambda s: s + (1 << 62)),
        "observations/camera has packets outside of its video.",
    ),
    "packet of no size": (
        _rewritten("observations/camera/packet_size", lambda s: s * 0),
        "observations/camera has packets outside of its video.",
    ),
    "packet of any size": (
        _rewritten("observations/camera/packet_size", lambda s: np.full_like(s, 2**63 - 1)),
        "observations/camera has packets outside of its video.",
    ),
    "no key frame": (
        _rewritten("observations/camera/packet_key", lambda k: k * 0),
        "observations/camera has packets outside of its video.",
    ),
    "video that is noise": (
        _rewritten("observations/camera/data", lambda d: np.full_like(d, 0x17)),
        "cannot be decoded",
    ),
    "no streams": (
        _rewritten("metadata/streams", lambda _: np.bytes_(b'{"a": 1}')),
        "metadata/streams is not a list of streams",
    ),
    "stream list that is no JSON": (
        _rewritten("metadata/streams", lambda _: np.bytes_(b"[")),
        "metadata/streams is not valid JSON",
    ),
    "deep JSON": (
        _rewritten("metadata/streams", lambda _: np.bytes_(b"[" * 100_000)),
        "metadata/streams is not valid JSON",
    ),
    "rate that is no number": (
        _rewritten(
            "metadata/streams",
            lambda t: np.bytes_(bytes(t).replace(b'"rate_hz": 100.0', b'"rate_hz": NaN')),
        ),
        "metadata/streams is not valid JSON: NaN is not a number.",
    ),
    "infinite rate": (
        _rewritten(
            "metadata/streams",
            lambda t: np.bytes_(bytes(t).replace(b'"rate_hz": 100.0', b'"rate_hz": 1e999')),
        ),
        "metadata/streams is not valid JSON: 1e999 is not a number.",
    ),
    "metadata that is no object": (
        _rewritten("metadata/fields", lambda _: np.bytes_(b"[1]")),
        "metadata/fields is not a JSON object.",
    ),
    "metadata with a NaN": (
        _rewritten("metadata/fields", lambda _: np.bytes_(b'{"a": NaN}')),
        "metadata/fields is not valid JSON: NaN is not a number.",
    ),
    "a number of five thousand digits": (
        _rewritten("metadata/fields", lambda _: np.bytes_(b'{"a": ' + b"1" * 5000 + b"}")),
        "metadata/fields is not valid JSON",
    ),
    "text that is numbers": (
        _rewritten("metadata/fields", lambda _: np.zeros(4)),
        "metadata/fields is float64; expected a UTF-8 text.",
    ),
    "stream of joints": (
        _rewritten(
            "metadata/streams",
            lambda t: np.bytes_(bytes(t).replace(b"   3\n", b'   "joints"\n', 1)),
        ),
        "does not say how many joints",
    ),
    "another codec": (
        lambda file: write_attribute(file["observations/camera/data"], "codec", "rawvideo"),
        "observations/camera has codec 'rawvideo'; expected one of: h264",
    ),
    "a codec for sound": (
        lambda file: write_attribute(file["observations/camera/data"], "codec", "aac"),
        "observations/camera has codec 'aac'; expected one of: h264",
    ),
    "another encoding": (
        lambda file: write_attribute(file["observations/depth/data"], "encoding", "none"),
        "observations/depth/data",
    ),
}


@pytest.mark.parametrize(("edit", "sentence"), LIES.values(), ids=LIES.keys())
def test_a_lie_is_one_sentence(changed: Changed, edit: Edit, sentence: str) -> None:
    assert sentence in _complaint(changed(edit))


def test_data_that_is_claimed_but_not_there_is_not_made_up(changed: Changed) -> None:
    def edit(file: h5py.File) -> None:
        del file["observations/arm/time_ns"]
        file.create_dataset("observations/arm/time_ns", (1 << 40,), "<i8")

    sentence = _complaint(changed(edit))
    assert f"observations/arm/time_ns claims {8 << 40} bytes that do not lie" in sentence


@pytest.mark.parametrize("chunks", [(1, 3), (1 << 20, 3)])
def test_numbers_in_chunks_are_not_inflated(changed: Changed, chunks: tuple[int, int]) -> None:
    def edit(file: h5py.File) -> None:
        del file["observations/arm/data"]
        file.create_dataset(
            "observations/arm/data", (20, 3), "<f4", chunks=chunks, maxshape=(None, 3),
            compression="gzip",
        )  # fmt: skip

    assert "observations/arm/data claims 240 bytes that do not lie" in (_complaint(changed(edit)))


def test_a_chunk_that_swells_is_stopped(changed: Changed) -> None:
    bomb = zlib.compress(bytes(300 << 20), 9)

    def edit(file: h5py.File) -> None:
        file["observations/depth/data"].id.write_direct_chunk((2, 0, 0), bomb)

    assert "a depth frame holds 640 bytes or more; expected 640." in _complaint(changed(edit))


def test_a_frame_that_is_not_packed_is_refused(changed: Changed) -> None:
    def edit(file: h5py.File) -> None:
        frame = bytes(16 * 20 * 2)
        file["observations/depth/data"].id.write_direct_chunk((0, 0, 0), frame, filter_mask=3)

    assert "frame 0 is not packed" in _complaint(changed(edit))


@pytest.mark.parametrize("shape", [(6, 16, 20), (6, 1 << 14, 1 << 14)])
def test_depth_in_giant_chunks_is_refused(changed: Changed, shape: tuple[int, ...]) -> None:
    def edit(file: h5py.File) -> None:
        del file["observations/depth/data"]
        dataset = file.create_dataset(
            "observations/depth/data", shape, "<u2", chunks=(1, 1 << 14, 1 << 14),
            maxshape=(None, None, None), shuffle=True, compression="gzip",
        )  # fmt: skip
        write_attribute(dataset, "encoding", depth.ENCODING)

    assert "observations/depth/data is uint16 of shape" in _complaint(changed(edit))


def test_pictures_larger_than_the_stream_says_are_not_decoded(
    changed: Changed, tmp_path: Path
) -> None:
    encoder = Encoder(2048, 2048, rate_hz=30)
    packets = [encoder.encode(np.zeros((2048, 2048, 3), np.uint8)) for _ in range(6)]
    write_mp4(tmp_path / "large.mp4", packets, np.arange(6) * 33_000_000)
    index = index_mp4(tmp_path / "large.mp4")

    def edit(file: h5py.File) -> None:
        group = file["observations/camera"]
        values = {
            "data": np.fromfile(tmp_path / "large.mp4", np.uint8),
            "packet_start": index.start,
            "packet_size": index.size,
            "packet_key": index.is_key.astype(np.uint8),
        }
        for name, value in values.items():
            del group[name]
            group[name] = value
        write_attribute(group["data"], "codec", "h264")
        write_attribute(group["data"], "extradata", np.frombuffer(index.extradata, np.uint8))

    assert "picture 0 cannot be decoded" in _complaint(changed(edit))


@pytest.mark.parametrize("entry", [{}, {"name": "a", "group": "debug"}, 5])
def test_a_million_streams_are_refused_before_they_are_looked_at(
    changed: Changed, entry: Any
) -> None:
    text = b"[" + b",".join([json.dumps(entry).encode()] * 1_000_000) + b"]"
    edit = _rewritten("metadata/streams", lambda _: np.bytes_(text))
    sentence = _complaint(changed(edit))
    if len(text) <= layout.MAX_TEXT_BYTES:
        assert "lists 1000000 streams; expected 1024 at most." in sentence
    else:
        assert "expected a UTF-8 text." in sentence


def test_a_giant_text_is_refused_unread(changed: Changed) -> None:
    def edit(file: h5py.File) -> None:
        del file["metadata/fields"]
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(1 << 30)
        h5py.h5d.create(file["metadata"].id, b"fields", kind, h5py.h5s.create(h5py.h5s.SCALAR))

    assert "metadata/fields is |S1073741824; expected a UTF-8 text." in _complaint(changed(edit))


def test_text_of_variable_length_is_refused_unread(changed: Changed) -> None:
    sentence = _complaint(changed(lambda file: file.attrs.__setitem__("format", "x" * 100)))
    assert "attribute 'format'" in sentence
    assert "expected text of fixed length or numbers" in sentence


def test_a_hung_heap_of_texts_is_never_entered(tmp_path: Path, changed: Changed) -> None:
    """libhdf5 walks a heap of variable texts for ever when a size in it is zero."""
    path = changed(lambda file: file.attrs.__setitem__("note", "text of variable length"))
    raw = bytearray(path.read_bytes())
    place = raw.find(b"GCOL")
    assert place > 0
    size = int.from_bytes(raw[place + 8 : place + 16], "little")
    place += 16
    end = place - 16 + size
    while place < end and int.from_bytes(raw[place : place + 2], "little"):
        place += 16 + -(-int.from_bytes(raw[place + 8 : place + 16], "little") // 8) * 8
    raw[place + 8 : place + 16] = bytes(8)
    path.write_bytes(raw)
    with Episode.open(path) as episode:
        assert len(episode["observations/arm"]) == 20
    messages = [damage.message for damage in verify(path)]
    assert any("attribute 'note' of /" in message for message in messages)


def test_a_group_with_thousands_of_documents_is_refused(changed: Changed) -> None:
    def edit(file: h5py.File) -> None:
        for number in range(1100):
            file[f"metadata/documents/d{number}"] = file["metadata/documents/schema"]

    assert "metadata/documents is not a group of a few entries" in _complaint(changed(edit))


def test_an_extra_dataset_full_of_nothing_does_not_stop_verification(changed: Changed) -> None:
    path = changed(lambda file: file.create_dataset("debug/nothing", (1 << 45,), "<f8"))
    found = {damage.path: damage.message for damage in verify(path)}
    assert "bytes that are not there" in found["debug/nothing"]


def test_an_extra_dataset_of_variable_length_is_not_read(changed: Changed) -> None:
    path = changed(lambda file: file.create_dataset("debug/text", data=["a", "b"]))
    found = {damage.path: damage.message for damage in verify(path)}
    assert "variable length" in found["debug/text"]


def test_a_video_that_asks_for_other_files_is_not_listened_to(changed: Changed) -> None:
    playlist = b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n"
    edit = _rewritten("observations/camera/data", lambda _: np.frombuffer(playlist, np.uint8))
    path = changed(edit)
    with Episode.open(path) as episode, pytest.raises(EpisodeError):
        episode["observations/camera"][0]
    assert "observations/camera" in {damage.path for damage in verify(path)}

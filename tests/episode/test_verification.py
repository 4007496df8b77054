"""Verification finds every change of a byte and names what was changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.episode.file import write_attribute
from corporeal.episode.file.digest import CONTENT, DIGEST, content_digest, dataset_digest
from corporeal.episode.overview import verify
from corporeal.errors import EpisodeError

Edit = Callable[[h5py.File], None]
Changed = Callable[[Edit], Path]

STREAMS = {
    "observations/arm": ["data", "time_ns"],
    "debug/flag": ["data", "time_ns"],
    "observations/cloud": ["data", "time_ns", "offset"],
    "observations/words": ["data", "time_ns", "offset"],
    "observations/depth": ["data", "time_ns"],
    "observations/camera": ["data", "time_ns", "packet_start", "packet_size", "packet_key"],
}
DATASETS = [f"{stream}/{name}" for stream, names in STREAMS.items() for name in names]
TEXTS = ["metadata/streams", "metadata/fields", "metadata/documents/schema"]


def _places(file: h5py.File, path: str) -> Iterator[int]:
    """Offsets of some bytes of a dataset in the file."""
    dataset = file[path]
    if dataset.chunks is not None:
        for number in range(dataset.id.get_num_chunks()):
            info = dataset.id.get_chunk_info(number)
            yield info.byte_offset + info.size // 2
    else:
        offset = dataset.id.get_offset()
        size = dataset.id.get_storage_size()
        yield from {offset, offset + size // 2, offset + size - 1}


@pytest.mark.parametrize("name", ["every_kind", "recording"])
def test_a_whole_file_is_found_whole(request: pytest.FixtureRequest, name: str) -> None:
    assert verify(request.getfixturevalue(name)) == ()


@pytest.mark.parametrize("path", [*DATASETS, *TEXTS])
def test_a_changed_byte_is_found_and_its_dataset_named(
    every_kind: Path, tmp_path: Path, path: str
) -> None:
    with h5py.File(every_kind) as file:
        places = list(_places(file, path))
    assert places
    for place in places:
        copy = tmp_path / f"{place}.h5"
        shutil.copyfile(every_kind, copy)
        with copy.open("r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 0x10]))
        try:
            found = verify(copy)
        except EpisodeError as error:
            # The list of streams itself may be beyond reading.
            assert path in TEXTS, error  # noqa: PT017
            continue
        assert path in {damage.path for damage in found}, place
        assert all("\n" not in damage.message for damage in found)


ATTRIBUTES: dict[str, Edit] = {
    "root": lambda file: write_attribute(file, "epoch_ns", 7),
    "robot": lambda file: write_attribute(file, "robot", "h1"),
    "recovered": lambda file: write_attribute(file, "recovered", "no"),
    "unit": lambda file: write_attribute(file["observations/arm"], "unit", "deg"),
    "codec": lambda file: write_attribute(file["observations/camera/data"], "codec", "hevc"),
    "extradata": lambda file: write_attribute(
        file["observations/camera/data"], "extradata", np.zeros(3, np.uint8)
    ),
    "hash": lambda file: write_attribute(file["debug/flag/data"], DIGEST, "0" * 64),
    "removed": lambda file: file["observations/arm"].attrs.__delitem__("rate_hz"),
    "added": lambda file: write_attribute(file["observations"], "x", 1.0),
}


@pytest.mark.parametrize("edit", ATTRIBUTES.values(), ids=ATTRIBUTES.keys())
def test_a_changed_attribute_is_found(changed: Changed, edit: Edit) -> None:
    messages = [damage.message for damage in verify(changed(edit))]
    assert "names, types or attributes do not match the content hash" in messages


def test_a_missing_dataset_is_named(changed: Changed) -> None:
    found = verify(changed(lambda file: file.__delitem__("observations/camera/packet_size")))
    assert "observations/camera/packet_size" in {damage.path for damage in found}


def test_an_extra_dataset_is_found(changed: Changed) -> None:
    found = verify(changed(lambda file: file.create_dataset("debug/more", data=[1, 2])))
    assert {damage.path for damage in found} == {"debug/more", ""}


def test_a_packet_index_that_lies_is_found_even_with_right_hashes(changed: Changed) -> None:
    def edit(file: h5py.File) -> None:
        dataset = file["observations/camera/packet_start"]
        dataset[3] = dataset[3] + 1
        write_attribute(dataset, DIGEST, dataset_digest(dataset))
        write_attribute(file, CONTENT, content_digest(file))

    found = verify(changed(edit))
    assert [damage.path for damage in found] == ["observations/camera"]
    assert found[0].message == "the packet index does not match the MP4"


def test_a_document_that_was_replaced_is_found(changed: Changed) -> None:
    path = changed(lambda file: write_attribute(file, "schema_hash", "sha256:0"))
    assert "metadata/documents/schema" in {damage.path for damage in verify(path)}


def test_what_cannot_be_opened_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="No such file"):
        verify(tmp_path / "missing.h5")


@pytest.mark.parametrize("link", [
    lambda file: file.__setitem__("debug/again", file["observations"]),
    lambda file: file.__setitem__("debug/again", file["debug/flag/data"]),
    lambda file: file.__setitem__("debug/again", file["/"]),
    lambda file: file.__setitem__("debug/again", h5py.SoftLink("/observations/arm")),
    lambda file: file.__setitem__("debug/again", h5py.ExternalLink("other.h5", "/")),
])  # fmt: skip
def test_a_second_name_of_what_is_there_is_found(changed: Changed, link: Edit) -> None:
    found = [damage.message for damage in verify(changed(link))]
    assert any("of the same" in message or "is a link" in message for message in found)

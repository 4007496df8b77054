"""The content hash says the same of the same content, and covers names, types and attributes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.episode.file import read_attribute, write_attribute
from corporeal.episode.file.digest import CONTENT, DIGEST, content_digest, dataset_digest
from corporeal.errors import EpisodeError

Edit = Callable[[h5py.File], None]


def test_every_dataset_carries_the_hash_of_its_content(every_kind: Path) -> None:
    seen = []
    with h5py.File(every_kind) as file:

        def visit(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                seen.append(name)
                assert item.attrs[DIGEST].decode() == dataset_digest(item), name

        file.visititems(visit)
        assert file.attrs[CONTENT].decode() == content_digest(file)
    assert len(seen) > 20


def test_the_hash_of_numbers_is_plain_sha256_of_their_bytes(every_kind: Path) -> None:
    with h5py.File(every_kind) as file:
        values = file["observations/arm/data"][:]
        stated = read_attribute(file["observations/arm/data"], DIGEST)
    assert stated == hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()


def _rename(file: h5py.File) -> None:
    file.move("observations/arm", "observations/leg")


def _retype(file: h5py.File) -> None:
    values = file["observations/arm/data"][:]
    stated = read_attribute(file["observations/arm/data"], DIGEST)
    del file["observations/arm/data"]
    file["observations/arm/data"] = values.view("<i4")
    write_attribute(file["observations/arm/data"], DIGEST, stated)


def _reshape(file: h5py.File) -> None:
    values = file["observations/arm/data"][:]
    stated = read_attribute(file["observations/arm/data"], DIGEST)
    del file["observations/arm/data"]
    file["observations/arm/data"] = values.reshape(-1)
    write_attribute(file["observations/arm/data"], DIGEST, stated)


EDITS: dict[str, Edit] = {
    "name": _rename,
    "type": _retype,
    "shape": _reshape,
    "new group": lambda file: file.create_group("observations/new"),
    "removed stream": lambda file: file.__delitem__("observations/arm"),
    "root attribute": lambda file: file.attrs.__setitem__("epoch_ns", 6),
    "new attribute": lambda file: file["observations/arm"].attrs.__setitem__("x", 1),
    "unit": lambda file: write_attribute(file["observations/arm"], "unit", "deg"),
    "stated hash": lambda file: write_attribute(file["observations/arm/data"], DIGEST, "0" * 64),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_every_change_changes_the_content_hash(changed: Callable[[Edit], Path], edit: Edit) -> None:
    with h5py.File(changed(edit)) as file:
        assert read_attribute(file, CONTENT) != content_digest(file)


STRANGE = {
    "empty": h5py.Empty("f"),
    "variable text": "text",
    "list of variable texts": ["a", "b"],
    "compound": np.zeros(1, [("a", "i4")]),
    "large": np.zeros(1 << 18),
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE.keys())
def test_an_attribute_of_a_strange_type_is_refused_unread(
    changed: Callable[[Edit], Path], value: object
) -> None:
    path = changed(lambda file: file.attrs.__setitem__("x", value))
    with h5py.File(path) as file, pytest.raises(EpisodeError, match="attribute 'x' of /, got"):
        content_digest(file)


@pytest.mark.parametrize("value", ["", "naïve 箱", 5, -1.5, ["a", "bcd", ""], [1, 2]])
def test_an_attribute_comes_back_as_it_was(tmp_path: Path, value: object) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        write_attribute(file, "x", value)
        assert read_attribute(file, "x") == value
        assert read_attribute(file, "y") is None


def test_values_that_were_never_written_are_not_made_up(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("a", (1 << 40,), np.float64)
        with pytest.raises(EpisodeError, match="claims 8796093022208 bytes that are not there"):
            dataset_digest(dataset)

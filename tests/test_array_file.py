"""Arrays of numpy are read within bounds, and what is none ends in a sentence."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from corporeal import array_file
from corporeal.array_file import ArrayFileError


def test_the_arrays_of_a_file_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(80_000), b=np.zeros(80_000))
    monkeypatch.setattr(array_file, "MAX_BYTES", 1 << 20)
    assert set(array_file.read_npz(path, ("a",))) == {"a"}
    with pytest.raises(ArrayFileError, match="1 MiB; expected at most 1"):
        array_file.read_npz(path, ("a", "b"))


@pytest.mark.parametrize("head", [b"{'descr': '<f8", b"{'descr': (", b"[" * 100, b"{1: 2}"])
def test_a_header_that_is_no_header_is_answered_in_a_sentence(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "a.npy"
    text = head.ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    assert array_file.npy_shape(path) == ()
    with pytest.raises(ArrayFileError, match="not a numpy array"):
        array_file.read_npy(path)


def test_an_archive_with_a_password_is_answered_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(4))
    data = bytearray(path.read_bytes())
    # The first bit of the flags, in the head of the member and in the list of members.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(ArrayFileError, match="not a whole npz file"):
        array_file.read_npz(path, ("a",))


def test_arrays_of_objects_are_refused_or_left_out_and_never_executed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(4), b=np.array([{}], object))
    assert set(array_file.read_npz(path, skip_objects=True)) == {"a"}
    with pytest.raises(ArrayFileError, match="b: holds pickled objects"):
        array_file.read_npz(path)


@pytest.mark.parametrize("shape", [(10**6,), (10**12,), (2**40, 2**40)])
def test_a_header_that_claims_more_than_its_file_takes_no_memory(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    head = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, claim)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", head.getvalue())
    with pytest.raises(ArrayFileError, match=f"is {math.prod(shape) * 8} bytes, got"):
        array_file.read_npz(tmp_path / "a.npz")

"""Arrays of numpy are read within bounds, and what is none ends in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.person import array_file


def test_the_arrays_of_a_file_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.zeros(80_000), b=np.zeros(80_000))
    monkeypatch.setattr(array_file, "MAX_BYTES", 1 << 20)
    assert set(array_file.read_npz(path, ("a",))) == {"a"}
    with pytest.raises(MotionError, match="1 MiB; expected at most 1"):
        array_file.read_npz(path, ("a", "b"))


@pytest.mark.parametrize("head", [b"{'descr': '<f8", b"{'descr': (", b"[" * 100, b"{1: 2}"])
def test_a_header_that_is_no_header_is_answered_in_a_sentence(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "a.npy"
    text = head.ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    assert array_file.npy_shape(path) == ()
    with pytest.raises(MotionError, match="not a numpy array"):
        array_file.read_npy(path)


def test_an_archive_with_a_password_is_answered_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.zeros(4))
    data = bytearray(path.read_bytes())
    # The first bit of the flags, in the head of the member and in the list of members.
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(MotionError, match="not a whole npz file"):
        array_file.read_npz(path, ("a",))

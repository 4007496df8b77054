"""Point clouds in PCD files, in text and in bytes, and files that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.errors import EpisodeError
from corporeal.exchange.formats.humanoid_everyday import read_pcd

POINTS = np.array([[0.5, -1.0, 2.0], [3.25, 4.0, -5.5]], np.float32)


def pcd(points: np.ndarray, *, data: str = "binary", fields: str = "x y z") -> bytes:
    """A file of these points; a fourth field, if named, counts them."""
    names = fields.split()
    head = [
        "# .PCD v0.7 - Point Cloud Data file format", "VERSION 0.7", f"FIELDS {fields}",
        "SIZE " + " ".join(["4"] * len(names)),
        "TYPE " + " ".join("F" if name in "xyz" else "U" for name in names),
        "COUNT " + " ".join(["1"] * len(names)), f"WIDTH {len(points)}", "HEIGHT 1",
        "VIEWPOINT 0 0 0 1 0 0 0", f"POINTS {len(points)}", f"DATA {data}",
    ]  # fmt: skip
    columns = [points[:, "xyz".index(name)] if name in "xyz" else np.arange(len(points), dtype="u4")
               for name in names]  # fmt: skip
    if data == "ascii":
        rows = (" ".join(str(each) for each in row) for row in zip(*columns, strict=True))
        return ("\n".join([*head, *rows]) + "\n").encode()
    body = b"".join(each.tobytes() for row in zip(*columns, strict=True) for each in row)
    return ("\n".join(head) + "\n").encode() + body


@pytest.mark.parametrize("data", ["ascii", "binary"])
@pytest.mark.parametrize("fields", ["x y z", "intensity z y x"])
def test_coordinates_are_read_wherever_they_stand(tmp_path: Path, data: str, fields: str) -> None:
    (tmp_path / "a.pcd").write_bytes(pcd(POINTS, data=data, fields=fields))
    assert np.array_equal(read_pcd(tmp_path / "a.pcd"), POINTS)


def test_a_cloud_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "a.pcd").write_bytes(pcd(POINTS[:0]))
    assert read_pcd(tmp_path / "a.pcd").shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((b"POINTS 2", b"POINTS 3"), "buffer is smaller"),
        ((b"POINTS 2", b"POINTS 99999999999"), "expected at most"),
        ((b"DATA binary", b"DATA binary_compressed"), "expected ascii or binary"),
        ((b"FIELDS x y z", b"FIELDS x y w"), "'z' is not in list"),
        ((b"SIZE 4 4 4", b"SIZE 4 4"), "do not agree"),
        ((b"SIZE 4 4 4", b"SIZE 4 4 9"), "types that are not numbers"),
        ((b"DATA", b"TADA"), "no DATA line"),
    ],
)
def test_a_broken_file_is_one_sentence(
    tmp_path: Path, change: tuple[bytes, bytes], reason: str
) -> None:
    (tmp_path / "a.pcd").write_bytes(pcd(POINTS).replace(*change))
    with pytest.raises(EpisodeError, match=rf"a\.pcd: not a PCD file \(.*{reason}"):
        read_pcd(tmp_path / "a.pcd")

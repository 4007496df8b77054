"""A stream that contradicts itself is refused; what it leaves open follows from its kind."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from corporeal.schema import Stream
from corporeal.schema.stream import MAX_VALUES


def _stream(**values: Any) -> Stream:
    return Stream.model_validate({"name": "a", "group": "debug", **values})


def _complaint(**values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        _stream(**values)
    return str(caught.value.errors()[0]["msg"])


@pytest.mark.parametrize(
    ("kind", "shape", "dtype"),
    [("video", [4, 6, 3], "uint8"), ("depth", [5, 7], "uint16"), ("text", [], "uint8"),
     ("array", [2], "float32"), ("points", [4], "float32")],
)  # fmt: skip
def test_the_dtype_follows_the_kind(kind: str, shape: list[int], dtype: str) -> None:
    assert _stream(kind=kind, shape=shape).dtype == dtype


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"kind": "video", "shape": [4, 6]}, "expected [height, width, 3] of uint8"),
        ({"kind": "video", "shape": [4, 6, 4]}, "expected [height, width, 3], both even"),
        ({"kind": "video", "shape": [4, 5, 3]}, "expected [height, width, 3], both even"),
        ({"kind": "video", "shape": [4, 6, 3], "dtype": "uint16"}, "of uint8"),
        ({"kind": "depth", "shape": [4, 6, 1]}, "expected [height, width] of uint16"),
        ({"kind": "depth", "shape": [4, 6], "dtype": "float32"}, "of uint16"),
        ({"kind": "text", "shape": [1]}, "expected [] of uint8"),
        ({"kind": "points", "shape": []}, "expected [columns]"),
        ({"kind": "points", "shape": [3, 3]}, "expected [columns]"),
        ({"shape": [1] * 9}, "9 axes; expected at most 8"),
        ({"shape": [MAX_VALUES, 2]}, f"expected at most {MAX_VALUES} values in a sample"),
        ({"components": ["x"]}, "1 components for shape []"),
        ({"shape": [6], "components": "joints"}, "expected shape [joints]"),
        ({"shape": [2], "unit": ["m", "m", "m"]}, "3 units for shape [2]"),
        ({"unit": ["m"]}, "1 units for shape []"),
        ({"shape": [2], "unit": ["m", "metre"]}, "unknown unit, got 'metre'"),
        ({"frame": "a\0b"}, "NUL"),
        ({"shape": [1], "components": ["\0"]}, "NUL"),
    ],
)
def test_a_contradiction_is_refused(values: dict[str, Any], reason: str) -> None:
    assert reason in _complaint(**values)


@pytest.mark.parametrize("size", [0, -1, MAX_VALUES + 1, 1.5, "many"])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    _complaint(shape=[size])


QUATERNION = ["qx", "qy", "qz", "qw"]


@pytest.mark.parametrize(
    ("values", "method"),
    [
        ({}, "linear"),
        ({"dtype": "int32"}, "nearest"),
        ({"dtype": "bool"}, "nearest"),
        ({"group": "actions"}, "hold"),
        ({"kind": "text"}, "hold"),
        ({"kind": "video", "shape": [2, 2, 3]}, "nearest"),
        ({"kind": "points", "shape": [3]}, "nearest"),
        ({"shape": [4], "components": QUATERNION}, "slerp"),
        ({"shape": [4], "components": QUATERNION, "interpolation": "hold"}, "hold"),
        ({"group": "actions", "shape": [4], "components": QUATERNION}, "hold"),
    ],
)
def test_the_method_follows_from_what_the_stream_is(values: dict[str, Any], method: str) -> None:
    assert _stream(**values).method == method


def test_quaternion_columns_are_in_the_order_w_x_y_z() -> None:
    stream = _stream(shape=[5], components=["h", *QUATERNION])
    assert stream.quaternion_columns == (4, 1, 2, 3)


@pytest.mark.parametrize("components", [["qw", "qx", "qy", "q"], ["qw", "qw", "qx", "qy", "qz"]])
def test_three_or_two_of_a_kind_are_no_quaternion(components: list[str]) -> None:
    stream = _stream(shape=[len(components)], components=components)
    assert stream.quaternion_columns is None


def test_joints_become_those_of_the_robot() -> None:
    stream = _stream(shape=[2, "joints"], components="joints").resolve(("hip", "knee", "ankle"))
    assert stream.shape == (2, 3)
    assert stream.components == ("hip", "knee", "ankle")


def test_a_stream_without_joints_is_left_alone() -> None:
    stream = _stream(shape=[2])
    assert stream.resolve(("hip",)) is stream


def test_the_path_is_group_and_name() -> None:
    assert _stream(group="actions", name="target").path == "actions/target"


@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a/b", "a" * 65, "..", "a\n"])
def test_a_name_that_is_no_name_is_refused(name: str) -> None:
    if name == "a\n":
        assert _stream(name=name).name == "a"  # White space around a word is not part of it.
    else:
        _complaint(name=name)

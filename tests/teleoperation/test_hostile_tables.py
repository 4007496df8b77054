"""Tables of glasses that nobody recorded end in a sentence, and long ones in a time like theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corporeal.teleoperation.inputs.aria_mps import INPUT
from corporeal.teleoperation.operator_input import InputError

AXES = ("tx", "ty", "tz")
HANDS = ["tracking_timestamp_us", "left_tracking_confidence", "right_tracking_confidence"] + [
    f"{axis}_{side}_{point}_device"
    for side in ("left", "right") for point in ("wrist", "palm") for axis in AXES
]  # fmt: skip
PLACE = [f"{name}_world_device" for name in (*AXES, "qx", "qy", "qz", "qw")]
WORLD = ["tracking_timestamp_us", *PLACE]
Change = Callable[[str], str]


def _same(text: str) -> str:
    return text


def _tables(folder: Path, rows: int, hands: Change = _same, world: Change = _same) -> Path:
    path, beside = folder / "hand_tracking" / "a.csv", folder / "trajectory"
    path.parent.mkdir()
    beside.mkdir()
    lines = [f"{1000 * row},1,1{',0.1' * 12}" for row in range(rows)]
    path.write_text(hands("\n".join([",".join(HANDS), *lines])))
    lines = [f"{1000 * row},0,0,1.5,0,0,0,1" for row in range(rows)]
    text = world("\n".join([",".join(WORLD), *lines]))
    (beside / "closed_loop_trajectory.csv").write_text(text)
    return path


def test_the_tables_that_the_others_are_made_of_are_read_in_whatever_order(tmp_path: Path) -> None:
    def turned(text: str) -> str:
        head, *lines = text.split("\n")
        return "\n".join([head, *lines[::-1]])

    inputs = list(INPUT.read(_tables(tmp_path, 300, world=turned)))
    assert len(inputs) == 300
    assert inputs[7].head is not None
    assert inputs[7].head[2] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("hands", "world", "words"),
    [
        (lambda text: text.replace("right_tracking", "x"), _same, "right_tracking_confidence"),
        (lambda text: text.replace("tx_left_palm", "x"), _same, "tx_left_palm_device"),
        (lambda text: text.replace("0.1", "word", 1), _same, "tx_left_wrist_device"),
        (lambda text: text.replace("\n0,", "\nnan,", 1), _same, "a row without a time"),
        (_same, lambda text: text.replace("\n0,", "\ninf,", 1), "a row without a time"),
        (_same, lambda text: text.replace("\n0,", "\n1e300,", 1), "a row without a time"),
        (_same, lambda text: text.replace("qw_world", "x"), "qw_world_device"),
        (_same, lambda text: text.replace("tracking_timestamp_us", "x"), "tracking_timestamp_us"),
    ],
)
def test_a_table_that_lacks_something_is_refused_in_a_sentence(
    tmp_path: Path, hands: Change, world: Change, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        list(INPUT.read(_tables(tmp_path, 3, hands, world)))

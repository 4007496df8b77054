"""Recordings of hands that nobody made end in a sentence, whatever device they claim."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from corporeal.teleoperation.inputs import avp_stream, egodex
from corporeal.teleoperation.inputs.aria_mps import INPUT
from corporeal.teleoperation.operator_input import InputError, read_inputs

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


@pytest.mark.parametrize("late_us", [10**15, -(10**15), 700 * 10**6])
def test_a_stamp_decades_off_is_refused_before_the_time_between_is_worked_through(
    tmp_path: Path, late_us: int
) -> None:
    def late(text: str) -> str:
        head, *lines = text.split("\n")
        for row in range(5, 9):
            lines[row] = lines[row].replace(f"{1000 * row},", f"{1000 * row + late_us},", 1)
        return "\n".join([head, *lines])

    path = _tables(tmp_path, 9, late, late)
    with pytest.raises(InputError, match=r"sample 6 .* after the first; expected at most 605 s"):
        list(read_inputs(path))


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


def _egodex(path: Path, *, secret: Path, how: str) -> Path:
    """A file whose confidences, or camera, lie in a file of somebody else."""
    count = 8
    eye = np.tile(np.eye(4, dtype=np.float32), (count, 1, 1))
    eye[:, 0, 3] = np.arange(count)
    tip = eye.copy()
    tip[:, 1, 3] = 0.15
    with h5py.File(path, "w") as file:
        transforms, sure = file.create_group("transforms"), file.create_group("confidences")
        for name in ("camera", "leftHand", "leftThumbTip"):
            if not (how == "link" and name == "camera"):
                transforms[name] = tip if name == "leftThumbTip" else eye
        if how == "link":
            transforms["camera"] = h5py.ExternalLink(str(secret), "data")
        elif how == "bytes":
            sure.create_dataset("leftHand", (count,), "u1", external=[(str(secret), 0, count)])
        else:
            layout = h5py.VirtualLayout((count,), "f4")
            layout[:] = h5py.VirtualSource(str(secret), "data", (count,))
            sure.create_virtual_dataset("leftHand", layout)
    return path


@pytest.mark.parametrize("how", ["link", "bytes", "virtual"])
def test_hands_in_hdf5_take_nothing_from_other_files(tmp_path: Path, how: str) -> None:
    secret = tmp_path / "secret"
    if how == "bytes":
        secret.write_bytes(b"PASSWORD")
    else:
        with h5py.File(secret, "w") as file:
            file["data"] = np.full(8, 0.77, np.float32)
    path = _egodex(tmp_path / "a.hdf5", secret=secret, how=how)
    if how == "link":
        assert not egodex.INPUT.accepts(path)
        return
    hands = [given.left for given in egodex.INPUT.read(path)]
    sure = [hand.confidence for hand in hands if hand is not None and hand.confidence is not None]
    assert sure, "without the stranger's numbers there are hands, each sure"
    assert np.unique(sure).tolist() == [1.0]


def test_hands_in_damaged_hdf5_end_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        for name in ("camera", "leftHand"):
            file[f"transforms/{name}"] = np.zeros((4, 4, 4), np.float32)
    whole = path.read_bytes()
    for mark in (b"HEAP", b"SNOD", b"TREE"):
        path.write_bytes(whole.replace(mark, b"XXXX"))
        assert not egodex.INPUT.accepts(path)
        with pytest.raises(InputError):
            list(egodex.INPUT.read(path))


def test_a_line_of_a_recording_is_bounded_and_so_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"timestamp": 0, "headMatrix": [' + "[]," * (1 << 17) + "0]}")
    with pytest.raises(InputError, match="the last of 262144 characters"):
        list(avp_stream.INPUT.read(path))
    for stamp in ("1e400", "9e99", "NaN"):
        path.write_text(f'{{"timestamp": {stamp}, "headMatrix": null}}')
        with pytest.raises(InputError, match="cannot be read"):
            list(avp_stream.INPUT.read(path))

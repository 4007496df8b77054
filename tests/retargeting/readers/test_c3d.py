"""C3D: three machines, two kinds of numbers, headers that lie, files that are cut or damaged."""

from __future__ import annotations

import random
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES, HumanMotion, MotionError
from corporeal.retargeting.reader import ClipHints, read_motion
from corporeal.retargeting.readers.c3d import read, read_c3d, read_parameters, recognises

ENCODINGS = ("pc_int", "pc_real", "dec_int", "dec_real", "sgi_int", "sgi_real")


@pytest.fixture(scope="module")
def mocap(shared_data: Path) -> Path:
    return shared_data / "mocap"


@pytest.fixture(scope="module")
def serve(mocap: Path) -> HumanMotion:
    return read_motion(mocap / "c3d_kineticstoolkit" / "kinematics_tennis_serve.c3d")


def write_c3d(
    path: Path,
    positions: Array,
    labels: list[str],
    *,
    first: int = 1,
    last: int | None = None,
    lost: Array | None = None,
    extra: bytes = b"",
    unit: str = "mm",
) -> Path:
    """A small file of an Intel machine with real numbers; `lost` (T, M) get a residual of -1."""
    frames, points = positions.shape[:2]
    records = _group(1, "POINT") + _group(2, "TRIAL")
    for number, begin in enumerate(range(0, points, 255)):
        name = "LABELS" + (str(number + 1) if number else "")
        part = labels[begin : begin + 255]
        text = b"".join(label.encode().ljust(16) for label in part)
        records += _record(1, name, -1, (16, len(part)), text)
    records += _record(1, "USED", 2, (), struct.pack("<h", points))
    records += _record(1, "UNITS", -1, (len(unit),), unit.encode())
    records += extra
    start = 2 + -(-(len(records) + 8) // 512)
    records = _record(1, "DATA_START", 2, (), struct.pack("<h", start)) + records
    blocks = start - 2
    section = (bytes([1, 80, blocks, 84]) + records).ljust(blocks * 512, b"\0")
    end = first + frames - 1 if last is None else last
    header = struct.pack(
        "<BBHHHHHfHHf", 2, 80, points, 0, first % 65536, end % 65536, 0, -1.0, start, 0, 100.0
    )
    data = np.zeros((frames, points, 4), "<f4")
    data[..., :3] = positions
    if lost is not None:
        data[..., 3] = np.where(lost, -1, 0)
    path.write_bytes(header.ljust(512, b"\0") + section + data.tobytes())
    return path


def _group(number: int, name: str) -> bytes:
    return struct.pack("<bb", len(name), -number) + name.encode() + struct.pack("<hB", 3, 0)


def _record(group: int, name: str, kind: int, sizes: tuple[int, ...], data: bytes) -> bytes:
    body = struct.pack("<bB", kind, len(sizes)) + bytes(sizes) + data + b"\0"
    return (
        struct.pack("<bb", len(name), group)
        + name.encode()
        + struct.pack("<H", len(body) + 2)
        + body
    )


def test_six_encodings_of_one_trial_hold_the_same_numbers(mocap: Path) -> None:
    folder = mocap / "c3d_kineticstoolkit" / "c3d_test_suite" / "Sample02"
    files = {name: read_c3d(folder / f"{name}.c3d") for name in ENCODINGS}
    reference = files["pc_real"]
    assert reference.positions.shape == (89, 36, 3)
    # In pc_int and sgi_int, 59 of the integers were written one step of 0.28 mm off.
    with reference.path.open("rb") as file:
        _, parameters = read_parameters(file, reference.path, file.read(1)[0])
    step = abs(float(parameters["POINT:SCALE"][0]))
    for name, each in files.items():
        assert each.labels == reference.labels
        np.testing.assert_array_equal(np.isnan(each.positions), np.isnan(reference.positions))
        rounded = name in ("pc_int", "sgi_int")
        apart = np.abs(each.positions - reference.positions)
        assert np.nanmax(apart) < (1.001 * step if rounded else 1e-3)
        assert np.sum(apart > 1e-3) == (59 if rounded else 0)


def test_integers_and_reals_of_the_other_trial_agree_too(mocap: Path) -> None:
    folder = mocap / "c3d_kineticstoolkit" / "c3d_test_suite" / "Sample01"
    integers, reals = (read_c3d(folder / f"Eb015p{kind}.c3d") for kind in "ir")
    assert integers.rate_hz == reals.rate_hz == 50.0
    np.testing.assert_allclose(integers.positions, reals.positions, atol=1e-3)


def test_a_lost_marker_is_nan_and_no_other(tmp_path: Path) -> None:
    positions = np.arange(1.0, 31.0).reshape(5, 2, 3)
    lost = np.zeros((5, 2), bool)
    lost[3, 1] = True
    file = read_c3d(write_c3d(tmp_path / "a.c3d", positions, ["A", "B"], lost=lost))
    np.testing.assert_array_equal(np.isnan(file.positions).all(axis=2), lost)
    np.testing.assert_allclose(file.positions[~lost], positions[~lost])


def test_more_than_255_labels_are_in_several_parameters(tmp_path: Path) -> None:
    labels = [f"M{index}" for index in range(300)]
    path = write_c3d(tmp_path / "a.c3d", np.ones((2, 300, 3)), labels)
    assert list(read_c3d(path).labels) == labels


def test_more_frames_than_the_header_can_count_are_read(tmp_path: Path) -> None:
    frames = 70_000
    trial = b"".join(
        _record(2, name, 2, (2,), struct.pack("<HH", count % 65536, count >> 16))
        for name, count in (("ACTUAL_START_FIELD", 1), ("ACTUAL_END_FIELD", frames))
    )
    path = write_c3d(tmp_path / "a.c3d", np.ones((frames, 1, 3)), ["A"], last=65535, extra=trial)
    assert len(read_c3d(path).positions) == frames


def test_where_header_and_parameters_differ_the_file_is_read_with_a_note(tmp_path: Path) -> None:
    rate = _record(1, "RATE", 4, (), struct.pack("<f", 120.0))
    file = read_c3d(write_c3d(tmp_path / "a.c3d", np.ones((3, 1, 3)), ["A"], extra=rate))
    assert file.rate_hz == 120.0
    assert file.notes == ("rate: the header says 100, POINT:RATE says 120; took 120",)


def _without_parameter(path: Path, name: bytes) -> Path:
    """The file with a parameter that is 0, as some programs leave it."""
    content = bytearray(path.read_bytes())
    at = content.index(name) + len(name) + 4
    content[at : at + 2] = b"\0\0"
    path.write_bytes(content)
    return path


def test_parameters_that_are_left_empty_are_read_from_the_header(tmp_path: Path) -> None:
    positions = np.arange(18.0).reshape(3, 2, 3) + 1
    path = write_c3d(tmp_path / "a.c3d", positions, ["A", "B"])
    for name in (b"DATA_START", b"USED"):
        _without_parameter(path, name)
    file = read_c3d(path)
    np.testing.assert_array_equal(file.positions, positions)
    assert file.notes == (
        "markers: the header says 2, POINT:USED says 0; took 2",
        "first block of data: the header says 3, POINT:DATA_START says 0; took 3",
    )


def test_a_real_file_without_its_data_start_holds_the_same_markers(
    mocap: Path, tmp_path: Path
) -> None:
    whole = mocap / "c3d_kineticstoolkit" / "kinematics_tennis_serve.c3d"
    emptied = tmp_path / "emptied.c3d"
    emptied.write_bytes(whole.read_bytes())
    _without_parameter(emptied, b"DATA_START")
    file = read_c3d(emptied)
    np.testing.assert_array_equal(file.positions, read_c3d(whole).positions)
    assert any("POINT:DATA_START says 0" in note for note in file.notes)


def test_a_truncated_file_says_how_many_frames_are_there(mocap: Path, tmp_path: Path) -> None:
    whole = (mocap / "c3d_ezc3d" / "Qualisys.c3d").read_bytes()
    cut = tmp_path / "cut.c3d"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MotionError, match=r"cut\.c3d: ends after \d+ of 340 frames\."):
        read_c3d(cut)
    with pytest.raises(MotionError, match="ends after 29 of 1149 frames"):
        read_c3d(mocap / "c3d_ezc3d" / "Optotrak.c3d")


def test_damaged_files_raise_one_sentence_and_take_little_memory(
    mocap: Path, tmp_path: Path
) -> None:
    chance = random.Random(9)
    sources = [
        (mocap / "c3d_kineticstoolkit" / "c3d_test_suite" / "Sample02" / "dec_int.c3d"),
        (mocap / "c3d_ezc3d" / "Qualisys.c3d"),
    ]
    refused: list[str] = []
    peak = 0
    for rotation in range(30):
        data = bytearray(sources[rotation % 2].read_bytes())
        for _ in range(chance.randrange(1, 30)):
            # Half of the flips hit the header and the parameters, where they hurt.
            reach = 8192 if chance.random() < 0.5 else len(data)
            data[chance.randrange(reach)] = chance.randrange(256)
        if rotation % 3 == 0:
            del data[chance.randrange(len(data)) :]
        path = tmp_path / "damaged.c3d"
        path.write_bytes(data)
        if rotation < 4:
            # Tracing is slow, so only a few are traced.
            tracemalloc.start()
        try:
            read(path, ClipHints())
        except MotionError as error:
            refused.append(str(error))
        if rotation < 4:
            peak = max(peak, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert len(refused) > 10
    assert all(sentence.startswith(str(path)) for sentence in refused)
    assert peak < 100 << 20


@pytest.mark.parametrize("text", [b"", b"\x02", b"\x02P" + b"\0" * 600, b"\x02P" + b"\xff" * 5000])
def test_bytes_that_are_no_c3d_are_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.c3d"
    path.write_bytes(text)
    with pytest.raises(MotionError):
        read(path, ClipHints())


def test_a_tennis_serve_becomes_a_person_of_plausible_size(serve: HumanMotion) -> None:
    assert serve.origin.skeleton == "plug_in_gait@1.0.0"
    assert len(serve) == 1092
    assert serve.rate_hz == 50.0
    for side in SIDES:
        thigh, shank, arm, forearm = (
            np.linalg.norm(serve.point(f"{side}_{a}") - serve.point(f"{side}_{b}"), axis=1)
            for a, b in (
                ("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"),
            )
        )  # fmt: skip
        assert 0.36 < np.median(thigh) < 0.46
        assert np.std(thigh) < 0.04 * np.median(thigh)
        assert 0.36 < np.median(shank) < 0.46
        assert np.std(shank) < 0.03 * np.median(shank)
        assert 0.22 < np.median(arm) < 0.32
        assert np.std(arm) < 0.07 * np.median(arm)
        assert 0.22 < np.median(forearm) < 0.30
        assert np.std(forearm) < 0.07 * np.median(forearm)
    assert 1.45 < np.median(serve.point("head")[:, 2]) < 1.65
    assert abs(np.percentile(serve.point("left_toe")[:, 2], 5)) < 0.06


def test_a_walk_with_the_wrong_screen_axis_stands_up_and_walks_forward(mocap: Path) -> None:
    walk = read_motion(mocap / "c3d_ezc3d" / "Qualisys.c3d")
    assert "the file says -z is up, the body does not: not believed" in walk.origin.notes
    assert np.all(walk.point("head")[:, 2] > walk.point("pelvis")[:, 2] + 0.4)
    way = walk.point("pelvis")[-1] - walk.point("pelvis")[0]
    way /= np.linalg.norm(way)
    left = np.mean(walk.point("left_hip") - walk.point("right_hip"), axis=0)
    assert np.cross(way, left / np.linalg.norm(left))[2] > 0.95
    rotation = walk.rotations["pelvis"]
    np.testing.assert_allclose(
        rotation @ np.swapaxes(rotation, 1, 2),
        np.broadcast_to(np.eye(3), rotation.shape),
        atol=1e-9,
    )
    assert np.mean(rotation[:, :, 0] @ way) > 0.95
    assert np.mean(rotation[:, 2, 2]) > 0.95
    for side in SIDES:
        shank = np.linalg.norm(walk.point(f"{side}_knee") - walk.point(f"{side}_ankle"), axis=1)
        assert np.std(shank) < 0.02 * np.mean(shank)


def test_gaps_stay_gaps_and_cost_only_what_hangs_on_them(mocap: Path, serve: HumanMotion) -> None:
    gaps = read_motion(mocap / "c3d_kineticstoolkit" / "kinematics_tennis_serve_nan.c3d")
    lost = gaps.seen("right_shoulder") == 0
    assert 0.1 < lost.mean() < 0.2
    assert np.isnan(gaps.point("right_shoulder")[lost]).all()
    assert np.all(gaps.seen("left_shoulder") > 0)
    assert np.all(gaps.seen("right_wrist") > 0)
    np.testing.assert_allclose(
        gaps.point("right_shoulder")[~lost], serve.point("right_shoulder")[~lost], atol=2e-3
    )


def test_markers_without_arms_are_refused_by_the_points_they_do_not_give(mocap: Path) -> None:
    with pytest.raises(MotionError) as caught:
        read_motion(mocap / "c3d_opensim" / "walking2.c3d")
    sentence = str(caught.value)
    for point in ("left_shoulder", "right_elbow", "left_wrist"):
        assert point in sentence
    assert "left_knee" not in sentence
    assert "marker_set document" in sentence


def test_unnamed_clusters_are_refused_with_their_labels(mocap: Path) -> None:
    path = mocap / "c3d_kineticstoolkit" / "c3d_test_suite" / "Sample02" / "pc_real.c3d"
    with pytest.raises(MotionError, match=r"do not show a body.*RFT1"):
        read_motion(path)


def test_two_people_in_a_file_are_listed_and_one_can_be_named(
    mocap: Path, tmp_path: Path, serve: HumanMotion
) -> None:
    file = read_c3d(mocap / "c3d_kineticstoolkit" / "kinematics_tennis_serve.c3d")
    names = [label.partition(":")[2] for label in file.labels]
    both = np.concatenate([file.positions, file.positions + np.array([1.0, 0.0, 0.0])], axis=1)[:20]
    labels = [f"{who}:{name}" for who in ("Ada", "Bo") for name in names]
    path = write_c3d(tmp_path / "pair.c3d", both, labels, unit="m")
    with pytest.raises(MotionError, match=r"2 people: Ada, Bo; expected one\. .*--person"):
        read(path, ClipHints())
    with pytest.raises(UnknownNameError, match="Ada, Bo"):
        read(path, ClipHints(person="Cy"))
    ada = read(path, ClipHints(person="Ada")).point("left_knee")
    np.testing.assert_allclose(ada, serve.point("left_knee")[:20], atol=0.02)


def test_a_unit_that_makes_a_giant_is_not_believed(mocap: Path, tmp_path: Path) -> None:
    file = read_c3d(mocap / "c3d_kineticstoolkit" / "kinematics_tennis_serve.c3d")
    path = write_c3d(tmp_path / "a.c3d", file.positions[:50] * 1000, list(file.labels), unit="m")
    motion = read(path, ClipHints())
    assert any(note.startswith("unit mm, from the body's size") for note in motion.origin.notes)
    assert 1.4 < motion.point("head")[0, 2] < 1.7


def test_only_c3d_files_are_recognised(mocap: Path) -> None:
    assert recognises(mocap / "c3d_ezc3d" / "Qualisys.c3d")
    assert not recognises(mocap / "motive_csv" / "sample_optitrack_take.csv")
    assert not recognises(mocap / "nothing.c3d")

"""A check finds what moved, tells camera from marker, and refuses what it cannot resolve."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.calibration.marker_pictures import LEFT, RIGHT, draw, pose, station

from corporeal.calibration.board import Board
from corporeal.calibration.detection import detect
from corporeal.calibration.verification import (
    CalibrationCheck,
    CameraLook,
    CannotVerifyError,
    LoggedCheck,
    LoggedShift,
    append,
    check_resolution,
    compare,
    compare_looks,
    describe_check,
    find_causes,
    find_creeps,
    lens_of,
    log_of,
    read_log,
    reference_from,
    see_marker,
    with_reference,
)
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector
from corporeal.protocol import Calibration

CAMERA = station().cameras[0]
LENS = lens_of(CAMERA)
AT = {"left": pose(-0.09, 0.0, 0.5), "right": pose(0.1, 0.02, 0.5, (-0.3, 0.4, 0.0))}
BOARDS = {"left": LEFT, "right": RIGHT}


def look(places: dict[str, Array], seed: int, count: int = 8) -> CameraLook:
    rng = np.random.default_rng(seed)
    pictures = [draw([(BOARDS[name], place) for name, place in places.items()], rng)
                for _ in range(count)]  # fmt: skip
    return CameraLook("head_left", pictures, "made")


def moved(place: Array, shift_mm: tuple[float, float, float], turn_deg: float = 0.0) -> Array:
    step = np.eye(4)
    step[:3, :3] = matrix_from_vector(np.radians([[0.0, turn_deg, 0.0]]))[0]
    step[:3, 3] = np.array(shift_mm) / 1e3
    return np.asarray(step @ place)


@pytest.fixture(scope="module")
def verified() -> Calibration:
    """A station with two markers, both told well enough."""
    plan = None
    first = look(AT, seed=1)
    for name, board in BOARDS.items():
        noted = reference_from([first], name, board, CAMERA)
        plan = with_reference(plan, noted, {"frames": 8})
        check_resolution(noted, plan)
    assert plan is not None
    return station(verification=plan.model_dump(mode="json"))


def shifts_of(verified: Calibration, places: dict[str, Array], seed: int = 7) -> CalibrationCheck:
    assert verified.verification is not None
    shifts = compare_looks(verified, [look(places, seed)], verified.verification.markers)
    return CalibrationCheck(verified.reference, shifts, "2026-11-19T08:00:00+00:00")


def test_a_pose_from_pictures_is_where_the_marker_is() -> None:
    views = [detect(picture, LEFT) for picture in look({"left": AT["left"]}, seed=3).pictures]
    sight = see_marker([view for view in views if view is not None], LENS, LEFT)
    assert sight.pose[:3, 3] == pytest.approx(AT["left"][:3, 3], abs=2e-3)
    assert sight.sigma[3:].max() < 0.5e-3
    assert sight.frames == 8


def test_nothing_that_moved_passes(verified: Calibration) -> None:
    check = shifts_of(verified, AT)
    assert check.passed
    assert [shift.cause for shift in check.shifts] == ["nothing", "nothing"]
    assert check.worst.distance_m < 0.5e-3


def test_a_camera_that_moved_by_3_mm_halts_and_is_named(verified: Calibration) -> None:
    check = shifts_of(verified, {name: moved(place, (3.2, 0, 0)) for name, place in AT.items()})
    assert not check.passed
    assert {shift.cause for shift in check.shifts} == {"camera"}
    assert "head_left was moved: fasten it and calibrate it again" in describe_check(check)[0]


def test_a_camera_that_turned_by_a_degree_halts(verified: Calibration) -> None:
    turned = {name: moved(place, (0, 0, 0), 1.05) for name, place in AT.items()}
    check = shifts_of(verified, turned)
    assert {shift.cause for shift in check.shifts} == {"camera"}


def test_a_marker_that_was_kicked_is_told_from_the_camera(verified: Calibration) -> None:
    check = shifts_of(verified, {**AT, "left": moved(AT["left"], (0, 4, 0))})
    assert check.passed
    assert [shift.cause for shift in check.shifts] == ["marker", "nothing"]
    assert "the marker was moved, head_left was not" in describe_check(check)[0]


def test_one_marker_alone_cannot_tell_which_moved(verified: Calibration) -> None:
    assert verified.verification is not None
    (left, _) = verified.verification.markers
    plan = verified.verification.model_copy(update={"markers": (left,)})
    alone = verified.model_copy(update={"verification": plan})
    check = shifts_of(alone, {"left": moved(AT["left"], (4, 0, 0))})
    assert not check.passed
    assert check.shifts[0].cause == "camera or marker"
    assert "a second marker would tell which" in describe_check(check)[0]


def test_a_limit_below_what_the_marker_resolves_is_refused_in_words(verified: Calibration) -> None:
    assert verified.verification is not None
    plan = verified.verification.model_copy(update={"max_position_m": 5e-5})
    with pytest.raises(CannotVerifyError, match="cannot verify with this marker at this distance"):
        check_resolution(plan.markers[0], plan)


def test_a_small_marker_far_away_is_refused(verified: Calibration) -> None:
    small = Board(document="board", name="small", version="1.0.0", pattern="aruco", columns=1,
                  rows=1, square_m=0.05, marker_m=0.04, dictionary="DICT_4X4_50")  # fmt: skip
    far = CameraLook("head_left", [
        draw([(small, pose(0, 0, 1.0))], np.random.default_rng(seed)) for seed in range(6)
    ], "far")  # fmt: skip
    with pytest.raises(CannotVerifyError, match="cannot verify with this marker"):
        note_reference(far, small)


def note_reference(seen: CameraLook, board: Board) -> None:
    noted = reference_from([seen], board.name, board, CAMERA)
    check_resolution(noted, with_reference(None, noted, {}))


def test_a_marker_out_of_view_says_so(verified: Calibration) -> None:
    with pytest.raises(CannotVerifyError, match="right is not in view of head_left"):
        shifts_of(verified, {"left": AT["left"]})


def test_a_marker_that_moves_from_picture_to_picture_is_refused(verified: Calibration) -> None:
    rng = np.random.default_rng(5)
    moving = CameraLook("head_left", [
        draw([(LEFT, moved(AT["left"], (4.0 * number, 0, 0)))], rng) for number in range(6)
    ], "moving")  # fmt: skip
    with pytest.raises(CorporealError, match="Let robot, camera and marker come to rest") as told:
        reference_from([moving], "left", LEFT, CAMERA)
    assert "expected it still" in str(told.value)


def test_pictures_of_another_size_are_refused(verified: Calibration) -> None:
    assert verified.verification is not None
    half = CameraLook("head_left", [look(AT, 1, 1).pictures[0][::2, ::2]], "half.png")
    with pytest.raises(CorporealError, match="320 x 240; head_left was calibrated at 640 x 480"):
        compare_looks(verified, [half], verified.verification.markers)


def test_one_picture_is_told_less_well_than_many(verified: Calibration) -> None:
    views = [detect(picture, LEFT) for picture in look({"left": AT["left"]}, seed=4).pictures]
    whole = [view for view in views if view is not None]
    one, many = (see_marker(part, LENS, LEFT) for part in (whole[:1], whole))
    assert (one.sigma > many.sigma).all()


def test_several_looks_between_which_things_settle_widen_the_reference() -> None:
    shaken = [look({"left": moved(AT["left"], (0.3 * number, 0, 0))}, seed=number)
              for number in range(4)]  # fmt: skip
    wide = reference_from(shaken, "left", LEFT, CAMERA)
    still = reference_from(shaken[:1], "left", LEFT, CAMERA)
    assert max(wide.position_sigma_m) > 0.2e-3
    assert wide.position_sigma_m[0] > still.position_sigma_m[0]


def test_two_cameras_clear_each_other_of_a_marker_that_moved(verified: Calibration) -> None:
    assert verified.verification is not None
    plan = verified.verification
    views = [detect(picture, LEFT)
             for picture in look({"left": moved(AT["left"], (4, 0, 0))}, 8).pictures]  # fmt: skip
    sight = see_marker([view for view in views if view is not None], LENS, LEFT)
    shift = compare(plan.markers[0], plan, CAMERA, sight)
    second = shift.__class__(**{**vars(shift), "camera": "head_right"})
    assert {each.cause for each in find_causes([shift, second])} == {"marker"}


def logged(number: int, off: Array, calibration: str = "cell@1.0.0") -> LoggedCheck:
    turn = (float(off[0]), float(off[1]), float(off[2]))
    shifted = (float(off[3]), float(off[4]), float(off[5]))
    one = (1.0, 1.0, 1.0)
    shift = LoggedShift("left", "head_left", turn, shifted, one, one, 9.0, 9.0, "nothing")
    at = f"2026-11-{1 + number // 24:02d}T{number % 24:02d}:00:00+00:00"
    return LoggedCheck("check", at, calibration, "anna", passed=True, shifts=(shift,))


def test_the_log_gives_back_what_was_written_and_leaves_out_a_torn_line(tmp_path: Path) -> None:
    log = log_of(tmp_path / "cell.yaml")
    entries = [logged(1, np.arange(6.0)),
               LoggedCheck("lift", "2026-11-02T09:00:00+00:00", "cell@1.0.0", "lena", passed=True,
                           why="the marker was kicked")]  # fmt: skip
    for entry in entries:
        append(log, entry)
    with log.open("a") as file:
        file.write('{"what": "che')
    assert log.name == "cell.checks.jsonl"
    assert read_log(log) == entries
    log.write_text("no line of ours\n" + log.read_text())
    with pytest.raises(CorporealError, match="line 1 is no check"):
        read_log(log)


def test_a_creep_of_one_sigma_is_alarming_long_before_the_limit() -> None:
    rng = np.random.default_rng(11)
    steady = [logged(number, rng.normal(0, 0.7, 6)) for number in range(30)]
    assert not find_creeps(steady, "cell@1.0.0")[0].is_alarming
    crept = [logged(30 + number, rng.normal(0, 0.7, 6) + np.array([0, 0, 0, 0, 1.4, 0]))
             for number in range(15)]  # fmt: skip
    (creep,) = find_creeps([*steady, *crept], "cell@1.0.0")
    assert creep.is_alarming
    assert (creep.axis, creep.checks) == ("shift along y", 45)
    assert find_creeps(steady, "cell@2.0.0") == []

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tests.retargeting.made_results import result_of, standing
from tests.retargeting.people import walking_person

from corporeal.embodiment import open_robot
from corporeal.errors import WriteError
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, MotionError
from corporeal.retargeting.preview.look import clip_title
from corporeal.retargeting.preview.preview_file import write_preview
from corporeal.retargeting.preview.scene import PreviewScene, camera_for
from corporeal.retargeting.preview.stage import Stage, complete_points, limbs, stage_of
from corporeal.retargeting.result import ENDS, Retargeted
from corporeal.simulation.rendering import CameraError, check_rendering

SIZE = (64, 96)
RATE_HZ = 50.0


@pytest.fixture(scope="module")
def drawn() -> None:
    """Something to draw with; says what is missing where there is nothing."""
    try:
        check_rendering()
    except CameraError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def waving() -> Retargeted:
    """A G1 that stands and waves beside somebody who walks on the spot; 0.2 s."""
    return _waving("g1")


def _waving(robot: str, frames: int = 11) -> Retargeted:
    model = open_robot(robot)
    q, base = standing(frames, robot=model)
    person = walking_person(frames, RATE_HZ, speed_m_s=0.4)
    return replace(result_of(q, base, robot=model), human=person)


def _walking(share: float, frames: int = 250) -> Retargeted:
    """A person goes 4.5 m along x, the robot `share` of it."""
    q, base = standing(frames)
    person = walking_person(frames, RATE_HZ)
    base[:, 0] = share * person.point("pelvis")[:, 0]
    return replace(result_of(q, base), human=person)


def _far(result: Retargeted, end: str) -> Retargeted:
    error = np.zeros_like(result.error_m)
    error[:, ENDS.index(end)] = 0.12
    return replace(result, error_m=error, infeasible=np.ones(len(result), bool))


def _picture(stage: Stage, number: int = 0, size: tuple[int, int] = SIZE) -> NDArray[np.int64]:
    with PreviewScene(stage, size=size) as scene:
        (moment,) = stage.moments(np.array([number]))
        return np.asarray(scene.draw(moment, stage.centres[number]), np.int64)


def _columns(picture: NDArray[np.int64], colour: str) -> NDArray[np.int64]:
    """The columns of the picture in which there is something of a colour."""
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    seen = {
        "person": (red > blue + 60) & (green > blue + 30),
        "robot": (blue > red + 30) & (blue > green + 20),
        "far": (red > green + 90) & (red > blue + 80),
        "contact": (green > red + 60) & (blue > red + 40) & (green > blue),
    }[colour]
    return np.flatnonzero(seen.any(axis=0))


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("robot", ["g1", "h1", "gr1"])
def test_the_person_is_on_the_left_and_the_robot_on_the_right(robot: str) -> None:
    picture = _picture(stage_of(_waving(robot), fps=30.0))
    person, body = _columns(picture, "person"), _columns(picture, "robot")
    assert len(person) > 5
    assert len(body) > 5
    assert person.max() < body.min()
    assert person.min() > 0
    assert body.max() < SIZE[1] - 1


@pytest.mark.usefixtures("drawn")
def test_a_limb_out_of_reach_is_red_and_no_other(waving: Retargeted) -> None:
    calm = _picture(stage_of(waving, fps=30.0))
    tinted = _picture(stage_of(_far(waving, "left_hand"), fps=30.0))
    assert not len(_columns(calm, "far"))
    red = _columns(tinted, "far")
    assert len(red)
    # The left hand of one who faces the camera is on the right.
    assert red.min() > np.median(_columns(tinted, "robot"))


@pytest.mark.usefixtures("drawn")
def test_marks_lie_under_the_feet_that_stand(waving: Retargeted) -> None:
    none = replace(waving.goals, contacts=np.zeros((len(waving), 2, 2), bool))
    size = (128, 192)
    marked = _picture(stage_of(waving, fps=30.0), size=size)
    bare = _picture(stage_of(replace(waving, goals=none), fps=30.0), size=size)
    assert len(_columns(marked, "contact"))
    assert not len(_columns(bare, "contact"))


@pytest.mark.usefixtures("drawn")
def test_a_movie_has_a_picture_for_every_time_and_its_index_first(
    waving: Retargeted, tmp_path: Path
) -> None:
    path, told = tmp_path / "wave.mp4", list[tuple[int, int]]()
    write_preview(waving, path, size=(65, 97), fps=25.0, progress=lambda *at: told.append(at))
    with av.open(str(path)) as movie:
        stream = movie.streams.video[0]
        frames = list(movie.decode(stream))
        assert stream.average_rate == 25
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
    assert [float(frame.time or 0.0) for frame in frames] == pytest.approx(np.arange(6) / 25)
    assert frames[0].to_ndarray(format="rgb24").shape == (64, 96, 3)
    assert told == [(number, 6) for number in range(1, 7)]
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    shown = frames[3].to_ndarray(format="rgb24").astype(np.int64)
    assert np.median(_columns(shown, "person")) < np.median(_columns(shown, "robot"))


@pytest.mark.usefixtures("drawn")
def test_a_movie_that_fails_leaves_what_was_there(waving: Retargeted, tmp_path: Path) -> None:
    path = tmp_path / "wave.mp4"
    path.write_bytes(b"an older one")

    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_preview(waving, path, size=SIZE, progress=stop)
    assert path.read_bytes() == b"an older one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("drawn")
def test_one_picture_shows_eight_moments(tmp_path: Path) -> None:
    path = tmp_path / "walk.png"
    write_preview(_walking(1.0, 50), path, size=(120, 240))
    sheet = np.asarray(Image.open(path)).astype(np.int64)
    assert sheet.shape == (120, 240, 3)
    for column in range(4):
        for half in (sheet[20:66], sheet[72:]):
            tile = half[:, column * 60 : column * 60 + 58]
            assert len(_columns(tile, "person"))
            assert len(_columns(tile, "robot"))


@pytest.mark.usefixtures("drawn")
def test_a_large_picture_has_words_and_a_small_one_none(waving: Retargeted, tmp_path: Path) -> None:
    for size, expected in (((240, 320), True), (SIZE, False)):
        write_preview(waving, tmp_path / "wave.mp4", size=size)
        with av.open(str(tmp_path / "wave.mp4")) as movie:
            picture = next(movie.decode(video=0)).to_ndarray(format="rgb24")
        corner = picture[: size[0] // 6, : size[1] // 5]
        assert bool((corner < 90).all(axis=-1).any()) is expected


def test_a_scene_for_rerun_holds_bodies_goals_and_errors(
    waving: Retargeted, tmp_path: Path
) -> None:
    chunk = pytest.importorskip("rerun.chunk")
    path = tmp_path / "wave.rrd"
    write_preview(_far(waving, "right_hand"), path, fps=25.0)
    assert list(tmp_path.iterdir()) == [path]
    reader = chunk.RrdReader(path)
    assert reader.blueprints()
    rows, shapes, errors = dict[str, int](), set[str](), list[list[float]]()
    for each in reader.stream():
        if each.is_static:
            shapes.add(each.entity_path)
        else:
            assert {"time", "frame"} <= set(each.timeline_names)
            rows[each.entity_path] = rows.get(each.entity_path, 0) + each.num_rows
        if each.entity_path == "/error/right_hand" and not each.is_static:
            errors += each.to_record_batch().column("Scalars:scalars").to_pylist()
    for entity in ("person/bones", "person/joints", "goals", "contacts", "robot/left_knee_link"):
        assert rows[f"/world/{entity}"] == 6
    assert "/world/robot/left_knee_link/capsule" in shapes
    assert np.ravel(errors) == pytest.approx(np.full(6, 12.0))


@pytest.mark.parametrize("pace", [1.0, 0.7])
def test_the_person_keeps_their_size_beside_a_robot_whatever_its_steps(pace: float) -> None:
    stage = stage_of(_walking(pace), fps=30.0)
    assert stage.pace == pytest.approx(pace, abs=1e-3)
    assert _apart(stage) == pytest.approx(_apart(stage)[0], abs=0.1)
    own, drawn = stage.result.human.positions[0], stage.person_at(stage.times_s[:1])[0]
    np.testing.assert_allclose(np.ptp(drawn, axis=0), np.ptp(own, axis=0))


def test_neither_body_is_nearer_to_the_camera() -> None:
    stage = stage_of(_walking(1.0), fps=30.0)
    away = camera_for(stage, (360, 640)).away
    pelvis = stage.person_at(stage.times_s)[:, POINTS.index("pelvis")]
    depth = (pelvis - stage.robot_at(stage.times_s).positions[:, 0]) @ away
    assert np.abs(depth).max() < 0.15


def _apart(stage: Stage) -> Array:
    pelvis = stage.person_at(stage.times_s)[:, POINTS.index("pelvis")]
    return np.asarray(
        np.linalg.norm(pelvis - stage.robot_at(stage.times_s).positions[:, 0], axis=1)
    )


def test_both_bodies_are_whole_in_every_picture() -> None:
    stage = stage_of(_walking(1.0), fps=30.0)
    camera = camera_for(stage, (720, 1280))
    points = np.concatenate([each for each, _ in stage.outlines()])
    seen = points - stage.centres[:, None]
    depth = camera.distance_m + seen @ camera.away
    half = np.tan(np.radians(14.0))
    assert np.nanmax(np.abs(seen @ camera.right) / depth) < half * 1280 / 720
    assert np.nanmax(np.abs(seen[..., 2]) / depth) < half


def test_the_camera_follows_without_delay_and_without_shaking() -> None:
    shaken = _walking(1.0)
    base = shaken.base.copy()
    base[:, 1] += 0.05 * np.sin(2 * np.pi * 3.0 * np.arange(len(base)) / RATE_HZ)
    centres = stage_of(replace(shaken, base=base), fps=30.0).centres
    assert np.ptp(centres[30:-30, 1]) < 0.005
    assert np.diff(centres[:, 0])[30:-30] == pytest.approx(0.9 / 30, rel=0.05)


def test_a_person_lost_for_a_while_does_not_move_the_camera() -> None:
    result = _walking(1.0)
    points = result.human.positions.copy()
    points[100:140] = np.nan
    points[150, POINTS.index("left_wrist")] = (80.0, 0.0, 0.0)
    gaps = stage_of(replace(result, human=replace(result.human, positions=points)), fps=30.0)
    whole = stage_of(result, fps=30.0)
    assert gaps.centres == pytest.approx(whole.centres, abs=0.05)
    assert camera_for(gaps, SIZE).distance_m == pytest.approx(
        camera_for(whole, SIZE).distance_m, rel=0.1
    )


def test_points_that_a_clip_does_not_have_are_guessed_from_their_neighbours() -> None:
    points = walking_person(3).positions.copy()
    wanted = points[:, POINTS.index("head")].copy()
    points[:, POINTS.index("head")] = np.nan
    guess = complete_points(points)[:, POINTS.index("head")]
    assert np.linalg.norm(guess - wanted, axis=1).max() < 0.08


@pytest.mark.parametrize("robot", ["g1", "g1_23dof", "h1", "gr1", "walker_s2"])
def test_a_limb_is_what_moves_one_end_and_no_other(robot: str) -> None:
    model = open_robot(robot)
    found = limbs(model)
    assert set(found.values()) == {0, 1, 2, 3}
    assert model.base not in found
    for link, end in found.items():
        assert link.split("_")[0] == ENDS[end].split("_")[0]


@pytest.mark.usefixtures("drawn")
def test_a_name_of_many_lines_and_letters_becomes_one_short_line(
    waving: Retargeted, tmp_path: Path
) -> None:
    named = replace(waving, human=replace(waving.human, name="a\nb\x00" + "walk " * 40))
    assert clip_title(named) == "a b " + ("walk " * 40)[:43] + "…"
    write_preview(named, tmp_path / "walk.png", size=(180, 240))
    assert (tmp_path / "walk.png").is_file()


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Прогулка", "Прогулка"), ("はしる", "hasiru"), ("걷기", "geodgi"), ("跑 2", "[8dd1] 2")],
)
def test_letters_that_the_font_lacks_are_written_out(
    waving: Retargeted, name: str, shown: str
) -> None:
    assert clip_title(replace(waving, human=replace(waving.human, name=name))) == shown


def test_a_single_frame_is_a_movie_of_one_picture() -> None:
    assert len(stage_of(_waving("g1", 1), fps=30.0)) == 1


def test_a_result_without_frames_is_refused(waving: Retargeted) -> None:
    empty = replace(waving, q=waving.q[:0], base=waving.base[:0])
    with pytest.raises(MotionError, match="without frames"):
        stage_of(empty, fps=30.0)


@pytest.mark.parametrize(
    ("name", "size", "fps", "sentence"),
    [
        ("wave.gif", SIZE, 30.0, "expected one of .mp4, .png, .rrd"),
        ("wave.mp4", (64, 100_000), 30.0, "expected sides from"),
        ("wave.mp4", SIZE, float("nan"), "pictures a second"),
        ("nowhere/wave.mp4", SIZE, 30.0, "folder does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence(
    waving: Retargeted,
    tmp_path: Path,
    name: str,
    size: tuple[int, int],
    fps: float,
    sentence: str,
) -> None:
    with pytest.raises(WriteError, match=sentence):
        write_preview(waving, tmp_path / name, size=size, fps=fps)
    assert not list(tmp_path.iterdir())

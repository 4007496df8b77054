import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.exchange.small_sets import tables_of, write_episode, write_with

from corporeal.episode.recording import ArraySignal
from corporeal.errors import MissingExtraError
from corporeal.exchange.format import formats
from corporeal.exchange.formats import rrd
from corporeal.exchange.link_poses import link_poses_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.rerun_scene.entities import MAIN, depth_png, plots_of, rerun
from corporeal.schema import Stream


def signal(name: str, group: Any, names: tuple[str, ...], **facts: Any) -> ArraySignal:
    spec = Stream(name=name, group=group, shape=(len(names),), components=names, **facts)
    return ArraySignal(spec, np.arange(3), np.zeros((3, len(names)), np.float32))


@pytest.mark.parametrize("width", [1, 2, 31])
def test_depth_png_keeps_every_value(width: int) -> None:
    frame = np.random.default_rng(0).integers(0, 65536, (17, width), np.uint16)
    with Image.open(io.BytesIO(depth_png(frame))) as image:
        assert np.array_equal(np.asarray(image), frame)


def test_a_command_is_drawn_with_what_it_commands() -> None:
    state = signal("left_gripper", "observations", ("opening",), unit="m")
    target = signal("left_gripper_target", "actions", ("opening",), unit="m")
    force = signal("wrench", "observations", ("fx", "tx"), unit=("N", "N m"))
    main, other = plots_of([state, target, force], None)
    assert main.tab == MAIN
    assert [lines.entity for lines in main.lines] == [
        "/observations/left_gripper", "/actions/left_gripper_target",
    ]  # fmt: skip
    assert other.tab == "Force"


def test_joints_are_drawn_by_limb(tmp_path: Path) -> None:
    _, (table,) = tables_of(write_episode(tmp_path / "one.h5", seconds=0.4))
    robot = table.recording.embodiment
    paths = ("observations/joint_position", "actions/joint_position_target")
    joints = [table.recording.signals[path] for path in paths]
    plots = plots_of(joints, robot)
    assert {plot.name for plot in plots} >= {"left arm", "right arm", "left leg", "right leg"}
    assert all(len(plot.lines) == 2 for plot in plots)
    drawn = sorted(column for plot in plots for column in plot.lines[0].columns)
    assert drawn == list(range(29))


def test_the_robot_stands_where_its_base_is(tmp_path: Path) -> None:
    recording = open_dataset(write_episode(tmp_path / "one.h5", seconds=0.4)).open(0)
    posture = link_poses_of(recording)
    assert posture is not None
    base = np.asarray(recording.signals["debug/base_pose"][:])
    pelvis = posture.positions[:, posture.links.index("pelvis")]
    nearest = np.abs(posture.time_ns[:, None] - recording.signals["debug/base_pose"].time_ns)
    assert np.allclose(pelvis, base[nearest.argmin(axis=1), :3], atol=0.02)
    assert np.allclose(np.linalg.norm(posture.quaternions, axis=-1), 1)


def test_without_the_library_the_error_gives_the_install_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(MissingExtraError, match=r"corporeal\[viz\]"):
        rerun()


def test_it_is_only_written() -> None:
    assert formats()["rrd"].read is None
    assert not formats()["rrd"].recognises(Path())


@pytest.mark.slow
def test_every_stream_is_in_the_scene_with_both_clocks(tmp_path: Path) -> None:
    chunk = pytest.importorskip("rerun.chunk")
    source = write_episode(tmp_path / "one.h5", seconds=0.6)
    recording = open_dataset(source).open(0)
    assert rrd.FORMAT.writer is not None
    options = ExportOptions(exclude=("left_tactile",))
    out = write_with(rrd.FORMAT.writer, source, tmp_path / "work", options)
    reader = chunk.RrdReader(out / "episode_000000.rrd")
    assert reader.blueprints()
    rows: dict[str, int] = {}
    for each in reader.stream():
        if not each.is_static:
            assert {"time", "row"} <= set(each.timeline_names)
            rows[each.entity_path] = rows.get(each.entity_path, 0) + each.num_rows
    for label in ("observations/head_left", "observations/head_depth", "debug/external_front",
                  "observations/pelvis_imu", "observations/right_tactile"):  # fmt: skip
        assert rows[f"/{label}"] == len(recording.signals[label])
    assert rows["/observations/joint_position/left_arm"] == 60
    assert rows["/events/instruction"] == 1
    assert "/observations/left_tactile" not in rows
    assert any(entity.startswith("/world/robot/") for entity in rows)


@pytest.mark.slow
def test_numbers_in_the_scene_are_those_of_the_stream(tmp_path: Path) -> None:
    chunk = pytest.importorskip("rerun.chunk")
    source = write_episode(tmp_path / "one.h5", seconds=0.4)
    wanted = open_dataset(source).open(0).signals["observations/pelvis_imu"]
    assert rrd.FORMAT.writer is not None
    out = write_with(rrd.FORMAT.writer, source, tmp_path / "work")
    values, stamps = [], []
    for each in chunk.RrdReader(out / "episode_000000.rrd").stream():
        if each.entity_path == "/observations/pelvis_imu" and not each.is_static:
            batch = each.to_record_batch()
            values += batch.column("Scalars:scalars").to_pylist()
            stamps += batch.column("time").cast("int64").to_pylist()
    order = np.argsort(stamps)
    assert np.array_equal(np.array(stamps)[order], wanted.time_ns)
    assert np.array_equal(np.array(values, np.float32)[order], wanted[:])

"""Episodes as rows: which columns, at which times, in which order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.small_sets import tables_of, write_episode

from corporeal.embodiment import open_robot
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import CorporealError, EpisodeError, UnknownNameError
from corporeal.exchange.layout import ACTION, STATE, layout_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import table_of
from corporeal.schema import Stream

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episode(tmp_path_factory.mktemp("table") / "e.h5", seconds=1.5)


def _recording(**signals: tuple[Stream, np.ndarray, np.ndarray]) -> Recording:
    made = {
        name: ArraySignal(spec, stamps.astype(np.int64), values)
        for name, (spec, stamps, values) in signals.items()
    }
    return Recording(id="x", source=Path("x"), index=0, signals=made)


def _signal(
    name: str, group: str, rate: float, count: int, *, names: tuple[str, ...] = ("a", "b")
) -> tuple[Stream, np.ndarray, np.ndarray]:
    spec = Stream.model_validate(
        {"name": name, "group": group, "shape": (2,), "rate_hz": rate, "components": names}
    )
    stamps = np.arange(count) * (SECOND / rate)
    values = np.stack([stamps / SECOND, -stamps / SECOND], axis=1).astype(np.float32)
    return spec, stamps, values


def test_rows_run_at_the_rate_of_the_cameras(episode: Path) -> None:
    context, (table,) = tables_of(episode)
    assert context.layout.rate_hz == 30
    assert 42 <= len(table) <= 45
    steps = np.diff(table.time_ns)
    assert np.abs(steps - SECOND / 30).max() <= 1


def test_state_and_action_are_the_joints_in_the_robots_order(episode: Path) -> None:
    context, (table,) = tables_of(episode)
    robot = open_robot("g1")
    assert context.layout.columns[STATE].names == robot.joint_names
    assert context.layout.columns[ACTION].names == robot.joint_names
    assert list(context.layout.columns)[-1] == ACTION
    assert table.block(0, 1)[STATE].shape == (1, 29)


def test_what_a_policy_does_not_have_is_left_out_unless_asked_for(episode: Path) -> None:
    context, _ = tables_of(episode)
    assert not [key for key in context.layout.columns if "base_pose" in key]
    context, (table,) = tables_of(episode, ExportOptions(include=("base_pose",)))
    assert table.block(0, 1)["observation.base_pose"].shape == (1, 7)


def test_positions_are_interpolated_and_commands_held() -> None:
    recording = _recording(
        state=_signal("joint_position", "observations", 100, 101),
        action=_signal("joint_position_target", "actions", 10, 11),
    )
    table = table_of(recording, layout_of(recording, ExportOptions(rate_hz=30)), number=0)
    values = table.whole()
    time_s = table.time_ns / SECOND
    np.testing.assert_allclose(values[STATE][:, 0], time_s, atol=1e-5)
    np.testing.assert_allclose(values[ACTION][:, 0], np.floor(time_s * 10 + 1e-6) / 10, atol=1e-5)


def test_rows_of_one_clock_are_taken_as_they_are() -> None:
    state = _signal("joint_position", "observations", 30, 50)
    action = _signal("joint_position_target", "actions", 30, 50)
    recording = _recording(state=state, action=action)
    table = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    np.testing.assert_array_equal(table.time_ns, state[1].astype(np.int64))
    np.testing.assert_array_equal(table.whole()[STATE], state[2])


def test_blocks_add_up_to_the_whole(episode: Path) -> None:
    _, (table,) = tables_of(episode)
    whole = table.whole()
    blocks = list(table.blocks(7))
    for key, values in whole.items():
        np.testing.assert_array_equal(np.concatenate([block[key] for block in blocks]), values)


def test_a_gap_is_filled_with_the_nearest_value_and_counted() -> None:
    spec, stamps, values = _signal("joint_position", "observations", 100, 101)
    kept = (np.arange(101) < 40) | (np.arange(101) > 60)
    recording = _recording(
        state=(spec, stamps[kept], values[kept]),
        action=_signal("joint_position_target", "actions", 50, 51),
    )
    table = table_of(recording, layout_of(recording, ExportOptions(rate_hz=50)), number=0)
    rows = table.whole()[STATE]
    assert np.isfinite(rows).all()
    assert np.isin(rows[21:30, 0].round(2), np.array([0.39, 0.61], np.float32)).all()
    assert table.filled() == {STATE: 11}


def test_joints_in_another_order_are_put_in_the_order_of_the_first_episode() -> None:
    first = _recording(s=_signal("joint_position", "observations", 30, 5))
    layout = layout_of(first, ExportOptions())
    swapped = _recording(s=_signal("joint_position", "observations", 30, 5, names=("b", "a")))
    rows = table_of(swapped, layout, number=1).whole()[STATE]
    np.testing.assert_array_equal(rows, table_of(first, layout, number=0).whole()[STATE][:, ::-1])


def test_an_episode_of_another_robot_is_refused_by_name() -> None:
    layout = layout_of(
        _recording(s=_signal("joint_position", "observations", 30, 5)), ExportOptions()
    )
    other = _recording(s=_signal("joint_position", "observations", 30, 5, names=("a", "c")))
    with pytest.raises(EpisodeError, match="other entries than the first episode: b, c"):
        table_of(other, layout, number=1)


def test_an_episode_in_another_unit_is_refused() -> None:
    layout = layout_of(
        _recording(s=_signal("joint_position", "observations", 30, 5)), ExportOptions()
    )
    spec, stamps, values = _signal("joint_position", "observations", 30, 5)
    degrees = Stream.model_validate({**spec.model_dump(), "unit": "rad"})
    with pytest.raises(EpisodeError, match="is in rad; expected 1"):
        table_of(_recording(s=(degrees, stamps, values)), layout, number=1)


def test_an_episode_without_a_stream_is_refused_by_name() -> None:
    both = _recording(
        s=_signal("joint_position", "observations", 30, 5),
        f=_signal("wrist_force", "observations", 30, 5),
    )
    layout = layout_of(both, ExportOptions())
    with pytest.raises(EpisodeError, match="has no observations/wrist_force"):
        table_of(replace(both, signals={"s": both.signals["s"]}), layout, number=1)


def test_the_state_can_be_made_of_several_streams(episode: Path) -> None:
    options = ExportOptions(state=("joint_position", "pelvis_imu"))
    context, (table,) = tables_of(episode, options)
    column = context.layout.columns[STATE]
    assert column.shape == (35,)
    assert column.names is not None
    assert column.names[0] == "left_hip_pitch_joint"
    rows = table.whole()
    assert "observation.pelvis_imu" not in rows
    np.testing.assert_array_equal(
        rows[STATE][:, 29:],
        tables_of(episode, ExportOptions())[1][0].whole()["observation.pelvis_imu"],
    )


def test_an_unknown_stream_lists_those_that_there_are(episode: Path) -> None:
    with pytest.raises(UnknownNameError, match="observations/joint_position"):
        tables_of(episode, ExportOptions(exclude=("joint_positon",)))
    with pytest.raises(UnknownNameError, match="joint_velocity"):
        tables_of(episode, ExportOptions(state=("joint_speed",)))


def test_streams_without_common_time_are_an_error() -> None:
    spec, stamps, values = _signal("joint_position_target", "actions", 30, 10)
    recording = _recording(
        s=_signal("joint_position", "observations", 30, 10), a=(spec, stamps + 5 * SECOND, values)
    )
    with pytest.raises(EpisodeError, match="no time in common"):
        table_of(recording, layout_of(recording, ExportOptions()), number=0)


def test_a_clock_that_goes_back_is_an_error() -> None:
    spec, stamps, values = _signal("joint_position", "observations", 30, 10)
    stamps[5] = stamps[3]
    recording = _recording(s=(spec, stamps, values))
    with pytest.raises(EpisodeError, match="goes back"):
        table_of(recording, layout_of(recording, ExportOptions()), number=0)


def test_instructions_hold_from_their_own_time_on() -> None:
    text = Stream(name="instruction", group="observations", kind="text")
    recording = _recording(s=_signal("joint_position", "observations", 10, 11))
    told = ArraySignal(text, np.array([0, SECOND // 2]), ["go", "stop"])
    recording = replace(recording, signals={**recording.signals, "t": told})
    table = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    assert table.instructions == ("go", "stop")
    assert table.instruction.tolist() == [0] * 5 + [1] * 6
    assert table.text == "go"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate_hz": 0.0}, "rate, got 0.0"),
        ({"image_size": 223}, "image size, got 223"),
        ({"view": "deep"}, "expected one of: flat, hierarchical"),
        ({"normalise": "max"}, "expected one of: none, limits, quantiles"),
    ],
)
def test_a_wrong_plan_says_what_was_expected(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(CorporealError, match=message):
        ExportOptions(**wrong)  # type: ignore[arg-type]


def test_real_sets_become_tables(shared_data: Path) -> None:
    dataset = open_dataset(shared_data / "lerobot" / "gr1_picknplace_v20")
    recording = dataset.open(0)
    table = table_of(recording, layout_of(recording, ExportOptions()), number=0)
    label = recording.named("joint_position")
    assert label is not None
    np.testing.assert_array_equal(table.whole()[STATE], recording.signals[label][:])
    assert len(table) == 416


@pytest.mark.parametrize("years", [-56.9, 73.1])
def test_a_clock_that_jumps_over_decades_is_refused_in_one_sentence(years: float) -> None:
    state = _signal("state", "observations", 50, 100)
    action = _signal("action", "actions", 50, 100)
    for _, stamps, _ in (state, action):
        stamps[0 if years < 0 else -1] += years * 365.25 * 86400 * SECOND
    action[1][50] += 5
    recording = _recording(**{"observations/state": state, "actions/action": action})
    layout = layout_of(recording, ExportOptions(rate_hz=50))
    with pytest.raises(EpisodeError, match="the clock of episode 0 jumps: 100 samples"):
        table_of(recording, layout, number=0)

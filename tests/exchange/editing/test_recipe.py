"""Recipes: what foreign streams are, and how late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.episode.recording import ArraySignal, Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.editing.recipe import Recipe, apply, follow_recipe
from corporeal.exchange.layout import ACTION, STATE, layout_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import table_of
from corporeal.schema import Stream

MS = 1_000_000


def _recording() -> Recording:
    def signal(name: str) -> ArraySignal:
        spec = Stream.model_validate(
            {"name": name, "group": "observations", "shape": (1,), "rate_hz": 100}
        )
        stamps = np.arange(100, dtype=np.int64) * 10 * MS
        return ArraySignal(spec, stamps, (stamps / 1e9).astype(np.float32)[:, None])

    signals = {name: signal(name) for name in ("arm_joint_states", "arm_command", "noise")}
    return Recording(id="bag", source=Path("arm.bag"), index=0, signals=dict(signals))


def _recipe(text: str) -> Recipe:
    return Recipe.parse(f"document: recipe\nname: arm\nversion: 1.0.0\n{text}")


RECIPE = """
instruction: put the cup down
streams:
  observations/arm_joint_states: {name: joint_position, late_ms: 40}
  observations/arm_command: {name: joint_position_target, group: actions, interpolation: linear}
  observations/noise: {drop: true}
"""


def test_a_recipe_names_groups_shifts_and_drops() -> None:
    changed = apply(_recipe(RECIPE), _recording())
    paths = sorted(signal.spec.path for signal in changed.signals.values())
    assert paths == ["actions/joint_position_target", "observations/joint_position"]
    assert changed.signals["arm_joint_states"].time_ns[0] == -40 * MS
    assert changed.metadata["instruction"] == "put the cup down"


def test_streams_are_aligned_at_the_time_they_were_captured() -> None:
    changed = apply(_recipe(RECIPE), _recording())
    table = table_of(changed, layout_of(changed, ExportOptions(rate_hz=50)), number=0)
    rows = table.whole()
    # What was stamped 40 ms late belongs to the command that was given 40 ms before.
    np.testing.assert_allclose(rows[STATE] - rows[ACTION], 0.04, atol=1e-5)
    assert table.text == "put the cup down"


def test_a_recipe_serves_a_whole_dataset() -> None:
    dataset = Dataset(Path("x"), "bag", (0,), lambda _: _recording())
    changed = follow_recipe(dataset, _recipe(RECIPE)).open(0)
    assert changed.named("joint_position") == "arm_joint_states"


def test_a_stream_that_is_not_there_lists_those_that_are() -> None:
    recipe = _recipe("streams: {observations/arm: {name: joint_position}}")
    with pytest.raises(EpisodeError, match="observations/arm_command"):
        apply(recipe, _recording())


def test_two_streams_of_one_name_are_refused() -> None:
    recipe = _recipe("streams: {arm_command: {name: x}, noise: {name: x}}")
    with pytest.raises(EpisodeError, match="two streams the name observations/x"):
        apply(recipe, _recording())

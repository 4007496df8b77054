"""An episode whose actions are shifted stands out among the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.quality.checks.test_action_late import delayed
from tests.quality.moving import rows

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.checks.lag_unusual import CHECK
from corporeal.quality.evidence.action_lag import action_lag_measures


def brief(recording: Recording, task: str = "wave") -> Synopsis:
    return Synopsis(
        index=recording.index,
        id=str(recording.index),
        source=Path("rows"),
        task=task,
        metadata={},
        duration_s=12.0,
        frames=360,
        digest=b"",
        path=None,
        moments={},
        measures=action_lag_measures(Subject(recording)),
    )


GOOD = tuple(brief(rows(30.0, seed=seed)) for seed in range(5))


def test_episodes_alike_pass() -> None:
    assert list(CHECK.find(Batch(GOOD))) == []


@pytest.mark.parametrize("shift", [-4, -2, 2, 4])
def test_a_shift_by_two_rows_is_found(shift: int) -> None:
    odd = brief(delayed(rows(30.0, seed=7), shift))
    (finding,) = CHECK.find(Batch((*GOOD, odd)))
    assert finding.episodes == (7,)
    assert finding.value == pytest.approx(-shift / 30, abs=0.015)


def test_another_task_is_compared_loosely() -> None:
    odd = brief(delayed(rows(30.0, seed=7), 1), task="other")
    assert list(CHECK.find(Batch((*GOOD, odd)))) == []


def test_few_episodes_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="of 3 episodes"):
        list(CHECK.find(Batch(GOOD[:3])))

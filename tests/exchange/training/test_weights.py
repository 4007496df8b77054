"""Scores become sampling weights, and a file that is none is refused in words."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.training.weights import read_weights, row_weights, weights_from_scores


def file_of(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "scores.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@given(st.dictionaries(st.text(max_size=8), st.floats(0, 1), min_size=1),
       st.floats(0.05, 20))  # fmt: skip
def test_weights_have_mean_one_and_none_vanishes(
    scores: dict[str, float], temperature: float
) -> None:
    weights = weights_from_scores(dict(scores), temperature=temperature)
    assert np.mean(list(weights.values())) == pytest.approx(1.0)
    assert min(weights.values()) > 0.04
    ranked = sorted(scores, key=lambda name: scores[name])
    assert all(weights[a] <= weights[b] * (1 + 1e-12)
               for a, b in pairwise(ranked))  # fmt: skip


def test_twice_the_score_is_drawn_twice_as_often_and_heat_makes_alike() -> None:
    scores = {"good": 0.8, "fair": 0.4}
    weights = weights_from_scores(scores)
    assert weights["good"] == pytest.approx(2 * weights["fair"])
    hot = weights_from_scores(scores, temperature=1e6)
    assert hot["good"] == pytest.approx(hot["fair"], rel=1e-5)


def test_a_failed_episode_is_never_drawn_and_one_without_a_score_as_usual() -> None:
    weights = weights_from_scores({"a": 0.9, "b": 0.9, "c": None}, failed=("b",))
    assert weights == {"a": 1.0, "b": 0.0, "c": 1.0}


def test_what_score_prints_is_read(tmp_path: Path) -> None:
    episodes = [{"id": "a", "total": 0.9, "parts": []}, {"id": "b", "total": 0.3},
                {"id": "c", "total": None},
                {"id": "d", "total": 1.0, "success": False}]  # fmt: skip
    weights = read_weights(file_of(tmp_path, {"weighting": {}, "episodes": episodes}))
    assert weights == {"a": pytest.approx(1.5), "b": pytest.approx(0.5), "c": 1.0, "d": 0.0}


def test_the_file_beside_a_dataset_is_read_as_it_is(tmp_path: Path) -> None:
    path = file_of(tmp_path, {"episodes": [0.5, 2], "by_id": {"a": 0.5, "b": 2}})
    assert read_weights(path) == {"a": 0.5, "b": 2.0}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ([], "no list of scored episodes"),
        ({"episodes": 3}, "no list of scored episodes"),
        ({"episodes": [3]}, "entry 0 has no id"),
        ({"episodes": [{"id": ""}]}, "entry 0 has no id"),
        ({"episodes": [{"id": "a", "total": "good"}]}, "got good; expected a number, 0 to 1"),
        ({"episodes": [{"id": "a", "total": 1.5}]}, r"got 1.5; expected a number, 0 to 1"),
        ({"episodes": [{"id": "a", "total": True}]}, "got True; expected a number"),
        ('{"episodes": [{"id": "a", "total": NaN}]}', "got nan; expected a number"),
        ('{"episodes": [{"id": "a", "total": 1' + "0" * 400 + "}]}", "expected a number"),
        ({"episodes": [{"id": "a", "total": 1}, {"id": "a", "total": 0}]}, "has two scores"),
        ({"by_id": {"a": -1}}, "got -1; expected a number, 0 or more"),
    ],
)
def test_a_file_that_is_no_score_is_refused(tmp_path: Path, content: Any, complaint: str) -> None:
    with pytest.raises(EpisodeError, match=complaint):
        read_weights(file_of(tmp_path, content))


def test_rows_weigh_as_their_episode_or_episodes_alike() -> None:
    np.testing.assert_array_equal(row_weights([1.0, 3.0], [2, 3]), [1, 1, 3, 3, 3])
    even = row_weights([1.0, 3.0], [2, 3], even=True)
    assert even[:2].sum() == pytest.approx(1.0)
    assert even[2:].sum() == pytest.approx(3.0)
    with pytest.raises(CorporealError, match="1 weights for 2 episodes"):
        row_weights([1.0], [2, 3])


def test_a_temperature_of_nought_is_refused() -> None:
    with pytest.raises(CorporealError, match="temperature 0"):
        weights_from_scores({"a": 1.0}, temperature=0)

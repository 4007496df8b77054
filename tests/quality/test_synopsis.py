"""An episode in brief: exact moments, a digest of its numbers, the path of its motion."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import (
    ACTION,
    BASE,
    GRIPPER,
    OBJECT,
    STATE,
    brief,
    demonstration,
    edited,
    rows,
    told,
    without,
)
from tests.quality.samples import joints

from corporeal.errors import CorporealError
from corporeal.quality import Subject
from corporeal.quality.batch import PATH_POINTS
from corporeal.quality.synopsis import pack_synopsis, synopsis, unpack_synopsis


def test_moments_are_those_of_the_numbers() -> None:
    recording = demonstration()
    values = np.asarray(recording.signals[STATE][:])
    found = brief(recording).moments[STATE]
    assert found.count == len(values)
    np.testing.assert_allclose(found.mean, values.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.squares / found.count, values.var(axis=0), atol=1e-12)
    np.testing.assert_array_equal(found.lowest, values.min(axis=0))
    np.testing.assert_allclose(found.quantiles["q10"], np.quantile(values, 0.1, axis=0), atol=1e-6)
    np.testing.assert_allclose(found.quantiles["q99"], np.quantile(values, 0.99, axis=0), atol=1e-6)


def test_a_column_with_a_nan_has_no_moments_and_the_others_keep_theirs() -> None:
    values = np.array(demonstration().signals[STATE][:])
    values[7, 2] = np.nan
    found = brief(edited(demonstration(), STATE, values))
    assert np.isnan(found.moments[STATE].mean[2])
    assert np.isfinite(found.moments[STATE].mean[3])
    assert found.path is not None
    assert np.isfinite(found.path).all()


def test_the_digest_is_of_the_numbers_alone() -> None:
    one = demonstration()
    assert brief(one).digest == brief(told(one, operator="someone")).digest
    values = np.array(one.signals[STATE][:])
    values[100, 1] += 1e-3
    assert brief(one).digest != brief(edited(one, STATE, values)).digest


def test_the_path_leaves_the_rest_before_and_after_out() -> None:
    found = brief(demonstration(before_s=3.0, motion_s=6.0, after_s=3.0))
    assert found.path is not None
    assert found.path.shape == (PATH_POINTS, 8)
    assert found.measures["motion_s"] == pytest.approx(6.0, abs=0.8)
    assert found.duration_s == pytest.approx(12.0, abs=0.1)


def test_measures_say_how_much_stands_still_and_how_late_the_state_follows() -> None:
    found = brief(demonstration())
    assert 0.2 < found.measures["idle_share"] < 0.6
    assert brief(joints(frames=600)).measures["action_lag_s"] == pytest.approx(0.06, abs=0.01)
    assert "peak_force" not in found.measures


def test_a_cut_copy_shares_the_rows_of_its_sketch() -> None:
    one = demonstration()
    cut = rows(one, np.arange(10, len(one.signals[STATE])))
    common = np.intersect1d(brief(one).sketch, brief(cut).sketch)
    assert len(common) > 100
    assert not len(np.intersect1d(brief(one).sketch, brief(demonstration(1)).sketch))


def test_an_episode_without_numbers_has_a_synopsis_too() -> None:
    bare = without(demonstration(), STATE, ACTION, GRIPPER, OBJECT, BASE)
    found = brief(bare)
    assert found.path is None
    assert found.frames == 0
    assert found.duration_s == 0.0
    single = rows(demonstration(), np.array([3]))
    assert brief(single).frames == 1


def test_a_synopsis_is_quick() -> None:
    recording = demonstration(motion_s=20.0)
    brief(recording)
    begin = time.process_time()
    for _ in range(5):
        brief(replace(recording))
    assert (time.process_time() - begin) / 5 < 0.1


def test_a_synopsis_comes_back_from_its_bytes() -> None:
    recording = joints(metadata={"operator": "ann", "task": "wave"})
    drawn_up = synopsis(Subject(recording), pictures=False)
    data = pack_synopsis(drawn_up)
    back = unpack_synopsis(data, recording.metadata, index=7)
    assert len(data) < 20_000
    assert (back.index, back.digest, back.task) == (7, drawn_up.digest, "wave")
    assert back.facts.operator == "ann"
    assert back.path is not None
    assert drawn_up.path is not None
    np.testing.assert_allclose(back.path, drawn_up.path, atol=1e-6)
    np.testing.assert_array_equal(back.sketch, drawn_up.sketch)
    assert back.measures == drawn_up.measures
    for label, moments in drawn_up.moments.items():
        np.testing.assert_allclose(back.moments[label].lowest, moments.lowest, rtol=1e-6)
    with pytest.raises(CorporealError, match="corporeal rejudge"):
        unpack_synopsis(data[:50], {}, index=0)

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.quality.scores.test_scores import _still
from tests.quality.strokes import strokes

from corporeal.embodiment import open_robot
from corporeal.errors import DocumentError, UnknownNameError
from corporeal.quality import Subject
from corporeal.quality.scoring import (
    EpisodeScore,
    Measured,
    Weighting,
    learned,
    measure,
    open_weighting,
    score_batch,
    scores,
)
from corporeal.quality.scoring.score import READY, mean

HEAD = "document: weighting\nname: mine\nversion: 1.0.0\n"


def measured(count: int = 8) -> list[Measured]:
    worse: list[dict[str, Any]] = [
        {"shake": 0.001 * n, "overshoot": 0.02 * n} for n in range(count)
    ]
    return [measure(Subject(strokes(index=n, **motion))) for n, motion in enumerate(worse)]


def test_the_contributions_of_the_parts_make_up_the_total() -> None:
    for exponent in (0.5, 1.0, 2.0):
        weighting = open_weighting().model_copy(update={"exponent": exponent})
        for one in score_batch(measured(), weighting):
            assert one.total is not None
            assert 0 <= one.total <= 1
            assert sum(part.contribution for part in one.parts) == pytest.approx(one.total)
            assert sum(part.weight for part in one.parts) == pytest.approx(1.0)


def test_a_worse_motion_has_a_lower_total() -> None:
    totals = [one.total for one in score_batch(measured())]
    assert totals[0] is not None
    assert totals[-1] is not None
    assert totals[0] > totals[-1] + 0.1


def test_what_is_not_assessed_is_said_and_the_others_weigh_more() -> None:
    (alone,) = score_batch([measure(Subject(strokes()))])
    assert alone.not_assessed["balance"].startswith("the robot is not known")
    assert "episodes of the task" in alone.not_assessed["completion_time"]
    assert "could not be assessed and the others weigh more" in alone.sentence
    assert {part.name for part in alone.parts} | set(alone.not_assessed) == set(scores())


def test_an_episode_without_motion_has_no_total() -> None:
    (one,) = score_batch([measure(Subject(_still()))])
    assert one.total is None
    assert one.parts == ()
    assert "there is no score" in one.sentence
    assert one.to_json()["total"] is None


def test_every_part_can_be_opened_in_json() -> None:
    one = score_batch(measured())[3]
    plain = json.loads(json.dumps(one.to_json()))
    part = next(each for each in plain["parts"] if each["part"] == "rms_jerk")
    assert part["unit"] == "rad/s3"
    assert part["reference"]["good"] == 20.0
    assert part["explanation"].endswith("rad/s3.")
    assert 0 <= part["score"] <= 1


def test_what_is_measured_is_small_and_can_be_sent_between_processes() -> None:
    found = measure(Subject(strokes(robot=open_robot("g1"))))
    packed = pickle.dumps(found)
    assert len(packed) < 40_000
    again: Measured = pickle.loads(packed)
    assert again.measures == found.measures


def test_earlier_episodes_are_compared_with_but_not_scored() -> None:
    batch = measured()
    (one,) = score_batch(batch[:1], earlier=batch[1:])
    assert isinstance(one, EpisodeScore)
    assert "completion_time" in {part.name for part in one.parts}


def test_a_task_keeps_its_own_weights_and_references() -> None:
    weighting = Weighting.parse(
        HEAD + "weights: {rms_jerk: 1, path_length: 1}\n"
        "references: {path_length: {good: 1, bad: 3}}\n"
        "tasks:\n  strokes:\n    weights: {path_length: 0}\n"
        "    references: {rms_jerk: {good: 1, bad: 2, unit: rad/s3}}\n"
    )
    assert weighting.weight("path_length", "other") == 1
    assert weighting.weight("path_length", "strokes") == 0
    assert weighting.weight("balance", None) == 0
    assert weighting.scale("rms_jerk", "rad/s3", "strokes") == (1, 2)
    assert weighting.scale("rms_jerk", "m/s3", "strokes") == scores()["rms_jerk"].scale("m/s3")
    assert weighting.scale("path_length", "1", None) == (1, 3)
    one = score_batch(measured(4), weighting)[3]
    jerk = next(part for part in one.parts if part.name == "rms_jerk")
    assert one.total == jerk.score


def test_references_can_be_learnt_from_a_batch() -> None:
    batch = measured(12)
    own = learned(open_weighting(), batch)
    totals = [one.total for one in score_batch(batch, own) if one.total is not None]
    usual = [one.total for one in score_batch(batch) if one.total is not None]
    assert max(totals) - min(totals) > max(usual) - min(usual)
    assert learned(open_weighting(), batch[:3]).tasks == {}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("weights: {grace: 1}\n", "unknown part, got 'grace'"),
        ("weights: {rms_jerk: 0}\n", "every weight is 0"),
        ("weights: {rms_jerk: -1}\n", "greater than or equal to 0"),
        ("weights: {rms_jerk: 1}\nreferences: {rms_jerk: {good: 1, bad: 1}}\n", "two values"),
    ],
)
def test_a_weighting_that_makes_no_sense_is_refused(body: str, complaint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        Weighting.parse(HEAD + body)
    assert complaint in str(caught.value)


def test_weightings_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    assert "default" in READY.names
    assert set(open_weighting().weights) == set(scores())
    own = tmp_path / "own.yaml"
    own.write_text(HEAD + "weights: {rms_jerk: 1}\n")
    assert open_weighting(own).name == "mine"
    with pytest.raises(UnknownNameError, match="expected one of: default"):
        open_weighting("nonsense")


def test_the_power_mean_never_falls_when_a_part_rises() -> None:
    for exponent in (0.5, 1.0, 3.0):
        low = mean([1, 2], [0.2, 0.5], exponent=exponent)
        assert mean([1, 2], [0.3, 0.5], exponent=exponent) > low
        assert mean([1, 2], [0.2, 0.6], exponent=exponent) > low
        assert mean([1, 1], [0.4, 0.4], exponent=exponent) == pytest.approx(0.4)

"""The mistakes of collection teams: each changes what it marks, and trials are judged rightly."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench.detection.field.count import count_all, list_misses, summarise
from bench.detection.field.mistake import Mistake
from bench.detection.field.mistakes import every_mistake
from bench.detection.field.page import lower_headings
from bench.detection.field.run import draw_trials, run_trials
from bench.detection.field.sites import SITES
from bench.detection.field.take import ACTION, STATE, CannotPlantError, Channel, Mark, Take
from bench.detection.field.trial import Outcome, Said, Trial, examine, judge
from bench.detection.field.writers.bags import write_db3
from bench.detection.field.writers.motions import write_csv
from bench.detection.field.writers.tables import write_tables
from bench.detection.ledger import keep, kept
from bench.detection.split import half_of_episode, half_of_seed

from corporeal import open_dataset
from corporeal.embodiment import open_robot
from corporeal.quality.check import Finding, checks
from corporeal.units import SECOND_NS

MISTAKES = every_mistake()
RATE_HZ, COUNT = 30, 240
IN_TABLES = [
    name for name, each in MISTAKES.items() if each.needs <= {"state", "action"} and each.needs
]


def _take(number: int) -> Take:
    names = tuple(open_robot("g1").joint_names)
    clock = np.rint(np.arange(COUNT) * SECOND_NS / RATE_HZ).astype(np.int64)
    phase = np.linspace(0, 5, len(names)) + number
    angle = 0.3 * np.sin(1.5 * clock[:, None] / SECOND_NS + phase)
    pose = np.zeros((COUNT, 7))
    pose[:, 2:4] = 0.75, 1.0
    channels = {
        STATE: Channel(clock, angle, names),
        ACTION: Channel(clock, angle + 0.01, names),
        "base_pose": Channel(clock, pose, ("x", "y", "z", "qw", "qx", "qy", "qz")),
    }
    return Take(f"take {number}", channels, facts={"instruction": "Lift the box."})


@pytest.fixture(scope="module")
def takes() -> list[Take]:
    return [_take(number) for number in range(3)]


def test_every_mistake_has_a_check_that_names_it_and_a_site_to_be_made_at() -> None:
    assert len(MISTAKES) >= 70
    for each in MISTAKES.values():
        assert each.expected & set(checks()), each.name
        assert any(each.needs <= site.has for site in SITES.values()), each.name


@pytest.mark.parametrize("name", IN_TABLES)
def test_a_mistake_changes_the_takes_that_it_marks_and_no_others(
    name: str, takes: list[Take]
) -> None:
    before = [take.channel(STATE).values.copy() for take in takes]
    try:
        changed, mark = MISTAKES[name].plant(list(takes), np.random.default_rng(4))
    except CannotPlantError:
        pytest.skip("the made motion has no such joint")
    differing = [number for number, take in enumerate(changed) if take is not takes[number]]
    assert differing == list(mark.takes)
    for take, values in zip(takes, before, strict=True):
        assert np.array_equal(take.channel(STATE).values, values)


def test_takes_are_read_back_from_every_kind_of_file(tmp_path: Path, takes: list[Take]) -> None:
    for name, write in (("table", write_tables), ("db3", write_db3), ("csv", write_csv)):
        paths = write(tmp_path / name, takes, {})
        dataset = open_dataset([*paths], robot="g1")
        assert len(dataset.episodes) == len(takes)
        labels = dataset.open(0).signals
        label = next(label for label in labels if label.endswith(("state", "joint_position")))
        stored = np.asarray(labels[label][:])[:, :29]
        assert np.allclose(stored, takes[0].channel(STATE).values, atol=1e-5)


@pytest.mark.slow
def test_a_number_that_is_none_is_named_in_its_take_and_column(
    tmp_path: Path, takes: list[Take]
) -> None:
    mistake = MISTAKES["not_a_number"]
    changed, mark = mistake.plant(list(takes), np.random.default_rng(1))
    before = {each.key for each in examine(write_tables(tmp_path / "good", takes, {})).findings}
    findings = examine(write_tables(tmp_path / "bad", changed, {})).findings
    new = [each for each in findings if each.key not in before]
    outcome = judge(Trial(mistake.name, "table_v30", 0), mistake, new, mark, changed)
    assert outcome.named
    assert outcome.located


def _judged(said: Said, mark: Mark, takes: list[Take]) -> Outcome:
    mistake = replace(_stuck(), expected=frozenset({"joint_stuck"}))
    return judge(Trial("x", "table_v30", 0), mistake, [said], mark, takes)


def _stuck() -> Mistake:
    return MISTAKES["joint_lost_power"]


def test_a_mistake_is_located_by_take_stream_column_and_time(takes: list[Take]) -> None:
    mark = Mark((1,), (STATE,), ("left_knee_joint",), (2 * SECOND_NS, 3 * SECOND_NS))
    finding = Finding("left_knee_joint rests", "observation.state", check="joint_stuck")
    right = Said(1, finding, ((SECOND_NS, 2 * SECOND_NS),))
    assert _judged(right, mark, takes).located
    late = replace(right, spans_ns=((5 * SECOND_NS, 6 * SECOND_NS),))
    assert _judged(late, mark, takes).named
    assert not _judged(late, mark, takes).located
    other = replace(right, finding=replace(finding, message="right_elbow_joint rests"))
    assert not _judged(other, mark, takes).located
    assert not _judged(replace(right, finding=replace(finding, stream="action")), mark, takes).named
    blamed = _judged(replace(right, take=0), mark, takes)
    assert not blamed.named
    assert blamed.elsewhere


def test_results_are_kept_and_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    trial = Trial("loose_encoder", "table_v30", 0)
    row = {"trial": vars(trial), "named": True, "located": False, "said": ["a"]}
    keep(path, "field", row)
    with path.open("a") as file:
        file.write(json.dumps({"family": "field", **row})[:30])
    assert len(list(kept(path, "field"))) == 1
    passed = time.monotonic() - 1
    other = Trial("stale_hand", "table_v30", 0)
    outcomes = run_trials([trial, other], path, jobs=1, deadline=passed, tell=lambda _: None)
    assert outcomes == [Outcome(trial, named=True, said=("a",))]


def test_trials_of_one_seed_are_always_the_same_and_of_one_half() -> None:
    trials = draw_trials([1, 3])
    assert trials == draw_trials([1, 3])
    assert {each.half for each in trials} == {"held-out"}
    assert {each.half for each in draw_trials([0])} == {"tuning"}
    assert {half_of_seed(seed) for seed in range(2)} == {"tuning", "held-out"}
    halves = [half_of_episode("bridge", str(number)) for number in range(40)]
    assert 10 < halves.count("tuning") < 30


def test_counts_leave_out_what_could_not_be_made() -> None:
    trial = Trial("loose_encoder", "table_v30", 0)
    outcomes = [
        Outcome(trial, named=True, located=True),
        Outcome(trial, named=True),
        Outcome(trial, beside=("gap_in_stream: a gap",)),
        Outcome(trial, skipped="no hand moves"),
    ]
    whole = count_all(outcomes)
    assert (whole.tried, whole.flagged, whole.named, whole.located) == (3, 3, 2, 1)
    assert "named 66.7 %" in summarise(outcomes)
    clean = [{"site": "db3", "findings": [[0, "gap_in_stream", "fail", "a gap"]]}]
    text = list_misses(outcomes, clean)
    assert "gap_in_stream: a gap" in text
    assert "db3 take 0" in text


def test_headings_of_an_added_page_go_down_and_code_is_left_alone() -> None:
    assert lower_headings("# A\n```\n# b\n```\n## C") == "## A\n```\n# b\n```\n### C"

"""What an episode says of itself is read in one place, in one order."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from corporeal.episode.facts import COLLECTION_MODES, read_facts, read_mode, read_outcome
from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import ArraySignal
from corporeal.schema import Stream

SOURCE = Path(__file__).resolve().parents[2] / "src" / "corporeal"
# Fields that are no facts of the episode (what a copy notes of its source, a retargeter of its
# work, a journal of its records), columns of the catalogue, and checks of the fields as written.
ALLOWED = {
    # A mark's own words, not a recording's.
    "capture/operated_robot.py",
    "catalog/query/figures.py",
    "cli/commands/info.py",
    # Of what an output was made, as in clip_files; what is carried over as it was said.
    "cli/commands/retarget_hands.py",
    "teleoperation/hands/hands_episode.py",
    "episode/episode.py",
    "exchange/comparison.py",
    # Which episode a part was cut from.
    "exchange/seen_stretches.py",
    "exchange/training/sub_policy.py",
    "quality/checks/instruction_meaningless.py",
    "quality/checks/metadata_missing.py",
    "release/lineage/calibration_history.py",
    "release/lineage/frame_trace.py",
    "retargeting/job/clip_job.py",
    "retargeting/job/clip_files.py",
}


def _spoken(*texts: str) -> ArraySignal:
    spec = Stream(name="instruction", group="observations", kind="text")
    return ArraySignal(spec, np.arange(len(texts), dtype=np.int64), list(texts))


def test_the_stream_says_what_was_said_then_the_metadata_then_the_task() -> None:
    stated = {"task": "pick_place", "instruction": "put it down"}
    both = read_facts(stated, [_spoken("lift the cup", "put it down")])
    assert both.instruction == "lift the cup"
    assert both.instructions == ("lift the cup", "put it down")
    assert read_facts(stated).instruction == "put it down"
    assert read_facts({"task": "pick_place"}).instruction == "pick_place"
    assert read_facts({}, [_spoken(" ")]).instruction is None


def test_names_marks_and_the_rest_are_typed() -> None:
    facts = read_facts({
        "operator": "op01", "station": "", "session": 7, "mode": "Teleop",
        "marks": [{"what": "start", "time_ns": 10**9}, {"what": "end", "time_ns": 3 * 10**9}, 5],
        "roll": {"pre_s": 1.0},
    })  # fmt: skip
    assert (facts.operator, facts.station, facts.session) == ("op01", None, "7")
    assert facts.mode == "teleoperation"
    assert facts.demonstration_s == (1.0, 3.0)
    assert facts.other == {"roll": {"pre_s": 1.0}}


def test_what_people_labelled_goes_before_what_was_recorded() -> None:
    labels = LabelTrack(outcome="failure", failure_mode="drop")
    outcome = read_outcome({"outcome": {"success": True, "measures": {"x": 1}}}, (), labels)
    assert (outcome.success, outcome.failure, outcome.measures) == (False, "drop", {"x": 1})


@pytest.mark.parametrize("mode", COLLECTION_MODES)
def test_a_mode_is_read_in_every_spelling(mode: str) -> None:
    for spelt in (mode, mode.upper(), mode.replace(" ", "_"), mode.replace("-", " ")):
        assert read_mode(spelt) == mode
    assert read_mode("by osmosis") == "by osmosis"


def _asks_metadata(node: ast.AST) -> bool:
    """Whether it is `.metadata[...]` or `.metadata.get`."""
    is_get = isinstance(node, ast.Attribute) and node.attr == "get"
    is_item = isinstance(node, ast.Subscript)
    owner = getattr(node, "value", None) if is_get or is_item else None
    return isinstance(owner, ast.Attribute) and owner.attr == "metadata"


def test_meaning_is_not_dug_out_of_the_metadata_elsewhere() -> None:
    asking = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(map(_asks_metadata, ast.walk(ast.parse(path.read_text("utf-8")))))
    }
    assert asking == ALLOWED, "read Recording.facts instead"

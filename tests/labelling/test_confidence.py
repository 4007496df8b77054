"""Proposals say how often such boundaries were right, and are never certain."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest
from tests.labelling.picking import READY, picking

from corporeal.labelling.confidence import ANY, MOST, OPENING, calibrate
from corporeal.labelling.proposal import Example, propose

TABLE = json.loads(resources.files("corporeal.labelling").joinpath("confidence.json").read_text())


@pytest.mark.parametrize("event", [*TABLE["events"], "an event that nobody measured"])
def test_a_clearer_event_is_never_less_sure_and_none_is_certain(event: str) -> None:
    shares = [calibrate(event, clearness) for clearness in np.linspace(0.0, 1.0, 21)]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] <= shares[-1] <= MOST < 1.0


def test_an_event_without_cases_of_its_own_is_as_sure_as_all_together() -> None:
    assert calibrate("an event that nobody measured", 0.8) == calibrate(ANY, 0.8)


def test_the_table_has_the_beginning_and_the_events_that_most_phases_begin_with() -> None:
    assert {OPENING, "motion_begins", "contact_begins"} <= TABLE["events"].keys()


@pytest.mark.parametrize("using", ["events", "neighbours", "learnt"])
def test_no_proposed_phase_is_certain(using: str) -> None:
    recording = picking()
    first = propose(recording, READY, task="pick_place")
    assert first is not None
    examples = [Example(recording, first), Example(picking(pace=1.05), first)]
    proposal = propose(recording, READY, task="pick_place", examples=examples, using=using)
    assert proposal is not None
    assert proposal.segments
    assert all(0.0 < (segment.confidence or 0.0) <= MOST for segment in proposal.segments)
    assert "rest" in {segment.label for segment in proposal.in_lane("phase")}

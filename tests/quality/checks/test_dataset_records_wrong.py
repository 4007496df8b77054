"""What a dataset says of itself as a whole."""

from __future__ import annotations

from tests.quality.demonstrations import batch_of, demonstration

from corporeal.episode.recording import Defect
from corporeal.quality.assessment import assess
from corporeal.quality.checks.dataset_records_wrong import find


def test_passes_when_the_reader_met_nothing() -> None:
    assert not list(find(batch_of(demonstration())))


def test_finds_what_the_reader_met_under_the_name_of_its_check() -> None:
    wrong = Defect("metadata_wrong", "fps is wrong", stream="timestamp", episodes=(0, 1))
    lost = Defect("index_wrong", "data of 2 episodes is not here", episodes=(7, 8))
    camera = Defect("stream_missing", "no movie", stream="cam", episodes=(0, 1))
    batch = batch_of(demonstration(0), demonstration(1), defects=(wrong, lost, camera))
    found = assess(batch, scope="batch", only=("dataset_records_wrong",)).findings
    assert [(each.check, each.severity, each.episodes) for each in found] == [
        ("metadata_wrong", "fail", (0, 1)),
        ("index_wrong", "quarantine", (7, 8)),
        ("stream_missing", "quarantine", (0, 1)),
    ]

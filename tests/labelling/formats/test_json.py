"""JSON loses nothing."""

from __future__ import annotations

from pathlib import Path

from corporeal.labelling.annotation import (
    Annotation,
    Correction,
    Segment,
)
from corporeal.labelling.labels import (
    EpisodeLabels,
    format_of,
    write_label_file,
)
from corporeal.labelling.labels.label_file import read_label_file


def test_json_loses_nothing(tmp_path: Path) -> None:
    proposed = Segment(id="q", lane="phase", label="rest", start_ns=1, end_ns=2,
                       source="proposal", confirmed=False, confidence=0.5)  # fmt: skip
    mended = Correction(id="k", time_ns=3, kind="grasp", predicted={"x": 1.0},
                        corrected={"x": 2.0})  # fmt: skip
    whole = Annotation(segments=(proposed,), corrections=(mended,), reference="head")
    write_label_file(tmp_path / "a.json", [EpisodeLabels("e", whole), EpisodeLabels("f", whole)])
    found = read_label_file(tmp_path / "a.json")
    assert [(each.episode, each.annotation) for each in found] == [("e", whole), ("f", whole)]
    assert not format_of(tmp_path / "a.json").loses

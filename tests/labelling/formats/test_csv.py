"""CSV has exact seconds."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.labelling.written_labels import STAMPS, annotation

from corporeal.labelling.labels import (
    EpisodeLabels,
    write_label_file,
)


def test_csv_has_exact_seconds_frames_and_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    write_label_file(path, [EpisodeLabels("e", annotation(), STAMPS)])
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {
        "episode": "e", "lane": "phase", "label": "reach", "start_s": "1.012345678",
        "end_s": "2.045679012", "start_frame": "30", "end_frame": "61", "attributes": "",
    }  # fmt: skip
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())

"""Long recordings in pieces say the same as the whole."""

from __future__ import annotations

import numpy as np
from tests.quality.samples import joints, with_values

from corporeal.quality import Subject
from corporeal.quality.assessment import assess, combined, excerpts, span_s

LABEL = "observations/joint_position"


def test_pieces_cover_every_sample_once() -> None:
    recording = joints(frames=1000, rate_hz=50.0)
    pieces = list(excerpts(recording, piece_s=4.0))
    assert len(pieces) == 5
    values = np.concatenate([piece.recording.signals[LABEL][:] for piece in pieces])
    assert np.array_equal(values, recording.signals[LABEL][:])
    stamps = np.concatenate([piece.recording.signals[LABEL].time_ns for piece in pieces])
    assert np.array_equal(stamps, recording.signals[LABEL].time_ns)
    assert span_s(recording) == 999 / 50


def test_findings_in_pieces_count_frames_from_the_beginning() -> None:
    recording = joints(frames=1000, rate_hz=50.0)
    values = np.array(recording.signals[LABEL][:])
    values[[130, 770], 2] = np.nan
    bad = with_values(recording, LABEL, values)
    only = ("values_not_finite",)
    pieces = [
        (each, assess(Subject(each.recording), only=only)) for each in excerpts(bad, piece_s=4.0)
    ]
    (finding,) = combined(pieces).findings
    (whole,) = assess(Subject(bad), only=only).findings
    assert finding.frames == whole.frames == ((130, 131), (770, 771))


def test_a_check_assessed_in_one_piece_counts_as_assessed() -> None:
    recording = joints(frames=1000)
    pieces = [(each, assess(Subject(each.recording))) for each in excerpts(recording, piece_s=10.0)]
    reasons = combined(pieces).not_assessed
    assert "joint_beyond_limit" in reasons  # no robot anywhere
    assert "values_not_finite" not in reasons

"""The hands of a demonstration without a robot are seen, or it is told where they were not."""

from __future__ import annotations

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs
from corporeal.units import SECOND_NS
from corporeal.words import some_of

_HANDS = ("left_hand", "right_hand")
_GapsByHand = dict[str, tuple[str, list[tuple[float, float, tuple[int, int]]]]]
"""The stream and the gaps of each hand: from when to when, s, and the rows of it."""


def find(subject: Subject, *, max_gap_s: float = 0.1) -> Findings:
    """Yield each hand that was not seen for longer than `max_gap_s`, with every such gap.

    A robot's arm waits in a gap. Where `segments` of the episode tell it, that is a note, and
    `corporeal export --seen-only` and `EpisodeDataset(seen_only=True)` leave the gap out; else the
    episode is quarantined, since nothing would keep a policy from learning to wait.

    Why: what nobody saw is no demonstration; the arm stands, or jumps over what was done.
    Fix: record it again with the hands in view, or leave the gaps out of the dataset.
    """
    told = {name for segment in subject.recording.facts.segments for name in segment.not_seen}
    gaps_of = _in_motion(subject, max_gap_s) or _in_recording(subject, max_gap_s)
    for hand, (stream, gaps) in gaps_of.items():
        if not gaps:
            continue
        lasts = [end - start for start, end, _ in gaps]
        words = some_of(f"{end - start:.2f} s from {start:.2f} s on" for start, end, _ in gaps)
        yield Finding(
            f"the {hand.replace('_', ' ')} was not seen for {words}",
            stream=stream,
            frames=tuple(rows for _, _, rows in gaps),
            value=max(lasts),
            limit=max_gap_s,
            severity="note" if hand in told or stream.endswith("_joints") else None,
        )


def _in_motion(subject: Subject, max_gap_s: float) -> _GapsByHand:
    """Of a robot that follows hands: the gaps in which an arm waits."""
    seen = subject.find_track(roles.HAND_SEEN)
    gaps_of: _GapsByHand = {}
    for column, hand in enumerate(() if seen is None else seen.names):
        assert seen is not None
        away, seconds = seen.values[:, column] == 0, seen.seconds
        if away.all():
            continue  # Nobody followed this hand.
        around = ((seconds[max(a - 1, 0)], seconds[min(b, len(away) - 1)], (a, b))
                  for a, b in runs(away))  # fmt: skip
        gaps_of[hand] = seen.label, [gap for gap in around if gap[1] - gap[0] > max_gap_s]
    return gaps_of


def _in_recording(subject: Subject, max_gap_s: float) -> _GapsByHand:
    """Of a recording of hands: the gaps in their samples."""
    recording = subject.recording
    labels = {hand: recording.named(f"{hand}_joints") for hand in _HANDS}
    gaps_of: _GapsByHand = {}
    for hand, label in labels.items():
        if label is not None:
            seconds = recording.signals[label].time_ns / SECOND_NS
            after = np.flatnonzero(np.diff(seconds) > max_gap_s) + 1
            gaps_of[hand] = label, [(seconds[row - 1], seconds[row], (row - 1, row + 1))
                                    for row in after.tolist()]  # fmt: skip
    if not gaps_of:
        raise NotAssessed(f"no {roles.HAND_SEEN} stream and no hands")
    return gaps_of


CHECK = Check(find, topic="frames", severity="quarantine", unit="s")

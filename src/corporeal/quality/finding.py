"""A finding: one thing a check says of one episode or batch, and what is needed to show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Defect
from corporeal.notebook import html_table
from corporeal.signal.track import Array, Track

Severity = Literal["fail", "quarantine", "note"]
Verdict = Literal["accepted", "quarantined", "failed"]

SEVERITIES: tuple[Severity, ...] = ("fail", "quarantine", "note")
MAX_EVIDENCE = 400


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, how much, and the limit it broke.

    `frames` are half-open ranges of the stream's own samples: (10, 12) is samples 10 and 11; none
    means the whole stream. `evidence` holds small arrays by name, enough to draw the finding.
    `check` and `severity` are filled in by the run; a finding that sets `severity` overrides
    its check; a policy that says other than the check overrides both.
    """

    message: str
    stream: str | None = None
    frames: tuple[tuple[int, int], ...] = ()
    value: float | None = None
    limit: float | None = None
    evidence: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, compare=False)
    severity: Severity | None = None
    episodes: tuple[int, ...] = ()
    check: str = ""

    def to_json(self) -> dict[str, Any]:
        """The finding as `corporeal check --json` prints it; `episodes` for a batch's alone."""
        plain: dict[str, Any] = {
            "check": self.check,
            "severity": self.severity,
            "stream": self.stream,
            "frames": [list(span) for span in self.frames],
            "value": _number(self.value),
            "limit": _number(self.limit),
            "message": self.message,
        }
        return plain | ({"episodes": list(self.episodes)} if self.episodes else {})

    def _repr_html_(self) -> str:
        """The finding as a notebook shows it."""
        return findings_html("finding", [self])


def findings_html(title: str, findings: Sequence[Finding], *, note: str = "") -> str:
    """Findings as a table for a notebook."""
    rows = (
        (
            finding.severity or "",
            finding.check.replace("_", " "),
            finding.message,
            finding.stream or "",
            ", ".join(f"{first} to {stop - 1}" for first, stop in finding.frames[:4]),
        )
        for finding in findings
    )
    return html_table(title, ("severity", "check", "what", "stream", "frames"), rows, note=note)


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def verdict(findings: tuple[Finding, ...]) -> Verdict:
    """What follows: one `fail` fails the episode, one `quarantine` asks for a human."""
    severities = {finding.severity for finding in findings}
    if "fail" in severities:
        return "failed"
    return "quarantined" if "quarantine" in severities else "accepted"


def thinned(track: Track, first: int, stop: int, columns: Sequence[int]) -> dict[str, Array]:
    """Evidence to draw: the columns between two samples, with the time, at most 400 values each."""
    step = max(1, -(-(stop - first) // (MAX_EVIDENCE // 2)))
    window = slice(first, stop, step)
    curves = {track.names[column]: track.values[window, column] for column in columns}
    return {"time_s": track.seconds[window], **curves}


def around(track: Track, first: int, stop: int, *, margin: int = 60) -> tuple[int, int]:
    """The samples from somewhat before to somewhat after, for a drawing."""
    return max(0, first - margin), min(len(track), stop + margin)


def reported(defects: Iterable[Defect], check: str) -> Iterator[Finding]:
    """The defects that this check reports; `check` may be a module's dotted name."""
    wanted = check.rpartition(".")[2]
    return (finding_of(defect) for defect in defects if defect.check == wanted)


def finding_of(defect: Defect) -> Finding:
    """One defect as a finding."""
    alone = () if defect.episode is None else (defect.episode,)
    return Finding(
        defect.message,
        stream=defect.stream,
        value=defect.value,
        limit=defect.limit,
        episodes=defect.episodes or alone,
    )

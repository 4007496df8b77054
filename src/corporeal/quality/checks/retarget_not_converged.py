"""Retargeting came to an end: the motion is a solution, not where the solver gave up."""

from collections.abc import Mapping

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield a result whose solver stopped before its steps became small.

    Why: such a motion may be far from what was shown without looking broken.
    Fix: look at the clip's heading, unit and skeleton; then retarget it again.
    """
    said = subject.recording.facts.other.get("retargeting")
    if not isinstance(said, Mapping) or not isinstance(said.get("converged"), bool):
        raise NotAssessed("the metadata says nothing of a retargeting")
    if not said["converged"]:
        notes = said.get("notes")
        told = str(notes[0]) if isinstance(notes, list) and notes else ""
        yield Finding(f"the retargeting did not converge{': ' + told if told else ''}")


CHECK = Check(find, topic="records", severity="quarantine", formerly=("retarget_converged",))

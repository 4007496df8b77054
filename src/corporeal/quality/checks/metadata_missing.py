"""The metadata has no hole: operator, station, task, calibration and the rest are named."""

from dataclasses import replace

from corporeal.episode.facts import SYNTHETIC
from corporeal.quality.check import Check, Finding, Findings, reported
from corporeal.quality.subject import Subject

# Without a person at the controls these two have nothing to name.
_PERSONAL = {"operator", "station"}
# What every recorder writes by itself.
_RECORDED = {"session", "software", "mode"}


def find(subject: Subject, *, needed: tuple[str, ...] = ()) -> Findings:
    """Yield the fields that are missing or empty: those of the schema, and those `needed` here.

    A log that no recorder was told anything about (not even its session, software or mode) and a
    reader that misses what its format usually has leave a note.

    Why: what is not known of an episode when it is made cannot be asked of it later, such as
    which operator or which calibration a fault belongs to.
    Fix: give the fields to the recorder, or add them when the episode is taken in.
    """
    recording = subject.recording
    for finding in reported(recording.defects, __name__):
        yield replace(finding, severity="note")
    made_by_machine = recording.facts.mode == SYNTHETIC
    holes = [
        name for name in recording.missing_metadata if not (made_by_machine and name in _PERSONAL)
    ]
    holes += [
        name
        for name in needed
        if name not in holes and recording.metadata.get(name) in (None, "", {}, [])
    ]
    if holes:
        # What `needed` asks for was asked of this source; a schema fitted to a log was not.
        untold = not needed and set(holes) >= _RECORDED
        yield Finding(
            f"the metadata does not name: {', '.join(holes)}",
            value=float(len(holes)),
            limit=0.0,
            severity="note" if untold else None,
        )


CHECK = Check(find, topic="records", severity="quarantine", formerly=("metadata_complete",))

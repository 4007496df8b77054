"""Every stream that the schema or the dataset names is there, with samples in it."""

from corporeal.quality.check import Check, Finding, Findings, reported
from corporeal.quality.subject import Subject


def find(subject: Subject, *, min_samples: int = 1) -> Findings:
    """Yield streams that are named but absent, and streams with fewer than `min_samples`.

    Why: training code that asks for a stream by name stops, or silently trains without it.
    Fix: record again with the sensor connected, or take the stream out of the schema.
    """
    recording = subject.recording
    said = set()
    for finding in reported(recording.defects, __name__):
        said.add(finding.stream)
        yield finding
    for label in recording.missing_streams:
        if label not in said:
            yield Finding(f"{label} is not there, although the schema names it", stream=label)
    for label, signal in recording.signals.items():
        if len(signal) < min_samples and label not in said:
            message = f"{label} has {len(signal)} samples"
            yield Finding(message, stream=label, value=float(len(signal)), limit=float(min_samples))


CHECK = Check(find, topic="records", severity="fail", formerly=("streams_present",))

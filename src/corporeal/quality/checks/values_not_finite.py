"""Every number is finite."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs
from corporeal.units import SECOND_NS
from corporeal.words import some_of


def find(subject: Subject, *, max_samples: int = 0) -> Findings:
    """Yield each numeric stream with more than `max_samples` samples that are NaN or infinite.

    Joints of tracked hands that a device does not know are NaN by agreement, and no finding.

    Why: one NaN in a batch turns the gradient of a whole training step into NaN.
    Fix: drop the samples, or the episode; find the driver that wrote them.
    """
    looked = 0
    for label, signal in subject.recording.signals.items():
        if signal.spec.kind != "array" or not signal.spec.dtype.startswith("float"):
            continue
        looked += 1
        track = subject.tracks.get(label)
        values = np.asarray(signal[:]) if track is None else track.values
        if not len(values):
            continue
        flat = values.reshape(len(values), -1)
        is_partly = signal.spec.name.endswith(roles.PARTLY_KNOWN)
        bad = np.isinf(flat) if is_partly else ~np.isfinite(flat)
        rows = np.asarray(bad.any(axis=1))
        count = int(np.count_nonzero(rows))
        if count <= max_samples:
            continue
        frames = runs(rows)
        seconds = np.asarray(signal.time_ns) / SECOND_NS
        where = f"from {seconds[frames[0][0]]:.2f} s to {seconds[frames[-1][1] - 1]:.2f} s"
        columns = np.flatnonzero(bad.any(axis=0))
        named = track.names if track is not None else ()
        names = (
            some_of([named[column] for column in columns]) if named else f"{len(columns)} values"
        )
        message = f"{label}: {names} NaN or infinite in {count} of {len(rows)} samples, {where}"
        yield Finding(
            message, stream=label, frames=frames, value=float(count), limit=float(max_samples)
        )
    if not looked:
        raise NotAssessed("no stream of numbers")


CHECK = Check(find, topic="joints", severity="fail", unit="samples", formerly=("finite_values",))

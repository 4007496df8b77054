"""The dataset's index leads to this episode: rows, frames and task are where it says."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Findings, reported
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield what the reader found wrong in the index: numbers that jump, repeat or point elsewhere.

    Why: a sampler that follows a wrong index mixes frames of two episodes without an error.
    Fix: write the index again from the data; never edit it by hand after a split or a merge.
    """
    found = tuple(reported(subject.recording.defects, __name__))
    if not found and not subject.recording.regridded:
        raise NotAssessed("one episode in a file of its own has no index")
    yield from found


CHECK = Check(find, topic="records", severity="fail", formerly=("index_map",))

"""Every camera has one picture for every stamp."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, reported
from corporeal.quality.evidence.pictures import count_pictures
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_missing: int = 0) -> Findings:
    """Yield cameras with more than `max_missing` pictures too few or too many for their stamps.

    The movie's own index is counted; nothing is decoded. What the reader of the dataset already
    found missing is reported too.

    Why: once the counts differ, pictures and robot states no longer belong together.
    Fix: export the episode again; do not pad or cut, since no one knows which pictures are missing.
    """
    known = tuple(reported(subject.recording.defects, __name__))
    yield from known
    told = {finding.stream for finding in known}
    if not subject.footage and not known:
        raise NotAssessed("no video stream")
    for label, footage in subject.footage.items():
        count, stamps = count_pictures(footage), len(footage.time_ns)
        if count is None or label in told or abs(count - stamps) <= max_missing:
            continue
        surplus = count - stamps
        what = f"{abs(surplus)} {'too many' if surplus > 0 else 'are missing'}"
        yield Finding(
            f"{label} has {count} pictures for {stamps} stamps: {what}.",
            stream=label,
            frames=((min(count, stamps), max(count, stamps)),),
            value=abs(surplus),
            limit=max_missing,
        )


CHECK = Check(find, topic="pictures", severity="fail", formerly=("footage_complete",))

"""What the dataset says of itself as a whole is true of what is in it."""

from dataclasses import replace

from corporeal.episode.recording import INDEX_WRONG, METADATA_WRONG, Defect
from corporeal.quality.batch import Batch
from corporeal.quality.check import Check, Findings, Severity, finding_of

# What is wrong in the index or in the head of a dataset makes readers read the wrong thing.
_GRAVE = (INDEX_WRONG, METADATA_WRONG)


def find(batch: Batch) -> Findings:
    """Yield what the reader found wrong in the dataset's own records: counts, names, files.

    Each goes under the name of the check that finds the same in one episode, such as index_wrong.

    Why: tools trust these records and stop, or skip data, when they are wrong.
    Fix: write the records again from the data.
    """
    here = {episode.index for episode in batch.episodes}
    for defect in batch.defects:
        yield replace(finding_of(defect), check=defect.check, severity=_severity(defect, here))


def _severity(defect: Defect, here: set[int]) -> Severity:
    """A fail for the episodes that it spoils; what only concerns absent ones is for a human."""
    concerned = {*defect.episodes, defect.episode} & here
    return "fail" if concerned and defect.check in _GRAVE else "quarantine"


CHECK = Check(
    find, topic="records", severity="quarantine", scope="batch", formerly=("dataset_agrees",)
)

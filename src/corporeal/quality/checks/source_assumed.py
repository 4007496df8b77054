"""The source says what has to be known of it: rate, robot, order of quaternions."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield what the source does not say and its reader had to assume.

    Why: a motion at 30 Hz that is read at 60 is twice as fast, and a wrong order of quaternions
    turns the robot over; nothing in the episode shows that somebody guessed.
    Fix: say it when the data is read, with --source-rate or --robot, or have it written into the
    source. A team that takes no guess sets the severity to quarantine in its policy.
    """
    for each in subject.recording.facts.assumed:
        yield Finding(f"{each.of} is assumed: {each.text}")


CHECK = Check(find, topic="records", severity="note")

"""Something moves: the episode demonstrates a motion."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track, track_of

# Sensors that change at rest, too.
TREMBLING = (roles.IMU, roles.WRENCH, roles.TACTILE, roles.JOINT_TORQUE)
# A column whose steps differ by less than this share of them counts the time.
_CLOCK = 0.01
# Where the wrist stands among 26 joints laid flat.
_WRIST = (3, 4, 5)


def find(subject: Subject, *, min_range: float = 0.002, min_duration_s: float = 0.5) -> Findings:
    """Yield an episode in which no column of state or action covers more than `min_range`.

    Where no stream is known as the state, everything else that is observed stands for it, but for
    clocks and for sensors that tremble at rest. What cameras see is not looked at.

    Why: an episode in which nothing is demonstrated teaches a policy to stand still.
    Fix: reject the episode; find out whether the robot's stream or its recorder was dead.
    """
    is_known = subject.find_track(*roles.MEASURED) is not None
    tracks = subject.joint_tracks if is_known else _observed(subject)
    if not tracks:
        raise NotAssessed("no joint_position or state stream, nor another that shows motion")
    state = tracks[0]
    if len(state) < 2 or state.seconds[-1] - state.seconds[0] < min_duration_s:
        raise NotAssessed(f"{state.label} lasts less than {min_duration_s} s")
    ranges = [_range(track.values) for track in tracks if len(track)]
    widest = float(max(each.max(initial=0.0) for each in ranges))
    if widest > min_range:
        return
    if not is_known and subject.footage:
        raise NotAssessed("no joint_position or state stream; what the cameras see may move")
    said = " and ".join(track.label for track in tracks)
    seconds = state.seconds[-1] - state.seconds[0]
    shared = {unit for track in tracks for unit in track.units}
    unit = f" {shared.pop()}" if len(shared) == 1 and shared != {"1"} else ""
    verb = "stays" if len(tracks) == 1 else "stay"
    message = f"nothing moves: {said} {verb} within {widest:.2g}{unit} for all {seconds:.1f} s"
    yield Finding(
        message, stream=state.label, frames=((0, len(state)),), value=widest, limit=min_range
    )


def _observed(subject: Subject) -> list[Track]:
    """Every stream of observed numbers without its columns that count the time."""
    found: list[Track] = []
    for track in (*subject.tracks.values(), *_hands(subject)):
        shows_motion = not track.spec.name.endswith(TREMBLING)
        if track.spec.group != "observations" or len(track) < 2 or not shows_motion:
            continue
        steps = np.diff(bridge_gaps(track.values), axis=0)
        mean = np.abs(steps.mean(axis=0))
        moving = ~((mean > 0) & (steps.std(axis=0) <= _CLOCK * mean))
        if moving.any():
            found.append(track.select(np.flatnonzero(moving).tolist()))
    return found


def _hands(subject: Subject) -> list[Track]:
    """The wrists of a person whose hands were tracked."""
    return [
        track_of(label, signal).select(_WRIST)
        for label, signal in subject.recording.signals.items()
        if signal.spec.name.endswith(roles.HAND_JOINTS) and signal.spec.shape == (26, 3)
    ]


def _range(values: Array) -> Array:
    """Range of each column without its rarest values, as a share of its size where that is big."""
    whole = bridge_gaps(values)
    low, high = np.quantile(whole, (0.005, 0.995), axis=0)
    return np.asarray((high - low) / np.maximum(1.0, np.abs(np.median(whole, axis=0))))


CHECK = Check(find, topic="joints", severity="fail", unit="rad", formerly=("something_moves",))

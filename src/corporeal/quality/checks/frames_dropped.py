"""No frame was lost, or repeated, behind stamps that look even."""

from dataclasses import replace

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.time import SIDE, losses, repeats
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags, runs
from corporeal.signal.track import Array, Track

# An action this near to the state of the same row or of one of the next was copied from it.
_COPIED, _AHEAD = 1e-6, 5


def find(
    subject: Subject,
    *,
    min_surety: float = 0.35,
    min_surety_of_three: float = 0.15,
    max_repeat_s: float = 0.5,
) -> Findings:
    """Yield places where the motion jumps as it does when frames are lost, and repeated frames.

    A place counts from `min_surety` on; three places in one episode from `min_surety_of_three` on.
    Commands tell lost frames from a controller that waited; where the action is a copy of the
    state, it tells nothing, and a loss is a note.
    Repeats that last longer than `max_repeat_s` are a frozen sensor, which another check reports.

    Why: stamps made from a frame number hide lost frames; the policy learns leaps in time.
    Fix: go back to the recording with its own stamps; drop or cut the episode at these frames.
    """
    state = subject.state
    if len(state) < 4 * SIDE or state.period_s <= 0:
        raise NotAssessed(f"{state.label} has {len(state)} samples")
    values = bridge_gaps(state.values)
    even = _even(state)
    action = _beside(subject, state)
    copied = action is not None and _is_copy(action, values)
    witness = None if copied else action
    for finding in _lost(state, values, witness, even, min_surety, min_surety_of_three):
        yield replace(finding, severity="note") if copied else finding
    copies = repeats(values) & np.append(False, even)
    if copies.any():
        yield from _repeated(state, copies, max_repeat_s)


def _even(track: Track) -> Flags:
    """Steps (T - 1,) that are as long as they should be: elsewhere the stamps tell the loss."""
    steps = np.diff(track.seconds)
    return np.asarray(np.abs(steps - track.period_s) < 0.5 * track.period_s)


def _beside(subject: Subject, state: Track) -> Array | None:
    """The action, where it was written in the same rows as the state."""
    action = subject.find_track(*roles.COMMANDED)
    if action is None or not np.array_equal(action.time_ns, state.time_ns):
        return None
    return bridge_gaps(action.values)


def _is_copy(action: Array, state: Array) -> bool:
    """Whether the action (T, D) is the state (T, D) of this row or of one soon after."""
    return action.shape == state.shape and any(
        np.abs(action[: len(state) - ahead] - state[ahead:]).max(initial=0.0) < _COPIED
        for ahead in range(_AHEAD + 1)
    )


def _lost(
    state: Track,
    values: Array,
    action: Array | None,
    even: Flags,
    alone: float,
    of_three: float,
) -> Findings:
    found = losses(values, action)
    surety = np.where(even, found.surety, 0.0)
    # Neighbouring places share samples: the surest of them is the place.
    crests = [
        first + int(np.argmax(surety[first:stop]))
        for first, stop in runs(surety > of_three, gap=SIDE - 1)
    ]
    places = [place for place in crests if surety[place] > alone or len(crests) >= 3]
    if not places:
        return
    worst = max(places, key=lambda place: float(surety[place]))
    lost = [int(found.lost[place]) for place in places]
    said = " and ".join(f"{state.seconds[place]:.2f} s (about {n})" for place, n in
                        list(zip(places, lost, strict=True))[:4])  # fmt: skip
    more = f" and at {len(places) - 4} more places" if len(places) > 4 else ""
    moving = np.argsort(-np.abs(values[worst + 1] - values[worst]), kind="stable")[:4]
    yield Finding(
        f"frames are missing in {state.label} behind even stamps: after frame {places[0]} the"
        f" moving joints leap together by several steps; lost at {said}{more}",
        stream=state.label,
        frames=tuple((place, place + 2) for place in places[:200]),
        value=float(sum(lost)),
        limit=0.0,
        evidence=drawn(state, worst, worst + 2, moving.tolist(), margin=30),
    )


def _repeated(state: Track, copies: Flags, max_repeat_s: float) -> Findings:
    longest = max(1, round(max_repeat_s / state.period_s))
    repeated = [(first, stop) for first, stop in runs(copies) if stop - first <= longest]
    if not repeated:
        return
    count = sum(stop - first for first, stop in repeated)
    first, stop = repeated[0]
    moving = np.argsort(-np.ptp(bridge_gaps(state.values), axis=0), kind="stable")[:4]
    yield Finding(
        f"{count} frames of {state.label} repeat the frame before in every joint while the robot"
        f" moves, first frame {first} ({state.seconds[first]:.2f} s)",
        stream=state.label,
        frames=tuple(repeated[:200]),
        value=float(count),
        limit=0.0,
        evidence=drawn(state, first, stop, moving.tolist(), margin=30),
    )


CHECK = Check(
    find,
    topic="time",
    severity="quarantine",
    unit="frames",
    explains=("joint_too_fast", "hand_too_fast"),
    formerly=("no_hidden_drops",),
)

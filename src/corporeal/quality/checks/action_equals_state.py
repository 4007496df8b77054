"""The action is what the robot was told, not a copy of where it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array, Track
from corporeal.words import some_of

# Fewer samples are alike by chance, and less travel than this is the noise of rounding.
_LEAST_ROWS = 10
_LEAST_TRAVEL = 1e-4


def find(
    subject: Subject, *, max_share: float = 0.5, tolerance: float = 1e-6, max_ahead: int = 5
) -> Findings:
    """Yield an action whose moving entries are those of the state, for more than `max_share`.

    Two entries are the same when no sample of the whole episode differs by more than `tolerance`
    of its travel. An action that is the state of up to `max_ahead` samples later is a note: where
    nobody recorded commands, the next state is a common action, and can be trained on.

    Why: a policy that learns from it learns to stay where it is, and its loss looks excellent.
    Fix: export what the robot was told (--action), or the state of the next row as the action.
    """
    if subject.recording.facts.mode == RETARGETED_MOCAP:
        raise NotAssessed("the motion was retargeted: what the robot is to do is all there is")
    action, state = subject.command_and_answer
    pairs = _pairs(state, action)
    target = action.values[:, [column for column, _ in pairs]]
    columns = [column for _, column in pairs]
    moving = _travel(target) > _LEAST_TRAVEL
    if len(action) < _LEAST_ROWS:
        raise NotAssessed(f"{action.label} has {len(action)} samples; it needs {_LEAST_ROWS}")
    if not moving.any():
        raise NotAssessed(f"{action.label} does not move, so that nothing tells it from a copy")
    together = len(state) == len(action) and np.array_equal(state.time_ns, action.time_ns)
    for ahead in range(max_ahead + 1) if together else (0,):
        position = state.values[ahead:] if together else state.at(action.time_ns)
        rows = len(position)
        if rows < _LEAST_ROWS:
            return
        alike = moving & _is_same(target[:rows], position[:, columns], tolerance)
        share = float(alike.sum() / moving.sum())
        if share > max_share:
            names = [action.names[pairs[entry][0]] for entry in np.flatnonzero(alike).tolist()]
            yield Finding(
                _sentence(action, state, names, int(moving.sum()), ahead),
                stream=action.label,
                value=share,
                limit=max_share,
                severity="note" if ahead else None,
            )
            return


def _sentence(action: Track, state: Track, names: list[str], moving: int, ahead: int) -> str:
    what = f"{action.label} is {state.label}"
    if ahead:
        what += f" of {ahead} sample{'s' if ahead > 1 else ''} later"
    entries = "all" if len(names) == moving else f"{len(names)} of"
    return f"{what} in every sample of {entries} {moving} entries that move: {some_of(names)}"


def _pairs(state: Track, action: Track) -> list[tuple[int, int]]:
    """The columns of action and state that are the same joint: by name, else by number."""
    places = {name: column for column, name in enumerate(state.names)}
    pairs = [(column, places[name]) for column, name in enumerate(action.names) if name in places]
    if pairs:
        return pairs
    if len(state.names) != len(action.names):
        raise NotAssessed(f"{action.label} and {state.label} have no entry of the same name")
    return [(column, column) for column in range(len(action.names))]


def _travel(values: Array) -> Array:
    known = np.isfinite(values)
    lowest = np.where(known, values, np.inf).min(axis=0)
    highest = np.where(known, values, -np.inf).max(axis=0)
    travel: Array = np.maximum(highest - lowest, 0.0)
    return travel


def _is_same(action: Array, state: Array, tolerance: float) -> Flags:
    """Column by column, whether no sample differs; one that is missing in both is no difference."""
    lost = ~np.isfinite(action) & ~np.isfinite(state)
    apart: NDArray[np.float64] = np.where(lost, 0.0, np.abs(action - state))
    same: Flags = np.nan_to_num(apart, nan=np.inf).max(axis=0) <= tolerance * _travel(state)
    return same


CHECK = Check(find, topic="joints", severity="quarantine", unit="share")

"""No joint is suddenly somewhere else."""

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import is_hand
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.evidence.columns import Columns, columns_of
from corporeal.quality.evidence.joint_response import response
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array, Track
from corporeal.words import some_of

MIN_SAMPLES = 12
# A step of fewer steps of the encoder is its reading.
MIN_TICKS = 8.0
# A gripper shuts within this.
HAND_SHUTS_S = 0.3
# So many targets at once mean a controller that takes over.
MANY = 3


def find(subject: Subject, *, min_step: float = 0.2, ratio: float = 4.0) -> Findings:
    """Yield steps over `min_step` that stay, `ratio` times the steps around them and all others.

    A target that jumps counts where the joint does not follow it. Columns whose numbers can only be
    degrees or steps of a servo are read as such; a wrap at the end of a turn, and a hand that is
    open or shut, do not jump.

    Why: a body has mass: a step within one sample is an encoder that lost count or a bad merge.
    Fix: cut the episode there, or correct the offset after the step.
    """
    tracks = [track for track in subject.joint_tracks if len(track) >= MIN_SAMPLES]
    if not tracks:
        raise NotAssessed("no state or action that is long enough")
    for track in tracks:
        read = columns_of(subject, track.label)
        values, least = read.values, min_step * read.radian
        if not (np.abs(np.diff(values, axis=0)) > least).any():
            continue
        least = np.maximum(least, MIN_TICKS * read.tick)
        jumps = _jumps(values, least, ratio) & ~_may_switch(subject, track, read)
        if track.spec.name in roles.COMMANDED and jumps.any():
            jumps = _unfollowed(subject, track, values, jumps)
        if jumps.any():
            yield _finding(track, values, jumps, least)


def _may_switch(subject: Subject, track: Track, read: Columns) -> Flags:
    """Columns that step by nature: a hand that is open or shut, or shuts between two samples."""
    robot = subject.recording.embodiment
    hands = np.array([is_hand(name, robot) for name in track.names], bool)
    joints = set(robot.joint_names) if robot is not None else set()
    known = np.array([name in joints for name in track.names], bool) & ~hands
    quick = hands & (track.period_s > HAND_SHUTS_S / 4)
    return np.asarray((read.switches & ~known) | quick)


def _jumps(values: Array, least: Array, ratio: float) -> Flags:
    """Steps (T - 1, D) that stand out, stay, and are not lost frames of a steady motion."""
    change, near = _steps(values)
    size = np.abs(change)
    jumps = (size > least) & (size > ratio * near)
    if not jumps.any():
        return np.asarray(jumps)
    # Steps of the same size elsewhere mean that this column moves by steps.
    often = np.partition(size, -4, axis=0)[-4] if len(size) > 4 else np.zeros(size.shape[1])
    jumps &= size > 2.0 * often
    for row in np.flatnonzero(jumps.any(axis=1)).tolist():
        columns = np.flatnonzero(jumps[row])
        if _returns(values, row, columns) or _lost_frames(change, row, columns):
            jumps[row] = False
    return np.asarray(jumps)


def _steps(values: Array, *, reach: int = 3) -> tuple[Array, Array]:
    """Change (T - 1, D) from each sample to the next, and the greatest one of its neighbours."""
    change = np.diff(values, axis=0)
    size = np.abs(change)
    near = np.zeros_like(size)
    for shift in range(1, min(reach, len(size) - 1) + 1):
        np.maximum(near[shift:], size[:-shift], out=near[shift:])
        np.maximum(near[:-shift], size[shift:], out=near[:-shift])
    return change, near


def _returns(values: Array, row: int, columns: NDArray[np.int64]) -> bool:
    """Whether the step is undone within a few samples: a spike, or the end of one."""
    before = np.median(values[max(0, row - 7) : row + 1, columns], axis=0)
    after = np.median(values[row + 1 : row + 9, columns], axis=0)
    step = np.abs(values[row + 1, columns] - values[row, columns])
    return bool((np.abs(after - before) < 0.5 * step).all())


def _lost_frames(change: Array, row: int, columns: NDArray[np.int64]) -> bool:
    """Whether every other joint goes on as far as these do: time is missing, nothing jumped."""
    if row == 0 or row + 1 >= len(change):
        return False
    speed = (change[row - 1] + change[row + 1]) / 2
    weight = float((speed[columns] ** 2).sum())
    others = np.ones(change.shape[1], bool)
    others[columns] = False
    if weight == 0 or np.abs(speed[others]).max(initial=0.0) < 1e-3:
        return False
    frames = float((change[row, columns] * speed[columns]).sum()) / weight
    rest = change[row, others]
    lost = float(((rest - frames * speed[others]) ** 2).sum())
    kept = float(((rest - speed[others]) ** 2).sum())
    return frames > 1.5 and lost < 0.5 * kept


def _unfollowed(subject: Subject, track: Track, values: Array, jumps: Flags) -> Flags:
    """Those steps of the target after which the joint does not come any nearer within a second."""
    alone = np.zeros_like(jumps)
    answer = attempt(response, subject)
    if answer is None:
        return alone
    columns = dict(zip(answer.action_columns.tolist(), answer.state_columns.tolist(), strict=True))
    error = (
        values - bridge_gaps(answer.state.at(track.time_ns))[:, _order(columns, values.shape[1])]
    )
    window = max(4, round(1.0 / track.period_s)) if track.period_s > 0 else 4
    change, near = _steps(values)
    together = ((np.abs(change) > 0.03) & (np.abs(change) > 3 * near)).sum(axis=1)
    for row, column in np.argwhere(jumps).tolist():
        if together[row] >= MANY:
            continue
        few = len(np.unique(np.round(values[:, column], 3))) <= 6
        if few or column not in columns:
            continue
        before = float(np.median(error[max(0, row - window // 4) : row + 1, column]))
        after = error[row + window // 4 : row + window, column] - before
        step = abs(values[row + 1, column] - values[row, column])
        alone[row, column] = len(after) > 2 and float(np.abs(after).min()) > 0.6 * step
    return alone


def _order(columns: dict[int, int], width: int) -> list[int]:
    """The state's column for every column of the action; any where there is none."""
    return [columns.get(column, 0) for column in range(width)]


def _finding(track: Track, values: Array, jumps: Flags, least: Array) -> Finding:
    size = np.where(jumps, np.abs(np.diff(values, axis=0)), 0.0)
    rows = np.flatnonzero(jumps.any(axis=1))
    columns = np.flatnonzero(jumps.any(axis=0))
    names = tuple(track.names[each] for each in columns)
    worst, column = np.unravel_index((size / least).argmax(), size.shape)
    unit = "" if track.units[int(column)] == "1" else f" {track.units[int(column)]}"
    return Finding(
        f"{some_of(names)} of {track.label} jumps by "
        f"{size[worst, column]:.3f}{unit} within one sample at "
        f"{track.seconds[worst + 1]:.2f} s and stays there",
        stream=track.label,
        frames=tuple((int(row), int(row) + 2) for row in rows[:20]),
        value=float(size[worst, column]),
        limit=float(least[column]),
        evidence=drawn(track, int(worst), int(worst) + 2, columns[:6].tolist()),
        columns=names,
    )


CHECK = Check(
    find,
    topic="joints",
    severity="fail",
    unit="rad",
    explains=("joint_too_fast", "hand_too_fast"),
    formerly=("no_teleports",),
)

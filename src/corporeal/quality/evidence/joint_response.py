"""How joints answer their commands: every state column against every action column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.columns import DEGREES, TURN, columns_of
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track

# A command may take this long to show in the state.
MAX_LAG_S = 0.5
# Two streams are compared at this rate at most; joints do not answer faster.
GRID_HZ = 50.0
# Below this a tracking error is no evidence: resolution and stiction of real joints, rad.
FLOOR = 0.004
# Correlations say nothing where a column moves less than this, as a multiple of the floor.
MOVING = 2.0
# Half of the moving columns are at least so like some column of an action that asks for positions.
FOLLOWS = 0.8
# And without names: their values differ by less than this share of their own motion.
NEAR = 0.5
MIN_SAMPLES = 40
# And so many must be left on the grid: stamps in bursts claim a rate that thins them to nothing.
MIN_ON_GRID = 12
# Correlations nearer than this do not say which lag is the right one.
ALIKE = 0.002

# Velocities and torques below this are noise, rad/s and N m.
_LEAST_OF_RATES = {roles.JOINT_VELOCITY_TARGET: 0.05, roles.JOINT_TORQUE_TARGET: 0.5}


@dataclass(frozen=True, eq=False)
class Response:
    """State and action on one clock, column by column of the same name.

    `lags` are numbers of grid steps that the action is shifted by; `means` and `covariances` are
    taken over the same window of the state for every lag, so they can be compared.
    """

    state: Track
    action: Track
    names: tuple[str, ...]
    state_columns: NDArray[np.int64]
    action_columns: NDArray[np.int64]
    time_s: Array
    positions: Array
    """State (N, D) on the grid."""
    targets: Array
    """Action (N, D) on the grid, not shifted."""
    lags: NDArray[np.int64]
    least: float = FLOOR
    """Differences below this are no evidence, in the unit of the state."""

    @property
    def step_s(self) -> float:
        """Time between two samples of the grid."""
        return float(self.time_s[1] - self.time_s[0])

    @cached_property
    def _moments(self) -> tuple[Array, Array, Array, Array, Array]:
        """Mean and variance of the state (D,), of the action (L, D), and covariances (L, D, D)."""
        longest = int(self.lags[-1])
        states = self.positions[longest:]
        mean = states.mean(axis=0)
        centred = states - mean
        count = len(states)
        width = self.targets.shape[1]
        shifted = np.concatenate(
            [self.targets[longest - lag : longest - lag + count] for lag in self.lags.tolist()],
            axis=1,
        )
        # Side by side, so that all lags are one product of matrices.
        means = shifted.mean(axis=0)
        away = shifted - means
        covariance = (centred.T @ away / count).reshape(width, -1, width).transpose(1, 0, 2)
        variances = np.einsum("nk,nk->k", away, away) / count
        each = (len(self.lags), width)
        return mean, centred.var(axis=0), means.reshape(each), variances.reshape(each), covariance

    def errors(self, factor: float = 1.0) -> Array:
        """Root mean square (D, D) of state i minus `factor` times action j, at the best lag.

        A negative factor asks whether a column is upside down, 180/pi whether it is in degrees.
        """
        mean, variance, means, variances, covariance = self._moments
        bias = mean[None, :, None] - factor * means[:, None, :]
        square = (
            variance[None, :, None]
            + factor**2 * variances[:, None, :]
            - 2 * factor * covariance
            + bias**2
        )
        return np.asarray(np.sqrt(np.maximum(square, 0.0).min(axis=0)))

    @cached_property
    def error(self) -> Array:
        """`errors()` of the columns as they are."""
        return self.errors()

    @cached_property
    def correlation(self) -> Array:
        """Greatest correlation (D, D) of state i with action j over all lags; 0 for what stands."""
        return self._best(1.0)

    @cached_property
    def opposition(self) -> Array:
        """Greatest correlation of state i with action j upside down."""
        return self._best(-1.0)

    def _best(self, sign: float) -> Array:
        _, variance, _, variances, covariance = self._moments
        scale = np.sqrt(variance[None, :, None] * variances[:, None, :])
        with np.errstate(invalid="ignore", divide="ignore"):
            each = np.where(scale > 1e-12, sign * covariance / scale, 0.0)
        return np.asarray(each.max(axis=0))

    @cached_property
    def slope(self) -> Array:
        """Least-squares slope (D,) of each state column on its own action, at the best lag."""
        _, _, _, variances, covariance = self._moments
        own = np.diagonal(covariance, axis1=1, axis2=2)
        # In a short clip several lags may answer alike: that of the other columns is the likelier.
        alike = self._strength >= self._strength.max(axis=0) - ALIKE
        away = np.abs(self.lags - self.lag_steps)[:, None]
        best = np.where(alike, away, np.inf).argmin(axis=0)
        columns = np.arange(len(self.names))
        spread = variances[best, columns]
        safe = np.where(spread > 1e-12, spread, 1.0)
        return np.asarray(np.where(spread > 1e-12, own[best, columns] / safe, 0.0))

    @cached_property
    def lag_steps(self) -> int:
        """The lag at which most columns answer best, in steps of the grid."""
        return int(self.lags[int(self._strength.sum(axis=1).argmax())])

    @cached_property
    def _strength(self) -> Array:
        """Correlation (lags, D), of either sign, of each state column with its own action."""
        _, variance, _, variances, covariance = self._moments
        own = np.diagonal(covariance, axis1=1, axis2=2)
        scale = np.sqrt(variance[None] * variances)
        safe = np.where(scale > 1e-12, scale, 1.0)
        return np.asarray(np.where(scale > 1e-6, np.abs(own) / safe, 0.0))

    @cached_property
    def floor(self) -> float:
        """The tracking error that is usual here: less than this says nothing."""
        nearest = self.error.min(axis=1)
        return max(self.least, float(np.quantile(nearest, 0.6)))

    @cached_property
    def spread(self) -> tuple[Array, Array]:
        """Standard deviation of each state column and of each action column."""
        return self.positions.std(axis=0), self.targets.std(axis=0)


@once_per_subject
def response(subject: Subject) -> Response:
    """The answer of the state to the action, computed once; raises NotAssessed without either.

    The action must ask for positions, not for steps or velocities.
    """
    answer = compare(*_in_radians(subject, subject.state, subject.action))
    moving = np.flatnonzero(answer.spread[0] > 2 * answer.least)
    if not len(moving):
        return answer
    alike = np.maximum(answer.correlation, answer.opposition)[moving].max(axis=1)
    follows = np.median(alike) > FOLLOWS
    if not set(answer.state.names) & set(answer.action.names):
        # Without a name in common only values can say that both are of the same kind.
        factors = (1.0, -1.0, DEGREES, 1 / DEGREES)
        apart = np.min([answer.errors(factor)[moving].min(axis=1) for factor in factors], axis=0)
        follows &= np.median(apart / answer.spread[0][moving]) < NEAR
    if not follows:
        raise NotAssessed(
            f"{answer.action.label} does not ask for the positions in {answer.state.label}"
        )
    return answer


def _in_radians(subject: Subject, state: Track, action: Track) -> tuple[Track, Track]:
    """Both with wraps undone, and in radians where both can only be in the same other unit."""
    reads = columns_of(subject, state.label), columns_of(subject, action.label)
    factors = {float(factor) for read in reads for factor in read.radian}
    if len(factors) > 1 or not len(state) or not len(action):
        return state, action
    factor = factors.pop()
    ours, theirs = (replace(track, values=read.values / factor)
                    for track, read in zip((state, action), reads, strict=True))  # fmt: skip
    _, columns, partners = paired(state, action)
    apart = np.median(theirs.at(state.time_ns)[:, partners] - ours.values[:, columns], axis=0)
    # Angles that are a whole turn apart are the same.
    theirs.values[:, partners] -= TURN * np.round(apart / TURN)
    return ours, theirs


@once_per_subject
def rate_response(subject: Subject) -> Response:
    """The answer to targets of velocities or torques, where no positions were asked for."""
    action, state = subject.command_and_answer
    least = _LEAST_OF_RATES.get(action.spec.name)
    if least is None:
        raise NotAssessed(f"{action.label} asks for positions")
    answer = compare(state, action, least=least)
    moving = np.flatnonzero(np.minimum(*answer.spread) > MOVING * least)
    alike = np.maximum(answer.correlation, answer.opposition)[:, moving].max(axis=0, initial=0.0)
    if not len(moving) or np.median(alike) <= FOLLOWS:
        raise NotAssessed(f"{state.label} does not follow {action.label} clearly")
    return answer


@once_per_subject
def motion(subject: Subject) -> Response:
    """Velocities (as state) against the rate of positions (as action), computed once."""
    position, velocity = subject.track(roles.JOINT_POSITION), subject.track(roles.JOINT_VELOCITY)
    if len(position) < MIN_SAMPLES or position.period_s <= 0:
        raise NotAssessed(f"{position.label} has {len(position)} samples")
    # Wide differences: a step of an encoder must not look like a speed.
    width = max(1, round(0.02 / position.period_s))
    values = bridge_gaps(position.values)
    rate = np.zeros_like(values)
    rate[width:-width] = (values[2 * width :] - values[: -2 * width]) / (
        2 * width * position.period_s
    )
    moved = Track(position.label, position.spec, position.time_ns, rate)
    # The mean of a velocity over as long is what such a difference measures.
    meant = Track(velocity.label, velocity.spec, velocity.time_ns, _mean(velocity, 2 * width))
    return compare(meant, moved, max_lag_s=0.06, least=0.05)


def _mean(velocity: Track, steps: int) -> Array:
    """Values averaged over `steps` steps, as the trapezoidal rule does."""
    values = bridge_gaps(velocity.values)
    if len(values) <= steps:
        return values
    total = np.cumsum((values[1:] + values[:-1]) / 2, axis=0)
    total = np.concatenate((np.zeros_like(total[:1]), total))
    mean = np.array(values)
    half = steps // 2
    mean[half : len(values) - (steps - half)] = (total[steps:] - total[:-steps]) / steps
    return mean


def paired(state: Track, action: Track) -> tuple[list[str], list[int], list[int]]:
    """Columns that belong together: those of one name, or of one place where no name is shared."""
    theirs = {name: column for column, name in enumerate(action.names)}
    ours = {name: column for column, name in enumerate(state.names)}
    names = [name for name in ours if name in theirs]
    if names:
        return names, [ours[name] for name in names], [theirs[name] for name in names]
    if len(state.names) == len(action.names):
        everything = list(range(len(state.names)))
        return list(state.names), everything, everything
    raise NotAssessed(f"{state.label} and {action.label} have no column in common")


def compare(
    state: Track, action: Track, *, max_lag_s: float = MAX_LAG_S, least: float = FLOOR
) -> Response:
    """Two streams with columns of the same names, the second one leading by up to `max_lag_s`."""
    names, ours, theirs = paired(state, action)
    if len(state) < MIN_SAMPLES or len(action) < 4 or state.period_s <= 0:
        raise NotAssessed(f"{state.label} or {action.label} has too few samples to compare")
    stride = max(1, round(1.0 / GRID_HZ / state.period_s))
    # Samples are taken as they are: where stamps repeat or jump, another check speaks.
    positions = bridge_gaps(state.values[::stride][:, ours])
    if len(positions) < MIN_ON_GRID:
        raise NotAssessed(f"{state.label} is stamped too unevenly to compare")
    targets = bridge_gaps(action.at(state.time_ns[::stride])[:, theirs])
    step = state.period_s * stride
    most = max(1, min(round(max_lag_s / step), len(positions) // 4))
    lags = np.unique(np.linspace(0, most, min(most + 1, 16)).astype(np.int64))
    return Response(
        state=state,
        action=action,
        names=tuple(names),
        state_columns=np.array(ours),
        action_columns=np.array(theirs),
        time_s=np.arange(len(positions)) * step + state.seconds[0],
        positions=positions,
        targets=targets,
        lags=lags,
        least=least,
    )

"""What is the station's and not the operator's: offsets between stations, and who changed when.

The same people work at several stations on the same variants of a task. A mixed model holds tasks,
operators and sessions apart from stations; what is left of a station is its offset from the median
station, so that one that is far off moves none of the others. Stations that share no operator, not
even by way of others, cannot be compared, and are named.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray
from sqlalchemy import Connection

from corporeal.catalog.episodes import part_values
from corporeal.catalog.query import Known, read_fields
from corporeal.operations.monitoring.change import LevelChange, find_change
from corporeal.operations.operators.mixed_model import MixedFit, fit_mixed
from corporeal.operations.review.sample import variant_of
from corporeal.operations.scope import Scope
from corporeal.units import SECOND_NS
from corporeal.words import counted, listed

Measure = Literal["duration", "score", "errors", "smoothness"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
LEVEL = 0.05
"""Over all stations of a measure together: so often one is named that is like the others."""
_LEAST_STATIONS, _LEAST_SESSIONS = 2, 6
_MOST_EPISODES = 20_000
_SMOOTHNESS = "spectral_arc_length"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StationRow:
    """One episode: where, by whom, of which task and variant, on which day."""

    id: str
    station: str
    operator: str
    kind: str
    day: date

    @property
    def session(self) -> tuple[str, str, date]:
        """What one person did at one station on one day."""
        return (self.station, self.operator, self.day)


@dataclass(frozen=True)
class StationOffset:
    """How a station differs from the median one; a duration as a share, all else in its own unit.

    `chance` counts all stations of the measure. `since` is the day of a step within the station,
    `step` how large it is.
    """

    station: str
    episodes: int
    sessions: int
    offset: float
    lower: float
    upper: float
    chance: float
    since: date | None = None
    step: float | None = None

    @property
    def is_off(self) -> bool:
        """Whether chance alone does not explain it."""
        return self.chance < LEVEL


@dataclass(frozen=True)
class OffsetReport:
    """One measure of all stations; `words` says what is found, or why nothing can be told."""

    measure: Measure
    words: str
    episodes: int
    operators: int
    stations: tuple[StationOffset, ...] = ()


def read_offsets(connection: Connection, scope: Scope) -> list[OffsetReport]:
    """Every measure of the episodes of a scope that state station and operator."""
    inside = scope.meeting(Known("station", True), Known("operator", True),
                           Known("recorded", True))  # fmt: skip
    fields = read_fields(
        connection, "id", "station", "operator", "task", "metadata", "recorded", "duration_s",
        "score", "success", "verdict", where=inside, order="-recorded", most=_MOST_EPISODES,
    )  # fmt: skip
    rows: list[StationRow] = []
    values: dict[Measure, dict[str, float]] = {measure: {} for measure in MEASURES}
    for name, station, operator, task, metadata, when, seconds, score, success, verdict in fields:
        day = datetime.fromtimestamp(when / SECOND_NS, UTC).date()
        rows.append(StationRow(name, station, operator, variant_of(task, metadata or {}), day))
        if seconds:
            values["duration"][name] = math.log(seconds)
        if score is not None:
            values["score"][name] = float(score)
        if success is not None or verdict is not None:
            values["errors"][name] = float(success is False or verdict == "failed")
    values["smoothness"] = part_values(connection, [row.id for row in rows], _SMOOTHNESS)
    return [estimate_offsets(rows, values[measure], measure) for measure in MEASURES]


def estimate_offsets(
    rows: Sequence[StationRow], values: Mapping[str, float], measure: Measure
) -> OffsetReport:
    """Offsets of one measure. A duration is given as its logarithm, so that offsets are shares."""
    known = [row for row in rows if row.id in values]
    operators = len({row.operator for row in known})
    reason = _why_not(known)
    if reason is not None:
        return OffsetReport(measure, f"cannot tell: {reason}", len(known), operators)
    y = np.array([values[row.id] for row in known])
    if not np.ptp(y) > 0:
        return OffsetReport(measure, "the same in every episode", len(known), operators)
    names = sorted({row.station for row in known})
    kinds = _indicators([row.kind for row in known])[:, 1:]
    at = _indicators([row.station for row in known])
    # The last station is what the others leave, since offsets sum to nought.
    contrast = at[:, :-1] - at[:, -1:]
    fixed = np.concatenate([np.ones((len(known), 1)), contrast, kinds], axis=1)
    if np.linalg.matrix_rank(fixed) < fixed.shape[1]:
        words = "cannot tell: tasks or variants go with stations; collect the same at each"
        return OffsetReport(measure, words, len(known), operators)
    sessions = _indicators([row.session for row in known])
    people = _indicators([row.operator for row in known])
    fit = fit_mixed(y, fixed, [people, sessions])
    changes = _find_steps(known, y, fixed, fit, names)
    made = [
        _offset(measure, name, number, names, known, fit, changes.get(name))
        for number, name in enumerate(names)
    ]
    ordered = tuple(sorted(_corrected(made), key=lambda each: (each.chance, each.station)))
    return OffsetReport(measure, _sentence(measure, ordered), len(known), operators, ordered)


def _why_not(rows: Sequence[StationRow]) -> str | None:
    """What stands against a comparison, in words."""
    stations = sorted({row.station for row in rows})
    if len(stations) < _LEAST_STATIONS:
        return f"{counted(len(stations), 'station')}; expected {_LEAST_STATIONS} or more"
    sessions = {row.session for row in rows}
    if len(sessions) < max(_LEAST_SESSIONS, len(stations) + 2):
        return (f"{counted(len(sessions), 'session')} at {len(stations)} stations; expected "
                f"{max(_LEAST_SESSIONS, len(stations) + 2)} or more")  # fmt: skip
    groups = _connected(sessions)
    if len(groups) > 1:
        alone = listed(sorted(sorted(groups, key=lambda group: len(group))[0]))
        return f"nobody who worked at {alone} worked at another station; let people change places"
    return None


def _connected(sessions: set[tuple[str, str, date]]) -> list[set[str]]:
    """Stations in groups that share operators, if only by way of others."""
    groups: list[set[str]] = []
    people: dict[str, set[str]] = defaultdict(set)
    for station, operator, _ in sessions:
        people[operator].add(station)
    for stations in people.values():
        touching = [group for group in groups if group & stations]
        groups = [group for group in groups if not group & stations]
        groups.append(stations.union(*touching))
    return groups


def _offset(
    measure: Measure,
    name: str,
    number: int,
    names: Sequence[str],
    rows: Sequence[StationRow],
    fit: MixedFit,
    change: tuple[date, float] | None,
) -> StationOffset:
    levels = np.append(fit.effects[1 : len(names)], -fit.effects[1 : len(names)].sum())
    value = float(levels[number] - np.median(levels))
    # Its error is that of the difference from the mean of the others.
    against = np.full(len(names), -1.0 / (len(names) - 1))
    against[number] = 1.0
    weights = np.zeros(len(fit.effects))
    weights[1 : len(names)] = against[:-1] - against[-1]
    error = math.sqrt(max(float(weights @ fit.covariance @ weights), 1e-24))
    own = {row.session for row in rows if row.station == name}
    # Sessions are what is drawn anew: episodes of one are alike.
    freedom = max(1, len({row.session for row in rows}) - len(names)
                  - len({row.operator for row in rows}) + 1)  # fmt: skip
    chance = float(2 * scipy.stats.t.sf(abs(value) / error, freedom))
    spread = float(scipy.stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    shares = measure == "duration"
    lower, upper = value - spread, value + spread
    if shares:
        value, lower, upper = (math.expm1(min(each, 50.0)) for each in (value, lower, upper))
    since, step = change or (None, None)
    if step is not None and shares:
        step = math.expm1(min(step, 50.0))
    episodes = sum(row.station == name for row in rows)
    return StationOffset(name, episodes, len(own), value, lower, upper, chance, since, step)


def _corrected(offsets: Sequence[StationOffset]) -> list[StationOffset]:
    """Chances for all stations together, by Holm."""
    made: list[StationOffset] = []
    least = 0.0
    ordered = sorted(offsets, key=lambda each: each.chance)
    for rank, each in enumerate(ordered):
        least = min(1.0, max(least, each.chance * (len(ordered) - rank)))
        made.append(StationOffset(**{**vars(each), "chance": least}))
    return made


def _find_steps(
    rows: Sequence[StationRow], y: Floats, fixed: Floats, fit: MixedFit, names: Sequence[str]
) -> dict[str, tuple[date, float]]:
    """Stations whose sessions are at another level since some day, tasks and people taken off."""
    rest = y - fixed @ fit.effects
    people: dict[str, list[float]] = defaultdict(list)
    for row, left in zip(rows, rest, strict=True):
        people[row.operator].append(float(left))
    shrunk = {name: _shrunk(left, fit) for name, left in people.items()}
    sessions: dict[tuple[str, str, date], list[float]] = defaultdict(list)
    for row, left in zip(rows, rest, strict=True):
        sessions[row.session].append(float(left) - shrunk[row.operator])
    steps: dict[str, tuple[date, float]] = {}
    for name in names:
        series = sorted((session[2], session[1], float(np.mean(left)))
                        for session, left in sessions.items() if session[0] == name)  # fmt: skip
        result = find_change(np.array([value for *_, value in series]), series=len(names))
        if isinstance(result, LevelChange):
            steps[name] = (series[result.at][0], result.after - result.before)
    return steps


def _shrunk(left: Sequence[float], fit: MixedFit) -> float:
    """What is a person's own: the mean of what is left, less where there is little of it."""
    variance = fit.variances[0] if fit.variances else 0.0
    return float(np.mean(left)) * variance / (variance + fit.noise / len(left) + 1e-12)


def _sentence(measure: Measure, stations: Sequence[StationOffset]) -> str:
    off = [each for each in stations if each.is_off]
    moved = [each for each in stations if each.since is not None]
    parts = [f"{each.station} {_signed(measure, each.offset)} from the median station "
             f"({_signed(measure, each.lower)} to {_signed(measure, each.upper)})"
             for each in off]  # fmt: skip
    parts += [f"{each.station} changed by {_signed(measure, each.step or 0.0)} since {each.since}"
              for each in moved]  # fmt: skip
    if parts:
        return "; ".join(parts)
    widest = max((each.upper - each.lower) / 2 for each in stations)
    return f"no station stands out; one off by {_signed(measure, widest)} or less may not be seen"


def _signed(measure: Measure, value: float) -> str:
    if measure == "duration":
        return f"{100 * value:+.0f} %"
    if measure == "errors":
        return f"{100 * value:+.0f} points"
    return f"{value:+.2f}"


def _indicators(names: Sequence[object]) -> Floats:
    """A column for each name, 1 where a row has it."""
    known = sorted(set(names), key=str)
    places = {name: number for number, name in enumerate(known)}
    columns = np.zeros((len(names), len(known)))
    columns[np.arange(len(names)), [places[name] for name in names]] = 1.0
    return columns

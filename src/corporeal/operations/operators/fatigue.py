"""What tiredness does to episodes: how they drift with minutes since the last break, and how sure.

Durations, errors, smoothness and diversity of approach are each a mixed-effects model: a slope for
time since the break and, where there were breaks, one for time since the session began; tasks and
variants as effects of their own; sessions and operators as random ones. All of it stands on what
was recorded: a pause between two episodes that is long enough was a break.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray
from sqlalchemy import Connection

from corporeal.catalog.episodes import measures_of, part_values
from corporeal.catalog.query import Known, read_fields
from corporeal.errors import CorporealError
from corporeal.operations.operators.mixed_model import MixedFit, fit_mixed
from corporeal.operations.operators.training import APPROACH
from corporeal.operations.review.sample import variant_of
from corporeal.operations.scope import Scope
from corporeal.units import SECOND_NS
from corporeal.words import counted, percent

Outcome = Literal["duration", "errors", "smoothness", "diversity"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Floats = NDArray[np.float64]
SEEN_DRIFT, OVER_H, POWER, LEVEL = 0.10, 2.0, 0.9, 0.05
"""The drift that should be seen, over so many hours, how often, and with which false alarms."""
BREAK_S, SESSION_GAP_S = 300.0, 3 * 3600.0
"""A pause of so long is a break, and one of so long ends the session."""
BLOCK_H = 0.75
"""Work between two breaks of 15 minutes in every hour."""
_LEAST_ROWS, _LEAST_SESSIONS = 12, 2
_MOST_EPISODES = 20_000
_SAME_TIME = 0.98
_SMOOTHNESS = "spectral_arc_length"
_NOON = 12


@dataclass(frozen=True)
class WorkEpisode:
    """One episode in its session: hours since the break and since the session began."""

    id: str
    operator: str
    session: int
    kind: str
    is_afternoon: bool
    since_break_h: float
    since_start_h: float
    duration_s: float | None
    failed: bool | None


@dataclass(frozen=True)
class Estimate:
    """A value and its 95 % interval, a duration as a share of itself, all else in its own unit."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class OutcomeDrift:
    """How one outcome drifts over two hours without a break, and what a break and a noon change.

    `more_sessions` is how many sessions like these are still needed to see a drift of a tenth;
    0 where there are enough. What cannot be told is None, and `words` says why.
    """

    outcome: Outcome
    words: str
    episodes: int = 0
    change: Estimate | None = None
    chance: float | None = None
    break_effect: Estimate | None = None
    afternoon: Estimate | None = None
    more_sessions: int | None = None

    @property
    def is_seen(self) -> bool:
        """Whether chance alone does not explain it."""
        return self.chance is not None and self.chance < LEVEL


@dataclass(frozen=True)
class FatigueReport:
    """What is known of tiredness in some episodes, and of how many people and sessions."""

    people: int
    sessions: int
    breaks: int
    drifts: tuple[OutcomeDrift, ...]


def read_work(connection: Connection, scope: Scope) -> list[WorkEpisode]:
    """The episodes of a scope by operator and session, as far as they say who and when."""
    inside = scope.meeting(Known("operator", True), Known("recorded", True))
    rows = read_fields(
        connection, "id", "operator", "task", "metadata", "recorded", "duration_s", "success",
        "verdict", where=inside, order="-recorded", most=_MOST_EPISODES,
    )  # fmt: skip
    work: list[WorkEpisode] = []
    by_person: dict[str, list[tuple[int, WorkEpisode]]] = {}
    for name, person, task, metadata, when, seconds, success, verdict in rows:
        known = success is not None or verdict is not None
        failed = (success is False or verdict == "failed") if known else None
        hour = datetime.fromtimestamp(when / SECOND_NS).hour
        one = WorkEpisode(name, person, 0, variant_of(task, metadata or {}), hour >= _NOON, 0.0,
                          0.0, seconds, failed)  # fmt: skip
        by_person.setdefault(person, []).append((when, one))
    session = 0
    for person in sorted(by_person):
        for part in split_sessions(sorted(by_person[person], key=lambda each: each[0])):
            work += in_session(part, session)
            session += 1
    return work


def split_sessions(
    rows: Sequence[tuple[int, WorkEpisode]],
) -> list[list[tuple[int, WorkEpisode]]]:
    """One person's episodes in order of time, cut where they pause for hours."""
    parts: list[list[tuple[int, WorkEpisode]]] = []
    end_s = -math.inf
    for when, one in rows:
        if when / SECOND_NS - end_s > SESSION_GAP_S:
            parts.append([])
        parts[-1].append((when, one))
        end_s = max(end_s, when / SECOND_NS + (one.duration_s or 0.0))
    return parts


def in_session(rows: Sequence[tuple[int, WorkEpisode]], session: int) -> list[WorkEpisode]:
    """Episodes of one session with their hours since its start and since the last break."""
    placed: list[WorkEpisode] = []
    start_s = rest_s = rows[0][0] / SECOND_NS
    end_s = start_s
    for when, one in rows:
        at_s = when / SECOND_NS
        if at_s - end_s >= BREAK_S:
            rest_s = at_s
        end_s = at_s + (one.duration_s or 0.0)
        placed.append(WorkEpisode(
            one.id, one.operator, session, one.kind, one.is_afternoon, (at_s - rest_s) / 3600,
            (at_s - start_s) / 3600, one.duration_s, one.failed,
        ))  # fmt: skip
    return placed


def read_fatigue(connection: Connection, scope: Scope) -> FatigueReport:
    """Every outcome of the episodes of a scope, as far as it is known of them."""
    work = read_work(connection, scope)
    ids = [each.id for each in work]
    values: dict[Outcome, Mapping[str, float]] = {
        "duration": {each.id: math.log(each.duration_s) for each in work if each.duration_s},
        "errors": {each.id: float(each.failed) for each in work if each.failed is not None},
        "smoothness": part_values(connection, ids, _SMOOTHNESS),
        "diversity": _departures(work, measures_of(connection, ids)),
    }
    return FatigueReport(
        people=len({each.operator for each in work}),
        sessions=len({each.session for each in work}),
        breaks=_breaks(work),
        drifts=tuple(estimate_drift(work, values[name], name) for name in OUTCOMES),
    )


def estimate_drift(
    work: Sequence[WorkEpisode], values: Mapping[str, float], outcome: Outcome
) -> OutcomeDrift:
    """One outcome over time. A duration is given as its logarithm, so that a slope is a share."""
    rows = [each for each in work if each.id in values]
    if len(rows) < _LEAST_ROWS:
        few = (
            f"cannot tell: {counted(len(rows), 'episode')} of {_LEAST_ROWS} at least that state it"
        )
        return OutcomeDrift(outcome, few, len(rows))
    y = np.array([values[each.id] for each in rows])
    design = _Design(rows)
    if design.is_confounded:
        why = ("cannot tell: the task changes with the time in the session, so that the two cannot "
               "be told apart; vary the order of tasks")  # fmt: skip
        return OutcomeDrift(outcome, why, len(rows))
    try:
        fit = fit_mixed(y, design.fixed, design.random)
    except CorporealError as error:
        return OutcomeDrift(outcome, f"cannot tell: {error}", len(rows))
    return _drift(outcome, fit, design, y, rows)


class _Design:
    """The columns of the model, by what they are."""

    def __init__(self, rows: Sequence[WorkEpisode]) -> None:
        sessions = np.array([each.session for each in rows])
        self.sessions = len(set(sessions.tolist()))
        since = np.array([each.since_break_h for each in rows])
        begun = np.array([each.since_start_h for each in rows])
        kinds = _indicators([each.kind for each in rows])[:, 1:]
        late = np.array([float(each.is_afternoon) for each in rows])
        within = since - _session_means(since, sessions)
        intercept = np.ones((len(rows), 1))
        self.is_confounded = bool(kinds.shape[1]) and _explained(
            within, np.concatenate([intercept, kinds], axis=1), sessions) > _SAME_TIME  # fmt: skip
        columns = [intercept, kinds, within[:, None]]
        self.slope = 1 + kinds.shape[1]
        self.total = self.afternoon = -1
        other = begun - _session_means(begun, sessions)
        if _explained(other, within[:, None]) < _SAME_TIME and other.any():
            self.total = self.slope + 1
            columns.append(other[:, None])
        base = np.concatenate([intercept, kinds], axis=1)
        if 0 < late.mean() < 1 and _explained(late, base) < _SAME_TIME and self.sessions > 3:
            self.afternoon = sum(each.shape[1] for each in columns)
            columns.append(late[:, None])
        self.fixed = np.concatenate(columns, axis=1)
        groups = _indicators(sessions.tolist())
        people = _indicators([each.operator for each in rows])
        self.random: list[Floats] = []
        if self.sessions > 1:
            self.random.append(groups)
            if people.shape[1] > 1 and people.shape[1] < self.sessions:
                self.random.append(people)
            if self.sessions >= 4:
                self.random.append(groups * within[:, None])


def _drift(
    outcome: Outcome, fit: MixedFit, design: _Design, y: Floats, rows: Sequence[WorkEpisode]
) -> OutcomeDrift:
    """The slope over two hours of work without a break, with its interval."""
    weights = np.zeros(len(fit.effects))
    weights[design.slope] = OVER_H
    if design.total >= 0:
        weights[design.total] = OVER_H
    slopes_vary = len(design.random) > 1 and design.sessions >= 4 and fit.variances[-1] > 0
    freedom = min(fit.freedom, design.sessions - 1) if slopes_vary else fit.freedom
    spread = float(scipy.stats.t.ppf(1 - LEVEL / 2, max(freedom, 1)))
    slope, error = _contrast(fit, weights)
    change = _estimate(outcome, slope, error, spread)
    chance = float(2 * scipy.stats.t.sf(abs(slope) / max(error, 1e-12), max(freedom, 1)))
    more = _more_sessions(outcome, error, design.sessions, y)
    rest = afternoon = None
    if design.total >= 0:
        own = np.zeros(len(fit.effects))
        own[design.slope] = -BLOCK_H
        rest = _estimate(outcome, *_contrast(fit, own), spread)
    if design.afternoon >= 0:
        own = np.zeros(len(fit.effects))
        own[design.afternoon] = 1.0
        wide = float(scipy.stats.t.ppf(1 - LEVEL / 2, max(design.sessions - 2, 1)))
        afternoon = _estimate(outcome, *_contrast(fit, own), wide)
    drift = OutcomeDrift(outcome, "", len(rows), change, chance, rest, afternoon, more)
    return replace(drift, words=_sentence(drift, change))


def _contrast(fit: MixedFit, weights: Floats) -> tuple[float, float]:
    return float(weights @ fit.effects), float(np.sqrt(weights @ fit.covariance @ weights))


def _estimate(outcome: Outcome, value: float, error: float, spread: float) -> Estimate:
    ends = (value, value - spread * error, value + spread * error)
    if outcome != "duration":
        return Estimate(*ends)
    value, lower, upper = (math.expm1(min(each, 50.0)) for each in ends)
    return Estimate(value, lower, upper)


def _more_sessions(outcome: Outcome, error: float, sessions: int, y: Floats) -> int:
    """How many more sessions would see a drift of a tenth, at the power and level that are asked.

    Errors of an estimate fall with the root of the sessions; a tenth is of the mean for a share.
    """
    wanted = _tenth(outcome, y)
    if wanted <= 0:
        return 0
    needed = float(scipy.stats.norm.ppf(1 - LEVEL / 2) + scipy.stats.norm.ppf(POWER))
    factor = (needed * error / wanted) ** 2
    return max(0, math.ceil(sessions * factor - 1e-9) - sessions)


def _tenth(outcome: Outcome, y: Floats) -> float:
    """A tenth of what an outcome is: of the duration itself, or of its mean."""
    return math.log1p(SEEN_DRIFT) if outcome == "duration" else SEEN_DRIFT * abs(float(y.mean()))


def _sentence(drift: OutcomeDrift, change: Estimate) -> str:
    """What drifts, what a break does, mornings and afternoons, and what is missing."""
    outcome, over = drift.outcome, f"over {OVER_H:g} h of work"
    span = f"{_signed(outcome, change.lower)} to {_signed(outcome, change.upper)}"
    if drift.is_seen:
        words = [f"drifts by {_signed(outcome, change.value)} {over} ({span})"]
    elif drift.more_sessions:
        words = [
            f"too little data to see a drift of {percent(SEEN_DRIFT)} {over}: "
            f"{counted(drift.more_sessions, 'more session')} like these are needed; so far {span}"
        ]
    else:
        words = [f"no drift {over}: {_signed(outcome, change.value)} ({span}), and one of "
                 f"{percent(SEEN_DRIFT)} would be seen"]  # fmt: skip
    for what, found in (
        (f"a break after {60 * BLOCK_H:.0f} min changes it by", drift.break_effect),
        ("afternoons differ from mornings by", drift.afternoon),
    ):
        if found is not None:
            words.append(f"{what} {_signed(outcome, found.value)} ({_signed(outcome, found.lower)} "
                         f"to {_signed(outcome, found.upper)})")  # fmt: skip
    return "; ".join(words)


def _signed(outcome: Outcome, value: float) -> str:
    if outcome == "duration":
        return f"{100 * value:+.0f} %"
    if outcome == "errors":
        return f"{100 * value:+.0f} points"
    return f"{math.degrees(value):+.0f} degrees" if outcome == "diversity" else f"{value:+.2f}"


def _departures(
    work: Sequence[WorkEpisode], measures: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """How far each approach is (rad) from the usual one of its operator in that kind of task."""
    groups: dict[tuple[str, str], list[tuple[str, Floats]]] = {}
    for each in work:
        own = measures.get(each.id, {})
        if set(APPROACH) <= own.keys():
            direction = np.array([own[name] for name in APPROACH])
            groups.setdefault((each.operator, each.kind), []).append((each.id, direction))
    departures: dict[str, float] = {}
    for pairs in groups.values():
        mean = np.mean([direction for _, direction in pairs], axis=0)
        length = float(np.linalg.norm(mean))
        if length < 1e-6 or len(pairs) < 3:
            continue
        for name, direction in pairs:
            cosine = float(direction @ mean) / (length * float(np.linalg.norm(direction)))
            departures[name] = math.acos(min(1.0, max(-1.0, cosine)))
    return departures


def _breaks(work: Sequence[WorkEpisode]) -> int:
    """How often somebody began again after a break."""
    return sum(each.since_break_h == 0.0 and each.since_start_h > 0.0 for each in work)


def _indicators(names: Sequence[object]) -> Floats:
    """A column for each name, 1 where a row has it."""
    known = sorted(set(names), key=str)
    places = {name: number for number, name in enumerate(known)}
    columns = np.zeros((len(names), len(known)))
    columns[np.arange(len(names)), [places[name] for name in names]] = 1.0
    return columns


def _session_means(values: Floats, sessions: NDArray[np.int_]) -> Floats:
    means = {name: float(values[sessions == name].mean()) for name in set(sessions.tolist())}
    return np.array([means[name] for name in sessions.tolist()])


def _explained(values: Floats, columns: Floats, sessions: NDArray[np.int_] | None = None) -> float:
    """The part of the variance of some values that columns explain, within sessions if given."""
    if sessions is not None:
        columns = columns - np.stack([_session_means(columns[:, number], sessions)
                                      for number in range(columns.shape[1])], axis=1)  # fmt: skip
    else:
        values, columns = values - values.mean(), columns - columns.mean(axis=0)
    whole = float(values @ values)
    if whole <= 0:
        return 0.0
    effects, *_ = np.linalg.lstsq(columns, values)
    rest = values - columns @ effects
    return 1.0 - float(rest @ rest) / whole

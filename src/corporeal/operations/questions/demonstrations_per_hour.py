"""How many demonstrations does an hour of work give? By mode and station, against targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.query import Known, read_fields
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.question import TAKE_IN, BarMark, BarMarks, Chart, ChartChoice, Drawing
from corporeal.operations.scope import Scope, equals
from corporeal.units import SECOND_NS
from corporeal.words import counted, hours

TARGETS: Mapping[str, tuple[float, float]] = {
    "egocentric demonstration": (60.0, 80.0),
    "teleoperation": (15.0, 30.0),
}
"""Demonstrations of an hour by mode: what is to be reached, and what good floors reach."""
_ANY = 30.0
# A longer pause without a take is no work, but a break or another task.
_BREAK_S = 15 * 60.0
_LEAST_H = 0.25
_MOST = 40


@dataclass(frozen=True)
class CollectionPace:
    """What a station made in one mode; `hours` are at work, with the pauses between takes."""

    mode: str | None
    station: str | None
    accepted: int
    episodes: int
    hours: float

    @property
    def per_hour(self) -> float:
        """Accepted demonstrations of an hour at work."""
        return self.accepted / self.hours

    def target(self, otherwise: float) -> tuple[float, float]:
        """From which to which the target of its mode goes."""
        return TARGETS.get(self.mode or "", (otherwise, otherwise))


def read_paces(connection: Connection, scope: Scope) -> list[CollectionPace]:
    """Every mode at every station with a quarter of an hour of work or more, the slowest first.

    Work is from the end of one take to the end of the next, unless a break lies between; where a
    stretch of work begins, only the take itself counts.
    """
    rows = read_fields(
        connection, "station", "mode", "recorded", "duration_s", CONDITIONS["accepted"],
        where=scope.meeting(Known("recorded", True)), order="recorded",
    )  # fmt: skip
    ended_s: dict[str | None, float] = {}
    made: dict[tuple[str | None, str | None], list[float]] = {}
    for station, mode, recorded_ns, duration_s, is_good in rows:
        begin_s = recorded_ns / SECOND_NS
        end_s = begin_s + (duration_s or 0.0)
        before_s = ended_s.get(station)
        is_stretch = before_s is not None and begin_s - before_s < _BREAK_S
        since_s = before_s if is_stretch and before_s is not None else begin_s
        ended_s[station] = max(end_s, before_s or end_s)
        pace = made.setdefault((mode, station), [0, 0, 0.0])
        pace[0] += bool(is_good)
        pace[1] += 1
        pace[2] += max(0.0, end_s - since_s) / 3600
    paces = [CollectionPace(mode, station, int(accepted), int(episodes), worked)
             for (mode, station), (accepted, episodes, worked) in made.items()
             if worked >= _LEAST_H]  # fmt: skip
    return sorted(
        paces, key=lambda pace: (pace.per_hour / pace.target(_ANY)[0], pace.station or "")
    )


def draw(connection: Connection, scope: Scope, *, target: float = _ANY) -> Drawing:
    """Accepted demonstrations of an hour at work, by mode and station."""
    paces = read_paces(connection, scope)
    choices = (
        ChartChoice(name="target", label="Target", value=f"{target:g}",
                    unit="an hour, other modes"),
    )  # fmt: skip
    if not paces:
        return Drawing(
            "Cannot tell: nowhere here is a quarter of an hour of work.", advice=TAKE_IN,
            choices=choices,
        )  # fmt: skip
    behind = [pace for pace in paces if pace.per_hour < pace.target(target)[0]]
    bars = [
        BarMark(
            label=f"{pace.station or 'no station'}, {pace.mode or 'no mode'}",
            value=pace.per_hour,
            detail=f"{pace.per_hour:.1f} an hour, {_aim(pace, target)}: {pace.accepted} accepted "
            f"of {counted(pace.episodes, 'episode')} in {hours(pace.hours)} of work",
            tone="warn" if pace in behind else "good",
            query=scope.query(equals("mode", pace.mode), equals("station", pace.station)),
        )
        for pace in paces[:_MOST]
    ]
    notes = [
        "Work is from the end of one take to the end of the next; pauses of 15 minutes and more do "
        "not count. Targets: 60 to 80 egocentric, 15 to 30 teleoperated, else as set here."
    ]
    if len(paces) > _MOST:
        notes.append(f"The {_MOST} farthest behind of {len(paces)}.")
    return Drawing(
        _sentence(paces, behind, target),
        BarMarks(unit="number", name="accepted an hour", bars=bars),
        notes=tuple(notes),
        choices=choices,
    )


def _aim(pace: CollectionPace, otherwise: float) -> str:
    low, high = pace.target(otherwise)
    return f"target {low:g}" if low == high else f"target {low:g} to {high:g}"


def _sentence(paces: list[CollectionPace], behind: list[CollectionPace], target: float) -> str:
    whole = sum(pace.accepted for pace in paces) / sum(pace.hours for pace in paces)
    overall = f"{whole:.1f} accepted demonstrations in an hour of work"
    if not behind:
        return f"{overall}; every station reaches the target of its mode."
    worst = behind[0]
    return (
        f"{overall}; {len(behind)} of {len(paces)} below target, "
        f"{worst.station or 'episodes without a station'} farthest with {worst.per_hour:.1f} "
        f"({worst.mode or 'no mode'}, {_aim(worst, target)})."
    )


CHART = Chart(draw, "How many demonstrations does an hour give?", "Today", place=41, wide=True)

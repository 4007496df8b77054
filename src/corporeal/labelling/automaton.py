"""The phases of a task as states, and events that lead from one to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corporeal.labelling.event import PhysicalEvent
from corporeal.labelling.taxonomy import LabelLane, Requirement, Taxonomy
from corporeal.units import SECOND_NS

# What a path through the states costs, against the confidence (0 to 1) of the events it uses.
SKIP, SKIP_MORE, BACK, UNFINISHED, OTHERWISE = 0.9, 0.2, 3.2, 1.5, 0.7
IGNORE, PASS_BY, DEFY, DECISIVE = 0.15, 0.22, 0.8, 3.0
LEAST_S = 0.05
"""A phase is no shorter than this."""


@dataclass(frozen=True)
class Passage:
    """The moment at which a phase begins, and the event that shows it; the first has none.

    `confidence` is that of the event, for the first that of what is seen at the beginning.
    """

    label: str
    time_ns: int
    event: PhysicalEvent | None
    confidence: float


@dataclass(frozen=True)
class Opening:
    """What is seen at the beginning: hands that are still, or under way, and how surely."""

    is_still: bool = True
    confidence: float = 1.0


@dataclass(frozen=True)
class _Path:
    """A way up to here: its last passage, and the way before it."""

    score: float
    last: Passage
    before: _Path | None = None

    def passages(self) -> tuple[Passage, ...]:
        found, path = [self.last], self.before
        while path is not None:
            found.append(path.last)
            path = path.before
        return tuple(reversed(found))


_Paths = dict[tuple[int, str], _Path]


@dataclass(frozen=True)
class _Rules:
    """The order of a task, and which events begin and end each label."""

    order: tuple[str, ...]
    free: frozenset[str]
    begins: Mapping[str, Mapping[str, float]]
    ends: Mapping[str, frozenset[str]]


def free_labels(taxonomy: Taxonomy, lane: LabelLane) -> frozenset[str]:
    """Labels of a lane that are in no task's order: what may happen in any."""
    ordered = {name for need in taxonomy.requirements for name in need.order}
    return frozenset(label.name for label in lane.labels) - ordered


def tiling_lane(taxonomy: Taxonomy) -> LabelLane | None:
    """The lane whose labels leave no gap: the one that an automaton can fill."""
    return next((lane for lane in taxonomy.lanes if lane.tiles), None)


def shown_order(
    need: Requirement, lane: LabelLane, events: Sequence[PhysicalEvent]
) -> tuple[str, ...]:
    """The order of a task without the phases that these signals cannot show."""
    seen = {event.name for event in events}

    def shows(name: str) -> bool:
        label = lane.label(name)
        rule = label.starts if label is not None else None
        return rule is None or bool(seen & set(rule.events))

    return tuple(name for name in need.order if name not in need.may_lack or shows(name))


def passages(
    events: Sequence[PhysicalEvent],
    lane: LabelLane,
    order: Sequence[str],
    *,
    start_ns: int,
    free: frozenset[str] = frozenset(),
    opening: Opening = Opening(),
) -> tuple[Passage, ...]:
    """The likeliest way through the phases (Viterbi over the events, in order of time).

    A step to the next phase in `order` costs nothing, one over others or back costs, and so does an
    event that leads nowhere, most of all one that ends the phase by its rule. One that shows what
    is going on already is free, so the first of several counts. An event that only stands in for
    another counts where it ends what went before, and where no phase ahead has it for its own. A
    label in `free` (such as fall) may follow any, and ends the task. `opening` says whether the
    recording begins at rest, in the first phase, or with the second on its way.
    """
    rules = _Rules(tuple(order), free, _beginnings(lane), _ends(lane))
    first = order[0] if order else lane.labels[0].name
    later = order[1] if len(order) > 1 else _after_first(lane, first)
    # One best path for each place in the order, and for each label outside of it.
    best: _Paths = {}
    for number, label in enumerate((first, later)):
        if label is not None:
            price = 0.0 if (number == 0) == opening.is_still else SKIP
            passage = Passage(label, start_ns, None, opening.confidence)
            best[(number if order else -number, label)] = _Path(-price, passage)
    for event in events:
        if event.name in rules.begins:
            best = _advanced(best, event, rules)
    return _finished(best, len(order) - 1).passages()


def _after_first(lane: LabelLane, first: str) -> str | None:
    """Without an order: the label that begins with what ends the first one."""
    label = lane.label(first)
    ends = label.ends.events if label is not None and label.ends is not None else ()
    return next(
        (other.name for other in lane.labels
         if other.starts is not None and other.starts.event in ends),
        None,
    )  # fmt: skip


def _advanced(best: _Paths, event: PhysicalEvent, rules: _Rules) -> _Paths:
    """The best paths after one more event, which each path may follow or ignore."""
    labels = rules.begins[event.name]
    found: _Paths = {}
    for (place, label), path in best.items():
        cost = event.confidence * _ignored(event.name, place, label, rules)
        _keep(found, (place, label), _Path(path.score - cost, path.last, path.before))
        if event.time_ns - path.last.time_ns < LEAST_S * SECOND_NS:
            continue
        for wanted, worth in labels.items():
            if worth < 1.0 and not _stands_in(event.name, place, label, rules):
                continue
            gain = event.confidence * _worth(worth, event.name, rules.ends[label])
            for at, price in _steps(rules.order, rules.free, place, wanted, label):
                passage = Passage(wanted, event.time_ns, event, event.confidence)
                _keep(found, (at, wanted), _Path(path.score + gain - price, passage, path))
    return found


def _finished(best: _Paths, last: int) -> _Path:
    """The best of all, when what a path lacks at its end is taken off."""

    def total(place: int, path: _Path) -> float:
        if last < 0 or place in (last, -1):
            return path.score
        return path.score - UNFINISHED * (last - place) / max(last, 1)

    return max(best.items(), key=lambda each: total(each[0][0], each[1]))[1]


def _beginnings(lane: LabelLane) -> Mapping[str, Mapping[str, float]]:
    """For each event, the labels that it begins and how sure it is of each."""
    found: dict[str, dict[str, float]] = {}
    for label in lane.labels:
        for rank, name in enumerate(label.starts.events if label.starts else ()):
            found.setdefault(name, {})[label.name] = 1.0 if rank == 0 else 0.6
    return found


def _ends(lane: LabelLane) -> Mapping[str, frozenset[str]]:
    """For each label, the events that end it."""
    return {label.name: frozenset(label.ends.events if label.ends else ()) for label in lane.labels}


def _steps(
    order: Sequence[str], free: frozenset[str], place: int, wanted: str, label: str
) -> list[tuple[int, float]]:
    """Where a label may lead to from a place in the order, and what that costs."""
    if wanted == label:
        return []
    if not order or wanted in free:
        return [(-1, 0.0 if not order else SKIP / 2)]
    if place == -1:
        return [(len(order) - 1, BACK)] if order[-1] == wanted else []
    steps = []
    for at, name in enumerate(order):
        if name != wanted or at == place:
            continue
        steps.append((at, _over(at - place - 1) if at > place else BACK))
    return steps


def _stands_in(event: str, place: int, label: str, rules: _Rules) -> bool:
    """Whether an event may count for a phase that has another one of its own."""
    ends_some = any(event in each for each in rules.ends.values())
    own = any(rules.begins[event].get(name) == 1.0 for name in rules.order[place + 1 :])
    return not own and (event in rules.ends[label] or not ends_some)


def _worth(worth: float, event: str, ends: frozenset[str]) -> float:
    """How much an event says for a new phase: all where the old one ends by it, less otherwise."""
    if event in ends:
        return (1.0 + worth) / 2
    return OTHERWISE * worth if ends else worth


def _ignored(event: str, place: int, label: str, rules: _Rules) -> float:
    """What it costs to stay in a phase although an event happens."""
    labels = rules.begins[event]
    if label in labels:
        return 0.0
    if rules.order and rules.free & labels.keys():
        return DECISIVE
    if event not in rules.ends[label]:
        return IGNORE
    # A later one of the kind may lead on; what leads nowhere from here contradicts the phase.
    leads_on = any(name in labels for name in rules.order[place + 1 :]) or not rules.order
    return PASS_BY if leads_on else DEFY


def _over(skipped: int) -> float:
    """What leaving out phases costs: most for the first, since a task given up lacks all others."""
    return SKIP + SKIP_MORE * (skipped - 1) if skipped else 0.0


def _keep(found: _Paths, key: tuple[int, str], path: _Path) -> None:
    if key not in found or path.score > found[key].score:
        found[key] = path

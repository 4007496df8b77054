"""The latest takes of a recorder, what became of each, and how many of today count."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from corporeal.capture.operator_mark import OperatorMark
from corporeal.episode import Episode
from corporeal.episode.facts import FAILURES, read_facts
from corporeal.errors import CorporealError
from corporeal.protocol.card import EpisodeCard
from corporeal.units import SECOND_NS

_KEPT = 6
# Looked at when a recorder starts; a folder with more of one day has other ways to count.
_MOST_COUNTED = 2000
TakeState = Literal["recording", "ending", "open", "writing", "checking", "done"]
StartedBy = Literal["key", "motion", "auto"]


@dataclass(frozen=True)
class RuleHealth:
    """One rule of the protocol in the latest take: kept, broken, or None for not judged."""

    name: str
    kept: bool | None
    message: str = ""


@dataclass(frozen=True)
class TakeHealth:
    """One take: how far it is, how long, what was said of it, and its verdict in plain words.

    `ending` is the post-roll; while it is `open` people may still say how it went. `suggestion` is
    one thing to do otherwise, `rules` go through the protocol.
    """

    name: str
    state: TakeState
    seconds: float
    outcome: str | None = None
    is_discarded: bool = False
    verdict: str | None = None
    words: str = ""
    suggestion: str = ""
    rules: tuple[RuleHealth, ...] = ()


@dataclass(frozen=True)
class FloorHealth:
    """What an operator sees: what to do, how many are done, and the latest takes, newest first.

    `today` counts the takes of this day in the folder without those that were discarded. `card` is
    what a campaign asks for next; `no_card` says why there is none, where one is expected.
    """

    instruction: str = ""
    questions: tuple[str, ...] = ()
    failures: tuple[str, ...] = FAILURES
    starts_by: StartedBy = "auto"
    plan: int | None = None
    today: int = 0
    discarded_today: int = 0
    takes: tuple[TakeHealth, ...] = ()
    card: EpisodeCard | None = None
    no_card: str = ""


@dataclass
class _Take:
    told: TakeHealth
    begin_ns: int
    end_ns: int | None = None


@dataclass
class _Day:
    """The counts of one day; another day begins at nothing."""

    day: date = field(default_factory=date.today)
    made: int = 0
    discarded: int = 0

    def count(self, *, is_discarded: bool) -> None:
        if self.day != date.today():
            self.day, self.made, self.discarded = date.today(), 0, 0
        self.discarded += is_discarded
        self.made += not is_discarded


class TakeLog:
    """Told by the recorder of every take; read for the health, from any thread."""

    def __init__(
        self,
        folder: Path,
        *,
        starts_by: StartedBy = "auto",
        instruction: str = "",
        questions: Sequence[str] = (),
        plan: int | None = None,
        post_roll_s: float = 0.0,
    ) -> None:
        self._takes: OrderedDict[str, _Take] = OrderedDict()
        self._floor = FloorHealth(instruction, tuple(questions), starts_by=starts_by, plan=plan)
        self._post_ns = round(post_roll_s * SECOND_NS)
        self._lock = threading.Lock()
        self._day = _count_day(folder)

    def begin(self, name: str, time_ns: int, instruction: Any) -> None:
        """A demonstration begins."""
        with self._lock:
            self._takes[name] = _Take(TakeHealth(name, "recording", 0.0), time_ns)
            while len(self._takes) > _KEPT:
                self._takes.popitem(last=False)
            if instruction:
                self._floor = replace(self._floor, instruction=str(instruction))

    def end(self, name: str, time_ns: int) -> None:
        """A demonstration is over."""
        with self._lock:
            if (take := self._takes.get(name)) is not None and take.end_ns is None:
                take.end_ns = time_ns
                take.told = replace(take.told, state="ending")

    def mark(self, name: str, mark: OperatorMark, end_ns: int | None) -> None:
        """Somebody said something of a take; `end_ns` is where its demonstration ended."""
        if end_ns is not None:
            self.end(name, end_ns)
        if mark.what == "outcome":
            stated = mark.facts["outcome"]
            words = "success" if stated["success"] else stated["failure"] or "failed"
            self.change(name, outcome=words)
        if mark.what == "discard":
            self.change(name, is_discarded=True)

    def change(self, name: str, **values: Any) -> None:
        """Something else is known of a take, by the names of TakeHealth."""
        with self._lock:
            if (take := self._takes.get(name)) is not None:
                take.told = replace(take.told, **values)

    def count(self, *, is_discarded: bool) -> None:
        """An episode was made."""
        with self._lock:
            self._day.count(is_discarded=is_discarded)

    def read(self, now_ns: int) -> FloorHealth:
        """Everything, now."""
        with self._lock:
            told = [self._told(take, now_ns) for take in self._takes.values()]
            is_today = self._day.day == date.today()
            return replace(
                self._floor,
                today=self._day.made if is_today else 0,
                discarded_today=self._day.discarded if is_today else 0,
                takes=tuple(reversed(told)),
            )

    def _told(self, take: _Take, now_ns: int) -> TakeHealth:
        end_ns = now_ns if take.end_ns is None else take.end_ns
        is_open = take.told.state == "ending" and now_ns > end_ns + self._post_ns
        return replace(
            take.told,
            state="open" if is_open else take.told.state,
            seconds=max(0, end_ns - take.begin_ns) / SECOND_NS,
        )


def _count_day(folder: Path) -> _Day:
    """The episodes of today that are in the folder already: a recorder may be started anew."""
    day = _Day()
    for path in islice(folder.glob("*.h5"), _MOST_COUNTED):
        try:
            if date.fromtimestamp(path.stat().st_mtime) == day.day:
                with Episode.open(path) as episode:
                    facts = read_facts(episode.metadata)
                    day.count(is_discarded=bool(facts.other.get("discarded")))
        except (CorporealError, OSError):
            continue  # What cannot be read does not count.
    return day

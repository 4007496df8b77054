"""Breaks of whoever records: how long they have worked, by what was recorded, and when to rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Literal

from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.errors import CorporealError
from corporeal.protocol.protocol import WorkLimits
from corporeal.units import SECOND_NS

WorkState = Literal["good", "due", "halted"]
Span = tuple[float, float]
"""One take, from when to when, in Unix seconds."""
_WARNED_MIN = 5.0
# What other stations have recorded meanwhile is asked for so often, and nobody waits for it.
_ASKED_EVERY_S = 60.0
# Looked at when a recorder starts; a folder with more of one day has other ways to count.
_MOST_COUNTED = 2000


@dataclass(frozen=True)
class WorkHealth:
    """How long somebody has worked; while it is `halted`, no take begins.

    `worked_min` is since the last break, `day_min` today; `until` is when work may go on, ISO 8601.
    """

    state: WorkState
    worked_min: float
    day_min: float
    sentence: str = ""
    until: str | None = None


class WorkHours:
    """The hours of one operator at one recorder: told of every take, read from any thread.

    What was recorded into the folder today counts too: a recorder that is started anew gives
    nobody new strength. Nor does another station: `elsewhere` gives the takes of this operator that
    are known anywhere, asked when it begins and then in the background. A take that runs is never
    cut off.
    """

    def __init__(
        self,
        folder: Path,
        operator: str,
        limits: WorkLimits,
        *,
        elsewhere: Callable[[], Sequence[Span]] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._limits, self._now, self._elsewhere = limits, now, elsewhere
        self._others: list[Span] = []
        self._asked_s, self._asking = now(), threading.Lock()
        self._spans = _spans_of_today(folder, operator, now())
        self._begun: float | None = None
        self._lock = threading.Lock()
        self._ask()

    def begin(self) -> None:
        """A take begins."""
        with self._lock:
            self._begun = self._now()

    def end(self) -> None:
        """The take is over."""
        with self._lock:
            if self._begun is not None:
                self._spans.append((self._begun, self._now()))
                self._begun = None

    @property
    def is_halted(self) -> bool:
        """Whether no take may begin before a break."""
        return self.health().state == "halted"

    def health(self) -> WorkHealth:
        """Where they stand now."""
        self._ask_again()
        with self._lock:
            now = self._now()
            running = [] if self._begun is None else [(self._begun, now)]
            today = date.fromtimestamp(now)
            spans = [each for each in (*self._spans, *self._others)
                     if date.fromtimestamp(each[1]) == today]  # fmt: skip
        return work_standing([*spans, *running], now, self._limits)

    def _ask(self) -> None:
        """What is known of other stations; where nobody can say, what was known stays."""
        if self._elsewhere is None:
            return
        with self._asking, suppress(CorporealError, OSError):
            others = list(self._elsewhere())
            with self._lock:
                self._others = others

    def _ask_again(self) -> None:
        with self._lock:
            now = self._now()
            if self._elsewhere is None or now - self._asked_s < _ASKED_EVERY_S:
                return
            self._asked_s = now
        if not self._asking.locked():
            threading.Thread(target=self._ask, name="hours elsewhere", daemon=True).start()


def work_standing(spans: Sequence[Span], now: float, limits: WorkLimits) -> WorkHealth:
    """What takes of one day say of breaks: work is from a first take to the last before a break."""
    if not spans:
        return WorkHealth("good", 0.0, 0.0)
    rest_s = 60 * limits.break_min
    ordered = sorted(spans)
    begin_s, end_s = ordered[0]
    before_s = 0.0
    for first, last in ordered[1:]:
        if first - end_s >= rest_s:
            before_s += end_s - begin_s
            begin_s = first
        end_s = max(end_s, last)
    is_rested = now - end_s >= rest_s
    block_min = 0.0 if is_rested else (now - begin_s) / 60
    day_min = (before_s + (end_s if is_rested else now) - begin_s) / 60
    if day_min >= 60 * limits.day_h:
        return WorkHealth("halted", block_min, day_min,
                          f"Enough for today: {limits.day_h:g} hours are done. No take begins "
                          "before tomorrow.")  # fmt: skip
    if block_min >= limits.block_min:
        until_s = end_s + rest_s
        clock = datetime.fromtimestamp(until_s).strftime("%H:%M")
        return WorkHealth("halted", block_min, day_min,
                          f"Break: {block_min:.0f} minutes of work. Rest until {clock}; no take "
                          "begins before.", datetime.fromtimestamp(until_s).astimezone().isoformat()
                          )  # fmt: skip
    left_min = min(limits.block_min - block_min, 60 * limits.day_h - day_min)
    if left_min <= _WARNED_MIN and not is_rested:
        return WorkHealth(
            "due",
            block_min,
            day_min,
            f"Break in {max(1, round(left_min))} min: {limits.break_min:g} minutes.",
        )
    return WorkHealth("good", block_min, day_min)


def _spans_of_today(folder: Path, operator: str, now: float) -> list[Span]:
    """The takes of an operator that were recorded into a folder today."""
    today, spans = date.fromtimestamp(now), list[Span]()
    for path in islice(folder.glob("*.h5"), _MOST_COUNTED):
        # What cannot be read does not count.
        with suppress(CorporealError, OSError):
            if date.fromtimestamp(path.stat().st_mtime) != today:
                continue
            with Episode.open(path) as episode:
                first_ns, last_ns = episode.span_ns
                begin_s = (episode.epoch_ns + first_ns) / SECOND_NS
                if read_facts(episode.metadata).operator == operator and begin_s <= now:
                    end_s = min(now, begin_s + (last_ns - first_ns) / SECOND_NS)
                    spans.append((begin_s, end_s))
    return spans

"""Records: samples in, packed and journalled at once, episodes out; it never waits to be safe."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from corporeal.capture.clock import HostClock
from corporeal.capture.conversion import episode_from_journal
from corporeal.capture.driver import DriverError, Mark, RecordingSource, Rig, Sample
from corporeal.capture.encoding import Encoding
from corporeal.capture.health import CalibrationHealth, Health, HealthMonitor
from corporeal.capture.open_episode import OpenEpisode, make_folder, open_take
from corporeal.capture.operator_mark import OperatorMark, segment_mark, why_not
from corporeal.capture.pre_roll import Packed, PreRoll
from corporeal.capture.rig import TeamDocuments, join_sources
from corporeal.capture.source_thread import Ended, Intakes, Item, Refused, Taken
from corporeal.capture.start_state import StartWatch
from corporeal.capture.take_log import RuleHealth as RuleHealth
from corporeal.capture.take_log import TakeLog
from corporeal.capture.trigger import Automatic, Button, Cue, MotionDetector, Trigger
from corporeal.capture.work_hours import Span, WorkHealth, WorkHours
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.episode.file import SYNC_EVERY_S, Packer, Worker
from corporeal.protocol.card import EpisodeCard
from corporeal.protocol.protocol import WorkLimits
from corporeal.units import SECOND_NS

_HEALTH_EVERY_S = 0.25
# To answer one question of the protocol.
_ANSWER_S = 3.0
# Where there is a protocol, what a source says of these does not count.
_AGREED = ("task", "protocol")
# What people call a recorder by.
_NAMED = ("station", "operator", "task")
State = Literal["idle", "recording", "post-roll", "ended"]


@dataclass(frozen=True)
class RecorderSettings:
    """How to record. `metadata` is what the floor knows: operator, station, session, ..."""

    out: Path
    metadata: Mapping[str, Any] = field(default_factory=dict)
    episodes: int | None = None
    pre_roll_s: float = 1.0
    post_roll_s: float = 2.0
    sync_every_s: float = SYNC_EVERY_S
    stall_s: float = 10.0
    decide_s: float = 5.0
    """So long after an end that a person marked its outcome may be told, or the take discarded;
    3 s longer for every question of the protocol."""
    plan: int | None = None
    """How many takes this day is to have; it is shown, and ends nothing."""
    despite_rest: str | None = None
    """Why takes may begin although a break is due; kept in every episode that needed it."""


class StationWatch(Protocol):
    """Who knows whether the calibration of the station still holds."""

    def health(self) -> CalibrationHealth:
        """Where it stands now."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What an episode that begins now says of its calibration."""
        ...

    def request(self) -> None:
        """Somebody asks for a check now."""
        ...

    @property
    def is_halted(self) -> bool:
        """Whether no episode may begin."""
        ...


class CardSource(Protocol):
    """Who knows what a campaign asks for next; nothing of it waits for anybody."""

    @property
    def card(self) -> EpisodeCard | None:
        """What to record next."""
        ...

    @property
    def problem(self) -> str:
        """Why there is no card; nothing where there is one."""
        ...

    def take(self) -> EpisodeCard | None:
        """A take begins: the card that it follows."""
        ...

    def refuse(self, why: str, by: str | None) -> str | None:
        """The card cannot be recorded; why that cannot be taken, if so."""
        ...


class Recorder:
    """Runs sources until they end, enough episodes are made, or `stop` is called.

    The first source leads: its marks begin and end a demonstration, unless a trigger does. The
    team's documents decide over the pre- and post-roll, and over what metadata must say.
    `elsewhere` gives the takes of an operator at other stations, for their breaks.
    """

    def __init__(
        self,
        sources: Sequence[RecordingSource],
        settings: RecorderSettings,
        *,
        team: TeamDocuments | None = None,
        trigger: Trigger | None = None,
        on_health: Callable[[Health], None] | None = None,
        on_picture: Callable[[str, Any], None] | None = None,
        on_episode: Callable[[Path], None] | None = None,
        watch: StationWatch | None = None,
        cards: CardSource | None = None,
        elsewhere: Callable[[str], Sequence[Span]] | None = None,
    ) -> None:
        self.team = team or TeamDocuments()
        self.rig: Rig = join_sources(sources, self.team.schema)
        self.team.demand(self.rig)
        facts = self.team.complete(settings.metadata)
        pre_s, post_s = self.team.roll_s or (settings.pre_roll_s, settings.post_roll_s)
        self.settings = replace(settings, metadata=facts, pre_roll_s=pre_s, post_roll_s=post_s)
        self.episodes: list[Path] = []
        self.quarantined: dict[Path, str] = {}
        self._leader, self._is_alone = sources[0].name, len(sources) == 1
        self._is_live = any(source.driver.is_live for source in sources)
        self._schema = self.rig.resolve()
        self._trigger = trigger or Automatic(at_once=sources[0].driver.is_live)
        self._on_health, self._on_episode, self._watch = on_health, on_episode, watch
        self._cards = cards
        self._followed: EpisodeCard | None = None
        self._clock = HostClock()
        make_folder(settings.out)
        self._monitor = HealthMonitor(
            self._schema,
            settings.out,
            self.team.triggers,
            {stream.path: self.rig.source(stream.path) for stream in self._schema.streams},
        )
        self._packers = {stream.path: Packer(stream) for stream in self._schema.streams}
        self._intake = Intakes(sources, self._packers, self._monitor)
        self._lost: dict[str, str] = {}
        self._takes_told = self._open_log(settings.out)
        self._start_mark: OperatorMark | None = None
        self._marked: queue.SimpleQueue[tuple[int, OperatorMark]] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._encoding = Encoding(
            self._packers,
            is_live=self._is_live,
            keep=self._keep,
            give_back=self._intake.give_back,
            show=on_picture,
        )
        self._lock = threading.Lock()
        self._start_watch = StartWatch(self.team.protocol, self.rig)
        self._work = self._open_hours(settings.out, elsewhere)
        self._recent = PreRoll(self._schema.streams, self.settings.pre_roll_s)
        self._takes: list[OpenEpisode] = []
        self._converter = Worker(self._convert, "conversion", waiting=64)
        self._stopping = threading.Event()
        self._has_ended = False
        self._now_ns = 0
        self._began_s = self._heard_s = time.monotonic()
        self._health_s = self._noted_s = 0.0
        self._index = 0
        self._started = 0

    def run(self) -> list[Path]:
        """Record; returns the episodes made. A failed source or disk still leaves them safe."""
        self._intake.start()
        reason: str | None = None
        try:
            reason = self._loop()
        except BaseException as error:  # Ctrl-C as well: the episode must say why it ends here.
            reason = f"recording broke off: {_words(error)}"
            raise
        finally:
            self._intake.stop()
            self._see_rest()
            for ended in self._intake.failures():
                if self._error is None:
                    self._lose(ended)
            self._end(reason)
        if self._error is not None:
            reason = next(reason for reason in self._lost.values() if " failed: " in reason)
            made = self.episodes[-1:]
            where = f" What was recorded before is safe in {made[0]}." if made else ""
            raise DriverError(f"{reason}.{where}") from self._error
        return self.episodes

    def stop(self) -> None:
        """End the recording soon, from any thread; what was received becomes an episode."""
        self._stopping.set()

    def mark(self, mode: str | None, *, note: str | None = None) -> None:
        """From now on the demonstration is in `mode`, until the next mark; None: as it began.

        From any thread. Nothing is marked while no demonstration runs.
        """
        self.enter(segment_mark(mode, note=note))

    def enter(self, mark: OperatorMark) -> str | None:
        """Take a mark, from any thread; why not, where it cannot be taken.

        A segment is of a demonstration that runs; all else may also come during the post-roll, and
        for a moment longer after an end that was marked.
        """
        running = self._running
        reason = why_not(
            mark,
            running=None if running is None else running.name,
            is_open=bool(self._takes),
            by_hand=isinstance(self._trigger, Button),
            is_wanted=self._is_wanted,
            is_halted=self._is_halted,
            rest=self._rest,
        )
        if reason is not None:
            return reason
        if isinstance(self._trigger, Button) and mark.what == "button":
            self._trigger.press()
        elif mark.what == "check":
            if self._watch is None:
                return (
                    "a check of the calibration; expected a recorder whose calibration has markers."
                )
            self._watch.request()
        elif mark.what == "refuse":
            if self._cards is None:
                return "refuse: expected a recorder with a campaign: corporeal record --campaign."
            refusal = self._cards.refuse(str(mark.facts["reason"]), mark.by)
            if refusal is not None:
                return refusal
        else:
            self._marked.put((self._moment_ns(), mark))
        self._health_s = 0.0
        return None

    def note_verdict(
        self, episode: Path, verdict: str | None, words: str, *, suggestion: str = "",
        rules: Sequence[RuleHealth] = (),
    ) -> None:  # fmt: skip
        """How an episode was judged, for the health; from any thread."""
        self._takes_told.change(episode.stem, state="done", verdict=verdict, words=words,
                                suggestion=suggestion, rules=tuple(rules))  # fmt: skip
        self._health_s = 0.0

    @property
    def state(self) -> State:
        """What the recorder is doing."""
        if self._has_ended:
            return "ended"
        if self._running is not None:
            return "recording"
        return "post-roll" if self._takes else "idle"

    @property
    def refusal(self) -> str:
        """Why no demonstration may begin now; empty where one may."""
        start = OperatorMark("start", {})
        running = None if self._running is None else self._running.name
        reason = why_not(
            start,
            running=running,
            is_open=bool(self._takes),
            by_hand=True,
            is_wanted=self._is_wanted,
            is_halted=self._is_halted,
            rest=self._rest,
        )
        return reason or ""

    @property
    def unannounced(self) -> dict[str, int]:
        """Streams that the driver did not announce, with how many samples were refused."""
        return self._monitor.strangers()

    def health(self) -> Health:
        """Everything, now."""
        takes = list(self._takes)
        next_card = None if self._cards is None else self._cards.card
        # While a take runs it is the one that counts.
        card = self._followed if self._running is not None else next_card
        facts = {**self.rig.metadata, **self.settings.metadata}
        now_s = time.monotonic()
        # While nothing is recorded, nothing has to be on disk.
        unsaved_s = [take.journal.unsynced_s(now_s) for take in takes]
        work = self._read_work()
        unsaved_s += [self._intake.oldest_s(now_s)] if takes and self._is_live else []
        return self._monitor.read(
            self._moment_ns(),
            state=self.state,
            episode=takes[-1].name if takes else "",
            episodes=len(self.episodes),
            elapsed_s=time.monotonic() - self._began_s,
            waiting_bytes=sum(take.journal.waiting_bytes for take in takes)
            + self._intake.waiting_bytes,
            written_bytes=sum(take.journal.synced_bytes for take in takes),
            slowest_sync_s=max((take.journal.slowest_sync_s for take in takes), default=0.0),
            unsaved_s=max(unsaved_s, default=0.0),
            asks=self._asks(work, has_card=card is not None),
            facts={name: str(facts[name]) for name in _NAMED if facts.get(name)},
            calibration=None if self._watch is None else self._watch.health(),
            work=work,
            floor=replace(
                self._takes_told.read(self._moment_ns()),
                card=card,
                no_card="" if self._cards is None or card is not None else self._cards.problem,
            ),
        )

    def _open_log(self, folder: Path) -> TakeLog:
        protocol, facts = self.team.protocol, {**self.rig.metadata, **self.settings.metadata}
        by_hand, by_motion = (isinstance(self._trigger, kind) for kind in (Button, MotionDetector))
        return TakeLog(
            folder,
            starts_by="key" if by_hand else "motion" if by_motion else "auto",
            instruction=str(facts.get("instruction") or (protocol.task.goal if protocol else "")),
            questions=self._questions,
            plan=self.settings.plan,
            post_roll_s=self.settings.post_roll_s,
        )

    def _open_hours(
        self, folder: Path, elsewhere: Callable[[str], Sequence[Span]] | None
    ) -> WorkHours | None:
        """The hours of whoever works; a source that is replayed by itself tires nobody."""
        operator = {**self.rig.metadata, **self.settings.metadata}.get("operator")
        agreed = self.team.protocol.work if self.team.protocol else None
        is_replayed = not self._is_live and isinstance(self._trigger, Automatic)
        if not operator or is_replayed:
            return None
        name = str(operator)
        ask = None if elsewhere is None else lambda: elsewhere(name)
        return WorkHours(folder, name, agreed or WorkLimits(), elsewhere=ask)

    @property
    def _questions(self) -> tuple[str, ...]:
        return self.team.protocol.questions if self.team.protocol else ()

    @property
    def _is_wanted(self) -> bool:
        """Whether another demonstration may begin."""
        is_enough = self._started == self.settings.episodes
        return not is_enough and self._error is None and not self._stopping.is_set()

    @property
    def _is_halted(self) -> bool:
        return self._watch is not None and self._watch.is_halted

    @property
    def _rest(self) -> str:
        """Why no take may begin before a break; empty where one may."""
        standing = self._read_work()
        if standing is None or self.settings.despite_rest is not None:
            return ""
        return standing.sentence if standing.state == "halted" else ""

    def _asks(self, work: WorkHealth | None, *, has_card: bool) -> tuple[str, ...]:
        """What the operator is to do before the next take: rest first, if that is due."""
        if self._running is not None:
            return ()
        rest = () if work is None or not work.sentence else (work.sentence,)
        return rest if has_card else (*rest, *self._start_watch.asks())

    def _read_work(self) -> WorkHealth | None:
        """How long whoever works has worked; a take may have ended by a mark, or by itself."""
        if self._work is None:
            return None
        if self._running is None:
            self._work.end()
        return self._work.health()

    def _moment_ns(self) -> int:
        """Now, on the clock of the arrivals, also while nothing arrives."""
        if not self._now_ns:
            return self._clock.now_ns()
        # A source that is not live may take its time between two demonstrations.
        is_due = self._is_live or self._running is not None
        silent_s = time.monotonic() - self._heard_s if is_due and not self._has_ended else 0.0
        return self._now_ns + round(silent_s * 1e9)

    @property
    def _running(self) -> OpenEpisode | None:
        """The take whose demonstration has not ended."""
        return next((take for take in list(self._takes) if take.end_ns is None), None)

    def _loop(self) -> str | None:
        """Take items until the end; returns why the last episode is not complete, if it is not."""
        while not self._stopping.is_set():
            self._show_health()
            self._look_after_takes()
            self._write_marks()
            try:
                item = self._intake.get(0.1)
            except queue.Empty:
                self._encoding.check()
                silent_s = time.monotonic() - self._heard_s
                if self._takes and silent_s > self.settings.stall_s:
                    if self._running is not None:
                        return f"the source has been silent for {silent_s:.1f} s"
                    for take in list(self._takes):
                        self._finish(take, None)
                continue
            self._heard_s = time.monotonic()
            if item is None:
                return self._why_open("the source ended before the episode did")
            if isinstance(item, Ended):
                self._lose(item)
                if self._error is not None and (self._is_alone or not self._takes):
                    return next(iter(self._lost.values()))
                continue
            self._see(*item)
            if self._error is not None and not self._takes:
                return None
            if self._started == self.settings.episodes and not self._takes:
                return None
        return self._why_open("recording was stopped before the episode ended")

    def _write_marks(self) -> None:
        while not self._marked.empty():
            time_ns, mark = self._marked.get()
            if mark.what == "start":
                self._start_mark = mark  # It begins with the next sample.
                continue
            open_takes = [
                one
                for one in self._takes
                if mark.what not in ("segment", "end") or one.end_ns is None
            ]
            for take in open_takes[-1:]:
                decide_s = self.settings.decide_s + _ANSWER_S * len(self._questions)
                take.decide_ns = round(decide_s * SECOND_NS)
                take.enter(time_ns, mark)
                self._takes_told.mark(take.name, mark, take.end_ns)

    def _look_after_takes(self) -> None:
        """What was refused is in the journal soon after, and an encoder that broke is seen."""
        moment = time.monotonic()
        if moment - self._noted_s >= _HEALTH_EVERY_S:
            self._noted_s = moment
            self._encoding.check()
            for take in self._takes:
                take.note_losses(self._now_ns, self._monitor.losses())

    def _see_rest(self) -> None:
        """What the sources handed over before they were stopped belongs into the open takes."""
        self._stopping.set()
        try:
            for source, item in self._intake.rest():
                if self._takes:
                    self._see(source, item)
        except Exception:  # A disk or an encoder that broke is told of where the takes end.
            return

    def _lose(self, ended: Ended) -> None:
        """A source is gone: what the others still give goes on into the open episodes."""
        what = "the source" if self._is_alone else f"the source {ended.source}"
        if ended.error is not None:
            self._error = self._error or ended.error
            reason = f"{what} failed: {_words(ended.error)}"
            self._monitor.alarm(reason)
        else:
            reason = f"{what} ended before the episode did"
        self._lost[ended.source] = reason
        if self._is_alone:
            return
        for take in self._takes:
            if ended.error is not None or take.end_ns is None:
                take.reason = take.reason or reason

    def _see(self, source: str, item: Item) -> None:
        if isinstance(item, Refused):
            self._monitor.refuse(item.stream, item.reason, item.count)
            return
        seen = item.sample if isinstance(item, Taken) else item
        self._now_ns = seen.arrival_ns
        if isinstance(seen, Mark) and source != self._leader:
            return
        cue, by = self._cue(seen)
        facts = dict(seen.metadata) if isinstance(seen, Mark) else {}
        if self.team.protocol is not None:
            facts = {name: value for name, value in facts.items() if name not in _AGREED}
        running = self._running
        may_start = running is None and self._is_wanted and not self._is_halted
        if cue == "start" and may_start and not self._rest:
            self._start(seen, facts, by)
        elif isinstance(seen, Mark) and seen.what == "segment" and running is not None:
            running.enter(seen.arrival_ns, OperatorMark("segment", facts))
        elif cue == "end" and running is not None:
            running.end(seen.arrival_ns, facts)
            self._takes_told.end(running.name, seen.arrival_ns)
        if isinstance(item, Taken):
            if item.payload is not None:
                self._start_watch.see(item.sample)
            self._accept(item)
        for take in list(self._takes):
            if take.is_over(seen.arrival_ns):
                self._finish(take, None)

    def _cue(self, seen: Sample | Mark) -> tuple[Cue | None, dict[str, Any]]:
        """Whether a demonstration begins or ends here, and who said so."""
        self._write_marks()  # Also those that came while this sample was waited for.
        if isinstance(self._trigger, Button):
            self._trigger.is_running = self._running is not None
        cue, mark = self._trigger.see(seen), self._start_mark
        if mark is None:
            return cue, {}
        self._start_mark = None
        return "start", {} if mark.by is None else {"by": mark.by}

    def _accept(self, taken: Taken) -> None:
        sample = taken.sample
        stream, source_ns, arrival_ns = sample.stream, sample.source_ns, sample.arrival_ns
        self._monitor.take(stream, source_ns, arrival_ns, is_recording=bool(self._takes))
        if taken.payload is None:
            self._encoding.put(taken)
        else:
            self._keep(Packed(stream, source_ns, arrival_ns, taken.payload, taken.received_s))

    def _keep(self, packed: Packed) -> None:
        """Into the journal of every open take, and into the memory that pre-roll comes from."""
        with self._lock:
            self._recent.keep(packed)
            for take in self._takes:
                take.add(packed)

    def _start(self, item: Sample | Mark, facts: dict[str, Any], by: Mapping[str, Any]) -> None:
        card = None if self._cards is None else self._cards.take()
        if card is not None and self.team.protocol is not None:
            # What a source tells of its own world it knows better than the card.
            facts = _merged(card.facts(self.team.protocol), facts)
            self._start_watch.expect(card.asked)
        self._followed = card
        metadata = {**self.rig.metadata, **self.settings.metadata, **facts}
        if self.rig.problems:
            metadata["source_problems"] = list(self.rig.problems)
        if self._watch is not None:
            metadata["calibration"] = {**metadata["calibration"], **self._watch.facts()}
        if self._work is not None:
            if self._work.is_halted and self.settings.despite_rest is not None:
                metadata["despite_rest"] = self.settings.despite_rest
            self._work.begin()
        warnings = self._start_watch.begin(metadata, time.monotonic() - self._began_s)
        take, self._index = open_take(
            self.settings.out,
            self._index,
            self.rig,
            metadata=metadata,
            roll_s=(self.settings.pre_roll_s, self.settings.post_roll_s),
            sync_every_s=self.settings.sync_every_s,
            is_open_ended=isinstance(item, Sample) and isinstance(self._trigger, Automatic),
            losses=self._monitor.losses(),
            team=self.team,
        )
        take.reason = next(iter(self._lost.values()), None)
        take.begin(item.arrival_ns, {**facts, **by}, warnings)
        for earlier in self._takes:
            earlier.settle()  # What is said from now on is of this one.
        take.questions.update(self._questions)
        instruction = metadata.get("instruction")
        self._takes_told.begin(
            take.name, item.arrival_ns, str(instruction) if instruction else None
        )
        self._monitor.warn(tuple(f"at the start of {take.name}: {each}" for each in warnings))
        with self._lock:
            take.add_pre_roll(self._recent.since(item.arrival_ns))
            self._takes.append(take)
        self._started += 1

    def _finish(self, take: OpenEpisode, reason: str | None) -> None:
        """Close a take, whatever else fails, and have it converted."""
        try:
            self._encoding.join()
        except Exception as error:  # The camera's thread may have died of anything.
            reason = reason or f"a camera failed: {_words(error)}"
            raise
        finally:
            with self._lock:
                self._takes.remove(take)
            take.close(self._now_ns, self._monitor.losses())
            self._takes_told.change(take.name, state="writing")
            self._converter.put(take.journal.path, reason or take.reason)

    def _convert(self, journal: Path, reason: str | None) -> None:
        episode = episode_from_journal(journal, reason=reason)
        self.episodes.append(episode)
        with Episode.open(episode) as made:
            told = read_facts(made.metadata).other
            held_back = told.get("quarantine")
        self._takes_told.count(is_discarded="discarded" in told)
        state = "done" if self._on_episode is None else "checking"
        self._takes_told.change(episode.stem, state=state)
        if held_back is not None:
            self.quarantined[episode] = str(held_back)
        if self._on_episode is not None:
            self._on_episode(episode)

    # Endings.

    def _end(self, reason: str | None) -> None:
        """Finish every take and end every thread, also when one of them fails."""
        with ExitStack() as last:
            last.callback(self._show_end)
            last.callback(self._converter.close)
            for end in self._encoding.endings:
                last.callback(end)
            for take in list(self._takes):
                last.callback(self._finish, take, reason)

    def _show_end(self) -> None:
        self._has_ended = True
        self._show_health(now=True)

    def _why_open(self, reason: str) -> str | None:
        running = self._running
        return None if running is None or running.is_open_ended else reason

    def _show_health(self, *, now: bool = False) -> None:
        moment = time.monotonic()
        if self._on_health is None or (not now and moment - self._health_s < _HEALTH_EVERY_S):
            return
        self._health_s = moment
        # A full disk or a closed page must not end the recording that it reports on.
        with suppress(OSError):
            self._on_health(self.health())


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both, the second over the first, one within the other where both have parts."""
    both = dict(first)
    for name, value in second.items():
        inner = both.get(name)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = _merged(inner, value)
        both[name] = value
    return both


def _words(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__

"""Each source in a thread of its own: all that it yields is checked and copied there and then."""

from __future__ import annotations

import math
import operator
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corporeal.capture.clock import HostClock
from corporeal.capture.driver import DriverError, Loss, Mark, RecordingSource, Sample
from corporeal.capture.health import HealthMonitor
from corporeal.capture.picture_pool import PicturePool
from corporeal.episode.file import Packer
from corporeal.errors import WriteError
from corporeal.units import SECOND_NS

# A live source cannot wait: so many items are four seconds of twenty streams.
_WAITING_LIVE, _WAITING = 8192, 256
# As many pictures of a camera may wait for its encoder, or as many as fit this memory.
_PICTURES_WAITING, _PICTURE_BYTES, _FEWEST_PICTURES = 60, 64 << 20, 12
_LARGEST = (1 << 63) - 1
LONGEST_S = 0.15
"""So long a picture of a live source may wait before the next ones of its camera are refused."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A sample that was checked; `payload` is None for a picture, which is packed elsewhere.

    The sample's value is our own copy: a driver may use its buffer again at once. `received_s` is
    when the driver handed it over, on the monotonic clock.
    """

    sample: Sample
    payload: bytes | None
    received_s: float


@dataclass(frozen=True, slots=True)
class Refused:
    """Samples that could not be taken, and why; in their place, so that their episode knows."""

    stream: str
    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Ended:
    """A source yields no more; `error` is why, where it broke."""

    source: str
    error: BaseException | None


Item = Taken | Refused | Mark


class Intake:
    """Runs a source until it ends or `stop` is called; `get` hands its items over in order."""

    def __init__(
        self,
        source: RecordingSource,
        packers: Mapping[str, Packer],
        monitor: HealthMonitor,
        *,
        pools: Mapping[str, PicturePool],
        ready: threading.Event,
        timetable: Timetable | None = None,
    ) -> None:
        self.name = source.name
        self.error: BaseException | None = None
        self._source, self._driver = source, source.driver
        self._packers, self._monitor = packers, monitor
        self._ready, self._timetable = ready, timetable
        self._pools = pools
        waiting = _WAITING_LIVE if self._driver.is_live else _WAITING
        self._items: queue.Queue[Item | None] = queue.Queue(maxsize=waiting)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="driver", daemon=True)

    def start(self) -> None:
        """Begin to read the source."""
        self._thread.start()

    def get(self) -> Item | None:
        """The next item, None when the source has ended; queue.Empty when nothing is there."""
        return self._items.get_nowait()

    def oldest_s(self, now_s: float) -> float:
        """For how long the sample has waited that is to be handed over next."""
        with self._items.mutex:
            waiting = (one for one in self._items.queue if isinstance(one, Taken))
            first = next(waiting, None)
        return 0.0 if first is None else now_s - first.received_s

    def stop(self) -> None:
        """Ask the source to end."""
        self._stopping.set()

    def join(self) -> None:
        """Wait until it has ended; one that hangs is left behind after a while."""
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            items = iter(self._driver.read(self._source.options))
            try:
                for item in items:
                    if self._stopping.is_set():
                        break
                    self._take(item)
            finally:
                close = getattr(items, "close", None)
                if close is not None:
                    close()
        except BaseException as error:  # Whatever a driver raises, the recording ends in order.
            self.error = error
        finally:
            self._put(None)

    def _take(self, raw: Any) -> None:
        if isinstance(raw, Loss):
            path = self._source.path_of(raw.stream)
            if path is not None:
                self._put(Refused(path, raw.reason, raw.count))
            return
        if not isinstance(raw, Sample | Mark):
            raise DriverError(f"the driver, got {type(raw).__name__}; expected Sample or Mark.")
        item = _with_whole_stamps(raw)
        if self._timetable is not None and item is not None:
            item = self._timetable.keep(item, self._stopping)
        if isinstance(raw, Mark):
            if item is None:
                raise DriverError(f"mark, got the time {raw.arrival_ns!r}; expected nanoseconds.")
            assert isinstance(item, Mark)
            self._put(item)
            return
        if isinstance(item, Sample):
            path = self._source.path_of(item.stream)
            if path is not None:
                self._offer(self._checked(replace(item, stream=path)))
        else:
            self._offer(Refused(raw.stream, "its stamps are not 64-bit nanoseconds"))

    def _offer(self, item: Taken | Refused) -> None:
        if not self._driver.is_live:
            self._put(item)
            return
        try:
            self._items.put_nowait(item)
            self._ready.set()
        except queue.Full:
            stream = item.sample.stream if isinstance(item, Taken) else item.stream
            self._monitor.refuse(stream, "the recorder was behind")
            if isinstance(item, Taken) and item.payload is None:
                self._pools[stream].give_back(item.sample.value)

    def _checked(self, sample: Sample) -> Taken | Refused:
        """The sample as our own, or why it cannot be taken."""
        received_s = time.monotonic()
        packer = self._packers.get(sample.stream)
        if packer is None:
            return Refused(sample.stream, "the driver did not announce this stream")
        try:
            if packer.is_slow:
                picture = packer.check_array(sample.value, packer.shape)
                held = self._hold(sample.stream, picture)
                if held is None:
                    return Refused(sample.stream, "the encoder was behind")
                return Taken(replace(sample, value=held), None, received_s)
            payload = packer.pack(packer.check(sample.value))
        except WriteError as error:
            return Refused(sample.stream, str(error))
        value = sample.value
        if packer.stream.kind == "array":
            value = np.frombuffer(payload, packer.dtype).reshape(packer.shape)
        return Taken(replace(sample, value=value), payload, received_s)

    def _hold(self, stream: str, picture: Any) -> Any:
        """A copy of the picture; None if there is no room, for which a live source cannot wait."""
        held = self._pools[stream].copy(picture)
        while held is None and not self._driver.is_live and not self._stopping.is_set():
            held = self._pools[stream].copy(picture, wait_s=0.1)
        return held

    def _put(self, item: Item | None) -> None:
        while not self._stopping.is_set():
            try:
                self._items.put(item, timeout=0.1)
            except queue.Full:
                continue
            self._ready.set()
            break


class Timetable:
    """Moves the arrivals of a source that is not live to when the recording begins.

    Beside a live source they are also waited for, so that a file is played as it was recorded.
    """

    def __init__(self, clock: HostClock, begin_ns: int, *, waits: bool) -> None:
        self._clock, self._begin_ns, self._waits = clock, begin_ns, waits
        self._shift_ns: int | None = None

    def keep(self, item: Sample | Mark, stopping: threading.Event) -> Sample | Mark:
        """The item when it is due; its own stamp stays what it is."""
        if self._shift_ns is None:
            self._shift_ns = self._begin_ns - item.arrival_ns
        due_ns = item.arrival_ns + self._shift_ns
        while self._waits and due_ns > self._clock.now_ns() and not stopping.is_set():
            stopping.wait(min(0.1, (due_ns - self._clock.now_ns()) / SECOND_NS))
        return replace(item, arrival_ns=due_ns)


class Intakes:
    """All sources of a recording, each in its thread; `get` hands over the earliest arrival.

    Sources that can wait are kept in step. As soon as one is live nobody waits for another.
    """

    def __init__(
        self,
        sources: Sequence[RecordingSource],
        packers: Mapping[str, Packer],
        monitor: HealthMonitor,
    ) -> None:
        self._ready = threading.Event()
        self._in_step = not any(source.driver.is_live for source in sources)
        longest_s = math.inf if self._in_step else LONGEST_S
        self._pools = {
            path: PicturePool(room(packer), longest_s=longest_s)
            for path, packer in packers.items()
            if packer.is_slow
        }
        self._picture_bytes = {path: packers[path].row_bytes for path in self._pools}
        clock = HostClock()
        begin_ns = clock.now_ns()
        self._open = []
        for source in sources:
            timetable = None
            if len(sources) > 1 and not source.driver.is_live:
                timetable = Timetable(clock, begin_ns, waits=not self._in_step)
            self._open.append(
                Intake(source, packers, monitor, pools=self._pools, ready=self._ready,
                       timetable=timetable)
            )  # fmt: skip
        self._all = tuple(self._open)
        self._heads: dict[str, Item | None] = {}
        self._arrivals = {source.name: begin_ns for source in sources}

    def start(self) -> None:
        """Begin to read every source."""
        for intake in self._all:
            intake.start()

    def get(self, timeout_s: float) -> tuple[str, Item] | Ended | None:
        """The next item and its source, or that a source ended, None once all have.

        Raises queue.Empty when nothing comes.
        """
        deadline_s = time.monotonic() + timeout_s
        while self._open:
            self._ready.clear()
            intake = self._earliest()
            if intake is not None:
                item = self._heads.pop(intake.name)
                if item is not None:
                    return intake.name, item
                self._open.remove(intake)
                return Ended(intake.name, intake.error)
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise queue.Empty
            self._ready.wait(left_s)
        return None

    def give_back(self, stream: str, held: Any) -> None:
        """A picture has been packed: its memory may be used again."""
        self._pools[stream].give_back(held)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the pictures that wait for their encoders."""
        return sum(pool.in_use * self._picture_bytes[path] for path, pool in self._pools.items())

    def oldest_s(self, now_s: float) -> float:
        """For how long the oldest sample has waited: a picture, or any that nobody took yet."""
        waits = [pool.oldest_s(now_s) for pool in self._pools.values()]
        waits += [intake.oldest_s(now_s) for intake in self._all]
        return max(waits, default=0.0)

    def stop(self) -> None:
        """End all sources; what they handed over before is in `rest`."""
        for intake in self._all:
            intake.stop()
        for intake in self._all:
            intake.join()

    def rest(self) -> Iterator[tuple[str, Item]]:
        """What was handed over and not taken yet, with its source, after `stop`."""
        self._in_step = False
        while (intake := self._earliest()) is not None:
            item = self._heads.pop(intake.name)
            if item is None:
                self._open.remove(intake)
            else:
                yield intake.name, item

    def failures(self) -> Iterator[Ended]:
        """The sources that broke, also while they were ended."""
        for intake in self._all:
            if intake.error is not None:
                yield Ended(intake.name, intake.error)

    def _earliest(self) -> Intake | None:
        """The source whose item is next, if that can be told."""
        waiting = []
        for intake in self._open:
            if intake.name not in self._heads:
                try:
                    self._see(intake.name, intake.get())
                except queue.Empty:
                    if self._in_step:
                        return None
                    continue
            waiting.append(intake)
        return min(waiting, key=lambda one: self._arrivals[one.name], default=None)

    def _see(self, name: str, item: Item | None) -> None:
        self._heads[name] = item
        if isinstance(item, Taken):
            self._arrivals[name] = item.sample.arrival_ns
        elif isinstance(item, Mark):
            self._arrivals[name] = item.arrival_ns


def room(packer: Packer) -> int:
    """How many pictures of a camera may wait."""
    fit = _PICTURE_BYTES // max(1, packer.row_bytes)
    return max(_FEWEST_PICTURES, min(_PICTURES_WAITING, fit))


def _with_whole_stamps(item: Sample | Mark) -> Sample | Mark | None:
    """The item with Python's own integers as its times; None if they are not 64-bit integers."""
    try:
        times = {"arrival_ns": operator.index(item.arrival_ns)}
        if isinstance(item, Sample):
            times["source_ns"] = operator.index(item.source_ns)
    except TypeError:
        return None
    if not all(-_LARGEST <= value <= _LARGEST for value in times.values()):
        return None
    if all(type(getattr(item, name)) is int for name in times):
        return item
    if isinstance(item, Mark):
        return replace(item, arrival_ns=times["arrival_ns"])
    return replace(item, arrival_ns=times["arrival_ns"], source_ns=times["source_ns"])

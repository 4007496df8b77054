"""The source in a thread of its own: everything it yields is checked and copied there and then."""

from __future__ import annotations

import operator
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.driver import Driver, DriverError, Mark, Sample
from corporeal.capture.health import HealthMonitor
from corporeal.episode.file import Packer
from corporeal.errors import WriteError

Picture = NDArray[Any]


class PicturePool:
    """At most `size` copies at a time; their pages are used again, since new ones cost more.

    A driver may use its own buffer again as soon as it has handed a picture over.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._made = 0
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[Picture] = queue.SimpleQueue()

    def copy(self, picture: Picture, *, wait_s: float = 0.0) -> Picture | None:
        """A copy of the picture, or None when all copies are in use for `wait_s`."""
        held = self._take(picture, wait_s)
        if held is not None:
            np.copyto(held, picture)
        return held

    def give_back(self, held: Picture) -> None:
        """The encoder is done with this copy."""
        self._free.put(held)

    def _take(self, picture: Picture, wait_s: float) -> Picture | None:
        try:
            return self._free.get_nowait()
        except queue.Empty:
            pass
        with self._lock:
            if self._made < self._size:
                self._made += 1
                return np.empty_like(picture)
        try:
            return self._free.get(timeout=wait_s) if wait_s > 0 else None
        except queue.Empty:
            return None


# A live source cannot wait: so many items are four seconds of twenty streams.
_WAITING_LIVE, _WAITING = 8192, 256
# As many pictures of a camera may wait for its encoder, or as many as fit this memory.
_PICTURES_WAITING, _PICTURE_BYTES, _FEWEST_PICTURES = 60, 64 << 20, 12
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Taken:
    """A sample that was checked; `payload` is None for a picture, which is packed elsewhere.

    The sample's value is our own copy: a driver may use its buffer again at once.
    """

    sample: Sample
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A sample that could not be taken, and why; in its place, so that its episode knows."""

    stream: str
    reason: str


Item = Taken | Refused | Mark


class Intake:
    """Runs a driver until it ends or `stop` is called; `get` hands its items over in order."""

    def __init__(
        self,
        driver: Driver,
        options: Any,
        packers: Mapping[str, Packer],
        monitor: HealthMonitor,
    ) -> None:
        self.error: BaseException | None = None
        self._driver, self._options = driver, options
        self._packers, self._monitor = packers, monitor
        self._pools = {
            path: PicturePool(room(packer)) for path, packer in packers.items() if packer.is_slow
        }
        waiting = _WAITING_LIVE if driver.is_live else _WAITING
        self._items: queue.Queue[Item | None] = queue.Queue(maxsize=waiting)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="driver", daemon=True)

    def start(self) -> None:
        """Begin to read the source."""
        self._thread.start()

    def get(self, timeout_s: float) -> Item | None:
        """The next item, None when the source has ended; queue.Empty when nothing comes."""
        return self._items.get(timeout=timeout_s)

    def give_back(self, stream: str, held: Any) -> None:
        """A picture has been packed: its memory may be used again."""
        self._pools[stream].give_back(held)

    def stop(self) -> None:
        """End the source; one that hangs is left behind after a while."""
        self._stopping.set()
        while True:
            try:
                self._items.get_nowait()
            except queue.Empty:
                break
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            items = iter(self._driver.read(self._options))
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
        if not isinstance(raw, Sample | Mark):
            raise DriverError(f"the driver, got {type(raw).__name__}; expected Sample or Mark.")
        item = _with_whole_stamps(raw)
        if isinstance(raw, Mark):
            if item is None:
                raise DriverError(f"mark, got the time {raw.arrival_ns!r}; expected nanoseconds.")
            assert isinstance(item, Mark)
            self._put(item)
            return
        if isinstance(item, Sample):
            self._offer(self._checked(item))
        else:
            self._offer(Refused(raw.stream, "its stamps are not 64-bit nanoseconds"))

    def _offer(self, item: Taken | Refused) -> None:
        if not self._driver.is_live:
            self._put(item)
            return
        try:
            self._items.put_nowait(item)
        except queue.Full:
            stream = item.sample.stream if isinstance(item, Taken) else item.stream
            self._monitor.refuse(stream, "the recorder was behind")
            if isinstance(item, Taken) and item.payload is None:
                self.give_back(stream, item.sample.value)

    def _checked(self, sample: Sample) -> Taken | Refused:
        """The sample as our own, or why it cannot be taken."""
        packer = self._packers.get(sample.stream)
        if packer is None:
            return Refused(sample.stream, "the driver did not announce this stream")
        try:
            if packer.is_slow:
                picture = packer.check_array(sample.value, packer.shape)
                held = self._hold(sample.stream, picture)
                if held is None:
                    return Refused(sample.stream, "the encoder was behind")
                return Taken(replace(sample, value=held), None)
            payload = packer.pack(packer.check(sample.value))
        except WriteError as error:
            return Refused(sample.stream, str(error))
        value = sample.value
        if packer.stream.kind == "array":
            value = np.frombuffer(payload, packer.dtype).reshape(packer.shape)
        return Taken(replace(sample, value=value), payload)

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
            break


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

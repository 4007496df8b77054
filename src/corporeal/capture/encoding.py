"""Pictures on their way into the journal: encoded in a thread per camera, raw once that is late."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from corporeal.capture.pre_roll import Packed
from corporeal.capture.source_thread import Taken, room
from corporeal.episode.file import Packer, Worker

_log = logging.getLogger("corporeal.capture")
# A kill costs what waits in memory, of which the encoder may hold up so much.
RAW_AFTER_S = 0.1
# After a raw picture the next code is expected to take so much less, or none would be tried again.
_HOPE = 0.9


class Encoding:
    """Packs the pictures of every camera in their order, and hands them to `keep`.

    A picture that would be older than RAW_AFTER_S by the time it has its code is kept as it is,
    and gets the code when its episode is made: only where `is_live`, since others wait instead.
    """

    def __init__(
        self,
        packers: Mapping[str, Packer],
        *,
        is_live: bool,
        keep: Callable[[Packed], None],
        give_back: Callable[[str, Any], None],
        show: Callable[[str, Any], None] | None,
    ) -> None:
        self._packers, self._is_live, self._show = packers, is_live, show
        self._keep, self._give_back = keep, give_back
        self._expected_s: dict[str, float] = {}
        self._workers: dict[str, Worker] = {}
        for path, packer in packers.items():
            if packer.is_slow:
                self._expected_s[path] = 0.0
                self._workers[path] = Worker(self._pack, path, waiting=room(packer))

    def put(self, taken: Taken) -> None:
        """Queue one picture; its memory is given back when it is packed."""
        self._workers[taken.sample.stream].put(taken)

    def check(self) -> None:
        """Raise what went wrong in a thread, if anything did."""
        for worker in self._workers.values():
            worker.check()

    def join(self) -> None:
        """Wait until every picture that was put is kept."""
        for worker in self._workers.values():
            worker.join()

    @property
    def endings(self) -> tuple[Callable[[], None], ...]:
        """What ends each thread; one may raise, and the others must be called all the same."""
        return tuple(worker.close for worker in self._workers.values())

    def _pack(self, taken: Taken) -> None:
        sample, stream = taken.sample, taken.sample.stream
        begin_s = time.monotonic()
        waited_s = begin_s - taken.received_s
        is_raw = self._is_live and waited_s + self._expected_s[stream] > RAW_AFTER_S
        try:
            if is_raw:
                payload = self._packers[stream].pack_raw(sample.value)
                self._expected_s[stream] *= _HOPE
            else:
                payload = self._packers[stream].pack(sample.value)
                self._expected_s[stream] = time.monotonic() - begin_s
            self._keep(Packed(stream, sample.source_ns, sample.arrival_ns, payload,
                              taken.received_s, is_raw))  # fmt: skip
            self._show_picture(stream, sample.value)
        finally:
            self._give_back(stream, sample.value)

    def _show_picture(self, stream: str, picture: Any) -> None:
        if self._show is None:
            return
        # A view that fails must not cost the picture that it shows.
        try:
            self._show(stream, picture)
        except Exception as error:  # It may be anything: it is somebody else's code.
            _log.warning("pictures of %s are not shown: %s", stream, error or type(error).__name__)
            self._show = None

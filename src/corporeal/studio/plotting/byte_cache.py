"""Things that took long to make, kept while there is room; safe for many threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar

# Few at a time, so that what somebody waits for has a processor left.
_MAKERS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="studio-make")
_MOST_BEGUN = 16


class Sized(Protocol):
    """Anything that knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""


T = TypeVar("T", bound=Sized)


class ByteCache(Generic[T]):
    """The latest things that were asked for, `most_bytes` of them at most."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._begun: dict[Hashable, Future[T]] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """What is kept at the moment."""
        with self._lock:
            return sum(each.nbytes for each in self._kept.values())

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of this key; made once, however many ask for it at the same time."""
        found = self._find(key)
        if found is not None:
            return found
        with self._lock:
            turn = self._making.setdefault(key, threading.Lock())
        with turn:
            found = self._find(key)
            if found is not None:
                return found
            try:
                made = make()
                self._keep(key, made)
                return made
            finally:
                with self._lock:
                    self._making.pop(key, None)

    def soon(self, key: Hashable, make: Callable[[], T], *, wait_s: float) -> T | None:
        """The same, if it is there within this time; else None, and it is made meanwhile.

        Raises what `make` raises, as long as somebody waits.
        """
        found = self._find(key)
        if found is not None:
            return found
        with self._lock:
            work = self._begun.get(key)
            if work is None:
                if len(self._begun) >= _MOST_BEGUN:
                    return None
                work = self._begun[key] = _MAKERS.submit(self._begin, key, make)
        if not wait([work], timeout=wait_s).done:
            return None
        return work.result()

    def _begin(self, key: Hashable, make: Callable[[], T]) -> T:
        try:
            return self.get(key, make)
        finally:
            with self._lock:
                self._begun.pop(key, None)

    def _find(self, key: Hashable) -> T | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def _keep(self, key: Hashable, made: T) -> None:
        with self._lock:
            self._kept[key] = made
            total = sum(each.nbytes for each in self._kept.values())
            while total > self._most and self._kept:
                total -= self._kept.popitem(last=False)[1].nbytes

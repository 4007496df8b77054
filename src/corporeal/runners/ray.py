"""A Ray cluster: the one at RAY_ADDRESS, or one on this machine that ends with the work."""

from __future__ import annotations

import os
import uuid
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import chain, islice
from types import ModuleType
from typing import Any

from corporeal.errors import MissingExtraError
from corporeal.runner import (
    Batch,
    Result,
    Runner,
    Work,
    answer,
    batches,
    failed,
    packed_error,
    unpacked,
)

# Enough that no worker waits for us, and few enough that a long list stays where it is.
_TASKS_PER_CPU = 2
# Ray asks about itself, warns of its future and retries for ever unless it is told otherwise.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

_prepared: dict[str, Any] = {}
"""The state of this worker, by the run it belongs to; there is one at most."""


def _library() -> ModuleType:
    try:
        return import_module("ray")
    except ImportError:
        raise MissingExtraError("ray", "scale") from None


@contextmanager
def _cluster(ray: ModuleType, jobs: int, retries: int) -> Iterator[int]:
    """A connection to a cluster and how many CPUs it has; what was started here ends here."""
    if ray.is_initialized():
        yield _cpus(ray)
        return
    where: dict[str, Any] = {"address": os.environ.get("RAY_ADDRESS")}
    if not where["address"]:
        for name, value in (_QUIET | {"RAY_task_oom_retries": str(retries)}).items():
            os.environ.setdefault(name, value)
        where = {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    with _silenced(ray):
        ray.init(**where, logging_level="ERROR", log_to_driver=False)
        try:
            yield _cpus(ray)
        finally:
            ray.shutdown()


@contextmanager
def _silenced(ray: ModuleType) -> Iterator[None]:
    """Keep standard output clean: Ray prints every lost worker there, and has no switch for it."""
    worker = ray._private.worker
    name = "print_to_stdstream"
    loud = getattr(worker, name, None)
    setattr(worker, name, lambda *_, **__: None)
    try:
        yield
    finally:
        setattr(worker, name, loud)


def _cpus(ray: ModuleType) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _serve(run_id: str, work: Work, batch: Batch) -> list[bytes]:
    """One batch in a worker, which prepares itself when it first hears of a run."""
    if run_id not in _prepared:
        _prepared.clear()
        try:
            _prepared[run_id] = work.prepared()
        except Exception as error:  # Whatever it is, the caller's process must see it.
            return [packed_error(error)]
    return [answer(work, _prepared[run_id], task) for task in batch]


class Flight:
    """Tasks that were given to the cluster and are not back yet."""

    def __init__(self, ray: ModuleType, work: Work, coming: Iterator[Batch]) -> None:
        self.ray = ray
        self.retries = work.retries
        self.coming = coming
        self.run_id = uuid.uuid4().hex
        self.work = ray.put(work)
        self.serve = ray.remote(num_cpus=1, max_retries=work.retries)(_serve)
        self.waiting: dict[Any, Batch] = {}

    def launch(self, most: int) -> None:
        """Give the cluster as much as it may have."""
        for batch in islice(self.coming, max(0, most - len(self.waiting))):
            self.waiting[self.serve.remote(self.run_id, self.work, batch)] = batch

    def land(self) -> Iterator[Result[Any]]:
        """What the next task to come back has done."""
        (reference, *_), _ = self.ray.wait(list(self.waiting))
        batch = self.waiting.pop(reference)
        lost_in = self.ray.exceptions
        try:
            answers = self.ray.get(reference)
        except (lost_in.WorkerCrashedError, lost_in.NodeDiedError, lost_in.OutOfMemoryError) as why:
            yield from self._blame(batch, type(why).__name__)
        else:
            yield from map(unpacked, answers)

    def _blame(self, batch: Batch, reason: str) -> Iterator[Result[Any]]:
        """Ray has tried again already. Of several items each gets a task, so one is blamed."""
        tried = [replace(task, attempts=task.attempts + self.retries) for task in batch]
        if len(tried) == 1:
            yield failed(tried[0], reason)
            return
        alone = ((replace(task, attempts=task.attempts + 1),) for task in tried)
        self.coming = chain(alone, self.coming)

    def end(self) -> None:
        """Take back what is still out."""
        for reference in self.waiting:
            self.ray.cancel(reference, force=True)


def run(work: Work, items: Iterable[Any], jobs: int) -> Generator[Result[Any], None, None]:
    """Share the items among the CPUs of a cluster; `jobs` counts where one is started here."""
    ray = _library()
    with _cluster(ray, jobs, work.retries) as cpus:
        flight = Flight(ray, work, batches(items, cpus))
        try:
            flight.launch(cpus * _TASKS_PER_CPU)
            while flight.waiting:
                yield from flight.land()
                flight.launch(cpus * _TASKS_PER_CPU)
        finally:
            flight.end()


RUNNER = Runner(run, label="a Ray cluster")

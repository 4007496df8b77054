"""One small map for stages that treat every episode alone: here, in processes, or on Ray."""

from __future__ import annotations

import operator
import pickle
import reprlib
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, Generic, TypeVar

from corporeal.errors import CorporealError, UnknownNameError
from corporeal.registry import plugins

PACKAGE = "corporeal.runners"
# Neighbours share a table file, so they go to one worker; more than this keeps the others waiting.
_MOST_TOGETHER = 16
_ROUNDS = 4

State = TypeVar("State")
Item = TypeVar("Item")
R = TypeVar("R")


class RunnerError(CorporealError):
    """Work cannot be run as asked, or a worker ended before it had a result."""


@dataclass(frozen=True)
class Result(Generic[R]):
    """What became of one item: a value, or the error that speaks of it."""

    place: int
    """Where the item stood in what was given, from 0."""
    value: R | None
    error: CorporealError | None
    attempts: int
    """How often it was tried: more than once where a worker was lost."""


@dataclass(frozen=True)
class WorkItem:
    """One item on its way."""

    place: int
    item: Any
    attempts: int = 1

    @property
    def name(self) -> str:
        """The item as a message names it."""
        return f"item {self.place} ({reprlib.repr(self.item)})"


Batch = tuple[WorkItem, ...]
"""Neighbours, which one worker takes in their order."""


@dataclass(frozen=True)
class Work:
    """What is done with every item; it travels to the workers."""

    function: Callable[[Any, Any], Any]
    prepare: Callable[[], Any] | None
    retries: int

    def prepared(self) -> Any:
        """What `function` gets beside the item; made once in every worker."""
        return None if self.prepare is None else self.prepare()

    def attempt(self, state: Any, task: WorkItem) -> Result[Any]:
        """Do one item. An error that is no CorporealError goes on, and names the item."""
        try:
            value = self.function(state, task.item)
        except CorporealError as error:
            return Result(task.place, None, error, task.attempts)
        except Exception as error:  # It goes on as it is; only the item is named.
            error.add_note(f"This happened with {task.name}.")
            raise
        return Result(task.place, value, None, task.attempts)


@dataclass(frozen=True)
class Runner:
    """A place to run work: `run(work, items, jobs)` yields what is done, as it is done.

    Items are drawn only as there is room for them. However the generator ends, it leaves no
    process behind.
    """

    run: Callable[[Work, Iterable[Any], int], Generator[Result[Any], None, None]]
    label: str


@cache
def runners() -> dict[str, Runner]:
    """Every runner by name."""
    return plugins(PACKAGE, "RUNNER", Runner)


def runner_of(name: str) -> Runner:
    """The runner with this name; an unknown one lists those there are."""
    if name not in runners():
        raise UnknownNameError("runner", name, runners())
    return runners()[name]


def run(
    function: Callable[[State, Item], R],
    items: Iterable[Item],
    *,
    on: str = "processes",
    jobs: int = 1,
    prepare: Callable[[], State] | None = None,
    retries: int = 1,
) -> Generator[Result[R], None, None]:
    """Call `function(state, item)` for every item and yield the results in the order they finish.

    `prepare()` is called once in every worker and makes its `state`, which is None without it. An
    item whose worker is lost is tried again `retries` times, then a RunnerError names it; so a
    function must bear to be called twice. Close the generator to stop early.
    """
    runner = runner_of(on)
    if jobs < 1 or retries < 0:
        raise RunnerError(
            f"a run with {jobs} jobs and {retries} retries, got nothing that can be run; "
            "expected 1 job or more and 0 retries or more."
        )
    return runner.run(Work(function, prepare, retries), items, jobs)


def batches(items: Iterable[Any], jobs: int) -> Iterator[Batch]:
    """The items in batches of neighbours, drawn as they are wanted; a few rounds for every job."""
    count = operator.length_hint(items, _MOST_TOGETHER * _ROUNDS * jobs)
    size = max(1, min(_MOST_TOGETHER, count // (jobs * _ROUNDS)))
    tasks = (WorkItem(place, item) for place, item in enumerate(items))
    while batch := tuple(islice(tasks, size)):
        yield batch


def failed(task: WorkItem, reason: str) -> Result[Any]:
    """An item that ended its worker whenever it was tried."""
    times = "once" if task.attempts == 1 else f"{task.attempts} times"
    error = RunnerError(
        f"{task.name} was tried {times}, and its worker ended each time: {reason}. Try it alone "
        "with one job to see why; a worker that was killed may have had too little memory."
    )
    return Result(task.place, None, error, task.attempts)


@dataclass(frozen=True)
class PickledError:
    """An exception on its way between processes: not every one survives being pickled."""

    kind: type[Exception]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]

    def opened(self) -> Exception:
        """The exception again, whatever its constructor asks for."""
        error = self.kind.__new__(self.kind, *self.arguments)
        error.args = self.arguments
        error.__dict__.update(self.attributes)
        return error


@dataclass(frozen=True)
class Reply:
    """What a worker says: an item is done, maybe with an error of its own, or all must end."""

    done: Result[Any] | None
    error: PickledError | None = None

    def opened(self) -> Result[Any]:
        """What became of the item. Raises what no item can be blamed for."""
        if self.done is None and self.error is not None:
            raise self.error.opened()
        assert self.done is not None
        error = None if self.error is None else self.error.opened()
        return replace(self.done, error=error) if isinstance(error, CorporealError) else self.done


def answer(work: Work, state: Any, task: WorkItem) -> bytes:
    """Do one item in a worker, and pack what became of it."""
    try:
        done = work.attempt(state, task)
    except Exception as error:  # Whatever it is, the caller's process must see it.
        return packed_error(error)
    own = None if done.error is None else _parcel(done.error)
    return _packed(Reply(replace(done, error=None), own), task.name)


def packed_error(error: Exception) -> bytes:
    """An exception for which all must end; one by mistake brings its traceback as a note."""
    if not isinstance(error, CorporealError):  # Those speak to people, in one sentence.
        trail = "".join(traceback.format_exception(error)).rstrip()
        error.add_note(f"In the worker:\n{trail}")
    return _packed(Reply(None, _parcel(error)), f"an error of kind {type(error).__name__}: {error}")


def unpacked(data: bytes) -> Result[Any]:
    """What a worker has packed. Raises what no item can be blamed for."""
    reply: Reply = pickle.loads(data)  # nosec B301
    return reply.opened()


def _parcel(error: Exception) -> PickledError:
    return PickledError(type(error), error.args, dict(error.__dict__))


def _packed(reply: Reply, what: str) -> bytes:
    try:
        return pickle.dumps(reply)
    except (pickle.PicklingError, TypeError, AttributeError) as reason:
        error = RunnerError(f"what {what} gave cannot be sent between processes: {reason}.")
        return pickle.dumps(Reply(None, _parcel(error)))

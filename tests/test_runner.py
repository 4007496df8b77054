"""Runners: the same results everywhere, lost workers survived, no process left behind."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.quality.samples import SampleOpener
from tests.runner_work import (
    dawdle,
    die,
    die_always,
    die_once,
    place,
    refuse,
    square,
    stubborn,
    stumble,
    unsendable,
)

from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import (
    CorporealError,
    DocumentError,
    MissingExtraError,
    UnknownNameError,
)
from corporeal.quality.inspection import InspectionOptions, inspect
from corporeal.quality.policy import default_policy
from corporeal.runner import RunnerError, batches, run, runners

HERE = ("serial", "processes")


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def gone(pids: list[int], within_s: float = 20.0) -> bool:
    """Whether all these processes end soon."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not any(map(alive, pids)):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("on", HERE)
def test_every_item_has_its_result_at_its_place(on: str) -> None:
    found = {done.place: done for done in run(square, range(40), on=on, jobs=2)}
    assert [found[at].value for at in range(40)] == [at * at for at in range(40)]
    assert {done.attempts for done in found.values()} == {1}


@pytest.mark.parametrize("on", HERE)
def test_an_error_of_an_item_comes_back_as_itself_and_the_others_go_on(on: str) -> None:
    found = {done.place: done for done in run(stubborn, range(9), on=on, jobs=2)}
    assert [found[at].value for at in range(9)] == [0, None, None, 3, None, None, 6, None, None]
    document, extra = found[1].error, found[2].error
    assert isinstance(document, DocumentError)
    assert document.source == "rig.yaml"
    assert str(document) == "rig.yaml:2: name: is missing"
    assert isinstance(extra, MissingExtraError)
    assert "pip install 'corporeal[scale]'" in str(extra)


@pytest.mark.parametrize("on", HERE)
def test_any_other_error_ends_the_run_and_names_the_item(on: str) -> None:
    with pytest.raises(ZeroDivisionError, match="by the item") as caught:
        list(run(stumble, range(40), on=on, jobs=2))
    notes = "\n".join(caught.value.__notes__)
    assert "This happened with item 3 (3)." in notes
    assert ("in stumble" in notes) == (on == "processes")


def test_a_worker_is_prepared_once_and_keeps_neighbours_together() -> None:
    found = {done.place: done.value for done in run(place, range(40), jobs=2, prepare=os.getpid)}
    pairs = [pair for at in range(40) if (pair := found[at]) is not None]
    assert all(prepared == working for prepared, working in pairs)
    workers = [pid for pid, _ in pairs]
    assert os.getpid() not in workers
    assert 1 <= len(set(workers)) <= 2
    assert all(len(set(workers[first : first + 5])) == 1 for first in range(0, 40, 5))


def test_one_job_or_one_item_starts_no_process() -> None:
    for items, jobs in ((range(40), 1), (range(1), 8), (range(0), 8)):
        found = [done.value for done in run(place, items, jobs=jobs, prepare=os.getpid)]
        assert found == [(os.getpid(), os.getpid())] * len(items)


def test_a_killed_worker_is_survived(tmp_path: Path) -> None:
    found = {
        done.place: done for done in run(partial(die_once, tmp_path / "died"), range(40), jobs=2)
    }
    assert [found[at].value for at in range(40)] == list(range(40))
    assert {at: done.attempts for at, done in found.items() if done.attempts > 1} == {3: 2}


@pytest.mark.parametrize("retries", [0, 1])
def test_an_item_that_kills_every_worker_is_named_and_the_others_go_on(retries: int) -> None:
    found = {done.place: done for done in run(die_always, range(20), jobs=2, retries=retries)}
    assert [found[at].value for at in range(20)] == [*range(3), None, *range(4, 20)]
    error = found[3].error
    assert isinstance(error, RunnerError)
    assert "item 3 (3) was tried" in str(error)
    assert "SIGKILL" in str(error)
    assert found[3].attempts == retries + 1
    assert all(done.attempts == 1 for at, done in found.items() if at != 3)


@pytest.mark.parametrize("on", HERE)
def test_what_cannot_be_prepared_is_said_as_it_is(on: str) -> None:
    with pytest.raises(CorporealError, match=r"^the dataset is not there\.$"):
        list(run(square, range(40), on=on, jobs=2, prepare=refuse))


def test_workers_that_never_get_ready_end_the_run() -> None:
    with pytest.raises(RunnerError, match=r"ended before it could begin, got 2 in a row .*SIGKILL"):
        list(run(square, range(40), jobs=2, prepare=die))


def test_a_value_that_cannot_travel_is_an_error_that_names_the_item() -> None:
    with pytest.raises(RunnerError, match=r"what item \d+ .* cannot be sent between processes"):
        list(run(unsendable, range(4), jobs=2))


def test_work_that_cannot_travel_is_refused_in_a_sentence() -> None:
    with pytest.raises(RunnerError, match=r"got what cannot be sent to one: .*lambda"):
        list(run(lambda _, item: item, range(4), jobs=2))


@pytest.mark.parametrize("on", HERE)
def test_items_are_drawn_only_as_there_is_room_for_them(on: str) -> None:
    drawn: list[int] = []

    def endless() -> Iterator[int]:
        for number in itertools.count():
            drawn.append(number)
            yield number

    results = run(square, endless(), on=on, jobs=2)
    taken = [done.value for done in itertools.islice(results, 100)]
    results.close()
    assert len(taken) == 100
    assert len(drawn) <= 100 + 3 * 16


def test_few_items_are_shared_among_all_jobs_and_many_go_in_sixteens() -> None:
    assert [len(batch) for batch in batches(range(3), 2)] == [1, 1, 1]
    assert [len(batch) for batch in batches(range(20), 2)] == [2] * 10
    assert [len(batch) for batch in itertools.islice(batches(itertools.count(), 2), 3)] == [16] * 3


def test_a_run_that_is_closed_early_leaves_no_process(tmp_path: Path) -> None:
    results = run(partial(dawdle, tmp_path), itertools.count(), jobs=2)
    next(results)
    pids = [int(each.name) for each in tmp_path.iterdir()]
    results.close()
    assert pids
    assert not any(map(alive, pids))


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_or_a_kill_leaves_no_process(sent: signal.Signals, tmp_path: Path) -> None:
    script = (
        "import itertools, pathlib, signal\nfrom functools import partial\n"
        # Who was started in the background may have been told to ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from corporeal.runner import run\nfrom tests.runner_work import dawdle\n"
        f"work = partial(dawdle, pathlib.Path({str(tmp_path)!r}))\n"
        "for done in run(work, itertools.count(), jobs=2): pass\n"
    )
    command = [sys.executable, "-c", script]
    # A terminal sends Ctrl-C to the whole group; a kill meets the parent alone.
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        pids = [int(each.name) for each in tmp_path.iterdir()]
        assert len(pids) == 2
        if sent == signal.SIGINT:
            os.killpg(parent.pid, sent)
        else:
            parent.kill()
        _, said = parent.communicate(timeout=30)
    finally:
        parent.kill()
    assert gone(pids)
    assert said.count("Traceback") == (sent == signal.SIGINT), said


def test_an_unknown_runner_lists_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="processes, ray, serial"):
        run(square, range(3), on="proceses")
    assert list(runners()) == ["processes", "ray", "serial"]


@pytest.mark.parametrize(("jobs", "retries"), [(0, 1), (1, -1)])
def test_nothing_runs_with_no_job_or_negative_retries(jobs: int, retries: int) -> None:
    with pytest.raises(RunnerError, match="expected 1 job or more and 0 retries or more"):
        run(square, range(3), jobs=jobs, retries=retries)


def test_without_ray_the_error_gives_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"corporeal\[scale\]"):
        list(run(square, range(3), on="ray"))


class Deadly(SampleOpener):
    """A dataset with one episode that no process survives, as too little memory would have it."""

    def __call__(self) -> Dataset:
        dataset = super().__call__()

        def open_number(number: int) -> Recording:
            if number == 7:
                os.kill(os.getpid(), signal.SIGKILL)
            return dataset.open(number)

        return Dataset(dataset.source, dataset.format, dataset.episodes, open_number)


@pytest.mark.slow
def test_an_episode_that_no_worker_survives_fails_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Forty short episodes pay for no process, and in this one there would be no test left.
    monkeypatch.setattr("corporeal.quality.inspection._WORTH_S", 1e-9)
    request = InspectionOptions(default_policy(), pictures=False, only=("values_not_finite",))
    report = inspect(Deadly(40), request, jobs=2)
    assert [each.index for each in report.episodes] == list(range(40))
    failed = [each for each in report.episodes if each.verdict == "failed"]
    assert [each.index for each in failed] == [7]
    assert "its worker ended each time" in failed[0].findings[0].message
